from libc.stdint cimport int16_t, int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport ByteEdge, Tables


cdef cppclass BodyAutomaton:
    # The states that byte edges lead to from one state, which comes first.  All of them are left by one byte, if at
    # all.
    vector[int32_t] states       # of the tables
    vector[int32_t] edge_first   # one more than states: edges[edge_first[i]:edge_first[i + 1]], ascending by byte
    vector[ByteEdge] edges       # targets are places in `states`; edges that lead out are left out
    vector[uint8_t] may_close         # by place: whether `closing_byte` leads out
    uint8_t closing_byte
    bint closes                    # whether any state is


cdef int32_t resolve_calls(Tables tables, int32_t state) except -1 nogil
cdef bint collect(Tables tables, int32_t start, vector[int32_t]& place_of, BodyAutomaton& graph) except -1 nogil
cdef void minimise(const BodyAutomaton& graph, vector[int16_t]& number, BodyAutomaton& smaller) noexcept nogil
cdef bint is_same(const BodyAutomaton& graph, const BodyAutomaton& other, int16_t first,
                  vector[int16_t]& body_state) noexcept nogil
cdef int16_t body_step(const BodyAutomaton& graph, int16_t place, uint8_t byte) noexcept nogil
