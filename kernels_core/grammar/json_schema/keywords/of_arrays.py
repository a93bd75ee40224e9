"""Keywords that say something of items."""

from __future__ import annotations

from typing import Any

from ..evaluated import Branch
from ..schema_reader import SchemaReader
from ..shapes import Count, Items, replace
from ..terms import FALSE, TRUE, Place, Term
from ..values import a_boolean, at_least, at_most, some_schemas
from .entry import SINCE_6, SINCE_2019, SINCE_2020, UNTIL_2019, ItemKeyword, Schemas
from .quick import Quick


def _prefix_items(reader: SchemaReader, place: Place, schemas: list[Any], items: Items) -> Items:
    return replace(items, prefix=tuple(reader.terms(place, "prefixItems", schemas)), rest=_rest(reader, place))


def _rest(reader: SchemaReader, place: Place) -> Term:
    """The items behind a list that nothing else is said of."""
    known = place.context.dialect.keywords
    open_ended = "unevaluatedItems" in place.schema and "unevaluatedItems" in known
    return FALSE if reader.options.strict_mode and not open_ended else TRUE


def _items(reader: SchemaReader, place: Place, value: Any, items: Items) -> Items:
    dialect = place.context.dialect
    if not isinstance(value, list) or items.prefix or not dialect.lists_of_items:
        return replace(items, rest=reader.term_at(place, "items", f"{place.name}_item"))
    prefix = tuple(reader.term_in(place, one, place.name, "items", i) for i, one in enumerate(value))
    rest = _rest(reader, place)
    if "additionalItems" in place.schema and "additionalItems" in dialect.keywords:
        rest = reader.term_at(place, "additionalItems", f"{place.name}_item")
    return replace(items, prefix=prefix, rest=rest)


def _min_items(reader: SchemaReader, place: Place, least: int, items: Items) -> Items:
    return replace(items, least=max(items.least, least))


def _max_items(reader: SchemaReader, place: Place, most: int | None, items: Items) -> Items:
    return replace(items, most=most if items.most is None else items.most if most is None else min(items.most, most))


def _contains(reader: SchemaReader, place: Place, value: Any, items: Items) -> Items:
    term = reader.term_at(place, "contains", f"{place.name}_item")
    least = reader.beside(place, "minContains", 1)
    most = reader.beside(place, "maxContains", None)
    return replace(items, counts=(*items.counts, Count(((0, None, term),), least, most)))


def _unique_items(reader: SchemaReader, place: Place, differ: bool, items: Items) -> Items:
    return replace(items, unique=True, place=place.pointer) if differ else items


# -- what is evaluated ------------------------------------------------------------------------------------------------


def _first_items(reader: SchemaReader, place: Place, schemas: Any) -> Branch:
    return Branch(prefix=len(schemas) if isinstance(schemas, list) else 0)


def _all_items(reader: SchemaReader, place: Place, value: Any) -> Branch:
    if isinstance(value, list) and "additionalItems" not in place.schema:
        return Branch(prefix=len(value))
    return Branch(prefix=None)


def _contained(reader: SchemaReader, place: Place, value: Any) -> Branch:
    # Draft 2019-09 says of items what they contain, but not that these are evaluated.
    if not place.context.dialect.bit & SINCE_2020:
        return Branch()
    return Branch(contained=reader.term_at(place, "contains", f"{place.name}_item"))


_ANY_COUNT = "how many of the items fit it is counted beside what each of them must be"

ENTRIES: tuple[ItemKeyword, ...] = (
    ItemKeyword(
        name="prefixItems",
        meaning="schemas of the first items, one each",
        drafts=SINCE_2020,
        check=some_schemas,
        schemas=Schemas.LIST,
        why="positions of items are counted by the algebra",
        blame=7,
        evaluates=_first_items,
        read=_prefix_items,
    ),
    ItemKeyword(
        name="items",
        meaning="the schema of items (of those behind prefixItems)",
        schemas=Schemas.ONE_OR_LIST,
        after=("prefixItems",),
        quick=Quick.ITEMS,
        blame=8,
        evaluates=_all_items,
        read=_items,
    ),
    ItemKeyword(
        name="additionalItems",
        meaning="the schema of the items behind a list of items (older drafts)",
        drafts=UNTIL_2019,
        schemas=Schemas.ONE,
        beside="items",
        quick=Quick.OTHER_ITEMS,
        read=None,
    ),
    ItemKeyword(
        name="minItems",
        meaning="at least so many items",
        check=at_least,
        validates=True,
        quick=Quick.ITEM_COUNT,
        read=_min_items,
    ),
    ItemKeyword(
        name="maxItems",
        meaning="at most so many items",
        check=at_most,
        validates=True,
        quick=Quick.ITEM_COUNT,
        read=_max_items,
    ),
    ItemKeyword(
        name="contains",
        meaning="some item fits this schema",
        drafts=SINCE_6,
        schemas=Schemas.ONE,
        why=_ANY_COUNT,
        blame=1,
        evaluates=_contained,
        read=_contains,
    ),
    ItemKeyword(
        name="minContains",
        meaning="at least so many items fit the schema under contains",
        drafts=SINCE_2019,
        check=at_least,
        beside="contains",
        validates=True,
        why=_ANY_COUNT,
        read=None,
    ),
    ItemKeyword(
        name="maxContains",
        meaning="at most so many items fit the schema under contains",
        drafts=SINCE_2019,
        check=at_most,
        beside="contains",
        validates=True,
        why=_ANY_COUNT,
        read=None,
    ),
    ItemKeyword(
        name="uniqueItems",
        meaning="no two items are equal",
        check=a_boolean,
        validates=True,
        quick=Quick.FALSE_ALONE,
        blame=0,
        read=_unique_items,
    ),
)
