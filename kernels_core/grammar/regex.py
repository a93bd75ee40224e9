r"""Regular expressions (the regular part of ECMA-262) to IR: one loop over the pattern, with its own stack of groups.

A pattern matches a whole text, never a part of it; so greedy and lazy quantifiers mean the same.

- Code points throughout, never UTF-16 units.  `.` is anything but a line end (`\n \r U+2028 U+2029`); with the flag
  `s`, anything.  `[]` matches nothing, `[^]` anything.
- `\d \w \D \W` are ASCII, `\s \S` know all Unicode blanks; `\t \n \v \f \r \0 \cX \xHH \uHHHH \u{H...}`;
  `\p{..} \P{..}` with a general category.  A backslash in front of a letter that means nothing is an error.
- `(...)`, `(?:...)`, `(?<name>...)`, `(?P<name>...)` only group; `(?i:...)`, `(?s-i:...)`, and `(?i)` at the very
  front, set flags.  `* + ? {n} {n,} {n,m}`, each with an optional `?`.
- `^` and `$` may stand where they say nothing new: at the two ends of the text.  Elsewhere they are refused.
- Flags: `i` ignores case by Unicode simple case folding; `s`; `u` refuses what ECMA-262 refuses with it: lone
  `{ } ]` and needless escapes.

Look-around, back-references, `\b`, possessive quantifiers and atomic groups are refused, at their place.

Read on: `regex_classes.py` (escapes and classes), `nodes.py` (normal form).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ..errors import UnsupportedFeatureError
from . import charset, nodes
from .analysis import MAX_NESTING
from .ir import GrammarIR, Node, Rule, Span
from .regex_classes import escape, fail, refuse, set_at, single

__all__ = ["parse_regex"]

_COUNT = re.compile(r"\{([0-9]++)(,?)([0-9]*+)\}")
# Braces that hold a number and nothing but digits, commas and blanks are taken for a count gone wrong.
_LIKE_COUNT = re.compile(r"\{(?=[\s,]*+[0-9])[\s0-9,]*+\}")
# Characters that stand for themselves (surrogates cannot, and are reported one by one).
_PLAIN = re.compile(r"[^\\^$.*+?()\[\]{}|\ud800-\udfff]+")
_NAME = re.compile(r"P?<([^\W\d]\w*+)>")
_MODIFIERS = re.compile(r"([a-z]*+)(?:-([a-z]++))?([:)])")
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    dot_all: bool = False
    strict: bool = False

    def changed(self, letters: str, value: bool) -> _Flags:
        flags = self
        if "i" in letters:
            flags = replace(flags, ignore_case=value)
        if "s" in letters:
            flags = replace(flags, dot_all=value)
        if "u" in letters:
            flags = replace(flags, strict=value)
        return flags


@dataclass(slots=True)
class _Group:
    """An open group.  `at_start`: nothing can come before it in the text.

    Offsets of anchors, None where there is none: `dollar` in the current alternative, `any_dollar` in any of them,
    `anchor` of the first of either kind, `last_anchor` inside the item that a quantifier would repeat.
    """

    start: int
    flags: _Flags
    at_start: bool
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    dollar: int | None = None
    any_dollar: int | None = None
    anchor: int | None = None
    last_anchor: int | None = None
    quantifiable: bool = False


def parse_regex(pattern: str, flags: str = "") -> GrammarIR:
    """A grammar of one rule, `root`, for all texts that `pattern` matches as a whole.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not regular or not
    built, with the offset of the character to look at.
    """
    for flag in flags:
        if flag not in "isu":
            raise UnsupportedFeatureError(f"the flag {flag!r} is not supported; the flags are i, s and u")
    body = _Parser(pattern, _Flags().changed(flags, True)).body()
    return GrammarIR({"root": Rule("root", body, span=Span(0, len(pattern)))}, "root", pattern)


class _Parser:
    def __init__(self, source: str, flags: _Flags) -> None:
        self.source = source
        self.outer: list[_Group] = []
        self.group = _Group(0, flags, at_start=True)

    def body(self) -> Node:
        source = self.source
        i = self._front_flags()
        while i < len(source):
            character = source[i]
            if character == "(":
                i = self._open(i)
            elif character == ")":
                i = self._close(i)
            elif character == "|":
                self._end_alternative(i)
                i += 1
            elif character in "^$":
                self._anchor(i)
                i += 1
            elif character in "*+?" or (character == "{" and self._is_count(i)):
                i = self._quantify(i)
            else:
                node, end = self._atom(i)
                self._add(node)
                i = end
        if self.outer:
            fail('"(" is never closed', source, self.group.start)
        self._end_alternative(len(source))
        return nodes.choice(self.group.alternatives, Span(0, len(source)))

    def _front_flags(self) -> int:
        """`(?i)` at the very front sets flags for everything; returns the offset after it."""
        match = _MODIFIERS.match(self.source, 2) if self.source.startswith("(?") else None
        if match is None or match.group(3) != ")" or match.group() == ")":
            return 0
        self.group.flags = self._modified(match)
        return match.end()

    def _modified(self, match: re.Match[str]) -> _Flags:
        on, off = match.group(1), match.group(2) or ""
        for offset, letter in [*enumerate(on, match.start(1)), *enumerate(off, match.start(2))]:
            if letter not in "is":
                refuse(f"the flag {letter!r} is not supported here; i and s are", self.source, offset)
            if (on + off).count(letter) > 1:
                fail(f"the flag {letter!r} is set twice", self.source, offset)
        return self.group.flags.changed(on, True).changed(off, False)

    def _open(self, i: int) -> int:
        source, group = self.source, self.group
        if len(self.outer) == MAX_NESTING:
            fail(f"groups are nested deeper than {MAX_NESTING:,}", source, i)
        flags, end = group.flags, i + 1
        if source.startswith("?", end):
            inside = end + 1
            name = _NAME.match(source, inside)
            modifiers = _MODIFIERS.match(source, inside)
            if source.startswith(("=", "!", "<=", "<!"), inside):
                refuse("look-around is not supported", source, i)
            elif source.startswith(">", inside):
                refuse("atomic groups are not supported", source, i)
            elif name:
                end = name.end()
            elif modifiers and modifiers.group(3) == ":":
                flags, end = self._modified(modifiers), modifiers.end()
            elif modifiers and modifiers.group() != ")":
                refuse("flags for the rest of the pattern may only stand at its front; use (?i:...)", source, i)
            elif source.startswith(("<", "P<"), inside):
                fail("a group's name is made of letters, digits and _", source, i)
            else:
                fail(f"unknown kind of group: {source[i : i + 3]}", source, i)
        self.outer.append(group)
        at_start = group.at_start and not group.items
        self.group = _Group(i, flags, at_start)
        return end

    def _close(self, i: int) -> int:
        if not self.outer:
            fail('")" without its "("', self.source, i)
        self._end_alternative(i)
        closed, self.group = self.group, self.outer.pop()
        self._add(nodes.choice(closed.alternatives, Span(closed.start, i + 1)))
        # An anchor inside binds the group around it too: nothing may follow `(a$|b)`, nor be repeated.
        self.group.dollar = closed.any_dollar
        self.group.last_anchor = closed.anchor
        if self.group.anchor is None:
            self.group.anchor = closed.anchor
        return i + 1

    def _end_alternative(self, i: int) -> None:
        group = self.group
        start = i
        if group.items and (span := group.items[0].span):
            start = span.start
        group.alternatives.append(nodes.seq(group.items, Span(start, i)))
        group.items = []
        if group.any_dollar is None:
            group.any_dollar = group.dollar
        group.dollar = group.last_anchor = None
        group.quantifiable = False

    def _anchor(self, i: int) -> None:
        group = self.group
        if self.source[i] == "$":
            if group.dollar is None:
                group.dollar = i
        elif group.items or not group.at_start:
            refuse("^ is supported at the start of the text only; something may come before it here", self.source, i)
        if group.anchor is None:
            group.anchor = i
        group.quantifiable = False

    def _add(self, node: Node) -> None:
        group = self.group
        if group.dollar is not None:
            refuse("$ is supported at the end of the text only; something follows it here", self.source, group.dollar)
        group.items.append(node)
        group.last_anchor = None
        group.quantifiable = True

    def _is_count(self, i: int) -> bool:
        """Does a count begin at the brace at `i`?  What only looks like one is an error."""
        if _COUNT.match(self.source, i):
            return True
        if _LIKE_COUNT.match(self.source, i):
            fail("a count is written {n}, {n,} or {n,m}; for a literal brace write \\{", self.source, i)
        return False

    def _quantify(self, i: int) -> int:
        source, group = self.source, self.group
        if not group.quantifiable:
            if i and source[i - 1] in "*+?}" and group.items:
                if source[i] == "+":
                    refuse("possessive quantifiers are not supported", source, i)
                fail("two quantifiers in a row; use a group: (?:x?)*", source, i)
            fail("nothing to repeat here", source, i)
        if source[i] in _QUANTIFIERS:
            (low, high), end = _QUANTIFIERS[source[i]], i + 1
        else:
            low, high, end = self._bounds(i)
        if group.last_anchor is not None and (high is None or high > 1):
            refuse("an anchor inside a repeated group is not supported", source, group.last_anchor)
        if source.startswith("?", end):
            end += 1  # lazy: the same set of texts
        item = group.items[-1]
        start = item.span.start if item.span else i
        group.items[-1] = nodes.repeat(item, low, high, Span(start, end))
        group.quantifiable = False
        return end

    def _bounds(self, i: int) -> tuple[int, int | None, int]:
        match = _COUNT.match(self.source, i)
        assert match is not None
        low = self._bound(match, 1)
        if not match.group(2):
            if match.group(3):
                fail("a count is written {n}, {n,} or {n,m}", self.source, i)
            return low, low, match.end()
        high = self._bound(match, 3) if match.group(3) else None
        if high is not None and high < low:
            fail(f"the count runs backwards: {low} is more than {high}", self.source, match.start(1))
        return low, high, match.end()

    def _bound(self, match: re.Match[str], group: int) -> int:
        digits = match.group(group).lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > nodes.MAX_REPEAT:
            fail(f"a count may be at most {nodes.MAX_REPEAT:,}", self.source, match.start(group))
        return int(digits)

    def _atom(self, i: int) -> tuple[Node, int]:
        """The node for the characters, escape, class or dot at `i`, and the offset after it."""
        source, flags = self.source, self.group.flags
        character = source[i]
        if character == "[":
            ranges, end = set_at(source, i, ignore_case=flags.ignore_case, strict=flags.strict)
            return nodes.char_set(ranges, Span(i, end)), end
        if character == ".":
            return nodes.char_set(charset.ALL if flags.dot_all else charset.DOT, Span(i, i + 1)), i + 1
        run = None if flags.ignore_case else _PLAIN.match(source, i)
        if run is not None:
            # All at once, but a quantifier belongs to the last character alone.
            end = run.end()
            if end - i > 1 and source[end : end + 1] in ("*", "+", "?", "{"):
                end -= 1
            return nodes.literal(source[i:end].encode(), Span(i, end)), end
        value: int | charset.Ranges = ord(character)
        end = i + 1
        if character == "\\":
            value, end = escape(source, i, ignore_case=flags.ignore_case, strict=flags.strict, in_class=False)
        elif character in "{}]" and flags.strict:
            fail(f"a lone {character} must be written \\{character} under the flag u", source, i)
        if isinstance(value, int):
            if 0xD800 <= value <= 0xDFFF:
                fail(f"the surrogate U+{value:04X} cannot be written in UTF-8", source, i)
            value = single(value)
        if flags.ignore_case:
            value = charset.close_case(value)
        return nodes.char_set(value, Span(i, end)), end
