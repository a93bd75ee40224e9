from libc.stdint cimport int32_t


cdef class Rule:
    cdef readonly str name
    cdef readonly tuple notes
    cdef readonly object span
    cdef object made


cdef class DeferredRule(Rule):
    cdef bytes known_key
    cdef readonly bint costly       # its key takes longer than what is kept for equal rules
    cdef bytes find_key(self)
    cpdef object make(self, bint compact)


cdef enum Mark:
    SCOPE = 1           # what a predicate remembers begins anew in each text of the rule
    JUDGED = 2          # a predicate judges each text of the rule
    WATCHED = 4         # ... and says of each beginning of one whether it may become a text that it allows
    LIMITS_TOKENS = 8   # in `restrictions` alone: some rule has `max_tokens`


cdef int32_t token_limit(Rule rule) except -2
cdef int mark_of(Rule rule) except -1
cdef tuple marks_of(Rule rule)
cdef int restrictions(dict rules) except -1
cdef Rule rule_of(str name, object body, object span)
cpdef object body_of(dict rules, dict made, str name, bint compact)
