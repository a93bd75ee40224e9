"""Small grammars that answer "would this text still be possible?": for a branch of a schema, a pattern, a variant.

Each is compiled over single bytes, once, and kept; none of them is the grammar that a session runs, so asking disturbs
nothing.  Compiling one takes about a millisecond, reading a text with it microseconds.

Read on: `workbench/provenance/schema.py` (branches that are alive), `workbench/provenance/reasons.py` (variants).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import BudgetExceededError, MaskscopeError
from kernels_core.locks import new_lock
from workbench.session.masks import Known

_KEPT = 2_000


class Oracle:
    """One small grammar, or the fact that there is none: it has no text at all, or (`unknown`) would be too large."""

    def __init__(self, compiled: CompiledGrammar | None, unknown: bool = False) -> None:
        self._compiled = compiled
        self.unknown = unknown

    def matcher(self) -> GrammarMatcher | None:
        """A fresh matcher, None where there is no grammar."""
        return None if self._compiled is None else GrammarMatcher(self._compiled)

    def begins(self, text: bytes) -> bool:
        """Whether some text of the grammar begins with `text`; True where that is unknown."""
        if self._compiled is None:
            return self.unknown
        return bool(GrammarMatcher(self._compiled).accept_string(text))

    def holds(self, text: bytes) -> bool:
        """Whether `text` is a text of the grammar; True where that is unknown."""
        if self._compiled is None:
            return self.unknown
        matcher = GrammarMatcher(self._compiled)
        return bool(matcher.accept_string(text)) and bool(matcher.is_completed())


class Oracles:
    """Oracles by key, the least recently used forgotten; safe to share between threads."""

    def __init__(self) -> None:
        vocabulary: list[str | bytes] = [bytes((value,)) for value in range(256)]
        info = TokenizerInfo([*vocabulary, b""], stop_token_ids=[256])
        self._compiler = GrammarCompiler(info, options=Options())
        self._kept = Known(_KEPT)
        self._lock = new_lock()

    def get(self, key: Hashable, make: Callable[[], Grammar]) -> Oracle:
        """The oracle of `key`; `make` makes its grammar, or raises where there is none."""
        kept: list[Oracle]
        with self._lock:
            kept = self._kept.once(key, "oracle", list)
        if not kept:  # compiled outside the lock: others find theirs meanwhile
            kept.append(self._made(make))
        return kept[0]

    def _made(self, make: Callable[[], Grammar]) -> Oracle:
        try:
            return Oracle(self._compiler.compile_grammar(make()))
        except BudgetExceededError:
            return Oracle(None, unknown=True)
        except MaskscopeError:
            return Oracle(None)
