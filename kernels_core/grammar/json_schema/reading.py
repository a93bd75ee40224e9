"""Schemas to shapes: what the keywords beside each other say.

`Reader.read` takes a schema at its place and returns its shape: one `Members` and one `Items` for the keywords that
stand beside each other, intersected with the shapes of `$ref`, `allOf`, `anyOf`, ... in the order in which they are
written.  Sub-schemas of values become terms and are not looked into here.

A keyword that cannot be read exactly is reported to `problems`, and the shape goes on without it, marked as not exact.

What one keyword says is the function of its entry in the table (`keywords/`).

Read on: `keywords/`, `shapes.py`, `schema_algebra.py`; `evaluated.py` (`unevaluated...`), `constants.py` (`enum`,
`const`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import and_
from typing import Any, TypeVar

from ...errors import GrammarError
from ..regular.languages import ALL, intersection
from . import items as item_shapes
from . import members as member_shapes
from .exact_text import exact_text
from .keywords import IN_PLACE, ITEMS, KEYWORDS, MEMBERS, NUMBERS, STRINGS, VALUES
from .numbers import ALL_NUMBERS
from .problems import Problems, child
from .resolve import REFERENCES, Context, Documents
from .schema_algebra import Circular, SchemaAlgebra, Spent, TooLarge
from .schema_options import SchemaOptions
from .shapes import ANYTHING, Items, Members, Shape, replace
from .terms import FALSE, TRUE, Place, Term
from .values import Malformed, a_string, kind_of

S = TypeVar("S", Items, Members)
V = TypeVar("V")

# What may change the context of a schema.
_NAMING = frozenset(("$schema", "$id", "id"))


class Reader:
    """Reads the schemas of one compile: the `SchemaReader` that keywords know."""

    def __init__(self, documents: Documents, problems: Problems, options: SchemaOptions) -> None:
        self.documents = documents
        self.problems = problems
        self.options = options
        self.algebra = SchemaAlgebra(self.read)
        self._places: dict[tuple[object, ...], Term] = {}
        self._failures = 0

    # -- sub-schemas ----------------------------------------------------------------------------------------------

    def term(self, schema: Any, context: Context, pointer: str, name: str, *, entered: bool = False) -> Term:
        """The term of a sub-schema; equal schemas in equal contexts are one term.

        `entered`: the context is that of the schema itself already.
        """
        if schema is True:
            return TRUE
        if schema is False:
            return FALSE
        if not isinstance(schema, dict):
            is_json = isinstance(schema, str) and schema.lstrip()[:1] == "{"
            cure = "; parse that text, and give the object" if is_json else ""
            raise Malformed(f"a schema must be an object or a Boolean, not {kind_of(schema)}{cure}")
        if not entered and not _NAMING.isdisjoint(schema):
            context = self.documents.inside(schema, context)
        dialect = context.dialect
        if dialect.telling.isdisjoint(schema):
            return TRUE
        text = exact_text(schema)
        key: tuple[object, ...] = (text, dialect.uri, dialect.keywords)
        if 'ef"' in text and any(word in text for word in REFERENCES):
            key = (text, context)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(schema, context, pointer, name, text)
        return found

    def term_at(self, place: Place, keyword: str, name: str) -> Term:
        """The term of a keyword that takes one schema."""
        return self.term(place.schema[keyword], place.context, child(place.pointer, keyword), name)

    def term_in(self, place: Place, schema: Any, name: str, keyword: str, *path: str | int) -> Term:
        """The term of `schema`, which stands at `path` in the value of a keyword."""
        return self.term(schema, place.context, child(place.pointer, keyword, *path), name)

    def beside(self, place: Place, keyword: str, otherwise: Any) -> Any:
        """The value of a keyword that another one reads; `otherwise` where it is not there, or no keyword here."""
        if keyword not in place.schema or keyword not in place.context.dialect.keywords:
            return otherwise
        try:
            return KEYWORDS[keyword].check(place.schema[keyword], keyword)
        except Malformed as error:
            error.keyword = keyword
            raise

    def terms(self, place: Place, keyword: str, schemas: list[Any]) -> list[Term]:
        """The terms of a keyword that takes a list of schemas."""
        return [
            self.term(schema, place.context, child(place.pointer, keyword, i), place.name)
            for i, schema in enumerate(schemas)
        ]

    def keywords(self, place: Place) -> list[str]:
        """The keywords at `place` that say something about values."""
        telling = place.context.dialect.telling
        if place.context.dialect.ref_alone and "$ref" in place.schema:
            return ["$ref"]
        return [key for key in place.schema if key in telling]

    def target(self, place: Place, keyword: str) -> Term:
        """The term that a reference stands for."""
        reference = a_string(place.schema[keyword], keyword)
        found = self.documents.follow(keyword, reference, place.context)
        name = found.pointer.rsplit("/", 1)[-1].rsplit("#", 1)[-1] or place.name
        return self.term(found.schema, found.context, found.pointer, name, entered=found.entered)

    def meet(self, shape: Shape, term: Term) -> tuple[Shape, bool]:
        """`shape` and `term`, and whether that is exact.

        A `oneOf` alone is read at what is known so far: what is required out here often keeps its alternatives apart.
        """
        if (
            isinstance(term, Place)
            and not self.algebra.is_known(term)
            and any(members.required for members in shape.objects)
            and self.keywords(term) == ["oneOf"]
        ):
            return self.read_keyword(term, IN_PLACE["oneOf"], shape) or (shape, False)
        return self.algebra.meet(shape, self.algebra.shape(term)), self.algebra.is_exact(term)

    def required_beside(self, place: Place, shape: Shape) -> tuple[str, ...]:
        """Names that objects of `shape` have to have, also by what applies beside a `oneOf` and comes behind it."""
        if not shape.objects:
            return ()
        found = dict.fromkeys(name for name in shape.objects[0].required if _all_require(shape, name))
        behind = list(place.schema)
        if "allOf" in behind[behind.index("oneOf") :]:
            # What is wrong with it is said where it is read.
            with suppress(Malformed, TooLarge, Circular):
                for term in self.terms(place, "allOf", self.beside(place, "allOf", [])):
                    other = self.algebra.shape(term)
                    if self.algebra.is_exact(term) and other.objects:
                        # The order of members is that of their declarations: of others, that in which they are named.
                        declared = {keys.single for keys, _ in other.objects[0].rules}
                        required = (name for name in other.objects[0].required if _all_require(other, name))
                        found |= dict.fromkeys(name for name in required if name in declared)
        return tuple(found)

    def narrowed(self, term: Term, required: Shape) -> Term:
        """A `oneOf` alone at what is `required`; other terms as they are."""
        if not isinstance(term, Place) or self.algebra.is_known(term) or self.keywords(term) != ["oneOf"]:
            return term
        found = self.read_keyword(term, IN_PLACE["oneOf"], required)
        return self.algebra.fixed(found[0]) if found is not None and found[1] else term

    # -- one schema -----------------------------------------------------------------------------------------------

    def read(self, place: Place) -> tuple[Shape, bool]:
        """The shape of a schema, and whether that is exact (it is wider where something could not be read)."""
        schema, dialect = place.schema, place.context.dialect
        if "$ref" in schema and dialect.ref_alone:
            return self._apply(place, ("$ref",), ANYTHING, True)
        present = [key for key in schema if key in dialect.keywords]
        # Members are declared in the order of the text: a base in front of `properties` comes first, conditions last.
        own = present.index("properties") if "properties" in present else 0
        bases = [key for key in present[:own] if key in ("$ref", "allOf")]
        before, exact = self._apply(place, bases, ANYTHING, True)
        shape, exactly = self._own(place, frozenset(present))
        others = [key for key in present if key not in bases]
        return self._apply(place, others, self.algebra.meet(before, shape), exact and exactly)

    def _apply(self, place: Place, keywords: Iterable[str], shape: Shape, exact: bool) -> tuple[Shape, bool]:
        for keyword in keywords:
            entry = IN_PLACE.get(keyword)
            if entry is None or entry.read is None:
                continue
            result = self.read_keyword(place, entry, shape)
            if result is None:
                exact = False
                continue
            shape, applied_exactly = result
            exact = exact and applied_exactly
        return shape, exact

    def guarded(self, place: Place, keyword: str, work: Any) -> Any:
        """`work()`, or None and a reported problem."""
        spent = False
        try:
            return work()
        except Malformed as error:
            reason, keyword = str(error), error.keyword or keyword
        except GrammarError as error:
            reason = f"{error.reason} (character {error.offset} of the pattern)" if error.offset else error.reason
        except (TooLarge, ValueError) as error:
            reason, spent = str(error), isinstance(error, Spent)
        except Circular:
            reason = (
                "the schema refers to itself without going into the value, so no value can be checked; say what it is, "
                "or refer to it under a keyword that goes into the value, such as properties or items"
            )
        except RecursionError:
            reason = "schemas are nested too deeply"
        self._failures += 1
        self.problems.add(place.pointer, keyword, reason, "the keyword is ignored", once=spent)
        return None

    def _own(self, place: Place, present: frozenset[str]) -> tuple[Shape, bool]:
        """What the keywords say that need no other schema at this place."""
        failures = self._failures
        shape = ANYTHING
        if "type" in present:
            shape = self.read_keyword(place, VALUES["type"]) or shape
        if not present.isdisjoint(NUMBERS):
            numbers = self._met(place, present, NUMBERS, ALL_NUMBERS, and_)
            shape = replace(shape, numbers=shape.numbers & numbers) if shape.numbers else shape
        if shape.strings == ALL and not present.isdisjoint(STRINGS):
            shape = replace(shape, strings=self._met(place, present, STRINGS, ANYTHING.strings, intersection))
        if shape.arrays and not present.isdisjoint(ITEMS):
            items = item_shapes.normal(self.algebra, self._together(place, present, ITEMS, Items()))
            shape = replace(shape, arrays=() if items is None else (items,))
        if shape.objects and not present.isdisjoint(MEMBERS):
            if self._closes(present):
                present |= {"additionalProperties"}
            members = member_shapes.normal(self.algebra, self._together(place, present, MEMBERS, Members()))
            shape = replace(shape, objects=() if members is None else (members,))
        shape = self._met(place, present - {"type"}, VALUES, shape, self.algebra.meet)
        return (ANYTHING if shape == ANYTHING else shape), self._failures == failures

    def read_keyword(self, place: Place, entry: Any, *so_far: Any) -> Any:
        """What a keyword says, or None and a reported problem."""
        name = entry.name

        def read() -> Any:
            return entry.read(self, place, entry.check(place.schema.get(name, False), name), *so_far)

        return self.guarded(place, name, read)

    def _met(
        self, place: Place, present: frozenset[str], entries: Mapping[str, Any], said: V, meet: Callable[[V, V], V]
    ) -> V:
        """What keywords say, each of which stands for itself, and `said`."""
        for name, entry in entries.items():
            found = self.read_keyword(place, entry) if name in present and entry.read is not None else None
            if found is not None:
                said = meet(said, found)
        return said

    def _together(self, place: Place, present: frozenset[str], entries: Mapping[str, Any], said: S) -> S:
        """What keywords say of items, or of members, each adding to what those before it said."""
        failed: set[str] = set()
        for name, entry in entries.items():
            if name not in present or entry.read is None:
                continue
            if not failed.isdisjoint(entry.after):
                continue  # the schema is not exact any more, and this would say too much
            found = self.read_keyword(place, entry, said)
            if found is None:
                failed.add(name)
            else:
                said = found
        return said

    def _closes(self, present: frozenset[str]) -> bool:
        """Does strict mode forbid what is not mentioned?"""
        return (
            self.options.strict_mode
            and "unevaluatedProperties" not in present
            and not present.isdisjoint(("properties", "patternProperties"))
        )


def _all_require(shape: Shape, name: str) -> bool:
    return all(name in members.required for members in shape.objects)
