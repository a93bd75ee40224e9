"""Lark text to the tree of `syntax.py`, by recursive descent; `lexer.py` cuts the tokens.

How tightly things bind, from the tightest: `~a`, then one quantifier, then sequences, then `&`, then `|`.

Read on: `lower.py` (what the tree means).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..attributes import NOTES
from ..escapes import QUANTIFIERS, whole_number
from ..ir import Span
from ..nodes import MAX_REPEAT
from .common import COMMON
from .lexer import Cursor, Tokens, text_value
from .parametric import ParameterReader
from .syntax import (
    Alternatives,
    Both,
    Common,
    Definition,
    Expression,
    External,
    Given,
    Import,
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
    Use,
    With,
    is_terminal_name,
)

# Groups and nested grammars in each other: reading and lowering recurse.
MAX_GROUPS = 60
_MAX_TOKEN = 2**31 - 1
_MAX_LISTED = 1_000_000
_ENDS = ("nl", "end", "|", "&", ")", "]", "}", "->", "%if")
_CAPTURE_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
_CHUNKS = re.compile(r"\w+|\s+|[^\w\s]+")
# Kept as notes, or part of what the rule matches.
_ATTRIBUTES = ("capture", "lazy", "max_chars", "max_tokens", "stop", "stop_capture", "suffix", "temperature")
_OFF_OPTIONS = ("no_forcing", "allow_invalid_utf8")
_ATOMS = "a name, a string, a regular expression or a group"
_TOKENS_ARE_WRITTEN = "tokens are written <[12]>, <[1-5,9]>, <[^7]> or <[*]>"
_SUBSTRINGS = '{"substring_words": "..."}, {"substring_chars": "..."}, {"substring_chunks": [...]}'


def parse(source: str, begin: int = 0) -> Scope:
    """The statements of `source` from `begin` on.  Raises `GrammarSyntaxError` and `UnsupportedFeatureError`, with
    their offsets."""
    return _Parser(Tokens(source, begin)).scope("end", 0)


class _Parser(Cursor):
    # -- statements -----------------------------------------------------------------------------------------------

    def scope(self, closing: str, depth: int) -> Scope:
        """Statements up to a token of the kind `closing`."""
        scope = Scope()
        while True:
            while self.kind == "nl":
                self.step()
            if self.kind == closing:
                return scope
            self._statement(scope, depth)
            if self.kind not in ("nl", closing):
                self.unexpected("expected the end of the statement")

    def _statement(self, scope: Scope, depth: int) -> None:
        start = self.start
        kind = self.kind
        if kind == "%declare":
            self._declare(scope)
        elif kind in ("%extend", "%override"):
            self.step()
            scope.changes.append((kind, self._definition(depth)))
        elif kind == "%ignore":
            self.step()
            scope.ignored.append(self._alternatives(depth))
        elif kind == "%import":
            self.step()
            self._import(scope)
        elif kind in ("%llguidance", "%grammar_options"):
            self._options(scope)
        elif kind.startswith("%"):
            self.tokens.fail(f"there is no statement {kind}", start)
        else:
            first = self.i
            made = self._definition(depth)
            while self.tokens.kinds[first] in ("?", "!"):
                first += 1
            self._define(scope, made, self.tokens.starts[first])

    def _declare(self, scope: Scope) -> None:
        self.step()
        while True:
            start = self.start
            name = self.expect("name", "a name to declare")
            scope.declared[name] = self.span(start)
            if self.kind in ("nl", "end", "}"):
                return

    def _import(self, scope: Scope) -> None:
        start, is_file = self.start, self.kind == "."
        self.step(is_file)
        what = "the name of a file, as in .file.rule" if is_file else "the name of a package, such as common"
        path = [self.expect("name", what)]
        while self.kind == ".":
            self.step()
            path.append(self.expect("name", "a name"))
        names: list[tuple[str, Span]] = []
        alias: str | None = None
        if self.kind == "(":
            for at in self._listed(")"):
                names.append((self.expect("name", "a name"), self.span(at)))
        else:
            if len(path) == 1:
                self.unexpected('expected "." and a name')
            names.append((path.pop(), self.span(self.tokens.starts[self.i - 1])))
            if self.kind == "->":
                self.step()
                alias = self.expect("name", "a new name")
        is_common = path == ["common"] and not is_file
        for name, span in names:
            if is_common and name not in COMMON:
                self.tokens.fail(f"unknown common import {name!r}: common has {', '.join(COMMON)}", span.start)
            if alias is not None and is_terminal_name(alias) != is_terminal_name(name):
                what = "terminal's name is in upper" if is_terminal_name(name) else "rule's name is in lower"
                self.tokens.fail(f"a {what} case", self.tokens.starts[self.i - 1])
            if is_common:
                new = alias or name
                self._define(scope, Definition(new, Common(name, span), {}, span, is_terminal=True), span.start)
        if not is_common:
            aliased = tuple((name, alias) for name, _ in names)
            scope.modules.append(Import(".".join(path), aliased, self.span(start)))

    def _options(self, scope: Scope) -> None:
        for name, value in self._object().items():
            if name not in ("allow_initial_skip", *_OFF_OPTIONS):
                self.tokens.refuse(f"unknown {self.kind} option {name!r}: only allow_initial_skip is known", self.start)
            if not isinstance(value, bool):
                self.tokens.fail(f"{name} must be a boolean: true or false", self.start)
            if name == "allow_initial_skip":
                scope.initial_skip = value
            elif value:
                self.tokens.refuse(f"{self.kind} option {name!r} is not supported, except as false", self.start)
        self.step()

    def _object(self) -> dict[str, Any]:
        value = self.tokens.values[self.i]
        assert isinstance(value, dict)
        return value

    def _definition(self, depth: int) -> Definition:
        start = self.start
        while self.kind in ("?", "!"):
            self.step()
        name = self.expect("name", "a rule, as in: name: body")
        parameters: list[str] = []
        is_parametric = self.kind == "::"
        if is_parametric:
            self.step()
            if self.expect("name", f"'_' behind '::', as in {name}::_: body") != "_" or is_terminal_name(name):
                self.tokens.fail("a parametric rule is written name::_: body, with a name in lower case", start)
        if self.kind == "{":
            for at in self._listed("}"):
                parameters.append(self.expect("name", "the name of a parameter, as in: name{x, y}: body"))
                if parameters[-1] in parameters[:-1]:
                    self.tokens.fail(f"two parameters are called {parameters[-1]!r}", at)
        priority = 0
        if self.kind == "." and self.next_kind() in ("number", "-"):
            self.step()
            sign = -1 if self.kind == "-" else 1
            self.step(sign < 0)
            priority = sign * self._count()
        attributes = self._attributes(depth) if self.kind == "[" else {}
        is_terminal = is_terminal_name(name)
        if is_terminal:
            attributes.pop("hidden", None)
        for noted in NOTES if is_terminal else ():
            if noted in attributes:  # a terminal may be part of another, where nobody knows where it ended
                reason = f"attributes are only supported on rules, whose names are in lower case: {noted}"
                self.tokens.fail(reason, attributes[noted][1])
        for noted in attributes if is_parametric else ():
            if noted != "capture":
                written = "stop" if noted == "hidden" else noted
                reason = f"{written}= is not supported for parametric rules; give it to a rule that calls this one"
                self.tokens.refuse(reason, attributes[noted][1])
        if is_parametric and parameters:
            self.tokens.refuse(f"{name!r} is a template, and parametric, too: make it two rules", start)
        self.expect(":", f"':' after rule name {name!r}")
        body = self._alternatives(depth)
        span, made = self.span(start), tuple(parameters)
        return Definition(name, body, attributes, span, is_terminal, made, priority, is_parametric)

    def _listed(self, closing: str) -> Iterator[int]:
        """Where each item of a list begins, whose bracket opens here; the caller reads it, and goes on behind all."""
        while self.kind != closing:
            self.step()
            yield self.start
            if self.kind not in (",", closing):
                self.unexpected(f'expected "," or "{closing}"')
        self.step()

    def _define(self, scope: Scope, made: Definition, name_at: int) -> None:
        name = made.name
        known = scope.definitions.get(name) or scope.templates.get(name)
        if known is not None:
            line = self.tokens.source.count("\n", self.tokens.begin, known.span.start) + 1
            how = "imported" if isinstance(known.body, Common) else "defined"
            self.tokens.fail(f"duplicate rule or terminal {name!r}: it is already {how} on line {line}", name_at)
        (scope.templates if made.parameters else scope.definitions)[name] = made

    def _attributes(self, depth: int) -> dict[str, tuple[float | Expression | None, int]]:
        found: dict[str, tuple[float | Expression | None, int]] = {}
        for start in self._listed("]"):
            name = self.expect("name", "an attribute's name, as in name[lazy]: body")
            if name not in _ATTRIBUTES:
                self.tokens.fail(f"attribute {name!r} is not supported: there are {', '.join(_ATTRIBUTES)}", start)
            if name in found:
                self.tokens.fail(f"{name} attribute is specified more than once: the attribute is given twice", start)
            value: float | Expression | None = None
            if self.kind == "=":
                self.step()
                value = self._attribute_value(name, depth)
            elif name not in ("capture", "lazy"):
                self.unexpected(f"the attribute {name!r} needs a value")
            found[name] = (value, start)
        if "stop" in found and "suffix" in found:
            first, second = (name for name in found if name in ("stop", "suffix"))
            self.tokens.fail(f"{second} cannot be combined with {first}", found[second][1])
        if "stop_capture" in found and not {"stop", "suffix"} & found.keys():
            self.tokens.fail("stop_capture requires stop or suffix", found["stop_capture"][1])
        if "max_tokens" in found and {"lazy", "stop", "suffix"} & found.keys():
            reason = "a rule that is lazy ends by itself, so it takes no max_tokens: give that to a rule that calls it"
            self.tokens.refuse(reason, found["max_tokens"][1])
        if "stop" in found:  # a suffix, which the captures of rules around it leave out, too
            found["hidden"] = (None, found["stop"][1])
            found["suffix"] = found.pop("stop")
        return found

    def _attribute_value(self, name: str, depth: int) -> float | Expression:
        start = self.start
        match name:
            case "lazy":
                self.tokens.fail("the attribute 'lazy' takes no value", start)
            case "max_chars" | "max_tokens":
                return float(self._count())
            case "temperature":
                if self.kind == "-":
                    self.tokens.fail("temperature must be a finite non-negative number", start)
                if self.kind != "number":
                    self.unexpected("expected number after temperature=")
                digits = self.take()
                if self.kind == ".":
                    self.step()
                    digits += "." + self.expect("number", "digits")
                return float(digits)
            case "capture" | "stop_capture":
                if self.kind != "string":
                    self.unexpected(f"expected string literal after {name}=, a name in quotes")
                value = self._text()
                if not isinstance(value, Text) or not _CAPTURE_NAME.fullmatch(value.value):
                    empty = isinstance(value, Text) and not value.value
                    problem = "not be empty" if empty else "only contain letters, digits, '_', '-' and '.'"
                    self.tokens.fail(f"capture name must {problem}", start)
                return value
            case _:
                if self.kind not in ("string", "regex", "name"):
                    self.unexpected("expected a string, a regular expression or a terminal")
                ending = self._atom(depth)
                if isinstance(ending, Text) and not ending.value:
                    self.tokens.fail(f"{name} must not be empty", start)
                return ending

    # -- expressions ----------------------------------------------------------------------------------------------

    def _alternatives(self, depth: int) -> Expression:
        start = self.start
        items = [self._both(depth)]
        while self.kind == "|":
            self.step()
            items.append(self._both(depth))
        return items[0] if len(items) == 1 else Alternatives(tuple(items), self.span(start))

    def _both(self, depth: int) -> Expression:
        start = self.start
        items = [self._sequence(depth)]
        while self.kind == "&":
            self.step()
            items.append(self._sequence(depth))
        if self.kind == "->":
            self.step()
            self.expect("name", "alias name after '->'")
        item = items[0] if len(items) == 1 else Both(tuple(items), self.span(start))
        if self.kind != "%if":
            return item
        self.step()
        return Given(item, ParameterReader(self).condition(), self.span(start))

    def _sequence(self, depth: int) -> Expression:
        start = self.start
        items: list[Expression] = []
        while self.kind not in _ENDS:
            items.append(self._quantified(depth))
        if not items:
            return Sequence((), Span(start, start))
        return items[0] if len(items) == 1 else Sequence(tuple(items), self.span(start))

    def _quantified(self, depth: int) -> Expression:
        start = self.start
        if self.kind == "~":
            self.step()
            if self.kind == "number":
                self.tokens.fail("nothing to repeat here", start)
            item: Expression = Others(self._atom(depth), self.span(start))
        else:
            item = self._atom(depth)
        bounds = self._bounds()
        if bounds is None:
            return item
        again = self.start
        if self._bounds() is not None:
            self.tokens.fail("two quantifiers in a row; use a group: (x?)*", again)
        return Times(item, *bounds, self.span(start))

    def _bounds(self) -> tuple[int, int | None] | None:
        """The counts of a quantifier, if there is one here."""
        if self.kind in QUANTIFIERS:
            return QUANTIFIERS[self.take()]
        if self.kind == "~" and self.next_kind() == "number":
            self.step()
            low = self._count()
            if self.kind != "..":
                return low, low
            self.step()
            return self._ordered(low, self._count())
        if self.kind != "{":
            return None
        self.step()
        if self.kind not in ("number", ","):
            self.tokens.refuse("invalid repetition count: a count is written {n}, {n,}, {n,m} or {,m}", self.start)
        low = 0 if self.kind == "," else self._count()
        most: int | None = low
        if self.kind == ",":
            self.step()
            most = self._ordered(low, self._count())[1] if self.kind == "number" else None
        self.expect("}", '"}"')
        return low, most

    def _ordered(self, low: int, high: int) -> tuple[int, int]:
        if high < low:
            reason = (
                f"repetition end must be greater than or equal to its start: the count {low} to {high} runs backwards"
            )
            self.tokens.fail(reason, self.tokens.starts[self.i - 1])
        return low, high

    def _count(self) -> int:
        start = self.start
        count = whole_number(self.expect("number", "a number"), MAX_REPEAT)
        if count is None:
            self.tokens.fail(f"invalid repetition count: a count may be at most {MAX_REPEAT:,}", start)
        return count

    def _atom(self, depth: int) -> Expression:
        tokens, start, kind = self.tokens, self.start, self.kind
        if kind in ("(", "[", "%lark") and depth == MAX_GROUPS:
            tokens.refuse(f"groups are nested deeper than {MAX_GROUPS}", start)
        match kind:
            case "string":
                return self._text()
            case "regex":
                written = self.take()
                end = written.rindex("/")
                return Pattern(written[1:end], written[end + 1 :], self.span(start))
            case "name":
                name = self.take()
                if self.kind == "::":
                    self.step()
                    return With(name, ParameterReader(self).argument(), self.span(start))
                if self.kind == "." and self.next_kind() == "number":
                    tokens.refuse("a priority stands at a definition, as in name.2: body", self.start)
                if self.kind == "{" and self.next_kind() not in ("number", ",", "-", "}"):
                    return self._use(name, depth, start)
                return Name(name, self.span(start))
            case "at":
                return External(self.take()[1:], self.span(start))
            case "special":
                return self._special()
            case "(" | "[":
                self.step()
                inside = self._alternatives(depth + 1)
                closing = ")" if kind == "(" else "]"
                if self.kind == "end":
                    group = "group" if kind == "(" else "optional group"
                    tokens.fail(f"expected '{closing}' after {group}: \"{kind}\" is never closed", start)
                self.expect(closing, f'"{closing}"')
                return inside if kind == "(" else Times(inside, 0, 1, self.span(start))
            case "%json":
                schema = self._object()
                self.step()
                if "x-guidance" in schema:
                    tokens.refuse("the options x-guidance of a schema are not supported", start)
                return Schema(schema, self.span(start))
            case "%regex":
                return self._substring()
            case "%lark":
                self.step()
                self.expect("{", '"{"')
                scope = self.scope("}", depth + 1)
                self.step()
                return Nested(scope, self.span(start))
        if kind in ("*", "+", "?"):
            tokens.fail("nothing to repeat here", start)
        if kind in ("!", "-"):
            tokens.fail(f"unexpected {kind!r} character: {_ATOMS} is expected", start)
        self.unexpected(f"expected {_ATOMS}")

    def _use(self, name: str, depth: int, start: int) -> Use:
        """A template with its arguments, each of which is one thing: so what is written out stays small."""
        if depth == MAX_GROUPS:
            self.tokens.refuse(f"groups are nested deeper than {MAX_GROUPS}", start)
        arguments: list[Expression] = []
        for at in self._listed("}"):
            arguments.append(self._atom(depth + 1))
            if not isinstance(arguments[-1], Text | Pattern | Range | Name | Use | External | Special | TokenIds):
                reason = "an argument is a name, a string, a regular expression or a template; give others a rule"
                self.tokens.fail(reason, at)
        return Use(name, tuple(arguments), self.span(start))

    def _text(self) -> Text | Range:
        start = self.start
        value, ignore_case = text_value(self.tokens, self.i)
        self.step()
        if self.kind != "..":
            return Text(value, ignore_case, self.span(start))
        self.step()
        if self.kind != "string":
            self.unexpected("expected the last character of the range, in quotes")
        last, last_case = text_value(self.tokens, self.i)
        self.step()
        if ignore_case or last_case:
            self.tokens.fail('flags are not allowed on character ranges; a range is written "a".."z"', start)
        if len(value) != 1 or len(last) != 1:
            self.tokens.fail('range endpoints must be one character each, as in "a".."z"', start)
        if last < value:
            self.tokens.fail(f"range start must not exceed end: {value}..{last} runs backwards", start)
        return Range(ord(value), ord(last), self.span(start))

    def _special(self) -> Expression:
        start, written = self.start, self.take()
        span = self.span(start)
        if not (written.startswith("<[") and written.endswith("]>")):
            return Special(written, span)
        inside = written[2:-2]
        if inside == "*":
            return TokenIds((), True, span)
        negated = inside.startswith("^")
        ids: set[int] = set()
        for part in inside.removeprefix("^").split(","):
            if "*" in part:
                what = (
                    "negated wildcard special token is not supported" if inside == "^*" else "wildcard cannot be mixed"
                )
                self.tokens.fail(f"{what}: {_TOKENS_ARE_WRITTEN}", start)
            match = re.fullmatch(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", part)
            low = int(match.group(1)) if match else 0
            high = int(match.group(2) or low) if match else 0
            if not part.strip():
                self.tokens.fail(f"empty numeric special-token range: {_TOKENS_ARE_WRITTEN}", start)
            if match is None or not low <= high <= _MAX_TOKEN:
                self.tokens.fail(f"invalid numeric special-token range: {_TOKENS_ARE_WRITTEN}", start)
            if high - low >= _MAX_LISTED:
                reason = f"special-token range is too large: more than {_MAX_LISTED:,} ids; {_TOKENS_ARE_WRITTEN}"
                self.tokens.fail(reason, start)
            ids.update(range(low, high + 1))
        return TokenIds(tuple(sorted(ids)), negated, span)

    def _substring(self) -> Substring:
        start, value = self.start, self._object()
        self.step()
        if len(value) == 1:
            ((name, given),) = value.items()
            if name == "substring_chunks" and isinstance(given, list) and all(isinstance(one, str) for one in given):
                self.tokens.check("".join(given), start)
                return Substring(tuple(given), self.span(start))
            if name in ("substring_chars", "substring_words") and isinstance(given, str):
                self.tokens.check(given, start)
                chunks = list(given) if name == "substring_chars" else _CHUNKS.findall(given)
                return Substring(tuple(chunks), self.span(start))
        self.tokens.fail(f"{_not_a_substring(value)}: %regex takes one of {_SUBSTRINGS}", start)


def _not_a_substring(value: dict[str, Any]) -> str:
    """What is wrong with the object behind `%regex`."""
    for name in value:
        if name not in ("substring_words", "substring_chars", "substring_chunks"):
            return f"unknown field {name!r} in %regex"
    if not value:
        return "no fields set on %regex"
    if len(value) > 1:
        return "only one field can be set on %regex"
    (name,) = value
    return f"{name} must be {'an array of strings' if name == 'substring_chunks' else 'a string'}"
