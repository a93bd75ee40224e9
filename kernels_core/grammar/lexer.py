"""EBNF text cut into tokens by one compiled regular expression.

The lexer never fails: what fits nothing is a one-character "bad" token, which ends the cutting (so that a long run of
unclosed brackets costs linear time) and is reported if the parser gets that far.

Read on: `ebnf.py` (what tokens mean), `escapes.py` (what stands between quotes and brackets).
"""

from __future__ import annotations

import re
from typing import NoReturn

from ..clock import look
from ..errors import GrammarSyntaxError
from . import escapes

_TOKEN = re.compile(
    r"""
      (?P<blank>  (?: [ \t\r\n\ufeff]++ | \#[^\n]*+ )++ )
    | (?P<bytes>  b(?: "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+" | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+' ) )
    | (?P<byteset> b\[[^\]\\\n]*+(?:\\.[^\]\\\n]*+)*+\] )
    | (?P<number> [0-9]++(?![A-Za-z_.\-]) )
    | (?P<name>   [A-Za-z0-9_.\-]++ )
    | (?P<string> "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+" | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+' )
    | (?P<set>    \[[^\]\\\n]*+(?:\\.[^\]\\\n]*+)*+\] )
    | (?P<count>  \{\s*+(?: [0-9]++\s*+(?: ,\s*+(?: -1 | [0-9]*+ )\s*+ )?+ | ,\s*+[0-9]++\s*+ )\} )
    | (?P<token>  !?+<[^<>\s]++> )
    | (?P<define> ::= )
    | (?P<ahead>  \(= )
    | (?P<op>     [|()*+?,=] )
    | (?P<bad>    . )
    """,
    re.VERBOSE | re.DOTALL,
)


class Tokens:
    """Token `i` is `source[starts[i]:ends[i]]` and of `kinds[i]`; three "end" tokens follow the last."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        for match in _TOKEN.finditer(source):
            look(10)
            kind = match.lastgroup or "bad"
            if kind != "blank":
                # Operators are told apart by their own character, everything else by the group's name.
                self.kinds.append(match.group() if kind == "op" else kind)
                self.starts.append(match.start())
                self.ends.append(match.end())
                if kind == "bad":
                    break
        # With a bad token the rules after it are unknown, so an undefined name is no news: the bad token is.
        self.cut_short = self.kinds[-1:] == ["bad"]
        # Three end marks, so that looking two tokens ahead needs no test.
        self.kinds += ["end"] * 3
        self.starts += [len(source)] * 3
        self.ends += [len(source)] * 3

    def text(self, i: int) -> str:
        """The token as it is written; a byte set in front of `::=` is a rule called b with attributes."""
        return "b" if self.kinds[i] == "byteset" else self.source[self.starts[i] : self.ends[i]]

    def string(self, i: int) -> bytes:
        """The value of a "string" or "bytes" token."""
        start, end = self.starts[i], self.ends[i]
        if self.kinds[i] == "bytes":
            return escapes.raw_bytes(self.source, start + 2, end - 1)
        return escapes.text(self.source, start + 1, end - 1)

    def fail(self, reason: str, offset: int) -> NoReturn:
        """Raise `GrammarSyntaxError` at `offset`."""
        raise GrammarSyntaxError(reason, self.source, offset)
