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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

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
        self._rest = ""
        self._open: list[tuple[tuple[str, ...], bool]] = [(form.opened, False)] if form.opened else []
        self._count = 0
        self._ways: list[_Call] = list(form.alone)  # that begin as the call does which is being read
        self._at = 0  # the part of their heads that comes next
        self._call: _Call | None = None
        self._json: _JsonEnd | None = None
        self._ending = False
        self._undecided = first
        self._only_text = False

    @property
    def calls(self) -> int:
        """How many calls have begun."""
        return self._count

    @property
    def cut(self) -> bool:
        """Whether the arguments of the last call are not whole."""
        return self._call is not None and not self._ending

    @property
    def between(self) -> bool:
        """Whether no call has begun of which something is missing."""
        return not self.cut and not self._ways

    def feed(self, text: str, *, last: bool = False) -> list[Piece]:
        """What the next piece of the text adds; with `last` nothing is held back any more."""
        self._rest += text
        found: list[Piece] = []
        while True:
            step = self._step(last)
            if step is None:
                return found
            found += step

    def _step(self, last: bool) -> list[Piece] | None:
        """Read one part; None where more text is needed."""
        if self._only_text:
            said, self._rest = self._rest, ""
            return [Said(said)] if said else None
        if self._ways:
            return self._in_head(last)
        if self._call is None:
            return self._free(last)
        if self._ending:
            return self._end(last)
        return self._in_json() if self._call.style == "json" else self._in_elements(last)

    # -- free text --------------------------------------------------------------------------------------------------

    def _free(self, last: bool) -> list[Piece] | None:
        rest = self._rest
        if not rest:
            return None
        ends, skips = self._open[-1] if self._open else ((), self._form.calls_only)
        in_block = bool(self._open) and not skips
        # Free text between marks of its own may hold what would be a mark elsewhere.
        marks = [*(end for end in ends if end), *(() if in_block else self._form.marks)]
        place, mark, enough = self._find(rest, marks, last)
        if self._undecided:
            blank = len(rest) - len(rest.lstrip(BLANKS))
            if mark and place <= blank:
                self._undecided = False
            elif place <= blank and not enough:
                return None
            elif blank < len(rest) or last:
                self._undecided, self._only_text = False, True
                return []
            else:
                return None
        said: list[Piece] = [Said(rest[:place])] if place and not skips else []
        self._rest = rest[place + len(mark) :]
        if not mark:
            return said or None
        if mark in ends:
            self._open.pop()
        elif mark in self._form.calls:
            self._ways, self._at = list(self._form.calls[mark]), 0
        elif mark in self._form.sections:
            self._open.append((self._form.sections[mark], True))
        elif mark in self._form.blocks:
            self._open.append((self._form.blocks[mark], False))
        return said

    @staticmethod
    def _find(text: str, marks: list[str], last: bool, *, alone: bool = False) -> tuple[int, str, bool]:
        """The first place where a mark stands and the longest that does, or the place up to which there is none ("")
        and whether more text would change nothing.  `alone`: at the beginning, or nowhere."""
        firsts = {mark[0] for mark in marks}
        for place, letter in enumerate(text[:1] if alone else text):
            if letter not in firsts:
                continue
            here = max((mark for mark in marks if text.startswith(mark, place)), key=len, default="")
            tail = text[place:]
            longer = not last and any(len(mark) > len(tail) and mark.startswith(tail) for mark in marks)
            if longer:
                return place, "", False
            if here:
                return place, here, True
        return len(text), "", bool(text) or not alone

    # -- a call -----------------------------------------------------------------------------------------------------

    def _in_head(self, last: bool) -> list[Piece] | None:
        """What stands between the beginning of a call and its arguments, and may be what tells tools apart."""
        if self._at == len(self._ways[0].head):
            self._call, self._ways = self._ways[0], []
            self._count += 1
            return [Called(self._count - 1, self._call.name)]
        parts = {way.head[self._at] for way in self._ways}
        if parts == {None}:
            digits = _DIGITS.match(self._rest)
            if digits is None or digits.end() == len(self._rest):
                return None
            self._rest = self._rest[digits.end() :]
        else:
            place, part, enough = self._find(self._rest, [one for one in parts if one], last, alone=True)
            if not part:
                if enough and not last:
                    raise RuntimeError(f"a call of {self._ways[0].name} goes on with {self._rest[:40]!r}")
                return None
            self._rest = self._rest[place + len(part) :]
            self._ways = [way for way in self._ways if way.head[self._at] == part]
        self._at += 1
        return []

    def _in_json(self) -> list[Piece] | None:
        if self._json is None:
            self._rest = self._rest.lstrip(BLANKS)
            if not self._rest:
                return None
            self._json = _JsonEnd()
        end = self._json.read(self._rest)
        piece, self._rest = (self._rest, "") if end is None else (self._rest[:end], self._rest[end:])
        if end is not None:
            self._json, self._ending = None, True
        return [Arguments(self._count - 1, piece)] if piece else None

    def _in_elements(self, last: bool) -> list[Piece] | None:
        call = self._call
        assert call is not None
        read = read_arguments(self._rest, call.style, call.schema, call.ends, last)
        if read is None:
            return None
        arguments, end = read
        self._rest = self._rest[end:]
        self._ending = bool(self._rest) or any(not one.strip(BLANKS) for one in call.ends)  # otherwise it was cut
        return [Arguments(self._count - 1, arguments)]

    def _end(self, last: bool) -> list[Piece] | None:
        """What ends a call, with the blanks that may stand before it."""
        assert self._call is not None
        ends = [end.lstrip(BLANKS) for end in self._call.ends]
        if ends != [""]:
            rest = self._rest.lstrip(BLANKS)
            found = max((end for end in ends if rest.startswith(end)), key=len, default=None)
            if found is None:
                if last or any(end.startswith(rest) for end in ends):
                    return None
                raise RuntimeError(f"a call of {self._name} ends with {rest[:40]!r}, not with {ends[0]!r}")
            self._rest = rest[len(found) :]
        self._call, self._ending = None, False
        return []

    @property
    def _name(self) -> str:
        return "" if self._call is None else self._call.name


class _JsonEnd:
    """Finds the end of an object or array in pieces of its text."""

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def read(self, text: str) -> int | None:
        """The offset behind the end, None where it is not there yet."""
        start, self._escaped = int(self._escaped), self._escaped and not text
        for found in _MARK.finditer(text, start):
            mark = found[0]
            if mark == '"':
                self._quoted = not self._quoted
            elif mark == "\\":
                self._escaped = True  # what it escapes comes with the next piece
            elif not self._quoted and mark[0] != "\\":
                self._depth += 1 if mark in "{[" else -1
                if not self._depth:
                    return found.end()
        return None
