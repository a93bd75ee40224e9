"""The automaton of one rule: from its body or a shorthand, or remembered.

Bodies that call nothing, or nothing that is not spelt out in them, are the same automaton in all grammars; many of them
(strings, white space, numbers) are the same nodes, so their automata are kept by the identity of these.

Read on: `lower.py` (who asks), `nfa.pyx` and `brief.pyx` (who fill).
"""

from kernels_core.automata.brief cimport spell_opened, spell_shorthand
from kernels_core.automata.decisions cimport LoweredRule
from kernels_core.automata.weighing cimport SPELT_OUT
from kernels_core.grammar.rules cimport Rule, body_of, opened
from kernels_core.grammar.shorthand cimport Listing, Shorthand
from kernels_core.grammar.tree cimport Node

from kernels_core.errors import BudgetExceededError

__all__ = ["nfa_of"]

cdef int MOST_REMEMBERED = 256
cdef int32_t SMALL = 1000       # states


cpdef Nfa nfa_of(Decisions lowering, int32_t number):
    """The automaton of rule `number`, new or remembered.

    `BudgetExceededError` when it has far more than `max_states` states.
    """
    cdef LoweredRule rule = <LoweredRule?>lowering.rules[number]
    if rule.nfa is None:
        rule.nfa = _filled(lowering, rule)
    return <Nfa?>rule.nfa


cdef Nfa _filled(Decisions lowering, LoweredRule rule):
    cdef object body = rule.item
    cdef Nfa nfa
    cdef int32_t limit = lowering.limits.most_states
    cdef bint done = True
    if body is None and rule.part is None:
        with lowering.lock:
            if rule.behind:
                body = opened(lowering.bodies, lowering.made, rule.source)
            elif lowering.decided(rule.source).opening is None:
                body = body_of(lowering.bodies, lowering.made, rule.source, True)
    if isinstance(body, Node) and not rule.behind:
        return _of_node(lowering, rule, <Node>body)
    nfa = Nfa.__new__(Nfa)
    if rule.part is not None:
        done = nfa.fill_part(lowering, rule.part, limit)
    elif body is None:
        nfa.fill_opened(lowering, rule.source)
    elif rule.behind:
        done = spell_opened(nfa, lowering, <Listing?>body, rule.source, limit)
    else:
        done = spell_shorthand(nfa, lowering, <Shorthand?>body, rule.source, limit)
        if done and nfa.lengths.get() != NULL and not nfa.symbols.empty():
            # Characters are counted where bytes are read and nothing is called (`Options.inline_limit`).
            with lowering.lock:
                body = body_of(lowering.bodies, lowering.made, rule.source, False)
            return _of_node(lowering, rule, <Node?>body)
    if not done:
        _refuse(lowering, rule)
    return nfa


cdef Nfa _of_node(Decisions lowering, LoweredRule rule, Node body):
    """The automaton of a body.

    Where it is remembered from a rule of another name, that is all that is different: `Nfa.position` is told.
    """
    cdef dict automata = lowering.limits.automata
    cdef Nfa nfa
    known = automata.get(<size_t><void*>body)
    if known is not None and _are_here(lowering, <list>(<tuple>known)[2]):
        return <Nfa>(<tuple>known)[1]
    nfa = Nfa.__new__(Nfa)
    if not nfa.fill(lowering, body, rule.source, rule.path, lowering.limits.most_states):
        _refuse(lowering, rule)
    if nfa.symbols.empty() and nfa.size <= SMALL:
        if len(automata) >= MOST_REMEMBERED:
            automata.clear()
        # What was called is part of the automaton now.
        called = [] if nfa.entries is None else [lowering.bodies[name] for name, _ in nfa.entries]
        automata[<size_t><void*>body] = (body, nfa, called)
    return nfa


cdef bint _are_here(Decisions lowering, list called) except -1:
    """Whether the grammar has these very rules, spelt out where they are called."""
    cdef Rule rule
    for rule in called:
        if lowering.bodies.get(rule.name) is not rule or lowering.decided(rule.name).way != SPELT_OUT:
            return False
    return True


cdef int _refuse(Decisions lowering, LoweredRule rule) except -1:
    raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
