"""Any JSON value, as EBNF, how to find the key in front of one, and how its numbers are read.

The grammar is that of RFC 8259: no white space around the whole, so that a model cannot begin or end with an endless
run of blanks.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import Final

KEY_BEFORE: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*$')
"""Finds, at the end of a text, the key of the member whose value comes next."""

JSON_TEXT = r"""
root   ::= value
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ws ("," ws member ws)*)? "}"
member ::= string ws ":" ws value
array  ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" character* "\""
character ::= [^"\\\u0000-\u001f] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4})
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
ws     ::= [ \t\n\r]*
""".lstrip()


def exact_number(text: str) -> Decimal:
    """A number with a point or an exponent, for `parse_float`.  `ValueError` for an exponent that no `Decimal` has."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {text[:40]} is too large") from None
