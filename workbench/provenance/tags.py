"""Which tags may still come, and what ends the one that is being read.

    tags(session).ahead      # the tags that may begin here, or go on from the part of a trigger that was read
    tags(session).ends       # the open tags, the innermost first, with the texts that end them

Read off the structural tag and the text, so there is nothing of this for grammars that are written as rules.

Read on: `formats.py` (who follows the text), `visualizers/triggers.py` (who shows it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from visualizers.glyphs import glyph, many
from workbench.languages.positions import child
from workbench.provenance.formats import Standing
from workbench.provenance.prefix import held_back
from workbench.provenance.reader import Reader

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of the source: its name, how it begins, the texts any of which ends it, and its place in the source.

    `read` bytes are there of its beginning where it is ahead, and `ends` is empty then; of one of its ends where it is
    open.
    """

    name: str
    begin: str
    ends: tuple[str, ...]
    pointer: str
    read: int = 0

    @property
    def rest(self) -> str:
        """What is missing of the beginning of a tag that is ahead."""
        return self.begin.encode()[self.read :].decode(errors="replace")

    @property
    def shown(self) -> str:
        """Its name as glyphs."""
        return _shown(self.name)

    @property
    def shown_ends(self) -> list[str]:
        """Its ends as glyphs."""
        return list(map(_shown, self.ends))

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {"name": self.shown, "begin": _shown(self.begin), "ends": self.shown_ends, "pointer": self.pointer}


@dataclass(frozen=True)
class Tags:
    """Tags `ahead` and those that are open and wait for their `ends`, the innermost first."""

    ahead: tuple[Tag, ...] = ()
    ends: tuple[Tag, ...] = ()

    @property
    def beginning(self) -> str:
        """Which tags a part has been read of, in a few words; "" where none has begun."""
        begun = [one for one in self.ahead if one.read]
        if not begun:
            return ""
        names = [one.shown for one in begun]
        which = " or ".join(names) if len(names) <= _NAMED else f"one of {len(names)} tags"
        read = max(one.read for one in begun)
        return f"a tag begins: {which}, {many(read, 'byte')} of it read"

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {
            "ahead": [
                {"name": one.shown, "read": one.read, "rest": _shown(one.rest), "pointer": one.pointer}
                for one in self.ahead
            ],
            "ends": [
                {"name": one.shown, "ends": one.shown_ends, "read": one.read, "pointer": one.pointer}
                for one in self.ends
            ],
        }

    def __str__(self) -> str:
        from visualizers.triggers import told

        return "\n".join(told(self.state())) or "no tag is open, and none may come"


def tags_of(reader: Reader, text: bytes) -> Tags:
    """The tags at the end of `text`."""
    ahead: dict[str, Tag] = {}
    ends: dict[str, Tag] = {}
    for standing in reader.standings(text):
        for tag in reader.tags_around(standing.pointer):
            if standing.where == "begin" and standing.pointer == child(tag, "begin"):
                missing = len(standing.wanted) - standing.done
                ahead[tag] = _tag(reader, tag, len(reader.beginning(tag).encode()) - missing)
                continue
            ended = standing.done if standing.where == "end" and standing.pointer == child(tag, "end") else 0
            if tag not in ends or ended > ends[tag].read:
                ends[tag] = _tag(reader, tag, ended, reader.closings(tag))
        if standing.where in ("free", "trigger"):
            ahead.update(_switches(reader, standing, text))
    return Tags(tuple(ahead.values()), tuple(ends.values()))


def all_tags(reader: Reader) -> tuple[Tag, ...]:
    """All tags of the source in its order; several ways to begin the same tool's are one, with the first of them."""
    found: dict[tuple[str, str], Tag] = {}
    for one in (_tag(reader, tag, ends=reader.closings(tag)) for tag in reader.all_tags()):
        found.setdefault((one.name, one.pointer), one)
    return tuple(found.values())


def _tag(reader: Reader, tag: str, read: int = 0, ends: tuple[str, ...] = ()) -> Tag:
    begin = reader.beginning(tag)
    return Tag(reader.tool(tag) or begin, begin, ends, reader.moved(tag), read)


def _shown(text: str) -> str:
    return glyph(text.encode(errors="replace"))


def _switches(reader: Reader, standing: Standing, text: bytes) -> Iterator[tuple[str, Tag]]:
    """The tags of free text whose triggers go on with what has been read of one, or all where none has begun."""
    begun = text[len(text) - standing.done :]
    for tag in reader.tags_in(standing.pointer):
        read = held_back(begun, [reader.beginning(tag).encode()])
        if read or not begun:
            yield tag, _tag(reader, tag, read)
