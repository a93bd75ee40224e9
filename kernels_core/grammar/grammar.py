"""`Grammar`: the one object that every input language becomes, and that compilers take.

Read on: `ebnf.py` and `regex.py` (text to IR), `analysis.py` (what every `Grammar` guarantees), `printer.py` (`str`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property, wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from ..clock import READING_MS, is_limited
from ..display import Displayed
from ..errors import GrammarError, GrammarNote, MisspeltKeyword, SchemaProblem, UnsupportedFeatureError
from . import analysis, nodes
from .ebnf import read_ebnf
from .embedding import called
from .ir import DeferredRule, GrammarIR, Node
from .json_text import JSON_TEXT
from .length import request
from .notation import explained
from .notes import control_texts, notes_on_rules
from .predicates import Predicate, check_judged, marks
from .printer import print_grammar
from .regex import parse_regex
from .regular import languages
from .regular.from_rules import grammar_language
from .regular.languages import Language
from .regular.to_rules import language_node
from .resources import Resources
from .rulebook import RuleBook

if TYPE_CHECKING:
    from .json_schema import SchemaOptions
    from .structural_tag import CanonicalTag
    from .structural_tag.tokens import Vocabulary

P = ParamSpec("P")
R = TypeVar("R")
Recipe = tuple[str, str, dict[str, Any]]
"""How a grammar is made again: the language that it was read as, the text, and the other arguments (`_made_again`)."""


def _limited(read: Callable[P, R]) -> Callable[P, R]:
    """`read` of no longer text than there may be, for at most `READING_MS` where no `TimeLimit` runs in this thread."""

    @wraps(read)
    def within(*arguments: P.args, **named: P.kwargs) -> R:
        limit_ms = 0 if is_limited() else READING_MS
        with request(limit_ms, "reading a grammar", *arguments, *named.values()):
            try:
                return read(*arguments, **named)
            except GrammarError as error:
                said = explained(error)
                if said is error:
                    raise
                raise said from None

    return within


class Grammar(Displayed):
    """A context-free grammar over bytes, checked and in normal form; immutable, made by the `from_...` methods.

    Every rule is reachable from the root and can finish, so no text that is a prefix under it leads to a dead end.
    Two grammars are equal when their normal forms are: same rules, same names, whatever the spelling and the order; and
    the same predicates.  Pickling sends the source and reads it again.  Safe to share between threads.
    """

    def __init__(self, ir: GrammarIR) -> None:
        """A grammar from an IR built by hand; `GrammarError` where it breaks an invariant of `ir.py`."""
        analysis.check(ir)
        self._ir = analysis.normal_form(ir, trusted=False)
        check_judged(self._ir, "EBNF")
        self._source = ir.source
        self._recipe: Recipe | None = None
        self._warnings: tuple[SchemaProblem | GrammarNote, ...] = ()

    @classmethod
    def _made(
        cls,
        normal: GrammarIR,
        source: str,
        recipe: Recipe,
        warnings: tuple[SchemaProblem | GrammarNote, ...] = (),
    ) -> Grammar:
        """From the normal form of what a front end read, which needs no check."""
        self = cls.__new__(cls)
        self._ir = normal
        self._source = source
        self._recipe = recipe
        self._warnings = warnings
        return self

    @classmethod
    @_limited
    def from_ebnf(
        cls,
        ebnf_string: str,
        *,
        root_rule_name: str = "root",
        predicates: Mapping[str, Predicate] | None = None,
    ) -> Grammar:
        """A grammar from EBNF text (the dialect: `kernels_core.grammar.ebnf`).

        predicates: what judges the texts of rules, by their names.

        `GrammarSyntaxError`, `GrammarError` and `UnsupportedFeatureError` say at which character.
        """
        _require_text(ebnf_string, "from_ebnf")
        written, ir = read_ebnf(ebnf_string, root_rule_name, marks(predicates))
        normal = analysis.normal_form(ir, "EBNF", trusted=True)
        check_judged(normal, "EBNF")
        arguments = {"root_rule_name": root_rule_name, "predicates": dict(predicates or {}) or None}
        notes = notes_on_rules(written, normal.rules)
        return cls._made(normal, ir.source, ("ebnf", ebnf_string, arguments), notes)

    @classmethod
    @_limited
    def from_regex(cls, regex_string: str, *, flags: str = "", match: Literal["full", "search"] = "full") -> Grammar:
        """A grammar of all texts that `regex_string` matches as a whole, or with `match="search"` somewhere.

        The dialect is that of `kernels_core.grammar.regular.reader`.  `flags` holds any of `i` (ignore case), `m` (`^`
        and `$` at line ends), `s` (`.` takes line ends too), `u` (strict escapes).

        `GrammarSyntaxError` and `UnsupportedFeatureError` say at which character; the latter also where assertions
        would need too large an automaton.
        """
        _require_text(regex_string, "from_regex")
        ir = parse_regex(regex_string, flags, match=match)
        normal = analysis.normal_form(ir, "regex", trusted=True)
        return cls._made(normal, ir.source, ("regex", regex_string, {"flags": flags, "match": match}))

    @classmethod
    @_limited
    def from_lark(
        cls,
        lark_string: str,
        *,
        start: str = "start",
        tokenizer_info: Vocabulary | None = None,
        grammars: Mapping[str, Grammar] | None = None,
        plain_integers: bool = False,
        trailing_skip: bool = False,
        imports: Mapping[str, str] | None = None,
        base_path: str | PathLike[str] | None = None,
        predicates: Mapping[str, Predicate] | None = None,
    ) -> Grammar:
        """A grammar from Lark text (the dialect, and what a terminal means: `kernels_core.grammar.lark`).

        Tokens that are written by their text, as `<name>`, are looked up in `tokenizer_info`, a `TokenizerInfo`;
        `@name` calls a grammar of `grammars`, and so does a name that the text declares.  `plain_integers` is for
        `%json`, as in `from_json_schema`.
        `trailing_skip`: what `%ignore` names may stand behind the last terminal, too, as in XGrammar.

        predicates: what judges the texts of rules and terminals, by their names.
        imports, base_path: what `%import .csv.row` means: `imports["csv"]` is the text, or `csv.lark` in the folder
        `base_path` holds it; without either nothing but `common` can be imported, and no file is read.

        `GrammarSyntaxError`, `GrammarError` and `UnsupportedFeatureError` say at which character.
        """
        from .lark import parse_lark

        _require_text(lark_string, "from_lark")
        others = dict(grammars or {})
        if others:
            _require_grammars(tuple(others.values()), "from_lark")
        for path, text in (imports or {}).items():
            _require_text(text, "from_lark", f" for imports[{path!r}]")
        irs = {name: other.ir for name, other in others.items()}
        read = parse_lark(
            lark_string,
            start,
            tokenizer_info,
            irs,
            plain_integers=plain_integers,
            trailing_skip=trailing_skip,
            imports=imports,
            folder=None if base_path is None else Path(base_path),
            marks=marks(predicates),
        )
        # What was read from files belongs to the grammar: it is the same wherever it is made again.
        arguments = {
            "start": start,
            "tokenizer_info": tokenizer_info,
            "grammars": others,
            "plain_integers": plain_integers,
            "trailing_skip": trailing_skip,
            "imports": read.imports or None,
            "predicates": dict(predicates or {}) or None,
        }
        normal = analysis.normal_form(read.ir, "Lark", trusted=True)
        check_judged(normal, "Lark")
        recipe = ("lark", lark_string, arguments)
        return cls._made(normal, read.ir.source, recipe, tuple(map(GrammarNote, read.remarks)))

    @classmethod
    @_limited
    def builtin_json_grammar(cls) -> Grammar:
        """Any JSON value (RFC 8259), with white space between tokens but none around the whole."""
        return cls.from_ebnf(JSON_TEXT)

    @classmethod
    @_limited
    def from_json_schema(
        cls,
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = False,
        max_whitespace_cnt: int | None = None,
        whitespace_before_separators: bool = True,
        order: Literal["any", "declared", "loose"] = "any",
        lenient: bool = False,
        canonical_numbers: bool = False,
        plain_integers: bool = False,
        any_spelling: bool = False,
        formats: bool = True,
        caps: Mapping[str, int] | None = None,
        resources: Mapping[str, Any] | None = None,
    ) -> Grammar:
        """The JSON texts of exactly the instances of a JSON schema (drafts 4 to 2020-12).

        schema: a dict or bool, JSON text, or a pydantic model class.
        any_whitespace, max_whitespace_cnt: blanks between tokens, and how many in one place (128 if None).
        whitespace_before_separators: False leaves out those in front of `,` and `:`, where nobody writes any.
        indent, separators: the fixed layout without `any_whitespace`, as in `json.dumps`.
        strict_mode: what a schema that lists properties or prefix items does not mention is forbidden.
        order: of members, each of which comes at most once.  "any": as JSON has it.  "declared": the schema's, where it
            forbids other names than those that it declares (else any): a model writes reasons before what follows from
            them.  "loose": any, each any number of times, and as many as there are required names, whichever they are.
        lenient: drop what cannot be exact, and say so in `warnings`, instead of refusing the schema.
        canonical_numbers: only the shortest spelling of a number, without exponent, in at most 20 digits before the
            point and 15 behind it: no number runs on for ever (but multiples, and where a range holds nothing else).
        plain_integers: integers as digits alone where nothing but integers is allowed: `5`, not `5.0` or `5e0`.
        any_spelling: also redundant escapes (`"\\u0061"` for `"a"`) in declared keys and constrained strings.
        formats: enforce the known values of `format`.
        caps: bounds of strings, arrays and objects that have none themselves: {"maxLength": 64, "maxItems": 8,
            "maxProperties": 8}, each where wanted; a model then ends what it would repeat for ever.
        resources: other documents that `$ref` may lead to, by URI; what is reached is copied, nothing is fetched.

        Raises `UnsupportedSchemaError` with every reason, each with its JSON pointer.
        """
        schemas = _schemas()
        if separators is not None:
            comma, colon = separators
            separators = (comma, colon)  # a list, as JSON and YAML have it, cannot be a key
        options = schemas.SchemaOptions(
            any_whitespace=any_whitespace,
            indent=indent,
            separators=separators,
            strict_mode=strict_mode,
            max_whitespace_cnt=max_whitespace_cnt,
            whitespace_before_separators=whitespace_before_separators,
            order=order,
            lenient=lenient,
            canonical_numbers=canonical_numbers,
            plain_integers=plain_integers,
            any_spelling=any_spelling,
            formats=formats,
            caps=schemas.caps_of(caps),
        )
        # What is compiled is read from the text: rules are made later, whatever the caller does to his objects.
        text = schemas.schema_text(schema)
        loaded = schemas.load_schema(text) if isinstance(schema, str) else schemas.read_again(text)
        return _from_json_schema(text, options, schemas.reached_resources(loaded, resources), loaded)

    @classmethod
    @_limited
    def from_structural_tag(
        cls,
        tag: Any,
        triggers: Sequence[str] | None = None,
        *,
        tokenizer_info: Vocabulary | None = None,
        lenient: bool = False,
    ) -> Grammar:
        """The texts of a structural tag: a dict or JSON text, or a list of older items with their `triggers`.

        Tokens that are given by their text are looked up in `tokenizer_info`, a `TokenizerInfo`.
        `lenient`: as in `from_json_schema`, for all schemas in the tag.

        Raises `InvalidStructuralTagError`, and what the formats inside raise, each with the JSON pointer of the fault.
        """
        from .structural_tag import read_structural_tag

        return cls.of_written_tag(read_structural_tag(tag, triggers), tokenizer_info, lenient)

    @classmethod
    def of_written_tag(cls, tag: CanonicalTag, tokenizer_info: Vocabulary | None, lenient: bool) -> Grammar:
        """`from_structural_tag` of what `read_structural_tag` returned."""
        from .structural_tag import structural_tag_rules

        ir, warnings = structural_tag_rules(tag, tokenizer_info, lenient=lenient)
        normal = analysis.normal_form(ir, "structural tag", trusted=True)
        recipe = ("structural_tag", tag.text, {"tokenizer_info": tokenizer_info, "lenient": lenient})
        return cls._made(normal, ir.source, recipe, warnings)

    def noted(self, vocabulary: Vocabulary) -> Grammar:
        """The same grammar with `warnings` of texts that spell control tokens; this one where there are none.

        JSON is text, and structural tags know their control tokens.
        """
        if self._recipe is None or self._recipe[0] not in ("ebnf", "regex", "lark"):
            return self
        notes = control_texts(self._ir, vocabulary, self._recipe[0])
        if not notes:
            return self
        return self._made(self._ir, self._source, self._recipe, (*self._warnings, *notes))

    @staticmethod
    @_limited
    def concat(*grammars: Grammar) -> Grammar:
        """Texts that are a text of each grammar, one after the other."""
        return _combined(grammars, "concat", nodes.seq)

    @staticmethod
    @_limited
    def union(*grammars: Grammar) -> Grammar:
        """Texts of any of the grammars."""
        return _combined(grammars, "union", nodes.choice)

    @staticmethod
    @_limited
    def intersect(*grammars: Grammar) -> Grammar:
        """Texts of all the grammars, which must be regular (see `complement`)."""
        return _regular(grammars, "intersect", languages.intersection)

    @staticmethod
    @_limited
    def difference(grammar: Grammar, *others: Grammar) -> Grammar:
        """Texts of `grammar` that are texts of none of `others`; all of them must be regular (see `complement`)."""
        return _regular(
            (grammar, *others),
            "difference",
            lambda first, *rest: languages.intersection(first, *map(languages.complement, rest)),
        )

    @_limited
    def complement(self) -> Grammar:
        """All texts of characters that are not texts of this grammar, which must be regular.

        Regular are grammars without rules that call themselves, and with such calls at the very end of a rule.
        `UnsupportedFeatureError` for what is not, or not seen to be, or needs more than 5,000 states, and for raw
        bytes, tokens and free text with tags; `GrammarError` where nothing is left.
        """
        return _regular((self,), "complement", languages.complement)

    @property
    def ir(self) -> GrammarIR:
        """The rules, in normal form, root first.  Shared, not copied: do not change it."""
        return self._whole_ir

    @cached_property
    @_limited
    def _whole_ir(self) -> GrammarIR:
        ir = self._ir
        if any(isinstance(rule, DeferredRule) for rule in list(ir.rules.values())) or next(iter(ir.rules)) != ir.root:
            ir = analysis.normal_form(ir.complete(), trusted=True)
        return ir

    @property
    def lazy_ir(self) -> GrammarIR:
        """`ir`, but bodies that nobody has asked for may not be made yet (`ir.DeferredRule`)."""
        return self._ir

    def read_again(self) -> Grammar:
        """An equal grammar: this one, or where rules are made when they are needed, one made from the source anew.

        What is made of the one is then not made of the other.
        """
        ir = self._ir
        if self._recipe is None or not (ir.made or any(isinstance(rule, DeferredRule) for rule in ir.rules.values())):
            return self
        return _made_again(*self._recipe)

    @property
    def key(self) -> tuple[object, ...]:
        """What this grammar was made from, hashable; grammars with equal keys are equal, and so are their sources."""
        if self._recipe is None:
            return (self._printed, self._source, tuple(self.predicates.items()))
        language, text, arguments = self._recipe
        return (language, text, *(_hashable(one) for one in arguments.values()))

    @property
    def source(self) -> str:
        """The text this grammar was made from; the spans of `ir` are offsets into it."""
        return self._source

    @property
    def kept_characters(self) -> int:
        """The length of all texts that are kept to make rules of: the source, and documents that it refers to."""
        documents = self._recipe[2].values() if self._recipe is not None else ()
        return len(self._source) + sum(one.characters for one in documents if isinstance(one, Resources))

    @property
    def made_from(self) -> tuple[str, str, dict[str, Any]]:
        """The language ("ebnf", "regex", "lark", "json_schema" or "structural_tag"), the text, and the other arguments
        of the `from_...` method that makes this grammar again; those that have their default are left out."""
        language, text, given = self._again
        if language == "json_schema":
            options = given["options"]
            given = {**asdict(options), "caps": dict(options.caps), "resources": given["resources"]}
        parameters = signature(getattr(Grammar, f"from_{language}")).parameters
        return language, text, {
            name: value for name, value in given.items() if value not in (parameters[name].default, {})
        }  # fmt: skip

    @property
    def predicates(self) -> dict[str, Predicate]:
        """What judges the texts of rules, by their names, as far as they are read."""
        rules = list(self._ir.rules.items())
        return {name: value for name, rule in rules for note, value in rule.notes if note == "judged"}

    @property
    def warnings(self) -> tuple[SchemaProblem | GrammarNote, ...]:
        """What schemas read with `lenient=True` lost (`SchemaProblem`), and what the author hardly means
        (`GrammarNote`; texts that spell control tokens are known when it is compiled: `CompiledGrammar.grammar`)."""
        return *self._warnings, *self._misspelt

    @property
    def told(self) -> tuple[SchemaProblem | GrammarNote, ...]:
        """`warnings` but for doubtful keywords, for which a schema is walked once more."""
        return self._warnings

    @cached_property
    def _misspelt(self) -> tuple[MisspeltKeyword, ...]:
        if self._recipe is None or self._recipe[0] not in ("json_schema", "structural_tag"):
            return ()
        language, text, _ = self._recipe
        from .json_schema.misspelt import misspelt_in, schemas_inside
        from .json_schema.problems import child

        value = json.loads(text)
        return tuple(
            MisspeltKeyword("; ".join(filter(None, (one.reason, one.cure))), pointer=child(one.pointer, one.keyword))
            for one in misspelt_in([("#", value)] if language == "json_schema" else schemas_inside(value))
        )

    @cached_property
    def _printed(self) -> str:
        return print_grammar(self.ir)

    def __str__(self) -> str:
        """The normal form as EBNF: parses back to the same IR."""
        return self._printed

    def __repr__(self) -> str:
        rules = self.ir.rules
        count = f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"
        text = self._printed.removeprefix(f"{self._ir.root} ::=").lstrip().split("\n", 1)[0]
        return f"<Grammar {self._ir.root} ({count}): {text[:60]}{'...' if len(text) > 60 else ''}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        return self._printed == str(other) and self.predicates == other.predicates

    def __hash__(self) -> int:
        return hash(self._printed)

    @property
    def _again(self) -> Recipe:
        """The recipe; of a grammar from an IR its text as it is printed."""
        if self._recipe is not None:
            return self._recipe
        return "ebnf", self._printed, {"root_rule_name": self._ir.root, "predicates": self.predicates or None}

    def __reduce__(self) -> tuple[Callable[..., Grammar], Recipe]:
        # Text, not nodes: pickle recurses and would fail on deeply nested rules.
        return _made_again, self._again


def _hashable(value: object) -> object:
    """Something that is equal when `value` is, and can be hashed."""
    match value:
        case Grammar() | Resources():
            return value.key
        case dict():
            return tuple((name, _hashable(item)) for name, item in sorted(value.items()))
        case list() | tuple():
            return tuple(_hashable(item) for item in value)
        case set() | frozenset():
            return frozenset(_hashable(item) for item in value)
    return (type(value).__name__, value)


def _made_again(language: str, text: str, arguments: dict[str, Any]) -> Grammar:
    """What `arguments` of `Grammar.from_...` make of `text`; a schema's as they are kept."""
    if language == "json_schema":
        return _from_json_schema(text, **arguments)
    grammar: Grammar = getattr(Grammar, f"from_{language}")(text, **arguments)
    return grammar


@cache
def _schemas() -> Any:
    """What reads schemas: imported when the first is read, without asking for its parts by name each time."""
    from . import json_schema

    return json_schema


def _from_json_schema(text: str, options: SchemaOptions, resources: Resources, loaded: Any = None) -> Grammar:
    schemas = _schemas()
    loaded = schemas.load_schema(text) if loaded is None else loaded
    compiled = schemas.compile_schema(loaded, text, options, resources, defer=True)
    recipe = ("json_schema", text, {"options": options, "resources": resources})
    return Grammar._made(compiled.ir, text, recipe, compiled.warnings)


def _require_text(text: object, method: str, what: str = "") -> None:
    if not isinstance(text, str):
        raise TypeError(f"Grammar.{method} takes a str{what}, not {type(text).__name__}")


def _require_grammars(grammars: tuple[Grammar, ...], method: str) -> None:
    if not grammars:
        raise GrammarError(f"Grammar.{method} needs at least one grammar")
    for grammar in grammars:
        if not isinstance(grammar, Grammar):
            raise TypeError(f"Grammar.{method} takes Grammar objects, not {type(grammar).__name__}")


def _combined(grammars: tuple[Grammar, ...], name: str, join: Callable[[list[Node]], Node]) -> Grammar:
    """One grammar whose root joins the roots of `grammars`; their rules get fresh names where they collide."""
    _require_grammars(grammars, name)
    if len(grammars) == 1:
        return grammars[0]
    if any(grammar.predicates for grammar in grammars):
        raise UnsupportedFeatureError(f"Grammar.{name}: predicates are given to the grammar of the whole text")
    book = RuleBook()
    book.reserve("root")
    roots: dict[Grammar, Node] = {}
    for grammar in grammars:
        if grammar not in roots:
            roots[grammar] = called(grammar.ir, book, grammar.ir.root)
    book.define("root", join([roots[grammar] for grammar in grammars]))
    # Through text, so that the combination has a source of its own and spans that point into it.
    return Grammar.from_ebnf(print_grammar(book.grammar("root", "")))


def _regular(grammars: tuple[Grammar, ...], name: str, operation: Callable[..., Language]) -> Grammar:
    """The grammar of a regular operation on the languages of `grammars`."""
    _require_grammars(grammars, name)
    book = RuleBook()
    book.reserve("root")
    try:
        found = operation(*(grammar_language(grammar.ir) for grammar in grammars))
        book.define("root", language_node(found, book, "text"))
    except languages.TooManyStates as error:
        raise UnsupportedFeatureError(f"Grammar.{name}: not regular, or it needs {error}") from None
    return Grammar.from_ebnf(print_grammar(book.grammar("root", "")))
