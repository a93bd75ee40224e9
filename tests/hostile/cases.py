"""The requests made to hurt: each with a text to follow, and how the engine's answer begins.

"done" means that the grammar was compiled and every byte of the text taken, each with its mask.  An error names what
was met, and where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.hostile.grammars import EBNF, LARK, REGEX
from tests.hostile.schemas import SCHEMAS, TAGS

__all__ = ["CASES", "SLOW", "VALUES", "Case"]


@dataclass(frozen=True)
class Case:
    """`request` makes the grammar, anew each time; `text` is followed by bytes; `answer` is a regular expression.

    Those in `SLOW` take seconds at each door: the limit on compiling.  Tests bring all to the engine, and a sample of
    the others to the other doors.
    """

    name: str
    language: str
    request: Callable[[], Any]
    text: str
    answer: str


CASES: Final[dict[str, Case]] = {
    name: Case(name, language, request, text, answer)
    for language, rows in [
        ("ebnf", EBNF),
        ("regex", REGEX),
        ("lark", LARK),
        ("json_schema", SCHEMAS),
        ("structural_tag", TAGS),
    ]
    for name, request, text, answer in rows
}

SLOW: Final = frozenset(
    (
        "all trees over a thousand letters",
        "rules that are all empty, and call each other",
        "a chain to the left",
        "ten megabytes of EBNF",
        "forty pattern properties that meet",
        "exactly one of two hundred patterns",
    )
)

# Values of Python's that nobody can write down.
VALUES: Final = frozenset(
    (
        "a schema that holds itself twice, thirty times",
        "a schema that holds itself thrice, twelve times",
        "a tag that holds itself twice, thirty times",
        "a schema in a circle",
        "a list in a circle",
    )
)
