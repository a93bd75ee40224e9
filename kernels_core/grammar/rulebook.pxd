from kernels_core.grammar.tree cimport RuleRef


cdef class RuleBook:
    cdef public dict rules
    cdef dict counts            # base of a name -> the largest number that follows it
    cdef dict shared, nodes

    cpdef str free_name(self, str hint)
    cdef RuleRef share_body(self, str key, str hint, body)
    cpdef bint adopt(self, RuleBook other) except -1
    cpdef RuleRef define(self, str name, body, tuple notes=*)
