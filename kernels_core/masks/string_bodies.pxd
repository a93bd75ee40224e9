from libc.stdint cimport int16_t, int32_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport ByteEdge
from kernels_core.earley.machine cimport Machine
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.whole_subtrees cimport WholeSubtrees


cdef cppclass BodyAutomaton:
    # The states that byte edges lead to from one state, which comes first.  All of them are left by one byte, if at
    # all.
    vector[int32_t] states       # of the tables
    vector[int32_t] edge_first   # one more than states: edges[edge_first[i]:edge_first[i + 1]], ascending by byte
    vector[ByteEdge] edges       # targets are places in `states`; edges that lead out are left out
    vector[uint8_t] may_close         # by place: whether `closing_byte` leads out
    uint8_t closing_byte
    bint closes                    # whether any state is


cdef cppclass BodyTokenSet:
    # The vocabulary as seen from one state of a string body.
    shared_ptr[TokenSet] tokens         # those that stay inside
    vector[int32_t] exit_edges          # nodes of the vocabulary's trie whose byte leads out; ascending
    vector[int16_t] exit_states         # the string body's states before that byte
    unordered_map[string, shared_ptr[TokenSet]] known       # by what decides on a state's verdicts; with the pool's lock


cdef cppclass StringBody:
    BodyAutomaton graph                             # minimal
    vector[shared_ptr[BodyTokenSet]] body_sets      # by state; with the pool's lock


cdef class BodyPool:
    cdef mutex lock
    cdef unordered_map[uint64_t, vector[shared_ptr[StringBody]]] known     # by what their first states read
    cdef readonly size_t nbytes
    cdef readonly int32_t made

    cdef shared_ptr[StringBody] find(self, const BodyAutomaton& graph, vector[int16_t]& body_state) noexcept nogil


cdef struct BodyState:
    int32_t body          # a place in `held`; -1: not looked at
    int16_t state


cdef class StringBodies:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly WholeSubtrees whole_subtrees
    cdef readonly BodyPool shared
    cdef vector[shared_ptr[StringBody]] held
    cdef vector[BodyState] body_states          # by state of the tables
    cdef vector[uint8_t] refused     # by rule
    cdef vector[int32_t] place_of    # scratch of `_collect`
    cdef vector[int16_t] body_state        # scratch

    cdef bint collected(self, int32_t state, BodyAutomaton& graph) except -1 nogil
    cdef bint token_set(self, int32_t state, uint64_t follow_key, const uint64_t* follow,
                        shared_ptr[TokenSet]& result) except -1 nogil
    cdef int _body_set(self, StringBody* body, int16_t body_state, int32_t state,
                       shared_ptr[BodyTokenSet]& found) except -1 nogil
    cdef void _put_together(self, BodyTokenSet* body_set, const vector[uint8_t]& open_exits, bint agreed,
                            uint64_t follow_key, const uint64_t* follow, shared_ptr[TokenSet]& result) noexcept nogil
