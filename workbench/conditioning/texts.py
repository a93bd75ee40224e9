"""A list of texts on the tree of prefixes: those written whole, or those that what is written begins with.

Read on: `walk.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kernels_core.errors import TokenizerError
from workbench.conditioning.tree import Prefix, PrefixTree
from workbench.conditioning.walk import Following
from workbench.next.lexicon import Run, lexicon


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
            for length in range(1, len(left) + (self._ends == "stop")):
                inside.update(self._ids(self._words.spelling(left[:length])))
        ids = np.array(sorted(inside), dtype=np.int64)
        return Following(found, ids, log_probs[ids])

    def step(self, prefix: Prefix, token: int) -> Prefix:
        return self.tree.child(prefix, token)

    def prepare(self, prefixes: Sequence[Prefix]) -> None:
        """Nothing is computed beforehand."""

    def _ids(self, run: Run) -> list[int]:
        return [int(token) for token in self._words.ids[slice(*run)]]
