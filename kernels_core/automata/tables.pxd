from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector


cdef enum StateFlag:
    ACCEPTING = 1   # the rule may end here
    COUNTED = 2     # the rule counts laps
    TAIL = 4        # ACCEPTING, nothing else leaves it, and not COUNTED
    SCANNABLE = 8   # has byte edges
    SPECIAL = 16    # ACCEPT or ESCAPE
    TOKENS = 32     # has token edges


cdef struct ByteEdge:
    uint8_t low
    uint8_t high
    int32_t target


cdef struct CallEdge:
    int32_t rule
    int32_t target


cdef struct TokenEdge:
    int32_t token_set
    int32_t target


cdef class Tables:
    # by state; edges of s are [edge_first[s], edge_first[s + 1])
    cdef vector[uint8_t] flags
    cdef vector[int32_t] rule_of
    cdef vector[int32_t] edge_first
    cdef vector[int32_t] call_first
    cdef vector[int32_t] token_first
    cdef vector[uint64_t] live            # four words a state: the bytes it can scan
    cdef vector[ByteEdge] edges
    cdef vector[CallEdge] calls
    cdef vector[TokenEdge] tokens
    # by rule
    cdef vector[int32_t] start
    cdef vector[int32_t] lap_min          # -1: not counted
    cdef vector[int32_t] lap_max          # -1: unbounded (or not counted)
    # by token set: sorted ids, and whether they are the ones left out
    cdef vector[vector[int32_t]] token_ids
    cdef vector[uint8_t] token_negated
    cdef readonly int state_count
    cdef readonly int rule_count

    cdef bint contains(self, int32_t token_set, int32_t token) noexcept nogil
