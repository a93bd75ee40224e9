"""What became of a text that a session was asked to read: how far it got, and why no further.

A `Reading` is plain data; its `message` is one sentence and its `str` adds the text with a caret under the byte at
which it dies.

Read on: `workbench/session/session.py`, which makes them.
"""

from __future__ import annotations

import html
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernels_core.errors import MaskscopeError
from kernels_core.grammar.charset import normalise
from visualizers.glyphs import STOP_TOKEN, byte_class, clip, columns, glyph
from workbench.json_values import BLANK_BYTES

if TYPE_CHECKING:
    from kernels_core.inspect.snapshots import EarleyItem

RANGES: Final = 6
"""A class of more ranges is told by what is missing, or by some of its characters."""
_PRINTABLE: Final = bytes(range(0x20, 0x7F))

MAX_WAITING = 4
CONTEXT_BYTES = 48
"""How much of the text before the fatal byte a picture shows."""
AFTER_BYTES = 24
"""How much of it a sentence names."""

MAX_WORD = 200
_WORD: Final = f"{string.ascii_letters}{string.digits}_-".encode() + bytes(range(0x80, 0x100))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that the mask allows: its id and its bytes (`stop` is true for a stop token, which spells none)."""

    token_id: int
    token: bytes
    stop: bool = False

    def __str__(self) -> str:
        return STOP_TOKEN if self.stop else glyph(self.token)


@dataclass(frozen=True)
class Reading:
    """The fate of `text`, read from byte offset `start` of the session's text.

    `read` bytes of it were taken; `ok` when that is all of it.  `possible` are the bytes, ascending, that could be read
    at the point reached, and `completed` says whether the text might have ended there.  For a text that died,
    `waiting` holds the items that wanted a byte, and `about` says what is wrong in the words of the schema, or which
    rule's predicate refuses a text, where that is known; `note` remarks on how the text was cut into tokens.
    """

    text: bytes
    start: int
    read: int
    possible: bytes
    completed: bool
    waiting: tuple[EarleyItem, ...] = ()
    note: str = ""
    about: str = ""

    @property
    def ok(self) -> bool:
        return self.read == len(self.text)

    @property
    def died_at(self) -> int | None:
        """Byte offset, in the session's text, of the first byte that could not be read; None when all were."""
        return None if self.ok else self.start + self.read

    @property
    def verdict(self) -> str:
        """What cannot come, and what is wrong with it: the same words in errors, in the text's status and in Why."""
        after = _tail(self.text[: self.read])
        where = f"at byte {self.start + self.read}" + (f", after {after}" if after else "")
        return f"{glyph(self.fatal)} cannot come {where}" + (f"; {self.about}" if self.about else "")

    @property
    def message(self) -> str:
        """One sentence: where the text dies (`verdict`) and what was possible there."""
        if self.ok:
            return f"{len(self.text)} bytes read; {self._what_next()}"
        return f"{self.verdict}; {self._what_next()}"

    @property
    def word(self) -> int:
        """Where in `text` the word begins in which it dies: letters, digits, `_`, `-` and what is not ASCII."""
        read = self.text[max(0, self.read - MAX_WORD) : self.read]
        return self.read - len(read) + len(read.rstrip(_WORD))

    def picture(self) -> str:
        """The text around the fatal byte with a caret under it (two lines), or "" for a text that was read."""
        if self.ok:
            return ""
        before = self.text[max(0, self.read - CONTEXT_BYTES) : self.read]
        left = ("…" if self.read > CONTEXT_BYTES else "") + glyph(before)
        fatal = self.fatal
        rest = clip(glyph(self.text[self.read + len(fatal) : self.read + 2 * CONTEXT_BYTES]), CONTEXT_BYTES)
        return f"{left}{glyph(fatal)}{rest}\n{' ' * columns(left)}^"

    def __str__(self) -> str:
        lines = [self.message]
        if not self.ok:
            lines += ["  " + line for line in self.picture().split("\n")]
            # A state may stand for several dotted rules, which the engine writes three blanks apart.
            dots = list(dict.fromkeys(dot for item in self.waiting for dot in item.dot.split("   ")))
            lines += [f"  waiting: {clip(dot, 100)}" for dot in dots[:MAX_WAITING]]
            if len(dots) > MAX_WAITING:
                lines.append(f"  and {len(dots) - MAX_WAITING} more")
        if self.note:
            lines.append(f"  ({self.note})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f'<pre style="margin:0">{html.escape(str(self))}</pre>'

    @property
    def fatal(self) -> bytes:
        """The character that the fatal byte begins, or that byte alone where it begins none; b"" where all was read."""
        for length in (1, 2, 3, 4):
            character = self.text[self.read : self.read + length]
            try:
                character.decode()
            except UnicodeDecodeError:
                continue
            return character
        return self.text[self.read : self.read + 1]

    def _what_next(self) -> str:
        choices = []
        if self.possible:
            choices.append(f"expected there: {describe_bytes(self.possible)}")
        if self.completed:
            choices.append("the text may end there")
        return " or ".join(choices) or "nothing can follow there"


class StepError(MaskscopeError, ValueError):
    """A step the grammar (or the mask) does not allow; the session stands where it stood.

    `reading` tells where the text died, or is None when the trouble was not in the text.
    """

    def __init__(self, reason: str, reading: Reading | None = None) -> None:
        self.reason = reason
        self.reading = reading
        picture = reading.picture() if reading is not None else ""
        super().__init__("\n".join([reason, *("  " + line for line in picture.split("\n") if picture)]))


def _tail(data: bytes) -> str:
    """The end of what was read, whole characters of it."""
    if len(data) <= AFTER_BYTES:
        return glyph(data)
    data = data[-AFTER_BYTES:]
    begin = next((at for at in range(3) if data[at] & 0xC0 != 0x80), 0)
    return "…" + glyph(data[begin:])


def describe_bytes(values: bytes) -> str:
    """A set of bytes in the words of `content`; `nothing` for none."""
    return content(values) or "nothing"


def content(members: bytes) -> str:
    r"""Bytes in words: `any character but " \`, `[0-9]`, `white space or " }`."""
    blanks = [value for value in members if value in BLANK_BYTES]
    if len(blanks) > 2 and len(members) <= 64:
        rest = bytes(value for value in members if value not in BLANK_BYTES)
        return "white space" + (f" or {content(rest)}" if rest else "")
    if len(members) <= 6:
        return " ".join(glyph(bytes((value,))) for value in members)
    high = any(value >= 0x80 for value in members)
    missing = [value for value in _PRINTABLE if value not in members]
    if len(missing) <= 12:
        but = " but " + " ".join(glyph(bytes((value,))) for value in missing) if missing else ""
        printable = "" if any(value < 0x20 and value not in BLANK_BYTES for value in members) else "printable "
        return f"any {printable}{'character' if high else 'ASCII character'}{but}"
    low = bytes(value for value in members if value < 0x80)
    ranges = byte_ranges(low)
    if len(ranges) > RANGES:
        others = byte_ranges(bytes(missing))
        if len(others) <= RANGES and len(missing) < len(low):
            return f"any {'character' if high else 'ASCII character'} but {byte_class(others)}"
        some = " ".join(glyph(bytes((value,))) for value in low if value in _PRINTABLE[1:])[: 2 * RANGES - 1]
        return f"one of {len(low)} characters, such as {some}" + (" or outside ASCII" if high else "")
    if not low:
        return "a character outside ASCII" if members[-1] >= 0xC2 else "the rest of a character"
    return byte_class(ranges) + (" or outside ASCII" if high else "")


def byte_ranges(values: bytes) -> tuple[tuple[int, int], ...]:
    """Bytes as inclusive ranges."""
    return normalise((value, value) for value in values)
