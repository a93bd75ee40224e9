"""Grammars that are no schemas, each with texts that it takes (`grammar_set.toml`): EBNF, regular expressions and Lark.

What an engine does for JSON alone shows in the difference between these and the schemas.
Read on: `leave_one_out.py` and `grammars.py`, which run them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from workbench.peers.base import Language


@dataclass(frozen=True, slots=True)
class WrittenGrammar:
    """A grammar in one of the languages, and texts that it takes.

    choices: in place of `text`, words of which one is taken from each list: all that may come of it, written out.
    """

    name: str
    language: Language
    texts: tuple[str, ...]
    text: str = ""
    choices: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.choices:
            object.__setattr__(self, "text", f"({'|'.join(map(' '.join, product(*self.choices)))})")


_ALL: Final = [
    WrittenGrammar(**known)
    for known in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["grammar"]
]
ECMA_404: Final = _ALL[0]
"""JSON as the standard has it."""
GRAMMARS: Final[Mapping[str, WrittenGrammar]] = {grammar.name: grammar for grammar in _ALL[1:]}
"""All others, by name."""
