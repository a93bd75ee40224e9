r"""EBNF text to IR: `lexer.py` cuts tokens, one loop with its own stack builds nodes.

The dialect is XGrammar's, with a few additions (marked +):

- `name ::= body`; the name is the first thing on its line, the body may run over many lines.  Names are made of
  letters, digits, `_`, `-` and `.`, and not of digits alone.  `#` starts a comment.
- `a b` sequence, `a | b` choice, `( ... )` group, `()` empty, `a* a+ a?`, `a{n} a{n,} a{n,m} a{n,-1}`, + `a{,m}`.
- `"..."` and + `'...'`: text, spelt in UTF-8.  Escapes: `\" \' \\ \/ \? \n \r \t \b \f \a \v \0 \e`, `\uXXXX`,
  `\UXXXXXXXX`, and `\x` with any number of hex digits: a code point, which takes all the digits that follow.
- `[...]`, `[^...]` one code point; `[^]` any at all, `[]` none (the empty language).  More escapes: the
  punctuation that means something elsewhere, + `\d \w \s \D \W \S` as in `charset.py`.
- + `b"..."`, `b'...'`, `b[...]`, `b[^...]`: raw bytes.  ASCII characters and escapes only, `\xHH` is one byte and
  has exactly two digits.  The `b` touches the quote or bracket; a rule called `b` needs a blank there.

- `(= ...)` at the end of a rule: XGrammar's lookahead assertion, parsed and ignored.  It is a hint for faster masks,
  which are exact here without it, and no part of the language.
- `name(...)`: macros, see `macros.py`.  A rule with a macro's name shadows the macro.
- + as in llama.cpp's GBNF: an alternative may be empty, `.` is any code point unless a rule is called so, `<[12]>` is
  the token 12 and `!<[12]>` any other.  Tokens by their text, `<name>`, are refused.

- `name[attribute, ...] ::= ...`: `lazy`, `max_chars=N`, `capture`, `capture="name"`, `temperature=x`,
  `trailing="text"`, `hidden`, `stop_capture="name"`, `max_tokens=N`, `distinct` and `item`, as `attributes.py` has
  them.  The first `]` ends them, so a text has `\]` for it.

Nothing may be nested deeper than `MAX_NESTING` groups.

Read on: `lexer.py`, `escapes.py` (what stands between quotes and brackets), `macros.py`, `nodes.pyx` (normal form),
`analysis.py` (what is checked after parsing), `printer.py` (the way back).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NoReturn

from ..errors import GrammarError, UnsupportedFeatureError
from . import charset, escapes, nodes
from .analysis import MAX_NESTING, members_are_last
from .attributes import NOTES, Attribute, Note, with_attributes
from .ir import GrammarIR, Never, Node, Rule, RuleRef, Span, walk
from .lexer import Tokens
from .macros import MACROS, Call
from .names import uncalled, undefined
from .rulebook import RuleBook

_ATTRIBUTE = re.compile(
    r"\s*+([A-Za-z_]\w*+)\s*+(?:=\s*+(-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|(\"(?:[^\"\\]|\\.)*+\")))?+\s*+"
)
_ATTRIBUTES = ("lazy", "max_chars", *NOTES)
_TOKEN_ID = re.compile(r"!?<\[(0|[1-9][0-9]{0,8})\]>")
_TAKEN = Rule("taken", Never())
_UNEXPECTED = {
    "[": 'the character class is never closed: no "]" before the end of the line',
    "]": '"]" without its "["',
    "{": "a count is written {n}, {n,}, {n,m} or {,m}",
    "}": '"}" without its "{"',
    ";": 'a rule ends where the next begins: leave the ";" out',
    "/": 'alternatives are told apart by "|", and a comment begins with "#"',
}


def parse_ebnf(source: str, root: str = "root", marks: Mapping[str, tuple[Note, ...]] = {}) -> GrammarIR:
    """All rules of `source`, also those that the root does not reach; single nodes are in normal form.

    `marks` are notes of rules that cannot be written as text (`predicates.py`).

    Raises `GrammarSyntaxError` for malformed text, `GrammarError` for undefined or repeated rules and a missing root,
    `UnsupportedFeatureError` for what is recognised and not supported; each with the offset where it is.
    """
    return read_ebnf(source, root, marks)[1]


def read_ebnf(source: str, root: str, marks: Mapping[str, tuple[Note, ...]]) -> tuple[GrammarIR, GrammarIR]:
    """The rules as they were written, and what `parse_ebnf` makes of them, with their attributes."""
    written, attributes = _Parser(source).grammar(root)
    return written, with_attributes(written, attributes, marks) if attributes or marks else written


class _Group:
    """An open group: the alternatives that are finished, the items of the current one, and where it began."""

    __slots__ = ("alternatives", "call", "is_lookahead", "items", "start")

    def __init__(self, start: int, call: Call | None = None, *, is_lookahead: bool = False) -> None:
        self.start = start
        self.call = call  # the macro call that this is an argument of
        self.is_lookahead = is_lookahead
        self.alternatives: list[Node] = []
        self.items: list[Node] = []


class _Parser(Tokens):
    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.heads = {  # by token: the name of the rule whose definition begins with it
            head: self.text(head)
            for i, kind in enumerate(self.kinds)
            if kind == "define" and (head := self._head(i)) >= 0
        }
        self.defined = dict.fromkeys(self.heads.values())
        self.book = RuleBook()  # takes the rules that macros add; the names of the others are taken
        self.book.rules = dict.fromkeys(self.defined, _TAKEN)

    def _head(self, define: int) -> int:
        """Index of the rule name that belongs to the `::=` at `define`, or -1."""
        before = self.kinds[max(0, define - 2) : define]
        if before[-1:] in (["name"], ["byteset"]):
            return define - 1
        return define - 2 if before == ["name", "set"] else -1

    def grammar(self, root: str) -> tuple[GrammarIR, dict[str, list[Attribute]]]:
        rules: dict[str, Rule] = {}
        attributes: dict[str, list[Attribute]] = {}
        i = 0
        while self.kinds[i] != "end":
            if i not in self.heads:
                self._expected_rule(i)
            name, start = self.heads[i], self.starts[i]
            given = self._head_attributes(i, name, rules)
            if given:
                attributes[name] = given
            first = i + (3 if self.kinds[i + 1] == "set" else 2)
            body, i = self._body(first, name)
            if not members_are_last(body):
                self.fail("Unordered is the last thing of its rule, and the only one there", start)
            rules[name] = Rule(name, body, span=Span(start, self.ends[i - 1]))
        rules.update((name, rule) for name, rule in self.book.rules.items() if name not in self.defined)
        if not rules:
            self.fail(f'a grammar needs at least one rule, such as: {root} ::= "text"', 0)
        if root not in rules:
            called = {node.name for rule in rules.values() for node in walk(rule.body) if isinstance(node, RuleRef)}
            tops = uncalled(rules, called, "root_rule_name")
            raise GrammarError(undefined(root, rules, role="root rule") + tops, self.source, 0)
        return GrammarIR(rules, root, self.source), attributes

    def _expected_rule(self, i: int) -> NoReturn:
        start = self.starts[i]
        if self.kinds[i] == "name":
            self.fail(f'expected "::=" after the rule name {self.text(i)!r}', self.ends[i])
        hint = '; a comment begins with "#"' if self.source.startswith(("//", "(*", "/*"), start) else ""
        self.fail(f"expected a rule, as in: name ::= body; found {self.source[start]!r}{hint}", start)

    def _head_attributes(self, i: int, name: str, rules: dict[str, Rule]) -> list[Attribute]:
        """The attributes of the rule whose name is token `i`."""
        start = self.starts[i]
        if self.source[self.source.rfind("\n", 0, start) + 1 : start].strip(" \t\r\ufeff"):
            self.fail(f"the rule {name!r} must begin on a line of its own", start)
        found: list[Attribute] = []
        if self.kinds[i] == "byteset":
            found = self._attributes(start + 1, self.ends[i] - 1)
        elif self.kinds[i + 1] == "set":
            found = self._attributes(self.starts[i + 1], self.ends[i + 1] - 1)
        if name in rules:
            first = rules[name].span
            line = self.source.count("\n", 0, first.start) + 1 if first else 0
            raise GrammarError(f"the rule {name!r} is already defined on line {line}", self.source, start)
        return found

    def _attributes(self, opening: int, closing: int) -> list[Attribute]:
        """What stands between the brackets at `opening` and `closing`."""
        found: list[Attribute] = []
        at = opening + 1
        while True:
            match = _ATTRIBUTE.match(self.source, at, closing)
            if match is None:
                self.fail("an attribute's name is expected here, as in rule[lazy] ::= ...", at)
            name, offset = match.group(1), match.start(1)
            if name not in _ATTRIBUTES:
                self.fail(f"there is no attribute {name!r}; there are {', '.join(_ATTRIBUTES)}", offset)
            if any(name == other.name for other in found):
                self.fail(f"the attribute {name!r} is given twice", offset)
            found.append(Attribute(name, self._attribute_value(match), offset))
            at = match.end()
            if at == closing:
                return found
            if self.source[at] != ",":
                self.fail('expected "," or "]" here', at)
            at += 1

    def _attribute_value(self, match: re.Match[str]) -> str | float | None:
        name, value, offset = match.group(1), match.group(2), match.start(1)
        match name:
            case "lazy" | "hidden" | "distinct" | "item" if value is not None:
                self.fail(f"the attribute {name!r} takes no value", offset)
            case "max_chars" | "max_tokens":
                number = escapes.whole_number(value or "", nodes.MAX_REPEAT)
                if number is None:
                    self.fail(f"{name} takes a number of at most {nodes.MAX_REPEAT:,}", offset)
                return number
            case "temperature":
                if value is None or match.group(3) or not 0 <= float(value) < math.inf:
                    self.fail("The temperature must be a finite non-negative number", offset)
                return float(value)
            case "capture" if value is not None:
                if not match.group(3):
                    self.fail("capture takes a name in quotes", offset)
                return self._attribute_text(match, "The capture name")
            case "trailing" | "stop_capture":
                if not match.group(3):
                    self.fail(f"{name} takes a text in quotes", offset)
                return self._attribute_text(match, f"The text of {name}")
        return None

    def _attribute_text(self, match: re.Match[str], what: str) -> str:
        found = escapes.text(self.source, match.start(3) + 1, match.end(3) - 1).decode()
        if not found:
            self.fail(f"{what} must not be empty", match.start(3))
        return found

    def _body(self, i: int, rule: str) -> tuple[Node, int]:
        """The body that begins at token `i`; returns it and the index of the first token after it."""
        kinds, starts, ends = self.kinds, self.starts, self.ends
        outer: list[_Group] = []
        group = _Group(starts[i])
        quantified = False
        while True:
            kind = kinds[i]
            start = starts[i]
            if kind == "name" and i not in self.heads:
                if self.kinds[i + 1] == "(" and self.text(i) in MACROS and self.text(i) not in self.defined:
                    group, i = self._resume(Call(self, i, self.book), None, group, outer)
                    quantified = False
                    continue
                group.items.append(self._reference(i))
            elif kind == "string":
                group.items.append(nodes.literal(self.string(i), Span(start, ends[i])))
            elif kind == "set":
                ranges = escapes.char_class(self.source, start, ends[i])
                group.items.append(nodes.char_set(ranges, Span(start, ends[i])))
            elif kind == "|":
                self._close_alternative(group, i, rule)
            elif kind == "(":
                if len(outer) == MAX_NESTING:
                    self.fail(f"groups are nested deeper than {MAX_NESTING:,}", start)
                outer.append(group)
                group = _Group(start)
            elif kind == "," and group.call is not None and kinds[i + 1] == ")":
                pass  # the closing parenthesis follows
            elif group.call is not None and (kind == ")" or (kind == "," and group.call.comma_ends)):
                self._close_alternative(group, i, rule)
                content = nodes.choice(group.alternatives, Span(group.start, ends[i - 1]))
                group, i = self._resume(group.call, (content, i), outer.pop(), outer)
                quantified = False
                continue
            elif kind == ")":
                if not outer:
                    self.fail('")" without its "("', start)
                group, closed = outer.pop(), group
                if closed.is_lookahead:
                    self._close_alternative(closed, i, rule)
                    if kinds[i + 1] != "end" and i + 1 not in self.heads:
                        self.fail("a lookahead (= ...) is the last thing of its rule", closed.start)
                elif closed.alternatives or closed.items:
                    self._close_alternative(closed, i, rule)
                    group.items.append(nodes.choice(closed.alternatives, Span(closed.start, ends[i])))
                else:
                    group.items.append(nodes.seq((), Span(closed.start, ends[i])))
            elif kind == "token":
                group.items.append(self._token(i))
            elif kind == "ahead":
                if outer:
                    self.fail("a lookahead (= ...) is the last thing of its rule, in no group", start)
                outer.append(group)
                group = _Group(start, is_lookahead=True)
            elif kind in escapes.QUANTIFIERS or kind == "count":
                if not group.items:
                    self.fail("nothing to repeat here", start)
                if quantified:
                    self.fail("two quantifiers in a row; use a group: (x?)*", start)
                low, high = (
                    escapes.QUANTIFIERS[kind] if kind != "count" else escapes.bounds(self.source, start, ends[i])
                )
                item = group.items[-1]
                begin = item.span.start if item.span else start
                group.items[-1] = nodes.repeat(item, low, high, Span(begin, ends[i]))
            elif kind == "bytes" or (kind == "byteset" and i not in self.heads):
                group.items.append(self._bytes(i))
            elif kind == "end" or i in self.heads:
                if outer:
                    self.fail('"(" is never closed', group.call.start if group.call else group.start)
                self._close_alternative(group, i, rule)
                return nodes.choice(group.alternatives, Span(group.start, ends[i - 1])), i
            else:
                self._unexpected(i)
            quantified = kind in escapes.QUANTIFIERS or kind == "count"
            i += 1

    def _close_alternative(self, group: _Group, i: int, rule: str) -> None:
        items = group.items
        if not items:
            if not group.alternatives and self.kinds[i] not in ("|", ")", ","):
                self.fail(f'the rule {rule!r} has no body; write "" for the empty string', self.ends[i - 1])
            if not group.alternatives and self.kinds[i] != "|":
                self.fail("something is missing here", self.starts[i])
            group.alternatives.append(nodes.seq((), Span(self.starts[i], self.starts[i])))
            return
        first, last = items[0].span, items[-1].span
        span = Span(first.start, last.end) if first and last else None
        group.alternatives.append(nodes.seq(items, span))
        group.items = []

    def _resume(
        self, call: Call, found: tuple[Node, int] | None, group: _Group, outer: list[_Group]
    ) -> tuple[_Group, int]:
        """Go on with `call`, which asked for the expression `found`: returns a new group for the next expression in it,
        or `group`, which holds the finished call; and the token to go on with.
        """
        try:
            i = call.reading.send(found)
        except StopIteration as done:
            node, i = done.value
            group.items.append(node)
            return group, i
        if len(outer) == MAX_NESTING:
            self.fail(f"groups are nested deeper than {MAX_NESTING:,}", self.starts[i])
        outer.append(group)
        return _Group(self.starts[i], call), i

    def _reference(self, i: int) -> Node:
        name, start, end = self.text(i), self.starts[i], self.ends[i]
        if name in self.defined:
            return RuleRef(name, span=Span(start, end))
        if name == ".":
            return nodes.char_set(charset.ALL, Span(start, end))
        if self.cut_short:
            return RuleRef(name, span=Span(start, end))
        raise GrammarError(undefined(name, self.defined), self.source, start)

    def _token(self, i: int) -> Node:
        """`<[12]>` or `!<[12]>`."""
        start, written = self.starts[i], self.text(i)
        match = _TOKEN_ID.fullmatch(written)
        if match is None:
            reason = f"a token by its text, {written}, is not supported here; give its id, as in <[12]> or Token(12)"
            raise UnsupportedFeatureError(reason, self.source, start)
        return nodes.token_set((int(match.group(1)),), written[0] == "!", Span(start, self.ends[i]))

    def _bytes(self, i: int) -> Node:
        start, end = self.starts[i], self.ends[i]
        if "b" in self.defined:
            self.fail("this could be raw bytes or the rule b; put a blank after the b, or rename the rule", start)
        if self.kinds[i] == "bytes":
            return nodes.literal(self.string(i), Span(start, end))
        return nodes.byte_set(escapes.char_class(self.source, start + 1, end, raw=True), Span(start, end))

    def _unexpected(self, i: int) -> NoReturn:
        start = self.starts[i]
        character = self.source[start]
        if self.kinds[i] == "define":
            self.fail('"::=" without a rule name in front of it', start)
        if character in "\"'":
            self.fail(f"the string is never closed: no {character} before the end of the line", start)
        self.fail(_UNEXPECTED.get(character, f"unexpected character {character!r}"), start)
