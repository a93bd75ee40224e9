r"""`pattern` to a `Language`: ECMA-262 regular expressions, searched for anywhere in a string.

Reading makes a small tree; building turns it into a language *from the back*: `build(node, after)` is the language of
"`node`, and then `after`", where `after` already describes the string up to its end.  That gives assertions their
exact meaning without any matching engine: `$` leaves only the empty string of what follows, `(?=x)` intersects what
follows with "begins with x", `(?!x)` with its complement; `^` holds where nothing has been read.

Characters are code points; `\d \w` are ASCII, `\s` and `.` know Unicode; see `..regex_classes`.  Refused, at their
place: back-references, look-behind, word boundaries, and assertions inside a repetition, but for `((?!x).)*` at the
end of a pattern.

Read on: `languages.py`, `formats.py` (patterns of formats, matched as a whole).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...errors import UnsupportedFeatureError
from .. import charset
from ..nodes import MAX_REPEAT
from ..regex_classes import escape, fail, refuse, set_at, single
from .languages import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    NOTHING,
    Chars,
    Language,
    character,
    complement,
    concat,
    intersection,
    union,
    words,
)
from .languages import loop as loop_language

__all__ = ["full_match", "search"]

# Groups in groups: reading and building recurse.
MAX_GROUPS = 100

_COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"P?<([^\W\d]\w*)>")


@dataclass(frozen=True, slots=True)
class _Seq:
    items: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Alt:
    items: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Optional:
    """An item with assertions inside, at most once."""

    item: _Node


@dataclass(frozen=True, slots=True)
class _Guarded:
    """`least` to `most` characters, each with the same assertions in front of it: `((?!x).)*`."""

    looks: tuple[_Look, ...]
    character: Language
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Repeated:
    """An item that may end in `$`, at least 0 or 1 times."""

    item: _Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Look:
    item: _Node
    negative: bool


@dataclass(frozen=True, slots=True)
class _Start:
    """`^`"""


@dataclass(frozen=True, slots=True)
class _End:
    """`$`"""


# A `Language` stands for a part without assertions.
_Node = Language | _Seq | _Alt | _Optional | _Guarded | _Repeated | _Look | _Start | _End


@lru_cache(maxsize=4096)
def search(pattern: str, flags: str = "") -> Language:
    """All strings in which `pattern` matches somewhere.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not supported, with
    the offset in the pattern.
    """
    node = _read(pattern, flags)
    if isinstance(node, Language):
        return concat(ALL, node, ALL)
    at_start = _build(node, ALL, True)
    later = _build(node, ALL, False)
    return union(at_start, concat(ANY_CHARACTER, ALL, later)) if later != NOTHING else at_start


@lru_cache(maxsize=256)
def full_match(pattern: str, flags: str = "") -> Language:
    """All strings that `pattern` matches as a whole."""
    node = _read(pattern, flags)
    return node if isinstance(node, Language) else _build(node, EPSILON, True)


def _build(node: _Node, after: Language, at_start: bool) -> Language:
    """`node`, and then `after`; `at_start`: nothing has been read before."""
    match node:
        case Language():
            return concat(node, after)
        case _Start():
            return after if at_start else NOTHING
        case _End():
            return intersection(after, EPSILON)
        case _Look(item, negative):
            ahead = _build(item, ALL, at_start)
            return intersection(after, complement(ahead) if negative else ahead)
        case _Optional(item):
            return union(after, _build(item, after, at_start))
        case _Guarded():
            return _build_guarded(node, after)
        case _Repeated(item, least, most):
            free, last = _split_end(item) or (NOTHING, NOTHING)
            looped = concat(loop_language(free, least, most), after)
            if not after.nullable:
                return looped
            return union(looped, concat(loop_language(free, 0, None if most is None else most - 1), last))
        case _Alt(items):
            return union(*(_build(item, after, at_start) for item in items))
        case _Seq(items):
            return _build_sequence(items, after, at_start)


def _build_guarded(node: _Guarded, after: Language) -> Language:
    """Where the string ends behind it, "at each character" means "at no place the contrary"."""
    if after == ALL and node.least == 0:
        return ALL
    if after != EPSILON:
        raise UnsupportedFeatureError("an assertion inside a repetition is only supported at the end of a pattern")
    wanted = intersection(*(_build(look, ALL, False) for look in node.looks))
    broken = concat(ALL, intersection(complement(wanted), concat(ANY_CHARACTER, ALL)))
    return intersection(loop_language(node.character, node.least, node.most), complement(broken))


def _split_end(node: _Node) -> tuple[Language, Language] | None:
    """(what it matches without `$`, what it matches with the end of the string behind it); None for other
    assertions."""
    match node:
        case Language():
            return node, NOTHING
        case _End():
            return NOTHING, EPSILON
        case _Alt(items):
            parts = [_split_end(item) for item in items]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return union(*(free for free, _ in known)), union(*(last for _, last in known))
        case _Optional(item):
            part = _split_end(item)
            return None if part is None else (union(EPSILON, part[0]), part[1])
        case _Seq(items):
            free: Language = EPSILON
            last: Language = NOTHING
            for item in items:
                part = _split_end(item)
                if part is None:
                    return None
                may_be_empty = part[0].nullable or part[1].nullable
                last = union(concat(free, part[1]), last if may_be_empty else NOTHING)
                free = concat(free, part[0])
            return free, last
        case _:
            return None


def _build_sequence(items: tuple[_Node, ...], after: Language, at_start: bool) -> Language:
    if not items:
        return after
    head, rest = items[0], items[1:]
    if at_start and any(_mentions_start(item) for item in rest):
        # Whether the rest is at the start depends on what the head reads: nothing, or something.
        if isinstance(head, Language):
            something = intersection(head, complement(EPSILON))
            later = concat(something, _build_sequence(rest, after, False))
            return union(later, _build_sequence(rest, after, True)) if head.nullable else later
        if isinstance(head, _Start | _Look):
            return _build(head, _build_sequence(rest, after, True), True)
        if isinstance(head, _Optional):
            return union(_build_sequence(rest, after, True), _build_sequence((head.item, *rest), after, True))
        if isinstance(head, _Alt):
            return union(*(_build_sequence((item, *rest), after, True) for item in head.items))
        if isinstance(head, _Seq):
            return _build_sequence((*head.items, *rest), after, True)
    still_at_start = at_start and isinstance(head, _Start | _Look | _End)
    return _build(head, _build_sequence(rest, after, still_at_start), at_start)


def _mentions_start(node: _Node) -> bool:
    match node:
        case _Start():
            return True
        case _Seq(items) | _Alt(items):
            return any(_mentions_start(item) for item in items)
        case _Optional(item) | _Look(item) | _Repeated(item):
            return _mentions_start(item)
        case _:
            return False


def _read(pattern: str, flags: str) -> _Node:
    reader = _Reader(pattern, ignore_case="i" in flags, dot_all="s" in flags)
    node = reader.alternatives(0)
    if reader.at < len(pattern):
        fail('")" without its "("', pattern, reader.at)
    return node


class _Reader:
    """Recursive descent; `at` is the offset of the next character."""

    def __init__(self, source: str, *, ignore_case: bool, dot_all: bool) -> None:
        self.source = source
        self.ignore_case = ignore_case
        self.dot_all = dot_all
        self.at = 0
        if source.startswith("(?i)"):
            self.ignore_case = True
            self.at = 4

    def alternatives(self, depth: int) -> _Node:
        options = [self.sequence(depth)]
        while self.source.startswith("|", self.at):
            self.at += 1
            options.append(self.sequence(depth))
        if len(options) == 1:
            return options[0]
        languages = [option for option in options if isinstance(option, Language)]
        if len(languages) == len(options):
            return union(*languages)
        return _Alt(tuple(options))

    def sequence(self, depth: int) -> _Node:
        items: list[_Node] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            item = self.quantified(self.atom(depth))
            if isinstance(item, Language) and items and isinstance(items[-1], Language):
                items[-1] = concat(items[-1], item)
            else:
                items.append(item)
        if len(items) == 1:
            return items[0]
        return _Seq(tuple(items)) if items else EPSILON

    def atom(self, depth: int) -> _Node:
        source, start = self.source, self.at
        letter = source[start]
        self.at += 1
        if letter == "(":
            return self.group(start, depth)
        if letter == "^":
            return _Start()
        if letter == "$":
            return _End()
        if letter == ".":
            return character(charset.ALL if self.dot_all else charset.DOT)
        if letter == "[":
            ranges, self.at = set_at(source, start, ignore_case=self.ignore_case, strict=False)
            return character(ranges)
        if letter in "*+?" or (letter == "{" and _COUNT.match(source, start)):
            fail("nothing to repeat here", source, start)
        value: int | charset.Ranges = ord(letter)
        if letter == "\\":
            value, self.at = escape(source, start, ignore_case=self.ignore_case, strict=False, in_class=False)
        if isinstance(value, int):
            if 0xD800 <= value <= 0xDFFF:
                fail(f"the surrogate U+{value:04X} is no character of its own", source, start)
            if not self.ignore_case:
                return words([chr(value)])
            value = single(value)
        return character(charset.close_case(value) if self.ignore_case else value)

    def group(self, start: int, depth: int) -> _Node:
        source = self.source
        if depth == MAX_GROUPS:
            refuse(f"groups are nested deeper than {MAX_GROUPS}", source, start)
        look: bool | None = None
        before = self.ignore_case
        if source.startswith("?", self.at):
            inside = self.at + 1
            name = _NAME.match(source, inside)
            if source.startswith(("<=", "<!"), inside):
                refuse("look-behind is not supported", source, start)
            elif source.startswith(("=", "!"), inside):
                look = source[inside] == "!"
                self.at = inside + 1
            elif source.startswith(":", inside):
                self.at = inside + 1
            elif source.startswith("i:", inside):
                self.ignore_case = True
                self.at = inside + 2
            elif name:
                self.at = name.end()
            else:
                refuse(f"this kind of group is not supported: {source[start : start + 4]}", source, start)
        node = self.alternatives(depth + 1)
        self.ignore_case = before
        if not source.startswith(")", self.at):
            fail('"(" is never closed', source, start)
        self.at += 1
        return node if look is None else _Look(node, look)

    def quantified(self, item: _Node) -> _Node:
        source, start = self.source, self.at
        letter = source[start : start + 1]
        least, most = 1, 1
        if letter and letter in "*+?":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]  # type: ignore[assignment]
            self.at += 1
        elif letter == "{" and (count := _COUNT.match(source, start)):
            least = self._bound(count, 1)
            most = least if count.group(2) is None else self._bound(count, 3) if count.group(3) else None  # type: ignore[assignment]
            if most is not None and most < least:
                fail(f"the count runs backwards: {least} is more than {most}", source, start)
            self.at = count.end()
        else:
            return item
        if source.startswith("?", self.at):
            self.at += 1  # lazy: the same strings match
        elif source.startswith("+", self.at):
            refuse("possessive quantifiers are not supported", source, self.at)
        if source[self.at : self.at + 1] in ("*", "+", "?") and self.at < len(source):
            fail("two quantifiers in a row", source, self.at)
        if isinstance(item, Language):
            return loop_language(item, least, most)
        if most == 0:
            return EPSILON
        if most == 1:
            return item if least else _Optional(item)
        if isinstance(item, _Start | _End | _Look):
            # Asked again at the same place an assertion answers the same.
            return item if least else _Optional(item)
        if isinstance(item, _Seq):
            *looks, last = item.items
            guards = tuple(look for look in looks if isinstance(look, _Look) and not _mentions_start(look))
            if len(guards) == len(looks) and isinstance(last, Chars):
                return _Guarded(guards, last, least, most)
        if least <= 1 and _split_end(item) is not None:
            return _Repeated(item, least, most)
        refuse("an assertion inside a repetition is not supported", source, start)

    def _bound(self, match: re.Match[str], group: int) -> int:
        digits = match.group(group)
        if len(digits) > 10 or int(digits) > MAX_REPEAT:
            fail(f"a count may be at most {MAX_REPEAT:,}", self.source, match.start(group))
        return int(digits)
