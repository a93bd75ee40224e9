from libc.stdint cimport int32_t


cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    cdef object body_now(self, bint compact)


cdef enum Mark:
    DISTINCT = 1        # items in a text of the rule differ
    ITEM = 2            # a text of the rule is an item


cdef int32_t token_limit(Rule rule) except -2
cdef int mark_of(Rule rule) except -1
cdef int restrictions(dict rules) except -1
cdef Rule rule_of(str name, object body, object span)
cpdef object body_of(dict rules, dict made, str name, bint compact)
