"""The token sets of one step as an index: what became of every token, how many, and which ones match a search.

A step may have several scannable states, and a token's fate may differ between them.  The mask is their union, so
over all states a token is *accepted* where any state accepts it, else *uncertain* where any state has to ask its
caller, else a *stop* token where the mask allows it although no state reads it, else *rejected*: the four kinds
partition the vocabulary.  So do *allowed* and *refused*, which are the mask: refused are the rejected tokens and those
uncertain ones that their callers refuse.

Read on: `visualizers/live_tokens.py` (`TokenTable`, `MaskMap`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from kernels_core.inspect.snapshots import StateTokens, TokenSets, TokenVerdict
from visualizers.glyphs import glyph
from visualizers.png import PALETTE, pair_png

Kind = Literal["rejected", "accepted", "uncertain", "stop"]
Tab = Literal["all", "allowed", "refused", "accepted", "uncertain", "rejected", "stop"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
TABS: Final[tuple[Tab, ...]] = get_args(Tab)
_REJECTED, _ACCEPTED, _UNCERTAIN, _STOP = range(4)
_SEARCHES_KEPT: Final = 8
_KEPT: Final = 4
_KEPT_INDICES: Final = 32

Ids = npt.NDArray[np.int64]


class Vocabulary:
    """Every token's glyph, made once per vocabulary and shared by all views.

    Searching is a scan over Python strings: about 10 ms for 131,072 tokens.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self.glyphs = [glyph(token) for token in tokens]
        self._folded: list[str] | None = None

    def glyph(self, token_id: int) -> str:
        """The glyph of a token; an id past the vocabulary (padding of the logits) has none and gives "" ."""
        return self.glyphs[token_id] if token_id < len(self.glyphs) else ""

    def matching(self, query: str) -> Ids:
        """Ids, ascending, whose glyph contains `query` or whose id is the number `query`.

        A space in `query` means `␣`.  Upper and lower case are told apart only when `query` has an upper-case letter.
        """
        wanted = query.replace(" ", "␣")
        if wanted == wanted.lower():
            if self._folded is None:
                self._folded = [text.lower() for text in self.glyphs]
            texts = self._folded
        else:
            texts = self.glyphs
        number = int(query) if query.isascii() and query.isdigit() and len(query) < 12 else -1
        return np.array([i for i, text in enumerate(texts) if wanted in text or i == number], dtype=np.int64)


def vocabulary(tokens: tuple[bytes, ...]) -> Vocabulary:
    """The shared `Vocabulary` of `tokens`; those of the last four tuples are kept, found by the tuple itself."""
    if id(tokens) not in _vocabularies:  # what is kept is alive, so no other tuple has its id
        _vocabularies[id(tokens)] = tokens, Vocabulary(tokens)
        if len(_vocabularies) > _KEPT:
            _vocabularies.popitem(last=False)
    return _vocabularies[id(tokens)][1]


_vocabularies: OrderedDict[int, tuple[tuple[bytes, ...], Vocabulary]] = OrderedDict()


class TokenIndex:
    """What became of every token in one step, over all scannable states or in the one called `state`.

    `kinds` is uint8 of shape (vocab_size,), an index into `KINDS`; `allowed` is bool of the same shape.  Raises
    `KeyError` for a `state` that is not scannable in this step, `ValueError` for a token id outside the vocabulary.
    """

    def __init__(self, sets: TokenSets, state: int | None = None) -> None:
        self.sets = sets
        self.state = state
        self.vocabulary = vocabulary(sets.vocab)
        self.entries = sets.states if state is None else tuple(entry for entry in sets.states if entry.state == state)
        if state is not None and not self.entries:
            scannable = ", ".join(str(entry.state) for entry in sets.states) or "none"
            raise KeyError(f"state {state} is not scannable in this step (scannable: {scannable})")
        self.kinds = np.zeros(sets.vocab_size, dtype=np.uint8)
        self.allowed = np.zeros(sets.vocab_size, dtype=np.bool_)
        self._fill()
        self._ids = lru_cache(_SEARCHES_KEPT)(self._find)

    def _fill(self) -> None:
        for entry in self.entries:
            uncertain = self._checked(entry.uncertain.ids)
            self.kinds[uncertain] = _UNCERTAIN
            self.allowed[uncertain] |= entry.uncertain.allowed
        for entry in self.entries:
            accepted = self._checked(entry.accepted)
            self.kinds[accepted] = _ACCEPTED
            self.allowed[accepted] = True
        self.stops = self._stops()
        self.kinds[self.stops] = _STOP
        self.allowed[self.stops] = True

    def _stops(self) -> Ids:
        """What the mask allows and no state of the step reads, whichever state is asked about: none rejects it."""
        if self.state is not None:
            return token_index(self.sets).stops
        allowed = self._checked(self.sets.allowed)
        return allowed[~self.allowed[allowed]]

    def _checked(self, ids: npt.NDArray[np.int32]) -> Ids:
        array = ids.astype(np.int64)
        if array.size and (array.min() < 0 or array.max() >= self.sets.vocab_size):
            bad = array[(array < 0) | (array >= self.sets.vocab_size)][0]
            raise ValueError(f"token id {bad} is outside the vocabulary of {self.sets.vocab_size:,} tokens")
        return array

    def _verdict(self, token_id: int) -> tuple[StateTokens, TokenVerdict]:
        """What one that asks about an uncertain token was told; one that was told yes, as the mask is the union."""
        found = [(entry, entry.uncertain.verdict(token_id)) for entry in self.entries]
        told = [(entry, verdict) for entry, verdict in found if verdict is not None]
        return next((pair for pair in told if pair[1].allowed), told[0])

    @cached_property
    def counts(self) -> dict[str, int]:
        """Tokens by tab: `all` is the vocabulary's size, `allowed` what the mask lets through, `refused` the others."""
        counts: dict[str, int] = {
            kind: int(np.count_nonzero(self.kinds == number)) for number, kind in enumerate(KINDS)
        }
        allowed = int(np.count_nonzero(self.allowed))
        return {"all": self.sets.vocab_size, **counts, "allowed": allowed, "refused": self.sets.vocab_size - allowed}

    def rejected_by(self, entry: StateTokens) -> int:
        """How many tokens a state of the step rejects: stop tokens that the mask allows are no matter of states."""
        return entry.rejected_count - int((~np.isin(self.stops, entry.uncertain.ids)).sum())

    def ids(self, tab: Tab = "all", query: str = "", within: npt.NDArray[np.bool_] | None = None) -> Ids:
        """Token ids under `tab` that match `query`: ascending, and uncertain tokens that were let through first.

        `within`, bool of shape (vocab_size,), leaves out others.
        """
        ids = self._ids(as_tab(tab), query)
        return ids if within is None else ids[within[ids]]

    def _find(self, tab: Tab, query: str) -> Ids:
        if tab == "all":
            ids = np.arange(self.sets.vocab_size)
        else:
            of_mask = {"allowed": self.allowed, "refused": ~self.allowed}
            ids = np.flatnonzero(of_mask[tab] if tab in of_mask else self.kinds == KINDS.index(tab))
        if query:
            ids = ids[np.isin(ids, self.vocabulary.matching(query), assume_unique=True)]
        if tab == "uncertain":
            ids = np.concatenate([ids[self.allowed[ids]], ids[~self.allowed[ids]]])
        return ids

    def row(self, token_id: int) -> dict[str, Any]:
        """One token: id, glyph, bytes in hex, kind, allowed; for an uncertain one also suffix, escape and state.

        Raises `IndexError` for an id outside the vocabulary.
        """
        if not 0 <= token_id < self.sets.vocab_size:
            raise IndexError(f"token id {token_id} is outside the vocabulary of {self.sets.vocab_size:,} tokens")
        kind = KINDS[self.kinds[token_id]]
        token = self.sets.vocab[token_id] if token_id < len(self.sets.vocab) else b""
        row: dict[str, Any] = {
            "id": token_id,
            "glyph": self.vocabulary.glyph(token_id),
            "hex": token[:64].hex(" ") + (" …" if len(token) > 64 else ""),
            "kind": kind,
            "allowed": bool(self.allowed[token_id]),
        }
        if kind == "uncertain":
            entry, verdict = self._verdict(token_id)
            row |= {"suffix": glyph(verdict.suffix), "escape": verdict.escape, "state": entry.state, "rule": entry.rule}
        return row

    def rows(self, ids: Ids) -> list[dict[str, Any]]:
        """`row` of every id."""
        return [self.row(int(token_id)) for token_id in ids]

    @cached_property
    def picture(self) -> bytes:
        """A PNG of one pixel a token: allowed (or a stop token), uncertain and taken or refused, rejected."""
        uncertain = self.kinds == _UNCERTAIN
        return pair_png((self.allowed + 2 * uncertain).astype(np.uint8).tobytes(), PALETTE)


def token_index(sets: TokenSets) -> TokenIndex:
    """The index of `sets` over all states; those of the last parser states are kept, and views share them.

    Token sets of one parser state at different places of a text have one index: they hold the same entries.
    """
    key = id(sets.states), id(sets.allowed), id(sets.vocab)  # of what is kept, and alive
    if key not in _indices:
        _indices[key] = TokenIndex(sets)
    _indices.move_to_end(key)
    if len(_indices) > _KEPT_INDICES:
        _indices.popitem(last=False)
    return _indices[key]


_indices: OrderedDict[tuple[int, int, int], TokenIndex] = OrderedDict()


def as_tab(value: object) -> Tab:
    """`value` as a `Tab`; raises `ValueError` for anything else."""
    if value not in TABS:
        raise ValueError(f"tab is {value!r}: expected one of {', '.join(TABS)}")
    return value  # type: ignore[return-value]
