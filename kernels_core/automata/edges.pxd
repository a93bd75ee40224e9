"""The edges of an NFA, as `nfa.pyx` keeps them and all who read it see them."""

from libc.stdint cimport int32_t


cdef struct RangeEdge:
    int32_t source
    int32_t low
    int32_t high
    int32_t target


cdef struct SymbolEdge:
    int32_t source
    int32_t symbol        # 2 * rule id for a call, 2 * token set id + 1 for a token edge
    int32_t target


cdef struct Epsilon:
    int32_t source
    int32_t target


cdef struct First:
    # Where the edges of a state begin; they end where those of the next one begin.
    int32_t byte
    int32_t symbol
    int32_t epsilon
