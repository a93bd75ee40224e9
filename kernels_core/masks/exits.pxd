from libc.stdint cimport int32_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.rests cimport Tries
from kernels_core.masks.token_sets cimport TokenSet


cdef struct Exit:
    int32_t token
    int32_t laps        # that are complete where the token leaves the rule


cdef class Exits:
    cdef readonly Machine machine
    cdef Tries tries                    # scratch
    cdef unordered_map[size_t, unordered_map[size_t, vector[Exit]]] known       # by lap set and caller's set

    cdef vector[Exit]* find(self, TokenSet* laps, SetRec* caller) except NULL nogil
    cdef int allow(self, TokenSet* laps, SetRec* caller, int32_t missing, int32_t left,
                   vector[int32_t]& ids) except -1 nogil
