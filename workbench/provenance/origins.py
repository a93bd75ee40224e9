"""Where a rule began, in the source's own words: the JSON pointer of what is read from a byte of the text on.

Equal schemas share a rule, which is called after the first of them, and a rule may be split in two; but a rule that
began at a byte reads what the source says about that byte.  So whatever has a beginning (a level of the call stack, a
node of the derivation, an Earley item) has a pointer, and the same one in every panel.

Read on: `reader.py` (who reads the source along a text), `workbench/panels/stack.py` (who asks).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from workbench.provenance.reader import Reader, read_text

if TYPE_CHECKING:
    from workbench.session.context import Context

__all__ = ["Origins", "origins"]

MAX_NEW: Final = 64
"""Beginnings that are looked up at one place, the last ones first; a text that was read in steps has few new ones."""


class Origins:
    """The pointers of beginnings along one text, kept while the text grows."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._text = b""
        self._known: dict[int, str | None] = {}

    def of(self, text: bytes, begins: Iterable[int]) -> dict[int, str | None]:
        """The pointer of each beginning; None where the source says nothing about it, or too many are new."""
        wanted = sorted({begin for begin in begins if begin <= len(text)}, reverse=True)
        if not self.reader.source.is_json:
            return dict.fromkeys(wanted)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, self._text, strict=False)))
        self._known = {begin: found for begin, found in self._known.items() if begin <= same}
        self._text = text
        for begin in [begin for begin in wanted if begin not in self._known][:MAX_NEW]:
            self._known[begin] = self.reader.pointer_behind(text[:begin])
        return {begin: self._known.get(begin) for begin in wanted}


_ORIGINS: weakref.WeakKeyDictionary[Context, Origins] = weakref.WeakKeyDictionary()


def origins(context: Context, reader: Reader, begins: Iterable[int]) -> dict[int, str | None]:
    """The pointers of beginnings in the session's text (bytes read before them); the session is held."""
    kept = _ORIGINS.get(context)
    if kept is None or kept.reader is not reader:
        kept = _ORIGINS[context] = Origins(reader)
    moved = _moved(context)
    if not moved:
        return kept.of(context.text, begins)
    # Control tokens have no bytes, and their names are part of what the source is read along.
    there = {begin: begin + sum(length for at, length in moved if at <= begin) for begin in begins}
    found = kept.of(read_text(context), there.values())
    return {begin: found.get(place) for begin, place in there.items()}


def _moved(context: Context) -> list[tuple[int, int]]:
    """Where control tokens were taken by their ids, and how long their names are."""
    vocabulary = context.tokenizer.info.decoded_vocab
    return [
        (step.start, len(vocabulary[step.token_id]))
        for step in context.steps[: context.place.index]
        if step.token_id is not None and not step.data and not step.stop
    ]
