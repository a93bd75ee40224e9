"""Keywords that say something of members."""

from __future__ import annotations

from typing import Any

from ...regular.languages import ALL, Language, Words, complement, union
from ...regular.patterns import ecma_search
from ..evaluated import Branch
from ..schema_options import SchemaOptions
from ..schema_reader import SchemaReader
from ..shapes import Members, replace
from ..terms import FALSE, TRUE, Place
from ..values import Malformed, at_least, at_most, required_names, with_names
from .entry import SINCE_4, SINCE_6, MemberKeyword, Schemas, Status
from .quick import Quick


def _properties(reader: SchemaReader, place: Place, schemas: dict[str, Any], members: Members) -> Members:
    rules = [
        (Words(frozenset((key,))), reader.term_in(place, one, key, "properties", key)) for key, one in schemas.items()
    ]
    return replace(members, rules=(*members.rules, *rules))


def _pattern_properties(reader: SchemaReader, place: Place, schemas: dict[str, Any], members: Members) -> Members:
    rules = []
    for pattern, one in schemas.items():
        keys = ecma_search(pattern)
        rules.append((keys, reader.term_in(place, one, f"{place.name}_value", "patternProperties", pattern)))
    return replace(members, rules=(*members.rules, *rules))


def _additional_properties(reader: SchemaReader, place: Place, value: Any, members: Members) -> Members:
    # Only the two keywords that this one comes after have made rules so far.
    term = reader.term_in(place, value, f"{place.name}_value", "additionalProperties")
    if term is TRUE:
        return members
    others = complement(union(*(keys for keys, _ in members.rules)))
    return replace(members, rules=(*members.rules, (others, term)))


def _property_names(reader: SchemaReader, place: Place, value: Any, members: Members) -> Members:
    term = reader.term_at(place, "propertyNames", f"{place.name}_key")
    if not reader.algebra.is_exact(term):
        raise Malformed("its schema cannot be compiled exactly")
    others = complement(reader.algebra.shape(term).strings)
    return replace(members, rules=(*members.rules, (others, FALSE)))


def _required(reader: SchemaReader, place: Place, required: list[str], members: Members) -> Members:
    return replace(members, required=tuple(dict.fromkeys((*members.required, *required))))


def _min_properties(reader: SchemaReader, place: Place, least: int, members: Members) -> Members:
    return replace(members, least=least)


def _explain_required(required: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    if not isinstance(required, bool):
        return None
    return "annotation", "a Boolean requires nothing since draft 4: list the name in `required` of the object around it"


def _max_properties(reader: SchemaReader, place: Place, most: int | None, members: Members) -> Members:
    return replace(members, most=most)


# -- what is evaluated ------------------------------------------------------------------------------------------------


def _named(reader: SchemaReader, place: Place, schemas: Any) -> Branch:
    return Branch(keys=Words(frozenset(schemas))) if isinstance(schemas, dict) else Branch()


def _matched(reader: SchemaReader, place: Place, schemas: Any) -> Branch:
    found: list[Language] = [ecma_search(pattern) for pattern in schemas] if isinstance(schemas, dict) else []
    return Branch(keys=union(*found))


def _all_members(reader: SchemaReader, place: Place, value: Any) -> Branch:
    return Branch(keys=ALL)


ENTRIES: tuple[MemberKeyword, ...] = (
    MemberKeyword(
        name="properties",
        meaning='schemas of members by name; with order="declared" they may have to come in this order',
        check=with_names,
        schemas=Schemas.BY_NAME,
        quick=Quick.MEMBERS,
        blame=8,
        evaluates=_named,
        read=_properties,
    ),
    MemberKeyword(
        name="patternProperties",
        meaning="schemas of members whose names match a pattern",
        drafts=SINCE_4,
        check=with_names,
        schemas=Schemas.BY_NAME,
        quick=Quick.PATTERNS,
        blame=7,
        evaluates=_matched,
        read=_pattern_properties,
    ),
    MemberKeyword(
        name="additionalProperties",
        meaning="the schema of all other members; false forbids them",
        schemas=Schemas.ONE,
        after=("properties", "patternProperties"),
        quick=Quick.OTHER_MEMBERS,
        evaluates=_all_members,
        read=_additional_properties,
    ),
    MemberKeyword(
        name="propertyNames",
        meaning="the schema of every name",
        drafts=SINCE_6,
        schemas=Schemas.ONE,
        why="it is a condition on the names that other keywords speak of",
        read=_property_names,
    ),
    MemberKeyword(
        name="required",
        meaning="names that must be there",
        check=required_names,
        validates=True,
        quick=Quick.NAMES,
        explain=_explain_required,
        read=_required,
    ),
    MemberKeyword(
        name="minProperties",
        meaning="at least so many members",
        check=at_least,
        validates=True,
        why="how many members there are is counted beside their names",
        blame=0,
        read=_min_properties,
    ),
    MemberKeyword(
        name="maxProperties",
        meaning="at most so many members",
        check=at_most,
        validates=True,
        why="how many members there are is counted beside their names",
        blame=1,
        read=_max_properties,
    ),
)
