"""JSON in which no string, keys included, holds certain texts: what a format excludes, or the marker that would end it.

That is a condition on the strings themselves.  A constant or a declared name that cannot meet it is refused with its
place; other sets of strings lose the strings in question.

Read on: `elements.py`, `gemma_arguments.py` (layouts that build on this), `../json_schema/raw_spelling.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .. import nodes
from ..ir import Node
from ..json_schema.emit import SIMPLER_STRINGS, STRING_WORDS, Emitter
from ..json_schema.members import value_of
from ..json_schema.objects import ObjectText
from ..json_schema.problems import too_much
from ..json_schema.raw_spelling import CarefulSpeller, RawSpeller, without
from ..json_schema.shapes import Members
from ..json_schema.spelling import Speller
from ..json_schema.terms import Place, origin
from ..regular.dfa import TooManyStates, is_empty
from ..regular.languages import ALL, Language, Words, intersection, matches

LEFT_OUT = "it is left out"


class CarefulEmitter(Emitter):
    """Writes JSON without the texts in `avoid`."""

    object_kind: type[CarefulObject]
    names: RawSpeller  # of names, where these are written as they are

    def __init__(self, avoid: Iterable[str], *rest: Any) -> None:
        super().__init__(*rest)
        self.avoid = tuple(avoid)
        self.speller = self.careful(self.speller.any_spelling)

    def careful(self, any_spelling: bool) -> Speller:
        """The speller that keeps clear of `avoid`."""
        return CarefulSpeller(self.book, self.avoid, any_spelling=any_spelling)

    def object_text(
        self,
        members: Members,
        level: int,
        place: Place | None,
        name: str,
        text: Callable[..., ObjectText] | None = None,
    ) -> Node:
        return super().object_text(members, level, place, name, text or partial(self.object_kind, place=place))

    def string_text(self, strings: Language, place: Place | None, name: str) -> Node:
        self.allowed(strings, place)
        try:
            return self.speller.string(strings, name)
        except TooManyStates as error:
            self.report(place, STRING_WORDS, too_much("its conditions on strings", error, SIMPLER_STRINGS), LEFT_OUT)
            return nodes.choice(())

    def allowed(self, strings: Language, place: Place | None) -> Language:
        """Those of `strings` that can be written; reports what cannot and should."""
        language = without(strings, self.avoid)
        if isinstance(strings, Words) and isinstance(language, Words) and language != strings:
            lost = min(strings.words - language.words)
            reason = f"{lost!r} cannot be written: it holds a text that must not occur there"
            self.report(place, ("const", "enum", "pattern"), reason, LEFT_OUT)
        elif is_empty(language):
            self.report(place, STRING_WORDS, "each of these strings holds a text that must not occur there", LEFT_OUT)
        return language


class CarefulObject(ObjectText):
    """Objects whose declared names can all be written, or are refused."""

    emitter: CarefulEmitter
    names: Language = ALL  # those that can be written

    def __init__(
        self,
        emitter: CarefulEmitter,
        members: Members,
        level: int,
        name: str,
        *,
        place: Place | None,
        in_order: bool = False,
    ) -> None:
        super().__init__(emitter, members, level, name, in_order=in_order)
        self.place = place

    def declared_key(self, name: str) -> Node:
        if self.can_write(name):
            return self.name_text(name)
        place = origin(value_of(self.emitter.algebra, self.members, name)) or self.place
        self.emitter.report(place, ("properties",), f"the name {name!r} cannot be written in this style", LEFT_OUT)
        return nodes.choice(())

    def can_write(self, name: str) -> bool:
        """Can a member have this name?"""
        return matches(self.names, name) and not any(text in name for text in self.emitter.avoid)

    def bare_names(self, keys: Language) -> Node:
        """The texts of the names in `keys` that can be written, as they are."""
        emitter = self.emitter
        names = without(intersection(keys, self.names), emitter.avoid)
        return emitter.names.texts(names, f"{self.name}_name")

    def name_text(self, name: str) -> Node:
        """A name that can be written."""
        return self.emitter.speller.word(name)


CarefulEmitter.object_kind = CarefulObject
