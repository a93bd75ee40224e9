# distutils: language = c++
"""The mask of a set that allows little: walk the trie from the set itself.

Most first visits are to places with hardly a choice: inside a key, a keyword, a number, between two values.  There the
verdicts of each state for an unknown caller (`token_sets`) would take longer to make than the mask, and be used once.
The walk goes from child to child along the bytes that are live, so it costs a few steps a token allowed, and the steps
are the ones that the matcher takes next.
"""

from libc.stdint cimport int32_t

from kernels_core.earley.machine cimport step
from kernels_core.masks.mask_table cimport add_id
from kernels_core.masks.trie cimport TrieNode, live_kids


cdef bint walk_from(TokenTrie trie, Machine machine, SetRec* record, const uint64_t* first, int64_t limit,
                    MaskTable draft, vector[Place]& todo) except -1 nogil:
    """Allow all tokens that `record` takes and that begin with a byte in `first` (four words, live bytes of it).

    False, with an unfinished draft, if that takes more than `limit` nodes.  With the machine's lock held; `todo` is
    scratch.
    """
    cdef const TrieNode* nodes = trie.nodes.data()
    cdef const int32_t* ids = trie.ids.data()
    cdef int32_t[256] kids
    cdef int32_t n, k, i, kid
    cdef SetRec* target
    cdef Place at
    todo.clear()
    todo.push_back(Place(0, record))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        n = live_kids(trie, at.node, first if at.node == 0 else &at.set.live[0], kids)
        limit -= 1 + n
        if limit < 0:
            return False
        for k in range(n):
            kid = kids[k]
            target = step(machine, at.set, nodes[kid].byte)
            if target == machine.dead:
                continue
            for i in range(nodes[kid].token_first, nodes[kid + 1].token_first):
                add_id(draft, ids[i])
            if nodes[kid].skip > kid + 1:
                todo.push_back(Place(kid, target))
    return True
