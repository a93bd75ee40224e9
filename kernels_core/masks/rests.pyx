# distutils: language = c++
"""What remains of uncertain tokens, tried against a caller.

A token set keeps the rests of its uncertain tokens as a trie in preorder.  Most of what is tried has no place behind the
rule: of a hundred bytes that may follow a quote a caller takes two or three.  In preorder each of the others is a line
of memory that is fetched to be passed over, so here siblings lie together, as in `trie.TokenTrie.twigs`.
"""

from kernels_core.earley.machine cimport step
from kernels_core.masks.trie cimport live_places


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        Rests& rests) noexcept nogil:
    """`rests` gets the nodes of a trie in preorder (`TokenSet`) level by level, the root first; none if it has none.

    Siblings stay in the order of their bytes.
    """
    cdef vector[int32_t] nodes      # beside those of `rests`
    cdef size_t i = 0
    cdef int32_t kid
    rests.nodes.clear()
    rests.bytes.clear()
    if byte.empty():
        return
    nodes.push_back(0)
    rests.nodes.push_back(Rest(0, token_first[0], token_first[1], 0, byte[0]))
    while i < nodes.size():
        rests.nodes[i].kid_first = <int32_t>nodes.size()
        kid = nodes[i] + 1
        while kid < skip[nodes[i]]:
            nodes.push_back(kid)
            rests.nodes.push_back(Rest(0, token_first[kid], token_first[kid + 1], 0, byte[kid]))
            kid = skip[kid]
        rests.nodes[i].kid_count = <uint16_t>(nodes.size() - rests.nodes[i].kid_first)
        i += 1
    for i in range(rests.nodes.size()):
        rests.bytes.push_back(rests.nodes[i].byte)


cdef int find_rests(const Rests& rests, Machine machine, SetRec* caller, Tries& tries) except -1 nogil:
    """Find the tokens of a token set whose rest `caller` takes; with the machine's lock held.

    `tries.places` gets where in the set's `ids` they are.
    """
    cdef Tried at
    cdef const Rest* rest
    cdef int32_t[256] found
    cdef int32_t n, m, place
    tries.places.clear()
    tries.todo.clear()
    if rests.nodes.empty():
        return 0
    tries.todo.push_back(Tried(0, caller))
    while not tries.todo.empty():
        at = tries.todo.back()
        tries.todo.pop_back()
        n = live_places(rests.bytes.data(), rests.nodes[at.rest].kid_first, rests.nodes[at.rest].kid_count,
                        at.set.live, found)
        for m in range(n):          # a live byte leads somewhere; where, is asked if more follows
            rest = &rests.nodes[found[m]]
            for place in range(rest.token_first, rest.token_past):
                tries.places.push_back(place)
            if rest.kid_count:
                tries.todo.push_back(Tried(found[m], step(machine, at.set, rest.byte)))
    return 0
