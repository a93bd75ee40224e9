"""Which tags may still come, and what ends the one that is being read.

    tags(session).ahead      # the tags that may begin here, or go on from the part of a trigger that was read
    tags(session).ends       # the open tags, the innermost first, with the texts that end them

Read off the structural tag and the text, so there is nothing of this for grammars that are written as rules.

Read on: `formats.py` (who follows the text), `visualizers/triggers.py` (who shows it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from visualizers.glyphs import glyph
from workbench.languages.positions import child
from workbench.provenance.reader import Reader

if TYPE_CHECKING:
    from workbench.provenance.formats import Standing

__all__ = ["TagAhead", "TagEnd", "TagForm", "Tags", "all_tags", "tags_of"]


_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class TagAhead:
    """A tag that may come: its name, how it begins, of which `read` bytes are there, and its place in the source."""

    name: str
    begin: str
    read: int
    pointer: str

    @property
    def rest(self) -> str:
        """What is missing of its beginning."""
        return self.begin.encode()[self.read :].decode(errors="replace")


@dataclass(frozen=True, slots=True)
class TagEnd:
    """An open tag: its name, the texts any of which ends it, of which `read` bytes are there, and its place in the
    source."""

    name: str
    ends: tuple[str, ...]
    read: int
    pointer: str


@dataclass(frozen=True, slots=True)
class TagForm:
    """A tag of the source: its name, how it begins, the texts any of which ends it, and its place in the source."""

    name: str
    begin: str
    ends: tuple[str, ...]
    pointer: str

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        ends = [_shown(end) for end in self.ends]
        return {"name": _shown(self.name), "begin": _shown(self.begin), "ends": ends, "pointer": self.pointer}


@dataclass(frozen=True)
class Tags:
    """Tags `ahead` and the `ends` of those that are open, the innermost first."""

    ahead: tuple[TagAhead, ...] = ()
    ends: tuple[TagEnd, ...] = ()

    @property
    def beginning(self) -> str:
        """Which tags a part has been read of, in a few words; "" where none has begun."""
        begun = [one for one in self.ahead if one.read]
        if not begun:
            return ""
        names = [_shown(one.name) for one in begun]
        which = " or ".join(names) if len(names) <= _NAMED else f"one of {len(names)} tags"
        read = max(one.read for one in begun)
        return f"a tag begins: {which}, {read} byte{'s' * (read != 1)} of it read"

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {
            "ahead": [
                {"name": _shown(one.name), "read": one.read, "rest": _shown(one.rest), "pointer": one.pointer}
                for one in self.ahead
            ],
            "ends": [
                {
                    "name": _shown(one.name),
                    "ends": [_shown(end) for end in one.ends],
                    "read": one.read,
                    "pointer": one.pointer,
                }
                for one in self.ends
            ],
        }

    def __str__(self) -> str:
        lines = []
        if self.ahead:
            some = (f"{_shown(one.name)} (missing {_shown(one.rest)})" for one in self.ahead)
            lines.append(f"may still come: {', '.join(some)}")
        lines += [f"{_shown(one.name)} ends with {' or '.join(map(_shown, one.ends))}" for one in self.ends]
        return "\n".join(lines) or "no tag is open, and none may come"


def tags_of(reader: Reader, text: bytes) -> Tags:
    """The tags at the end of `text`."""
    ahead: dict[str, TagAhead] = {}
    ends: dict[str, TagEnd] = {}
    for standing in reader.standings(text):
        for tag in reader.tags_around(standing.pointer):
            begun = standing.where == "begin" and standing.pointer == child(tag, "begin")
            ended = standing.done if standing.where == "end" and standing.pointer == child(tag, "end") else 0
            if begun:
                begin = reader.beginning(tag)
                read = len(begin.encode()) - len(standing.wanted) + standing.done
                ahead[tag] = TagAhead(_name(reader, tag), begin, read, reader.moved(tag))
            elif tag not in ends or ended > ends[tag].read:
                ends[tag] = TagEnd(_name(reader, tag), reader.closings(tag), ended, reader.moved(tag))
        if standing.where in ("free", "trigger"):
            ahead.update(_switches(reader, standing, text))
    return Tags(tuple(ahead.values()), tuple(ends.values()))


def all_tags(reader: Reader) -> tuple[TagForm, ...]:
    """All tags of the source in its order; several ways to begin the same tool's are one, with the first of them."""
    found: dict[tuple[str, str], TagForm] = {}
    for tag in reader.all_tags():
        name, pointer = _name(reader, tag), reader.moved(tag)
        found.setdefault((name, pointer), TagForm(name, reader.beginning(tag), reader.closings(tag), pointer))
    return tuple(found.values())


def _shown(text: str) -> str:
    return glyph(text.encode(errors="replace"))


def _name(reader: Reader, tag: str) -> str:
    return reader.tool(tag) or reader.beginning(tag)


def _switches(reader: Reader, standing: Standing, text: bytes) -> Iterator[tuple[str, TagAhead]]:
    """The tags of free text whose triggers go on with what has been read of one, or all where none has begun."""
    begun = text[len(text) - standing.done :]
    for tag in reader.tags_in(standing.pointer):
        begin = reader.beginning(tag)
        sizes = (size for size in range(len(begun), 0, -1) if begin.encode().startswith(begun[len(begun) - size :]))
        read = next(sizes, 0)
        if read or not begun:
            yield tag, TagAhead(_name(reader, tag), begin, read, reader.moved(tag))
