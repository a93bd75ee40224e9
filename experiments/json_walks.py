"""Texts that are written by following the masks at random: what a model without any taste could say.

Every text that comes to an end must be valid, whatever way it went.  A walk draws tokens at random, with a liking for
those that get somewhere; after a while it prefers tokens that close what is open.  Tokens are single bytes and common
pieces of JSON, so that masks of longer tokens are put to the test as well.

Read on: `json_referee.py` (who judges the texts), `judge_schemas.py` (the command).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from string import ascii_lowercase

from kernels_core import CompiledGrammar, GrammarMatcher, TokenizerInfo

__all__ = ["piece_vocabulary", "write_text"]

_PIECES = (
    *('{"', '"}', '":', '": ', '": "', '",', '", "', '"},', "{}", "[]", '["', '"]', "},", "}}", "]}", "}]", ', "'),
    *("true", "false", "null", ": true", ": null", " 1", "10", "100", "-1", "0.5", ".0", "e1", "E+", "12", "2024-"),
    *("01", "-01", "T0", "00:", "Z", "http", "://", "www.", ".com", "@", "name", "type", "id", "value", "the ", " a"),
    *("\\u00", "\\n", '\\"', "\\\\", "é", "日", "😀", "\n  ", "  "),
)
# Where a walk is to end: the first of these that the mask allows; within a string only the quote.
_CLOSING = (b"}", b"]", b",", b":", b'"')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


@cache
def piece_vocabulary() -> TokenizerInfo:
    """256 tokens of one byte, common pieces of JSON, pairs of letters, and a stop token, which is the last one."""
    pairs = [first + second for first in "aeinorst" for second in ascii_lowercase]
    spelt = [bytes([value]) for value in range(256)] + [piece.encode() for piece in (*_PIECES, *pairs)]
    return TokenizerInfo([*dict.fromkeys(spelt), b"<stop>"], stop_token_ids=[len(set(spelt))])


def write_text(compiled: CompiledGrammar, random: Random, *, tokens: int = 60) -> str | None:
    """A text of the grammar, which must be compiled for `piece_vocabulary`.

    tokens: after so many it looks for an end.  None if there is none within ten times as many.
    """
    matcher = GrammarMatcher(compiled)
    spelt = compiled.tokenizer_info.decoded_vocab
    (stop,) = matcher.stop_token_ids
    for count in range(10 * tokens):
        allowed = matcher.allowed_token_ids()
        if stop in allowed and (len(allowed) == 1 or count > tokens or random.random() < 0.2):
            return bytes(matcher.text).decode()
        if count > tokens and matcher.find_jump_forward_string():
            matcher.accept_string(matcher.find_jump_forward_string())
            continue
        allowed = [token for token in allowed if token != stop]
        inside = b'"' in _STRING.sub(b"", matcher.text)
        chosen = (_closing if count > tokens else _likely)(allowed, spelt, random, inside)
        if not matcher.accept_token(chosen):
            raise AssertionError(f"the mask allows {spelt[chosen]!r} after {matcher.text!r}, the matcher does not")
    return None


def _closing(allowed: list[int], spelt: Sequence[bytes], random: Random, inside: bool) -> int:
    for kind in _CLOSING[-1:] if inside else _CLOSING:
        found = [token for token in allowed if spelt[token] == kind]
        if found and random.random() < 0.95:
            return found[0]
    found = [token for token in allowed if spelt[token] in (b"@", b".", b"-", b":", b"/")]
    if inside and found and random.random() < 0.3:
        return random.choice(found)  # a format may wait for one of these
    return random.choice([token for token in allowed if spelt[token].strip()] or allowed)


def _likely(allowed: list[int], spelt: Sequence[bytes], random: Random, inside: bool) -> int:
    """Mostly without runs of white space and without bytes beyond ASCII; members rather than the end of an object."""
    if random.random() < 0.9:
        allowed = [token for token in allowed if spelt[token].strip() and spelt[token].isascii()] or allowed
    if random.random() < (0.2 if inside else 0.5):
        allowed = [token for token in allowed if spelt[token][:1] in b'"{[,}]:'] or allowed
    return random.choice(allowed)
