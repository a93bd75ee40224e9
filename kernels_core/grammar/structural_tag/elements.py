"""Arguments as XML-like elements: an object's members, each between markers, strings raw and other values as JSON.

What is between two markers ends at the first closing marker.  So no raw string holds it, and no string inside a JSON
value does; patterns, lengths, enumerations and formats of strings hold on top of that.  A value that cannot be
written (a constant with the closing marker in it, a name that would end the marker) is refused with its place.

Where a style does not tell types apart, a text is accepted if one way to read it fits: `12` is a number or a string.
A style with `lines` leaves open whether a line feed directly inside a marker belongs to the value.

The rest is as in JSON (`../json_schema/objects.py`): the order of members, required names, bounds, and everything else
that a schema says of an object.

Read on: `styles.py` (the markers), `../json_schema/raw_spelling.py`, `../json_schema/emit.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache, partial
from typing import Any

from .. import charset, nodes
from ..ir import Literal, Node
from ..json_schema.arrays import ArrayText
from ..json_schema.emit import SIMPLER_STRINGS, STRING_WORDS
from ..json_schema.layout import FLAT, Layout
from ..json_schema.numbers import Numbers
from ..json_schema.problems import too_much
from ..json_schema.raw_spelling import RawSpeller
from ..json_schema.shapes import ANYTHING, VOID, Items, Shape, replace
from ..json_schema.terms import TRUE, Place, Term
from ..regular.dfa import TooManyStates
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
    NOTHING,
    Language,
    Words,
    character,
    concat,
    loop,
    union,
)
from ..regular.prefixes import common_beginning
from .json_excluding import LEFT_OUT, CarefulEmitter, CarefulObject
from .styles import JSON_TYPES, NAME_MARKS, Style

_LINE = Literal(b"\n")
# Where a shape says what there is of a type.
_FIELDS = {
    "string": "strings",
    "number": "numbers",
    "integer": "numbers",
    "boolean": "booleans",
    "null": "null",
    "array": "arrays",
    "object": "objects",
}
# Names are written as they are: no control characters, nothing that ends a marker, no blanks around them.
_INNER: charset.Ranges = charset.complement(((0x00, 0x1F), (0x22, 0x22), (0x3C, 0x3C), (0x3E, 0x3E), (0x7F, 0x7F)))


@cache
def _names(entities: frozenset[str]) -> Language:
    """Names that can be written where the characters `entities` have another spelling."""
    if entities.issuperset(NAME_MARKS):
        return loop(ANY_CHARACTER, 1, None)
    inner = charset.union(_INNER, charset.normalise((ord(letter), ord(letter)) for letter in entities))
    outer = character(charset.difference(inner, ((0x20, 0x20),)))
    return union(outer, concat(outer, loop(character(inner), 0, None), outer))


class _Gaps(Layout):
    """No brackets and no commas: blanks may stand in front of, between and behind elements."""

    def __init__(self, layout: Layout) -> None:
        self._gap = layout.gap  # the same rule; a layout of one's own would add another

    def opening(self, bracket: bytes, level: int) -> Node:
        return self._gap

    def closing(self, bracket: bytes, level: int) -> Node:
        return self._gap

    def empty(self, brackets: bytes) -> Node:
        return self._gap

    def comma(self, level: int) -> Node:
        return self._gap


class ElementEmitter(CarefulEmitter):
    """Writes the objects of one term in a `style`.

    `excludes`: what no string may hold, names included.  `spell` makes nodes of markers.
    """

    def __init__(self, style: Style, excludes: Iterable[str], spell: Callable[[str], Node], *rest: Any) -> None:
        super().__init__((style.stop, *excludes), *rest)
        self.style = style
        self.spell = spell
        self.raw = RawSpeller(self.book)
        self.names = RawSpeller(self.book, style.entities)
        self.gaps = _Gaps(self.layout)

    def top(self, term: Term) -> Node:
        """All elements of an object."""
        objects = self.algebra.fixed(replace(VOID, objects=ANYTHING.objects))
        shape, place, name = self.known(self.algebra.all_of(term, objects))
        if not shape.objects:
            self.report(place, ("type",), "arguments between markers are members of an object", "nothing is allowed")
        return self.objects(shape, place, name)

    def objects(self, shape: Shape, place: Place | None, name: str) -> Node:
        """The elements of each object of `shape`."""
        text = partial(_ObjectElements, place=place)
        return nodes.choice(
            self.rule(("elements", members), name, partial(self.object_text, members, FLAT, place, name, text))
            for members in self.possible(shape)
        )

    def element(self, front: Node, term: Term, back: Node, around: Place | None, *, skip: str = "") -> Node:
        """`front`, a value of `term` in any of the ways to write it, `back`.

        `around` is the place of the object or array; `skip` is what middles begin with, which is left out.
        """
        shape, place, name = self.known(term)
        place = place or around
        middles: dict[tuple[str, ...], list[str]] = {}
        for kind in JSON_TYPES:
            middles.setdefault(self.style.middles[kind], []).append(kind)
        beside = _restricted(shape, [kind for kind in JSON_TYPES if kind != "number"])
        if self.style.integer and shape.numbers and not beside.is_void():
            middles[(self.style.integer,)] = ["integer"]
        ways = []
        for (first, *others), kinds in middles.items():
            value = self._value(_restricted(shape, kinds), place, name)
            texts = [first.removeprefix(skip), *others]
            middle = [node for text in texts for node in (self.gaps.comma(FLAT), self.spell(text))][1:]
            ways.append(nodes.seq((*middle, value)))
        return nodes.seq((front, nodes.choice(ways), back))

    def _value(self, shape: Shape, place: Place | None, name: str) -> Node:
        """What stands between the markers."""
        ways = []
        if shape.strings != NOTHING:
            ways.append(self._raw(shape.strings, place, name))
        as_json = replace(shape, strings=NOTHING)
        if self.style.nested:
            as_json = replace(as_json, objects=(), arrays=())
            ways.append(self.objects(shape, place, name))
            text = partial(_ArrayElements, place=place)
            ways += [
                self.rule(("items", items), name, partial(self.array_text, items, FLAT, place, name, text))
                for items in shape.arrays
            ]
        if not as_json.is_void():
            gap = self.gaps.comma(FLAT)
            ways.append(nodes.seq((gap, self.alternatives(as_json, FLAT, place, name), gap)))
        return nodes.choice(ways)

    def _raw(self, strings: Language, place: Place | None, name: str) -> Node:
        language = self.allowed(strings, place)
        try:
            text = self.raw.texts(language, "raw_text")
        except TooManyStates as error:
            reason = too_much("its conditions on raw text", error, SIMPLER_STRINGS)
            self.report(place, STRING_WORDS, reason, "any text is allowed")
            return nodes.tag_dispatch((), (), True, (self.style.stop.encode(),))
        if strings == ALL:
            return text
        line = nodes.repeat(_LINE, 0, 1) if self.style.lines else nodes.seq(())
        return nodes.seq((line, text, line))


def _restricted(shape: Shape, kinds: Collection[str]) -> Shape:
    """The values of `shape` of some JSON types, or "integer": numbers of digits alone."""
    kept: dict[str, Any] = {_FIELDS[kind]: getattr(shape, _FIELDS[kind]) for kind in kinds}
    if "integer" in kinds:
        kept["numbers"] = Numbers(shape.numbers.whole, ())
    return replace(VOID, **kept)


class _ObjectElements(CarefulObject):
    """The members of an object as elements."""

    emitter: ElementEmitter
    as_json = False

    def __init__(self, emitter: ElementEmitter, *rest: Any, **more: Any) -> None:
        super().__init__(emitter, *rest, **more)
        self.layout = emitter.gaps
        self.names = _names(frozenset(emitter.style.entities))

    def name_text(self, name: str) -> Node:
        return self.emitter.names.text(name)

    def other_key(self, keys: Language) -> Node:
        style = self.emitter.style
        if len(style.back) > 1:
            # The closing marker repeats the name, which a grammar can only do for names that it knows.
            rules = (*self.members.rules, *(rule for need in self.members.needs for rule in need))
            if any(not isinstance(keys, Words) and term is not TRUE for keys, term in rules):
                reason = "in this style only declared names can be written"
                self.emitter.report(self.place, ("additionalProperties", "patternProperties"), reason, LEFT_OUT)
            return nodes.choice(())
        return self.bare_names(keys)

    def member(self, key: Node, term: Term) -> Node:
        return nodes.seq(self.parted(key, term))

    def parted(self, key: Node, term: Term) -> tuple[Node, Node]:
        # A name may be the beginning of another, but a name and what all middles begin with may not: no name holds it.
        spell, style = self.emitter.spell, self.emitter.style
        mark = common_beginning([middle[0] for middle in style.middles.values()])
        back = nodes.seq([node for text in style.back for node in (key, spell(text))][1:])
        value = self.emitter.element(nodes.seq(()), term, back, self.place, skip=mark)
        return nodes.seq((spell(style.front), key, spell(mark))), value


class _ArrayElements(ArrayText):
    """The items of an array as elements without a name."""

    emitter: ElementEmitter
    as_json = False

    def __init__(self, emitter: ElementEmitter, items: Items, level: int, name: str, *, place: Place | None) -> None:
        super().__init__(emitter, items, level, name)
        self.layout = emitter.gaps
        self.place = place

    def item(self, term: Term) -> Node:
        spell, style = self.emitter.spell, self.emitter.style
        return self.emitter.element(spell(style.item), term, spell(style.item_back), self.place, skip='"')

    def distinct(self, term: Term) -> Node:
        return self.emitter.book.add("item", self.item(term))  # a number and a string may have the same text
