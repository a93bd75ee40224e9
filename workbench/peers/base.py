"""What an engine must be able to do: `Engine` compiles for one vocabulary, `Constraint` follows texts.

The two calls that are timed, `fill` and `accept`, are attributes that hold the engine's own bound method, so that no
wrapper of ours is part of the time.  Everything else may take what it takes.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from kernels_core import allocate_token_bitmask
from workbench.peers.errors import NotRunError, RefusedError
from workbench.peers.toolsets import ToolSet
from workbench.tokenizers import Tokenizer

__all__ = ["Constraint", "Engine", "Language", "NotRunError", "RefusedError", "quiet"]

Language = Literal["ebnf", "lark", "regex", "json_schema", "structural_tag"]
"""What a grammar's text may be written in."""


@contextmanager
def quiet() -> Iterator[None]:
    """The garbage collector off: one collection in mid-walk would cost more than a thousand masks."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Constraint(ABC):
    """Something compiled, and one text under it.  Made by an `Engine`, ready for its first mask.

    fill: writes the mask of the next token into `bitmask`; takes nothing, its result does not matter.
    accept: takes a token id; a result that is not true means that the token was refused.
    bitmask: one row, int32, 1 = allowed, least significant bit first.

    `fill` and `accept` may be other objects after a `reset`: fetch them again.  They are for as long as the constraint
    lives: `fill` may know no more of `bitmask` than its address.
    """

    fill: Callable[[], object]
    accept: Callable[[int], object]
    bitmask: npt.NDArray[np.int32]

    def allowed(self, token: int) -> bool:
        """Whether the mask last filled allows `token`."""
        return bool((int(self.bitmask[token >> 5]) >> (token & 31)) & 1)

    @abstractmethod
    def reset(self) -> None:
        """Back to the empty text; what was learnt about the grammar may be kept."""

    @abstractmethod
    def takes(self, token: int) -> bool:
        """Whether `accept` would take `token` here, whatever the mask says; nothing changes.  Not meant to be quick."""

    def state(self) -> int | None:
        """Equal numbers mean the same parser state; None where the engine knows no such thing."""
        return None

    def failure(self) -> str | None:
        """Why the engine gave up on this text (a limit, an internal error), if it did."""
        return None


class Engine(ABC):
    """One engine with one vocabulary, on one thread.

    name: in tables.  `version`: of the installed `package`.  `settings`: what was chosen where the engine has a choice.
    canonical_masks: of forced text the mask holds one token alone, on purpose, though `accept` takes other cuts.
    languages: those of the texts that it reads.  refusals: what it raises for one that it does not take.
    The `compile_...` methods are what is timed as compiling: from text to something whose first mask can be asked for.
    Tools are in a request that a server has parsed: `tools_request`, not timed, puts them as the engine takes them.
    `RefusedError` when the engine does not take the input.
    """

    name: str
    package: ClassVar[str] = ""
    settings: ClassVar[str] = ""
    canonical_masks: ClassVar[bool] = False
    languages: ClassVar[Collection[Language]] = ()
    refusals: ClassVar[tuple[type[Exception], ...]] = (ValueError, TypeError)

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocab_size = tokenizer.vocab_size
        self.stop_token_ids = list(tokenizer.info.stop_token_ids)
        if not self.stop_token_ids:
            raise NotRunError(f"{tokenizer.name} has no stop token: the end of texts cannot be checked")

    @cached_property
    def version(self) -> str:
        """Of the engine."""
        # Once: reading metadata drives the engine out of the machine's caches, and trials ask between two compiles.
        return metadata.version(self.package)

    def compile_source(self, language: Language, text: str) -> Constraint:
        """A grammar's text: EBNF begins with the rule `root`, Lark with `start`; a regular expression must match the
        whole text, and a structural tag is JSON.  `NotRunError` where the engine does not read the language."""
        if language not in get_args(Language):
            raise ValueError(f"unknown language {language!r}: one of {', '.join(get_args(Language))}")
        if language not in self.languages:
            raise NotRunError(f"{self.name}: {language} is not supported")
        return self._taken(self._compile, language, text)

    @abstractmethod
    def _compile(self, language: Language, text: str) -> Constraint:
        """Of one of `languages`; raises one of `refusals` where the engine does not take it."""

    def compile_tools(self, request: Any) -> Constraint:
        """What `tools_request` returned."""
        return self._taken(self._compile_tools, request)

    def tools_request(self, tools: ToolSet) -> Any:
        """Free text with calls of the tools in it, in whatever form the engine takes such a thing quickest."""
        raise NotRunError(f"{self.name}: structural tags are not supported")

    def _compile_tools(self, request: Any) -> Constraint:
        """As `_compile`; an engine that makes no request is never given one."""
        raise NotImplementedError

    def _taken(self, make: Callable[..., Constraint], *given: object) -> Constraint:
        try:
            return make(*given)
        except self.refusals as error:
            raise RefusedError(str(error)) from error

    def forget(self) -> None:  # noqa: B027  (most engines keep none)
        """Empty every cache that outlives a compilation; tables of the vocabulary stay."""

    def new_bitmask(self) -> npt.NDArray[np.int32]:
        """One row for this vocabulary, shape (1, words)."""
        return allocate_token_bitmask(1, self.vocab_size)

    def control_ids(self) -> set[int]:
        """Ids that are never text."""
        return {*self.tokenizer.info.special_token_ids, *self.stop_token_ids}
