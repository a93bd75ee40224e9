# distutils: language = c++
"""The mask of a set that allows little: walk the trie from the set itself.

Most first visits are to places with hardly a choice: inside a key, a keyword, a number, between two values.  There the
verdicts of each state for an unknown caller (`token_sets`) would take longer to make than the mask, and be used once.
The walk goes from child to child along the bytes that are live, so it costs a few steps a token allowed, and the steps
are the ones that the matcher takes next.
"""

from kernels_core.earley.machine cimport step
from kernels_core.masks.mask_table cimport add_id
from kernels_core.masks.trie cimport TOKENS, Twig, live_twigs


cdef bint walk_from(TokenTrie trie, Machine machine, SetRec* record, const uint64_t* first, int64_t limit,
                    MaskTable draft, vector[Place]& todo) except -1 nogil:
    """Allow all tokens that `record` takes and that begin with a byte in `first` (four words, live bytes of it).

    False, with an unfinished draft, if that takes more than `limit` nodes.  With the machine's lock held; `todo` is
    scratch.
    """
    cdef const Twig* twigs = trie.twigs.data()
    cdef Twig twig
    cdef int32_t[256] found
    cdef int32_t n, k
    cdef SetRec* target
    cdef Place at
    todo.clear()
    todo.push_back(Place(0, trie.nodes[1].kid_first, record))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        n = live_twigs(trie, at.first, at.count, first if at.first == 0 else &at.set.live[0], found)
        limit -= 1 + n
        if limit < 0:
            return False
        for k in range(n):
            twig = twigs[found[k]]
            target = step(machine, at.set, twig.byte)
            if target == machine.dead:
                continue
            if twig.token >= 0:
                add_id(draft, twig.token)
            elif twig.token == TOKENS:
                _add_all(trie, trie.kids[found[k]], draft)
            if twig.kid_count:
                todo.push_back(Place(twig.kid_first, twig.kid_count, target))
    return True


cdef void _add_all(TokenTrie trie, int32_t node, MaskTable draft) noexcept nogil:
    """All tokens that are spelt as the path to `node`."""
    cdef int32_t i
    for i in range(trie.nodes[node].token_first, trie.nodes[node + 1].token_first):
        add_id(draft, trie.ids[i])
