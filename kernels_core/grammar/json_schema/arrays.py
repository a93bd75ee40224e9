"""Arrays as text: the prefix, the rest, lengths; counts of items and distinct items as a graph.

Lengths alone are counted by the parser.  An array of distinct constants, and nothing more, is members in any order
(`ir.Unordered`) that have a key alone: the parser remembers which were there.  `contains` (and what negations become)
makes states of (position, counts), and of the values seen where items are distinct, or some equal, as well, where few
scalars are allowed.  That other items differ no grammar can say: their rules are marked `distinct` and `item`, and the
matcher compares values (`../attributes.py`), but for constants among them.  That some are equal is refused.

Read on: `shapes.py` (`Items`), `items.py`, `steps.py` (the graph).
"""

from __future__ import annotations

from itertools import product

from ...clock import look
from ..ir import Empty, Never, Node
from ..nodes import choice, repeat, seq, unordered
from ..regular.dfa import TooManyStates
from ..regular.languages import NOTHING, Words
from .numbers import NO_NUMBERS
from .schema_algebra import Circular, SchemaAlgebra, TooLarge
from .shapes import Count, Items, Shape, replace
from .steps import Steps
from .terms import FALSE, Term
from .value_writer import ValueWriter

MAX_ITEM_EDGES = 6_000
# Constants of which an array may have each once, and those that are remembered in a state of a graph.
MAX_DISTINCT = 4_000
_FEW_DISTINCT = 9
# An item, and whether one stands in front of it.
ItemStep = tuple[Term, bool]
_State = tuple[int, tuple[int, ...], frozenset[int], bool, bool]
# A longer prefix is not nested but made of rules.
_NESTED = 24


class NotFinite(Exception):
    """What is said of equal items takes few constants, and these are others; the message is why."""


class ArrayText:
    """Makes the node of one `Items` at one level of nesting."""

    as_json = True  # that is how items are written, so that their values can be compared

    def __init__(self, emitter: ValueWriter, items: Items, level: int, name: str) -> None:
        self.emitter = emitter
        self.layout = emitter.layout
        self.items = items
        self.level = level
        self.inner = emitter.layout.inner(level)
        self.name = name
        self.whole: Items | None = None  # what `items` are once it is left to the matcher that they differ
        self.parts = self._parted()

    def node(self) -> Node:
        """The whole array, brackets included.  Raises `TooManyStates` and `NotFinite`."""
        if not self._is_left_to_the_matcher():
            return self._text()
        if not (self.as_json and self.emitter.as_json):
            raise NotFinite(
                f"in this style items can only differ if they are one of at most {MAX_DISTINCT:,} constants"
            )
        self.whole = self.items
        self.items = replace(self.items, unique=None)
        key = (self.emitter.way, "distinct", self.whole, self.level)
        return self.emitter.book.share(key, self.name, self._text, (("distinct", None),))

    def _is_left_to_the_matcher(self) -> bool:
        """Whether items are to differ that are no constants, or too many to remember in the parser's states."""
        if self.items.unique is not True:
            return False
        if self.parts is not None:
            return self.parts[1] is not FALSE
        try:
            item_steps(self.emitter.algebra, self.items)
        except (NotFinite, TooManyStates):
            return True
        return False

    def _text(self) -> Node:
        items, layout = self.items, self.layout
        opening, closing = layout.opening(b"[", self.level), layout.closing(b"]", self.level)
        if self.parts is not None:
            constants, rest = self.parts
            # The parser remembers which of these were there, so that none is begun twice.
            members = [(self.distinct(term), Empty(), False) for term in constants]
            others = [] if rest is FALSE else [(self.item(rest), Empty())]
            body = unordered(members, others, layout.comma(self.level), closing, items.least, items.most)
            closing = seq(())
        else:
            body = self._graph() if needs_steps(items) else self._plain()
        filled = seq((opening, body, closing))
        may_be_empty = items.least == 0 and items.unique is not False and not any(c.least for c in items.counts)
        return choice((filled, layout.empty(b"[]"))) if may_be_empty else filled

    def item(self, term: Term) -> Node:
        """One item with a value of `term`."""
        if self.whole is None:
            return self.emitter.value(term, self.inner)
        key = (self.emitter.way, "item", self.whole, self.level, term)
        name = f"{self.name}_item"
        return self.emitter.book.share(key, name, lambda: self.emitter.value(term, self.inner), (("item", None),))

    def distinct(self, term: Term) -> Node:
        """One item with the constant `term`; a call where what is behind it shows that it has ended."""
        text = self.emitter.now(term, self.inner)
        if not self.emitter.algebra.shape(term).numbers:
            return text
        return self.emitter.book.share(("distinct", text), "number", lambda: text)

    def _parted(self) -> tuple[list[Term], Term] | None:
        """Of items that are to differ, where nothing else is said of them but lengths: the constants, of which each
        comes once at most, and all others; None where there are no constants, or too many."""
        algebra, items = self.emitter.algebra, self.items
        if items.unique is not True or items.prefix or items.counts:
            return None
        try:
            shape = algebra.shape(items.rest)
        except (TooLarge, Circular, RecursionError):
            return None  # the item itself says so
        listed, others = replace(shape, arrays=(), objects=()), replace(shape, null=False, booleans=frozenset())
        if isinstance(shape.strings, Words):
            others = replace(others, strings=NOTHING)
        else:
            listed = replace(listed, strings=NOTHING)
        if shape.numbers.finite(MAX_DISTINCT) is not None:
            others = replace(others, numbers=NO_NUMBERS)
        else:
            listed = replace(listed, numbers=NO_NUMBERS)
        scalars = algebra.scalars(algebra.fixed(listed), MAX_DISTINCT)
        rest = algebra.fixed(others)
        return (
            None
            if scalars is None or not (scalars or rest is FALSE)
            else ([algebra.fixed(one) for one in scalars], rest)
        )

    def _plain(self) -> Node:
        """One or more items; lengths only."""
        items, comma = self.items, self.layout.comma(self.level)
        size = len(items.prefix)
        if items.most == 0:
            return Never()
        rest: Node = Never() if items.rest is FALSE else self.item(items.rest)
        most = None if items.most is None else items.most - max(size, 1)
        tail = repeat(seq((comma, rest)), max(0, items.least - max(size, 1)), most)
        if not size:
            return seq((rest, tail))
        node = tail
        for i in reversed(range(1, size)):
            node = seq((comma, self.item(items.prefix[i]), node))
            if items.least <= i:
                node = repeat(node, 0, 1)
        return seq((self.item(items.prefix[0]), node))

    def _graph(self) -> Node:
        """Counts and distinct items: the ways through a graph."""
        comma = self.layout.comma(self.level)

        def edge(step: ItemStep) -> Node:
            term, written = step
            return seq((comma, self.item(term))) if written else self.item(term)

        steps = item_steps(self.emitter.algebra, self.items)
        return steps.node(edge, self.emitter.book, f"{self.name}_items")


def needs_steps(items: Items) -> bool:
    """Whether lengths are not all that is counted, or the prefix is too long to nest."""
    return bool(items.counts) or items.unique is not None or len(items.prefix) > _NESTED


def item_steps(algebra: SchemaAlgebra, items: Items) -> Steps[_State, ItemStep]:
    """States: (position, one number for each count, values seen, a value came twice, is there an item).

    Raises `TooManyStates` and `NotFinite`.
    """
    bounds = [len(items.prefix), items.least if items.most is None else items.most]
    bounds += [max(start, stop or 0) for count in items.counts for start, stop, _ in count.cells]
    last = max(bounds)
    values = _values(algebra, items, last) if items.unique is not None else None

    def behind(state: _State) -> tuple[bool, list[tuple[ItemStep | None, _State]]]:
        position, counts, seen, twice, written = state
        met = all(have >= count.least for have, count in zip(counts, items.counts, strict=True))
        done = written and met and position >= items.least and (items.unique is not False or twice)
        ways: list[tuple[ItemStep | None, _State]] = []
        if items.most is not None and position >= items.most:
            return done, ways
        after = min(position + 1, last)
        for term, reached, value in _next_items(algebra, items, position, counts, values):
            repeated = value is not None and value in seen
            if repeated and items.unique:
                continue
            both = twice or repeated
            # Once a value came twice, what else was seen no longer matters.
            now = seen | {value} if value is not None and not (both and not items.unique) else frozenset()
            ways.append(((term, written), (after, reached, now if values is not None else frozenset(), both, True)))
        return done, ways

    return Steps((0, (0,) * len(items.counts), frozenset(), False, False), behind, MAX_ITEM_EDGES)


def _next_items(
    algebra: SchemaAlgebra,
    items: Items,
    position: int,
    counts: tuple[int, ...],
    values: list[list[tuple[Term, int]]] | None,
) -> list[tuple[Term, tuple[int, ...], int | None]]:
    """(item, counts after it, number of its value) for what may stand at `position`."""
    term = items.at(position)
    if term is FALSE:
        return []
    starts: list[tuple[Term, int | None]] = [(term, None)]
    if values is not None:
        starts = list(values[min(position, len(values) - 1)])
    found: list[tuple[Term, tuple[int, ...], int | None]] = []
    for base, value in starts:
        look(20 * len(counts))
        choices = [
            _counting(algebra, base, position, have, count) for have, count in zip(counts, items.counts, strict=True)
        ]
        for combination in product(*choices):
            look(10 + 4 * len(combination))
            inside = algebra.all_of(base, *(narrowed for narrowed, _ in combination))
            if inside is FALSE or (inside is not base and algebra.is_void(inside)):
                continue
            found.append((inside, tuple(have for _, have in combination), value))
    return found


def _counting(algebra: SchemaAlgebra, term: Term, position: int, have: int, count: Count) -> list[tuple[Term, int]]:
    """Ways in which an item can (not) count: (what it must be, number afterwards)."""
    wanted = algebra.any_of(
        *(other for start, stop, other in count.cells if start <= position and (stop is None or position < stop))
    )
    inside = algebra.all_of(term, wanted)
    if inside is FALSE or algebra.is_void(inside):
        return [(term, have)]
    if count.most is None:
        # "At least": what is enough is enough, and not to count is never wrong.
        if have >= count.least:
            return [(term, have)]
        return [(inside, have + 1)] if inside is term else [(inside, have + 1), (term, have)]
    options = [(algebra.all_of(term, algebra.negate(wanted)), have)]
    if have < count.most:
        options.append((inside, have + 1))
    return [(narrowed, number) for narrowed, number in options if narrowed is not FALSE]


def _values(algebra: SchemaAlgebra, items: Items, last: int) -> list[list[tuple[Term, int]]]:
    """For each position the scalars that may stand there, numbered by value."""
    what = "beside a prefix or a count, that items differ" if items.unique else "that some items are equal"
    few = f"{what} can only be checked where they are one of at most {_FEW_DISTINCT} constants"
    numbers: dict[Shape, int] = {}
    found: list[list[tuple[Term, int]]] = []
    for position in range(min(last, len(items.prefix)) + 1):
        term = items.at(position)
        scalars = algebra.scalars(term, _FEW_DISTINCT)
        if scalars is None:
            raise NotFinite(few)
        found.append([(algebra.fixed(one), numbers.setdefault(one, len(numbers))) for one in scalars])
    if len(numbers) > _FEW_DISTINCT:
        raise NotFinite(few)
    return found
