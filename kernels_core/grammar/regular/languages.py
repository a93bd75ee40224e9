"""Sets of strings as extended regular expressions over code points: closed under union, intersection and complement.

A `Language` is immutable and compares by content.  It stays symbolic (`{0,10000}` is one node, not ten thousand
states) until an automaton is asked for; its constructors keep it small:

- a finite set of strings (`Words`) is filtered, not intersected: membership is decided here and now;
- complements are pushed down to the leaves; lengths (`any{l,h}`) are complemented to lengths;
- what surely covers everything or nothing becomes `ALL` or `NOTHING`.

Membership and automata come from Brzozowski derivatives (J. ACM 11, 1964): `derivative(L, c)` is the set of all w
with `cw` in L.  Derivatives know intersection and complement as well as union, so no product construction is needed.

This is the door; the classes are in `language.pyx` and the functions in `operations.pyx`.

Read on: `dfa.py` (automata), `assertions.py`, `patterns.py` and `from_rules.py` (who builds languages).
"""

from __future__ import annotations

from .language import Alt, And, Cat, Chars, Language, Loop, Not, Unfolding, Words
from .operations import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    MAX_SIZE,
    NOTHING,
    TooLarge,
    TooManyStates,
    bounded,
    character,
    complement,
    concat,
    derivative,
    intersection,
    length_bounds,
    limited_work,
    loop,
    matches,
    union,
    words,
)

__all__ = [
    "ALL",
    "ANY_CHARACTER",
    "EPSILON",
    "MAX_SIZE",
    "NOTHING",
    "Alt",
    "And",
    "Cat",
    "Chars",
    "Language",
    "Loop",
    "Not",
    "TooLarge",
    "TooManyStates",
    "Unfolding",
    "Words",
    "bounded",
    "character",
    "complement",
    "concat",
    "derivative",
    "intersection",
    "length_bounds",
    "limited_work",
    "loop",
    "matches",
    "union",
    "words",
]
