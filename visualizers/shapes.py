"""The plain data that sessions hand to views: what `state()` of a finding returns, and what travels to the browser.

Read on: `next.py`, `why.py` and `triggers.py` (the views).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

__all__ = ["DrawnTag", "KnownTags", "ObjectState", "ObjectsState", "Outlook", "RefusedState", "WhyState"]


class ChipState(TypedDict):
    """One continuation; `types`: it is typed when it is taken."""

    label: str
    lead: str
    then: str
    kind: str
    tokens: int
    types: bool


class GroupState(TypedDict):
    """Chips of one meaning; `more` of them are left out."""

    name: str
    tokens: int
    more: int
    chips: Sequence[ChipState]


class Outlook(TypedDict):
    """What may come next, as in `workbench.next.NextTokens`."""

    position: int
    allowed: int
    size: int
    uncounted: int
    control: int
    complete: bool
    seconds: float
    forced: str
    unforced: str
    note: str
    groups: Sequence[GroupState]


class ObjectState(TypedDict):
    """An object that is being written, as in `workbench.provenance.members.OpenObject`; of each member its name, its
    state, whether it is required, its pointer, and what keeps it from coming."""

    label: str
    pointer: str
    summary: str
    counts: str
    ordered: bool
    others: str
    now: str
    missing: Sequence[str]
    closes: bool
    blocked: str
    members: Sequence[tuple[str, str, bool, str, str]]
    more: int


class ObjectsState(TypedDict, total=False):
    """The objects that are being written, the innermost first."""

    position: int
    objects: Sequence[ObjectState]


class RefusedRow(TypedDict):
    """Tokens that are refused for one reason, as far as a table tells of them."""

    count: int
    read: str
    fatal: str
    expected: str
    by: str


class RefusedState(TypedDict):
    """The refused tokens: some reasons, and how many tokens there are in all."""

    rows: Sequence[RefusedRow]
    total: int


class Subject(TypedDict):
    """What was asked about: a text, or the token with this id; `read` of it can be read, `rest` cannot."""

    token: int | None
    text: str
    read: str
    rest: str


class ReasonState(TypedDict):
    """A place of the source that forbids the fatal byte."""

    label: str
    keyword: str
    pointer: str | None
    rule: str | None


class WhyState(TypedDict):
    """The fate of a text or token: what was read `before` the `fatal` byte (`cut`: only its end), and what came behind
    (`rest`); the other keys are as in `workbench.next.why.Why`."""

    subject: Subject
    position: int
    ok: bool
    kind: str
    message: str
    before: str
    cut: bool
    fatal: str
    rest: str
    at: int
    expected: str
    ends: bool
    reasons: Sequence[ReasonState] | None
    place: str | None
    rules: Sequence[str]
    dots: Sequence[str]
    suggestions: Sequence[str]
    forced: str
    end: str | None
    end_bytes: int
    note: str


class DrawnTag(TypedDict):
    """A tag as the diagram shows it: what it is called, how it begins, and the texts any of which ends it."""

    name: str
    begin: str
    ends: Sequence[str]
    pointer: NotRequired[str]
    rule: NotRequired[str]


class TagBegun(TypedDict):
    """A tag that may come: `rest` is missing of its beginning, of which `read` bytes are there."""

    name: str
    read: int
    rest: str
    pointer: str


class TagOpen(TypedDict):
    """An open tag: the texts any of which ends it, of which `read` bytes are there."""

    name: str
    ends: Sequence[str]
    read: int
    pointer: str


class KnownTags(TypedDict, total=False):
    """What the source knows: the tags that may still come, and what ends the open ones."""

    ahead: Sequence[TagBegun]
    ends: Sequence[TagOpen]
