from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from kernels_core.grammar.rules cimport Rule
from kernels_core.grammar.tree cimport Node, Repeat

cdef int32_t UNKNOWN
cdef int32_t CALLED


cdef enum CallKind:
    UNDECIDED
    INLINED
    CALL


cdef class Callee:
    cdef readonly str name
    cdef int32_t cost           # edges where it is spelt out; CALLED: never; UNKNOWN
    cdef int64_t width          # of its widest character class in code points, if it can be spelt out
    cdef int8_t empty           # 1 it matches the empty string, 0 it does not, -1 not known by itself, UNKNOWN
    # what `inlining.pyx` adds
    cdef uint8_t call_kind
    cdef bint left_out          # CALL: it may be
    cdef bint counts            # CALL: not of the rule itself but of the repetition that its body is
    cdef int32_t number         # CALL: of the rule that is called
    cdef Node body              # INLINED


cdef class Limits:
    cdef readonly object options
    cdef readonly int32_t inline_limit, unroll_limit
    cdef readonly int32_t most_states   # of the automaton of one rule
    cdef readonly bint copies_small     # `unroll_limit` alone decides what is copied
    cdef readonly bint flat             # everything is spelt out
    cdef readonly int32_t text_limit    # edges that copies may take in a text between delimiters
    cdef readonly tuple spelling        # what the automaton of a body that calls nothing depends on
    # by identity of a body that calls nothing, for all grammars
    cdef dict known                     # what it costs: (the body, its cost, its width)
    # of such a body, its rule and the path there: (the body, an `Nfa`) (`nfa_builder.pyx`)
    cdef dict automata


cdef Limits limits_of(options)


cdef class SizeEstimates:
    cdef readonly object ir, options
    cdef object lock                    # of `ir`
    cdef readonly Limits limits
    cdef dict bodies, made              # those of `ir`
    cdef dict callees                   # by name of the rule
    # whether some rule does, or is `distinct` or an `item`: it is called, so that it has a frame of its own
    cdef readonly bint limits_tokens, marked
    cdef int chain, empty_chain         # rules that are being looked into, each called by the one before

    cdef int _open(self, ir, options) except -1
    cdef Callee callee(self, str name)
    cdef bint was_deferred(self, str name) except -1
    cdef Node _body(self, str name)
    cdef int32_t cost_of(self, Node node, int32_t limit, int depth, bint copied) except -2
    cdef int32_t repeat_cost(self, Repeat node, int32_t below) except -2
    cdef int32_t inline_cost(self, Callee callee) except -2
    cdef int _estimate(self, Callee callee, Node body) except -1
    cdef bint is_delimited(self, Node body, bint* searches) except -1
    cdef bint _ends_in_a_loop(self, Node body) except -1
    cdef int emptiness(self, Callee callee) except -2
    cdef int _empty(self, Node node, int depth) except -2
    cdef bint can_be_empty(self, Callee callee) except -1
    cdef bint resolve_emptiness(self, Node node) except -1


cdef int64_t copies_in(Repeat node) except -1
