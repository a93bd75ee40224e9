# distutils: language = c++
"""Tokens after which a text with a bounded length cannot be finished, although it is not too long yet.

A string that has to hold a digit somewhere, and may have twelve characters, cannot begin with twelve letters.  Which
tokens begin too many characters is the same for all such strings (`interiors.pyx`); where some more have to follow
depends on the pattern.  Only tokens that come near the bound matter, so most of the vocabulary is passed over: what is
not deep enough below a node, and all below a place behind which nothing has to follow.
"""

from libc.stdint cimport int16_t
from libcpp.algorithm cimport sort

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
                        const vector[int32_t]* candidates, vector[int32_t]& found) noexcept nogil:
    """The tokens that stay inside from the first state of `graph` and begin `left` characters at most, but need more.

    `found` gets them ascending.  `candidates`: all that stay inside and come near to `left`, ascending; NULL: many.
    """
    cdef Table table
    cdef int32_t k, byte
    cdef bint between
    cdef size_t i
    reserve_of(tables, graph, table.reserve)
    table.next_state.assign(256 * graph.states.size(), -1)
    for i in range(graph.states.size()):
        table.ahead.push_back(tables.ahead(graph.states[i], &between))
        for k in range(graph.edge_first[i], graph.edge_first[i + 1]):
            for byte in range(graph.edges[k].low, graph.edges[k].high + 1):
                table.next_state[256 * i + byte] = <int16_t>graph.edges[k].target
    if candidates == NULL:
        _walk(trie, graph, table, left, found)
        sort(found.begin(), found.end())
        return
    for i in range(candidates.size()):
        if _is_overlong(trie, graph, table, candidates[0][i], left):
            found.push_back(candidates[0][i])


cdef cppclass Table:
    vector[int16_t] next_state      # by place and byte: a place, or -1
    vector[int32_t] ahead           # by place: characters that have to follow, the one under way among them
    vector[int32_t] reserve         # by place: as in `reserve_of`


cdef bint _is_overlong(TokenTrie trie, const Graph& graph, const Table& table, int32_t token, int32_t left) noexcept nogil:
    """Whether more than `left` characters are needed behind a token that stays inside."""
    cdef int32_t k, laps = 0
    cdef int16_t at = 0
    for k in range(trie.spelling_first[token], trie.spelling_first[token + 1]):
        at = table.next_state[256 * at + trie.spelling[k]]
        if table.reserve[at] == 0:
            return False
        laps += graph.between[at]
    return laps + table.ahead[at] > left


cdef void _walk(TokenTrie trie, const Graph& graph, const Table& table, int32_t left, vector[int32_t]& found) noexcept nogil:
    """`find_overlong` in the trie, in its order."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef vector[int32_t] laps
    cdef vector[int16_t] at
    cdef int32_t node = 1, depth, k
    cdef int16_t source, target
    at.resize(trie.max_depth + 1)
    laps.resize(trie.max_depth + 1)
    at[0] = laps[0] = 0
    while node < <int32_t>nodes[0].skip:
        depth = nodes[node].depth
        source = at[depth - 1]
        # This byte and `height` ones below complete as many characters at most, and one more may be under way.
        if table.reserve[source] == 0 or laps[depth - 1] + 2 + nodes[node].height + table.reserve[source] <= left:
            node = nodes[node].skip
            continue
        target = table.next_state[256 * source + nodes[node].byte]
        if target >= 0:
            at[depth] = target
            laps[depth] = laps[depth - 1] + graph.between[target]
            if laps[depth] + (not graph.between[target]) <= left:
                if laps[depth] + table.ahead[target] > left:
                    for k in range(nodes[node].token_first, nodes[node + 1].token_first):
                        found.push_back(trie.ids[k])
                node += 1
                continue
        node = nodes[node].skip
