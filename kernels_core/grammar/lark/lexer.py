"""Lark text cut into tokens; line ends that cannot end a statement are left out.

Read on: `parser.py` (what tokens mean).
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from ...clock import look
from ...errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from ..ir import Span
from ..json_text import exact_number

LANGUAGE = "Lark"

_TOKEN = re.compile(
    r"""
      (?P<blank>   (?: [ \t\r\f\ufeff]++ | //[^\n]*+ | \#[^\n]*+ )++ )
    | (?P<nl>      \n )
    | (?P<name>    [A-Za-z_](?: [A-Za-z0-9_] | -(?![>]) )*+ )
    | (?P<string>  "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"i? )
    | (?P<regex>   /[^/\\\n]++(?:\\.[^/\\\n]*+)*+/[a-z]*+ | /(?:\\.[^/\\\n]*+)++/[a-z]*+ )
    | (?P<special> <[^<>\s]++> )
    | (?P<statement> %[a-z_]++ )
    | (?P<at>      @[A-Za-z0-9_\-]++ )
    | (?P<hex>     0x[0-9A-Fa-f]++ )
    | (?P<number>  [0-9]++ )
    | (?P<op>      -> | \.\. | :: | [|()\[\]{}*+?!~&,.:=\-] )
    | (?P<bad>     . )
    """,
    re.VERBOSE | re.DOTALL,
)
_JSON = json.JSONDecoder(parse_float=exact_number)
# These are followed by a JSON object, which is one token with its value.
_WITH_JSON = ("%json", "%regex", "%llguidance", "%grammar_options")
_UNCLOSED = {
    '"': 'unterminated string literal: it is never closed, no " before the end of the line',
    "/": "unterminated regular expression: it is never closed, no / before the end of the line",
    "@": "empty grammar reference: unexpected character '@' without a name",
}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u[0-9A-Fa-f]{4}|[\"\\/bfnrt]|(.?))", re.DOTALL)


def fail(reason: str, source: str, at: Span | int) -> NoReturn:
    """Raise `GrammarSyntaxError`, for what is not written as Lark is."""
    raise GrammarSyntaxError(reason, source, at if isinstance(at, int) else at.start, language=LANGUAGE)


def reject(reason: str, source: str, at: Span | int) -> NoReturn:
    """Raise `GrammarError`, for what is written well and cannot be meant: a name that nothing has, say."""
    raise GrammarError(reason, source, at if isinstance(at, int) else at.start, language=LANGUAGE)


def refuse(reason: str, source: str, at: Span | int) -> NoReturn:
    """Raise `UnsupportedFeatureError`, for what is known and not built."""
    raise UnsupportedFeatureError(reason, source, at if isinstance(at, int) else at.start, language=LANGUAGE)


class Tokens:
    """Token `i` is `source[starts[i]:ends[i]]` and of `kinds[i]`; three "end" tokens follow the last.

    The text begins at `begin`: what stands in front of it are other texts.  A name's kind is "name", an operator's or
    statement's its own text; `values` has the JSON behind a statement.
    """

    def __init__(self, source: str, begin: int = 0) -> None:
        self.source = source
        self.begin = begin
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.values: dict[int, Any] = {}
        depth, at = 0, begin
        while at < len(source):
            look(10)
            match = _TOKEN.match(source, at)
            assert match is not None
            kind, start, at = match.lastgroup or "bad", at, match.end()
            if kind == "blank" or (kind == "nl" and depth > 0):
                continue
            if kind in ("op", "statement"):
                kind = match.group()
                depth = max(0, depth + (kind in "([") - (kind in ")]"))
                if kind in ("|", "->", "&"):
                    self._join()
            self.kinds.append(kind)
            self.starts.append(start)
            if kind in _WITH_JSON:
                at = self._object(at)
            self.ends.append(at)
            if kind == "bad":
                break
        self.kinds += ["end"] * 3
        self.starts += [len(source)] * 3
        self.ends += [len(source)] * 3

    def _join(self) -> None:
        """A line that begins with an operator goes on with the statement before."""
        while self.kinds and self.kinds[-1] == "nl":
            self.kinds.pop()
            self.starts.pop()
            self.ends.pop()

    def _object(self, at: int) -> int:
        """The JSON object behind a statement, whose tokens are never looked at; the offset after it."""
        source = self.source
        while at < len(source) and source[at].isspace():
            at += 1
        if not source.startswith("{", at):
            kind = self.kinds[-1]
            what = "failed to compile inline JSON schema" if kind == "%json" else f"{kind} value must be an object"
            self.fail(f"{what}: a JSON object is expected behind {kind}", at)
        try:
            value, end = _JSON.raw_decode(source, at)
        except json.JSONDecodeError as error:
            self.fail(f"failed to parse JSON value after {self.kinds[-1]}: this is not JSON: {error.msg}", error.pos)
        except RecursionError:
            self.fail("this JSON is nested too deeply", at)
        except ValueError as error:  # of a number that is too long
            self.fail(str(error), at)
        self.values[len(self.kinds) - 1] = value
        return int(end)

    def text(self, i: int) -> str:
        """The token as it is written."""
        return self.source[self.starts[i] : self.ends[i]]

    def check(self, value: str, offset: int) -> None:
        """Refuse a text that UTF-8 cannot write, which stands at `offset`."""
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            self.fail("a lone surrogate cannot be written in UTF-8", offset)

    def fail(self, reason: str, offset: int) -> NoReturn:
        """Raise `GrammarSyntaxError` at `offset`."""
        fail(reason, self.source, offset)

    def refuse(self, reason: str, offset: int) -> NoReturn:
        """Raise `UnsupportedFeatureError` at `offset`."""
        refuse(reason, self.source, offset)


class Cursor:
    """A place in tokens: the number `i` of the one that comes next, its `kind`, and where it `start`s."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.i = -1
        self.step()

    def step(self, count: int = 1) -> None:
        """Go on by so many tokens."""
        self.i += count
        self.kind, self.start = self.tokens.kinds[self.i], self.tokens.starts[self.i]

    def next_kind(self) -> str:
        """The kind of the token behind this one."""
        return self.tokens.kinds[min(self.i + 1, len(self.tokens.kinds) - 1)]

    def take(self) -> str:
        """The token as it is written; go on behind it."""
        self.step()
        return self.tokens.text(self.i - 1)

    def span(self, start: int) -> Span:
        """From the offset `start` to the end of the token that was taken last."""
        return Span(start, self.tokens.ends[self.i - 1])

    def expect(self, kind: str, what: str) -> str:
        """Take a token of this kind, which messages call `what`."""
        if self.kind != kind:
            self.unexpected(f"expected {what}")
        return self.take()

    def unexpected(self, reason: str) -> NoReturn:
        """Raise `GrammarSyntaxError` for the token that comes next."""
        found = self.tokens.text(self.i)
        if self.kind == "bad":
            if found in _UNCLOSED:
                self.tokens.fail(_UNCLOSED[found], self.start)
            if found == "<":
                self._bad_special()
            if found == "'":
                self.tokens.fail('strings are written with "', self.start)
            self.tokens.fail(f"unexpected character {found!r}", self.start)
        seen = {"nl": "the end of the line", "end": "the end"}.get(self.kind, found)
        self.tokens.fail(f"{reason}; found {seen}", self.start)

    def _bad_special(self) -> NoReturn:
        line = self.tokens.source[self.start :].partition("\n")[0]
        if ">" in line:
            self.tokens.fail("invalid special token: neither blanks nor < stand between < and >", self.start)
        self.tokens.fail("unterminated special token: no > before the end of the line", self.start)


def text_value(tokens: Tokens, i: int) -> tuple[str, bool]:
    """The value of the string at token `i`, and whether it ignores case.

    Escapes are those of JSON, and `\\xHH` for the code point U+00HH.
    """
    start, written = tokens.starts[i], tokens.text(i)
    ignore_case = written.endswith("i")
    inside = written[1 : -2 if ignore_case else -1]

    def replaced(match: re.Match[str]) -> str:
        if match.group(2) is not None:
            tokens.fail(f"invalid string literal: unknown escape \\{match.group(2)}", start + 1 + match.start())
        return f"\\u00{match.group(1)}" if match.group(1) else match.group()

    value = json.loads(f'"{_ESCAPE.sub(replaced, inside)}"', strict=False)
    tokens.check(value, start)
    return value, ignore_case
