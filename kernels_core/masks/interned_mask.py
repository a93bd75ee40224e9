"""List the ids of an interned mask, or the ids it lacks, whichever are fewer.

Made by `MaskCache.mask` from a number (`GrammarMatcher.mask_number`).  Read on: `mask_table.pyx`, where masks are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """An interned mask.

    number: equal masks of one `MaskCache` have one number.  population: how many ids are allowed.
    ids: the allowed ids, or None where `lacking` lists the ids that are not; ascending, int32, read-only.
    """

    number: int
    population: int
    ids: npt.NDArray[np.int32] | None
    lacking: npt.NDArray[np.int32] | None

    def __repr__(self) -> str:
        return f"<Mask {self.number}: {self.population:,} tokens>"


def listed(number: int, population: int, vocab_size: int, words: bytes) -> Mask:
    """A `Mask` from its row of bits."""
    bits = np.unpackbits(np.frombuffer(words, dtype=np.uint8), count=vocab_size, bitorder="little")
    narrow = 2 * population <= vocab_size
    found = np.flatnonzero(bits if narrow else bits == 0).astype(np.int32)
    found.flags.writeable = False
    return Mask(number, population, found if narrow else None, None if narrow else found)
