"""What those who say what may come, and where it comes from, need to know: a source, and a place in a text.

`workbench/next` and `workbench/provenance` take this protocol and no session, so that they can be tried alone and the
session can ask them.

Read on: `inspector.py` (who fulfils it).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from kernels_core.inspect.snapshots import Ids
from workbench.session.history import Place, Step

if TYPE_CHECKING:
    from kernels_core import CompiledGrammar, Grammar, GrammarMatcher
    from kernels_core.inspect.dispatch import Modes
    from kernels_core.inspect.look import RestCaller
    from kernels_core.inspect.snapshots import Frontier, TokenSets
    from workbench.languages import Source
    from workbench.session.result import Reading
    from workbench.tokenizers import Tokenizer


class Context(Protocol):
    """A source and a place in a text; see `Session` and `Inspector` for what each name is."""

    @property
    def document(self) -> Source: ...

    @property
    def grammar(self) -> Grammar: ...

    @property
    def compiled(self) -> CompiledGrammar: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def text(self) -> bytes: ...

    @property
    def position(self) -> int: ...

    @property
    def steps(self) -> tuple[Step, ...]: ...

    @property
    def place(self) -> Place: ...

    @property
    def is_completed(self) -> bool: ...

    @property
    def is_terminated(self) -> bool: ...

    @property
    def matcher(self) -> GrammarMatcher: ...

    def shadow(self) -> GrammarMatcher: ...

    def held(self) -> AbstractContextManager[object]: ...

    def explain(self, what: str | bytes | int) -> Reading: ...

    def frontier(self) -> Frontier: ...

    def modes(self) -> Modes: ...

    def token_sets(self) -> TokenSets: ...

    def rest_callers(self) -> tuple[tuple[RestCaller, ...], ...]: ...

    def allowed_array(self) -> Ids: ...
