"""The beginning of a JSON text: where in the value its end stands.

    read_prefix('{"city": "Lu').path == ("city",), with part "value" and partial '"Lu'

The text must be the beginning of some JSON text (a grammar has accepted it), so nothing is checked here.  One pass,
without recursion; offsets are characters.

Read on: `workbench/provenance/schema.py`, which follows the path through a schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import AnyStr, Literal, TypeVar

from kernels_core.inspect.classic import in_common
from workbench.languages.positions import behind_blanks

S = TypeVar("S", bytes, str, list[str], tuple[int, ...], tuple[bytes, ...])

Part = Literal["value", "name", "colon", "after", "end"]
"""Where the text stops: at or in a value; at or in a member's name; between a name and its value; behind a value, in
a container; behind the whole."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_SCALAR = re.compile(r"[^\s,\]}\"{\[]+")
_WORDS = ("true", "false", "null")


@dataclass(slots=True)
class Level:
    """An object or array that is open.  `names` are those of its finished or present members, `key` the name or index
    of the child that is being read (None before the first name of an object)."""

    is_object: bool
    start: int
    names: list[str]
    key: str | int | None = None


@dataclass(frozen=True)
class JsonPrefix:
    """`levels` are the open containers, outermost first; `start` is where the value or name that is being read begins
    (the text's length where it has not begun), `partial` its text so far."""

    text: str
    levels: tuple[Level, ...]
    part: Part
    start: int

    @property
    def partial(self) -> str:
        return self.text[self.start :]

    @property
    def path(self) -> tuple[str | int, ...]:
        """The keys and indices of the value, or (at a name, or behind a value) of the container around it."""
        keys = [level.key for level in self.levels if level.key is not None]
        if self.part in ("name", "after") and self.levels and self.levels[-1].key is not None:
            keys.pop()
        return tuple(keys)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the value at each beginning of `path` starts, the whole first: `len(path) + 1` offsets."""
        found = [level.start for level in self.levels]
        return tuple(found if self.part in ("name", "after", "end") else [*found, self.start])


def path_of(keys: Iterable[str | int | None]) -> str:
    """A path for a person: `days[2].city`."""
    text = ""
    for key in keys:
        if key is not None:
            text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def read_prefix(text: str) -> JsonPrefix:
    """Where the end of `text` stands."""
    levels: list[Level] = []
    at, wants = 0, "value"
    while True:
        at = behind_blanks(text, at)
        if at == len(text):
            return JsonPrefix(text, tuple(levels), _part(wants, levels), at)
        letter = text[at]
        if letter in "{[":
            levels.append(Level(letter == "{", at, [], None if letter == "{" else 0))
            at, wants = at + 1, "name" if letter == "{" else "value"
        elif letter in "}]":
            levels.pop()
            at, wants = at + 1, "after"
        elif letter == ",":
            top = levels[-1]
            if isinstance(top.key, int):
                top.key += 1
            at, wants = at + 1, "name" if top.is_object else "value"
        elif letter == ":":
            at, wants = at + 1, "value"
        else:
            found = (_STRING if letter == '"' else _SCALAR).match(text, at)
            ended = found is not None and (letter == '"' or found.end() < len(text) or found.group() in _WORDS)
            if not ended:
                part: Part = "name" if wants == "name" else "value"
                if wants == "name":
                    levels[-1].key = None
                return JsonPrefix(text, tuple(levels), part, at)
            assert found is not None
            if wants == "name":
                name = json.loads(found.group(), strict=False)
                levels[-1].names.append(name)
                levels[-1].key = name
                wants = "colon"
            else:
                wants = "after"
            at = found.end()


def _part(wants: str, levels: list[Level]) -> Part:
    if wants == "name":
        levels[-1].key = None
        return "name"
    if wants == "after":
        return "after" if levels else "end"
    return "colon" if wants == "colon" else "value"


def shared_beginning(many: Sequence[S]) -> S:
    """What all of `many`, at least one, begin with."""
    first, last = min(many), max(many)
    return first[: in_common(first, last)]


def held_back(text: AnyStr, marks: Sequence[AnyStr]) -> int:
    """How much at the end of `text` may be the beginning of one of `marks`."""
    longest = min(len(text), max(map(len, marks), default=1) - 1)
    return next((n for n in range(longest, 0, -1) if any(mark.startswith(text[-n:]) for mark in marks)), 0)
