"""Blocks of reasoning, `<think>...</think>` in front of an answer: whether a model writes them, and what is in them.

A model's chat template says which marks it knows.  A block stands at the beginning of an answer, or the prompt has
opened it already; later marks are text.
Read on: `answers.py` (who reads), `constraint.py` (the grammar around a block).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workbench.json_values import BLANKS
from workbench.provenance.prefix import held_back
from workbench.serving.calls import Piece, Said, Thought

LAYOUT: Final = "\\n{0,2}"
"""What stands between a block and an answer that has a format: a pattern."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of reasoning: its marks, and whether the prompt has opened it."""

    begin: str
    end: str
    opened: bool = False

    def before(self, answer: Mapping[str, object]) -> dict[str, object]:
        """A format of structural tags: the block, which may be left out unless it is open, and `answer` behind it."""
        inside = {"type": "any_text", "excludes": [self.begin, self.end]}
        block = {"type": "tag", "begin": "" if self.opened else self.begin, "content": inside, "end": self.end}
        both = {"type": "sequence", "elements": [block, {"type": "regex", "pattern": LAYOUT}]}
        first = both if self.opened else {"type": "optional", "content": both}
        return {"type": "sequence", "elements": [first, answer]}


BLOCKS: Final = (
    Block("<think>", "</think>"),
    Block("[THINK]", "[/THINK]"),
    Block("<mm:think>", "</mm:think>"),
    Block("<seed:think>", "</seed:think>"),
    Block("<|START_THINKING|>", "<|END_THINKING|>"),
)


class ThoughtReader:
    """Takes the block in front of an answer out of its text, piece by piece as it comes.

    layout: a pattern of what may stand behind the block and is none of the answer.  `open`: whether the text is in the
    block now.
    """

    def __init__(self, block: Block, layout: str = f"[{BLANKS}]*") -> None:
        self._block = block
        self._layout = layout
        self._text = ""
        self._undecided = not block.opened
        self._behind = False  # the block has ended, and blanks that follow may be layout
        self.open = block.opened

    def feed(self, text: str, *, last: bool = False) -> list[Piece]:
        """What the next piece of the text adds; with `last` nothing is held back any more."""
        found: list[Piece] = []
        self._text += text
        if self._undecided:
            bare, begin = self._text.lstrip(BLANKS), self._block.begin
            if bare.startswith(begin):
                self._undecided, self.open, self._text = False, True, bare[len(begin) :]
            elif begin.startswith(bare) and not last:
                return []
            else:
                self._undecided = False
        if self.open:
            found += self._inside(last)
        if self._behind and (last or self._text.strip(BLANKS)):
            self._text = re.sub(rf"\A{self._layout}", "", self._text, count=1)
            self._behind = False
        if not self.open and not self._behind and self._text:
            found.append(Said(self._text))
            self._text = ""
        return found

    def _inside(self, last: bool) -> list[Piece]:
        end = self._block.end
        place = self._text.find(end)
        if place >= 0:
            thought, self._text = self._text[:place], self._text[place + len(end) :]
            self.open, self._behind = False, True
        else:
            cut = len(self._text) - (0 if last else held_back(self._text, [end]))
            thought, self._text = self._text[:cut], self._text[cut:]
        return [Thought(thought)] if thought else []
