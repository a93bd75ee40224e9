"""The automata of a compiled grammar as one table of states: what the views and the textbook parser look things up in.

State ids here are the machine's; its tables must be complete (`Machine.complete`): what is shown is laid out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kernels_core.automata.lower import Position
from kernels_core.automata.tables import Tables
from kernels_core.grammar.printer import print_node
from kernels_core.inspect.dots import DOT, dotted_rule
from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton

__all__ = ["StateTable"]

_MAX_DOTS = 16  # dotted rules shown for one state: people stop reading long before


class StateTable:
    """Lookups by machine state id.  Everything is computed on first use and kept.

    `rule_of[s]` rule id; `start[r]` start state of rule r; `byte_edges[s]` (low, high, target) triples;
    `call_edges[s]` (rule, target) and `token_edges[s]` (token set, target) pairs; `accepting[s]`; `repeat[r]` lap
    bounds or None.
    Lists by state have empty entries for the pseudo-states below `FIRST_STATE`.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lowering = tables.lowering
        self.start: list[int] = [tables.start_of(rule) for rule in range(tables.rule_count)]
        self.rule_of: list[int] = []
        self.accepting: list[bool] = []
        self.byte_edges: list[list[tuple[int, int, int]]] = []
        self.call_edges: list[list[tuple[int, int]]] = []
        self.token_edges: list[list[tuple[int, int]]] = []
        self.repeat = [rule.repeat for rule in self._lowering.rules]
        self._dots: dict[int, tuple[str, ...]] = {}
        for state in range(tables.state_count):
            rule, accepting, byte_edges, call_edges, token_edges = tables.row(state)
            self.rule_of.append(rule)
            self.accepting.append(accepting)
            self.byte_edges.append(byte_edges)
            self.call_edges.append(call_edges)
            self.token_edges.append(token_edges)

    def scannable(self, state: int) -> bool:
        """Whether a byte or a whole token can be read here."""
        return bool(self.byte_edges[state] or self.token_edges[state])

    def takes(self, token_set: int, token: int, has_text: bool) -> bool:
        """Whether a token edge with `token_set` takes `token`; negated sets take no token without text."""
        ids, negated = self._lowering.token_sets[token_set]
        return (token not in ids and has_text) if negated else token in ids

    def counted(self, target: int, counter: int) -> int | None:
        """An item's counter where a byte leads it to `target`; None where its text is too long or ends too early."""
        found: int | None = self._tables.counted(target, counter)
        return found

    def rule_name(self, state: int) -> str:
        name: str = self._lowering.rules[self.rule_of[state]].name
        return name

    def span(self, rule: int) -> tuple[int, int] | None:
        """Character range of the rule's definition in the grammar's source."""
        found = self._lowering.ir.rules[self._lowering.rules[rule].source].span
        return None if found is None else (found.start, found.end)

    def source_name(self, rule: int) -> str:
        """The name of the rule in the grammar that automaton `rule` comes from; counted repetitions have none."""
        name: str = self._lowering.rules[rule].source
        return name

    def positions(self, state: int) -> Sequence[Position]:
        """The places in the grammar that `state` stands for; none where its rule stands in no body."""
        if self._lowering.rules[self.rule_of[state]].part is not None:
            return ()
        found: Sequence[Position] = self._tables.positions(state)
        return found

    def dots(self, state: int) -> tuple[str, ...]:
        """The dotted rules that `state` stands for."""
        if state not in self._dots:
            ir = self._lowering.ir
            rule = self._lowering.rules[self.rule_of[state]]
            if rule.part is not None:  # in no rule's body, so there is no place in one
                self._dots[state] = (f"{rule.name} ::= {DOT} {print_node(rule.part)}",)
            else:
                self._dots[state] = tuple(
                    dotted_rule(ir, position) for position in self._tables.positions(state)[:_MAX_DOTS]
                )
        return self._dots[state]

    @cached_property
    def automaton(self) -> Automaton:
        """All rule automata as a snapshot."""
        rules = []
        members: list[list[int]] = [[] for _ in self._lowering.rules]
        for state, number in enumerate(self.rule_of):
            if number >= 0:
                members[number].append(state)
        for number, rule in enumerate(self._lowering.rules):
            ids = members[number]
            states = tuple(
                AutomatonState(s, rule.name, self.accepting[s], self.scannable(s), self.dots(s)) for s in ids
            )
            edges = [edge for s in ids for edge in self._edges(s)]
            rules.append(
                RuleAutomaton(rule.name, self.start[number], states, tuple(edges), rule.repeat, self.span(number))
            )
        return Automaton(tuple(rules), self._lowering.rules[0].name, self._lowering.ir.source)

    def _edges(self, state: int) -> list[AutomatonEdge]:
        by_target: dict[int, list[tuple[int, int]]] = {}
        for low, high, target in self.byte_edges[state]:
            by_target.setdefault(target, []).append((low, high))
        edges = [
            AutomatonEdge(state, target, "bytes", byte_label(ranges), tuple(ranges))
            for target, ranges in by_target.items()
        ]
        for called, target in self.call_edges[state]:
            name = self._lowering.rules[called].name
            edges.append(AutomatonEdge(state, target, "call", name, rule=name))
        for chosen, target in self.token_edges[state]:
            edges.append(AutomatonEdge(state, target, "token", token_label(*self._lowering.token_sets[chosen])))
        return edges


def token_label(ids: tuple[int, ...], negated: bool) -> str:
    """A set of whole tokens: `token 5, 7`, `any token but 2`."""
    shown = ", ".join(map(str, ids[:6])) + (", ..." if len(ids) > 6 else "")
    if negated:
        return f"any token but {shown}" if ids else "any token"
    return f"token {shown}"


def byte_label(ranges: list[tuple[int, int]]) -> str:
    """Byte ranges as a short class: `[0-9a-f]`, `"`, `[^"\\]`, `[80-bf]` for bytes that are no ASCII."""
    total = sum(high - low + 1 for low, high in ranges)
    if total == 256:
        return "any byte"
    if total == 1:
        return _glyph(ranges[0][0])
    if total > 128:
        inverse, at = [], 0
        for low, high in sorted(ranges):
            if at < low:
                inverse.append((at, low - 1))
            at = high + 1
        if at <= 255:
            inverse.append((at, 255))
        return "[^" + "".join(_range(low, high) for low, high in inverse) + "]"
    return "[" + "".join(_range(low, high) for low, high in sorted(ranges)) + "]"


def _range(low: int, high: int) -> str:
    if low == high:
        return _glyph(low)
    return _glyph(low) + ("" if high == low + 1 else "-") + _glyph(high)


def _glyph(byte: int) -> str:
    if byte == 0x20:
        return "␣"
    if 0x21 <= byte < 0x7F:
        return chr(byte)
    return f"⟨{byte:02X}⟩"
