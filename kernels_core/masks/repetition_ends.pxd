from libc.stdint cimport int32_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.suffixes cimport SuffixMatches
from kernels_core.masks.token_sets cimport TokenSet


cdef struct RepetitionEnd:
    int32_t token
    int32_t iterations        # that are complete where the token leaves the rule


cdef class RepetitionEnds:
    cdef readonly Machine machine
    cdef SuffixMatches matches                    # scratch
    cdef unordered_map[size_t, unordered_map[size_t,
                                             vector[RepetitionEnd]]] known       # by iteration set and caller's set

    cdef vector[RepetitionEnd]* find(self, TokenSet* iterations, SetRec* caller) except NULL nogil
    cdef int allow(self, TokenSet* iterations, SetRec* caller, int32_t missing, int32_t left,
                   vector[int32_t]& ids) except -1 nogil
