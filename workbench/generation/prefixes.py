"""Keys and values of prompts that were read, for texts that begin alike: a system prompt, tools, several answers.

Prompts are kept in blocks of so many tokens as the engine reads at a time.  A block is found by its tokens and by the
block before it, so what it holds depends on nothing else, and a text that takes it is the text that had read it anew.

Read on: `engine.py` (who asks), `slots.py` (what is copied).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import torch

Key: TypeAlias = tuple[int, tuple[int, ...]]


@dataclass(slots=True)
class Block:
    """`states`: as `SlotRun.taken` gives them.  `number`: what the block behind it is found by; that has a greater one.
    `used`: the last text that had it."""

    number: int
    states: torch.Tensor
    used: int


class PrefixCache:
    """Blocks of `width` tokens, within `max_bytes`: those of the last texts, and of each text its beginning."""

    def __init__(self, width: int, max_bytes: int) -> None:
        self.width, self.max_bytes = width, max_bytes
        self.nbytes = 0
        self._blocks: dict[Key, Block] = {}
        self._numbers = count(1)
        self._text = 0  # the text that is being read

    def find(self, ids: Sequence[int]) -> list[Block]:
        """Begin the text of `ids`: the blocks that it begins with, as far as they are kept, without its last token."""
        self._text += 1
        found: list[Block] = []
        number = 0
        for first in range(0, len(ids) - self.width, self.width):
            block = self._blocks.get((number, tuple(ids[first : first + self.width])))
            if block is None:
                break
            block.used = self._text
            found.append(block)
            number = block.number
        return found

    def add(self, before: int, ids: Sequence[int], states: torch.Tensor) -> int | None:
        """Keep the block of `ids` behind the block numbered `before` (0: the beginning), of the text begun last.

        Returns its number, or None where there is no room beside what was kept of the text before.
        """
        key = (before, tuple(ids))
        while self.nbytes + states.nbytes > self.max_bytes:
            # Of the text that was used longest ago the end goes first: without its beginning it could not be found.
            oldest = min(
                self._blocks, key=lambda one: (self._blocks[one].used, -self._blocks[one].number), default=None
            )
            if oldest is None or self._blocks[oldest].used == self._text:
                return None
            self.nbytes -= self._blocks.pop(oldest).states.nbytes
        self._blocks[key] = Block(next(self._numbers), states, self._text)
        self.nbytes += states.nbytes
        return self._blocks[key].number
