"""The beginning of a call's arguments that are written as XML-like elements: where in them its end stands.

    read_elements('<parameter=city>Lu', STYLES["qwen_xml"]).path == ("city",), with part "value" and partial "Lu"

The same answer as `prefix.py` gives for JSON, so that what follows the text through the schema need not know how the
arguments are written.  A value that is JSON inside its element is read on as JSON.  As there, nothing is checked.

Read on: `kernels_core/grammar/structural_tag/styles.py` (the markers), `prefix.py`.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import NamedTuple

from kernels_core.grammar.structural_tag.styles import STYLES, Style
from workbench.languages.positions import behind_blanks
from workbench.provenance.prefix import JsonPrefix, Level, Part, read_prefix, shared_beginning

__all__ = ["STYLES", "ElementPrefix", "read_elements", "read_middle", "spelt_element"]


@dataclass(frozen=True)
class ElementPrefix(JsonPrefix):
    """A `JsonPrefix` of elements.  What is not JSON says nothing about branches of a schema: it counts as not begun."""

    raw: frozenset[int] = frozenset()
    """Offsets at which a value begins that is no JSON."""

    @property
    def starts(self) -> tuple[int, ...]:
        end = len(self.text)
        return tuple(end if start in self.raw else start for start in super().starts)


def spelt_element(name: str, style: Style) -> str:
    """How an element of this name begins, as far as that is the same for all types of values."""
    same = shared_beginning([middle[0] for middle in style.middles.values()])
    return style.front + "".join(style.entities.get(letter, letter) for letter in name) + same


def read_element_name(text: str, style: Style) -> str:
    """The name that an element's beginning spells as `text`."""
    return html.unescape(text) if style.entities else text


class Middle(NamedTuple):
    """The markers between a name and a value.

    behind: the offset behind those that are there.  kinds: the JSON types of values that they allow.  whole: no marker
    is missing.
    """

    name: str
    behind: int
    kinds: frozenset[str]
    whole: bool


def read_middle(text: str, start: int, style: Style, *, named: bool = True) -> Middle | None:
    """What ends the name that begins at `start`; None where nothing does.

    named: False in front of an item of an array, where there is no name, and so no quote behind it.
    """
    kinds: dict[tuple[str, ...], set[str]] = {}
    for kind, (first, *rest) in (*style.middles.items(), *([("number", (style.integer,))] if style.integer else [])):
        kinds.setdefault((first if named else first.removeprefix('"'), *rest), set()).add(kind)
    found = [(place, -len(parts[0]), parts) for parts in kinds if (place := text.find(parts[0], start)) >= 0]
    if not found:
        return None
    place, _, parts = min(found)
    name = read_element_name(text[start:place], style)
    behind = place + len(parts[0])
    for part in parts[1:]:
        behind = behind_blanks(text, behind)
        if not text.startswith(part, behind):
            return Middle(name, behind, frozenset(kinds[parts]), whole=False)
        behind += len(part)
    return Middle(name, behind, frozenset(kinds[parts]), whole=True)


def read_elements(text: str, style: Style) -> ElementPrefix:
    """Where the end of `text`, elements of an object, stands."""
    return _Elements(text, style).read()


class _Elements:
    def __init__(self, text: str, style: Style) -> None:
        self.text, self.style = text, style
        self.levels = [Level(True, 0, [])]
        self.raw = {0}

    def read(self) -> ElementPrefix:
        at = 0
        while True:
            found = self._element(at)
            if isinstance(found, ElementPrefix):
                return found
            at = found

    def _element(self, at: int) -> int | ElementPrefix:
        """Read on in front of an element, or of the end of those around; the offset behind what was read."""
        style, text, top = self.style, self.text, self.levels[-1]
        begin = behind_blanks(text, at)
        if len(self.levels) > 1:
            back = self._back(self.levels[-2])
            if text.startswith(back, begin):
                self.levels.pop()
                return self._behind(begin + len(back))
        front = style.front if top.is_object else style.item
        if begin == len(text) or not text.startswith(front, begin):
            if top.is_object:
                top.key = None
            return self._prefix("name" if top.is_object else "after", begin)
        start = begin + len(front)
        middle = read_middle(text, start, style, named=top.is_object)
        if middle is None:
            if top.is_object:
                top.key = None
            return self._prefix("name" if top.is_object else "value", begin)
        if top.is_object:
            top.key = middle.name
            top.names.append(middle.name)
        return self._value(middle.behind) if middle.whole else self._prefix("colon", middle.behind)

    def _value(self, at: int) -> int | ElementPrefix:
        """Read on behind the markers in front of a value."""
        style, text, top = self.style, self.text, self.levels[-1]
        begin = behind_blanks(text, at)
        if style.nested and begin < len(text):
            item = text.startswith(style.item, begin) and text.startswith((">", " type"), begin + len(style.item))
            if item or text.startswith(style.front, begin):
                self.levels.append(Level(not item, begin, [], 0 if item else None))
                self.raw.add(begin)
                return begin
        back = self._back(top)
        end = text.find(back, at)
        if end >= 0:
            return self._behind(end + len(back))
        if text[begin : begin + 1] in ("{", "["):
            return self._json(begin)
        self.raw.add(at)
        return self._prefix("value", at)

    def _back(self, level: Level) -> str:
        """What ends the element that is open in `level`."""
        back = self.style.back
        if not level.is_object:
            return self.style.item_back
        return str(level.key).join(back) if len(back) > 1 else back[0]

    def _behind(self, at: int) -> int:
        """An element of the innermost level has ended at `at`."""
        top = self.levels[-1]
        if isinstance(top.key, int):
            top.key += 1
        return at

    def _json(self, begin: int) -> ElementPrefix:
        """The end stands in a value that is written as JSON, from `begin` on."""
        inner = read_prefix(self.text[begin:])
        for level in inner.levels:
            level.start += begin
        self.levels += inner.levels
        ended = inner.part == "end"
        return self._prefix("value" if ended else inner.part, begin + (0 if ended else inner.start))

    def _prefix(self, part: Part, start: int) -> ElementPrefix:
        return ElementPrefix(self.text, tuple(self.levels), part, start, frozenset(self.raw))
