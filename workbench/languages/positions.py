"""Where everything stands in a JSON text: each value and key by its JSON pointer, and a syntax error with its cure.

Python's `json` forgets positions and names a malformed text in its own words ("Expecting ',' delimiter").  A person
who edits a schema needs the opposite: the location of `#/properties/city/type`, and what to write instead of `'`.

Accepted is exactly RFC 8259, so `NaN` is refused here; `without_comments` makes that of JSON with comments.  Works
without recursion, in one pass.

Read on: `workbench/languages/mistakes.py` (errors placed by pointers), `workbench/provenance/` (pointers lit).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from string import hexdigits
from typing import NoReturn

from kernels_core.errors import GrammarSyntaxError
from kernels_core.grammar.json_schema.problems import child as child
from kernels_core.grammar.json_text import exact_number
from workbench.json_values import Json

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*+')  # as far as it is right
# Of a string, as it is written; two escapes spell one character beyond U+FFFF.
_CHARACTER = re.compile(r"\\u[Dd][89ABab]..\\u[Dd][C-Fc-f]..|\\u....|\\?.", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HALF_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?[eE][+-]?)")
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*+")|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_WORD = re.compile(r"[^\s,:{}\[\]\"]+")
_CLOSING = {"{": "}", "[": "]"}
_CONSTANTS = ("true", "false", "null")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_QUOTED = 'a text is written in double quotes: "..."'
_NUMBER_CURES = (  # by how a word begins that begins as a number, and is none
    (r"-?0[0-9]", "remove the leading zero"),
    (r"-?[0-9]+\.(?![0-9])", "write a digit behind the point"),
    (r"[^_]*_", "remove the underscores"),
)
_CONTROL = {"\n": "a line break", "\t": "a tab", "\r": "a carriage return"}


class JsonSyntaxError(GrammarSyntaxError):
    """A text is no JSON.  `cure` says what to write instead; location and picture are those of `GrammarSyntaxError`.

    cut: the text ends inside a value, and more text could mend it.
    """

    def __init__(
        self, reason: str, source: str, offset: int, cure: str = "", end: int | None = None, *, cut: bool = False
    ) -> None:
        super().__init__(reason, source, offset, language="JSON")
        self.cure = cure
        self.end = end
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Entry:
    """One value: half-open character range, and that of its key (with the quotes) where it is a member."""

    start: int
    end: int
    key: tuple[int, int] | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The value with its key."""
        return (self.start if self.key is None else self.key[0], self.end)


def parts_of(pointer: str) -> tuple[str, ...]:
    """The keys and indices of a pointer, from the top; the inverse of `child`."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def around(pointer: str) -> Iterator[str]:
    """`pointer`, and those of all that holds what is there, the innermost first."""
    yield pointer
    while "/" in pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def value_at(value: Json, pointer: str) -> Json:
    """What stands at `pointer` in a JSON value; `LookupError` or `ValueError` where nothing does."""
    for part in parts_of(pointer):
        if isinstance(value, Mapping):
            value = value[part]
        elif isinstance(value, list | tuple):
            value = value[int(part)]
        else:
            raise LookupError(f"nothing stands at {pointer}")
    return value


@dataclass(frozen=True)
class JsonText:
    """A well-formed JSON text and its values by pointer (`#` is the whole); of a repeated key the last counts."""

    text: str
    entries: dict[str, Entry] = field(repr=False)

    def nearest(self, pointer: str) -> tuple[str, Entry]:
        """The entry at `pointer`, or at the closest value around it that there is."""
        found = next((at for at in around(pointer) if at in self.entries), "#")
        return found, self.entries[found]

    def pointer_at(self, offset: int) -> str:
        """The innermost value (its key included) that holds the character at `offset`."""
        spans = ((pointer, *entry.span) for pointer, entry in self.entries.items())
        return min(((end - start, at) for at, start, end in spans if start <= offset < end), default=(0, "#"))[1]

    def inside(self, pointer: str, offset: int) -> int:
        """Where character `offset` of the string at `pointer` is written, escapes taken into account."""
        entry = self.entries[pointer]
        characters = _CHARACTER.finditer(self.text, entry.start + 1, entry.end - 1)
        return next((one.start() for one in islice(characters, offset, None)), entry.end - 1)


MAX_DEPTH = 5_000  # objects and arrays, one in the other
MAX_POINTERS = 1 << 27  # bytes of all places: a million, or fewer below long names


def without_comments(text: str) -> str:
    """JSON with comments and commas behind the last member or item, as VS Code has it, with blanks in their places: all
    else stands where it stood."""
    for what in (_COMMENT, _LAST_COMMA):
        text = what.sub(lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text)
    return text


def read_json(text: str) -> JsonText:
    """Read `text`; raises `JsonSyntaxError` at the first character that is wrong, or past a limit."""
    return _Reader(text).read()


def load_json(text: str) -> Json:
    """The value of a JSON text, numbers with a point or an exponent exact; raises `JsonSyntaxError`."""
    try:
        value: Json = json.loads(text, parse_float=exact_number, parse_constant=no_number)
    except (ValueError, RecursionError):
        read_json(text)  # knows what is wrong, where, and its cure
        raise
    return value


def text_at(text: str, pointer: str) -> str:
    """The text of the value at `pointer` of a well-formed JSON text, found without noting where all else stands.

    Of a repeated key the last counts.  Raises `LookupError` where there is none.
    """
    start = behind_blanks(text, 0)
    for part in parts_of(pointer):
        start = _start_of(text, start, part)
    return text[start : _DECODER.raw_decode(text, start)[1]]


def _start_of(text: str, start: int, part: str) -> int:
    """Where the member or item called `part` begins in the object or array that begins at `start`."""
    found, index, at = -1, 0, behind_blanks(text, start + 1)
    while text[start] in "{[" and text[at] not in "}]":
        name = str(index)
        if text[start] == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = behind_blanks(text, behind_blanks(text, at) + 1)
        if name == part:
            found = at
        _, at = _DECODER.raw_decode(text, at)
        at = behind_blanks(text, at)
        if text[at] == ",":
            index, at = index + 1, behind_blanks(text, at + 1)
    if found < 0:
        raise LookupError(part)
    return found


def behind_blanks(text: str, at: int) -> int:
    """The first place from `at` on that is no white space of JSON."""
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


def no_number(constant: str) -> NoReturn:
    """For `json.loads`, whose `NaN` and `Infinity` are no JSON: `ValueError`."""
    raise ValueError(f"{constant} is no JSON number")


def read_value(text: str, start: int) -> tuple[dict[str, Entry], int, JsonSyntaxError | None]:
    """The value at `start` as far as it can be read: those inside that have ended, where it ends, and what is wrong."""
    reader = _Reader(text, start)
    try:
        reader.value()
    except JsonSyntaxError as error:
        return reader.entries, reader.at, error
    return reader.entries, reader.at, None


@dataclass(slots=True)
class _Open:
    """An object or array that is not closed yet; the member or item that is read is number `count`."""

    pointer: str
    start: int
    key: tuple[int, int] | None
    count: int = 0


class _Reader:
    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.at = start
        self.entries: dict[str, Entry] = {}
        self.stack: list[_Open] = []
        self.left = MAX_POINTERS

    def read(self) -> JsonText:
        """One value and nothing else."""
        self.value()
        self._blanks()
        if self.at < len(self.text):
            self._comment()
            self._fail("something follows the end of the JSON value", "one text holds one value: remove what follows")
        return JsonText(self.text, self.entries)

    def value(self) -> None:
        """The loop: one value, then what may follow it, until the outermost one has ended."""
        pointer: str = "#"
        key: tuple[int, int] | None = None
        while True:
            self._blanks()
            start, first = self.at, self._peek()
            if first in _CLOSING:
                self.at += 1
                if len(self.stack) >= MAX_DEPTH:
                    self._fail(
                        "nested too deeply", f"at most {MAX_DEPTH:,} objects and arrays stand in each other", at=start
                    )
                self.stack.append(_Open(pointer, start, key))
                self._blanks()
                if self._peek() != _CLOSING[first]:
                    pointer, key = self._member()
                    continue
                self._close()
            else:
                self._scalar(first)
                self.entries[pointer] = Entry(start, self.at, key)
            while self.stack:
                self._blanks()
                top, found, at = self.stack[-1], self._peek(), self.at
                if found == _CLOSING[self.text[top.start]]:
                    self._close()
                    continue
                if found != ",":
                    self._unclosed(top, found)
                self.at += 1
                self._blanks()
                if self._peek() in ("}", "]"):
                    self._fail(f'a comma before the closing "{self._peek()}"', "remove the comma", at=at)
                top.count += 1
                pointer, key = self._member()
                break
            else:
                return

    def _unclosed(self, top: _Open, found: str) -> NoReturn:
        opening = self.text[top.start]
        closing = _CLOSING[opening]
        if not found:
            self._fail(
                f'"{opening}" is never closed', f'write the missing "{closing}" at the end', at=top.start, cut=True
            )
        self._comment()
        if found in "}]":
            self._fail(
                f'"{found}" closes nothing: "{closing}" is expected here', f'write "{closing}" instead of "{found}"'
            )
        if found == ":" and opening == "[":
            self._fail('a ":" in an array', "names belong into an object: { } instead of [ ]")
        what = "member" if opening == "{" else "item"
        self._fail(f"a comma is missing in front of this {what}", 'write "," behind the value before')

    def _member(self) -> tuple[str, tuple[int, int] | None]:
        """The pointer and key of the member or item that begins here; stands at its value afterwards."""
        top = self.stack[-1]
        self.left -= len(top.pointer) + 128
        if self.left < 0:
            self._fail("too many values, or names too long for those below them", "use shorter names, or fewer values")
        if self.text[top.start] == "[":
            return child(top.pointer, top.count), None
        self._blanks()
        start = self.at
        if self._peek() != '"':
            self._no_key()
        self._string()
        end = self.at
        name = json.loads(self.text[start:end])
        self._blanks()
        if self._peek() != ":":
            self._comment()
            cut = self.at == len(self.text)
            self._fail(f'":" is missing behind the name "{name}"', 'a member is "name": value', cut=cut)
        self.at += 1
        return child(top.pointer, name), (start, end)

    def _close(self) -> None:
        self.at += 1
        top = self.stack.pop()
        self.entries[top.pointer] = Entry(top.start, self.at, top.key)

    def _blanks(self) -> None:
        self.at = behind_blanks(self.text, self.at)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    # -- strings, numbers, words ----------------------------------------------------------------------------------

    def _scalar(self, first: str) -> None:
        if first == '"':
            self._string()
            return
        found = _WORD.match(self.text, self.at)
        word = found.group() if found else ""
        if word not in _CONSTANTS and not _NUMBER.fullmatch(word):
            self._no_value(first, word)
        self.at += len(word)

    def _string(self) -> None:
        """Go behind the string that begins here."""
        text, begun = self.text, _STRING.match(self.text, self.at)
        assert begun is not None
        at = begun.end()
        found, escape = text[at : at + 1], text[at + 1 : at + 2]
        if found == '"':
            self.at = at + 1
        elif found == "" or found == "\n":
            self._fail("the string is never closed", "write the missing \" at the string's end", cut=not found)
        elif found != "\\":
            what = _CONTROL.get(found, "a control character")
            self._fail(f"{what} inside a string", f"write it as the escape {json.dumps(found)[1:-1]}", at=at)
        elif escape == "u":
            cut = at + 6 > len(text) and not text[at + 2 :].strip(hexdigits)
            self._fail("\\u takes four hex digits", "as in \\u00e9", at=at, cut=cut)
        else:
            cure = f"for a backslash write \\\\, as in \\\\{escape}"
            self._fail(f"\\{escape} is no escape of JSON", cure, at=at, cut=not escape)

    # -- what is wrong --------------------------------------------------------------------------------------------

    def _fail(
        self, reason: str, cure: str = "", *, at: int | None = None, end: int | None = None, cut: bool = False
    ) -> NoReturn:
        raise JsonSyntaxError(reason, self.text, self.at if at is None else at, cure, end, cut=cut)

    def _comment(self) -> None:
        if self.text.startswith(("//", "/*", "#"), self.at):
            cure = (
                'remove it, or say it in a "description" or "$comment"; a file whose name ends in .jsonc may have them'
            )
            self._fail("JSON has no comments", cure)

    def _no_key(self) -> NoReturn:
        found = self._peek()
        self._comment()
        word = _WORD.match(self.text, self.at)
        if not found:
            self._unclosed(self.stack[-1], "")
        if found == "'":
            self._fail("names are written with double quotes", "write \" instead of '")
        if found == ",":
            self._fail("a comma with nothing before it", "remove it")
        if word is not None:
            self._fail(f"a name in double quotes is expected, not {word.group()[:40]}", 'a member is "name": value')
        self._fail(f'a name in double quotes is expected, not "{found}"', 'a member is "name": value')

    def _no_value(self, found: str, word: str) -> NoReturn:
        """What is wrong with a `word` that is no value; with the sign `found`, where that begins no word."""
        if not found:
            if self.stack:
                self._unclosed(self.stack[-1], "")
            self._fail("there is nothing here", "write a JSON value, such as {}", cut=True)
        end = self.at + len(word) if word else None
        shown, is_last = word[:40] or found, end == len(self.text)
        if _NUMBER.match(word):
            cure = next((cure for sign, cure in _NUMBER_CURES if re.match(sign, word)), _QUOTED)
            cut = is_last and _HALF_NUMBER.fullmatch(word) is not None
            self._fail(f"{shown} is no JSON number", cure, end=end, cut=cut)
        self._comment()
        if found == "'":
            self._fail("strings are written with double quotes", "write \" instead of '")
        if word in _PYTHON:
            self._fail(f"{word} is Python", f"in JSON it is {_PYTHON[word]}", end=end)
        if word in ("NaN", "Infinity", "-Infinity"):
            self._fail(f"{word} is no JSON number", "leave the limit out", end=end)
        if found in "+." or word.startswith("-."):
            self._fail(f"{shown} is no JSON number", "a number begins with a digit or a minus: 0.5", end=end)
        if found in ",}]":
            self._fail(f'a value is missing in front of "{found}"', "write the value, or remove the comma")
        if found == ":":
            self._fail('a value is missing in front of ":"', "")
        if (lower := word.lower()) in _CONSTANTS:
            self._fail(f"{word} is written {lower} in JSON", f"write {lower}", end=end)
        if found == "\ufeff":
            self._fail("a byte order mark", "save the file as UTF-8 without a mark")
        cut = is_last and any(whole.startswith(word) for whole in (*_CONSTANTS, "-"))
        self._fail(f"{shown} is no JSON value", _QUOTED, end=end, cut=cut)
