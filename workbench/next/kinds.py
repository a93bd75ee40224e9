"""What a person calls a continuation: key, value, word, tag, number, opening, closing, and so on.

Names of things are read off their spelling and off what may follow them; no grammar is looked at.

Read on: `workbench/next/continuations.py`.
"""

from __future__ import annotations

from typing import Final, Literal

from kernels_core import GrammarMatcher
from workbench.json_values import BLANK_BYTES
from workbench.session.matching import possible_bytes

Kind = Literal[
    "key",
    "value",
    "string",
    "number",
    "word",
    "tag",
    "open",
    "close",
    "separator",
    "sign",
    "character",
    "escape",
    "space",
    "token",
    "end",
]
GROUPS: Final[dict[str, tuple[Kind, ...]]] = {
    "keys": ("key",),
    "values": ("value", "string", "number", "open"),
    "tags": ("tag",),
    "words": ("word",),
    "text": ("character", "escape"),
    "closings": ("close",),
    "signs": ("separator", "sign"),
    "whole tokens": ("token",),
    "white space": ("space",),
    "end": ("end",),
}
"""What a person reads first comes first."""
_TO_CLOSE: Final = 40


def kind_of(unit: bytes, members: bytes, before: bytes, quote: bytes) -> Kind:
    """The kind of a thing that is `unit`, or begins with it and goes on with one of `members`.

    `before` is the byte in front of it, `quote` what closes the quoted text or tag that is open there, or b"".
    """
    first = unit[:1]
    if quote:
        if unit == quote:
            return "close"
        if quote == b">":
            return "tag" if unit else "character"
        if first == b"\\":
            return "escape"
        return "value" if unit and not members else "character"
    if not unit:
        return _content(members, before)
    if first == b'"':
        return "string" if members or unit == b'"' else "value"
    if first == b"<" and len(unit) > 1:
        return "tag"
    if first.isdigit() or (first == b"-" and (len(unit) > 1 or members)):
        return "number"
    if unit in (b"true", b"false", b"null"):
        return "value"
    if first in (b"{", b"[", b"("):
        return "open"
    if first in (b"}", b"]", b")"):
        return "close"
    if first in (b",", b":", b";"):
        return "separator"
    if unit.lower() in (b".", b"e") and before.isdigit():
        return "number"
    if first.isalnum() or first == b"_" or first >= b"\x80":
        return "word"
    return "sign"


def _content(members: bytes, before: bytes) -> Kind:
    if not members.strip(BLANK_BYTES):
        return "space"
    if members.isdigit() or (not members.lower().strip(b"0123456789e.+-") and (before.isdigit() or before in b"+-.eE")):
        return "number"
    return "character"


def names_a_key(matcher: GrammarMatcher, quote: bytes) -> bool:
    """Whether the quoted text that `matcher` has read is followed by a colon, and by nothing that ends a value.

    Without `quote` the text is still open: some way to its end is tried first.
    """
    at = matcher.fork()
    if not quote:
        for _ in range(_TO_CLOSE):
            if at.accept_string(b'"'):
                break
            live = possible_bytes(at)
            letter = next((value for value in live if bytes((value,)).isalnum()), live[0] if live else None)
            if letter is None or not at.accept_string(bytes((letter,))):
                return False
        else:
            return False
    for _ in range(4):
        live = possible_bytes(at)
        if b":" in live:
            return not any(value in live for value in b",}]")
        blank = next((value for value in live if value in BLANK_BYTES), None)
        if blank is None:
            return False
        at.accept_string(bytes((blank,)))
    return False
