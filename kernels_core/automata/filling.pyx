"""The automaton of one rule: from its body or a shorthand, or remembered.

Bodies that call nothing are the same automaton in all grammars; many of them (strings, white space, numbers) are the
same nodes, so their automata are kept by the identity of these.

Read on: `lower.py` (who asks), `nfa.pyx` and `brief.pyx` (who fill).
"""

from libc.stdint cimport int32_t

from kernels_core.automata.decisions cimport Decisions, LoweredRule
from kernels_core.automata.nfa cimport Nfa
from kernels_core.grammar.rules cimport body_of, opened
from kernels_core.grammar.shorthand cimport Shorthand
from kernels_core.grammar.tree cimport HOLDS_CALLS, HOLDS_TOKENS, Node

from kernels_core.automata.brief import spell_opened, spell_shorthand
from kernels_core.errors import BudgetExceededError

__all__ = ["filled"]

# By the identity of a body and what else matters: (body, its automaton).  Bodies are kept, so none can take the
# identity of another.
cdef dict NFAS = {}
cdef int MOST_REMEMBERED = 256
cdef int32_t SMALL = 1000       # states


def filled(Decisions lowering not None, LoweredRule rule not None):
    """The automaton of `rule`, new or remembered.  `BudgetExceededError` when it has far more than `max_states` states."""
    cdef object body = rule.item
    cdef Nfa nfa
    cdef int32_t limit = lowering.limits.most_states
    cdef bint done
    cdef tuple key
    if body is None and rule.part is None:
        with lowering.ir.lock:
            if rule.behind:
                body = opened(lowering.bodies, lowering.made, rule.source)
            elif lowering.decided(rule.source).opening is None:
                body = body_of(lowering.bodies, lowering.made, rule.source, True)
    if rule.part is not None:
        nfa = Nfa()
        done = nfa.fill_part(lowering, rule.part, limit)
    elif body is None:
        nfa = Nfa()
        done = nfa.fill_opened(lowering, rule.source)
    elif rule.behind:
        nfa = Nfa()
        done = spell_opened(nfa, lowering, body, rule.source, limit)
    elif isinstance(body, Shorthand):
        nfa = Nfa()
        done = spell_shorthand(nfa, lowering, body, rule.source, limit)
        if done and nfa.lengths.get() != NULL and not nfa.symbols.empty():
            # Characters are counted where bytes are read and nothing is called (`Options.inline_limit`).
            with lowering.ir.lock:
                body = body_of(lowering.bodies, lowering.made, rule.source, False)
            nfa = Nfa()
            done = nfa.fill(lowering, body, rule.source, rule.path, limit)
    elif (<Node?>body).holds & (HOLDS_CALLS | HOLDS_TOKENS):
        nfa = Nfa()
        done = nfa.fill(lowering, body, rule.source, rule.path, limit)
    else:
        key = (<size_t><void*>body, rule.source, rule.path, lowering.limits.spelling)
        known = NFAS.get(key)
        if known is not None:
            return (<tuple>known)[1]
        nfa = Nfa()
        done = nfa.fill(lowering, body, rule.source, rule.path, limit)
        if done and nfa.symbols.empty() and nfa.size <= SMALL:
            if len(NFAS) >= MOST_REMEMBERED:
                NFAS.clear()
            NFAS[key] = (body, nfa)
    if not done:
        raise BudgetExceededError("automaton states", lowering.options.max_states, f"rule {rule.name!r}")
    return nfa
