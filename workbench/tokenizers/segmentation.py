"""Cuts bytes into the fewest tokens of a vocabulary, by dynamic programming.

A bare vocabulary has no merge rules, so there is no tokenizer to ask; and a tokenizer's own way of cutting may change
the text (normalisation, unknown characters).  This way is always exact, and works for any bytes, whole characters or
not.
"""

from __future__ import annotations

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo


class Segmenter:
    """Fewest-token segmentation over the ordinary tokens of `info` (control and stop tokens never appear).

    Among equally short answers the one with the longer last tokens is taken; among ids with equal bytes, the lowest.
    """

    def __init__(self, info: TokenizerInfo) -> None:
        excluded = set(info.special_token_ids) | set(info.stop_token_ids)
        self._ids: dict[bytes, int] = {}
        for token_id, text in enumerate(info.decoded_vocab):
            if token_id not in excluded:
                self._ids.setdefault(text, token_id)
        self._lengths = sorted({len(text) for text in self._ids}, reverse=True)

    def segment(self, data: bytes) -> list[int]:
        """Ids whose bytes make up `data`.  Raises `TokenizerError` with the byte offset where no token fits.

        Takes O(len(data) * distinct token lengths).
        """
        unreached = len(data) + 1
        fewest = [0] + [unreached] * len(data)
        last = [(0, -1)] * (len(data) + 1)  # where the token that ends here begins, and its id
        ids = self._ids
        for end in range(1, len(data) + 1):
            for length in self._lengths:
                start = end - length
                if start < 0 or fewest[start] + 1 >= fewest[end]:
                    continue
                token_id = ids.get(data[start:end])
                if token_id is not None:
                    fewest[end] = fewest[start] + 1
                    last[end] = start, token_id
        if fewest[-1] == unreached:
            furthest = max(end for end, count in enumerate(fewest) if count < unreached)
            spelt, rest = data[max(0, furthest - 20) : furthest], data[furthest : furthest + 20]
            raise TokenizerError(
                f"no tokens spell this text past byte {furthest}: {spelt!r} can be spelt, then comes {rest!r}"
            )
        found: list[int] = []
        end = len(data)
        while end > 0:
            end, token_id = last[end]
            found.append(token_id)
        return found[::-1]
