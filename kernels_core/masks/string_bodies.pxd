from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.masks.body_automata cimport BodyAutomaton
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.body_token_sets cimport StringBody, BodyTokenSet


cdef class BodyPool:
    cdef mutex lock
    cdef unordered_map[uint64_t, vector[shared_ptr[StringBody]]] known     # by what their first states read
    cdef readonly size_t nbytes
    cdef readonly int32_t made

    cdef shared_ptr[StringBody] find(self, const BodyAutomaton& graph, vector[int16_t]& body_state) noexcept nogil
    cdef BodyTokenSet* body_set(self, TokenTrie trie, const shared_ptr[StringBody]& body, int16_t state,
                                int64_t* nodes) noexcept nogil


cdef struct BodyState:
    int32_t body          # a place in `held`; -1: not looked at
    int16_t state


cdef class StringBodies:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly BodyPool shared
    cdef vector[shared_ptr[StringBody]] held
    cdef vector[BodyState] body_states          # by state of the tables
    cdef vector[uint8_t] refused     # by rule
    cdef vector[int32_t] place_of    # scratch of `collect`
    cdef vector[int16_t] body_state        # scratch

    cdef bint collected(self, int32_t state, BodyAutomaton& graph) except -1 nogil
    cdef bint token_set(self, int32_t state, uint64_t follow_key, const uint64_t* follow,
                        shared_ptr[TokenSet]& result) except -1 nogil
    cdef void _put_together(self, BodyTokenSet* body_set, const vector[uint8_t]& open_exits, bint agreed,
                            uint64_t follow_key,
                            const uint64_t* follow, shared_ptr[TokenSet]& result) noexcept nogil
    cdef void _verdicts(self, const BodyAutomaton& graph, const shared_ptr[StringBody]& body, uint64_t follow_key,
                        const uint64_t* follow, int64_t* nodes, shared_ptr[TokenSet]& result) noexcept nogil
