"""Texts on the tree of prefixes: which tokens may follow a prefix, and which of them end the text.

A text of a grammar's `Language` is one that the grammar takes, of at most so many tokens, with a stop token behind it.
`ListedTexts` are written whole, or what is written begins with one of them.
Read on: `attempts.py`, `particles.py` and `walk.py`, which draw from it and sum over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from kernels_core import BatchGrammarMatcher, GrammarMatcher
from kernels_core.errors import DeadEndError, TokenizerError
from workbench.conditioning.drawing import FloatArray, IntArray
from workbench.conditioning.tree import Prefix, PrefixTree
from workbench.conditioning.walk import Following
from workbench.tokenizers.lexicon import Run, lexicon


class Language:
    """The language of `matcher` from where it stands, over the prefixes of `tree`.

    max_tokens: of a text, without the stop token; a longer one is not in the language.
    `TokenizerError` where no stop token can end a text, `ValueError` for a `max_tokens` below 1.
    """

    def __init__(self, tree: PrefixTree, matcher: GrammarMatcher, max_tokens: int) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
        if matcher.terminate_without_stop_token or not matcher.stop_token_ids:
            raise TokenizerError(
                "a text ends with a stop token here, and this matcher has none: take a vocabulary that has one, and a "
                "matcher without terminate_without_stop_token"
            )
        if matcher.is_terminated():
            raise ValueError("the text of this matcher has ended: fork it before its stop token")
        self.tree = tree
        self.max_tokens = int(min(max_tokens, tree.most_tokens - 1))
        self.stops = frozenset(matcher.stop_token_ids)
        self.stop_ids = np.array(sorted(self.stops), dtype=np.int64)
        self._batch = BatchGrammarMatcher()
        self._listed: dict[tuple[object, int], IntArray] = {}  # ids by mask: few masks serve many prefixes
        tree.root.matcher = matcher.fork()

    def step(self, prefix: Prefix, token: int) -> Prefix | None:
        """The prefix behind `token`, or None where the language has no text that begins so."""
        if token in prefix.children:
            return prefix.children[token]
        matcher = _matcher(prefix).fork()
        taken = matcher.accept_token(token)
        ended = taken and token in self.stops and matcher.is_terminated()
        if not taken or (not ended and prefix.depth >= self.max_tokens):
            prefix.children[token] = None
            return None
        child = self.tree.child(prefix, token, ended=ended)
        child.matcher = matcher
        return child

    def allowed(self, prefix: Prefix) -> IntArray:
        """The tokens that `step` takes, ascending, stop tokens included; none at a dead end."""
        matcher = _matcher(prefix)
        try:
            number = matcher.mask_number()
        except DeadEndError:
            return np.empty(0, dtype=np.int64)
        assert number is not None  # a prefix that has ended is not asked
        key = (matcher.masks, number)
        found = self._listed.get(key)
        if found is None:
            mask, every = matcher.masks.mask(number), np.arange(self.tree.model.vocab_size)
            found = every[mask.ids] if mask.lacking is None else np.delete(every, mask.lacking)
            self._listed[key] = found
        if prefix.depth < self.max_tokens:
            return found
        stops = [token for token in sorted(self.stops) if token in found and self.step(prefix, token) is not None]
        return np.array(stops, dtype=np.int64)

    def prepare(self, prefixes: Iterable[Prefix]) -> None:
        """Compute the masks of all that are not known side by side."""
        self._batch.read_masks([_matcher(prefix) for prefix in prefixes])

    def choices(self, prefix: Prefix) -> tuple[IntArray, FloatArray]:
        """The tokens that may follow, and their log probabilities: the model's own, which sum to the feasible mass."""
        ids = self.allowed(prefix)
        return ids, self.tree.log_probs(prefix)[ids]

    def following(self, prefix: Prefix) -> Following:
        """The text that ends here, by each stop token that may come, and the tokens that go on."""
        ids, log_probs = self.choices(prefix)
        ends = np.zeros(len(ids), dtype=np.bool_)
        found = []
        for place in np.flatnonzero(np.isin(ids, self.stop_ids)).tolist():
            end = self.step(prefix, int(ids[place]))
            if end is not None and end.ended:  # a stop token may also stand inside a text
                found.append((self.tree.text(prefix), end, end.log_prob))
                ends[place] = True
        return Following(found, ids[~ends], log_probs[~ends])


def _matcher(prefix: Prefix) -> GrammarMatcher:
    assert prefix.matcher is not None
    return prefix.matcher


class ListedTexts:
    """`texts` in all their tokenisations.  ends: "stop" (a stop token comes behind the text) or "prefix" (anything)."""

    def __init__(self, tree: PrefixTree, texts: Sequence[bytes], ends: Literal["stop", "prefix"]) -> None:
        info = tree.model.tokenizer.info
        self.tree = tree
        self._texts = tuple(dict.fromkeys(texts))
        self._ends = ends
        self._stops = list(info.stop_token_ids)
        if ends == "stop" and not self._stops:
            raise TokenizerError('the vocabulary has no stop token, so no text ends: ask with ends="prefix"')
        self._words = lexicon(info)

    def following(self, prefix: Prefix) -> Following:
        """Tokens inside one of the texts lead on; what ends one, or runs past its end, is found here."""
        written, log_probs = self.tree.text(prefix), self.tree.log_probs(prefix)
        found: list[tuple[bytes, Prefix | None, float]] = []
        inside: set[int] = set()
        for text in self._texts:
            if not text.startswith(written):
                continue
            left = text[len(written) :]
            if self._ends == "stop" and not left:
                for token in self._stops:
                    end = self.tree.child(prefix, token, ended=True)
                    found.append((text, end, end.log_prob))
            elif self._ends == "prefix" and left:
                over = self._ids(self._words.beginning(left))
                if over:
                    found.append((text, None, prefix.log_prob + float(np.logaddexp.reduce(log_probs[over]))))
            for run in self._words.inside(left if self._ends == "stop" else left[:-1]):
                inside.update(self._ids(run))
        ids = np.array(sorted(inside), dtype=np.int64)
        return Following(found, ids, log_probs[ids])

    def step(self, prefix: Prefix, token: int) -> Prefix:
        return self.tree.child(prefix, token)

    def prepare(self, prefixes: Sequence[Prefix]) -> None:
        """Nothing is computed beforehand."""

    def _ids(self, run: Run) -> list[int]:
        return [int(token) for token in self._words.ids[slice(*run)]]
