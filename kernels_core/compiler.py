"""`GrammarCompiler`: from a grammar and a vocabulary to a `CompiledGrammar` (`compiled.py`), which matchers follow.

Compiling lowers the grammar to automata and no more: parser states and masks are made when they are first met.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from itertools import count as counting
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack
from weakref import WeakValueDictionary

from kernels_core.clock import CancelToken, TimeLimit
from kernels_core.compile_cache import CompileCache
from kernels_core.compiled import CompiledGrammar, trie_of
from kernels_core.earley.arena import reserve
from kernels_core.errors import GrammarNote, GrammarWarning
from kernels_core.grammar import Grammar
from kernels_core.grammar.length import request
from kernels_core.locks import new_lock
from kernels_core.masks.pool import TokenSetPool
from kernels_core.options import Options
from kernels_core.tokens import TokenizerInfo
from kernels_core.warm_start import FROM_TOKENS, visit_samples

if TYPE_CHECKING:
    from kernels_core.grammar.json_schema import SchemaArguments

_WARM_LOCK = new_lock()
_UNLIMITED = Options(max_compile_ms=0, max_fill_ms=0)  # for what is done once for a vocabulary
CACHE_BYTES = 1 << 30  # of compiled grammars that one compiler remembers, unless it is told otherwise
TOLD: ContextVar[bool] = ContextVar("told elsewhere", default=False)
_RESERVE = 1 << 22  # bytes for parser states and masks that are ready before the first grammar


def _pool(info: TokenizerInfo, options: Options) -> TokenSetPool:
    """A cross-grammar cache, with what all compilers of the vocabulary start with (`warm_start.py`)."""
    trie = trie_of(info)
    pool = TokenSetPool(trie, max_bytes=options.pool_bytes, fingerprint=info.fingerprint)
    if options.warm_start and options.parser == "earley" and trie.token_count >= FROM_TOKENS:
        with _WARM_LOCK:
            if trie.warm is None:
                warm = TokenSetPool(trie)
                visit_samples(lambda grammar: CompiledGrammar(grammar, info, _UNLIMITED, warm))
                trie.warm = warm
        pool.adopt(trie.warm)
    return pool


@contextmanager
def told_elsewhere() -> Iterator[None]:
    """Within this nothing warns of a grammar: who enters it shows `Grammar.warnings` in another way, or not at all."""
    before = TOLD.set(True)
    try:
        yield
    finally:
        TOLD.reset(before)


def outside(package: str = "kernels_core") -> int:
    """The `stacklevel` at which a warning of the caller of this names the code that called `package`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(f"{package}."):
        level, frame = level + 1, frame.f_back
    return level


class GrammarCompiler:
    """Compiles grammars for one vocabulary, and remembers what it compiled (`cache_enabled`).

    cache_bytes: what remembered grammars may hold together (`CompiledGrammar.held_bytes`) before those that were not
    asked for longest are forgotten; -1 is any amount.  Grammars in use live on.
    All its grammars share `pool`, the cross-grammar cache of token sets (`Options.cross_grammar_cache`).
    Safe to use from several threads.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        options: Options | None = None,
        cache_enabled: bool = True,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise TypeError(f"GrammarCompiler takes a TokenizerInfo, not {type(tokenizer_info).__name__}")
        if cache_bytes < -1:
            raise ValueError(f"cache_bytes is -1 (any amount) or a number of bytes, not {cache_bytes}")
        # What reads schemas and tags is imported with the first compiler, since the first request would wait for it.
        import_module("kernels_core.grammar.structural_tag")
        self.tokenizer_info = tokenizer_info
        self.options = options or Options()
        self.cache_enabled = cache_enabled
        reserve(_RESERVE)
        self.pool = _pool(tokenizer_info, self.options) if self.options.cross_grammar_cache else None
        self._cache = CompileCache(cache_bytes)
        self._alive: WeakValueDictionary[int, CompiledGrammar] = WeakValueDictionary()
        self._serials = counting()

    def _compile(self, grammar: Grammar) -> CompiledGrammar:
        grammar = grammar.noted(self.tokenizer_info)
        made = CompiledGrammar(grammar, self.tokenizer_info, self.options, self.pool)
        for note in () if TOLD.get() else grammar.told:
            if isinstance(note, GrammarNote):
                warnings.warn(str(note), GrammarWarning, stacklevel=outside())
        self._alive[next(self._serials)] = made
        return made

    @property
    def grammars(self) -> tuple[CompiledGrammar, ...]:
        """What was compiled here and is still held by somebody, in the order in which it was compiled."""
        held = ((ref.key, ref()) for ref in self._alive.valuerefs())
        return tuple(made for _, made in sorted(held, key=itemgetter(0)) if made is not None)

    def compile_grammar(
        self, grammar: Grammar | str, *, root_rule_name: str = "root", cancel: CancelToken | None = None
    ) -> CompiledGrammar:
        """Compile a `Grammar`, or EBNF text with `root_rule_name` as its start; `cancel` may call it off."""
        with self._limit("a grammar", cancel, grammar):
            if isinstance(grammar, str):
                grammar = Grammar.from_ebnf(grammar, root_rule_name=root_rule_name)
            elif not isinstance(grammar, Grammar):
                raise TypeError(
                    f"compile_grammar takes a Grammar or EBNF text, not {type(grammar).__name__}; "
                    "schemas go to compile_json_schema, tags to compile_structural_tag"
                )
            return self._by_grammar(grammar)

    def compile_regex(
        self,
        regex: str,
        *,
        flags: str = "",
        match: Literal["full", "search"] = "full",
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compile a regular expression; arguments and errors are those of `Grammar.from_regex`."""
        with self._limit("a regular expression", cancel, regex):
            return self._by_grammar(Grammar.from_regex(regex, flags=flags, match=match))

    def compile_lark(
        self,
        lark: str,
        *,
        start: str = "start",
        grammars: Mapping[str, Grammar] | None = None,
        imports: Mapping[str, str] | None = None,
        base_path: str | PathLike[str] | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compile Lark text, whose tokens are looked up in this compiler's vocabulary; see `Grammar.from_lark`."""
        with self._limit("a Lark grammar", cancel, lark):
            read = Grammar.from_lark(
                lark,
                start=start,
                tokenizer_info=self.tokenizer_info,
                grammars=grammars,
                imports=imports,
                base_path=base_path,
            )
            return self._by_grammar(read)

    def compile_structural_tag(
        self,
        tag: Any,
        triggers: Sequence[str] | None = None,
        *,
        lenient: bool = False,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compile a structural tag: a dict or JSON text, or a list of older items with their `triggers`.

        `lenient`: as in `Grammar.from_json_schema`, for all schemas in the tag.
        Text that was compiled before is found without being read again.
        """
        from kernels_core.grammar.structural_tag import read_structural_tag

        with self._limit("a structural tag", cancel, tag):
            kind = "structural tag, lenient" if lenient else "structural tag"
            known_as = (tag, f"{kind}, as it was given") if isinstance(tag, str) and triggers is None else None
            if known_as is not None and (known := self._cache.find(known_as)) is not None:
                return known
            read = read_structural_tag(tag, triggers)
            key = (read.text, kind)
            made = self._by_text(key, lambda: Grammar.of_written_tag(read, self.tokenizer_info, lenient))
            if known_as is not None:
                self._cache.alias(known_as, key)
            return made

    def compile_json_schema(
        self, schema: Any, *, cancel: CancelToken | None = None, **arguments: Unpack[SchemaArguments]
    ) -> CompiledGrammar:
        """Compile a JSON schema; arguments and errors are those of `Grammar.from_json_schema`."""
        from kernels_core.grammar.json_schema import load_schema, reached_resources, schema_text

        with self._limit("a JSON schema", cancel, schema):
            text, documents = schema_text(schema), None
            if arguments.get("resources"):
                documents = arguments["resources"] = reached_resources(load_schema(text), arguments["resources"])
            options = sorted((name, value) for name, value in arguments.items() if name != "resources")
            key = (text, repr(options), documents.key if documents else ())
            return self._by_text(key, lambda: Grammar.from_json_schema(schema, **arguments))

    def _limit(self, what: str, cancel: CancelToken | None, given: object) -> TimeLimit:
        """The time of one compile of what was `given`, reading included."""
        return request(self.options.max_compile_ms, f"compiling {what}", given, cancel=cancel)

    def _by_grammar(self, read: Grammar) -> CompiledGrammar:
        return self._cache.get(read.key, lambda: self._compile(read)) if self.cache_enabled else self._compile(read)

    def _by_text(self, key: tuple[Hashable, ...], read: Callable[[], Grammar]) -> CompiledGrammar:
        """What was compiled for `key` before, which says all about the grammar that `read` returns; or compile that."""

        def compiled() -> CompiledGrammar:
            return self._compile(read())

        return self._cache.get(key, compiled) if self.cache_enabled else compiled()

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Compile the grammar of any JSON value."""
        return self.compile_grammar(Grammar.builtin_json_grammar())

    def save_pool(self, path: str | Path) -> int:
        """Write the cross-grammar cache to a file for `load_pool`; returns how many token sets there are in it.

        The file is private to its owner (`masks/pool.pyx` says why).  `ValueError` without a cache.
        """
        return int(self._shared_pool().save(path))

    def load_pool(self, path: str | Path) -> int:
        """Start with a cross-grammar cache that another process saved; returns how many token sets were taken.

        Must come before the first compile.  `PoolFileError` for a file that is damaged, for another vocabulary or
        another version; nothing is changed then.  Load only what you trust: masks come from it.
        """
        return int(self._shared_pool().load(path))

    def _shared_pool(self) -> TokenSetPool:
        if self.pool is None:
            raise ValueError("this compiler has no cross-grammar cache (Options.cross_grammar_cache)")
        return self.pool

    def clear_cache(self) -> None:
        """Forget compiled grammars; those still in use live on."""
        self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        """About what the compiled grammars hold that are remembered, in bytes."""
        return self._cache.nbytes

    def __repr__(self) -> str:
        count = len(self._cache)
        return f"<GrammarCompiler for {self.tokenizer_info.vocab_size:,} tokens, {count} grammars cached>"
