from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.edges cimport SymbolEdge
from kernels_core.automata.tables cimport ByteEdge, CallEdge, Tables


cdef class Block:
    cdef bint counted                           # it is that of laps
    # By state, the rule's start first; states, edges and members are counted from the block's first.
    cdef vector[uint8_t] flags
    cdef vector[int32_t] edge_first, edge_past, call_first, call_past
    cdef vector[int32_t] subset_first, subset_past
    cdef vector[uint64_t] live
    cdef vector[ByteEdge] edges
    cdef vector[CallEdge] calls                 # in place of a rule: where the rule's `NfaView.symbols` call it
    cdef vector[int32_t] members

    cdef int paste(self, Tables tables, int32_t rule, const SymbolEdge* symbols) except -1


cdef void append_from(vector[int32_t]& whole, const vector[int32_t]& numbers, size_t first, int32_t more) noexcept nogil
cdef Block cut_out(Tables tables, int32_t first_state, int32_t first_edge, int32_t first_call, const SymbolEdge* symbols,
                   int32_t count)
