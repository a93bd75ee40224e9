r"""Regular expressions (the regular part of ECMA-262) to trees: one loop over the pattern, with a stack of groups.

- Code points throughout, never UTF-16 units.  `.` is anything but a line end (`\n \r U+2028 U+2029`); with the flag
  `s`, anything.  `[]` matches nothing, `[^]` anything.
- `\d \w \D \W` are ASCII, `\s \S` know all Unicode blanks; `\t \n \v \f \r \0 \cX \xHH \uHHHH \u{H...}`;
  `\p{..} \P{..}` with a property (`unicode_properties.py`), and `\pL` with a category of one letter.  Of other dialects
  `\a \e`, and as in Python `\A` and `\Z`, or `\z`, for the two ends of the text; but not in `pattern` of JSON Schema.
  A backslash in front of a letter that means nothing is an error.
- `(...)`, `(?:...)`, `(?<name>...)`, `(?P<name>...)` only group; `(?i:...)`, `(?s-i:...)`, and `(?i)` for the rest of
  the group that it stands in, set flags.  `* + ? {n} {n,} {n,m}`, each with an optional `?`: greedy and lazy denote the
  same set of texts.
- `^ $ \b \B (?=...) (?!...)` anywhere, and `(?<=x)`, `(?<!x)` for one character x (or a choice of such).
- Flags: `i` ignores case by Unicode simple case folding; `m` lets `^` and `$` stand at line ends; `s`; `u` refuses what
  ECMA-262 refuses with it: lone `{ } ]` and redundant escapes.

Back-references, longer look-behind, possessive quantifiers and atomic groups are refused, at their place.

Read on: `classes.py` (escapes and classes), `tree.py` (what comes out).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...clock import look
from ...errors import UnsupportedFeatureError
from .. import charset, nodes
from ..analysis import MAX_NESTING
from ..escapes import QUANTIFIERS, bound
from ..ir import CharSet, Choice, Literal, Node, Span
from .classes import Flags, escape, fail, refuse, set_at, single
from .tree import Alternatives, Behind, InOrder, Look, Tree, alternatives, counted, in_order

# Trees with assertions are built by recursion, and every assertion may multiply the states.
MAX_ASSERTIONS = 100
_MAX_DEPTH_OF_ASSERTIONS = 25

_COUNT = re.compile(r"\{([0-9]++)(,?)([0-9]*+)\}")
# Braces that hold a number and nothing but digits, commas and blanks are taken for a count gone wrong.
_LIKE_COUNT = re.compile(r"\{(?=[\s,]*+[0-9])[\s0-9,]*+\}")
_EDGES = ("\\b", "\\B")
_OTHER_EDGES = ("\\A", "\\Z", "\\z")  # of other dialects; ECMA-262 has no such escapes
# Characters that stand for themselves (surrogates cannot, and are reported one by one).
_PLAIN = re.compile(r"[^\\^$.*+?()\[\]{}|\ud800-\udfff]+")
_NAME = re.compile(r"P?<([^\W\d]\w*+)>")
_MODIFIERS = re.compile(r"([a-z]*+)(?:-([a-z]++))?([:)])")


@dataclass(slots=True)
class _Group:
    """An open group; `look` says what kind of assertion it is, if it is one."""

    start: int
    flags: Flags
    look: str = ""
    alternatives: list[Tree] = field(default_factory=list)
    items: list[Tree] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)  # of the items
    quantifiable: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that was read; `assertion` and `empty_class` are the offsets of its first assertion and of its first
    `[]` (None without any)."""

    source: str
    tree: Tree
    assertion: int | None
    empty_class: int | None = None

    def why_empty(self) -> str:
        """Why it matches no text at all, where an empty class may be why; else ""."""
        if self.empty_class is None:
            return ""
        return (
            f"[] at character {self.empty_class} is an empty class, which matches nothing; for a class that holds ] "
            "write \\] in it, as in [\\]a], and for the character [ write \\["
        )


def read(source: str, flags: str = "", *, ecma: bool = False) -> Pattern:
    """Read the pattern `source`; `flags` is made of the letters i, m, s and u.

    `ecma`: without the escapes that are not of ECMA-262: `\\a`, `\\e`, `\\A`, `\\Z` and `\\z`.

    Raises `GrammarSyntaxError` for malformed patterns and `UnsupportedFeatureError` for what is not regular or not
    built, with the offset of the character to look at.
    """
    for flag in flags:
        if flag not in "imsu":
            raise UnsupportedFeatureError(
                f"the regular-expression flag {flag!r} is not supported; the flags are i, m, s and u"
            )
    parser = _Parser(source, Flags(ecma=ecma).changed(flags, True))
    return Pattern(source, parser.body(), parser.assertion, parser.empty_class)


class _Parser:
    def __init__(self, source: str, flags: Flags) -> None:
        self.source = source
        self.outer: list[_Group] = []
        self.group = _Group(0, flags)
        self.assertion: int | None = None
        self.empty_class: int | None = None
        self._assertions = 0
        self._edges = _EDGES if flags.strict or flags.ecma else _EDGES + _OTHER_EDGES

    def body(self) -> Tree:
        source = self.source
        i = 0
        while i < len(source):
            look(10)
            character = source[i]
            if character == "(":
                i = self._open(i)
            elif character == ")":
                i = self._close(i)
            elif character == "|":
                self._end_alternative(i)
                i += 1
            elif character in "^$" or source.startswith(self._edges, i):
                i = self._anchor(i)
            elif character in "*+?" or (character == "{" and self._is_count(i)):
                i = self._quantify(i)
            else:
                node, end = self._atom(i)
                self._add(node, Span(i, end))
                i = end
        if self.outer:
            fail('"(" is never closed', source, self.group.start)
        self._end_alternative(len(source))
        return alternatives(self.group.alternatives, Span(0, len(source)))

    def _modified(self, match: re.Match[str]) -> Flags:
        on, off = match.group(1), match.group(2) or ""
        for offset, letter in [*enumerate(on, match.start(1)), *enumerate(off, match.start(2))]:
            if letter not in "ims":
                refuse(f"the flag {letter!r} is not supported here; i, m and s are", self.source, offset)
            if (on + off).count(letter) > 1:
                fail(f"the flag {letter!r} is set twice", self.source, offset)
        return self.group.flags.changed(on, True).changed(off, False)

    def _open(self, i: int) -> int:
        source, group = self.source, self.group
        if len(self.outer) == MAX_NESTING:
            fail(f"groups are nested deeper than {MAX_NESTING:,}", source, i)
        flags, end, look = group.flags, i + 1, ""
        if source.startswith("?", end):
            inside = end + 1
            name = _NAME.match(source, inside)
            modifiers = _MODIFIERS.match(source, inside)
            if source.startswith(("=", "!", "<=", "<!"), inside):
                look = source[inside : inside + (2 if source[inside] == "<" else 1)]
                end = inside + len(look)
                self._asserted(i)
            elif source.startswith(">", inside):
                refuse(
                    "atomic groups are not supported; write (?:...), which matches what they match and more", source, i
                )
            elif name:
                end = name.end()
            elif modifiers and modifiers.group(3) == ":":
                flags, end = self._modified(modifiers), modifiers.end()
            elif modifiers and modifiers.group() != ")":
                group.flags, group.quantifiable = self._modified(modifiers), False
                return modifiers.end()
            elif source.startswith(("P=", "P>", "R)", "&"), inside):
                refuse("references to groups are not regular and cannot be supported", source, i)
            elif source.startswith("#", inside):
                fail("comments are not part of a pattern; leave (?#...) out", source, i)
            elif source.startswith(("<", "P<"), inside):
                fail("a group's name is made of letters, digits and _", source, i)
            else:
                fail(f"unknown kind of group: {source[i : i + 3]}", source, i)
        self.outer.append(group)
        self.group = _Group(i, flags, look)
        return end

    def _asserted(self, i: int) -> None:
        """Take note of an assertion at `i`."""
        self._assertions += 1
        if self.assertion is None:
            self.assertion = i
        if self._assertions > MAX_ASSERTIONS:
            refuse(f"there are more than {MAX_ASSERTIONS} assertions", self.source, i)
        if len(self.outer) > _MAX_DEPTH_OF_ASSERTIONS:
            refuse(f"an assertion inside more than {_MAX_DEPTH_OF_ASSERTIONS} groups", self.source, i)

    def _close(self, i: int) -> int:
        if not self.outer:
            fail('")" without its "("', self.source, i)
        self._end_alternative(i)
        closed, self.group = self.group, self.outer.pop()
        span = Span(closed.start, i + 1)
        inside = alternatives(closed.alternatives, span)
        if closed.look.startswith("<"):
            inside = Behind(self._one_character(inside, closed.start), closed.look == "<!")
        elif closed.look:
            inside = Look(inside, closed.look == "!")
        self._add(inside, span)
        # ECMA-262 repeats no look-behind, and with flag u no look-ahead.
        self.group.quantifiable = not closed.look or (closed.look in "=!" and not self.group.flags.strict)
        return i + 1

    def _one_character(self, tree: Tree, start: int) -> charset.Ranges:
        """The set that `tree` matches one character of; refused where it matches anything else."""
        options = tree.items if isinstance(tree, Choice) else (tree,)
        found: list[charset.Ranges] = []
        for option in options:
            match option:
                case CharSet(ranges):
                    found.append(ranges)
                case Literal(value) if len(value.decode()) == 1:
                    found.append(single(ord(value.decode())))
                case _:
                    refuse("look-behind is supported for one character, as in (?<=[a-z])", self.source, start)
        return charset.union(*found)

    def _end_alternative(self, i: int) -> None:
        group = self.group
        start = group.spans[0].start if group.spans else i
        group.alternatives.append(in_order(group.items, Span(start, i)))
        group.items, group.spans = [], []
        group.quantifiable = False

    def _anchor(self, i: int) -> int:
        group, source = self.group, self.source
        self._asserted(i)
        sign = source[i] if source[i] in "^$" else source[i : i + 2]
        end = i + len(sign)
        beside = charset.DOT if group.flags.multiline and sign in "^$" else charset.ALL
        match sign:
            case "^" | "\\A":
                tree: Tree = Behind(beside, negative=True)
            case "$" | "\\Z" | "\\z":
                tree = Look(nodes.char_set(beside), negative=True)
            case _:
                word = charset.close_case(charset.WORD) if group.flags.ignore_case else charset.WORD
                tree = _word_boundary(word, boundary=sign == "\\b")
        self._add(tree, Span(i, end))
        group.quantifiable = False
        return end

    def _add(self, tree: Tree, span: Span) -> None:
        self.group.items.append(tree)
        self.group.spans.append(span)
        self.group.quantifiable = True

    def _is_count(self, i: int) -> bool:
        """Does a count begin at the brace at `i`?  What only looks like one is an error."""
        if _COUNT.match(self.source, i):
            return True
        if _LIKE_COUNT.match(self.source, i):
            fail(
                "a count is written {n}, {n,} or {n,m}, and {0,m} for {,m}; for a literal brace write \\{",
                self.source,
                i,
            )
        return False

    def _quantify(self, i: int) -> int:
        source, group = self.source, self.group
        if not group.quantifiable:
            if i and source[i - 1] in "*+?}" and group.items:
                if source[i] == "+":
                    cure = "leave out this +, which matches the same and more"
                    refuse(f"possessive quantifiers are not supported; {cure}", source, i)
                fail("two quantifiers in a row; use a group: (?:x?)*", source, i)
            fail("nothing to repeat here", source, i)
        if source[i] in QUANTIFIERS:
            (low, high), end = QUANTIFIERS[source[i]], i + 1
        else:
            low, high, end = self._bounds(i)
        if source.startswith("?", end):
            end += 1  # lazy: the same set of texts
        span = Span(group.spans[-1].start, end)
        group.items[-1] = counted(group.items[-1], low, high, span)
        group.spans[-1] = span
        group.quantifiable = False
        return end

    def _bounds(self, i: int) -> tuple[int, int | None, int]:
        match = _COUNT.match(self.source, i)
        assert match is not None
        low = bound(match, 1, fail)
        if not match.group(2):
            if match.group(3):
                fail("a count is written {n}, {n,} or {n,m}", self.source, i)
            return low, low, match.end()
        high = bound(match, 3, fail) if match.group(3) else None
        if high is not None and high < low:
            fail(f"the count runs backwards: {low} is more than {high}", self.source, match.start(1))
        return low, high, match.end()

    def _atom(self, i: int) -> tuple[Node, int]:
        """The node for the characters, escape, class or dot at `i`, and the offset after it."""
        source, flags = self.source, self.group.flags
        character = source[i]
        if character == "[":
            ranges, end = set_at(source, i, flags)
            if end == i + 2 and self.empty_class is None:
                self.empty_class = i
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
            value, end = escape(source, i, flags, in_class=False)
        elif character in "{}]" and flags.strict:
            fail(f"a lone {character} must be written \\{character} under the flag u", source, i)
        if isinstance(value, int):
            if 0xD800 <= value <= 0xDFFF:
                fail(f"the surrogate U+{value:04X} cannot be written in UTF-8", source, i)
            value = single(value)
        if flags.ignore_case:
            value = charset.close_case(value)
        return nodes.char_set(value, Span(i, end)), end


def _word_boundary(word: charset.Ranges, *, boundary: bool) -> Tree:
    """A word character on exactly one side, or (`\\B`) on both sides or none."""
    follows = nodes.char_set(word)
    one = InOrder((Behind(word, negative=False), Look(follows, negative=boundary)))
    other = InOrder((Behind(word, negative=True), Look(follows, negative=not boundary)))
    return Alternatives((one, other))
