"""Tool calls read back from what a model wrote, piece by piece as it comes.

A `CallFormat` is what a structural tag of tools (`workbench/languages/tools.py`) says about calls: how each begins, how
its arguments are written, what ends it.  A `CallReader` follows a text of that format: free text is `Said`, a call is
`Called`, then its arguments as pieces of JSON (`Arguments`).  Markers of the format are nobody's text and are left out.
The text is one of the grammar, or the beginning of one; what does not fit is an error of ours.
Read on: `arguments.py` (arguments that are written as elements), `answers.py` (what becomes of the pieces).
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast

from workbench.json_values import BLANKS
from workbench.languages import Source
from workbench.languages.positions import child
from workbench.languages.tools import ToolTag
from workbench.serving.arguments import read_arguments, write_arguments

NOT_READ: Final[Mapping[str, str]] = {
    "cohere": "its arguments are elements inside elements",
    "minimax_m3": "its arguments are elements inside elements",
    "gemma": "its arguments have a notation of their own",
    "gemma_4": "its arguments have a notation of their own",
}
_DIGITS: Final = re.compile(r"[0-9]+")
_MARK: Final = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)  # of JSON, all that tells where it ends


@dataclass(frozen=True, slots=True)
class Said:
    """Free text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning in front of an answer (`thoughts.py`)."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call begins; `index` counts the calls of an answer."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """A piece of the JSON text of a call's arguments."""

    index: int
    text: str


Piece: TypeAlias = Said | Thought | Called | Arguments


@dataclass(frozen=True, slots=True)
class _Call:
    """One way to write a call: the texts around its arguments.  In `head` None stands for a number."""

    name: str
    begin: str
    head: tuple[str | None, ...]
    style: str
    schema: object
    ends: tuple[str, ...]


class CallFormat:
    """The calls of a structural tag that was made of tools.

    format: the format to compile.  calls: ways to write one.  marks: of free text, by how they begin; `opened` are the
    ends of the block that the prompt has opened.  alone: the call whose arguments the whole answer is, if any.
    calls_only: what stands around calls is their layout, also where it was cut.
    plain_integers: put on the arguments, as `Grammar.from_json_schema` has it; for programs beside the server.
    """

    def __init__(self, tag: ToolTag, *, plain_integers: bool = False) -> None:
        self._more = {"plain_integers": True} if plain_integers else {}
        self.format = cast(Mapping[str, object], tag.tag["format"])
        self._names = tag.names
        self.calls: dict[str, list[_Call]] = {}  # by how they begin, which several tools may have in common
        self.sections: dict[str, tuple[str, ...]] = {}  # begin -> ends; what is not a call in them is left out
        self.blocks: dict[str, tuple[str, ...]] = {}  # begin -> ends; all that is in them is text
        self.constants: set[str] = set()
        self._walk(self.format, "#/format", False)
        self.opened = self.blocks.pop("", ())
        self.alone = self.calls.pop("", [])
        self.calls_only = self.format["type"] == "tags_with_separator"
        self.marks = tuple(
            sorted({*self.calls, *self.sections, *self.blocks, *self.constants}, key=lambda mark: (-len(mark), mark))
        )

    def write(self, arguments: object) -> str:
        """A call of the first tool as the model writes it; arguments that are a text are taken as they are."""
        call = next(iter(self.calls.values()))[0]
        if call.style == "json" or not isinstance(arguments, Mapping):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        else:
            text = write_arguments(arguments, call.style)
        written = call.begin + "".join("0" if part is None else part for part in call.head) + text + call.ends[0]
        for begin, ends in self.sections.items():
            return begin + written + ends[0]
        return written

    def _walk(self, value: object, pointer: str, in_section: bool) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                self._walk(item, child(pointer, index), in_section)
            return
        if not isinstance(value, dict):
            return
        kind = value.get("type")
        if kind == "tag":
            ends = tuple(value["end"]) if isinstance(value["end"], list) else (value["end"],)
            call = self._call(value, pointer, ends)
            if call is not None:
                self.calls.setdefault(call.begin, []).append(call)
                return
            holds_calls = any(place.startswith(f"{pointer}/") for place in self._names)
            (self.sections if holds_calls else self.blocks)[value["begin"]] = ends
            self._walk(value["content"], child(pointer, "content"), holds_calls)
            return
        if kind == "sequence" and not in_section:
            last = value["elements"][-2:]
            if [element.get("type") for element in last] == ["const_string", "any_text"]:
                self.blocks[last[0]["value"]] = ()  # to the end of the answer
                return
        if kind == "const_string" and value["value"].strip() and not in_section:
            self.constants.add(value["value"])
        if kind == "tags_with_separator" and value["separator"].strip() and not in_section:
            self.constants.add(value["separator"])
        for key, item in value.items():
            if key not in ("json_schema", "excludes", "triggers"):
                self._walk(item, child(pointer, key), in_section)

    def _call(self, tag: dict[str, Any], pointer: str, ends: tuple[str, ...]) -> _Call | None:
        """The call that a tag is, None where it is something around calls."""
        name = self._names.get(pointer)
        content = tag["content"]
        elements = content["elements"] if content["type"] == "sequence" else [content]
        if name is None or elements[-1]["type"] != "json_schema":
            return None
        head = tuple(one["value"] if one["type"] == "const_string" else None for one in elements[:-1])
        last = elements[-1]
        last.update(self._more)
        return _Call(name, tag["begin"], head, last.get("style", "json"), last["json_schema"], ends)


@lru_cache(maxsize=256)
def format_of_calls(model: str, name: str) -> CallFormat:
    """How a model of that family calls one function, whatever its arguments are."""
    tool = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    return CallFormat(Source("tools", json.dumps([tool]), {"model": model}).tool_tag)


class CallReader:
    """Follows one answer of `form`; `first`: if it does not begin with a call, it is text from end to end."""

    def __init__(self, form: CallFormat, *, first: bool = False) -> None:
        self._form = form
        self._count = 0  # of calls that have begun
        self._rest = ""  # what was not read yet
        self._last = False
        self._within: Literal["", "head", "arguments"] = "head" if form.alone else ""  # of a call
        self._pieces = self._answer(first)

    @property
    def cut(self) -> bool:
        """Whether the arguments of the last call are not whole."""
        return self._within == "arguments"

    @property
    def between(self) -> bool:
        """Whether no call has begun of which something is missing."""
        return not self._within

    def feed(self, text: str, *, last: bool = False) -> list[Piece]:
        """What the next piece of the text adds; with `last` nothing is held back any more."""
        self._rest, self._last = self._rest + text, last
        found: list[Piece] = []
        for piece in self._pieces:
            if piece is None:
                break
            found.append(piece)
        return found

    # -- what is read next, and None where more text is needed ------------------------------------------------------

    def _answer(self, first: bool) -> Iterator[Piece | None]:
        form = self._form
        if form.alone:
            yield from self._call(form.alone)
        # What ends the blocks and sections that are open, and whether their text is layout.
        opened: list[tuple[tuple[str, ...], bool]] = [(form.opened, False)] if form.opened else []
        while True:
            rest = self._rest
            ends, skips = opened[-1] if opened else ((), form.calls_only)
            # Free text between marks of its own may hold what would be a mark elsewhere.
            place, mark = self._find([*filter(None, ends), *(form.marks if skips or not opened else ())])
            if first:
                if place > len(rest) - len(rest.lstrip(BLANKS)) or (mark == "" and self._last):
                    break
                if not mark:
                    yield None
                    continue
                first = False
            self._rest = rest[place + len(mark or "") :]
            if place and not skips:
                yield Said(rest[:place])
            if not mark:
                yield None
            elif mark in ends:
                opened.pop()
            elif mark in form.calls:
                yield from self._call(form.calls[mark])
            elif mark in form.sections:
                opened.append((form.sections[mark], True))
            elif mark in form.blocks:
                opened.append((form.blocks[mark], False))
        while True:
            said, self._rest = self._rest, ""
            yield Said(said) if said else None

    def _call(self, ways: list[_Call]) -> Iterator[Piece | None]:
        """One of some calls that begin alike, behind that beginning."""
        self._within, at = "head", 0
        while at < len(ways[0].head):
            parts = {way.head[at] for way in ways}
            if parts == {None}:
                while (digits := _DIGITS.match(self._rest)) is None or digits.end() == len(self._rest):
                    yield None
                self._rest = self._rest[digits.end() :]
            else:
                part = yield from self._one_of([one for one in parts if one], ways[0])
                ways = [way for way in ways if way.head[at] == part]
            at += 1
        call, index = ways[0], self._count
        self._within, self._count = "arguments", index + 1
        yield Called(index, call.name)
        yield from self._in_json(index) if call.style == "json" else self._in_elements(call, index)
        ends = [end.lstrip(BLANKS) for end in call.ends]
        if ends != [""]:
            yield from self._blanks()
            yield from self._one_of(ends, call)

    def _in_json(self, index: int) -> Iterator[Piece | None]:
        yield from self._blanks()
        depth, quoted, escaped = 0, False, False
        while True:
            text, self._rest = self._rest, ""
            marks = _MARK.finditer(text, int(escaped))
            escaped = escaped and not text
            for found in marks:
                mark = found[0]
                escaped = mark == "\\"  # what it escapes comes with the next piece
                if mark == '"':
                    quoted = not quoted
                elif not quoted and mark[0] != "\\":
                    depth += 1 if mark in "{[" else -1
                    if not depth:
                        self._rest, self._within = text[found.end() :], ""
                        yield Arguments(index, text[: found.end()])
                        return
            if text:
                yield Arguments(index, text)
            yield None

    def _in_elements(self, call: _Call, index: int) -> Iterator[Piece | None]:
        while (read := read_arguments(self._rest, call.style, call.schema, call.ends, self._last)) is None:
            yield None
        arguments, end = read
        self._rest = self._rest[end:]
        if self._rest or not all(one.strip(BLANKS) for one in call.ends):
            self._within = ""  # otherwise it was cut
        yield Arguments(index, arguments)

    # -- marks ------------------------------------------------------------------------------------------------------

    def _blanks(self) -> Iterator[None]:
        """Leave out blanks, up to something else."""
        while not (rest := self._rest.lstrip(BLANKS)):
            yield None
        self._rest = rest

    def _one_of(self, marks: list[str], call: _Call) -> Generator[None, None, str]:
        """Leave out the one of `marks` that has to come now in `call`; which one it was."""
        while (found := self._mark_at(0, marks)) is None or found not in marks:
            if found is not None and not self._last:
                raise RuntimeError(f"a call of {call.name} goes on with {self._rest[:40]!r}, not with {marks[0]!r}")
            yield None
        self._rest = self._rest[len(found) :]
        return found

    def _find(self, marks: list[str]) -> tuple[int, str | None]:
        """The first place where one of `marks` stands, and which, or None where one may; behind all text "", where none
        does."""
        firsts = {mark[0] for mark in marks}
        for place, letter in enumerate(self._rest):
            if letter in firsts and (mark := self._mark_at(place, marks)) != "":
                return place, mark
        return len(self._rest), ""

    def _mark_at(self, place: int, marks: list[str]) -> str | None:
        """The longest of `marks` that stands at `place`, "" for none; None where more text may make it a longer one."""
        tail = self._rest[place:]
        if not self._last and any(len(mark) > len(tail) and mark.startswith(tail) for mark in marks):
            return None
        return max((mark for mark in marks if tail.startswith(mark)), key=len, default="")
