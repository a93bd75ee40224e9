# distutils: language = c++
"""Tokens after which a text with a bounded length cannot be finished, although it is not too long yet.

A string that has to hold a digit somewhere, and may have twelve characters, cannot begin with twelve letters.  Which
tokens begin too many characters is the same for all such strings (`interiors.pyx`); where some more have to follow
depends on the pattern.  Only tokens that come near the bound matter, so most of the vocabulary is passed over: what is
not deep enough below a node, and all below a place behind which nothing has to follow.
"""

from libc.stdint cimport int16_t, uint32_t

from kernels_core.masks.trie cimport TrieNode
from kernels_core.masks.walks cimport Run, accept

cdef extern from *:
    int __builtin_ctz(unsigned int) nogil


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


cdef void find_overlong(TokenTrie trie, Tables tables, const Graph& graph, int32_t left, const vector[int32_t]& candidates,
                        vector[int32_t]& found) noexcept nogil:
    """The tokens of `candidates` that stay inside from the first state of `graph`, but need more than `left` characters.

    `candidates` begin `left` characters at most; `found` gets them in the same order.
    """
    cdef Table table
    cdef size_t i
    _tabulate(tables, graph, table)
    for i in range(candidates.size()):
        if _is_overlong(trie, graph, table, candidates[i], left):
            found.push_back(candidates[i])


cdef bint split_by_need(TokenTrie trie, Tables tables, const Graph& graph, int32_t left, const Dense& row,
                        vector[int32_t]& found) noexcept nogil:
    """The tokens of `row` after which a text can be finished (True), or all others (False), whichever are fewer.

    `row`: those that stay inside from the first state of `graph` and begin `left` characters at most.  `found` gets them
    ascending.
    """
    cdef Table table
    cdef vector[Run] fine, overlong      # in the order of the trie; what is not in the row, too
    cdef vector[uint32_t] marks
    cdef size_t i
    cdef bint takes_fine
    _tabulate(tables, graph, table)
    _walk(trie, graph, table, left, fine, overlong)
    takes_fine = _count(fine) <= _count(overlong)
    marks.assign(trie.words, 0)
    _mark(fine if takes_fine else overlong, trie, marks)
    if row.lacking != NULL:
        for i in range(row.lacking.size()):
            marks[row.lacking[0][i] >> 5] &= ~(<uint32_t>1 << (row.lacking[0][i] & 31))
    _list_common(marks, row.row.words, found)
    return takes_fine


cdef int32_t _count(const vector[Run]& runs) noexcept nogil:
    cdef size_t i
    cdef int32_t total = 0
    for i in range(runs.size()):
        total += runs[i].past - runs[i].first
    return total


cdef void _mark(const vector[Run]& runs, TokenTrie trie, vector[uint32_t]& marks) noexcept nogil:
    cdef size_t i
    cdef int32_t k, token
    for i in range(runs.size()):
        for k in range(runs[i].first, runs[i].past):
            token = trie.ids[k]
            marks[token >> 5] |= <uint32_t>1 << (token & 31)


cdef void _list_common(const vector[uint32_t]& marks, const uint32_t* words, vector[int32_t]& found) noexcept nogil:
    """The ids that are in both, ascending."""
    cdef int32_t w
    cdef uint32_t word
    for w in range(<int32_t>marks.size()):
        word = marks[w] & words[w]
        while word:
            found.push_back(32 * w + __builtin_ctz(word))
            word &= word - 1


cdef cppclass Table:
    vector[int16_t] next_state      # by place and byte: a place, or -1
    vector[int32_t] ahead           # by place: characters that have to follow, the one under way among them
    vector[int32_t] reserve         # by place: as in `reserve_of`


cdef void _tabulate(Tables tables, const Graph& graph, Table& table) noexcept nogil:
    cdef size_t i
    cdef int32_t k, byte
    cdef bint between
    reserve_of(tables, graph, table.reserve)
    table.next_state.assign(256 * graph.states.size(), -1)
    for i in range(graph.states.size()):
        table.ahead.push_back(tables.ahead(graph.states[i], &between))
        for k in range(graph.edge_first[i], graph.edge_first[i + 1]):
            for byte in range(graph.edges[k].low, graph.edges[k].high + 1):
                table.next_state[256 * i + byte] = <int16_t>graph.edges[k].target


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


cdef void _walk(TokenTrie trie, const Graph& graph, const Table& table, int32_t left, vector[Run]& fine,
                vector[Run]& overlong) noexcept nogil:
    """Divide the tokens that stay inside and begin `left` characters at most.  Others may be in either, or in none."""
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef vector[int32_t] laps
    cdef vector[int16_t] at
    cdef int32_t node = 1, depth
    cdef int16_t source, target
    at.resize(trie.max_depth + 1)
    laps.resize(trie.max_depth + 1)
    at[0] = laps[0] = 0
    while node < <int32_t>nodes[0].skip:
        depth = nodes[node].depth
        source = at[depth - 1]
        # This byte and `height` ones below complete as many characters at most, and one more may be under way.
        if table.reserve[source] == 0 or laps[depth - 1] + 2 + nodes[node].height + table.reserve[source] <= left:
            accept(fine, nodes[node].token_first, nodes[nodes[node].skip].token_first)
            node = nodes[node].skip
            continue
        target = table.next_state[256 * source + nodes[node].byte]
        if target < 0:
            node = nodes[node].skip
            continue
        at[depth] = target
        laps[depth] = laps[depth - 1] + graph.between[target]
        # A character more is one less to come at best, so what is too much here is too much below.
        if laps[depth] + table.ahead[target] > left:
            accept(overlong, nodes[node].token_first, nodes[nodes[node].skip].token_first)
            node = nodes[node].skip
            continue
        accept(fine, nodes[node].token_first, nodes[node + 1].token_first)
        node += 1
