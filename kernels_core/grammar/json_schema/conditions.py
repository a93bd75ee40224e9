"""Keywords that apply other schemas to the same value: `$ref`, `allOf`, `anyOf`, `oneOf`, `not`, `if`, `dependent...`
and `unevaluated...`.

Each takes the shape so far and returns it intersected with what the keyword says, and whether that is exact.

Read on: `reading.py` (who calls this), `evaluated.py` (what `unevaluated...` needs to know).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..regular.languages import Words
from .evaluated import Evaluation
from .problems import child
from .resolve import Target, Unresolved
from .shapes import ANYTHING, Members, Shape, replace
from .terms import FALSE, TRUE, Place, Term

if TYPE_CHECKING:
    from .reading import Reader

__all__ = ["Conditions"]

Applied = tuple[Shape, bool]


class Conditions:
    """The keywords, by name, in `by_keyword`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._evaluation = Evaluation(reader, self)
        self.by_keyword: dict[str, Callable[[Place, Shape], Applied]] = {
            "$ref": partial(self._reference, "$ref"),
            "$dynamicRef": partial(self._reference, "$dynamicRef"),
            "$recursiveRef": partial(self._reference, "$recursiveRef"),
            "allOf": self._all_of,
            "anyOf": self._any_of,
            "oneOf": self._one_of,
            "not": self._not,
            "if": self._if,
            "dependentRequired": partial(self._dependent, "dependentRequired"),
            "dependentSchemas": partial(self._dependent, "dependentSchemas"),
            "dependencies": partial(self._dependent, "dependencies"),
            "unevaluatedProperties": self._evaluation.properties,
            "unevaluatedItems": self._evaluation.items,
        }

    def meet(self, shape: Shape, term: Term) -> Applied:
        """`shape` and `term`.

        A `oneOf` alone is read at what is known so far: what is required out here often keeps its alternatives apart.
        """
        space = self._reader.space
        if (
            isinstance(term, Place)
            and not space.is_known(term)
            and any(members.required for members in shape.objects)
            and self._reader.keywords(term) == ["oneOf"]
        ):
            return self._reader.guarded(term, "oneOf", lambda: self._one_of(term, shape)) or (shape, False)
        other = space.shape(term)
        return space.meet(shape, other), space.is_exact(term)

    # -- references -----------------------------------------------------------------------------------------------

    def target(self, place: Place, keyword: str) -> Term:
        """The term that a reference stands for."""
        from .reading import Malformed

        reference = place.schema[keyword]
        if not isinstance(reference, str):
            raise Malformed(f"{keyword} must be a string")
        documents = self._reader.documents
        resolve: dict[str, Callable[..., Target]] = {
            "$ref": documents.resolve,
            "$dynamicRef": documents.resolve_dynamic,
            "$recursiveRef": documents.resolve_recursive,
        }
        try:
            found = resolve[keyword](reference, place.context)
        except Unresolved as error:
            raise Malformed(str(error)) from None
        name = found.pointer.rsplit("/", 1)[-1].rsplit("#", 1)[-1] or place.name
        return self._reader.term(found.schema, found.context, found.pointer, name, entered=found.entered)

    def _reference(self, keyword: str, place: Place, shape: Shape) -> Applied:
        return self.meet(shape, self.target(place, keyword))

    # -- logic ----------------------------------------------------------------------------------------------------

    def _all_of(self, place: Place, shape: Shape) -> Applied:
        exact = True
        for term in self._reader.terms(place, "allOf"):
            shape, exactly = self.meet(shape, term)
            exact = exact and exactly
        return shape, exact

    def _any_of(self, place: Place, shape: Shape) -> Applied:
        return self.meet(shape, self._reader.space.any_of(*self._reader.terms(place, "anyOf")))

    def _one_of(self, place: Place, shape: Shape) -> Applied:
        return self._reader.space.one_of(self._reader.terms(place, "oneOf"), shape)

    def _not(self, place: Place, shape: Shape) -> Applied:
        term = self._reader.term(place.schema["not"], place.context, child(place.pointer, "not"), place.name)
        return self.meet(shape, self._reader.space.negate(term))

    def _if(self, place: Place, shape: Shape) -> Applied:
        space = self._reader.space
        condition, then, otherwise = self.branches(place)
        term = space.any_of(space.all_of(condition, then), space.all_of(space.negate(condition), otherwise))
        return self.meet(shape, term)

    def branches(self, place: Place) -> tuple[Term, Term, Term]:
        """`if`, `then`, `else`; what is missing is true."""
        found = [
            self._reader.term(place.schema[key], place.context, child(place.pointer, key), place.name)
            if key in place.schema
            else TRUE
            for key in ("if", "then", "else")
        ]
        return found[0], found[1], found[2]

    # -- dependencies ---------------------------------------------------------------------------------------------

    def dependencies(self, place: Place, keyword: str) -> list[tuple[str, Any]]:
        """(name, list of names or schema) of one of the `depend...` keywords."""
        from .reading import Malformed

        value = place.schema[keyword]
        if not isinstance(value, dict):
            raise Malformed(f"{keyword} must be an object")
        return list(value.items())

    def _dependent(self, keyword: str, place: Place, shape: Shape) -> Applied:
        exact = True
        for name, value in self.dependencies(place, keyword):
            consequence, exactly = self._consequence(place, keyword, name, value)
            exact = exact and exactly
            if shape.objects and consequence is not ANYTHING:
                space = self._reader.space
                absent = Members(rules=((Words(frozenset((name,))), FALSE),))
                otherwise = space.complement_objects(consequence.objects) if _is_one_value(consequence.objects) else ()
                if len(otherwise) == 1:
                    # By the value of the tag rather than by presence: that keeps many dependencies on one tag apart.
                    options = (*consequence.objects, *space.meet_objects(otherwise, (absent,)))
                else:
                    options = (absent, *space.meet_objects((Members(required=(name,)),), consequence.objects))
                shape = replace(shape, objects=space.meet_objects(shape.objects, options))
        return shape, exact

    def _consequence(self, place: Place, keyword: str, name: str, value: Any) -> Applied:
        """What follows from the presence of `name`."""
        from .reading import names

        if isinstance(value, str) and keyword == "dependencies":
            value = [value]  # draft 3 allowed a single name
        if isinstance(value, list) and keyword != "dependentSchemas":
            required = tuple(dict.fromkeys(names(value, keyword)))
            return (replace(ANYTHING, objects=(Members(required=required),)) if required else ANYTHING), True
        if keyword == "dependentRequired":
            names(value, keyword)
        term = self._reader.term(value, place.context, child(place.pointer, keyword, name), place.name)
        return self.meet(ANYTHING, term)


def _is_one_value(objects: tuple[Members, ...]) -> bool:
    """Is it all about the value of one member?"""
    if len(objects) != 1 or len(objects[0].rules) != 1:
        return False
    (alternative,) = objects
    ((keys, _),) = alternative.rules
    bare = not (alternative.required or alternative.needs or alternative.least) and alternative.most is None
    return bare and keys.single is not None
