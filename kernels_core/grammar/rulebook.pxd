from kernels_core.grammar.tree cimport RuleRef


cdef class RuleBook:
    cdef public dict rules
    cdef dict counts            # base of a name -> the largest number that follows it
    cdef dict shared, nodes

    cpdef str free_name(self, str hint)
    cpdef RuleRef define(self, str name, body)
