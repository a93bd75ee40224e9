"""What is asked of a matcher at one place: the rules that wait, whether a quote is open.

Read on: `workbench/next/continuations.py`, `workbench/next/rejections.py`.
"""

from __future__ import annotations

import re
from typing import Final

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError

MAX_RULES: Final = 6
LONGEST: Final = 4_000
"""Bytes of an end; a longer one is of no use to a person."""
MAX_TAG: Final = 64
_TAG_BEGUN: Final = re.compile(rb"<[A-Za-z/|!_][^<>\s\"]*\Z")


def state_key(matcher: GrammarMatcher) -> tuple[int, int]:
    """Equal for matchers in the same parser state, as long as one of them lives."""
    return id(matcher.masks), matcher.set_number


def short_end(matcher: GrammarMatcher) -> bytes | None:
    """The fewest bytes after which the text may end; None where they are too many, or a token without text is needed,
    or the engine says why it cannot tell."""
    try:
        return matcher.shortest_end(LONGEST)
    except (BudgetExceededError, UnsupportedFeatureError):
        return None


def waiting_rules(matcher: GrammarMatcher) -> tuple[str, ...]:
    """Names of the rules, as written, that wait for a byte or a token; at most six, in the order of the automata."""
    table, found = matcher.compiled.state_table, dict[str, None]()
    for state, _, _ in sorted(matcher.masks.machine.set_items(matcher.set_number)):
        if table.rule_of(state) >= 0 and table.scannable(state):
            found.update(dict.fromkeys([rule.name for rule in table.source_rules(state)] or [table.rule_name(state)]))
    return tuple(found)[:MAX_RULES]


def open_end(text: bytes) -> bytes:
    r"""What would close the quoted text (`"`) or the tag (`>`) that is open at the end of `text`; b"" outside.

    Double quotes are read as in JSON, with `\` before what is escaped.  A guess for other languages: it decides where
    a continuation is cut, never what is possible.
    """
    if _TAG_BEGUN.search(text[-MAX_TAG:]):
        return b">"
    inside = False
    at = 0
    while at < len(text):
        if inside and text[at] == 0x5C:
            at += 1
        elif text[at] == 0x22:
            inside = not inside
        at += 1
    return b'"' if inside else b""
