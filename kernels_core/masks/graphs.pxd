from libc.stdint cimport int16_t, int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport ByteEdge, Tables


cdef cppclass Graph:
    # The states that byte edges lead to from one state, which comes first.  All of them are left by one byte, if at all.
    vector[int32_t] states       # of the tables
    vector[int32_t] edge_first   # one more than states: edges[edge_first[i]:edge_first[i + 1]], ascending by byte
    vector[ByteEdge] edges       # targets are places in `states`; edges that lead out are left out
    vector[uint8_t] open         # by place: whether `exit` leads out
    uint8_t exit
    bint left                    # whether any state is


cdef int32_t passed_on(Tables tables, int32_t state) except -1 nogil
cdef bint draw(Tables tables, int32_t start, vector[int32_t]& place_of, Graph& graph) except -1 nogil
cdef void minimise(const Graph& graph, vector[int16_t]& number, Graph& smaller) noexcept nogil
cdef bint is_same(const Graph& graph, const Graph& other, int16_t first, vector[int16_t]& home) noexcept nogil
cdef int16_t graph_step(const Graph& graph, int16_t place, uint8_t byte) noexcept nogil
