"""The automata of a compiled grammar as one table of states: what the views and the textbook parser look things up in.

State ids here are the machine's.  The engine makes rules and states as it meets them (`automata/lazy_dfa.pyx`), and
looking makes none: the table shows what there is, and what is not made yet it says is not.

Read on: `classic.py` (the chart over a table), `dots.py` (dotted rules).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kernels_core.automata.inlining import LoweredRule
from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import AFTER, Lowering, Position
from kernels_core.automata.tables import FIRST_STATE, Tables
from kernels_core.grammar.charset import complement, normalise
from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    DeferredRule,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    Unordered,
    children,
    walk,
)
from kernels_core.grammar.printer import print_node
from kernels_core.inspect.dots import DOT, dots_inside, dotted_rule
from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton, SourceRule

_MAX_DOTS = 16  # dotted rules shown for one state: people stop reading long before


class NotMadeError(LookupError):
    """A rule or a state that the engine has not made yet was needed: it has not read this text."""


class Row(NamedTuple):
    """One state, of the rule with this number (-1 for the pseudo-states below `FIRST_STATE`).

    Its edges are known only if it is `made`: the parser went on from it, or calls something there.  Those by bytes are
    (low, high, target), those by calls (rule, target), those by tokens (token set, target).
    """

    rule: int
    accepting: bool
    reads_bytes: bool
    reads_tokens: bool
    made: bool
    byte_edges: list[tuple[int, int, int]]
    call_edges: list[tuple[int, int]]
    token_edges: list[tuple[int, int]]

    @property
    def leads_on(self) -> bool:
        """Whether edges are known."""
        return bool(self.byte_edges or self.call_edges or self.token_edges)


class StateTable:
    """Lookups by machine state id.  Rows are read from the engine's tables when they are asked for."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lowering: Lowering = tables.lowering
        self._rows: dict[int, Row] = {}
        self._told: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._drawn: dict[int, tuple[tuple[int, int], RuleAutomaton]] = {}
        self._latest: tuple[int, Automaton] | None = None
        # `Tables` says what these answer.  The body that a position is in may not be made, where it is a schema's rule:
        # who asks the grammar for one that is deferred makes it.
        self.counted, self.lengths, self.characters = tables.counted, tables.lengths, tables.characters
        self.may_end, self.positions = tables.may_end, tables.positions

    @property
    def state_count(self) -> int:
        """States made so far, the pseudo-states included."""
        return int(self._tables.state_count)

    @property
    def rule_count(self) -> int:
        """Rules named so far, made or only called."""
        return int(self._tables.rule_count)

    @property
    def limits_tokens(self) -> bool:
        """Whether some rule limits the tokens that may begin in it (`LoweredRule.max_tokens`)."""
        return bool(self._lowering.limits_tokens)

    @property
    def growth(self) -> int:
        """A number that grows with whatever the engine makes."""
        return int(self._tables.growth)

    def row(self, state: int) -> Row:
        """What is made of one state."""
        found = self._rows.get(state)
        if found is None:
            found = Row(*self._tables.seen(state))
            if found.made:  # and never changes again
                self._rows[state] = found
        return found

    def rule_of(self, state: int) -> int:
        """The number of the rule that `state` is of."""
        return self.row(state).rule

    def rule(self, rule: int) -> LoweredRule:
        """The rule of this number; `repeat` has its bounds where it is counted."""
        return self._lowering.rules[rule]

    def start(self, rule: int) -> int:
        """The start state of a rule, -1 while it is not made."""
        return int(self._tables.begun(rule))

    def entered(self, rule: int) -> int:
        """The start state of `rule`; `NotMadeError` if the engine has not come to it."""
        start = self.start(rule)
        if start < 0:
            raise NotMadeError(f"rule {self.rule(rule).name!r} is not made yet: the engine has not read this text")
        return start

    def read_from(self, state: int) -> Row:
        """The row of a state that was read on from; `NotMadeError` if its edges are not known."""
        row = self.row(state)
        if not row.made and (row.reads_bytes or row.reads_tokens):
            raise NotMadeError(f"the edges of state {state} are not made yet: the engine has not read this text")
        return row

    def scannable(self, state: int) -> bool:
        """Whether a byte or a whole token can be read here."""
        row = self.row(state)
        return row.reads_bytes or row.reads_tokens

    def takes(self, token_set: int, token: int, has_text: bool) -> bool:
        """Whether a token edge with `token_set` takes `token`; negated sets take no token without text."""
        ids, negated = self.tokens(token_set)
        return (token not in ids and has_text) if negated else token in ids

    def tokens(self, token_set: int) -> tuple[tuple[int, ...], bool]:
        """The ids of a token set, and whether they are the ones left out."""
        return self._lowering.token_sets[token_set]

    def members(self, state: int, counter: int) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The names of members that were read and of required ones that were not, where members come in any order."""
        found = self._tables.seen_members(state, counter)
        if found is None:
            return None
        body = self._lowering.lowered_from[self.rule(self.row(state).rule)]
        assert isinstance(body, Node)  # no compact body has members
        keys = [key for node in walk(body) if isinstance(node, Unordered) for key in node.keys]
        rules = self._lowering.ir.rules
        names = [_key(key, rules) for key in keys]
        seen, missing = found
        return tuple(names[i] for i in seen), tuple(names[i] for i in missing)

    def rule_name(self, state: int) -> str:
        return self.rule(self.row(state).rule).name

    def span(self, rule: int) -> tuple[int, int] | None:
        """Character range of the rule's definition in the grammar's source."""
        return self._span(self.rule(rule).source)

    def _span(self, name: str) -> tuple[int, int] | None:
        found = self._lowering.ir.rules[name].span
        return None if found is None else (found.start, found.end)

    def source_name(self, rule: int) -> str:
        """The name of the rule in the grammar that automaton `rule` comes from."""
        return self.rule(rule).source

    # -- dotted rules ------------------------------------------------------------------------------------------------

    def dots(self, state: int) -> tuple[str, ...]:
        """The dotted rules that `state` stands for."""
        return self._tell(state)[0]

    def dots_before(self, state: int, called: Collection[str]) -> tuple[str, ...]:
        """Those of `dots` in which a call of one of these rules comes next; all where it cannot be told."""
        ir = self._lowering.ir
        found = [
            dotted_rule(ir, place)
            for place in self._tables.positions(state)
            if not place.offset and not isinstance(ir.rules[place.rule], DeferredRule) and _called(ir, place) in called
        ]
        return tuple(dict.fromkeys(found)) or self.dots(state)

    def alternatives(self, state: int, rule: str, by: str | int) -> set[int]:
        """Which alternatives of `rule`, whose body is a choice, may end behind a call of the rule `by` at `state`, or
        behind that byte; those of all its places there where that cannot be told."""
        ir = self._lowering.ir
        places = [place for place in self._tables.positions(state) if place.rule == rule and place.path]
        found = {place.path[0] for place in places if _may_end(ir, place, by)}
        return found or {place.path[0] for place in places}

    def source_rules(self, state: int) -> tuple[SourceRule, ...]:
        """The written rules that the dots of `state` stand in: small ones are spelt out in their caller."""
        return tuple(SourceRule(name, self._span(name)) for name in self._tell(state)[1])

    def _tell(self, state: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if state not in self._told:
            self._told[state] = self._dots(state)
        return self._told[state]

    def _dots(self, state: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        number = self.row(state).rule
        rule, ir = self.rule(number), self._lowering.ir
        dots: list[str] = []
        sources: list[str] = []
        body = self._lowering.lowered_from.get(rule)
        if body is not None and not isinstance(body, Node):
            assert isinstance(self._tables, LazyTables)  # other tables make no compact bodies
            dots += [dot for member in self._tables.subset_of(state)[2] for dot in dots_inside(rule, body, member)]
            sources.append(rule.source)
        # A rule that is deferred still is a compact body, and asking for its body would make it.
        places: list[Position] = [
            place for place in self._tables.positions(state) if not isinstance(ir.rules[place.rule], DeferredRule)
        ]
        dots += [dotted_rule(ir, place) for place in places[:_MAX_DOTS]]
        sources += [place.rule for place in places]
        if not dots:
            dots, sources = [self._gap(number, state)], [rule.source]
        return tuple(dict.fromkeys(dots))[:_MAX_DOTS], tuple(dict.fromkeys(sources))

    def _gap(self, number: int, state: int) -> str:
        """The dotted rule of a state that stands in no body."""
        row, name = self.row(state), self.rule(number).source
        ended = row.accepting and not row.call_edges and not row.byte_edges
        return f"{name} ::= … {DOT}" + ("" if ended else " …")

    # -- the whole ---------------------------------------------------------------------------------------------------

    @property
    def automaton(self) -> Automaton:
        """All rule automata as far as they are made, as a snapshot; the same object until the engine makes more."""
        growth = self.growth
        if self._latest is None or self._latest[0] != growth:
            self._latest = growth, self._draw()
        return self._latest[1]

    def _draw(self) -> Automaton:
        count = self.state_count  # first: the rules of these states are known then
        rows = [dict[int, Row]() for _ in range(self.rule_count)]
        for state in range(FIRST_STATE, count):
            row = self.row(state)
            rows[row.rule][state] = row
        drawn, waiting = [], []
        for number, states in enumerate(rows):
            if self.start(number) < 0:
                waiting.append(self.rule(number).name)
            else:
                drawn.append(self._draw_rule(number, states))
        return Automaton(tuple(drawn), self.rule(0).name, self._lowering.ir.source, tuple(waiting))

    def _draw_rule(self, number: int, rows: dict[int, Row]) -> RuleAutomaton:
        rule = self.rule(number)
        size = len(rows), sum(row.made for row in rows.values())
        known = self._drawn.get(number)
        if known is not None and known[0] == size:
            return known[1]
        states = tuple(self._draw_state(state, row, rule.name) for state, row in rows.items())
        edges = tuple(edge for state, row in rows.items() for edge in self._edges(state, row))
        counted = self.lengths(self.start(number))
        lengths = None if counted is None else counted[:2]
        found = RuleAutomaton(rule.name, self.start(number), states, edges, rule.repeat, self.span(number), lengths)
        self._drawn[number] = size, found
        return found

    def _draw_state(self, state: int, row: Row, rule: str) -> AutomatonState:
        counted = self.lengths(state)
        reads = row.reads_bytes or row.reads_tokens
        ends_character = counted is not None and counted[2]
        return AutomatonState(state, rule, row.accepting, reads, self.dots(state), row.made, ends_character)

    def _edges(self, state: int, row: Row) -> list[AutomatonEdge]:
        by_target: dict[int, list[tuple[int, int]]] = {}
        for low, high, target in row.byte_edges:
            by_target.setdefault(target, []).append((low, high))
        edges = [
            AutomatonEdge(state, target, "bytes", byte_label(ranges), tuple(ranges))
            for target, ranges in by_target.items()
        ]
        for called, target in row.call_edges:
            name = self.rule(called).name
            edges.append(AutomatonEdge(state, target, "call", name, rule=name))
        for chosen, target in row.token_edges:
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
        missing = complement(normalise(ranges), 255)
        return "[^" + "".join(_range(low, high) for low, high in missing) + "]"
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


def _key(key: Node, rules: Mapping[str, Rule]) -> str:
    """The name of a member as it is shown: what the first of its spellings in JSON stands for."""
    rule = rules[key.name] if isinstance(key, RuleRef) else None
    node = key if rule is None or isinstance(rule, DeferredRule) else rule.body
    text = _first_text(node).decode(errors="replace")
    for spelt in (text, f'"{text}'):  # the quote before all keys of an object may be one
        try:
            return str(json.loads(spelt))
        except ValueError:
            pass
    return text


def _first_text(node: Node) -> bytes:
    match node:
        case Literal(value):
            return value
        case Seq(items):
            return b"".join(map(_first_text, items))
        case Choice(items):
            return _first_text(items[0])
        case Repeat(minimum=0):
            return b""
        case _:
            return print_node(node).encode()


def _called(ir: GrammarIR, place: Position) -> str | None:
    """The rule that is called at a place; None where none is."""
    node = ir.expand(place.rule).body
    for step in place.path:
        node = children(node)[step]
    return node.name if isinstance(node, RuleRef) else None


def _may_end(ir: GrammarIR, place: Position, by: str | int) -> bool:
    """Whether the rule of a place may end behind a call of the rule `by` there, of which a counted repetition has the
    name of the rule that it stands in, or behind that byte."""
    node = ir.expand(place.rule).body
    for step in place.path:
        behind = node.items[step + 1 :] if isinstance(node, Seq) else ()
        if any(isinstance(one, Literal | CharSet | ByteSet) for one in behind):
            return False
        node = children(node)[step]
    match node:
        case _ if place.offset == AFTER:
            return False
        case RuleRef(name):
            return name == by
        case Literal(value):
            return place.offset == len(value) - 1 and value[-1] == by
        case ByteSet(ranges) | CharSet(ranges):
            inside = isinstance(by, int) and any(low <= by <= high for low, high in ranges)
            return inside or (isinstance(node, CharSet) and isinstance(by, int) and by > 0x7F)
    return isinstance(by, int) or by == place.rule
