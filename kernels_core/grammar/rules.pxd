cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    cdef object body_now(self, bint compact)


cdef Rule rule_of(str name, object body, object span)
cpdef object body_of(dict rules, dict made, str name, bint compact)
