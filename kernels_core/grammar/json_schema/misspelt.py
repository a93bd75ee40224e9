"""Which keyword somebody means who writes a word that is none.

By the standard an unknown keyword is a note and forbids nothing; only names close to a keyword are told.

Read on: `keywords/` (the words), `explain.py` (who tells).
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from .keywords import KEYWORDS, NOTES

__all__ = ["meant_by"]

CLOSE: Final = 0.8
SHORT: Final = 5
_KNOWN: Final = tuple(KEYWORDS)
_TOLD: Final = tuple(name for name in KEYWORDS if name not in NOTES)


@lru_cache(maxsize=4096)
def meant_by(name: str) -> str:
    """The keyword that `name` is nearly, or "" for one that it is, or for a word of somebody's own.

    What is nearly a note forbids nothing either way, and is not told.
    """
    if name in _KNOWN or name.startswith("x-"):
        return ""
    folded = "".join(letter for letter in name.lower() if letter.isalpha())
    alike = [known for known in _TOLD if known.lower().lstrip("$") == folded]
    if not alike and len(name) < SHORT:  # in short words one letter is much: `note` is not `not`
        alike = [known for known in _TOLD if sorted(known) == sorted(name)]
    elif not alike:
        alike = get_close_matches(name, _KNOWN, 1, CLOSE)
    return alike[0] if alike and alike[0] in _TOLD else ""
