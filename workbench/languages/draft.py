"""A draft: a source with mistakes in it, on the screen while another grammar is in use.

Read on: `workbench/session/session.py` (`Session.edits.source`, `Session.opened`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn

from kernels_core.errors import MaskscopeError
from workbench.languages.mistakes import Mistake
from workbench.languages.source import Source

_ROOTS: Final = {
    "ebnf": ("root_rule_name", re.compile(r"^\s*([\w.-]+)\s*::=", re.M)),
    "lark": ("start", re.compile(r"^[?!]?([a-z_]\w*)[ \t]*(?:\.-?\d+[ \t]*)?:", re.M)),
}
"""The option that names the rule of a whole text, and how a rule begins."""

NOTHING: Final = Source("ebnf", 'root ::= ""', name="no grammar yet", why="the source that was opened has a mistake")
"""In use while there has been no good source yet: of all texts only the empty one is allowed."""


class DraftError(MaskscopeError, ValueError):
    """The source that was typed last has mistakes, and nothing is made under another in its place."""


@dataclass(frozen=True)
class Draft:
    """What was typed and cannot be used.  `error` is the engine's, `mistakes` its locations in the text (at least one);
    `in_use` is the source that the parser follows meanwhile, `offer` one that was probably meant, and `taking` says in
    words what taking it does."""

    source: Source
    mistakes: tuple[Mistake, ...]
    error: Exception = field(repr=False)
    in_use: Source
    offer: Source | None = None
    taking: str = ""

    @property
    def status(self) -> str:
        """What is in use instead, in one sentence."""
        if self.in_use == NOTHING:
            return "There is no grammar yet, and nothing but the empty text is allowed."
        return "The last good grammar stays in use."

    def refuse(self) -> NoReturn:
        """`DraftError` with the first mistake, for who was asked to work under this source."""
        more = f" (and {len(self.mistakes) - 1} more)" if len(self.mistakes) > 1 else ""
        raise DraftError(f"the source has a mistake, so nothing was run: {self.mistakes[0]}{more}")

    def __str__(self) -> str:
        return "\n".join([*(str(mistake) for mistake in self.mistakes), self.status])


def draft_of(source: Source, mistakes: tuple[Mistake, ...], error: Exception, in_use: Source) -> Draft:
    """The draft of a source with mistakes; where a grammar has no root and no other mistake it offers to begin at the
    first rule."""
    draft = Draft(source, mistakes, error, in_use)
    if source.language not in _ROOTS or len(mistakes) != 1 or not mistakes[0].cure.startswith("name the root rule"):
        return draft
    option, head = _ROOTS[source.language]
    first = head.search(source.text)
    if first is None:
        return draft
    offer = replace(source, options={**source.options, option: first[1]})
    return replace(draft, offer=offer, taking=f"begin at {first[1]}")
