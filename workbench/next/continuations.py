r"""What may come next, by meaning: the keys, values, words, tags, digits and closings that the parser allows.

Nothing here knows the grammar.  The parser is explored byte by byte on forks of a matcher.  Bytes that lead to one
parser state are one choice: a large one is *content* (any character of a string, any digit), a small one is
followed to the end of what a person would call one thing: a quoted text, a word, a tag in angle brackets, or one sign.
So the names of a schema appear as themselves even where any other name may come too: their first letters lead
elsewhere.  White space and separators are looked through: after `{` or `,` the keys are what one wants to know.

Read on: `workbench/next/next_tokens.py` (which counts tokens), `workbench/next/kinds.py` (what a thing is called).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError
from workbench.json_values import BLANK_BYTES
from workbench.next.kinds import Kind, kind_of, names_a_key
from workbench.next.probes import open_end, state_key
from workbench.session.matching import possible_bytes

STEPS: Final = 60_000
SECONDS: Final = 0.05
LONGEST: Final = 96
"""Bytes of one thing; what is longer is cut and marked open."""
MANY: Final = 8
"""So many bytes with one outcome are content, not a choice."""
TEXT: Final = 64
"""So many bytes with one outcome are text of any kind, in which signs are nothing special."""
SPREADS: Final = 2
"""So often bytes with one outcome are taken apart on one path: `"A" | "B"` are two things, `[abc]{9}` is one."""
BLANK_STATES: Final = 64
BLANKS_IN_ORDER: Final = b" \n\t\r"
"""As they are looked through: a blank leads to a place before a line end does."""
THEN: Final = 60


@dataclass(frozen=True, slots=True)
class Continuation:
    """One thing that may come next.

    `text`: the bytes it types, of which the first `lead` bytes (white space, separators) only lead to it.  `members`:
    for content, the bytes one of which comes after `text`; empty for a literal.  `open`: the thing is longer than
    `text`.  `then`: what must follow it, as far as there is no choice.
    """

    kind: Kind
    text: bytes
    lead: int = 0
    members: bytes = b""
    open: bool = False
    then: bytes = b""

    @property
    def unit(self) -> bytes:
        """The thing itself, without what leads to it."""
        return self.text[self.lead :]


@dataclass
class Exploration:
    """What `explore` found; `complete` is False when a budget ran out, so that there may be more."""

    found: list[Continuation] = field(default_factory=list)
    complete: bool = True


def explore(matcher: GrammarMatcher, text: bytes, *, steps: int = STEPS, seconds: float = SECONDS) -> Exploration:
    """What may come after `text`, which `matcher` has read.

    The matcher is left as it was; its grammar makes states, so give one of a session's shadow.  `steps` bounds the
    transitions tried, `seconds` the work of this thread: a busy machine finds the same.
    """
    explorer = _Explorer(steps, time.thread_time() + seconds)
    try:
        explorer.run(matcher.fork(), text)
    except (_Enough, BudgetExceededError):
        explorer.result.complete = False
    return explorer.result


class _Enough(Exception):
    """The budget is gone."""


@dataclass(slots=True)
class _Edges:
    """Where the bytes of a state lead: `small` choices and `content`, each (bytes, parser after one of them)."""

    small: list[tuple[bytes, GrammarMatcher]]
    content: list[tuple[bytes, GrammarMatcher]]

    @property
    def beyond(self) -> frozenset[tuple[int, int]]:
        """The states that content leads to."""
        return frozenset(state_key(after) for _, after in self.content)


@dataclass(slots=True)
class _Path:
    """A thing begun: the parser after `unit`, the states behind it, and content that was possible beside it.

    `behind` also has the states that content on the way leads to: an escape ends in one of them, and a text of at most
    so many characters would else be spelt out in all ways to write it with escapes.  `spread`: how often bytes with one
    outcome were taken apart on the way.
    """

    at: GrammarMatcher
    unit: bytes
    behind: frozenset[tuple[int, int]]
    beside: GrammarMatcher | None
    spread: int = 0


class _Explorer:
    def __init__(self, steps: int, deadline: float) -> None:
        self.left = steps
        self.deadline = deadline
        self.result = Exploration()
        self._edges: dict[tuple[int, int], _Edges] = {}
        self._seen: set[tuple[Kind, bytes, bytes]] = set()
        self._told: set[int] = set()  # first bytes of the things that were told at this place

    def run(self, matcher: GrammarMatcher, text: bytes) -> None:
        if not matcher.is_terminated():
            for lead, after in self._place(matcher, b"", open_end(text), text[-1:]):
                self._place(after, lead, b"", lead)

    # -- one place ---------------------------------------------------------------------------------------------------

    def _place(
        self, start: GrammarMatcher, lead: bytes, quote: bytes, before: bytes
    ) -> list[tuple[bytes, GrammarMatcher]]:
        """Add what may come at `start`, reached by `lead`, and behind white space there.  Returns the separators."""
        separators = self._things(start, lead, quote, before)
        live = bytearray(possible_bytes(start))
        for blanks, after in () if quote else self._through_blanks(start, live):
            self._things(after, lead + blanks, b"", blanks[-1:], only=set(possible_bytes(after)) - set(live))
            live += possible_bytes(after)
        return separators

    def _things(
        self, start: GrammarMatcher, lead: bytes, quote: bytes, before: bytes, only: set[int] | None = None
    ) -> list[tuple[bytes, GrammarMatcher]]:
        """Add what may come at `start`, reached by `lead`; `only` these first bytes.  Returns the separators."""
        edges = self.edges(start)
        content = [(_kept(values, only), after) for values, after in edges.content]
        content = [(values, after) for values, after in content if values]
        content.sort(key=lambda pair: -len(pair[0]))
        largest, beside = content[0] if content else (b"", None)
        queue: deque[_Path] = deque()
        behind = frozenset([state_key(start)]) | edges.beyond
        blanks = bytearray()
        folded = bytearray()
        digits = bytearray()
        begun: set[int] = set()
        self._told.clear()
        separators: list[tuple[bytes, GrammarMatcher]] = []
        for values, after in edges.small:
            chosen = _kept(values, only)
            if not quote:
                blanks += bytes(value for value in chosen if value in BLANK_BYTES)
                chosen = bytes(value for value in chosen if value not in BLANK_BYTES)
            if state_key(after) in behind:
                folded += chosen  # it leads back here: content of another kind
            elif len(chosen) > 1 and chosen.isdigit():
                digits += chosen
            else:
                queue += [_Path(after, one, behind, beside, len(chosen) > 1) for one in _apart(chosen)]
                begun |= {one[0] for one in _apart(chosen)}
                if content and (_is_word(chosen[:1]) or len(largest) >= TEXT) and _still(after, largest):
                    folded += chosen
        try:
            while queue:
                path = queue.popleft()
                dropped = self._follow(path, lead, quote, before, queue)
                if dropped:
                    folded += dropped
                elif not quote and not lead and path.unit in (b",", b";", b":"):
                    separators.append((path.unit, path.at))
        finally:  # what is known already is told, also where the budget is gone
            folded += bytes(begun - self._told)
            for number, (values, _) in enumerate(content):
                self._class(lead, {*values, *(folded if number == 0 else b"")}, before, quote)
            self._class(lead, {*digits}, before, quote)
            if not content:
                self._class(lead, {*folded}, before, quote)
            if blanks and not lead:
                self._add(Continuation("space", b"", 0, bytes(sorted(blanks)), open=True))
        return separators

    def _class(self, lead: bytes, members: set[int], before: bytes, quote: bytes) -> None:
        """Add content: one of `members`."""
        if members:
            values = bytes(sorted(members))
            self._add(Continuation(kind_of(b"", values, before, quote), lead, len(lead), values, open=True))

    def _follow(self, path: _Path, lead: bytes, quote: bytes, before: bytes, queue: deque[_Path]) -> bytes:
        """Go one byte on from `path`, or add it where it ends.

        Returns its first byte where it turned out to be nothing but content that the parser happens to keep apart.
        """
        unit = path.unit
        if _is_whole(unit, quote):
            if path.beside is not None and not self._differs(path):
                return unit if len(unit) == 1 else b""
            self._end(path, lead, quote, before)
            return b""
        if unit == b"-" and not quote and possible_bytes(path.at).strip(b"0123456789."):
            self._end(path, lead, quote, before)  # a sign between two things rather than the sign of a number
            return b""
        edges = self.edges(path.at)
        behind = path.behind | {state_key(path.at)} | edges.beyond
        extends = [
            (values, after)
            for values, after in edges.small
            if state_key(after) not in behind and _goes_on(unit, values, quote)
        ]
        content = [values for values, _ in edges.content if _goes_on(unit, values, quote)]
        if len(unit) >= LONGEST or (content and path.beside is None):
            members = possible_bytes(path.at) if unit[:1] == b'"' else b"".join(content)
            text = lead + unit
            kind = kind_of(unit, members, before, quote)
            if kind == "string" and names_a_key(path.at, quote=b""):
                kind = "key"
            self._add(Continuation(kind, text, len(lead), bytes(sorted(members)), open=True))
        elif path.beside is None:
            if not extends or self._may_end(path, quote):
                self._end(path, lead, quote, before)
        elif quote or unit[:1] in (b'"', b"<"):
            if not extends:  # a text that the parser keeps apart, and nothing comes of it
                return unit if len(unit) == 1 else b""
        elif not extends or self._may_end(path, quote):
            if self._differs(path):
                self._end(path, lead, quote, before)
            elif not extends:
                return unit if len(unit) == 1 else b""
        beside = path.beside
        if edges.content:
            beside = max(edges.content, key=lambda pair: len(pair[0]))[1]
        for values, after in extends:
            ones = _apart(values)
            if len(ones) > 1 and path.spread >= SPREADS:
                if path.beside is None:
                    kind = kind_of(unit, values, before, quote)
                    self._add(Continuation(kind, lead + unit, len(lead), values, open=True))
            elif len(unit) < LONGEST:
                spread = path.spread + (len(ones) > 1)
                queue += [_Path(after, unit + one, behind, beside, spread) for one in ones]
        return b""

    def _may_end(self, path: _Path, quote: bytes) -> bool:
        """Whether a word can end here although it can go on: a sign, a blank or the end of the text may follow."""
        if quote or path.unit[:1] in (b'"', b"<"):
            return False
        return bool(path.at.is_completed()) or any(not _is_word(bytes((value,))) for value in possible_bytes(path.at))

    def _differs(self, path: _Path) -> bool:
        """Whether a thing means something: what follows it leads elsewhere than what follows content beside it."""
        beside = path.beside
        assert beside is not None
        last = path.unit[-1:]
        if len(path.unit) > 1 and last in (b'"', b">"):
            other = beside.fork()
            # The content beside the last byte is one byte behind.
            return not other.accept_string(last) or state_key(other) != state_key(path.at)
        live = possible_bytes(path.at)
        if live != possible_bytes(beside) or bool(path.at.is_completed()) != bool(beside.is_completed()):
            return True
        signs = [sign for sign in (bytes((value,)) for value in live) if not _is_word(sign)]
        self._spend(2 * len(signs))
        for sign in signs:
            here, there = path.at.fork(), beside.fork()
            here.accept_string(sign)
            there.accept_string(sign)
            if state_key(here) != state_key(there):
                return True
        return False

    def _end(self, path: _Path, lead: bytes, quote: bytes, before: bytes) -> None:
        kind = kind_of(path.unit, b"", before, quote)
        if kind in ("value", "word", "close") and path.unit[-1:] == b'"' and names_a_key(path.at, quote=b'"'):
            kind = "key" if path.unit != b'"' else kind
        then = _forced(path.at)
        self._add(Continuation(kind, lead + path.unit, len(lead), then=then))

    def _add(self, continuation: Continuation) -> None:
        self._told |= set(continuation.unit[:1])
        key = (continuation.kind, continuation.unit, continuation.members)
        if key not in self._seen:
            self._seen.add(key)
            self.result.found.append(continuation)

    # -- the parser --------------------------------------------------------------------------------------------------

    def edges(self, matcher: GrammarMatcher) -> _Edges:
        """The bytes that `matcher` can read, by where they lead.

        Bytes that begin or continue characters outside ASCII are one piece of content where there are many of them.
        """
        key = state_key(matcher)
        if key in self._edges:
            return self._edges[key]
        by_target: dict[tuple[int, int], tuple[bytearray, GrammarMatcher]] = {}
        live = possible_bytes(matcher)
        high = bytes(value for value in live if value >= 0x80)
        whole = len(high) >= MANY
        self._spend(len(live))
        for value in live:
            if whole and value >= 0x80:
                continue
            after = matcher.fork()
            after.accept_string(bytes((value,)))
            by_target.setdefault(state_key(after), (bytearray(), after))[0].append(value)
        edges = _Edges([], [])
        for values, after in by_target.values():
            (edges.content if len(values) >= MANY else edges.small).append((bytes(values), after))
        if whole:
            self._join_high(matcher, edges, high)
        self._edges[key] = edges
        return edges

    def _join_high(self, matcher: GrammarMatcher, edges: _Edges, high: bytes) -> None:
        """Many characters outside ASCII belong to the largest content, or are content of their own."""
        if edges.content:
            number = max(range(len(edges.content)), key=lambda k: len(edges.content[k][0]))
            values, after = edges.content[number]
            edges.content[number] = values + high, after
        else:
            after = matcher.fork()
            after.accept_string(high[:1])
            edges.content.append((high, after))

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0 or time.thread_time() > self.deadline:
            raise _Enough

    def _through_blanks(self, start: GrammarMatcher, live: bytearray) -> Iterator[tuple[bytes, GrammarMatcher]]:
        """Places reached by white space where something can come that is not in `live`, the shortest way to each.

        The caller adds to `live` what it has taken.
        """
        seen = {state_key(start)}
        queue = deque([(b"", start)])
        looked = 0
        while queue and looked < BLANK_STATES:
            lead, at = queue.popleft()
            for blank in sorted(set(possible_bytes(at)) & set(BLANK_BYTES), key=BLANKS_IN_ORDER.index):
                self._spend(1)
                after = at.fork()
                after.accept_string(bytes((blank,)))
                if state_key(after) in seen:
                    continue
                seen.add(state_key(after))
                looked += 1
                further = lead + bytes((blank,))
                new = set(possible_bytes(after)) - set(live) - set(BLANK_BYTES)
                if new:
                    yield further, after
                elif len(further) < BLANK_STATES and not _only_repeats(at, after):
                    queue.append((further, after))


def _only_repeats(at: GrammarMatcher, after: GrammarMatcher) -> bool:
    """Whether more blanks only count on: the same bytes are possible, so what may come is known already."""
    return possible_bytes(at) == possible_bytes(after) and len(possible_bytes(at)) > 1


def _still(after: GrammarMatcher, content: bytes) -> bool:
    """Whether content goes on after a byte that may also begin something else: `<` in free text."""
    return 2 * len(set(content) & set(possible_bytes(after))) >= len(content)


def _kept(values: bytes, only: set[int] | None) -> bytes:
    return values if only is None else bytes(value for value in values if value in only)


def _apart(values: bytes) -> list[bytes]:
    """Each of `values` alone; a letter in both cases is one choice, shown small."""
    return [bytes((value,)) for value in values if not (0x41 <= value <= 0x5A and value + 32 in values)]


def _is_word(value: bytes) -> bool:
    return value.isalnum() or value in (b"_",) or value >= b"\x80"


def _is_whole(unit: bytes, quote: bytes) -> bool:
    """Whether `unit` can only end here: a closed quote or bracket, a sign of one byte."""
    first, last = unit[:1], unit[-1:]
    if quote:
        return (last == quote and not _escaped(unit)) or (quote == b'"' and first == b"\\")
    if first == b'"':
        return len(unit) > 1 and last == b'"' and not _escaped(unit)
    if first == b"<":
        return last == b">"
    return not _is_word(first) and first != b"-"


def _escaped(unit: bytes) -> bool:
    """Whether the last byte of `unit` stands behind an odd number of backslashes."""
    stem = unit[:-1]
    return (len(stem) - len(stem.rstrip(b"\\"))) % 2 == 1


def _goes_on(unit: bytes, values: bytes, quote: bytes) -> bool:
    """Whether one of `values` would still belong to the thing that `unit` begins."""
    if quote or unit[:1] in (b'"', b"<"):
        return True
    if unit == b"-" or (unit[-1:].isdigit() and unit.lstrip(b"-").isdigit()):
        return values[:1].isdigit()
    return _is_word(values[:1])


def _forced(matcher: GrammarMatcher) -> bytes:
    """What must follow; a little of it."""
    text: str = matcher.find_jump_forward_string(THEN)
    return text.encode()
