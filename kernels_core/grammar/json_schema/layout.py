"""Blanks, commas and colons of JSON text: free, or in one fixed layout.

- `any_whitespace`: blanks may stand between any two tokens (never around the whole), at most `max_whitespace_cnt` in
  one place (`DEFAULT_BLANKS` if that is None: enough for deep indentation, and an end to a model that runs on).
  Without `whitespace_before_separators` none stands in front of a comma or a colon, where nobody writes any.
- otherwise separators are fixed, as `json.dumps(separators=...)` has them; with `indent`, items and members stand on
  lines of their own.  A grammar cannot indent without a limit: what is nested deeper than `DEEPEST` is written on one
  line, with the separators that go without indent.
"""

from __future__ import annotations

from ..ir import CharSet, Empty, Literal, Node
from ..nodes import MAX_REPEAT, literal, repeat, seq
from ..rulebook import RuleBook
from .schema_options import SchemaOptions

DEFAULT_BLANKS = 128
# The level of everything that is not indented.
FLAT = -1
DEEPEST = 16

_BLANK = CharSet(((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)))


class Layout:
    """Nodes for what stands between values.  `level` is how deep a value is nested, or `FLAT`."""

    def __init__(self, book: RuleBook, options: SchemaOptions) -> None:
        for name in ("max_whitespace_cnt", "indent"):
            given = getattr(options, name)
            if given is not None and given < 0:
                raise ValueError(f"{name} must not be negative, got {given}")
        self._any = options.any_whitespace
        self.indent = None if self._any else options.indent
        self._separators = options.separators or ((",", ": ") if self.indent is not None else (", ", ": "))
        self._flat_separators = options.separators or (", ", ": ")
        most = DEFAULT_BLANKS if options.max_whitespace_cnt is None else options.max_whitespace_cnt
        self._gap: Node = Empty()
        if self._any and most:
            self._gap = book.add("ws", repeat(_BLANK, 0, None if most >= MAX_REPEAT else most))
        self._before: Node = self._gap if options.whitespace_before_separators else Empty()

    @property
    def gap(self) -> Node:
        """Blanks where they may stand freely."""
        return self._gap

    @property
    def first_level(self) -> int:
        """The level of the whole text."""
        return FLAT if self.indent is None else 0

    def inner(self, level: int) -> int:
        """The level of what is inside a value of `level`."""
        return FLAT if level in (FLAT, DEEPEST) else level + 1

    def _line(self, level: int) -> Node:
        # Inside the deepest level there is no line left to begin.
        return Empty() if level == FLAT else literal(("\n" + " " * ((self.indent or 0) * level)).encode())

    def opening(self, bracket: bytes, level: int) -> Node:
        """The bracket in front of a first item."""
        return seq((Literal(bracket), self._gap, self._line(self.inner(level))))

    def closing(self, bracket: bytes, level: int) -> Node:
        """The bracket behind a last item."""
        return seq((self._gap, self._line(level), Literal(bracket)))

    def empty(self, brackets: bytes) -> Node:
        """An object or array without items."""
        return seq((literal(brackets[:1]), self._gap, literal(brackets[1:])))

    def comma(self, level: int) -> Node:
        """Between two items of a value of `level`."""
        if self._any:
            return seq((self._before, Literal(b","), self._gap))
        item, _ = self._flat_separators if level == FLAT else self._separators
        return seq((literal(item.encode()), self._line(self.inner(level))))

    def colon(self, level: int) -> Node:
        """Between key and value."""
        if self._any:
            return seq((self._before, Literal(b":"), self._gap))
        _, key = self._flat_separators if level == FLAT else self._separators
        return literal(key.encode())
