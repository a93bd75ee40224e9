from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef struct SelfLoopKey:
    uint64_t bytes[4]       # that lead from the set back to itself
    int32_t first           # children of one node: places in the trie's `child_edges`
    uint16_t low, high      # those of them that are looked at: their bytes


cdef struct LoopBranch:
    int32_t first           # places in the loop's `child_edges`
    int32_t past
    uint8_t byte


cdef cppclass SelfLoop:
    # Below children of one node, what bytes of a loop lead to.
    SelfLoopKey key
    vector[int32_t] ids         # the tokens, where they are few
    vector[uint32_t] bits       # ... and where they are many: one bit an id
    int32_t population          # how many they are
    uint64_t hash               # of the same
    vector[LoopBranch] branches          # by byte, ascending: other bytes that come next,
    vector[int32_t] child_edges        # ... and the places in the trie's `child_edges` that they lead to
    bint too_large              # nothing is known


cdef class SelfLoops:
    cdef mutex lock
    cdef unordered_map[uint64_t, shared_ptr[SelfLoop]] known        # by hash of the key: of two with one, the later
    cdef readonly size_t nbytes

    cdef shared_ptr[SelfLoop] find(self, TokenTrie trie, const SelfLoopKey& key, int32_t count) noexcept nogil
    cdef shared_ptr[SelfLoop] _walk(self, TokenTrie trie, const SelfLoopKey& key, int32_t count) noexcept nogil


cdef bint loop_of(Machine machine, SetRec* set, uint64_t* bytes) except -1 nogil
