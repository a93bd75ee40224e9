from libc.stdint cimport int32_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.mask_table cimport MaskTable
from kernels_core.masks.rests cimport RestStretch, Tries
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.unions cimport Dense


cdef struct Exit:
    int32_t token
    int32_t laps        # that are complete where the token leaves the rule


cdef cppclass Leaving:
    # What goes on in one caller.
    vector[Exit] tokens
    vector[shared_ptr[RestStretch]] held


cdef class Exits:
    cdef readonly Machine machine
    cdef MaskTable draft
    cdef bint stretches                 # whether rests may be taken as rows
    cdef Tries tries                    # scratch
    cdef unordered_map[size_t, unordered_map[size_t, Leaving]] known        # by lap set and caller's set

    cdef Leaving* find(self, TokenSet* laps, SetRec* caller) except NULL nogil
    cdef int allow(self, TokenSet* laps, SetRec* caller, int32_t missing, int32_t left, vector[Dense]& dense,
                   vector[int32_t]& ids) except -1 nogil
