from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.mask_table cimport MaskTable
from kernels_core.masks.self_loops cimport SelfLoop, SelfLoopKey, SelfLoops
from kernels_core.masks.trie cimport TokenTrie


cdef struct WalkPlace:
    int32_t first       # children to look at: places in the trie's `child_edges`, and how many
    int32_t count
    SetRec* set         # at their parent


cdef class DirectWalk:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly SelfLoops self_loops           # None: every node is visited
    cdef MaskTable draft
    cdef vector[WalkPlace] todo             # scratch
    cdef int64_t left                   # nodes that may still be visited
    cdef bint took_loop                 # of the last walk: it took a self-loop row

    cdef bint run(self, SetRec* record, int32_t top, const uint64_t* first, int64_t limit) except -1 nogil
    cdef int _follow_words(self, SetRec* record, int32_t top, const Prefix& prefix) except -1 nogil
    cdef int32_t _take_loop(self, WalkPlace at, int32_t edge, const uint64_t* first, SetRec* target,
                            SelfLoopKey key) except -2 nogil
    cdef void _take_loop_row(self, const shared_ptr[SelfLoop]& found) noexcept nogil
    cdef int _take_branch(self, int32_t edge, SetRec* source) except -1 nogil
    cdef void _take(self, int32_t edge, SetRec* target) noexcept nogil
    cdef void _take_tokens(self, int32_t edge) noexcept nogil
    cdef void _take_tokens_at(self, int32_t node) noexcept nogil
