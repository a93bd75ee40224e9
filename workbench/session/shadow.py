"""The shadow of the engine that a session runs: the same grammar compiled again, to be asked whatever panels may ask.

What is only asked (why not this token? which bytes may follow? which state accepts what?) makes parser states, token
sets and automaton states, and counts as hits and misses.  None of that may show in the engine that runs.  So it is
asked of a shadow, which follows the same text and shares nothing with it (`CompiledGrammar.apart`).

State ids of the shadow are its own.  What it tells is told in those of the engine that runs (`inspect/pairs.py`).

Read on: `core.py`, whose lock guards it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kernels_core import CompiledGrammar, GrammarMatcher
from kernels_core.inspect.classic import Chart, in_common
from kernels_core.inspect.look import RestCaller, rest_callers, token_sets
from kernels_core.inspect.pairs import Pairs
from kernels_core.inspect.snapshots import EarleyItem, Ids, StateTokens, TokenSets
from kernels_core.masks.questions import kept


class Shadow:
    """A second engine for `compiled`, made when it is first asked."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._ours = compiled
        self.compiled = compiled.apart()
        self._matcher = GrammarMatcher(self.compiled)
        self._chart = Chart(self.compiled.state_table)
        self._pairs = Pairs(compiled.state_table, self.compiled.state_table)

    def follow(self, matcher: GrammarMatcher) -> None:
        """Go to the place of the engine's `matcher`."""
        follow(self._matcher, matcher.history)

    def fork(self) -> GrammarMatcher:
        """A matcher at this place."""
        return self._matcher.fork()

    def start(self) -> GrammarMatcher:
        """A matcher at the beginning."""
        return GrammarMatcher(self.compiled)

    def items(self, matcher: GrammarMatcher) -> tuple[EarleyItem, ...]:
        """The Earley items of a matcher of the shadow's, with the states of the engine that runs."""
        self._chart.seek(matcher.steps())
        return tuple(map(self._told, self._chart.items()))

    def token_sets(self, allowed: Ids) -> TokenSets:
        """The mask here by reason, with the states of the engine that runs, and the ids that its mask has `allowed`."""
        found = token_sets(self._matcher, allowed)
        return replace(found, states=tuple(map(self._tokens_told, found.states)))

    def rest_callers(self) -> tuple[tuple[RestCaller, ...], ...]:
        """Who decides about the rests of uncertain tokens, for each entry of `token_sets`."""
        return rest_callers(self._matcher)

    def states(self, theirs: Iterable[int]) -> list[int]:
        """States of the shadow's as those of the engine that runs; -1 for those that it has not made."""
        return [self._pairs.ours(state) for state in theirs]

    def _told(self, item: EarleyItem) -> EarleyItem:
        state, rule = self._named(item.state, item.rule)
        return replace(item, state=state, rule=rule)

    def _tokens_told(self, entry: StateTokens) -> StateTokens:
        state, rule = self._named(entry.state, entry.rule)
        storage, made_by, nbytes = kept(self._ours.masks, state, entry.counter) if state >= 0 else ("", "", 0)
        return replace(entry, state=state, rule=rule, storage=storage, nbytes=nbytes, made_by=made_by)

    def _named(self, state: int, rule: str) -> tuple[int, str]:
        ours = self._pairs.ours(state)
        return (ours, self._ours.state_table.rule_name(ours)) if ours >= 0 else (-1, rule)


def follow(matcher: GrammarMatcher, steps: Sequence[int | bytes]) -> None:
    """Go to the place behind `steps`, token ids and texts, which an engine of the same grammar has taken."""
    here = matcher.history
    shared = in_common(here, list(steps))
    matcher.rollback(len(here) - shared)
    for step in steps[shared:]:
        taken = matcher.accept_string(step) if isinstance(step, bytes) else matcher.accept_token(step)
        if not taken:
            raise RuntimeError(f"the second engine refuses {step!r} after {matcher.text!r}, which the first one took")
