# distutils: language = c++
"""Find the uncertain tokens whose suffix a caller takes: walk the suffix trie along the caller's live bytes.

Most of what is tried has no place behind the rule: of a hundred bytes that may follow a string a caller takes two or
three.  In preorder each of the others is a line of memory that is fetched to be passed over, so siblings lie together
(`token_sets.build_suffix_trie`), as in `trie.TokenTrie.child_edges`.
"""

from kernels_core.earley.machine cimport step
from kernels_core.masks.trie cimport live_places


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
