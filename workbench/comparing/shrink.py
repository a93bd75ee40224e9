"""Makes a text on which engines disagree as short and plain as it can be while they still do (delta debugging).

`shrink` knows nothing of engines: `holds(text, token)` says whether a disagreement is still there.  It takes runs of
lexemes away, then runs of characters, makes what is left plain (`a`, `0`), and shortens the token.  The order is
fixed and the number of questions bounded, so a seed leads to the same text again.

Read on: `workbench/comparing/hunting.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

__all__ = ["Budget", "shrink"]

QUESTIONS: Final = 3000
_LEXEME: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|-?[0-9][0-9.eE+-]*|\w+|\s+|.', re.DOTALL)
_CHARACTER: Final = re.compile(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)

Holds = Callable[[bytes, bytes], bool]


class Budget:
    """Asks `holds` at most `questions` times, each question once; afterwards nothing holds any more."""

    def __init__(self, holds: Holds, questions: int = QUESTIONS) -> None:
        self._holds = holds
        self._known: dict[tuple[bytes, bytes], bool] = {}
        self.left = questions

    def __call__(self, text: bytes, token: bytes) -> bool:
        key = (text, token)
        if key not in self._known:
            if self.left <= 0:
                return False
            self.left -= 1
            self._known[key] = self._holds(text, token)
        return self._known[key]


def shrink(text: bytes, token: bytes, holds: Holds, questions: int = QUESTIONS) -> tuple[bytes, bytes]:
    """The smallest text and token found for which `holds`, which must hold for those given."""
    ask = Budget(holds, questions)
    before = None
    while before != (text, token) and ask.left > 0:
        before = (text, token)
        text, token = _shorter_token(text, token, ask)
        for pattern in (_LEXEME, _CHARACTER):
            text = _without_runs(pattern.findall(text), token, ask)
        text = _plainer(text, token, ask)
    return text, token


def _shorter_token(text: bytes, token: bytes, ask: Budget) -> tuple[bytes, bytes]:
    """The beginning of the token, or the part behind a beginning that is read as text."""
    for end in range(1, len(token)):
        if ask(text, token[:end]):
            return text, token[:end]
    for start in range(len(token) - 1, 0, -1):
        for end in range(start + 1, len(token) + 1):
            if ask(text + token[:start], token[start:end]):
                return text + token[:start], token[start:end]
    return text, token


def _without_runs(parts: Sequence[bytes], token: bytes, ask: Budget) -> bytes:
    """Take away runs of parts, long ones first, as long as that helps; many parts by halves first, then every run."""
    parts = list(parts)
    size = len(parts)
    while size > 64:
        parts = _sweep(parts, token, ask, size, step=size)
        size //= 2
    size = min(size, len(parts))
    while size > 0:
        shorter = _sweep(parts, token, ask, size, step=1)
        size = min(size - 1, len(shorter)) if shorter == parts else min(size, len(shorter))
        parts = shorter
    return b"".join(parts)


def _sweep(parts: list[bytes], token: bytes, ask: Budget, size: int, step: int) -> list[bytes]:
    """`parts` without those runs of `size` that can go, each tried once, from the end to the beginning."""
    start = len(parts) - size
    while start >= 0:
        rest = parts[:start] + parts[start + size :]
        if ask(b"".join(rest), token):
            parts = rest
        start -= step
    return parts


def _plainer(text: bytes, token: bytes, ask: Budget) -> bytes:
    """Characters one by one as `a` or `0` where that makes no difference."""
    parts = _CHARACTER.findall(text)
    for number, part in enumerate(parts):
        for plain in _plain_forms(part):
            tried = [*parts[:number], plain, *parts[number + 1 :]]
            if ask(b"".join(tried), token):
                parts = tried
                break
    return b"".join(parts)


def _plain_forms(part: bytes) -> Iterator[bytes]:
    if part.isalpha() and part != b"a":
        yield b"a"
    elif part.isdigit() and part not in (b"0", b"1"):
        yield b"0"
        yield b"1"
    elif len(part) > 1 or part < b" ":
        yield b"a"
        yield b" "
