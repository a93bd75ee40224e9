"""A source: one text in one language, with its options, which becomes a grammar; mistakes are placed in the text.

    source = Source.of({"type": "object", "properties": {"city": {"type": "string"}}})
    source.language, source.why       # 'json_schema', and how that was guessed
    source.grammar(tokenizer.info)    # a kernels_core.Grammar, or an error with its line and column
    source.check(tokenizer.info)      # the mistakes, as data

The text is what was typed, whatever the language; values that were never text (a dict, a pydantic model) are laid out
once.  The parser, the editor and `explain` all point into this text.

Read on: `guess.py` (which language), `mistakes.py` (where), `tools.py` (tools to tags), `positions.py` (JSON by place).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_origin

from kernels_core import (
    CancelToken,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    TokenizerInfo,
)
from kernels_core.compiler import told_elsewhere
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.ir import GrammarIR
from kernels_core.grammar.json_schema import SchemaArguments, SchemaOptions
from kernels_core.grammar.json_text import exact_number
from kernels_core.grammar.templates import model_templates
from workbench.json_values import Json
from workbench.languages.guess import (
    COMMENTED,
    LANGUAGES,
    TITLES,
    Guess,
    Language,
    guess_text,
    guess_value,
    is_name,
    path_of,
)
from workbench.languages.layout import AS_A_TOOL, as_a_tool, lay_out
from workbench.languages.mistakes import Mistake, locate
from workbench.languages.positions import (
    JsonSyntaxError,
    JsonText,
    load_json,
    no_number,
    read_json,
    without_comments,
)
from workbench.languages.tools import DEFAULT_MODEL, DEFAULT_REASONING, REQUEST_KEYS, ToolTag, tag_of_tools

if TYPE_CHECKING:
    from collections.abc import Callable

_JSON: Final = frozenset(("json_schema", "structural_tag", "tools"))
_WITH_TOKENS: Final = ("lark", "structural_tag")  # languages that write tokens by their text
_FEW: Final = 4  # texts that a message repeats
_MODULES: Final = re.compile(r"^\s*%import\s+(?!common\b)", re.MULTILINE)
_ALIASES: Final = {"gbnf": "ebnf", "schema": "json_schema", "jsonschema": "json_schema", "tag": "structural_tag"}

SAID: Final = "it was said"
"""`Source.why` where nobody guessed."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a language that a person may set beside the text: "flag", "text", "number" or "choice".

    `label`: what an editor calls it, where that is not its name."""

    name: str
    kind: Literal["flag", "text", "number", "choice"]
    default: object
    help: str
    choices: tuple[str, ...] = ()
    label: str = ""


ORDERS: Final = ("any", "declared")
WRITTEN: Final[SchemaArguments] = {
    "order": "declared",
    "canonical_numbers": True,
    "whitespace_before_separators": False,
    "max_whitespace_cnt": 1,
}
"""How JSON of a schema is spelt where a model writes it."""
CAPS: Final = {"maxLength": 64, "maxItems": 8, "maxProperties": 8}
"""Bounds for what a small model would repeat for ever, by a word: the option `caps` of schemas and tools."""
OPTIONS: Final[dict[Language, tuple[Option, ...]]] = {
    "ebnf": (Option("root_rule_name", "text", "root", "the rule that a whole text matches"),),
    "lark": (
        Option("start", "text", "start", "the rule that a whole text matches"),
        Option("trailing_skip", "flag", False, "what %ignore names may stand behind the last terminal, too"),
    ),
    "regex": (
        Option("flags", "text", "", "any of i (ignore case), m (^ and $ at line ends), s (. takes line ends), u"),
        Option("match", "choice", "full", "match the whole text, or find a match somewhere in it", ("full", "search")),
    ),
    "json_schema": (
        Option("order", "choice", "any", "of members: any, or as declared where no other names may come", ORDERS),
        Option("any_whitespace", "flag", True, "blanks between tokens"),
        Option("strict_mode", "flag", False, "what a schema does not mention is forbidden"),
        Option("lenient", "flag", False, "drop what cannot be exact, and say so, instead of refusing the schema"),
    ),
    "structural_tag": (
        Option("lenient", "flag", False, "drop what cannot be exact, and say so, instead of refusing a schema"),
    ),
    "tools": (
        Option(
            "model",
            "choice",
            DEFAULT_MODEL,
            "how calls are written: as this family of models does; the model that writes may be another",
            model_templates(),
            "format of calls",
        ),
        Option("tool_choice", "choice", "auto", "whether a tool must be called", ("auto", "none", "required")),
        Option(
            "reasoning",
            "choice",
            DEFAULT_REASONING,
            "a reasoning block: none, perhaps one, or the text begins inside one",
            ("disabled", "auto", "enabled"),
        ),
        Option("parallel_tool_calls", "flag", True, "more than one call"),
        Option("strict_mode", "flag", False, "what the schemas of arguments do not mention is forbidden"),
    ),
}
"""What an editor offers, by language.  `Source` takes all options of the `Grammar.from_...` methods."""

_KNOWN: Final[dict[str, frozenset[str]]] = {
    "ebnf": frozenset(("root_rule_name", "predicates")),
    "lark": frozenset(("start", "grammars", "plain_integers", "trailing_skip", "imports", "base_path", "predicates")),
    "regex": frozenset(("flags", "match")),
    "json_schema": frozenset((*SchemaOptions.__dataclass_fields__, "resources")),
    "structural_tag": frozenset(("triggers", "lenient")),
    "tools": frozenset(REQUEST_KEYS),
}


@dataclass(frozen=True)
class Source:
    """A text in a language.  `name` says where it came from, `why` how its language was found out."""

    language: Language
    text: str
    options: Mapping[str, object] = field(default_factory=dict)
    name: str = ""
    why: str = SAID

    def __post_init__(self) -> None:
        language = _ALIASES.get(self.language, self.language)
        if language not in LANGUAGES:
            raise ValueError(f"there is no language {self.language!r}; there are {', '.join(LANGUAGES)}, gbnf")
        object.__setattr__(self, "language", language)
        unknown = [name for name in self.options if name not in _KNOWN[language]]
        if unknown:
            known = ", ".join(sorted(_KNOWN[language])) or "none"
            raise TypeError(f"{TITLES[self.language]} has no option {unknown[0]!r}; there are {known}")

    # -- from anything ---------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, anything: object, language: str | None = None, **options: object) -> Source:
        """The source of a text, a file's path, a JSON schema, a structural tag, a list of tools, a pydantic model or
        another type that pydantic knows (a dataclass, `list[int]`, `Literal["a", "b"]`, an `Enum`), or a `Grammar`.
        `language` says what a text or value is, where the guess would be wrong; `options` are those of the
        `Grammar.from_...` method, or of a tool template.

        A file in Lark imports from its own folder, unless the options say otherwise.  Of a file in JSON with comments
        (`.jsonc`, `.json5`) blanks stand in place of these.

        Raises `FileNotFoundError` for a path without a file and for a word that names one rather than being a regular
        expression, `ValueError` for what is not UTF-8, `TypeError` for what is no source at all; a text with mistakes
        in it raises nothing here.
        """
        if isinstance(anything, Source):
            return replace(anything, options={**anything.options, **options}) if options else anything
        document = getattr(anything, "document", None)
        if isinstance(document, Source):  # a session, a panel, what was opened
            return cls.of(document, language, **options)
        if isinstance(anything, CompiledGrammar):
            anything = anything.grammar
        if isinstance(anything, GrammarIR):
            anything = Grammar(anything)
        if isinstance(anything, Grammar):
            return cls._of_grammar(anything, options)
        if isinstance(anything, bytes):
            anything = _decoded(anything, "these bytes are")
        path = anything if isinstance(anything, Path) else None
        if isinstance(anything, str) and language is None:
            path = path_of(anything)
        if path is not None:
            if path.is_dir():
                hint = "" if isinstance(anything, Path) else ", or say language='regex' if it is a regular expression"
                raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it{hint}")
            if not path.is_file():
                hint = "" if isinstance(anything, Path) else "; if this is a text and no path, give its language"
                raise FileNotFoundError(f"there is no file {str(path)!r}{hint}")
            text = _decoded(path.read_bytes(), f"{str(path)!r} is")
            if path.suffix.lower() in COMMENTED:
                text = without_comments(text)
            source = cls._of_text(text, language, options, path.name, path.suffix)
            if source.language == "lark" and not {"imports", "base_path"} & set(options) and _MODULES.search(text):
                source = replace(source, options={**options, "base_path": str(path.parent)})
            return source
        if isinstance(anything, str):
            return cls._of_text(anything, language, options, "", "")
        return cls._of_value(anything, language, options)

    @classmethod
    def _of_text(cls, text: str, language: str | None, options: Mapping[str, object], name: str, suffix: str) -> Source:
        text = text.removeprefix("\ufeff")
        if language is not None:
            return cls(cast(Language, language), text, options, name)
        found, why = guess_text(text, suffix)
        if found == "regex" and not suffix and not text.strip():
            raise ValueError("an empty text is no grammar; if it is a regular expression, say language='regex'")
        if found == "regex" and not name and is_name(text):
            raise FileNotFoundError(f"there is no file {text!r}; if this is a regular expression, say language='regex'")
        return cls(found, text, options, name, why)

    @classmethod
    def _of_value(cls, value: Any, language: str | None, options: Mapping[str, object]) -> Source:
        name, why = "", ""
        schema_of = getattr(value, "model_json_schema", None)
        if schema_of is None and hasattr(value, "__fields__"):  # a model of pydantic 1, or of `pydantic.v1`
            schema_of = getattr(value, "schema", None)
        if callable(schema_of) and isinstance(value, type):
            name, why, language = value.__name__, "a pydantic model", "json_schema"
            value = _schema_of_type(value, schema_of)
        elif callable(getattr(value, "json_schema", None)):  # a pydantic TypeAdapter
            value, why, language = _schema_of_type(value, value.json_schema), "a pydantic type", "json_schema"
        elif isinstance(value, type) or get_origin(value) is not None or _names_type(value):
            name, value = getattr(value, "__name__", ""), _schema_of_type(value)
            why, language = "a type", "json_schema"
        elif _is_instance(value):  # a structural tag, or an MCP client's list of tools
            data = value
            value = _dumped(value)
            if guess_value(value).language == "json_schema":
                raise TypeError(f"an instance of {type(data).__name__} is data, not a schema; pass its class")
        elif isinstance(value, list | tuple):
            if value and all(isinstance(item, str) for item in value):
                bare = "|".join(map(re.escape, value)) if len(value) <= _FEW else "one|another"
                raise TypeError(
                    "a list of texts describes no tools; for one of several texts write the regular expression "
                    f'{bare!r}, and for one of them as a JSON string {{"enum": [...]}}'
                )
            value = [_dumped(item) if _is_instance(item) else item for item in value]
        elif isinstance(value, re.Pattern):
            raise TypeError(
                "a compiled pattern is read by Python's rules; pass its text (`.pattern`), language='regex'"
            )
        if not isinstance(value, dict | list | tuple | bool | Mapping):
            raise TypeError(
                f"{type(value).__name__} is no source of a grammar; there are texts (EBNF, Lark, regex, JSON), paths, "
                "JSON schemas, structural tags, lists of tools, pydantic models, types and Grammar objects"
                f"{as_a_tool(value)}"
            )
        guess = Guess(cast(Language, language), why or SAID) if language else guess_value(value)
        return cls(guess.language, lay_out(value), options, name, guess.why)

    @classmethod
    def _of_grammar(cls, grammar: Grammar, options: Mapping[str, object]) -> Source:
        language, text, made = grammar.made_from
        made.pop("tokenizer_info", None)  # a session's own vocabulary counts
        found = cls(cast(Language, language), text, {**made, **options}, "", "a Grammar keeps what it was made from")
        return found.spread()  # the engine writes dicts on one line

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The language's name for a person."""
        return TITLES[self.language]

    @property
    def is_json(self) -> bool:
        return self.language in _JSON

    @property
    def key(self) -> tuple[object, ...]:
        """Sources with equal keys become equal grammars."""
        return (self.language, self.text, repr(sorted(self.options.items())))

    def option(self, name: str) -> Any:
        """The value of an option, given or by default."""
        if name in self.options:
            return self.options[name]
        return next((option.default for option in OPTIONS[self.language] if option.name == name), None)

    def for_a_model(self) -> Source:
        """The source as a model is to write it, where the options say nothing else: members in declared order, numbers
        in their shortest spelling and few digits, no blanks in front of commas and colons, and one elsewhere.

        What a schema declares first is often what the rest follows from, such as reasons before an answer.  And behind
        7, where 1 is the most, only a point or an exponent may come: small models then write digits without end.
        """
        return replace(self, options={**WRITTEN, **self.options}) if self.language in ("json_schema", "tools") else self

    def with_text(self, text: str) -> Source:
        """The same language and options over an edited text."""
        return replace(self, text=text)

    def spread(self) -> Source:
        """The same with JSON that stands on one long line laid out over several; any other text stays as it is."""
        if not self.is_json or "\n" in self.text.strip() or len(self.text) <= 100:
            return self
        try:
            value = json.loads(
                self.text, parse_float=exact_number, parse_constant=no_number, object_pairs_hook=_each_once
            )
            return self.with_text(lay_out(value))
        except (ValueError, TypeError, RecursionError, MaskscopeError):  # a mistake is shown in what was typed
            return self

    @cached_property
    def json(self) -> JsonText:
        """Where everything stands, for languages that are JSON; raises `JsonSyntaxError`."""
        return read_json(self.text)

    @cached_property
    def value(self) -> Any:
        """The JSON value (numbers exact), for languages that are JSON; raises `JsonSyntaxError`."""
        return load_json(self.text)

    @cached_property
    def tool_tag(self) -> ToolTag:
        """The structural tag that tools become, and the way back; raises `ToolsError`."""
        return tag_of_tools(self.value, self.options)

    def __repr__(self) -> str:
        lines = self.text.count("\n") + 1
        name = f" {self.name!r}" if self.name else ""
        return f"<Source{name}: {self.title}, {lines} line{'s' * (lines != 1)}>"

    # -- what it becomes -------------------------------------------------------------------------------------------

    def grammar(self, tokenizer_info: TokenizerInfo | None = None) -> Grammar:
        """The grammar; tokens written by their text are looked up in `tokenizer_info`.

        Raises what the engine raises, a `MaskscopeError`, with a note for each mistake that says line and column.
        """
        try:
            if self.is_json:
                _ = self.value
            if self.language == "tools":
                return Grammar.from_structural_tag(self.tool_tag.tag, tokenizer_info=tokenizer_info)
            info = {"tokenizer_info": tokenizer_info} if self.language in _WITH_TOKENS else {}
            read: Callable[..., Grammar] = getattr(Grammar, f"from_{self.language}")
            return read(self.text, **info, **self.options)
        except MaskscopeError as error:
            self._note(error)
            raise

    def _note(self, error: MaskscopeError) -> None:
        if not getattr(error, "__notes__", None):
            for mistake in self.mistakes(error)[:5]:
                error.add_note(f"{self.title}, {mistake}")

    def compile(self, compiler: GrammarCompiler, *, cancel: CancelToken | None = None) -> CompiledGrammar:
        """The grammar, compiled; what `compiler` remembers is found by the text.  `cancel` may call it off.

        Raises as `grammar` does, and `BudgetExceededError` beyond the compiler's limits.  Warns of nothing: that is for
        who knows its reader (`warn_of`).
        """
        with told_elsewhere():
            return self._compile(compiler, cancel)

    def _compile(self, compiler: GrammarCompiler, cancel: CancelToken | None) -> CompiledGrammar:
        try:
            if self.language == "tools":
                return compiler.compile_structural_tag(self.tool_tag.tag, cancel=cancel)
            options: dict[str, object] = dict(self.options)
            if "predicates" in options or {"plain_integers", "trailing_skip"} & set(options):
                return compiler.compile_grammar(self.grammar(compiler.tokenizer_info), cancel=cancel)
            compile_it: Callable[..., CompiledGrammar] = getattr(
                compiler, f"compile_{'grammar' if self.language == 'ebnf' else self.language}"
            )
            return compile_it(self.text, **options, cancel=cancel)
        except MaskscopeError as error:
            if self.is_json and not isinstance(error, JsonSyntaxError):
                self._check_json()
            self._note(error)
            raise

    def _check_json(self) -> None:
        """Raise what is wrong with a text that is no JSON, with the cure."""
        try:
            _ = self.json
        except JsonSyntaxError as error:
            self._note(error)
            raise error from None

    def mistakes(self, error: Exception) -> tuple[Mistake, ...]:
        """Where in the text `error`, raised by `grammar` or by compiling it, finds fault; at least one location."""
        moved: dict[str, str] = {}
        if self.language == "tools":
            try:
                moved = self.tool_tag.moved
            except MaskscopeError:
                pass  # the error is about the tools themselves
        return locate(self.text, error, moved=moved)

    def check(self, tokenizer_info: TokenizerInfo | None = None) -> tuple[Mistake, ...]:
        """The mistakes in the text; empty where there is a grammar."""
        try:
            self.grammar(tokenizer_info)
        except MaskscopeError as error:
            return self.mistakes(error)
        return ()


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} not UTF-8 at byte {error.start}: {error.reason}; save it as UTF-8") from None


def _schema_of_type(kind: object, schema_of: Callable[[], dict[str, Json]] | None = None) -> dict[str, Json]:
    """The JSON schema of what pydantic reads as this type; `schema_of` makes it where the type itself can."""
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        return TypeAdapter(cast(type, kind)).json_schema() if schema_of is None else schema_of()
    except (PydanticUserError, TypeError, NameError) as error:
        reason = str(error).partition("\n")[0]
        if isinstance(error, PydanticInvalidForJsonSchema) and (name := _field_without_schema(kind)):
            cure = "annotate it with WithJsonSchema({...}), or with SkipJsonSchema() to leave it out"
            reason += f"; this is its field {name}: {cure}"
        raise TypeError(f"{kind!r} is no type that pydantic can make a schema of: {reason}") from None


def _field_without_schema(model: Any, *around: object) -> str:
    """The first field, and the first in its model, and so on, that pydantic makes no schema of; "" where there is none,
    or no model.  `around`: models that are looked at already."""
    from pydantic import PydanticUserError, create_model

    for name, inside in getattr(model, "model_fields", {}).items() if model not in around else ():
        try:
            alone: Any = {name: (inside.annotation, inside)}
            create_model("Alone", __config__=model.model_config, **alone).model_json_schema()
        except PydanticUserError:
            deeper = _field_without_schema(inside.annotation, *around, model)
            return f"{name}.{deeper}" if deeper else str(name)
    return ""


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated, of which laying out would keep only the last")
    return found


def _names_type(value: object) -> bool:
    """Whether it is a `type` statement's alias (also that of typing_extensions), or a `NewType`."""
    return hasattr(value, "__supertype__") or type(value).__name__ == "TypeAliasType"


def _is_instance(value: object) -> bool:
    """Whether it is a pydantic model's instance, and not its class."""
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def _dumped(instance: Any) -> Json:
    """The JSON value of a pydantic model's instance."""
    try:
        found: Json = instance.model_dump(mode="json", by_alias=True, exclude_none=True)
    except ValueError:  # of pydantic
        found = None
    if found is None or hasattr(instance, "args_schema"):  # a tool that is called in Python, as LangChain has them
        raise TypeError(f"{type(instance).__name__} is no JSON; {AS_A_TOOL}")
    return found
