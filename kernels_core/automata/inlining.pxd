from libc.stdint cimport int32_t

from kernels_core.automata.size_estimate cimport Callee, SizeEstimates
from kernels_core.grammar.tree cimport Node, Repeat


cdef class LoweredRule:
    cdef readonly str source
    cdef readonly object ir
    cdef readonly int32_t min_iterations, max_iterations  # -1: not counted; -1: no maximum
    cdef readonly int32_t max_tokens        # that may begin inside of a text of it; -1: any number
    cdef readonly int mark                  # of `grammar.rules.Mark`
    cdef readonly tuple marks               # the notes that say so
    cdef int32_t twins                      # counted rules before it that say the same
    cdef readonly Node item                 # None unless counted
    cdef readonly tuple path
    cdef public object nfa


cdef class Inlining(SizeEstimates):
    cdef readonly list rules                # of `LoweredRule`, by number
    cdef readonly list token_sets           # of (ids, negated), by number
    cdef dict token_set_ids
    cdef dict counted_rules                 # by (rule, item, minimum, maximum): number
    cdef dict twins                         # by (rule, minimum, maximum): how many counted rules there are

    cdef Callee decided(self, str name)
    cdef int _decide(self, Callee callee) except -1
    cdef int32_t number_of(self, Callee callee) except -1
    cpdef int32_t counted_rule(self, str source, tuple path, Node item, minimum, maximum) except -1
    cdef int32_t copies_of(self, Repeat node) except -1
    cdef int32_t copies_in_text(self, Repeat node, bint searches) except -1
