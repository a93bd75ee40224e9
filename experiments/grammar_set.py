"""Grammars that are no schemas, each with texts that it takes: EBNF, regular expressions and Lark.

What an engine does for JSON alone shows in the difference between these and the schemas.  They are small versions of
what people constrain models to: expressions, a query language, settings, markup, program text, logs, addresses.
Texts are made of words drawn by a fixed seed, long enough that masks are asked for in every part of a grammar.

Read on: `leave_one_out.py` and `grammars.py`, which run them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from workbench.peers.base import Language

__all__ = ["ECMA_404", "GRAMMARS", "WrittenGrammar"]

WORDS: Final = (
    *("total", "count", "price", "window", "garden", "silver", "morning", "engine", "letter", "bridge", "number"),
    *("answer", "yellow", "market", "simple", "record", "a", "x", "id", "key", "river", "signal", "weather"),
    *("station", "result", "message", "naïve", "größe", "東京", "état"),
)
NAMES: Final = tuple(word for word in WORDS if word.isascii())
TEXTS: Final = 4


@dataclass(frozen=True, slots=True)
class WrittenGrammar:
    """A grammar in one of the languages, and how its texts are made."""

    name: str
    language: Language
    text: str
    make: Callable[[Random], str]

    def texts(self) -> list[str]:
        """Texts that the grammar takes, the same at each call."""
        random = Random(f"grammar set {self.name}")
        return [self.make(random) for _ in range(TEXTS)]


def _sentence(random: Random, low: int, high: int) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randint(low, high)))


def _sum(random: Random, depth: int = 0) -> str:
    if depth > 3 or random.random() < 0.3:
        return random.choice([random.choice(NAMES), str(random.randint(0, 99999)), f"{random.random():.4f}"])
    left, right = _sum(random, depth + 1), _sum(random, depth + 1)
    both = f"{left} {random.choice('+-*/')} {right}"
    return f"({both})" if random.random() < 0.5 else both


EXPRESSIONS: Final = """root ::= sum
sum ::= product (ws [+-] ws product)*
product ::= atom (ws [*/] ws atom)*
atom ::= number | name | "(" ws sum ws ")"
number ::= [0-9]+ ("." [0-9]+)?
name ::= [a-zA-Z_] [a-zA-Z0-9_]*
ws ::= " "*
"""

QUERIES: Final = """root ::= "SELECT " columns " FROM " name (" WHERE " condition)? (" ORDER BY " name (" DESC")?)? ";"
columns ::= "*" | name (", " name){0,20}
condition ::= comparison ((" AND " | " OR ") comparison)*
comparison ::= name " " ("=" | "<" | ">" | "<>" | "LIKE") " " value
value ::= "'" ([^'\\n] | "''")* "'" | "-"? [0-9]{1,12} | "NULL"
name ::= [a-z_] [a-z0-9_]{0,30}
"""


def _query(random: Random) -> str:
    columns = ", ".join(random.choice(NAMES) for _ in range(random.randint(1, 6)))
    parts = [
        f"{random.choice(NAMES)} {random.choice(['=', '<>', 'LIKE'])} '{_sentence(random, 1, 8)}'"
        if random.random() < 0.6
        else f"{random.choice(NAMES)} > {random.randint(-999, 10**9)}"
        for _ in range(random.randint(1, 5))
    ]
    return f"SELECT {columns} FROM {random.choice(NAMES)} WHERE {' AND '.join(parts)} ORDER BY {random.choice(NAMES)};"


MARKUP: Final = """root ::= element
element ::= "<" name attribute* (">" content "</" name ">" | "/>")
attribute ::= " " name "=\\"" [^"<&]* "\\""
content ::= (text | element)*
text ::= [^<&]+ | "&" [a-z]{1,8} ";"
name ::= [a-z]{1,20}
"""


def _markup(random: Random, depth: int = 0) -> str:
    name = random.choice(NAMES)
    marks = "".join(f' {random.choice(NAMES)}="{_sentence(random, 1, 4)}"' for _ in range(random.randint(0, 2)))
    if depth > 2 or random.random() < 0.15:
        return f"<{name}{marks}/>"
    inside = "".join(
        _sentence(random, 2, 10) + " &amp; " if random.random() < 0.5 else _markup(random, depth + 1)
        for _ in range(random.randint(1, 4))
    )
    return f"<{name}{marks}>{inside}</{name}>"


PROGRAM: Final = """root ::= statement+
statement ::= "    "? (assign | call | loop) "\\n"
assign ::= name " = " value
call ::= name "(" (value (", " value)*)? ")"
loop ::= "for " name " in " (name | call) ":"
value ::= string | number | name | call | "[" (value (", " value)*)? "]"
string ::= "\\"" ([^"\\\\\\n] | "\\\\" ["\\\\nt])* "\\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
name ::= [a-z_] [a-z0-9_]*
"""


def _value(random: Random, depth: int = 0) -> str:
    kind = random.randint(0, 2 if depth > 1 else 4)
    if kind == 0:
        return f'"{_sentence(random, 1, 9)}"'
    if kind == 1:
        return str(random.randint(-99, 9999))
    if kind == 2:
        return random.choice(NAMES)
    items = ", ".join(_value(random, depth + 1) for _ in range(random.randint(0, 3)))
    return f"[{items}]" if kind == 3 else f"{random.choice(NAMES)}({items})"


def _program(random: Random) -> str:
    lines = []
    for _ in range(random.randint(4, 9)):
        kind = random.random()
        name = random.choice(NAMES)
        if kind < 0.6:
            lines.append(f"{name} = {_value(random)}")
        elif kind < 0.8:
            lines.append(f"for {name} in {random.choice(NAMES)}:")
        else:
            lines.append(f"{name}({_value(random)}, {_value(random)})")
    return "\n".join(lines) + "\n"


LOG: Final = (
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z (DEBUG|INFO|WARNING|ERROR) \[[a-z]{1,16}(\.[a-z]{1,16})*\] "
    r"[^\n]{1,200}\n){1,50}"
)


def _log(random: Random) -> str:
    def line() -> str:
        when = f"20{random.randint(10, 29)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        at = (
            f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}.{random.randint(0, 999)}"
        )
        who = ".".join(random.choice(NAMES) for _ in range(random.randint(1, 3)))
        return f"{when}T{at}Z {random.choice(['INFO', 'ERROR'])} [{who}] {_sentence(random, 3, 14)}\n"

    return "".join(line() for _ in range(random.randint(2, 5)))


ADDRESS: Final = (
    r"https?://([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}(:\d{1,5})?(/[A-Za-z0-9._~%-]*)*"
    r"(\?[A-Za-z0-9._~%=&-]*)?"
)


def _address(random: Random) -> str:
    host = ".".join(random.choice(NAMES) for _ in range(random.randint(1, 3)))
    path = "".join(f"/{random.choice(NAMES)}-{random.randint(1, 999)}" for _ in range(random.randint(1, 5)))
    return f"https://{host}.example:{random.randint(1, 65535)}{path}?{random.choice(NAMES)}={random.randint(0, 10**6)}"


CHOICES: Final = "(" + "|".join(f"{a} {b} {c}" for a in NAMES[:12] for b in NAMES[:12] for c in NAMES[:4]) + ")"


def _choice(random: Random) -> str:
    return f"{random.choice(NAMES[:12])} {random.choice(NAMES[:12])} {random.choice(NAMES[:4])}"


SETTINGS: Final = r"""start: section+
section: "[" NAME "]" entry+
entry: NAME "=" value
value: NUMBER | STRING | BOOLEAN | "[" [value ("," value)*] "]"
NAME: /[a-z][a-z0-9_]*/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
STRING: /"([^"\\\n]|\\["\\nt])*"/
BOOLEAN: "true" | "false"
COMMENT: /#[^\n]*\n/
%ignore /[ \t\n]+/
%ignore COMMENT
"""


def _setting(random: Random, depth: int = 0) -> str:
    kind = random.randint(0, 3 if depth < 2 else 2)
    if kind == 3:
        return "[" + ", ".join(_setting(random, depth + 1) for _ in range(random.randint(0, 4))) + "]"
    return [str(random.randint(-9, 99999)), f'"{_sentence(random, 1, 7)}"', random.choice(["true", "false"])][kind]


def _settings(random: Random) -> str:
    sections = []
    for _ in range(random.randint(1, 3)):
        entries = "".join(
            f"{random.choice(NAMES)} = {_setting(random)}"
            + (f"  # {_sentence(random, 2, 6)}\n" if random.random() < 0.3 else "\n")
            for _ in range(random.randint(2, 5))
        )
        sections.append(f"[{random.choice(NAMES)}]\n{entries}")
    # A comment ends with its line, and nothing is ignored behind the last entry.
    before, _, last = "\n".join(sections).rstrip().rpartition("\n")
    return f"{before}\n{last.partition('  #')[0]}"


JSON: Final = r"""start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"([^"\\\x00-\x1f]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\r\n]+/
"""


def _json(random: Random, depth: int = 0) -> str:
    kind = random.randint(0, 5 if depth < 3 else 2)
    if depth == 0 or kind >= 4:
        pairs = (f'"{random.choice(WORDS)}": {_json(random, depth + 1)}' for _ in range(random.randint(2, 4)))
        return "{" + ", ".join(pairs) + "}"
    if kind == 3:
        return "[" + ", ".join(_json(random, depth + 1) for _ in range(random.randint(0, 4))) + "]"
    return [str(random.randint(-99, 10**6)), f'"{_sentence(random, 1, 9)}"', random.choice(["true", "null"])][kind]


ECMA_404_TEXT: Final = r"""root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)*)? ws "}"
pair ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws ::= [ \t\n\r]*
"""

LISP: Final = r"""start: form+
form: SYMBOL | NUMBER | STRING | "(" form* ")" | "'" form
SYMBOL: /[a-z+*\/<>=!?-][a-z0-9+*\/<>=!?-]*/
NUMBER: /[0-9]+/
STRING: /"[^"]*"/
%ignore /[ \n]+/
%ignore /;[^\n]*\n/
"""


def _lisp(random: Random, depth: int = 0) -> str:
    if depth and (depth > 4 or random.random() < 0.4):
        return random.choice([random.choice(NAMES), str(random.randint(0, 9999)), f'"{_sentence(random, 1, 6)}"'])
    return "(" + " ".join(_lisp(random, depth + 1) for _ in range(random.randint(2, 5))) + ")"


ECMA_404: Final = WrittenGrammar("JSON, ECMA-404", "ebnf", ECMA_404_TEXT, _json)
"""JSON as the standard has it."""
GRAMMARS: Final[Mapping[str, WrittenGrammar]] = {
    grammar.name: grammar
    for grammar in (
        WrittenGrammar("expressions", "ebnf", EXPRESSIONS, _sum),
        WrittenGrammar("queries", "ebnf", QUERIES, _query),
        WrittenGrammar("markup", "ebnf", MARKUP, _markup),
        WrittenGrammar("program text", "ebnf", PROGRAM, _program),
        WrittenGrammar("log", "regex", LOG, _log),
        WrittenGrammar("web address", "regex", ADDRESS, _address),
        WrittenGrammar("many choices", "regex", CHOICES, _choice),
        WrittenGrammar("settings", "lark", SETTINGS, _settings),
        WrittenGrammar("JSON", "lark", JSON, _json),
        WrittenGrammar("Lisp", "lark", LISP, _lisp),
    )
}
"""All of them, by name."""
