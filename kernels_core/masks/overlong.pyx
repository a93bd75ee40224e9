# distutils: language = c++
"""Tokens after which a text with a bounded length cannot be finished, although it is not too long yet.

A string that has to hold a digit somewhere, and may have twelve characters, cannot begin with twelve letters.  Which
tokens begin too many characters is the same for all such strings (`interiors.pyx`); where some more have to follow
depends on the pattern.  Only tokens that come near the bound matter, so most of the vocabulary is passed over: what is
not deep enough below a node, and all below a place behind which nothing has to follow.
"""

from libc.stdint cimport int16_t
from libcpp.algorithm cimport sort

from kernels_core.masks.graphs cimport graph_step
from kernels_core.masks.trie cimport TrieNode


cdef int32_t reserve_of(Tables tables, const Graph& graph, vector[int32_t]& reserve) noexcept nogil:
    """The most characters that have to follow anywhere behind the first state, those under way left out.

    `reserve` gets the same for each place.  `graph` counts characters.
    """
    cdef size_t i, k
    cdef int32_t most
    cdef bint between, changed = True
    reserve.clear()
    for i in range(graph.states.size()):
        reserve.push_back(tables.ahead(graph.states[i], &between) - (not graph.between[i]))
    while changed:
        changed = False
        for i in range(graph.states.size() - 1, -1, -1):
            most = reserve[i]
            for k in range(graph.edge_first[i], graph.edge_first[i + 1]):
                most = max(most, reserve[graph.edges[k].target])
            changed |= most != reserve[i]
            reserve[i] = most
    return reserve[0]


cdef void find_overlong(TokenTrie trie, Tables tables, const Graph& graph, int32_t left,
                        vector[int32_t]& found) noexcept nogil:
    """The tokens that stay inside from the first state of `graph` and begin `left` characters at most, but need more.

    `found` gets them ascending.
    """
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef vector[int32_t] reserve, ahead, laps
    cdef vector[int16_t] at
    cdef int32_t node = 1, depth, k
    cdef int16_t target
    cdef bint between
    cdef size_t i
    reserve_of(tables, graph, reserve)
    for i in range(graph.states.size()):
        ahead.push_back(tables.ahead(graph.states[i], &between))
    at.resize(trie.max_depth + 1)
    laps.resize(trie.max_depth + 1)
    at[0] = laps[0] = 0
    while node < <int32_t>nodes[0].skip:
        depth = nodes[node].depth
        # `height` bytes below this one complete as many characters at most, and the one under way is another.
        if reserve[at[depth - 1]] == 0 or laps[depth - 1] + 2 + nodes[node].height + reserve[at[depth - 1]] <= left:
            node = nodes[node].skip
            continue
        target = graph_step(graph, at[depth - 1], nodes[node].byte)
        if target >= 0:
            at[depth] = target
            laps[depth] = laps[depth - 1] + graph.between[target]
            if laps[depth] + (not graph.between[target]) <= left:
                if laps[depth] + ahead[target] > left:
                    for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                        found.push_back(trie.ids[k])
                node += 1
                continue
        node = nodes[node].skip
    sort(found.begin(), found.end())
