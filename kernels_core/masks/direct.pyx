# distutils: language = c++
"""The mask of a set that allows little: walk the trie from the set itself.

Most first visits are to places with hardly a choice: inside a key, a keyword, a number, between two values.  There the
verdicts of each state for an unknown caller (`token_sets`) would take longer to make than the mask, and be used once.
The walk goes from child to child along the bytes that are live, so it costs a few steps a token allowed, and the steps
are the ones that the matcher takes next.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memchr

from kernels_core.earley.machine cimport is_live, step
from kernels_core.masks.mask_table cimport add_id
from kernels_core.masks.trie cimport TrieNode


cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil
    int __builtin_popcountll(unsigned long long) nogil


cdef bint walk_from(TokenTrie trie, Machine machine, SetRec* record, const uint64_t* first, int64_t limit,
                    MaskTable draft, vector[Place]& todo) except -1 nogil:
    """Allow all tokens that `record` takes and that begin with a byte in `first` (four words, live bytes of it).

    False, with an unfinished draft, if that takes more than `limit` nodes.  With the machine's lock held; `todo` is
    scratch.
    """
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef const uint8_t* bytes = trie.kid_bytes.data()
    cdef const int32_t* kids = trie.kids.data()
    cdef const uint64_t* live
    cdef const uint8_t* found
    cdef int32_t begin, count, k, w
    cdef uint64_t word
    cdef Place at
    todo.clear()
    todo.push_back(Place(0, record))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        begin = nodes[at.node].kid_first
        count = nodes[at.node + 1].kid_first - begin
        live = &at.set.live[0]
        if at.node == 0:
            live = first
        limit -= 1
        if limit < 0:
            return False
        if count <= 4:
            for k in range(begin, begin + count):
                if live[bytes[k] >> 6] >> (bytes[k] & 63) & 1:
                    _visit(machine, at.set, kids[k], nodes, ids, draft, todo)
        elif _count(live) > count // 4:
            limit -= count // 8
            for k in range(begin, begin + count):
                if live[bytes[k] >> 6] >> (bytes[k] & 63) & 1:
                    _visit(machine, at.set, kids[k], nodes, ids, draft, todo)
        else:
            for w in range(4):
                word = live[w]
                while word:
                    found = <const uint8_t*>memchr(bytes + begin, 64 * w + __builtin_ctzll(word), count)
                    word &= word - 1
                    if found != NULL:
                        _visit(machine, at.set, kids[found - bytes], nodes, ids, draft, todo)
    return True


cdef inline int _count(const uint64_t* live) noexcept nogil:
    return (__builtin_popcountll(live[0]) + __builtin_popcountll(live[1]) + __builtin_popcountll(live[2])
            + __builtin_popcountll(live[3]))


cdef inline int _visit(Machine machine, SetRec* source, int32_t kid, const TrieNode* nodes, const int32_t* ids,
                       MaskTable draft, vector[Place]& todo) except -1 nogil:
    cdef int32_t k
    cdef SetRec* target = step(machine, source, nodes[kid].byte)
    if target == machine.dead:
        return 0
    for k in range(nodes[kid].token_first, nodes[kid + 1].token_first):
        add_id(draft, ids[k])
    if nodes[kid].skip > kid + 1:
        todo.push_back(Place(kid, target))
    return 0
