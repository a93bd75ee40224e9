"""How long the text of a grammar may be, in any language: it is read as a whole before a clock can be looked at."""

from __future__ import annotations

from ..errors import BudgetExceededError

__all__ = ["LONGEST_TEXT", "check_length"]

LONGEST_TEXT = 1 << 24
"""Characters."""


def check_length(*texts: object) -> None:
    """`BudgetExceededError` where one of `texts` is a text, and too long."""
    for text in texts:
        if isinstance(text, str | bytes) and len(text) > LONGEST_TEXT:
            raise BudgetExceededError("characters", LONGEST_TEXT, "the text of a grammar")
