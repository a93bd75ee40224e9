"""Build the NFA of one rule, from its body or from a compact body.

Read on: `lower.py` (who asks), `nfa.pyx` and `compact_bodies.pyx` (who fill).
"""

from kernels_core.automata.compact_bodies cimport spell_compact_body
from kernels_core.automata.inlining cimport LoweredRule
from kernels_core.grammar.rules cimport body_of
from kernels_core.grammar.compact_body cimport CompactBody
from kernels_core.grammar.tree cimport Node
from kernels_core.laboratory cimport COMPACT_BODIES, has

from kernels_core.errors import BudgetExceededError

__all__ = ["nfa_of"]


cpdef Nfa nfa_of(Inlining lowering, int32_t number):
    """The automaton of rule `number`.

    `BudgetExceededError` when it has far more than `max_states` states.
    """
    cdef LoweredRule rule = <LoweredRule?>lowering.rules[number]
    if rule.nfa is None:
        rule.nfa = _filled(lowering, rule)
    return <Nfa?>rule.nfa


cdef Nfa _filled(Inlining lowering, LoweredRule rule):
    cdef object body = rule.item
    cdef Nfa nfa
    if body is None:
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, has(COMPACT_BODIES))
    lowering.spelt[rule] = body
    nfa = _of_body(lowering, rule, body)
    if nfa.lengths.get() != NULL and not nfa.symbols.empty():
        # Characters are counted where bytes are read and nothing is called (`Mechanisms.inline_limit`).
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, False)
        lowering.spelt[rule] = body
        nfa = _of_body(lowering, rule, <Node?>body)
    return nfa


cdef Nfa _of_body(Inlining lowering, LoweredRule rule, object body):
    """The automaton of a body."""
    cdef int32_t limit = lowering.limits.most_states
    cdef Nfa nfa = Nfa.__new__(Nfa)
    cdef bint done
    if isinstance(body, Node):
        done = nfa.fill(lowering, <Node>body, rule.source, rule.path, limit)
    else:
        done = spell_compact_body(nfa, lowering, <CompactBody?>body, rule.source, limit)
    if not done:
        _refuse(lowering, rule)
    return nfa


cdef int _refuse(Inlining lowering, LoweredRule rule) except -1:
    raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
