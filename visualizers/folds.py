"""The folded rules of one automaton, which may grow.

Read on: `visualizers/fold.py` (one rule), `visualizers/scene.py` (what is drawn of them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

from kernels_core.inspect.snapshots import Automaton, RuleAutomaton
from visualizers.fold import FoldedRule, fold_rule, unfolded_rule

__all__ = ["Folds", "Mode", "same_rule"]

Mode = Literal["characters", "bytes"]


class Folds:
    """An automaton with its rules folded when they are asked for, and kept while they stay what they were.

    A rule goes by its start state, which is its own and never changes; rules that are made later may come in between.
    """

    def __init__(self, automaton: Automaton, mode: Mode = "characters") -> None:
        self.automaton = automaton
        self.mode: Mode = mode
        self.rules: Mapping[int, RuleAutomaton] = {rule.start: rule for rule in automaton.rules}
        self._folded: dict[int, FoldedRule] = {}

    @cached_property
    def owner(self) -> Mapping[int, int]:
        """The rule of each state."""
        return {state.id: rule.start for rule in self.automaton.rules for state in rule.states}

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Rules by name."""
        return {rule.rule: rule.start for rule in self.automaton.rules}

    @property
    def root(self) -> int | None:
        """The rule where texts begin."""
        return self.index.get(self.automaton.root, next(iter(self.rules), None))

    def rule(self, start: int) -> FoldedRule:
        """A rule, folded (or byte by byte in the mode "bytes")."""
        if start not in self._folded:
            make = fold_rule if self.mode == "characters" else unfolded_rule
            self._folded[start] = make(self.rules[start])
        return self._folded[start]

    def grown(self, automaton: Automaton) -> Folds:
        """The same for a later state of the automaton; rules that did not change stay folded."""
        other = Folds(automaton, self.mode)
        for start, folded in self._folded.items():
            if start in other.rules and same_rule(folded.rule, other.rules[start]):
                other._folded[start] = folded
        return other

    def seeds(self, states: Iterable[int]) -> dict[int, dict[int, bool]]:
        """By rule: the states of the folded picture that stand for `states`, and whether ways on begin there.

        A state on an edge stands for both its ends, and ways on begin at the far one.
        """
        found: dict[int, dict[int, bool]] = {}
        for state in states:
            start = self.owner.get(state)
            if start is None:
                continue
            folded = self.rule(start)
            seeds = found.setdefault(start, {})
            if state not in folded.places:
                seeds[state] = True
            for place in folded.places.get(state, ())[:4]:
                seeds.setdefault(folded.edges[place.edge].source, False)
                seeds[folded.edges[place.edge].target] = True
            for source, begun in folded.begun.items():
                if state in begun.states:
                    seeds[source] = True
        return found


def same_rule(old: RuleAutomaton, new: RuleAutomaton) -> bool:
    """Whether a rule's automaton is still the same: it only ever grows, so its size tells."""
    return old is new or (
        old.rule == new.rule
        and len(old.states) == len(new.states)
        and len(old.edges) == len(new.edges)
        and [state.made for state in old.states] == [state.made for state in new.states]
    )
