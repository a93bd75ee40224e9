"""Makes a text on which engines disagree as short and plain as it can be while they still do (delta debugging).

`shrink` knows nothing of engines: `holds(text, token)` says whether a disagreement is still there.  It takes runs of
lexemes away, then runs of characters, makes what is left plain (`a`, `0`), and shortens the token.  The order is
fixed and the number of questions bounded, so a seed leads to the same text again.

Read on: `workbench/comparing/hunting.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

QUESTIONS: Final = 3000
_LEXEME: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|-?[0-9][0-9.eE+-]*|\w+|\s+|.', re.DOTALL)
_CHARACTER: Final = re.compile(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)

Holds = Callable[[bytes, bytes], bool]


def shrink(text: bytes, token: bytes, holds: Holds, questions: int = QUESTIONS) -> tuple[bytes, bytes]:
    """The smallest text and token found for which `holds`, which must hold for those given.

    At most so many `questions` are asked, each once.
    """
    known: dict[tuple[bytes, bytes], bool] = {}

    def ask(text: bytes, token: bytes) -> bool:
        if (text, token) not in known and len(known) < questions:
            known[text, token] = holds(text, token)
        return known.get((text, token), False)

    before = None
    while before != (text, token):
        before = (text, token)
        text, token = _shorter_token(text, token, ask)
        for pattern in (_LEXEME, _CHARACTER):
            text = _without_runs(pattern.findall(text), token, ask)
        text = _plainer(_CHARACTER.findall(text), token, ask)
    return text, token


def _shorter_token(text: bytes, token: bytes, ask: Holds) -> tuple[bytes, bytes]:
    """The beginning of the token, or the part behind a beginning that is read as text."""
    tries = [(text, token[:end]) for end in range(1, len(token))]
    for start in range(len(token) - 1, 0, -1):
        tries += [(text + token[:start], token[start:end]) for end in range(start + 1, len(token) + 1)]
    return next((tried for tried in tries if ask(*tried)), (text, token))


def _without_runs(parts: list[bytes], token: bytes, ask: Holds) -> bytes:
    """Take away runs of parts, long ones first, from the end to the beginning; of many parts by halves first."""
    size = len(parts)
    while size > 0:
        for start in range(len(parts) - size, -1, -size if size > 64 else -1):
            rest = parts[:start] + parts[start + size :]
            if ask(b"".join(rest), token):
                parts = rest
        size = min(size // 2 if size > 64 else size - 1, len(parts))
    return b"".join(parts)


def _plainer(parts: list[bytes], token: bytes, ask: Holds) -> bytes:
    """Characters one by one as `a` or `0` where that makes no difference."""
    for number, part in enumerate(parts):
        plain: tuple[bytes, ...] = ()
        if part.isalpha() and part != b"a":
            plain = (b"a",)
        elif part.isdigit() and part not in (b"0", b"1"):
            plain = (b"0", b"1")
        elif len(part) > 1 or part < b" ":
            plain = (b"a", b" ")
        tries = ([*parts[:number], one, *parts[number + 1 :]] for one in plain)
        parts = next((tried for tried in tries if ask(b"".join(tried), token)), parts)
    return b"".join(parts)
