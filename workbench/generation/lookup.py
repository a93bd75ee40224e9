"""Guesses from the text itself: what followed the last two tokens when they stood together before.

Tool calls repeat names, tables repeat keys, answers repeat the question; so what follows can often be read off.
Finding it costs the same however long the text is.  Read on: `drafts.py`, `engine.py` (the model judges).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Lookup(Generic[T]):
    """The tokens of one text, prompt included, and the last `places` places where each pair of them stood.

    A token is its id, or its bytes where nobody knows that.
    """

    def __init__(self, tokens: Iterable[T], places: int = 1) -> None:
        self._tokens: list[T] = []
        self._places = places
        self._behind: dict[tuple[T, T], list[int]] = {}  # a pair -> places behind it, the last one at the end
        for token in tokens:
            self.add(token)

    def __len__(self) -> int:
        """Tokens read."""
        return len(self._tokens)

    def add(self, token: T) -> None:
        """The text goes on by `token`."""
        self._tokens.append(token)
        if len(self._tokens) > 2:
            behind = self._behind.setdefault((self._tokens[-3], self._tokens[-2]), [])
            behind.append(len(self._tokens) - 1)
            del behind[: -self._places]

    def drafts(self, count: int) -> list[list[T]]:
        """At most `count` tokens that followed the last two, for each place that is known, the last one first."""
        if count < 1 or len(self._tokens) < 2:
            return []
        places = self._behind.get((self._tokens[-2], self._tokens[-1]), ())
        return [self._tokens[place : place + count] for place in reversed(places)]
