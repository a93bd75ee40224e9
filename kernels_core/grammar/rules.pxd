cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    pass
