cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    pass


cpdef object body_of(dict rules, dict made, str name, bint brief)
