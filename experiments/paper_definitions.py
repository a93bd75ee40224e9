"""The paper's definitions as they stand (XGrammar-2, table 6), by brute force: no engine, no cache, no cleverness.

`Definitions` reads the rule automata of a compiled grammar (`kernels_core.inspect.snapshots.Automaton`) as a grammar: a
rule at a state is the paper's dotted production.  An item is (rule, state, origin, counter); sets are closed under the
three rules until nothing new follows:

- predict: a state with a call edge begins the called rule here;
- scan: a byte edge takes the byte;
- complete: a rule that ends lets every item go on that called it where it began.  A counted rule counts an iteration
  first, and begins again as long as its bounds allow.

The paper's grammars have no production that derives nothing.  Where a rule bounds the characters of its texts, a state
after so many of them is a production of its own, so those from which no text can be finished are left out.

Read on: `formal.py`, which compares these with what the engine has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, RuleAutomaton

Kind = Literal["accepted", "uncertain", "rejected"]


class Item(NamedTuple):
    """[origin, here, rule with the dot at `state`].

    counter: whole iterations of a counted rule so far; of a rule with a bounded length its characters, and one once it
    began.
    """

    rule: str
    state: int
    origin: int
    counter: int = 0

    def at(self, state: int) -> Item:
        """The same item with the dot at `state`."""
        return self._replace(state=state)


@dataclass(frozen=True)
class Closed:
    """One set of items, and which of its rules may end here."""

    items: frozenset[Item]
    ended: frozenset[Item]


class Definitions:
    """Table 6 for one grammar.  `ValueError` for automata with edges that take whole tokens, which it does not have."""

    def __init__(self, automaton: Automaton) -> None:
        self.start = {rule.rule: rule.start for rule in automaton.rules}
        self.repeat = {rule.rule: rule.repeat for rule in automaton.rules}
        self.lengths = {rule.rule: rule.lengths for rule in automaton.rules if rule.lengths is not None}
        self.counted = {state.id for rule in automaton.rules for state in rule.states if state.ends_character}
        self.finishable: dict[tuple[str, int], frozenset[int]] = {}
        self.root = automaton.root
        self.accepting = {state.id for rule in automaton.rules for state in rule.states if state.accepting}
        self.edges: dict[int, list[AutomatonEdge]] = {}
        for rule in automaton.rules:
            for edge in rule.edges:
                if edge.kind == "token":
                    raise ValueError("an edge takes whole tokens: nothing here reads those")
                self.edges.setdefault(edge.source, []).append(edge)
            if rule.lengths is not None:
                self._find_finishable(rule, rule.lengths)

    def chart(self, text: bytes) -> list[Closed]:
        """The sets before and after each byte of `text`, from the start symbol; empty ones where it does not fit."""
        sets = [self._close({Item(self.root, self.start[self.root], 0)}, [])]
        for byte in text:
            sets.append(self._close(self._scan(sets[-1].items, byte), sets))
        return sets

    def kinds(self, item: Item, tokens: Sequence[bytes]) -> list[Kind]:
        """What each token is at a scannable state, whoever has called its rule.

        Accepted: some item is derived from the state alone by the whole token.  Uncertain: not accepted, and the
        state's own rule ends within the token.  Rejected: all others.  Nobody who called the rule is known, the state
        itself among them: it may call its own rule, but this time it was not called from there.
        """
        alone = Item(item.rule, item.state, 0, item.counter)
        first = Closed(frozenset((alone,)), frozenset())
        unknown = [Closed(frozenset(), frozenset())]
        reached: dict[bytes, list[Closed]] = {b"": [first]}
        found: list[Kind] = []
        for token in tokens:
            sets = self._read(reached, token, unknown)
            inside = any(end.rule == item.rule and end.origin == 0 for one in sets[1:] for end in one.ended)
            found.append("accepted" if sets[-1].items else "uncertain" if inside else "rejected")
        return found

    def allowed(self, item: Item, chart: Sequence[Closed], tokens: Sequence[bytes]) -> list[bool]:
        """Whether each token can be read from `item` of the chart's last set, its callers included."""
        reached = {b"": [Closed(frozenset((item,)), frozenset())]}
        return [bool(self._read(reached, token, chart)[-1].items) for token in tokens]

    def _read(self, reached: dict[bytes, list[Closed]], token: bytes, before: Sequence[Closed]) -> list[Closed]:
        """The sets along `token`, one for each byte read, from `reached[b""]`; a token that fails ends in an empty set.

        before: the chart up to here, which completed rules look back into; its last set stands for the first of these.
        """
        known = max((token[:end] for end in range(len(token), -1, -1) if token[:end] in reached), key=len)
        sets = reached[known]
        for end in range(len(known), len(token)):
            history = [*before, *sets[1:]]
            sets = [*sets, self._close(self._scan(sets[-1].items, token[end]), history)]
            reached[token[: end + 1]] = sets
        return sets

    def _scan(self, items: frozenset[Item], byte: int) -> set[Item]:
        return {
            after
            for item in items
            for edge in self.edges.get(item.state, ())
            if edge.kind == "bytes" and any(low <= byte <= high for low, high in edge.ranges)
            if (after := self._moved(item, edge.target)) is not None
        }

    def _moved(self, item: Item, state: int) -> Item | None:
        """The item after a byte that leads to `state`; None where no text of a bounded length can be finished then."""
        if item.rule not in self.lengths:
            return item.at(state)
        counter = item.counter + (state in self.counted)
        finishable = state in self.finishable.get((item.rule, counter), ())
        return Item(item.rule, state, item.origin, counter) if finishable else None

    def _find_finishable(self, rule: RuleAutomaton, lengths: tuple[int, int]) -> None:
        """From which states of a rule with a bounded length a text can be finished, by what was counted."""
        least, most = lengths
        known: dict[tuple[bool, frozenset[int]], frozenset[int]] = {}
        after = frozenset[int]()
        for counter in range(most + 1, -1, -1):
            key = (least < counter, after)  # most counts are like the one above
            if key not in known:
                known[key] = self._finishable(rule, *key)
            after = self.finishable[rule.rule, counter] = known[key]

    def _finishable(self, rule: RuleAutomaton, enough: bool, after: frozenset[int]) -> frozenset[int]:
        """Of the states at one count; enough: whether a text may end there; after: those of one character more."""
        found = {state.id for state in rule.states if enough and state.accepting}
        while True:
            more = {
                edge.source for edge in rule.edges if edge.target in (after if edge.target in self.counted else found)
            }
            if more <= found:
                return frozenset(found)
            found |= more

    def _close(self, kernel: set[Item], before: Sequence[Closed]) -> Closed:
        """`kernel` with all that predict and complete derive from it; `before` are the sets of earlier positions."""
        here = len(before)
        items, ended = set[Item](), set[Item]()
        pending = set(kernel)
        while pending:
            items |= pending
            fresh: set[Item] = set()
            for item in items:
                fresh |= {
                    Item(edge.rule, self.start[edge.rule], here)
                    for edge in self.edges.get(item.state, ())
                    if edge.kind == "call" and edge.rule is not None
                }
                if item.state in self.accepting:
                    ends, again = self._iterations(item)
                    fresh |= again
                    if ends:
                        ended.add(item)
                        callers = items if item.origin == here else before[item.origin].items
                        fresh |= self._returned(item.rule, callers)
            pending = fresh - items
        return Closed(frozenset(items), frozenset(ended))

    def _iterations(self, item: Item) -> tuple[bool, set[Item]]:
        """Whether a rule at an accepting state may end, and where a counted one goes on."""
        if item.rule in self.lengths:
            fewest, longest = self.lengths[item.rule]
            return fewest <= item.counter - 1 <= longest, set()
        repeat = self.repeat[item.rule]
        if repeat is None:
            return True, set()
        least, most = repeat
        counter = item.counter + 1
        if most is not None and counter >= most:
            return counter >= least, set()
        kept = min(counter, least) if most is None else counter
        return counter >= least, {Item(item.rule, self.start[item.rule], item.origin, kept)}

    def _returned(self, rule: str, callers: set[Item] | frozenset[Item]) -> set[Item]:
        return {
            caller.at(edge.target)
            for caller in callers
            for edge in self.edges.get(caller.state, ())
            if edge.kind == "call" and edge.rule == rule
        }
