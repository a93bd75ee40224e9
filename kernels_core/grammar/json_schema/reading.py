"""Schemas to shapes: what each keyword says.

`Reader.read` takes a schema at its place and returns its shape: one `Members` and one `Items` for the keywords that
stand beside each other, intersected with the shapes of `$ref`, `allOf`, `anyOf`, ... in the order in which they are
written.  Sub-schemas of values become terms and are not looked into here.

A keyword that cannot be read exactly is reported to `problems`, and the shape goes on without it, marked as not exact.

Read on: `shapes.pyx`, `space.py`; `conditions.py` (keywords that apply schemas in place), `evaluated.py`
(`unevaluated...`), `constants.py` (`enum`, `const`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import GrammarError
from ..nodes import MAX_REPEAT
from ..regular.languages import ALL, ANY_CHARACTER, Language, Words, complement, intersection, loop, union
from ..regular.patterns import search
from . import items as item_shapes
from . import members as member_shapes
from .constants import constant, constants
from .dialect import IDLE, to_fraction
from .exact_text import exact_text
from .formats import format_language
from .numbers import ALL_NUMBERS, Numbers, interval, multiples
from .numerals import INTEGERS, INTEGERS_BEFORE_6
from .problems import Problems, child
from .resolve import REFERENCES, Context, Documents
from .shapes import ANYTHING, VOID, Count, Items, Members, Shape, replace
from .space import Circular, Space, Spent, TooLarge
from .terms import FALSE, TRUE, Place, Term

if TYPE_CHECKING:
    from .shapes import Rule

__all__ = ["Reader", "Settings"]

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
# What may change the context of a schema.
_NAMING = frozenset(("$schema", "$id", "id"))
# Items or members: the position in a text is a 32-bit number, and one more is what "not at most" needs.
_MOST_THINGS = MAX_REPEAT - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """How schemas are read.  `strict_mode`: what a schema that lists properties (or a prefix of items) does not
    mention is forbidden.  `formats`: known formats are enforced."""

    strict_mode: bool = False
    formats: bool = True


class Malformed(Exception):
    """A keyword has a value that it cannot have."""


class Reader:
    """Reads the schemas of one compile."""

    def __init__(self, documents: Documents, problems: Problems, settings: Settings) -> None:
        self.documents = documents
        self.problems = problems
        self.settings = settings
        self.space = Space(self.read)
        self._places: dict[tuple[object, ...], Term] = {}
        self._failures = 0
        self._conditions = Conditions(self)

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
            raise Malformed(f"a schema must be an object or a Boolean, not {_kind(schema)}")
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

    def terms(self, place: Place, keyword: str) -> list[Term]:
        """The terms of a keyword that takes a list of schemas."""
        schemas = place.schema[keyword]
        if not isinstance(schemas, list) or not schemas:
            raise Malformed(f"{keyword} must be a list of one or more schemas")
        return [
            self.term(schema, place.context, child(place.pointer, keyword, i), place.name)
            for i, schema in enumerate(schemas)
        ]

    def keywords(self, place: Place) -> list[str]:
        """The keywords at `place` that say something about values."""
        known = place.context.dialect.keywords
        if place.context.dialect.ref_alone and "$ref" in place.schema:
            return ["$ref"]
        return [key for key in place.schema if key in known and key not in IDLE]

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
        return self._apply(place, others, self.space.meet(before, shape), exact and exactly)

    def _apply(self, place: Place, keywords: Any, shape: Shape, exact: bool) -> tuple[Shape, bool]:
        for keyword in keywords:
            applied = self._conditions.by_keyword.get(keyword)
            if applied is None:
                continue
            result = self.guarded(place, keyword, lambda apply=applied, at=shape: apply(place, at))
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
            reason = str(error)
        except GrammarError as error:
            reason = f"{error.reason} (character {error.offset} of the pattern)" if error.offset else error.reason
        except (TooLarge, ValueError) as error:
            reason, spent = str(error), isinstance(error, Spent)
        except Circular:
            reason = "the schema refers to itself without going into the value, which says nothing"
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
            shape = self.guarded(place, "type", lambda: self._types(place)) or shape
        if present & _NUMBER_WORDS and shape.numbers:
            numbers = self._numbers(place, present & _NUMBER_WORDS)
            shape = replace(shape, numbers=shape.numbers & numbers)
        if present & _STRING_WORDS and shape.strings == ALL:
            shape = replace(shape, strings=self._strings(place, present & _STRING_WORDS))
        if shape.arrays and present & _ARRAY_WORDS:
            shape = replace(shape, arrays=self._arrays(place, present))
        if shape.objects and present & _OBJECT_WORDS:
            shape = replace(shape, objects=self._objects(place, present))
        for keyword in ("enum", "const"):
            if keyword in present:
                values = self.guarded(place, keyword, lambda keyword=keyword: self._values(place, keyword))
                if values is not None:
                    shape = self.space.meet(shape, values)
        return (ANYTHING if shape == ANYTHING else shape), self._failures == failures

    def _types(self, place: Place) -> Shape:
        value = place.schema["type"]
        names = value if isinstance(value, list) else [value]
        if not names:
            raise Malformed("type must name at least one type")
        integers = INTEGERS_BEFORE_6 if place.context.dialect.draft == 4 else INTEGERS
        numbers = VOID.numbers
        for name in names:
            if name not in TYPES:
                raise Malformed(f"{name!r} is no type; the types are {', '.join(TYPES)}")
            if name == "number":
                numbers = ALL_NUMBERS
            elif name == "integer":
                numbers = numbers | integers
        return Shape(
            "null" in names,
            ANYTHING.booleans if "boolean" in names else VOID.booleans,
            numbers,
            ALL if "string" in names else VOID.strings,
            ANYTHING.arrays if "array" in names else (),
            ANYTHING.objects if "object" in names else (),
        )

    def _values(self, place: Place, keyword: str) -> Shape:
        value = place.schema[keyword]
        if keyword == "const":
            return constant(self.space, value)
        if not isinstance(value, list):
            raise Malformed(f"enum must be a list, not {_kind(value)}")
        return constants(self.space, value)

    # -- numbers and strings --------------------------------------------------------------------------------------

    def _numbers(self, place: Place, present: frozenset[str]) -> Numbers:
        result = ALL_NUMBERS
        for keyword in sorted(present):
            found = self.guarded(place, keyword, lambda keyword=keyword: self._number_keyword(place, keyword))
            if found is not None:
                result = result & found
        return result

    def _number_keyword(self, place: Place, keyword: str) -> Numbers:
        schema, dialect = place.schema, place.context.dialect
        value = schema[keyword]
        if keyword.startswith("exclusive") and isinstance(value, bool) and (dialect.draft == 4 or dialect.relaxed):
            return ALL_NUMBERS  # read with the bound it belongs to
        number = to_fraction(value)
        if number is None:
            raise Malformed(f"{keyword} must be a number, not {_kind(value)}")
        if keyword == "multipleOf":
            if number <= 0:
                raise Malformed("multipleOf must be greater than 0")
            return multiples(number)
        upper = keyword in ("maximum", "exclusiveMaximum")
        bound = "exclusiveMaximum" if upper else "exclusiveMinimum"
        is_open = keyword.startswith("exclusive") or (
            schema.get(bound) is True and (dialect.draft == 4 or dialect.relaxed)
        )
        if upper:
            return interval(None, number, low_open=False, high_open=is_open)
        return interval(number, None, low_open=is_open, high_open=False)

    def _strings(self, place: Place, present: frozenset[str]) -> Language:
        result: Language = ALL
        for keyword in sorted(present):
            found = self.guarded(place, keyword, lambda keyword=keyword: self._string_keyword(place, keyword))
            if found is not None:
                result = intersection(result, found)
        return result

    def _string_keyword(self, place: Place, keyword: str) -> Language:
        value = place.schema[keyword]
        if keyword == "minLength":
            return loop(ANY_CHARACTER, size(value, keyword), None)
        if keyword == "maxLength":
            return loop(ANY_CHARACTER, 0, size(value, keyword))
        if not isinstance(value, str):
            raise Malformed(f"{keyword} must be a string, not {_kind(value)}")
        if keyword == "pattern":
            return search(value)
        return (format_language(value) if self.settings.formats else None) or ALL

    # -- arrays ---------------------------------------------------------------------------------------------------

    def _arrays(self, place: Place, present: frozenset[str]) -> tuple[Items, ...]:
        items = self.guarded(place, "items", lambda: self._items(place, present)) or Items()
        for keyword in ("minItems", "maxItems", "contains", "uniqueItems"):
            if keyword in present:
                items = (
                    self.guarded(
                        place, keyword, lambda keyword=keyword, at=items: self._array_keyword(place, keyword, at)
                    )
                    or items
                )
        found = item_shapes.normal(self.space, items)
        return () if found is None else (found,)

    def _items(self, place: Place, present: frozenset[str]) -> Items:
        """`prefixItems` and `items`; before 2020 `items` as a list and `additionalItems`."""
        schema, context, pointer, dialect = place.schema, place.context, place.pointer, place.context.dialect
        prefix: list[Term] = []
        rest: Term = TRUE
        listed = schema.get("items")
        if "prefixItems" in present:
            prefix = self.terms(place, "prefixItems")
            rest = FALSE if self.settings.strict_mode and "unevaluatedItems" not in present else TRUE
        if isinstance(listed, list) and (dialect.draft < 2020 or dialect.relaxed) and not prefix:
            prefix = [self.term(one, context, child(pointer, "items", i), place.name) for i, one in enumerate(listed)]
            rest = FALSE if self.settings.strict_mode else TRUE
            if "additionalItems" in present:
                rest = self.term(
                    schema["additionalItems"], context, child(pointer, "additionalItems"), f"{place.name}_item"
                )
        elif "items" in present:
            rest = self.term(listed, context, child(pointer, "items"), f"{place.name}_item")
        return Items(tuple(prefix), rest)

    def _array_keyword(self, place: Place, keyword: str, items: Items) -> Items:
        schema = place.schema
        value = schema[keyword]
        most: int | None
        if keyword == "minItems":
            return replace(items, least=max(items.least, at_least(value, keyword)))
        if keyword == "maxItems":
            most = at_most(value, keyword)
            return replace(items, most=most if items.most is None else most if most is None else min(items.most, most))
        if keyword == "uniqueItems":
            if not isinstance(value, bool):
                raise Malformed(f"uniqueItems must be true or false, not {_kind(value)}")
            return replace(items, unique=True, place=place.pointer) if value else items
        term = self.term(value, place.context, child(place.pointer, "contains"), f"{place.name}_item")
        counted = place.context.dialect.draft >= 2019
        least = at_least(schema["minContains"], "minContains") if counted and "minContains" in schema else 1
        most = at_most(schema["maxContains"], "maxContains") if counted and "maxContains" in schema else None
        return replace(items, counts=(*items.counts, Count(((0, None, term),), least, most)))

    # -- objects --------------------------------------------------------------------------------------------------

    def _objects(self, place: Place, present: frozenset[str]) -> tuple[Members, ...]:
        rules: list[Rule] = []
        matched: list[Language] = []
        for keyword in ("properties", "patternProperties", "additionalProperties", "propertyNames"):
            if keyword in present or (keyword == "additionalProperties" and self._closes(present)):
                found = self.guarded(
                    place, keyword, lambda keyword=keyword: self._object_rules(place, keyword, present, matched)
                )
                rules += found or []
        members = Members(tuple(rules))
        for keyword in ("required", "minProperties", "maxProperties"):
            if keyword in present:
                members = (
                    self.guarded(
                        place, keyword, lambda keyword=keyword, at=members: self._object_keyword(place, keyword, at)
                    )
                    or members
                )
        found = member_shapes.normal(self.space, members)
        return () if found is None else (found,)

    def _closes(self, present: frozenset[str]) -> bool:
        """Does strict mode forbid what is not mentioned?"""
        return (
            self.settings.strict_mode
            and "unevaluatedProperties" not in present
            and not present.isdisjoint(("properties", "patternProperties"))
        )

    def _object_rules(self, place: Place, keyword: str, present: frozenset[str], matched: list[Language]) -> list[Rule]:
        """Rules of one keyword; `matched` collects the keys that are not additional."""
        schema, context, pointer = place.schema, place.context, place.pointer
        if keyword == "additionalProperties":
            value = schema.get(keyword, False)
            term = self.term(value, context, child(pointer, keyword), f"{place.name}_value")
            return [(complement(union(*matched)), term)] if term is not TRUE else []
        value = schema[keyword]
        if keyword == "propertyNames":
            term = self.term(value, context, child(pointer, keyword), f"{place.name}_key")
            if not self.space.is_exact(term):
                raise Malformed("its schema cannot be compiled exactly")
            return [(complement(self.space.shape(term).strings), FALSE)]
        if not isinstance(value, dict):
            raise Malformed(f"{keyword} must be an object, not {_kind(value)}")
        rules: list[Rule] = []
        for key, one in value.items():
            if keyword == "properties":
                keys: Language = Words(frozenset((key,)))
                term = self.term(one, context, child(pointer, keyword, key), key)
            else:
                keys = search(key)
                term = self.term(one, context, child(pointer, keyword, key), f"{place.name}_value")
            matched.append(keys)
            rules.append((keys, term))
        return rules

    def _object_keyword(self, place: Place, keyword: str, members: Members) -> Members:
        value = place.schema[keyword]
        if keyword == "minProperties":
            return replace(members, least=at_least(value, keyword))
        if keyword == "maxProperties":
            return replace(members, most=at_most(value, keyword))
        return replace(members, required=tuple(dict.fromkeys((*members.required, *names(value, keyword)))))


_NUMBER_WORDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_STRING_WORDS = frozenset(("minLength", "maxLength", "pattern", "format"))
_ARRAY_WORDS = frozenset(("items", "prefixItems", "additionalItems", "minItems", "maxItems", "contains", "uniqueItems"))
_OBJECT_WORDS = frozenset(
    [
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "required",
        "minProperties",
        "maxProperties",
    ]
)


def size(value: Any, keyword: str) -> int:
    """A bound on a length or a number of things: an integer, perhaps written 2.0."""
    number = to_fraction(value)
    if number is None or number.denominator != 1 or number < 0:
        raise Malformed(f"{keyword} must be an integer of at least 0, not {value!r}")
    return int(number)


def at_least(value: Any, keyword: str) -> int:
    """A least number of things, which some text has to be able to hold."""
    found = size(value, keyword)
    if found > _MOST_THINGS:
        raise Malformed(f"{keyword} must be at most {_MOST_THINGS:,}: no text holds as many")
    return found


def at_most(value: Any, keyword: str) -> int | None:
    """A greatest number of things; None where no text holds as many, so that nothing is forbidden."""
    found = size(value, keyword)
    return found if found <= _MOST_THINGS else None


def names(value: Any, keyword: str) -> list[str]:
    """A list of property names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Malformed(f"{keyword} must be a list of strings")
    return value


def _kind(value: Any) -> str:
    kinds: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a Boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")


from .conditions import Conditions  # noqa: E402 - it reads sub-schemas through what is above
