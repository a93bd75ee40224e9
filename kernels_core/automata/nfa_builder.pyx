"""Build the NFA of one rule, from its body or from a compact body.

Read on: `lower.py` (who asks), `nfa.pyx` and `compact_bodies.pyx` (who fill).
"""

from kernels_core.automata.compact_bodies cimport spell_compact_body
from kernels_core.automata.inlining cimport LoweredRule
from kernels_core.grammar.rules cimport body_of
from kernels_core.grammar.compact_body cimport CompactBody
from kernels_core.grammar.tree cimport HOLDS_CALLS, HOLDS_TOKENS, Node
from kernels_core.laboratory cimport COMPACT_BODIES, has

from kernels_core.errors import BudgetExceededError

cdef int MOST_AUTOMATA = 256
cdef int32_t MOST_STATES = 1000     # of one that is kept


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
    lowering.lowered_from[rule] = body
    nfa = _of_body(lowering, rule, body)
    if nfa.lengths.get() != NULL and not nfa.symbols.empty():
        # Characters are counted where bytes are read and nothing is called (`Mechanisms.inline_limit`).
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, False)
        lowering.lowered_from[rule] = body
        nfa = _of_body(lowering, rule, <Node?>body)
    return nfa


cdef Nfa _of_body(Inlining lowering, LoweredRule rule, object body):
    """The automaton of a body."""
    cdef Nfa nfa
    if isinstance(body, Node):
        if not (<Node>body).holds & (HOLDS_CALLS | HOLDS_TOKENS):
            return _of_leaf(lowering, rule, <Node>body)
        return _of_node(lowering, rule, <Node>body)
    nfa = Nfa.__new__(Nfa)
    if not spell_compact_body(nfa, lowering, <CompactBody?>body, rule.source, lowering.limits.most_states):
        _refuse(lowering, rule)
    return nfa


cdef Nfa _of_node(Inlining lowering, LoweredRule rule, Node body):
    cdef Nfa nfa = Nfa.__new__(Nfa)
    if not nfa.fill(lowering, body, rule.source, rule.path, lowering.limits.most_states):
        _refuse(lowering, rule)
    return nfa


cdef Nfa _of_leaf(Inlining lowering, LoweredRule rule, Node body):
    """The automaton of a body that calls nothing.

    Most grammars have the same strings and numbers: such an automaton is made once for all of them, unless it counts,
    or copies what it counts.
    """
    cdef dict known = lowering.limits.automata
    cdef tuple key = (<size_t><void*>body, rule.source, rule.path)
    cdef Nfa nfa
    found = known.get(key)
    if found is not None:
        nfa = <Nfa>(<tuple>found)[1]
        if nfa.size <= lowering.limits.most_states:
            return nfa
    nfa = _of_node(lowering, rule, body)
    if nfa.symbols.empty() and nfa.members.get() == NULL and not nfa.text and nfa.size <= MOST_STATES:
        nfa.lay_out_edges()
        if len(known) >= MOST_AUTOMATA:
            known.clear()
        known[key] = (body, nfa)
    return nfa


cdef int _refuse(Inlining lowering, LoweredRule rule) except -1:
    raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
