"""`GrammarCompiler` and `CompiledGrammar` with XGrammar's arguments, over `kernels_core.GrammarCompiler`."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable

from kernels_core import CompiledGrammar as EngineCompiled
from kernels_core import Grammar as EngineGrammar
from kernels_core import GrammarCompiler as EngineCompiler
from kernels_core import Options
from kernels_core.compile_cache import CompileCache
from kernels_core.grammar.json_schema import schema_text

from .base import XGRObject, of_engine
from .exception import DeserializeFormatError, InvalidArgumentError, runtime_errors
from .grammar import Grammar, builtin_json_grammar, lark_grammar, require_named, require_schema
from .schemas import engine_arguments, with_fallback
from .serialization import dump, load, rules_of
from .tag_arguments import engine_tag
from .tag_phrases import tag_errors
from .tokenizer_info import TokenizerInfo


class CompiledGrammar(XGRObject[EngineCompiled]):
    """A grammar compiled for a vocabulary; give it to `GrammarMatcher`."""

    grammar: Grammar = of_engine("grammar", "What was compiled.", Grammar.wrap)
    tokenizer_info: TokenizerInfo = of_engine("tokenizer_info", "The vocabulary.", TokenizerInfo.wrap)
    memory_size_bytes: int = of_engine(
        "memory_size_bytes", "Bytes held at the moment; they grow while masks are computed."
    )

    def serialize_json(self) -> str:
        """The grammar and what the vocabulary was, as JSON text."""
        engine = self.engine
        metadata = self.tokenizer_info.dump_metadata()
        return dump("CompiledGrammar", **rules_of(engine.grammar), tokenizer=metadata)

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """Back from `serialize_json`, compiled again.

        Raises `DeserializeFormatError` when the vocabulary is not the one it was compiled for, token by token.
        """
        fields = load(json_str, "CompiledGrammar", "root", "ebnf", "tokenizer")
        try:
            fingerprint = json.loads(fields["tokenizer"])["fingerprint"]
            grammar = Grammar.from_ebnf(fields["ebnf"], root_rule_name=fields["root"])
        except (KeyError, TypeError, ValueError) as error:
            raise DeserializeFormatError(f"the serialised CompiledGrammar cannot be read: {error}") from None
        if fingerprint != tokenizer_info.engine.fingerprint:
            raise DeserializeFormatError(
                "this was compiled for another vocabulary: the bytes of the tokens, the special or the stop ids differ"
            )
        with runtime_errors():
            compiled = EngineCompiler(tokenizer_info.engine, cache_enabled=False).compile_grammar(grammar.engine)
        return CompiledGrammar.wrap(compiled)


class GrammarCompiler(XGRObject[EngineCompiler]):
    """Compiles grammars for one vocabulary, and keeps what it compiled.

    max_threads: taken and not needed: compiling computes no masks, so there is nothing to share out.
    cache_enabled: keep compiled grammars, and share token sets between them.
    cache_limit_bytes: what may be kept, -1 for any amount; two thirds are for grammars, one for shared token sets.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            kind = type(tokenizer_info).__name__
            raise InvalidArgumentError(f"GrammarCompiler takes a TokenizerInfo, not {kind}: TokenizerInfo.from_...")
        if cache_limit_bytes < -1:
            raise InvalidArgumentError(f"cache_limit_bytes is -1 or a number of bytes, not {cache_limit_bytes}")
        self._info = tokenizer_info
        self._limit = cache_limit_bytes
        self._enabled = cache_enabled
        shared = cache_limit_bytes // 3
        options = Options(cross_grammar_cache=cache_enabled and cache_limit_bytes != 0)
        if shared > 0:
            options = Options(pool_bytes=shared, cross_grammar_cache=cache_enabled)
        self._engine = EngineCompiler(tokenizer_info.engine, options=options, cache_enabled=False)
        pool = self._engine.pool
        self._at_first = 0 if pool is None else pool.nbytes  # token sets that every compiler begins with
        self._cache = CompileCache(cache_limit_bytes - shared if cache_limit_bytes > 0 else cache_limit_bytes)

    def compile_json_schema(
        self,
        schema: object,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool = False,
    ) -> CompiledGrammar:
        """Compile a JSON schema; arguments and errors are those of `Grammar.from_json_schema`."""
        arguments = engine_arguments(
            any_whitespace=any_whitespace,
            indent=indent,
            separators=separators,
            strict_mode=strict_mode,
            max_whitespace_cnt=max_whitespace_cnt,
            any_order=any_order,
        )
        require_schema(schema)
        with runtime_errors():
            key = ("schema", schema_text(schema), repr(arguments))
        return self._compiled(
            key, lambda: with_fallback(schema, lambda value: EngineGrammar.from_json_schema(value, **arguments))
        )

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Compile the grammar of any JSON object or array."""
        return self._compiled("builtin", builtin_json_grammar)

    def compile_regex(self, regex: str) -> CompiledGrammar:
        """Compile a regular expression, matched as a whole."""
        return self._compiled(("regex", regex), lambda: EngineGrammar.from_regex(regex))

    def compile_lark(
        self, lark_string: str, *, named_grammars: dict[str, Grammar | str] | None = None
    ) -> CompiledGrammar:
        """Compile Lark text; tokens that are named are looked up here.  See `Grammar.from_lark`."""
        named = require_named(named_grammars)
        key = ("lark", lark_string, tuple(sorted((named or {}).items(), key=lambda item: item[0])))
        return self._compiled(key, lambda: lark_grammar(lark_string, self._info, named_grammars))

    def compile_structural_tag(self, *args: object, **kwargs: object) -> CompiledGrammar:
        """Compile a structural tag, or in the older form tags and triggers; tokens may be given by their text."""
        with runtime_errors():
            tag = engine_tag(args, kwargs, "compile_structural_tag")
            key = ("tag", schema_text(tag))
        info = self._info.engine

        def make() -> EngineGrammar:
            with tag_errors(tag):
                return with_fallback(tag, lambda value: EngineGrammar.from_structural_tag(value, tokenizer_info=info))

        return self._compiled(key, make)

    def compile_grammar(self, grammar: str | Grammar, *, root_rule_name: str = "root") -> CompiledGrammar:
        """Compile a `Grammar`, or EBNF text with `root_rule_name` as its start."""
        if isinstance(grammar, str):
            key = ("ebnf", grammar, root_rule_name)
            return self._compiled(key, lambda: EngineGrammar.from_ebnf(grammar, root_rule_name=root_rule_name))
        if not isinstance(grammar, Grammar):
            raise InvalidArgumentError(f"compile_grammar takes a Grammar or EBNF text, not {type(grammar).__name__}")
        return self._compiled(grammar.engine, lambda: grammar.engine)

    def _compiled(self, key: Hashable, make: Callable[[], EngineGrammar]) -> CompiledGrammar:
        def compiled() -> EngineCompiled:
            return self.engine.compile_grammar(make())

        with runtime_errors():
            return CompiledGrammar.wrap(self._cache.get(key, compiled) if self._enabled else compiled())

    def clear_cache(self) -> None:
        """Forget what was compiled, shared token sets included; grammars in use live on."""
        self._cache.clear()
        if self.engine.pool is not None:
            self.engine.pool.clear()
            self._at_first = 0

    def get_cache_size_bytes(self) -> int:
        """Bytes kept, by grammars and by shared token sets; sets that both hold count twice.

        What a compiler of a large vocabulary begins with does not count.
        """
        pool = self.engine.pool
        return self._cache.nbytes + (0 if pool is None else max(0, pool.nbytes - self._at_first))

    @property
    def cache_limit_bytes(self) -> int:
        """The limit, -1 for none."""
        return self._limit
