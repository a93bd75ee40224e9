# distutils: language = c++
"""Find the uncertain tokens whose suffix a caller takes: walk the suffix trie along the caller's live bytes.

Most of what is tried has no place behind the rule: of a hundred bytes that may follow a string a caller takes two or
three.  In preorder each of the others is a line of memory that is fetched to be passed over, so here siblings lie
together, as in `trie.TokenTrie.child_edges`.
"""

from kernels_core.earley.machine cimport step
from kernels_core.masks.trie cimport live_places


cdef void lay_out_suffixes(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                           SuffixTrie& suffixes) noexcept nogil:
    """`suffixes` gets the nodes of a trie in preorder (`TokenSet`) level by level, the root first; none if it has none.

    Siblings stay in the order of their bytes.
    """
    cdef vector[int32_t] nodes      # beside those of `suffixes`
    cdef size_t i = 0
    cdef int32_t child
    suffixes.nodes.clear()
    suffixes.bytes.clear()
    if byte.empty():
        return
    nodes.push_back(0)
    suffixes.nodes.push_back(SuffixNode(0, token_first[0], token_first[1], 0, byte[0]))
    while i < nodes.size():
        suffixes.nodes[i].child_first = <int32_t>nodes.size()
        child = nodes[i] + 1
        while child < skip[nodes[i]]:
            nodes.push_back(child)
            suffixes.nodes.push_back(SuffixNode(0, token_first[child], token_first[child + 1], 0, byte[child]))
            child = skip[child]
        suffixes.nodes[i].child_count = <uint16_t>(nodes.size() - suffixes.nodes[i].child_first)
        i += 1
    for i in range(suffixes.nodes.size()):
        suffixes.bytes.push_back(suffixes.nodes[i].byte)


cdef int find_suffixes(const SuffixTrie& suffixes, Machine machine, SetRec* caller,
                       SuffixMatches& matches) except -1 nogil:
    """Find the tokens of a token set whose suffix `caller` takes; with the machine's lock held.

    `matches.places` gets where in the set's `ids` they are.
    """
    cdef SuffixVisit at
    cdef const SuffixNode* node
    cdef int32_t[256] found
    cdef int32_t n, m, place
    matches.places.clear()
    matches.todo.clear()
    if suffixes.nodes.empty():
        return 0
    matches.todo.push_back(SuffixVisit(0, caller))
    while not matches.todo.empty():
        at = matches.todo.back()
        matches.todo.pop_back()
        n = live_places(suffixes.bytes.data(), suffixes.nodes[at.node].child_first, suffixes.nodes[at.node].child_count,
                        at.set.live, found)
        for m in range(n):          # a live byte leads somewhere; where, is asked if more follows
            node = &suffixes.nodes[found[m]]
            for place in range(node.token_first, node.token_past):
                matches.places.push_back(place)
            if node.child_count:
                matches.todo.push_back(SuffixVisit(found[m], step(machine, at.set, node.byte)))
    return 0
