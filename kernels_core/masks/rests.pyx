# distutils: language = c++
"""What remains of uncertain tokens, tried against a caller.

A token set keeps the rests of its uncertain tokens as a trie in preorder.  Most of what is tried has no place behind the
rule: of a hundred bytes that may follow a quote a caller takes two or three.  In preorder each of the others is a line
of memory that is fetched to be passed over, so here siblings lie together, as in `trie.TokenTrie.twigs`.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from kernels_core.earley.spots cimport Spot, Way, find_way, live_at, spot_of


cdef struct Place:
    int32_t rest        # whose children are tried
    Spot spot           # where the parser is behind it


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        vector[Rest]& rests) noexcept nogil:
    """`rests` gets the nodes of a trie in preorder (`TokenSet`) level by level, the root first; none if it has none.

    Siblings stay in the order of their bytes.
    """
    cdef vector[int32_t] nodes      # beside `rests`
    cdef size_t i = 0
    cdef int32_t kid
    rests.clear()
    if byte.empty():
        return
    nodes.push_back(0)
    rests.push_back(Rest(0, token_first[0], token_first[1], 0, byte[0]))
    while i < nodes.size():
        rests[i].kid_first = <int32_t>nodes.size()
        kid = nodes[i] + 1
        while kid < skip[nodes[i]]:
            nodes.push_back(kid)
            rests.push_back(Rest(0, token_first[kid], token_first[kid + 1], 0, byte[kid]))
            kid = skip[kid]
        rests[i].kid_count = <uint16_t>(nodes.size() - rests[i].kid_first)
        i += 1


cdef int find_rests(const vector[Rest]& rests, Machine machine, SetRec* caller, vector[int32_t]& places) except -1 nogil:
    """Where, in `ids` of a token set, the tokens are whose rest `caller` takes; with the machine's lock held."""
    cdef vector[Place] todo
    cdef Place at
    cdef Way way
    cdef const Rest* rest
    cdef uint64_t[4] live
    cdef int32_t k, m, past
    if rests.empty():
        return 0
    todo.push_back(Place(0, spot_of(caller)))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        memcpy(live, live_at(machine, at.spot), sizeof(live))
        past = rests[at.rest].kid_first + rests[at.rest].kid_count
        way.high = -1
        for k in range(rests[at.rest].kid_first, past):
            rest = &rests[k]
            if not live[rest.byte >> 6] >> (rest.byte & 63) & 1:
                continue
            if rest.byte > way.high:
                find_way(machine, at.spot, rest.byte, way)
            if not way.alive:
                continue
            for m in range(rest.token_first, rest.token_past):
                places.push_back(m)
            if rest.kid_count:
                todo.push_back(Place(k, way.to))
    return 0
