"""The automaton of one rule: from its body or a shorthand, or remembered.

Many rules are the same in all grammars: strings, white space, numbers, any value.  These are the same nodes, so their
automata are kept by the identity of these.  A rule that is called has another number in each grammar, so an automaton
with calls is copied, and they are given the numbers that the rules have here; one without is the same object.

Read on: `lower.py` (who asks), `nfa.pyx` and `brief.pyx` (who fill).
"""

cimport cython

from libcpp.vector cimport vector

from kernels_core.automata.brief cimport spell_shorthand
from kernels_core.automata.decisions cimport LoweredRule
from kernels_core.automata.weighing cimport CALL, Callee
from kernels_core.grammar.rules cimport body_of
from kernels_core.grammar.shorthand cimport Shorthand
from kernels_core.grammar.tree cimport IS_SHARED, Node
from kernels_core.laboratory cimport COMPACT_BODIES, REMEMBERED_AUTOMATA, has

from kernels_core.errors import BudgetExceededError

__all__ = ["nfa_of"]

cdef int MOST_REMEMBERED = 256
cdef int32_t SMALL = 1000       # states


@cython.final
@cython.no_gc
cdef class Remembered:
    """An automaton with the body that it was made of, which keeps its identity, and what its shape depends on."""

    cdef object body
    cdef Nfa nfa
    cdef tuple callees          # each rule that the body calls, as it was decided on where it was met, in this order
    cdef vector[int32_t] slots  # of each call in `nfa.symbols`: its place in `callees`


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
    if body is None:
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, has(COMPACT_BODIES))
    lowering.spelt[rule] = body
    nfa = _of_body(lowering, rule, body)
    if nfa.lengths.get() != NULL and not nfa.symbols.empty():
        # Characters are counted where bytes are read and nothing is called (`Options.inline_limit`).
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, False)
        lowering.spelt[rule] = body
        nfa = _of_body(lowering, rule, <Node?>body)
    return nfa


cdef Nfa _of_body(Decisions lowering, LoweredRule rule, object body):
    """The automaton of a body.

    Where it is remembered from a rule of another name, that is all that is different: `Nfa.position` is told.
    """
    cdef dict automata = lowering.limits.automata
    cdef size_t key = <size_t><void*>body
    cdef int32_t limit = lowering.limits.most_states
    cdef Nfa nfa = None
    cdef bint done
    known = automata.get(key)
    if known is not None and has(REMEMBERED_AUTOMATA):
        nfa = _recalled(lowering, <Remembered>known)
        if nfa is not None:
            return nfa
    nfa = Nfa.__new__(Nfa)
    nfa.callees = []
    if isinstance(body, Node):
        done = nfa.fill(lowering, <Node>body, rule.source, rule.path, limit)
    else:
        done = spell_shorthand(nfa, lowering, <Shorthand?>body, rule.source, limit)
    if not done:
        _refuse(lowering, rule)
    if nfa.size <= SMALL and _is_met_again(nfa, body):
        known = _to_remember(body, nfa)
        if known is not None:
            if len(automata) >= MOST_REMEMBERED:
                automata.clear()
            automata[key] = known
    nfa.callees = None
    return nfa


cdef bint _is_met_again(Nfa nfa, object body) noexcept:
    """Whether it is worth while to remember what was made of `body`; only nodes that call nothing have many uses."""
    if isinstance(body, Node):
        return nfa.symbols.empty() or (<Node>body).holds & IS_SHARED
    return (<Shorthand>body).is_shared


cdef Remembered _to_remember(object body, Nfa nfa):
    """`nfa` as it is remembered; None where it depends on more than the rules that are called by name."""
    cdef Remembered made = Remembered.__new__(Remembered)
    cdef dict slots = {}        # by number of a rule
    cdef Callee callee
    cdef int32_t place
    cdef size_t k
    if nfa.words.get() != NULL or nfa.lengths.get() != NULL:
        return None
    nfa.seal()
    made.body, made.nfa, made.callees = body, nfa, tuple(nfa.callees)
    for place, callee in enumerate(nfa.callees):
        if callee.way == CALL:
            slots.setdefault(callee.number, place)
    for k in range(nfa.symbols.size()):
        found = None if nfa.symbols[k].symbol & 1 else slots.get(nfa.symbols[k].symbol >> 1)
        if found is None:
            return None         # a token, or a repetition that is counted
        made.slots.push_back(found)
    return made


cdef Nfa _recalled(Decisions lowering, Remembered known):
    """What is remembered, with the numbers that rules have here; None where a rule that it calls is none of its kind."""
    cdef list here = []
    cdef Callee callee, other
    cdef Nfa nfa
    cdef size_t k
    for callee in known.callees:
        if callee.name not in lowering.bodies:
            return None
        other = lowering.decided(callee.name)
        if (other.way != callee.way or other.left_out != callee.left_out or other.counts != callee.counts
                or other.body is not callee.body):
            return None
        here.append(other)
    if known.slots.empty():
        return known.nfa
    nfa = Nfa.__new__(Nfa)
    nfa.copy_all(known.nfa)
    for k in range(known.slots.size()):
        nfa.symbols[k].symbol = 2 * (<Callee>here[known.slots[k]]).number
    return nfa


cdef int _refuse(Decisions lowering, LoweredRule rule) except -1:
    raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
