from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.automata.edges cimport Epsilon, First, RangeEdge, SymbolEdge


cdef void take_spare_memory(vector[RangeEdge]& bytes, vector[SymbolEdge]& symbols, vector[Epsilon]& epsilons) noexcept
cdef void order_edges(int32_t size, vector[RangeEdge]& bytes, vector[SymbolEdge]& symbols, vector[Epsilon]& epsilons,
                      vector[First]& first) noexcept
cdef void find_alive(int32_t size, const vector[RangeEdge]& bytes, const vector[SymbolEdge]& symbols,
                     const vector[Epsilon]& epsilons, int32_t final, vector[uint8_t]& alive) noexcept
