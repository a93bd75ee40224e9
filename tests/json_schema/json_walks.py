"""Texts that are written by following the masks at random: what a model without any taste could say.

Every text that comes to an end must be valid, whatever way it went.  A walk draws tokens at random, with a liking for
those that get somewhere; after a while it prefers tokens that close what is open.  Tokens are single bytes and common
pieces of JSON, so that masks of longer tokens are put to the test as well.

Read on: `workbench/comparing/referee.py` (who judges the texts), `judge_schemas.py` (the command).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from random import Random
from string import ascii_lowercase

from kernels_core import CompiledGrammar, GrammarMatcher, TokenizerInfo

__all__ = ["mentioned", "piece_vocabulary", "write_text"]

_PIECES = (
    *('{"', '"}', '":', '": ', '": "', '",', '", "', '"},', "{}", "[]", '["', '"]', "},", "}}", "]}", "}]", ', "'),
    *("true", "false", "null", ": true", ": null", " 1", "10", "100", "-1", "0.5", ".0", "e1", "E+", "12", "2024-"),
    *("01", "-01", "T0", "00:", "Z", "http", "://", "www.", ".com", "@", "name", "type", "id", "value", "the ", " a"),
    *("\\u00", "\\n", '\\"', "\\\\", "é", "日", "😀", "\n  ", "  "),
)
# Where a walk is to end: the first of these that the mask allows; within a string only the quote.
_CLOSING = (b"}", b"]", b",", b":", b'"')
# Words that are tried where a string may begin.
_TRIED = 8
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


@cache
def piece_vocabulary() -> TokenizerInfo:
    """256 tokens of one byte, common pieces of JSON, pairs of letters, and a stop token, which is the last one."""
    pairs = [first + second for first in "aeinorst" for second in ascii_lowercase]
    spelt = [bytes([value]) for value in range(256)] + [piece.encode() for piece in (*_PIECES, *pairs)]
    return TokenizerInfo([*dict.fromkeys(spelt), b"<stop>"], stop_token_ids=[len(set(spelt))])


def mentioned(schema: object) -> list[str]:
    """Strings that a schema names: properties, and constants.  At random they would hardly ever be met."""
    found: dict[str, None] = {}
    stack = [schema]
    while stack:
        top = stack.pop()
        if isinstance(top, list):
            stack.extend(top)
        elif isinstance(top, dict):
            for word, value in top.items():
                if word in ("properties", "dependentSchemas", "dependencies") and isinstance(value, dict):
                    found.update(dict.fromkeys(value))
                constants = [value] if word == "const" else value if word in ("enum", "required") else ()
                if isinstance(constants, list):
                    found.update(dict.fromkeys(one for one in constants if isinstance(one, str)))
                stack.append(value)
    return list(found)


def write_text(compiled: CompiledGrammar, random: Random, *, words: Sequence[str] = (), tokens: int = 60) -> str | None:
    """A text of the grammar, which must be compiled for `piece_vocabulary`.

    words: strings to try where a string may begin.  tokens: after so many the walk looks for an end.  None if there is
    none within ten times as many.
    """
    matcher = GrammarMatcher(compiled)
    spelt = compiled.tokenizer_info.decoded_vocab
    (stop,) = matcher.stop_token_ids
    for count in range(10 * tokens):
        closing = count > tokens
        allowed = matcher.allowed_token_ids()
        if stop in allowed and (len(allowed) == 1 or closing or random.random() < 0.2):
            return bytes(matcher.text).decode()
        forced = matcher.find_jump_forward_string() if closing else ""
        if forced:
            matcher.accept_string(forced)
            continue
        inside = b'"' in _STRING.sub(b"", matcher.text)
        if not inside and words and (closing or random.random() < 0.5):
            end = not {b"}", b"]"}.isdisjoint(spelt[token] for token in allowed)
            tried = random.sample(words, min(len(words), _TRIED))
            fresh = [word for word in map(json.dumps, tried) if word.encode() not in matcher.text]
            if not (closing and end) and any(matcher.accept_string(word) for word in fresh or map(json.dumps, tried)):
                continue
        allowed = [token for token in allowed if token != stop]
        if not allowed:
            return None  # where items are to differ, and there is no other
        chosen = (_closing if closing else _likely)(allowed, spelt, random, inside)
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
