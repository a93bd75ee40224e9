"""Drafts from the text itself: what followed the last two tokens when they stood together before.

Tool calls repeat names, tables repeat keys, answers repeat the question; so what follows can often be read off.
Finding it costs the same however long the text is.  A draft is only a guess: `engine.py` lets the model judge it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Lookup"]


class Lookup:
    """The tokens of one text, prompt included, and where each pair of them stood last."""

    def __init__(self, tokens: Iterable[int]) -> None:
        self._tokens: list[int] = []
        self._behind: dict[tuple[int, int], int] = {}  # a pair -> the place behind it
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        """The text goes on by `token`."""
        self._tokens.append(token)
        if len(self._tokens) > 2:
            before = self._tokens[-3], self._tokens[-2]
            self._behind[before] = len(self._tokens) - 1

    def draft(self, count: int) -> list[int]:
        """At most `count` tokens that followed the last two before; [] where these never stood together."""
        if count < 1 or len(self._tokens) < 2:
            return []
        place = self._behind.get((self._tokens[-2], self._tokens[-1]))
        return [] if place is None else self._tokens[place : place + count]
