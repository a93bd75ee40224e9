"""A rule's byte automaton as a person writes it: characters, literals and options instead of bytes.

Four foldings, each of which keeps the language exactly:

- *characters*: byte edges that spell the UTF-8 of code points become one edge with a character class;
- *otherwise*: states that read what a loop state reads but for a few bytes (free text in which a tag may begin) keep
  those few edges, and `otherwise` names the loop state;
- *options*: where a state reads x and goes on as it would have without x, x is written `x?`;
- *chains*: states with one way in and one way out disappear into one edge that reads several pieces in a row, and so
  do the few states with one way out that minimising made of equal endings (`true` and `false` end in one `e`).

A folded state is still somewhere: `places` says on which edge and between which pieces, so that a parser inside a
literal can be shown as `{"ci•ty": `.

Read on: `visualizers/utf8.py` (the first folding), `visualizers/scene.py` (which part of it is drawn).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

from kernels_core.inspect.snapshots import Automaton, AutomatonState, RuleAutomaton
from visualizers.utf8 import Ranges, characters, merged

LOOP_BYTES: Final = 128  # a state that stays where it is on so many bytes is one that others fall back to
MAX_ENDINGS: Final = 8  # an ending is written out on at most so many edges
MAX_ENDING: Final = 2  # and is at most so many characters long
MAX_UNLIKE: Final = 32  # bytes in which a state may differ from the one it falls back to

Mode = Literal["characters", "bytes"]
PieceKind = Literal["chars", "bytes", "call", "token"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that an edge reads: a character of a class, a byte, a called rule, or a whole token.

    `ranges` are code points for "chars" and bytes for "bytes"; `name` the called rule, or what a token set is called.
    An `optional` piece may be left out.
    """

    kind: PieceKind
    ranges: Ranges = ()
    name: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class FoldedEdge:
    """`source --pieces--> target`.  `between[i]` is the state that stands between pieces i and i + 1.

    `within` are (state, piece) pairs: states inside the bytes of one character.  `otherwise` is the state whose edges
    hold for bytes that the states of `between` do not read, and `ends` whether the rule may end in those states.
    """

    source: int
    target: int
    pieces: tuple[Piece, ...]
    between: tuple[int, ...] = ()
    within: tuple[tuple[int, int], ...] = ()
    otherwise: int | None = None
    ends: bool = False

    @property
    def is_call(self) -> bool:
        """Whether it is a call of one rule and nothing else."""
        return len(self.pieces) == 1 and self.pieces[0].kind == "call"


class Place(NamedTuple):
    """Where a folded state is: before piece `offset` of edge number `edge`, or `inside` the bytes of that piece."""

    edge: int
    offset: int
    inside: bool


class Begun(NamedTuple):
    """Characters of which the engine has made only the first bytes: at most these, through these states."""

    ranges: Ranges
    states: frozenset[int]


@dataclass(frozen=True, slots=True)
class FoldedRule:
    """A folded rule: the states that are left, the edges, and where the other states have gone.

    `otherwise[s]` is the state whose edges hold for bytes that `s` itself does not read.  `begun[s]` are characters of
    which the first bytes lead on from `s`, and the rest is not made yet.  `nth[k]` counts the edges before `edges[k]`
    that have its two ends.
    """

    rule: RuleAutomaton
    states: tuple[AutomatonState, ...]
    edges: tuple[FoldedEdge, ...]
    places: dict[int, tuple[Place, ...]]
    otherwise: dict[int, int]
    begun: dict[int, Begun] = field(default_factory=dict)
    nth: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen: Counter[tuple[int, int]] = Counter()
        nth = []
        for edge in self.edges:
            nth.append(seen[edge.source, edge.target])
            seen[edge.source, edge.target] += 1
        object.__setattr__(self, "nth", tuple(nth))


def fold_rule(rule: RuleAutomaton) -> FoldedRule:
    """The rule as a person reads it.  Raises `ValueError` for an edge to a state that the rule lacks."""
    states = {state.id: state for state in rule.states}
    _check(rule, states)
    spelt = characters(rule)
    edges: dict[int, list[FoldedEdge]] = {state: [] for state in states if state not in spelt.inner}
    for (source, target), ranges in spelt.chars.items():
        within = tuple((state, 0) for state in sorted(spelt.within.get((source, target), ())))
        edges[source].append(FoldedEdge(source, target, (Piece("chars", ranges),), within=within))
    for (source, target), ranges in spelt.raw.items():
        edges[source].append(FoldedEdge(source, target, (Piece("bytes", ranges),)))
    for edge in rule.edges:
        if edge.kind == "call":
            edges[edge.source].append(FoldedEdge(edge.source, edge.target, (Piece("call", name=edge.rule or ""),)))
        elif edge.kind == "token" or not edge.ranges:
            edges[edge.source].append(FoldedEdge(edge.source, edge.target, (Piece("token", name=edge.label),)))
    otherwise = _fall_back(rule, states, edges)
    _options(states, edges, otherwise, spelt.begun)
    begun = {state: Begun(*found) for state, found in spelt.begun.items()}
    return _chained(rule, states, edges, otherwise, begun)


def unfolded_rule(rule: RuleAutomaton) -> FoldedRule:
    """The rule byte by byte, in the same form: every state stays, parallel ranges are one piece."""
    states = {state.id: state for state in rule.states}
    _check(rule, states)
    edges = []
    merged: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for edge in rule.edges:
        if edge.kind == "bytes" and edge.ranges:
            merged.setdefault((edge.source, edge.target), []).extend(edge.ranges)
        else:
            kind: PieceKind = "call" if edge.kind == "call" else "token"
            edges.append(FoldedEdge(edge.source, edge.target, (Piece(kind, name=edge.rule or edge.label),)))
    edges += [
        FoldedEdge(source, target, (Piece("bytes", tuple(sorted(ranges))),))
        for (source, target), ranges in merged.items()
    ]
    return FoldedRule(rule, rule.states, tuple(edges), {}, {})


def _check(rule: RuleAutomaton, states: dict[int, AutomatonState]) -> None:
    for edge in rule.edges:
        for end in (edge.source, edge.target):
            if end not in states:
                raise ValueError(f"rule {rule.rule!r}: edge {edge.source} -> {edge.target} names no state of the rule")
    if rule.start not in states:
        raise ValueError(f"rule {rule.rule!r}: its start {rule.start} is no state of the rule")


def _fall_back(
    rule: RuleAutomaton, states: dict[int, AutomatonState], edges: dict[int, list[FoldedEdge]]
) -> dict[int, int]:
    """Leave out what a state reads just as the loop state does; returns the loop state of each such state."""
    reads: dict[int, dict[int, int]] = {}
    for edge in rule.edges:
        if edge.kind == "bytes":
            read = reads.setdefault(edge.source, {})
            for first, last in edge.ranges:
                read.update(dict.fromkeys(range(first, last + 1), edge.target))
    # Only where bytes are not spelt as characters: there every edge stands for itself.
    loops = [
        state
        for state, read in reads.items()
        if state in edges and sum(target == state for target in read.values()) >= LOOP_BYTES and _plain(edges[state])
    ]
    found: dict[int, int] = {}
    for state, read in reads.items():
        if state not in edges or state in loops or not _plain(edges[state]):
            continue
        for loop in loops:
            like = reads[loop]
            unlike = [byte for byte, target in read.items() if like.get(byte) != target]
            if (
                read.keys() == like.keys()
                and len(unlike) <= MAX_UNLIKE
                and all(read[byte] in edges for byte in unlike)  # the states within a character have gone
                and states[state].accepting == states[loop].accepting
            ):
                found[state] = loop
                edges[state] = [edge for edge in edges[state] if edge.pieces[0].kind in ("call", "token")]
                edges[state] += _byte_edges(state, {byte: read[byte] for byte in unlike})
                break
    return found


def _plain(edges: Iterable[FoldedEdge]) -> bool:
    return not any(edge.within for edge in edges)


def _byte_edges(source: int, reads: dict[int, int]) -> list[FoldedEdge]:
    by_target: dict[tuple[int, bool], list[int]] = {}
    for byte, target in sorted(reads.items()):
        by_target.setdefault((target, byte < 0x80), []).append(byte)
    made = []
    for (target, ascii_), members in by_target.items():
        ranges = merged((byte, byte) for byte in members)
        made.append(FoldedEdge(source, target, (Piece("chars" if ascii_ else "bytes", ranges),)))
    return made


def _options(
    states: dict[int, AutomatonState],
    edges: dict[int, list[FoldedEdge]],
    otherwise: dict[int, int],
    begun: Collection[int],
) -> None:
    """Where `s -x-> u` and `s` without x reads what `u` reads, `s` has the one edge `x?`."""
    meaning = {
        state: frozenset((edge.pieces, edge.target) for edge in out)
        for state, out in edges.items()
        if states[state].made and state not in begun
    }
    optional: dict[int, FoldedEdge] = {}
    for state in meaning:
        out = edges[state]
        for edge in sorted(out, key=lambda edge: edge.pieces[0].kind != "call"):
            after = edge.target
            if (
                after != state
                and after in meaning
                and len(out) > 1
                and meaning[state] - {(edge.pieces, after)} == meaning[after]
                and states[state].accepting == states[after].accepting
                and otherwise.get(state) == otherwise.get(after)
            ):
                optional[state] = replace(edge, pieces=(replace(edge.pieces[0], optional=True),))
                break
    # The ways on that are left out are those of the state behind; so is who stands within their characters.
    for state, edge in sorted(optional.items(), key=lambda item: -len(edges[item[0]])):
        within = {(one.pieces, one.target): one.within for one in edges[state] if one.within}
        edges[edge.target] = [
            replace(one, within=(*one.within, *within.get((one.pieces, one.target), ()))) for one in edges[edge.target]
        ]
        edges[state] = [edge]


def _chained(
    rule: RuleAutomaton,
    states: dict[int, AutomatonState],
    edges: dict[int, list[FoldedEdge]],
    otherwise: dict[int, int],
    begun: dict[int, Begun],
) -> FoldedRule:
    """Join edges through states with one way in and one way out."""
    inside = _inside(rule, states, edges, otherwise) - begun.keys()
    joined: list[FoldedEdge] = []
    for state, out in edges.items():
        if state in inside:
            continue
        for edge in out:
            pieces, between, within = list(edge.pieces), [], list(edge.within)
            target = edge.target
            while target in inside:
                between.append(target)
                follower = edges[target][0]
                within += [(inner, len(pieces) + index) for inner, index in follower.within]
                pieces += follower.pieces
                target = follower.target
            back = otherwise.get(between[0]) if between else None
            ends = bool(between) and states[between[0]].accepting
            joined.append(FoldedEdge(state, target, tuple(pieces), tuple(between), tuple(within), back, ends))
    places: dict[int, list[Place]] = {}
    for number, edge in enumerate(joined):
        for offset, state in enumerate(edge.between):
            places.setdefault(state, []).append(Place(number, offset + 1, False))
        for state, piece in edge.within:
            places.setdefault(state, []).append(Place(number, piece, True))
    kept = tuple(state for state in rule.states if state.id in edges and state.id not in inside)
    shown = {state.id for state in kept}
    return FoldedRule(
        rule,
        kept,
        tuple(joined),
        {state: tuple(found) for state, found in places.items()},
        {state: loop for state, loop in otherwise.items() if state in shown},
        begun,
    )


def _inside(
    rule: RuleAutomaton,
    states: dict[int, AutomatonState],
    edges: dict[int, list[FoldedEdge]],
    otherwise: dict[int, int],
) -> set[int]:
    """The states that disappear into the edges around them.  A chain's states all fall back, and end, alike."""
    entering: dict[int, list[FoldedEdge]] = {state: [] for state in edges}
    for out in edges.values():
        for edge in out:
            entering[edge.target].append(edge)

    def folds(state: int) -> bool:
        before, after = entering[state], edges[state]
        if state == rule.start or len(after) != 1 or not _joins(after[0]) or after[0].target == state:
            return False
        if not before or not all(_joins(edge) for edge in before):
            return False
        if states[state].accepting and state not in otherwise:
            return False
        return len(before) == 1 or (len(before) <= MAX_ENDINGS and _is_sign(after[0]) and all(map(_is_sign, before)))

    inside = {state for state in edges if folds(state)}
    for state in sorted(inside):  # only short endings are written out
        if len(entering[state]) > 1:
            at, length = state, 0
            while at in inside and length <= MAX_ENDING:
                at, length = edges[at][0].target, length + 1
            if length > MAX_ENDING:
                inside.discard(state)
    for state in sorted(inside):  # a chain must not run in a circle, nor through states of two kinds
        at = state
        seen = {at}
        while (after := edges[at][0].target) in inside:
            unlike = otherwise.get(after) != otherwise.get(at) or states[after].accepting != states[at].accepting
            if after in seen or unlike:
                inside.discard(after)
                break
            seen.add(after)
            at = after
    return inside


def _is_sign(edge: FoldedEdge) -> bool:
    """Whether an edge reads one character that is always the same."""
    piece = edge.pieces[0]
    return piece.kind == "chars" and not piece.optional and len(piece.ranges) == 1 and len(set(piece.ranges[0])) == 1


def _joins(edge: FoldedEdge) -> bool:
    """Calls and whole tokens stand alone, unless they may be left out (white space between two signs)."""
    piece = edge.pieces[0]
    return piece.optional or piece.kind in ("chars", "bytes")


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
            if other.rules.get(start) is folded.rule:
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
