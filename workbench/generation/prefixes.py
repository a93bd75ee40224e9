"""Keys and values of prompts that were read, for texts that begin alike: a system prompt, tools, several answers.

Prompts are kept in blocks of so many tokens as the engine reads at a time.  A block is found by its tokens and by the
block before it, so what it holds depends on nothing else, and a text that takes it is the text that had read it anew.

Read on: `engine.py` (who asks), `slots.py` (what is copied).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import torch

__all__ = ["Block", "PrefixCache"]

Key: TypeAlias = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Block:
    """`states`: as `SlotRun.taken` gives them.  `number` is what the block behind it is found by."""

    number: int
    states: torch.Tensor


class PrefixCache:
    """Blocks of `width` tokens, the most recently used ones within `max_bytes`."""

    def __init__(self, width: int, max_bytes: int) -> None:
        self.width, self.max_bytes = width, max_bytes
        self.nbytes = 0
        self._blocks: OrderedDict[Key, Block] = OrderedDict()
        self._numbers = count(1)

    def find(self, ids: Sequence[int]) -> list[Block]:
        """The blocks that `ids` begins with, as far as they are kept, without its last token."""
        found: list[Block] = []
        number = 0
        for first in range(0, len(ids) - self.width, self.width):
            key = (number, tuple(ids[first : first + self.width]))
            block = self._blocks.get(key)
            if block is None:
                break
            self._blocks.move_to_end(key)
            found.append(block)
            number = block.number
        return found

    def add(self, before: int, ids: Sequence[int], states: torch.Tensor) -> int | None:
        """Keep the block of `ids` behind the block numbered `before` (0: the beginning).

        Returns its number, or None where it is larger than all that may be kept.
        """
        key = (before, tuple(ids))
        block = self._blocks.get(key)
        if block is None and states.nbytes <= self.max_bytes:
            block = self._blocks[key] = Block(next(self._numbers), states)
            self.nbytes += states.nbytes
            while self.nbytes > self.max_bytes:
                _, oldest = self._blocks.popitem(last=False)
                self.nbytes -= oldest.states.nbytes
        return None if block is None else block.number
