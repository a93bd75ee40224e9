from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item
from kernels_core.earley.machine cimport Machine


cdef class PushdownMachine(Machine):
    cdef readonly size_t max_stacks
    cdef vector[Item] entry
