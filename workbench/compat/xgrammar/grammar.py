"""`Grammar` with XGrammar's arguments and defaults; the languages are those of `kernels_core.grammar`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernels_core import Grammar as EngineGrammar
from kernels_core.grammar.json_text import JSON_TEXT

from ...lazy import lazy_names
from .base import XGRObject
from .exception import DeserializeFormatError, InvalidArgumentError, runtime_errors
from .schemas import engine_arguments, with_fallback
from .serialization import dump, load, rules_of
from .tag_arguments import engine_tag
from .tag_phrases import tag_errors
from .tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from workbench.compat.xgrammar.structural_tag import StructuralTagItem

__all__ = ["Grammar", "StructuralTagItem", "builtin_json_grammar", "lark_grammar", "require_named", "require_schema"]


__getattr__, __dir__ = lazy_names(__name__, cure="pip install 'maskscope[workbench]'")  # pydantic is for who asks


class Grammar(XGRObject[EngineGrammar]):
    """A grammar, free of any vocabulary; `str` writes it as EBNF that can be read again."""

    def __str__(self) -> str:
        """As EBNF whose start is called root, whatever it is called in `engine`."""
        text, start = str(self.engine), self.engine.ir.root
        if start == "root":
            return text
        if "root" in self.engine.ir.rules:
            return str(EngineGrammar.concat(self.engine, EngineGrammar.from_ebnf('root ::= ""')))
        return f"root ::= {start}\n{text}"

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> Grammar:
        """Of EBNF text."""
        with runtime_errors():
            return Grammar.wrap(EngineGrammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name))

    @staticmethod
    def from_json_schema(
        schema: object,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        print_converted_ebnf: bool = False,
        any_order: bool = False,
    ) -> Grammar:
        """Of a JSON schema: JSON text, a dict, or a pydantic model.

        strict_mode: what a schema that lists properties or prefix items does not mention is forbidden.
        any_order: members in any order, as XGrammar has it: as many as there are required names, whichever they are;
            `kernels_core.Grammar.from_json_schema` asks for each once.
        print_converted_ebnf: print the grammar.
        The others are those of `kernels_core.Grammar.from_json_schema`.

        Raises `UnsupportedSchemaError` with every reason: a keyword is respected, or the schema is refused, but for
        `multipleOf` and `oneOf`, which give way with a warning (`schemas.py`).
        """
        require_schema(schema)
        arguments = engine_arguments(
            any_whitespace=any_whitespace,
            indent=indent,
            separators=separators,
            strict_mode=strict_mode,
            max_whitespace_cnt=max_whitespace_cnt,
            any_order=any_order,
        )
        with runtime_errors():
            made = with_fallback(schema, lambda value: EngineGrammar.from_json_schema(value, **arguments))
        grammar = Grammar.wrap(made)
        return _printed(grammar, print_converted_ebnf)

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """Of a regular expression, matched as a whole."""
        with runtime_errors():
            grammar = Grammar.wrap(EngineGrammar.from_regex(regex_string))
        return _printed(grammar, print_converted_ebnf)

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        named_grammars: dict[str, Grammar | str] | None = None,
    ) -> Grammar:
        """Of Lark text whose start is `start` (the dialect: `kernels_core.grammar.lark`).

        tokenizer_info: where tokens that are named are looked up.
        named_grammars: what `@name` calls, each a `Grammar` or Lark text.
        """
        with runtime_errors():
            return Grammar.wrap(lark_grammar(lark_string, tokenizer_info, named_grammars))

    @staticmethod
    def from_structural_tag(*args: object, **kwargs: object) -> Grammar:
        """Of a structural tag, or in the older form of tags and triggers.

        Tokens that are given by their text need a vocabulary: `GrammarCompiler.compile_structural_tag`.
        Raises `InvalidJSONError` or `InvalidStructuralTagError`, which names the location.
        """
        with runtime_errors():
            tag = engine_tag(args, kwargs, "from_structural_tag")
            with tag_errors(tag):
                return Grammar.wrap(with_fallback(tag, EngineGrammar.from_structural_tag))

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """Any JSON object or array; `kernels_core.Grammar.builtin_json_grammar` takes single values too."""
        return Grammar.wrap(builtin_json_grammar())

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """Texts of each grammar, one after the other; of no grammar, the empty text."""
        if not grammars:
            return Grammar.from_ebnf('root ::= ""')
        with runtime_errors():
            return Grammar.wrap(EngineGrammar.concat(*(grammar.engine for grammar in grammars)))

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """Texts of any of the grammars."""
        with runtime_errors():
            return Grammar.wrap(EngineGrammar.union(*(grammar.engine for grammar in grammars)))

    def serialize_json(self) -> str:
        """As JSON text, which `deserialize_json` reads."""
        return dump("Grammar", **rules_of(self.engine))

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """Back from `serialize_json`; `DeserializeVersionError` for what another library wrote."""
        fields = load(json_string, "Grammar", "root", "ebnf")
        try:
            return Grammar.from_ebnf(fields["ebnf"], root_rule_name=fields["root"])
        except (TypeError, ValueError) as error:
            raise DeserializeFormatError(f"the serialised Grammar cannot be read: {error}") from None


def builtin_json_grammar() -> EngineGrammar:
    """The engine's grammar of JSON, whose whole text is an object or an array."""
    return EngineGrammar.from_ebnf(JSON_TEXT.replace("::= value\n", "::= object | array\n", 1))


def require_schema(schema: object) -> None:
    """Refuse what is neither JSON text nor a dict or bool nor a pydantic model."""
    if not isinstance(schema, str | dict | bool) and not hasattr(schema, "model_json_schema"):
        raise InvalidArgumentError(f"a schema is JSON text, a dict or a pydantic model, not a {type(schema).__name__}")


def require_named(named: object) -> Mapping[str, Grammar | str] | None:
    """`named_grammars` as it was given; `TypeError`, as in XGrammar, for what is no dictionary of them by name."""
    if named is None:
        return None
    if not isinstance(named, Mapping):
        raise TypeError(f"named_grammars must be a dictionary of grammars by name, not a {type(named).__name__}")
    for name, value in named.items():
        if not isinstance(name, str):
            raise TypeError(f"named_grammars: names must be strings, and {name!r} is a {type(name).__name__}")
        if not isinstance(value, str | Grammar):
            reason = "values must be Grammar instances or Lark strings"
            raise TypeError(f"named_grammars: {reason}, and that of {name!r} is a {type(value).__name__}")
    return named


def lark_grammar(text: str, info: TokenizerInfo | None, named: Mapping[str, Grammar | str] | None) -> EngineGrammar:
    """The engine's grammar of Lark text."""
    vocabulary = None if info is None else info.engine
    given = dict(require_named(named) or {})
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    found = {name: value.engine for name, value in given.items() if isinstance(value, Grammar)}

    def read(lark: str) -> EngineGrammar:
        return EngineGrammar.from_lark(
            lark, tokenizer_info=vocabulary, grammars=found, plain_integers=True, trailing_skip=True
        )

    while texts:  # texts may call each other: those that call what is known come first
        ready = [name for name, lark in texts.items() if not _calls(lark) & texts.keys()]
        if not ready:
            circle = " -> ".join(f"@{name}" for name in _circle(texts))
            raise InvalidArgumentError(f"named_grammars: circular named grammar reference: {circle}")
        for name in ready:
            found[name] = read(texts.pop(name))
    return read(text)


def _circle(texts: Mapping[str, str]) -> list[str]:
    """Names of texts that call each other, from one back to it; each of `texts` calls another of them."""
    path = [next(iter(texts))]
    while path[-1] not in path[:-1]:
        path.append(min(_calls(texts[path[-1]]) & texts.keys()))
    return path[path.index(path[-1]) :]


def _calls(lark: str) -> set[str]:
    """Names behind `@` in Lark text; one in a comment or a string counts, too, and does no harm but in a circle."""
    return set(re.findall(r"@([A-Za-z0-9_\-]+)", lark))


def _printed(grammar: Grammar, wanted: bool) -> Grammar:
    if wanted:
        print(grammar)
    return grammar
