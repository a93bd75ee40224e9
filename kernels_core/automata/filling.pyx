"""The automaton of one rule: from its body or a shorthand, or remembered.

Many rules are the same in all grammars: strings, white space, numbers, any value.  These are the same nodes, so their
automata are kept by the identity of these.  A rule that is called has another number in each grammar, so an automaton
with calls is copied, and they are given the numbers that the rules have here; one without is the same object.

Read on: `lower.py` (who asks), `nfa.pyx` and `brief.pyx` (who fill).
"""

cimport cython

from libcpp.vector cimport vector

from kernels_core.automata.brief cimport spell_opened, spell_shorthand
from kernels_core.automata.decisions cimport LoweredRule
from kernels_core.automata.weighing cimport OPENED, SPELT_OUT, Callee
from kernels_core.grammar.rules cimport body_of, opened
from kernels_core.grammar.shorthand cimport Listing, Shorthand
from kernels_core.grammar.tree cimport IS_SHARED, Node
from kernels_core.laboratory cimport COMPACT_BODIES, REMEMBERED_AUTOMATA, has

from kernels_core.errors import BudgetExceededError

__all__ = ["nfa_of"]

cdef int MOST_REMEMBERED = 256
cdef int32_t SMALL = 1000       # states


cdef enum Use:
    # What a body is made an automaton of.  Added to its identity: there are no two objects within so few bytes.
    WHOLE = 0
    PART = 1                    # an opening, which stands in no body
    BEHIND = 2                  # what is behind the opening of a listing


@cython.final
@cython.no_gc
cdef class Remembered:
    """An automaton with the body that it was made of, which keeps its identity, and what its shape depends on."""

    cdef object body
    cdef Nfa nfa
    cdef tuple callees          # each rule that the body calls, as it was decided on where it was met, in this order
    cdef vector[int32_t] slots  # of each call in `nfa.symbols`: 4 times its place in `callees`, and which number of these


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
    cdef Use use = WHOLE
    cdef Nfa nfa
    if rule.part is not None:
        body, use = rule.part, PART
    elif body is None:
        with lowering.lock:
            if rule.behind:
                body, use = opened(lowering.bodies, lowering.made, rule.source), BEHIND
            elif lowering.decided(rule.source).opening is None:
                body = body_of(lowering.bodies, lowering.made, rule.source, has(COMPACT_BODIES))
    if body is None:
        nfa = Nfa.__new__(Nfa)
        nfa.fill_opened(lowering, rule.source)
        return nfa
    lowering.spelt[rule] = body
    nfa = _of_body(lowering, rule, body, use)
    if nfa.lengths.get() != NULL and not nfa.symbols.empty():
        # Characters are counted where bytes are read and nothing is called (`Options.inline_limit`).
        with lowering.lock:
            body = body_of(lowering.bodies, lowering.made, rule.source, False)
        lowering.spelt[rule] = body
        nfa = _of_body(lowering, rule, <Node?>body, WHOLE)
    return nfa


cdef Nfa _of_body(Decisions lowering, LoweredRule rule, object body, Use use):
    """The automaton of a body.

    Where it is remembered from a rule of another name, that is all that is different: `Nfa.position` is told.
    """
    cdef dict automata = lowering.limits.automata
    cdef size_t key = <size_t><void*>body + use
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
    if use == PART:
        done = nfa.fill_part(lowering, <Node?>body, limit)
    elif use == BEHIND:
        done = spell_opened(nfa, lowering, <Listing?>body, rule.source, limit)
    elif isinstance(body, Node):
        done = nfa.fill(lowering, <Node>body, rule.source, rule.path, limit)
    else:
        done = spell_shorthand(nfa, lowering, <Shorthand?>body, rule.source, limit)
    if not done:
        _refuse(lowering, rule)
    if nfa.size <= SMALL and _is_met_again(nfa, body, use):
        known = _to_remember(body, nfa)
        if known is not None:
            if len(automata) >= MOST_REMEMBERED:
                automata.clear()
            automata[key] = known
    nfa.callees = None
    return nfa


cdef bint _is_met_again(Nfa nfa, object body, Use use) noexcept:
    """Whether it is worth while to remember what was made of `body`; only nodes that call nothing have many uses."""
    if isinstance(body, Node):
        return nfa.symbols.empty() and use == WHOLE or (<Node>body).holds & IS_SHARED
    return (<Shorthand>body).is_shared


cdef Remembered _to_remember(object body, Nfa nfa):
    """`nfa` as it is remembered; None where it depends on more than the rules that are called by name."""
    cdef Remembered made = Remembered.__new__(Remembered)
    cdef dict slots = {}        # by number of a rule
    cdef Callee callee
    cdef int32_t place, number
    cdef size_t k
    if nfa.words.get() != NULL or nfa.lengths.get() != NULL:
        return None
    nfa.seal()
    made.body, made.nfa, made.callees = body, nfa, tuple(nfa.callees)
    for place, callee in enumerate(nfa.callees):
        for number in range(3):
            slots.setdefault(_number(callee, number), 4 * place + number)
    for k in range(nfa.symbols.size()):
        found = None if nfa.symbols[k].symbol & 1 else slots.get(nfa.symbols[k].symbol >> 1)
        if found is None:
            return None         # a token, or a repetition that is counted
        made.slots.push_back(found)
    return made


cdef int32_t _number(Callee callee, int which) noexcept:
    """One of the numbers that a call may carry; -1: there are not so many."""
    if callee.way == OPENED:
        return callee.opened if which == 0 else callee.behind if which == 1 else callee.bare
    return -1 if callee.way == SPELT_OUT or which > 0 else callee.number


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
                or other.body is not callee.body or other.opening is not callee.opening):
            return None
        here.append(other)
    if known.slots.empty():
        return known.nfa
    nfa = Nfa.__new__(Nfa)
    nfa.copy_all(known.nfa)
    for k in range(known.slots.size()):
        nfa.symbols[k].symbol = 2 * _number(<Callee>here[known.slots[k] >> 2], known.slots[k] & 3)
    return nfa


cdef int _refuse(Decisions lowering, LoweredRule rule) except -1:
    raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
