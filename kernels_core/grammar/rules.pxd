from libc.stdint cimport int32_t


cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    cdef object body_now(self, bint compact)


cdef int32_t token_limit(Rule rule) except -2
cdef bint limits_tokens(dict rules) except -1
cdef Rule rule_of(str name, object body, object span)
cpdef object body_of(dict rules, dict made, str name, bint compact)
