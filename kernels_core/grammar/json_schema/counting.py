"""Write "the strings of at most n characters that an automaton accepts" as a grammar, by halving n: of size log(n).

"From state p to state q in exactly 2^k characters" is "from p to some r in 2^(k-1), and from there to q in 2^(k-1)".
"At most n characters, then accept" splits n at its highest power of two: fewer than so many characters, or that many
and then at most the rest.  With Q states that are few rules of few alternatives each where Q times n states would be
thousands; a parser follows O(Q log n) of them at a time.

The parser counts by itself where it can (`../../automata/lengths.pxd`).

Read on: `../regular/dfa.py`, `spelling.py` (which decides when this is worth it).
"""

from __future__ import annotations

from collections.abc import Callable

from ..charset import Ranges
from ..components import strong_components
from ..ir import Empty, Never, Node, RuleRef
from ..nodes import choice, seq
from ..regular.dfa import Dfa
from ..rulebook import RuleBook

# Pairs of states, one reachable from the other, that this is used for: a measure of the grammar's size.
MAX_PAIRS = 150
# The same where the parser counts characters by itself: used only to write all rules out, which are ten megabytes then.
MAX_PAIRS_IN_FULL = 25_000


def has_few_pairs(dfa: Dfa, most: int) -> bool:
    """Whether at most `most` pairs (p, q) of states have a path from p to q."""
    if len(dfa.table) ** 2 <= most:
        return True
    total = 0
    reached: dict[int, int] = {}  # bits of the states that a state leads to
    after = {state: {target for target in row if target >= 0} for state, row in enumerate(dfa.table)}
    for group in strong_components(after, after):
        found = sum(1 << state for state in group)
        for target in set().union(*map(after.__getitem__, group)).difference(group):
            found |= reached[target]
        total += len(group) * found.bit_count()
        if total > most:
            return False
        reached.update(dict.fromkeys(group, found))
    return True


def counted_text(dfa: Dfa, least: int, most: int, book: RuleBook, spell: Callable[[Ranges], Node], hint: str) -> Node:
    """Texts of `least` to `most` characters that `dfa` accepts."""
    return _Counting(dfa, book, spell, hint).between(0, least, most)


class _Counting:
    def __init__(self, dfa: Dfa, book: RuleBook, spell: Callable[[Ranges], Node], hint: str) -> None:
        self._dfa = dfa
        self._book = book
        self._hint = hint
        self._labels: list[dict[int, Node]] = [{} for _ in dfa.table]
        for state, label, target in dfa.edges(spell):
            self._labels[state][target] = label
        # reach[k][p]: states that p leads to in exactly 2^k characters.
        self._reach: list[list[set[int]]] = [[set(labels) for labels in self._labels]]
        self._rules: dict[tuple[object, ...], Node] = {}

    def _reached(self, state: int, power: int) -> set[int]:
        while len(self._reach) <= power:
            half = self._reach[-1]
            self._reach.append([set().union(*(half[middle] for middle in states)) for states in half])
        return self._reach[power][state]

    def _rule(self, key: tuple[object, ...], build: Callable[[], Node]) -> Node:
        """The node for `key`: nothing and the empty text as they are, everything else a rule."""
        found = self._rules.get(key)
        if found is None:
            name = self._book.reserve(self._hint)
            self._rules[key] = RuleRef(name)
            found = build()
            if not isinstance(found, Empty | Never):
                found = self._book.define(name, found)
            self._rules[key] = found
        return found

    def between(self, state: int, least: int, most: int) -> Node:
        """`least` to `most` characters from `state`, then accept."""
        if not least:
            return self.at_most(state, most)
        power = least.bit_length() - 1
        return self._rule(
            ("between", state, least, most), lambda: self._then(state, power, least - (1 << power), most - (1 << power))
        )

    def _then(self, state: int, power: int, least: int, most: int) -> Node:
        return choice(
            [
                seq((self.exactly(state, middle, power), self.between(middle, least, most)))
                for middle in sorted(self._reached(state, power))
            ]
        )

    def at_most(self, state: int, most: int) -> Node:
        """No more than `most` characters from `state`, then accept."""
        if most < 0:
            return Never()
        if most == 0:
            return Empty() if self._dfa.accepting[state] else Never()
        power = most.bit_length() - 1
        return self._rule(
            ("at most", state, most),
            lambda: choice((self.at_most(state, (1 << power) - 1), self._then(state, power, 0, most - (1 << power)))),
        )

    def exactly(self, state: int, target: int, power: int) -> Node:
        """2^power characters from `state` to `target`."""
        if power == 0:
            return self._labels[state][target]

        def build() -> Node:
            return choice(
                [
                    seq((self.exactly(state, middle, power - 1), self.exactly(middle, target, power - 1)))
                    for middle in sorted(self._reached(state, power - 1))
                    if target in self._reached(middle, power - 1)
                ]
            )

        return self._rule(("exactly", state, target, power), build)
