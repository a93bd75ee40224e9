"""Terminals: as grammar nodes where they are plain, as languages where `&`, `~` or an attribute works on them.

Read on: `lower.py` (who asks), `..regular.languages`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ...errors import GrammarError
from .. import charset, nodes
from ..attributes import at_most, shortest
from ..components import strong_components
from ..embedding import embedded
from ..ir import Empty, Node, RuleRef, Span
from ..names import undefined
from ..regex import parse_regex, pattern_rules
from ..regular.assertions import START, rest
from ..regular.from_rules import grammar_language, with_languages
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    NOTHING,
    Language,
    TooManyStates,
    bounded,
    complement,
    concat,
    intersection,
    loop,
    union,
)
from ..regular.patterns import full_match
from ..regular.reader import Pattern as Read
from ..regular.reader import read
from ..regular.to_rules import language_node
from ..regular.tree import Tree, alternatives, counted, in_order, is_plain
from ..rulebook import RuleBook
from ..substring import substring_grammar
from .beyond import asked_beyond
from .common import COMMON
from .lexer import LANGUAGE, fail, refuse, reject
from .syntax import (
    Alternatives,
    Both,
    Common,
    Definition,
    Expression,
    External,
    Name,
    Nested,
    Others,
    Pattern,
    Range,
    Schema,
    Scope,
    Sequence,
    Special,
    Substring,
    Text,
    Times,
    TokenIds,
    parts,
)

_FLAGS = frozenset("imsu")
_LOOKS = re.compile(r"\(\?<?[=!]|\\[bB]")  # in the text of a pattern that may look around
_SHOWN = 40  # characters of a pattern in a remark


def is_shaped(definition: Definition) -> bool:
    """Has it an attribute that works on a regular language?  Such a *shaped* one is a terminal, whatever its name."""
    return not definition.attributes.keys().isdisjoint(("lazy", "max_chars", "suffix"))


def is_lazy(definition: Definition) -> bool:
    """Does it end as soon as it can?"""
    return not definition.attributes.keys().isdisjoint(("lazy", "suffix"))


def _standing(span: Span, node: Node, below: list[Node]) -> Node:
    """A node of an imported pattern, at the import: its own place is one in another text."""
    return nodes.rebuild(node.with_span(span), below)


class Terminals:
    """The terminals of one scope.  `names` maps what is written to the names of rules in `book`."""

    def __init__(self, scope: Scope, names: dict[str, str], book: RuleBook, source: str) -> None:
        self.scope = scope
        self.names = names
        self.book = book
        self.source = source
        self.defined = {name: d for name, d in scope.definitions.items() if d.is_terminal or is_shaped(d)}
        self.remarks: dict[str, None] = {}  # in order, each once
        self._calls = {name: self._called_by(definition) for name, definition in self.defined.items()}
        self._order = self._called_first()
        self._languages: dict[str, Language] = {}
        self._patterns: dict[Pattern, Read] = {}
        written = (part for expression in scope.expressions() for part in parts(expression))
        self._may_look = any(isinstance(part, Pattern) and _LOOKS.search(part.source) for part in written)
        self._looking: dict[str, Pattern | None] = {}
        for name in self._order:
            self._looking[name] = self._first_look(self.defined[name].body)

    def __contains__(self, name: object) -> bool:
        return name in self.defined

    def define_all(self) -> None:
        """Give every terminal's rule its body."""
        for name in self._order:
            definition = self.defined[name]
            if definition.is_empty:
                body: Node = Empty(span=definition.span)
            elif is_shaped(definition):
                body = self.node_of(self._language_of(name), definition.span, self.names[name])
            else:
                body = self.node(definition.body)
            self.book.define(self.names[name], body)

    # -- as nodes -------------------------------------------------------------------------------------------------

    def node(self, expression: Expression) -> Node:
        """A terminal expression as it is written."""
        span = expression.span
        match expression:
            case Name(name):
                return RuleRef(self._resolved(name, span), span=span)
            case Common(name):
                body: Node = nodes.fold(parse_regex(COMMON[name]).rules["root"].body, partial(_standing, span))
                return body
            case Alternatives(items):
                return nodes.choice([self.node(item) for item in items], span)
            case Substring(chunks):
                return embedded(substring_grammar([chunk.encode() for chunk in chunks]), self.book, "substring", span)
        looks = isinstance(expression, Pattern | Sequence | Times) and self._looks(expression)
        if looks or isinstance(expression, Both | Others):
            return self.node_of(self.language(expression), span, "text")
        if isinstance(expression, Pattern):
            written = self._read(expression)
            try:
                ir = pattern_rules(written)
            except GrammarError as error:
                raise self._moved(error, span) from None
            return embedded(ir, self.book, "regex", span, shift=span.start + 1)
        found = self._tree(expression, self.node)
        assert is_plain(found)
        return found

    def _read(self, pattern: Pattern) -> Read:
        found = self._patterns.get(pattern)
        if found is None:
            letters = self._flags(pattern)
            try:
                found = self._patterns[pattern] = read(pattern.source, letters)
            except GrammarError as error:
                raise self._moved(error, pattern.span) from None
        return found

    def _flags(self, pattern: Pattern) -> str:
        for i, flag in enumerate(pattern.flags):
            if flag not in _FLAGS:
                reason = f"regular-expression flag {flag!r} is not supported: the flags are i, m and s"
                refuse(reason, self.source, pattern.span.end - len(pattern.flags) + i)
        return pattern.flags.replace("u", "")  # everything is Unicode

    def _moved(self, error: GrammarError, span: Span) -> GrammarError:
        """An error in a pattern, at its place in the whole."""
        offset = span.start + 1 + (error.offset or 0)
        reason = f"failed to compile regular expression: {error.reason}"
        return type(error)(reason, self.source, offset, language=LANGUAGE)

    def node_of(self, language: Language, span: Span, hint: str) -> Node:
        """The texts of `language`, which stands at `span`."""
        try:
            return language_node(language, self.book, hint)
        except TooManyStates as error:
            self._refuse(error, span)

    def _refuse(self, error: TooManyStates | RecursionError, span: Span) -> NoReturn:
        reason = f"this terminal needs {error}"
        if isinstance(error, RecursionError):
            reason = "terminals with assertions are nested too deeply"
        refuse(reason, self.source, span)

    # -- as languages ---------------------------------------------------------------------------------------------

    def language(self, expression: Expression) -> Language:
        """The texts of a terminal expression."""
        try:
            return bounded(rest((with_languages(self._tree(expression, self._joined)),), EPSILON, START))
        except (TooManyStates, RecursionError) as error:
            self._refuse(error, expression.span)

    def _joined(self, expression: Expression) -> Tree:
        """One tree for a whole terminal, so that assertions see what stands beside them; else a language."""
        return self._tree(expression, self._joined) if self._looks(expression) else self.language(expression)

    def _tree(self, expression: Expression, below: Callable[[Expression], Tree]) -> Tree:
        """The tree of a terminal expression, of what `below` makes of its parts."""
        span = expression.span
        match expression:
            case Text(value, ignore_case):
                if not ignore_case:
                    return nodes.literal(value.encode(), span)
                return nodes.seq([nodes.char_set(_any_case(letter)) for letter in value], span)
            case Range(first, last):
                return nodes.char_set(((first, last),), span)
            case Common(name):
                return full_match(COMMON[name])
            case Pattern():
                return self._read(expression).tree if self._looks(expression) else self._alone(expression)
            case Name(name):
                self._resolved(name, span)
                definition = self.defined[name]
                if "max_tokens" in definition.attributes:
                    reason = f"{name!r} counts tokens (max_tokens), so nothing can be done to its texts as a whole"
                    refuse(reason, self.source, span)
                return below(definition.body) if self._looks(expression) else self._language_of(name)
            case Sequence(items):
                return in_order([below(item) for item in items], span)
            case Alternatives(items):
                return alternatives([below(item) for item in items], span)
            case Times(item, least, most):
                return counted(below(item), least, most, span)
            case Both(items):
                return intersection(*map(self.language, items))
            case Others(item):
                return complement(self.language(item))
            case Substring(chunks):
                return grammar_language(substring_grammar([chunk.encode() for chunk in chunks]))
        self._not_in_terminals(expression)

    def _alone(self, pattern: Pattern) -> Language:
        """The texts of a pattern without assertions that look out of it."""
        try:
            return full_match(pattern.source, self._flags(pattern))
        except GrammarError as error:
            raise self._moved(error, pattern.span) from None

    def named_language(self, name: str) -> Language:
        """The texts of a terminal by its name."""
        return bounded(self._language_of(name))

    def is_regular(self, expression: Expression) -> bool:
        """Is an expression without parts one of characters, and not of tokens, a schema or a grammar?"""
        return not isinstance(expression, TokenIds | Special | Schema | External | Nested)

    def _language_of(self, name: str) -> Language:
        todo = [name]
        while todo:  # what it is made of comes first, so that this never goes deeper than one terminal
            needed = [call.name for call in self._calls[todo[-1]] if call.name not in self._languages]
            if not needed and (top := todo.pop()) not in self._languages:
                self._languages[top] = self._shaped(self.defined[top])
            todo += needed
        return self._languages[name]

    def _shaped(self, definition: Definition) -> Language:
        try:
            language = self.language(definition.body)
            count = definition.attributes.get("max_chars", (None, 0))[0]
            if "suffix" in definition.attributes:
                suffix, offset = definition.attributes["suffix"]
                if suffix is None or isinstance(suffix, float):
                    fail("the suffix is missing", self.source, offset)
                if isinstance(count, float):
                    return _closed_by(language, self.language(suffix), int(count))
                language = bounded(concat(language, self.language(suffix)))
            if is_lazy(definition):
                language = shortest(language)
            return at_most(language, int(count)) if isinstance(count, float) else language
        except TooManyStates as error:
            self._refuse(error, definition.span)

    # -- assertions -----------------------------------------------------------------------------------------------

    def look_beyond(self) -> None:
        """Refuse assertions that ask for text around a terminal, and remark on those that forbid some there."""
        if not self._may_look:
            return
        rules = [one.body for name, one in self.scope.definitions.items() if name not in self.defined]
        lexed = [part for body in rules for part in parts(body)]
        whole = {part.name for part in lexed if isinstance(part, Name)}
        called = {call.name for calls in self._calls.values() for call in calls}
        written = [one for definition in self.defined.values() for one in definition.expressions()]
        apart = [part for one in written for part in parts(one) if isinstance(part, Both | Others)]
        within = [part for one in apart for part in parts(one)]
        whole |= {part.name for part in within if isinstance(part, Name)}
        # A terminal that is part of another is asked there, unless it is shaped: then its body and suffix stand alone.
        asked = [
            expression
            for name, one in self.defined.items()
            if is_shaped(one) or name in whole or name not in called
            for expression in one.expressions()
        ]
        patterns = [part for part in (*lexed, *within) if isinstance(part, Pattern)]
        for expression in (*asked, *self.scope.ignored, *patterns):
            if (first := self._first_look(expression)) is not None:
                self._ask(expression, first)

    def _ask(self, expression: Expression, first: Pattern) -> None:
        try:
            asked = set(asked_beyond(self._joined(expression)))
        except (TooManyStates, RecursionError) as error:
            self._refuse(error, expression.span)
        if True in asked:
            reason = (
                "a terminal sees its own text alone, so what this pattern asks of the text around it never holds; "
                "leave out that assertion, and let the rule say what comes there"
            )
            refuse(reason, self.source, first.span.start + 1 + (self._read(first).assertion or 0))
        if False in asked:
            shown = first.source if len(first.source) <= _SHOWN else first.source[:_SHOWN] + "..."
            self.remarks[f"a terminal sees its own text alone: what /{shown}/ forbids around it is not asked"] = None

    def _looks(self, expression: Expression) -> bool:
        """Does an assertion in it look out of the pattern that it stands in?"""
        return self._first_look(expression) is not None

    def _first_look(self, expression: Expression) -> Pattern | None:
        for part in parts(expression) if self._may_look else ():
            match part:
                case Pattern(source) if _LOOKS.search(source) and any(
                    True for _ in asked_beyond(self._read(part).tree)
                ):
                    return part
                case Name(name) if name in self.defined and not is_shaped(self.defined[name]):
                    if (within := self._looking[name]) is not None:
                        return within
        return None

    # -- names ----------------------------------------------------------------------------------------------------

    def _resolved(self, name: str, span: Span) -> str:
        if name in self:
            return self.names[name]
        if name in self.scope.definitions:
            fail(
                f"{self._who(span)} cannot reference rule {name!r}: terminals are made of terminals", self.source, span
            )
        reason = f"unknown name {name!r}: {undefined(name, self.names)}"
        reject(reason, self.source, span)

    def _who(self, span: Span) -> str:
        """The definition around `span`, as messages name it."""
        for definition in self.defined.values():
            if definition.span.start <= span.start < definition.span.end:
                if definition.is_terminal:
                    return f"terminal {definition.name!r}"
                return f"{definition.name!r} has an attribute of terminals, and a terminal"
        return "what & and ~ join"

    def _called_first(self) -> list[str]:
        """Terminals, each behind those it is made of.  An error where that leads in a circle."""
        calls = self._calls
        groups = strong_components({name: [call.name for call in called] for name, called in calls.items()}, calls)
        for group in groups:
            for i, name in enumerate(group):  # in the order in which they were met: some call leads back
                for call in calls[name]:
                    if call.name in group[: i + 1]:
                        self._circle(call)
        return [name for (name,) in groups]

    def _circle(self, call: Name) -> NoReturn:
        if self.defined[call.name].is_terminal:
            what = f"circular reference in terminal {call.name!r}"
        else:
            what = f"{call.name!r} has an attribute of terminals, and a terminal cannot reference rules"
        fail(f"{what}: it calls itself; use a rule (in lower case, without such attributes)", self.source, call.span)

    def _called_by(self, definition: Definition) -> list[Name]:
        inside = list(parts(definition.body))
        suffix = definition.attributes.get("suffix", (None, 0))[0]
        if suffix is not None and not isinstance(suffix, float):
            inside += parts(suffix)
        return [part for part in inside if isinstance(part, Name) and part.name in self.defined]

    # -- errors ---------------------------------------------------------------------------------------------------

    def _not_in_terminals(self, expression: Expression) -> NoReturn:
        match expression:
            case Schema():
                what = "%json"
            case Nested():
                what = "nested %lark"
            case External():
                what = "named grammars"
            case _:
                what = "special tokens"
        fail(f"{what} cannot be used in terminals; use a rule (in lower case)", self.source, expression.span)


def _closed_by(texts: Language, suffix: Language, most: int) -> Language:
    """Fewer than `most` characters and then the suffix, lazily; or exactly `most`, in which no suffix has ended."""
    whole = shortest(bounded(concat(texts, suffix)))
    early = concat(at_most(texts, most - 1), suffix) if most else NOTHING
    full = intersection(texts, loop(ANY_CHARACTER, most, most), complement(concat(texts, suffix, ALL)))
    return bounded(union(intersection(whole, early), full))


def _any_case(letter: str) -> charset.Ranges:
    return charset.close_case(((ord(letter), ord(letter)),))
