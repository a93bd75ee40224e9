"""The tree of a Lark grammar to IR: names become rules, what is ignored is put between terminals.

Read on: `terminals.py` (what matches characters), `skipping.py` (`%ignore`), `attributes.py` (notes).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import GrammarError, InvalidStructuralTagError, UnsupportedFeatureError, UnsupportedSchemaError
from .. import nodes
from ..attributes import NOTES, Note, renamed_capture
from ..embedding import embedded
from ..ir import Empty, GrammarIR, Node, Rule, RuleRef, Span
from ..names import uncalled, undefined
from ..regular.languages import Language
from ..rulebook import RuleBook
from .competing import Guards
from .lexer import LANGUAGE, refuse, reject
from .modules import Library
from .priorities import check_priorities
from .skipping import with_skips
from .syntax import (
    Alternatives,
    Definition,
    Expression,
    External,
    Name,
    Nested,
    Schema,
    Scope,
    Sequence,
    Special,
    Text,
    Times,
    TokenIds,
    parts,
)
from .terminals import Terminals, is_shaped

if TYPE_CHECKING:
    from ..structural_tag.tokens import Vocabulary


class Reading(NamedTuple):
    """What a text says; the texts that it imports from, by path; remarks on what was read and says nothing."""

    ir: GrammarIR
    imports: dict[str, str]
    remarks: tuple[str, ...]


def parse_lark(
    source: str,
    start: str = "start",
    vocabulary: Vocabulary | None = None,
    grammars: Mapping[str, GrammarIR] | None = None,
    *,
    plain_integers: bool = False,
    trailing_skip: bool = False,
    imports: Mapping[str, str] | None = None,
    folder: Path | None = None,
    marks: Mapping[str, tuple[Note, ...]] = {},
) -> Reading:
    """The rules of `source`.  `vocabulary` finds tokens that are written by their text, `grammars` are those of
    `@name`, and `plain_integers` is for `%json` (`Grammar.from_json_schema`).  `trailing_skip`: what `%ignore` names
    may stand behind the last terminal, too.  `imports` are texts to import from, `folder` is where files of such are.
    `marks` are notes of rules and terminals that no text can say (`../predicates.py`).

    Raises `GrammarSyntaxError`, `GrammarError` and `UnsupportedFeatureError`, each with the offset to look at.
    """
    library = Library(source, imports, folder)
    try:
        scope = library.read(grammars or {}, start)
        if not scope.definitions:
            reason = 'a grammar needs at least one rule, such as: start: "text"'
            raise GrammarError(reason, source, 0, language=LANGUAGE)
        lowering = _Lowering(library.text, vocabulary, grammars or {}, plain_integers, trailing_skip)
        lowering.mark(scope, marks)
        root = lowering.scope(scope, start, Span(0, len(source)))
    except GrammarError as error:
        moved = library.moved(error)
        if moved is error:
            raise
        raise moved from None
    rules = {
        name: Rule(name, rule.body, lowering.notes.get(name, rule.notes), span=lowering.spans.get(name))
        for name, rule in lowering.book.rules.items()
    }
    if library.used:
        rules = {name: _standing(rule, library) for name, rule in rules.items()}
    return Reading(GrammarIR(rules, root, source), library.used, tuple(lowering.remarks))


def _standing(rule: Rule, library: Library) -> Rule:
    """What is imported, at the place of the import."""

    def placed(node: Node, below: list[Node]) -> Node:
        return nodes.rebuild(node if node.span is None else node.with_span(library.standing(node.span)), below)

    span = None if rule.span is None else library.standing(rule.span)
    return Rule(rule.name, nodes.fold(rule.body, placed), rule.notes, span=span)


class _Lowering:
    """All scopes of one text write into one `book`."""

    def __init__(
        self,
        source: str,
        vocabulary: Vocabulary | None,
        grammars: Mapping[str, GrammarIR],
        plain_integers: bool,
        trailing_skip: bool,
    ) -> None:
        self.source = source
        self.plain_integers = plain_integers
        self.trailing_skip = trailing_skip
        self.vocabulary = vocabulary
        self.grammars = grammars
        self.book = RuleBook()
        self.spans: dict[str, Span] = {}
        self.notes: dict[str, tuple[Note, ...]] = {}
        self.remarks: list[str] = []
        self.marks: Mapping[str, tuple[Note, ...]] = {}

    def mark(self, scope: Scope, marks: Mapping[str, tuple[Note, ...]]) -> None:
        """Let rules of `scope`, the outermost one, have these notes."""
        self.marks = {}
        for name, notes in marks.items():
            if name not in scope.definitions:
                raise GrammarError(undefined(name, scope.definitions, role="rule for a predicate"), language=LANGUAGE)
            definition = scope.definitions[name]
            if scope.ignored and not definition.is_terminal and any(note == "judged" for note, _ in notes):
                reason = f"with %ignore, texts of the rule {name!r} hold what is ignored: let a terminal be judged"
                refuse(reason, self.source, definition.span)
            for other in scope.definitions.values():
                within = (part for one in other.expressions() for part in parts(one) if isinstance(part, Name))
                if (other.is_terminal or is_shaped(other)) and any(part.name == name for part in within):
                    reason = (
                        f"{name!r} is part of {other.name!r}, which is one piece: nobody knows where it ended, so it "
                        f"cannot be judged"
                    )
                    refuse(reason, self.source, other.span)
            self.marks[name] = notes

    def scope(self, scope: Scope, start: str, span: Span, *, is_nested: bool = False) -> str:
        """Write the rules of `scope`; returns the name of the one that stands for `start`."""
        if start not in scope.definitions:
            reason = undefined(start, scope.definitions, role="start rule")
            called = {
                part.name for one in scope.definitions.values() for part in parts(one.body) if isinstance(part, Name)
            }
            if is_nested:
                reason = f"failed to compile nested Lark grammar: {reason}"
            else:
                reason += uncalled(
                    (name for name, one in scope.definitions.items() if not one.is_terminal), called, "start"
                )
            reject(reason, self.source, span)
        names = {name: self.book.reserve(name) for name in scope.definitions}
        terminals = Terminals(scope, names, self.book, self.source)
        terminals.look_beyond()
        terminals.define_all()
        self.remarks += check_priorities(scope, terminals)
        skips = bool(scope.ignored) and (start not in terminals or self.trailing_skip)
        rules = _Rules(self, scope, terminals, Guards(scope, terminals, start, self.spelt), skips)
        bodies: dict[str, Node] = {}
        for name, definition in scope.definitions.items():
            self.spans[names[name]] = definition.span
            marks = () if is_nested else self.marks.get(name, ())
            if marks and names[name] != name:  # it would be asked under that name
                reason = f"{name!r} means something else in EBNF, so it cannot be judged: rename it"
                refuse(reason, self.source, definition.span)
            notes = _notes(definition, scope, self.source)
            if names[name] != definition.name:
                notes = renamed_capture(notes, definition.name)
            self.notes[names[name]] = (*notes, *marks)
        for name, definition in scope.definitions.items():
            if name not in terminals:
                body = rules.node(definition.body)
                bodies[names[name]] = Empty(span=definition.body.span) if definition.is_empty else body
        root = names[start]
        if scope.ignored and start in terminals and self.trailing_skip:
            whole = self.book.reserve(f"{start}.text")  # a terminal holds no skips, so a rule around it does
            bodies[whole] = RuleRef(root)
            root = whole
        if skips:
            bodies, root = self._skipping(scope, rules, bodies, root)
        for name, body in bodies.items():
            self.book.define(name, body)
        self.remarks += terminals.remarks
        return root

    def spelt(self, expression: Expression) -> list[str] | None:
        """The texts of a token expression's tokens that ordinary text may hold; None where that is not known."""
        if isinstance(expression, TokenIds) and expression.negated:
            return []  # any token, and nothing that begins something
        if self.vocabulary is None:
            return None
        numbers = expression.ids if isinstance(expression, TokenIds) else ()
        if isinstance(expression, Special):
            numbers = self.tokens(expression)
        control = {*self.vocabulary.special_token_ids, *self.vocabulary.stop_token_ids}
        texts = self.vocabulary.decoded_vocab
        found = {texts[number] for number in numbers if number < len(texts) and number not in control}
        return sorted({text.decode() for text in found if text and _is_text(text)})

    def tokens(self, special: Special) -> tuple[int, ...]:
        """The ids of the tokens that are spelt so."""
        from ..structural_tag.tokens import tokens_spelt

        if self.vocabulary is None:
            reason = (
                f"named special token {special.text} requires tokenizer_info: pass it, use compile_lark, or give its id"
            )
            raise GrammarError(reason, self.source, special.span.start, language=LANGUAGE, needs_vocabulary=True)
        try:
            return tuple(tokens_spelt(special.text, "", self.vocabulary))
        except InvalidStructuralTagError as error:
            reject(f"unknown special token {special.text}: {error.reason}", self.source, special.span)

    def _skipping(self, scope: Scope, rules: _Rules, bodies: dict[str, Node], root: str) -> tuple[dict[str, Node], str]:
        ignored = nodes.choice([rules.terminals.node(expression) for expression in scope.ignored])
        skip = self.book.add("ignored", nodes.repeat(ignored, 0, None))
        made, top = with_skips(
            bodies,
            root,
            skip,
            rules.unnamed,
            self.book.reserve,
            initially=scope.initial_skip,
            finally_=self.trailing_skip,
        )
        for name in made:
            origin = name.rpartition(".first")[0] if name not in self.spans else name
            if origin in self.spans:
                self.spans[name] = self.spans[origin]
                self.notes[name] = self.notes[origin] if name == origin else renamed_capture(self.notes[origin], origin)
        return made, top


class _Rules:
    """Expressions in rules.  With `skips` every terminal is a call, so that skips can be put between them: `unnamed`
    are those under names that no rule can have."""

    def __init__(self, lowering: _Lowering, scope: Scope, terminals: Terminals, guards: Guards, skips: bool) -> None:
        self.lowering = lowering
        self.guards = guards
        self.scope = scope
        self.terminals = terminals
        self.skips = skips
        self.unnamed: dict[str, Node] = {}

    def node(self, expression: Expression) -> Node:
        span = expression.span
        guarded = self.guards.language(expression)
        if guarded is not None:
            return self._guarded(expression, guarded)
        match expression:
            case Text(value="") | Sequence(items=()):
                return Empty(span=span)
            case Sequence(items):
                return nodes.seq([self.node(item) for item in items], span)
            case Alternatives(items):
                return nodes.choice([self.node(item) for item in items], span)
            case Times(item, least, most):
                return nodes.repeat(self.node(item), least, most, span)
            case Name(name):
                if name not in self.terminals.names:
                    reason = f"unknown name {name!r}: {undefined(name, self.terminals.names)}"
                    reject(reason, self.lowering.source, span)
                return RuleRef(self.terminals.names[name], span=span)
            case TokenIds(ids, negated):
                return self._terminal(nodes.token_set(ids, negated, span))
            case Special():
                return self._terminal(nodes.token_set(self.lowering.tokens(expression), span=span))
            case Schema():
                return self._terminal(self._schema(expression))
            case External(name):
                return self._terminal(self._external(name, span))
            case Nested(scope):
                return self._terminal(RuleRef(self.lowering.scope(scope, "start", span, is_nested=True), span=span))
            case _:
                return self._terminal(self.terminals.node(expression))

    def _guarded(self, expression: Expression, language: Language) -> Node:
        """A terminal that a lazy rule takes texts from; notes go with it."""
        name = expression.name if isinstance(expression, Name) else "text"
        made = self.lowering.book.reserve(name)
        self.lowering.book.define(made, self.terminals.node_of(language, expression.span, name))
        if isinstance(expression, Name) and name in self.scope.definitions:
            notes = self.lowering.notes.get(self.terminals.names[name], ())
            self.lowering.notes[made] = renamed_capture(notes, name)
            self.lowering.spans[made] = self.scope.definitions[name].span
        return RuleRef(made, span=expression.span)

    def _terminal(self, node: Node) -> Node:
        if not self.skips:
            return node
        name = f"#{len(self.unnamed)}"
        self.unnamed[name] = node
        return RuleRef(name)

    def _schema(self, expression: Schema) -> Node:
        from ..json_schema import SchemaOptions, compile_schema, schema_text

        options = SchemaOptions(plain_integers=self.lowering.plain_integers)
        try:
            text = schema_text(expression.schema)
            ir = compile_schema(expression.schema, text, options, {}).ir
        except (UnsupportedSchemaError, RecursionError) as error:
            reason = error.strictly if isinstance(error, UnsupportedSchemaError) else "the schema is nested too deeply"
            raise UnsupportedFeatureError(
                reason, self.lowering.source, expression.span.start, language=LANGUAGE
            ) from error
        return embedded(ir, self.lowering.book, "json", expression.span)

    def _external(self, name: str, span: Span) -> Node:
        if name not in self.lowering.grammars:
            reason = undefined(name, self.lowering.grammars, role="grammar")
            reject(f"unknown named grammar '@{name}': {reason}", self.lowering.source, span)
        return embedded(self.lowering.grammars[name], self.lowering.book, name, span)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False  # a piece of a character, which nobody takes for the beginning of a call
    return True


def _notes(definition: Definition, scope: Scope, source: str) -> tuple[Note, ...]:
    """Notes among the attributes of `definition`."""
    found: list[Note] = []
    for name, (value, _) in definition.attributes.items():
        if name == "max_tokens" and definition.is_empty:
            continue
        if name in NOTES:
            text = value.value if isinstance(value, Text) else None
            if name == "max_tokens" and isinstance(value, float):
                found.append((name, int(value)))
            else:
                found.append((name, value if isinstance(value, float) else text))
    suffix = definition.attributes.get("suffix", (None, 0))[0]
    if suffix is not None and any(name in ("capture", "stop_capture", "hidden") for name, _ in found):
        while isinstance(suffix, Name) and suffix.name in scope.definitions:
            suffix = scope.definitions[suffix.name].body
        if not isinstance(suffix, Text) or suffix.ignore_case:
            if not any(name in ("capture", "stop_capture") for name, _ in found):
                return tuple(note for note in found if note[0] != "hidden")  # of no known length: it stays
            refuse("a capture is cut at a suffix that is one text, and not at a pattern", source, definition.span)
        found.append(("trailing", suffix.value))
    return tuple(found)
