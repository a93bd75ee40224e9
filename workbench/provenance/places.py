"""A place in a source: the range of its text, its JSON pointer or rule, and what it has to do with the parser.

Read on: `workbench/provenance/__init__.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.languages import Source
from workbench.languages.positions import JsonSyntaxError, child

Role = Literal["here", "next", "around", "forbids"]
"""`here`: what is being read.  `next`: what may begin here.  `around`: what holds it.  `forbids`: why a byte cannot
come."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """One location in the source of a session.

    `span` is a half-open character range of the source's text, None where it stands in another document; `pointer` a
    JSON pointer (`#/properties/city`) in sources that are JSON, `rule` a rule's name in grammars.  `label` says in a
    few words what this is; `keyword` is the schema keyword that brought the parser here, or that forbids something.
    """

    role: Role
    label: str
    span: tuple[int, int] | None
    pointer: str | None = None
    rule: str | None = None
    keyword: str = ""

    def __str__(self) -> str:
        where = self.pointer or self.rule or ""
        return f"{self.label} ({where})" if where and where not in self.label else self.label


def json_place(source: Source, pointer: str, role: Role, label: str, keyword: str = "") -> SourcePlace:
    """A place given by its pointer; the span is that of the value with its key.

    What forbids something is the keyword itself, if it stands there.
    """
    span = None
    if pointer.startswith("#"):
        try:
            if role == "forbids" and keyword and child(pointer, keyword) in source.json.entries:
                pointer = child(pointer, keyword)
            span = source.json.nearest(pointer)[1].span
        except JsonSyntaxError:
            pass
    return SourcePlace(role, label, span, pointer, None, keyword)


def one_of_each(places: list[SourcePlace]) -> tuple[SourcePlace, ...]:
    """The places without repetitions; one that is `here` is not also `next` or `around`."""
    strength = {"forbids": 0, "here": 1, "next": 2, "around": 3}
    best: dict[tuple[object, ...], SourcePlace] = {}
    for place in places:
        key = (place.pointer, place.rule, place.span, place.keyword if place.role == "forbids" else None)
        if key not in best or strength[place.role] < strength[best[key].role]:
            best[key] = place
    return tuple(sorted(best.values(), key=lambda place: strength[place.role]))
