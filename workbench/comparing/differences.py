"""Where two masks differ: the tokens grouped by the byte at which they part, with our explanation of each group.

Two masks of 131,072 tokens may differ in thousands of them for one reason.  So every differing token is followed byte
by byte to the place where it parts from what the refusing side allows, and tokens that part in the same parser state
are one `Difference`.  The explanation is our engine's, on the grammar of the side that refuses:

- where ours refuses too, the byte is the one at which the token dies for us, and the rules are those that waited;
- where ours allows it, the byte is the first one that the other side's mask shows nowhere in that parser state of
  ours (near the truth: the other side has no parser that can be asked), and the rules are those of ours that read it.

Read on: `workbench/comparing/comparison.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from kernels_core import GrammarMatcher, Options
from kernels_core.compiler import told_elsewhere
from kernels_core.inspect.classic import in_common
from visualizers.glyphs import byte_class, clip, glyph, split_rules
from workbench.comparing.sides import Answer, Bits, our_constraint
from workbench.languages import Source
from workbench.peers.base import Constraint, RefusedError
from workbench.provenance import forbidding, provenance
from workbench.session import Session
from workbench.session.matching import possible_bytes, read_bytes
from workbench.session.result import byte_ranges, describe_bytes
from workbench.tokenizers import Tokenizer

Kind = Literal["refused", "mask only", "false hope", "end"]
"""refused: one side takes the token, the other does not.  mask only: the mask leaves it out, but the engine takes it.
false hope: the mask allows it, but the engine does not take it.  end: whether the text may end."""

ASKED: Final = 2000
"""Tokens of one direction for which `accept` is asked one by one; of more, this many, evenly spread."""
EXAMPLES: Final = 6
MAX_EXPLAINED: Final = 400
RULES: Final = 3
PLACED: Final = 12
"""Groups for which the source is asked what forbids them: that tries the source without each part."""
PLACE_MS: Final = 150.0
FOLLOWED: Final = 20_000
"""Tokens of the refusing side, the shortest ones, that are followed to learn which bytes it allows where."""


@dataclass(frozen=True)
class Difference:
    """Tokens that one side allows and another does not, for one reason.

    allowed_by, refused_by: labels of sides.  after: the bytes that they have read of such a token when they part (of
    the first example); `parting`: the bytes at which they part, ascending; both empty for "end" and where unknown.
    token_ids: all of them, ascending.  examples: (id, bytes), shortest first.
    ours: whether our engine, on the refusing side's grammar, reads the tokens; None where it has no say.
    why: one sentence by our engine.  rules: the rules of ours that waited (or, where ours reads on, that read it);
    dots: the same as dotted rules.  places: the parts of the source that forbid it (or, where ours reads on, that are
    being read), in the source's own words: a schema's keywords with their pointers.
    """

    kind: Kind
    allowed_by: str
    refused_by: str
    after: bytes
    parting: bytes
    token_ids: tuple[int, ...]
    examples: tuple[tuple[int, bytes], ...]
    ours: bool | None
    why: str
    rules: tuple[str, ...] = ()
    dots: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.token_ids)

    @property
    def parts_at(self) -> str:
        """The bytes at which the sides part, for a person."""
        return byte_class(byte_ranges(self.parting)) if self.parting else ""

    def __str__(self) -> str:
        if self.kind == "end":
            return f"the text may end here: {self.allowed_by} says yes, {self.refused_by} no. {self.why}"
        what = ", ".join(glyph(data) for _, data in self.examples)
        return f"{self.count:,} tokens ({what}): {self.allowed_by} allows, {self.refused_by} refuses. {self.why}"

    def to_dict(self, tokens: int | None = None) -> dict[str, Any]:
        """Plain JSON data, bytes as glyphs; at most `tokens` ids."""
        return {
            "kind": self.kind,
            "allowed_by": self.allowed_by,
            "refused_by": self.refused_by,
            "count": self.count,
            "after": glyph(self.after),
            "parts_at": self.parts_at,
            "token_ids": list(self.token_ids[:tokens]),
            "examples": [{"id": token, "token": glyph(data)} for token, data in self.examples],
            "ours": self.ours,
            "why": self.why,
            "rules": list(self.rules),
            "dots": list(self.dots),
            "places": list(self.places),
        }


class Judge:
    """Our engine on one grammar at one place: who explains.  `matcher` is None where it has no say; `reason` why."""

    def __init__(self, grammar: Source, tokenizer: Tokenizer, text: bytes) -> None:
        self._asked = grammar, tokenizer, text
        self.matcher: GrammarMatcher | None = None
        self.reason = ""
        try:
            matcher = our_constraint(grammar, tokenizer).matcher
        except RefusedError as error:
            self.reason = f"our engine refuses the grammar: {str(error).splitlines()[0]}"
            return
        if matcher.accept_string(text):
            self.matcher = matcher.fork()
        else:
            self.reason = "our engine refuses the text before this place"

    def reason_at(self, read: bytes, ours: bool | None) -> Reason:
        """Why a token parts behind `read`: of one that ours reads (`ours`), who has read it."""
        if self.matcher is None:
            return Reason(None)
        at, _ = self.along(read)
        items = at.frontier().items
        chosen = [item for item in items if item.scannable] or list(items)
        rules = tuple(dict.fromkeys(item.rule for item in chosen))[:RULES]
        dots = tuple(dict.fromkeys(clip(dot, 200) for item in chosen for dot in split_rules(item.dot)))[:RULES]
        if ours:
            return Reason(True, rules, dots)
        choices = []
        if possible := possible_bytes(at):
            choices.append(f"expected: {clip(describe_bytes(possible), 80)}")
        if at.is_completed():
            choices.append("the text may end")
        return Reason(False, rules, dots, " or ".join(choices) or "nothing can")

    def may_end(self) -> bool | None:
        return None if self.matcher is None else bool(self.matcher.is_completed())

    def paths(self, tokens: Sequence[bytes]) -> list[list[int]]:
        """The parser states that each token goes through from here: one more than bytes read."""
        assert self.matcher is not None
        start = self.matcher.state_key
        # By all that decides what may come: a predicate may judge other texts in the same set of items.
        standing: dict[Hashable, GrammarMatcher] = {start: self.matcher.fork()}
        after: dict[tuple[Hashable, int], Hashable] = {}
        at: Hashable
        found = []
        for data in tokens:
            at, path = start, [int(self.matcher.set_number)]
            for step in data:
                if (at, step) not in after:
                    probe = standing[at].fork()
                    after[at, step] = probe.state_key if probe.accept_string(bytes((step,))) else None
                    standing.setdefault(probe.state_key, probe)
                if (at := after[at, step]) is None:
                    break
                path.append(int(standing[at].set_number))
            found.append(path)
        return found

    def places(self, after: bytes, data: bytes, ours: bool | None) -> tuple[str, ...]:
        """Which parts of the source forbid the token `data` behind `after`, or are read there where ours reads on."""
        if self.matcher is None or ours is None:
            return ()
        grammar, tokenizer, text = self._asked
        with told_elsewhere():
            session = Session(grammar, tokenizer, options=Options())
        if ours:
            if not session.read(text + data).ok:
                return ()
            return tuple(str(place) for place in provenance(session.inspect) if place.role == "here")[:RULES]
        if not session.read(text + after).ok:
            return ()
        found = forbidding(session.inspect, data[len(after) :], budget_ms=PLACE_MS)
        return tuple(str(place) for place in found)[:RULES]

    def along(self, data: bytes) -> tuple[GrammarMatcher, int]:
        """A matcher that has read from here what can be read of `data`, and how many bytes these are."""
        assert self.matcher is not None
        probe = self.matcher.fork()
        return probe, read_bytes(probe, data)


def find_differences(allowing: Answer, refusing: Answer, common: Bits, judge: Judge) -> list[Difference]:
    """What `allowing` allows and `refusing` does not, grouped, most tokens first.  Both must have a mask."""
    assert allowing.allowed is not None
    assert refusing.allowed is not None
    ids = np.flatnonzero(allowing.allowed & ~refusing.allowed & common)
    vocabulary = allowing.side.engine.tokenizer.info.decoded_vocab
    labels = allowing.side.label, refusing.side.label
    hidden = _asked(refusing.constraint, ids, wanted=True)
    hollow = _asked(allowing.constraint, ids, wanted=False) - hidden
    found: list[Difference] = []
    sure = [int(token) for token in ids if int(token) not in hidden and int(token) not in hollow]
    found += _grouped(sure, labels, refusing, vocabulary, common, judge)
    if hidden:
        why = f"{labels[1]} takes them all the same: its mask holds one way to cut the text, not all."
        found.append(_plain("mask only", sorted(hidden), labels, vocabulary, why))
    if hollow:
        why = f"{labels[0]} does not take them either: its mask and its parser disagree."
        found.append(_plain("false hope", sorted(hollow), labels, vocabulary, why))
    if allowing.may_end and not refusing.may_end:
        ours = judge.may_end()
        says = judge.reason if ours is None else f"Our engine: it may{'' if ours else ' not'}."
        found.append(Difference("end", *labels, b"", b"", (), (), ours, says))
    return found


def _asked(constraint: Constraint | None, ids: npt.NDArray[np.int64], *, wanted: bool) -> set[int]:
    """The tokens among `ids` that the engine's `accept` takes (or not), whatever its mask says."""
    if constraint is None:
        return set()
    chosen = ids if len(ids) <= ASKED else ids[np.linspace(0, len(ids) - 1, ASKED).astype(int)]
    return {int(token) for token in chosen if constraint.takes(int(token)) is wanted}


def _grouped(
    ids: list[int],
    labels: tuple[str, str],
    refusing: Answer,
    vocabulary: Sequence[bytes],
    common: Bits,
    judge: Judge,
) -> list[Difference]:
    """Follow each token to where it parts; tokens that part in one parser state of ours belong together."""
    if not ids:
        return []
    assert refusing.allowed is not None
    ids = sorted(ids, key=lambda token: vocabulary[token])
    members = [_Member(token, bytes(vocabulary[token])) for token in ids]
    theirs = sorted(bytes(vocabulary[int(token)]) for token in np.flatnonzero(refusing.allowed & common))
    if judge.matcher is None:
        for member in members:
            member.place = min(_longest_shared(theirs, member.data), len(member.data) - 1)
            member.state = member.data[member.place]
    else:
        _place(members, theirs, judge)
    groups: dict[tuple[object, ...], list[_Member]] = {}
    for member in members:
        groups.setdefault((member.ours, member.state), []).append(member)
    merged: dict[Reason, list[_Member]] = {}
    for number, some in enumerate(sorted(groups.values(), key=len, reverse=True)):
        reason = min(some, key=_Member.size).reason(judge) if number < MAX_EXPLAINED else Reason(some[0].ours)
        merged.setdefault(reason, []).extend(some)
    made = []
    for reason, some in merged.items():
        some.sort(key=_Member.size)
        parting = bytes(sorted({member.data[member.place] for member in some}))
        made.append(
            Difference(
                "refused",
                *labels,
                after=some[0].data[: some[0].place],
                parting=parting,
                token_ids=tuple(sorted(member.token for member in some)),
                examples=tuple((member.token, member.data) for member in some[:EXAMPLES]),
                ours=reason.ours,
                why=reason.sentence(byte_class(byte_ranges(parting)), judge),
                rules=reason.rules,
                dots=reason.dots,
            )
        )
    made.sort(key=lambda difference: -difference.count)
    return [
        replace(one, places=judge.places(one.after, one.examples[0][1], one.ours)) if number < PLACED else one
        for number, one in enumerate(made)
    ]


@dataclass
class _Member:
    """A differing token; at `place` it parts, in parser state `state` of ours; `ours`: whether we read it."""

    token: int
    data: bytes
    place: int = 0
    state: int = -1
    ours: bool | None = None

    def size(self) -> tuple[int, bytes]:
        return len(self.data), self.data

    def reason(self, judge: Judge) -> Reason:
        return judge.reason_at(self.data[: self.place + bool(self.ours)], self.ours)


def _place(members: list[_Member], theirs: list[bytes], judge: Judge) -> None:
    """Where each token parts.  Of a token that ours reads, the first byte that the other side allows nowhere in that
    parser state of ours, as far as its own mask shows."""
    some = sorted(theirs, key=len)[:FOLLOWED]
    seen: dict[int, set[int]] = {}
    for data, path in zip(some, judge.paths(some), strict=True):
        for state, byte in zip(path, data, strict=False):
            seen.setdefault(state, set()).add(byte)
    for member, path in zip(members, judge.paths([member.data for member in members]), strict=True):
        member.ours = len(path) > len(member.data)
        member.place = len(path) - 1
        if member.ours:
            strange = [at for at, byte in enumerate(member.data) if byte not in seen.get(path[at], ())]
            member.place = strange[0] if strange else len(member.data) - 1
        member.state = path[member.place]


@dataclass(frozen=True)
class Reason:
    """What our engine says of one place; places with equal reasons are one group."""

    ours: bool | None
    rules: tuple[str, ...] = ()
    dots: tuple[str, ...] = ()
    possible: str = ""

    def sentence(self, shown: str, judge: Judge) -> str:
        if self.ours is None:
            return f"no explanation: {judge.reason}"
        if not self.rules:
            return "not explained: the sides part at too many places"
        if self.ours:
            return f"our engine reads {shown} in {', '.join(self.rules)}"
        return f"{shown} cannot come in {', '.join(self.rules)}; {self.possible}"


def _plain(kind: Kind, ids: list[int], labels: tuple[str, str], vocabulary: Sequence[bytes], why: str) -> Difference:
    shortest = sorted(((token, bytes(vocabulary[token])) for token in ids), key=lambda pair: (len(pair[1]), pair[1]))
    return Difference(kind, *labels, b"", b"", tuple(ids), tuple(shortest[:EXAMPLES]), None, why)


def _longest_shared(ascending: list[bytes], data: bytes) -> int:
    """How much of `data` some member of a sorted list begins with."""
    at = bisect_left(ascending, data)
    return max((in_common(ascending[i], data) for i in (at - 1, at) if 0 <= i < len(ascending)), default=0)
