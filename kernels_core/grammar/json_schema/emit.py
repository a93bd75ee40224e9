"""Shapes to grammar rules: one rule for each distinct object and array shape, scalars where they stand.

Rules are filed under the content of what they say, so equal sub-schemas share a rule, and a recursive schema ends in
a rule that is there already.  Bodies are made from a work list, not by recursion: depth costs no stack.

Read on: `objects.py`, `arrays.py`, `spelling.py`, `number_text.py`, `layout.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Protocol

from ...errors import UnsupportedSchemaError
from ..analysis import productive_rules
from ..ir import GrammarIR, Literal, Never, Node, RuleRef, walk
from ..nodes import choice
from ..regular.dfa import TooManyStates
from ..regular.languages import ALL, NOTHING, Language
from ..rulebook import RuleBook
from .arrays import ArrayText, NotFinite
from .caps import capped
from .keywords import blamed
from .keywords.entry import ARRAY, NUMBER, OBJECT, STRING
from .kinds import Kinds, kinds_of
from .numbers import NO_NUMBERS, Numbers
from .objects import ObjectText
from .problems import Problems, too_much
from .quick_writer import QuickWriter
from .schema_algebra import Circular, SchemaAlgebra, Spent, TooLarge
from .schema_options import SchemaOptions
from .shapes import ANY_ITEMS, ANYTHING, VOID, Items, Members, Shape, replace
from .steps import is_ordered
from .terms import AllOf, AnyOf, Complement, Place, Term, origin

# Values with more alternatives than this, not counting constants, are a rule of their own.
_INLINE = 3


class Document(Protocol):
    """A document whose rules may be made when the parser predicts them (`lazy_document.py`)."""

    def is_deferrable(self, term: Term) -> bool:
        """Whether `term` is a deferrable schema."""

    def value(self, term: Term, level: int) -> Node | None:
        """The values of a term as a node, of which a part may wait; None for what is to be made now."""

    def key(self, term: Term, level: int) -> object | None:
        """What stands for the values of `term` in all documents of a grammar; None where it depends on this one."""


class Emitter:
    """Writes the grammar of one term."""

    as_json = True  # that is how values are written, so that they can be compared

    def __init__(self, algebra: SchemaAlgebra, writer: QuickWriter, problems: Problems, document: Document) -> None:
        self.algebra = algebra
        self.book = writer.book
        self.speller = writer.speller
        self.layout = writer.layout
        self.numerals = writer.numerals
        self.order = writer.options.order
        self.way = writer.way
        self.problems = problems
        self._options = writer.options
        self._caps = writer.options.caps
        self._document = document
        self._parts = writer.parts
        self._new: dict[object, Node] = {}  # what belongs there once its rules are made
        self._kinds: dict[Members, Kinds] = {}
        self._rules: dict[tuple[object, ...], RuleRef] = {}
        self._possible: dict[Members, bool] = {}
        self._work: list[tuple[str, Callable[[], Node]]] = []

    def grammar(self, term: Term, source: str) -> GrammarIR:
        """All rules; the root is called "root" unless it is a rule that others share."""
        body = self.top(term)
        root = body.name if isinstance(body, RuleRef) else self.book.add("root", body).name
        self._finish()
        return self.book.grammar(root, source)

    def _finish(self) -> None:
        while self._work:
            at = len(self._work) - 1
            name, build = self._work[at]
            self.book.define(name, build())
            # Not before: where this was cut short, others call the rule already, and it has to be made before them.
            del self._work[at]
        if not len(self.problems):  # what was not understood is in nobody else's rules
            self._parts.update(self._new)
        self._new.clear()

    def top(self, term: Term) -> Node:
        """The texts of the whole."""
        return self.value(term, self.layout.first_level)

    def value(self, term: Term, level: int) -> Node:
        """The JSON texts of `term`; made when they are needed where that is safe."""
        node = self._document.value(term, level)
        if node is not None:
            return node
        key = self._document.key(term, level)
        node = self._parts.get(key)
        # Rules that turned out to have no text were removed.
        if node is None or any(isinstance(one, RuleRef) and one.name not in self.book.rules for one in walk(node)):
            node = self.now(term, level)
            if key is not None:
                self._new[key] = node
        return node

    def kinds(self, members: Members) -> Kinds:
        """The kinds of members that objects of `members` have.  Raises `TooManyStates`."""
        found = self._kinds.get(members)
        if found is None:
            found = self._kinds[members] = kinds_of(self.algebra, members)
        return found

    def body(self, term: Term, level: int) -> Node:
        """The body of a rule that waited."""
        self.algebra.renew()
        shape, place, name = self.known(term)
        scalar = shape.strings != NOTHING or shape.numbers != NO_NUMBERS or shape.booleans or shape.null
        if len(shape.objects) + len(shape.arrays) == 1 and not scalar:
            # The rule that is being made is this one's; no need for another.
            if shape.arrays:
                return self._finished(lambda: self.array_text(shape.arrays[0], level, place, name))
            return self._finished(lambda: self.object_text(shape.objects[0], level, place, name))
        return self._finished(lambda: self.alternatives(shape, level, place, name))

    def _finished(self, build: Callable[[], Node]) -> Node:
        """What `build` makes, and all rules in it; for rules that waited, which nothing is to be wrong with."""
        before = len(self.problems)
        node = build()
        self._finish()
        if len(self.problems) > before:
            raise UnsupportedSchemaError(self.problems.all[before:])
        return node

    def now(self, term: Term, level: int) -> Node:
        """The JSON texts of `term`, made at once."""
        shape, place, name = self.known(term)
        if shape is ANYTHING:
            return self.rule(("value", shape, level), "any", lambda: self.alternatives(shape, level, None, "any"))
        count = len(shape.objects) + len(shape.arrays) + bool(shape.numbers) + (shape.strings != NOTHING)
        if count > _INLINE:
            return self.rule(("value", shape, level), name, lambda: self.alternatives(shape, level, place, name))
        return self.alternatives(shape, level, place, name)

    def known(self, term: Term) -> tuple[Shape, Place | None, str]:
        """The shape of `term`, where it comes from, and a name for its rules."""
        place = origin(term)
        try:
            shape = self.algebra.shape(term)
        except (TooLarge, Circular, RecursionError) as error:
            reason = str(error) if isinstance(error, TooLarge) else "its schemas refer to each other without an end"
            self.report(place, _LOGIC, reason, "only its first condition is kept", once=isinstance(error, Spent))
            shape = self._first(term)
        if self._caps:
            shape = capped(shape, self._caps)
        return shape, place, place.name if place is not None else "value"

    def _first(self, term: Term) -> Shape:
        """Something wider than a term whose shape cannot be worked out."""
        while isinstance(term, AllOf | AnyOf | Complement):
            if not isinstance(term, AllOf):
                return ANYTHING
            term = term.parts[0]
        try:
            return self.algebra.shape(term)
        except (TooLarge, Circular, RecursionError):
            return ANYTHING

    def rule(self, key: tuple[object, ...], hint: str, build: Callable[[], Node]) -> Node:
        """The rule filed under `key`; its body is made by `build`, later."""
        found = self._rules.get(key)
        if found is not None and found.name not in self.book.rules:
            return Never()  # it turned out to have no text, and was removed
        if found is None:
            found = RuleRef(self.book.reserve(hint))
            self._work.append((found.name, build))
            self._rules[key] = found
        return found

    def alternatives(self, shape: Shape, level: int, place: Place | None, name: str) -> Node:
        """The JSON texts of `shape`, not shared."""
        options: list[Node] = []
        for members in self.possible(shape):
            options.append(
                self.rule(("object", members, level), name, partial(self.object_text, members, level, place, name))
            )
        for items in shape.arrays:
            options.append(
                self.rule(("array", items, level), name, partial(self.array_text, items, level, place, name))
            )
        if shape.strings != NOTHING:
            options.append(self.string_text(shape.strings, place, name))
        if shape.numbers != NO_NUMBERS:
            options.append(self._number(shape.numbers, place))
        options += [Literal(b"true" if value else b"false") for value in sorted(shape.booleans, reverse=True)]
        if shape.null:
            options.append(Literal(b"null"))
        return choice(options)

    def possible(self, shape: Shape) -> tuple[Members, ...]:
        """The objects of `shape`; in loose order, those that there are.

        Loose texts may do without members that are required, so that their rules do not tell that one has no value.
        """
        if self.order != "loose":
            return shape.objects
        unknown = tuple(members for members in shape.objects if members not in self._possible)
        if unknown:
            exact = _Exact(self.algebra, self._options, self._document)
            self._possible |= exact.told(self.algebra.fixed(replace(VOID, objects=unknown)))
        return tuple(members for members in shape.objects if self._possible[members])

    # -- one type -------------------------------------------------------------------------------------------------

    def object_text(
        self,
        members: Members,
        level: int,
        place: Place | None,
        name: str,
        text: Callable[..., ObjectText] | None = None,
    ) -> Node:
        """Objects of one kind, written by `text`."""
        write = partial(text or ObjectText, self)
        try:
            if is_ordered(self.order, self.kinds(members)):
                with suppress(TooManyStates):  # in any order it may take none
                    return write(members, level, name, in_order=True).node()
            return write(members, level, name, in_order=False).node()
        except TooManyStates as error:
            reason = too_much("its conditions on members", error, _FEWER_MEMBERS)
        with suppress(TooManyStates):  # needs may be too many for any order, and not for one
            return write(members, level, name, in_order=True).node()
        self.report(place, _MEMBER_WORDS, reason, "bounds, and what some member must be, are dropped")
        try:
            wider = replace(members, needs=(), least=0, most=None)
            return write(wider, level, name, in_order=False).node()
        except TooManyStates:
            return self.value(self.algebra.fixed(replace(VOID, objects=ANYTHING.objects)), level)

    def array_text(
        self, items: Items, level: int, place: Place | None, name: str, text: Callable[..., ArrayText] = ArrayText
    ) -> Node:
        """Arrays of one kind, written by `text`."""
        try:
            return text(self, items, level, name).node()
        except NotFinite as error:
            self.problems.add(items.place, "uniqueItems", str(error), "the keyword is ignored")
        except TooManyStates as error:
            self._report_items(place, error)
        try:
            return text(self, replace(items, counts=(), unique=None), level, name).node()
        except TooManyStates as error:  # the items by position are too many already
            self._report_items(place, error)
            return text(self, ANY_ITEMS, level, name).node()

    def _report_items(self, place: Place | None, error: TooManyStates) -> None:
        reason = too_much("its conditions on items", error, "use smaller counts, or fewer conditions at one array")
        lenient = "what some items must be, and that they differ, is dropped"
        self.report(place, _ITEM_WORDS, reason, lenient, once=True)

    def string_text(self, strings: Language, place: Place | None, name: str) -> Node:
        """Strings, quotes included."""
        try:
            return self.speller.string(strings, name)
        except TooManyStates as error:
            reason = too_much("its conditions on strings", error, SIMPLER_STRINGS)
            self.report(place, STRING_WORDS, reason, "any string is allowed")
            return self.speller.string(ALL)

    def _number(self, numbers: Numbers, place: Place | None) -> Node:
        try:
            return self.numerals.node(numbers)
        except TooManyStates as error:
            reason = too_much("its remainders", error, "use multiples of fewer digits, or fewer of them at one place")
            self.report(place, _NUMBER_WORDS, reason, "the keyword is ignored")
            wider = tuple(
                replace(piece, step=Fraction(int(piece.step != 0 and piece.step.denominator == 1)), gaps=frozenset())
                for piece in numbers.whole
            )
            return self.numerals.node(Numbers(wider, wider))

    def report(
        self, place: Place | None, words: tuple[str, ...], reason: str, lenient: str, *, once: bool = False
    ) -> None:
        """Add a problem at `place`, with the first of `words` that its schema has, or what leads on to them."""
        pointer = place.pointer if place is not None else "#"
        known = (word for word in (*words, *_LOGIC) if place is not None and word in place.schema)
        keyword = next(known, words[-1])
        self.problems.add(pointer, keyword, reason, lenient, once=once)


class _Exact(Emitter):
    """Finds out which objects have a text, in an order of members that has them all; what may wait has one."""

    def __init__(self, algebra: SchemaAlgebra, options: SchemaOptions, document: Document) -> None:
        exact = replace(options, order="any", caps=())
        super().__init__(algebra, QuickWriter(RuleBook(), exact), Problems(), document)

    def told(self, term: Term) -> dict[Members, bool]:
        """Of all objects in `term` that do not wait, whether there are any."""
        productive = productive_rules(self.grammar(term, ""))
        made = ((key[1], call.name) for key, call in self._rules.items())
        return {members: name in productive for members, name in made if isinstance(members, Members)}

    def value(self, term: Term, level: int) -> Node:
        return Literal(b"0") if self._document.is_deferrable(term) else self.now(term, level)


_FEWER_MEMBERS = "let fewer conditions meet at one object, or use patterns that have no name in common"
SIMPLER_STRINGS = "use a smaller length or a simpler pattern, or let fewer conditions meet at one string"
_LOGIC = blamed(0)
_MEMBER_WORDS = blamed(OBJECT)
_ITEM_WORDS = blamed(ARRAY)
_NUMBER_WORDS = blamed(NUMBER)
STRING_WORDS = blamed(STRING)
