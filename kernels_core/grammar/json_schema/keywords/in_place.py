"""Keywords that apply other schemas to the same value: references, logic, dependencies, and `unevaluated...`.

Each takes the shape so far and returns it intersected with what the keyword says, and whether that is exact.

Read on: `../reading.py` (who calls this), `../evaluated.py` (what `unevaluated...` needs to know).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...regular.languages import ALL, Words
from ..evaluated import Branch, Evaluation, says_nothing
from ..schema_reader import SchemaReader
from ..shapes import ANYTHING, VOID, Members, Shape, replace
from ..terms import FALSE, TRUE, Place, Term
from ..values import names, some_schemas, with_names
from .entry import (
    ARRAY,
    DRAFT_2019,
    OBJECT,
    SINCE_7,
    SINCE_2019,
    SINCE_2020,
    UNTIL_7,
    Applied,
    InPlace,
    Schemas,
)
from .quick import Quick

# -- references -------------------------------------------------------------------------------------------------------


def _reference(keyword: str, reader: SchemaReader, place: Place, value: Any, shape: Shape) -> Applied:
    return reader.meet(shape, reader.target(place, keyword))


def _reference_branches(keyword: str, evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    return evaluation.product(branches, evaluation.branches(evaluation.reader.target(place, keyword)))


# -- logic ------------------------------------------------------------------------------------------------------------


def _all_of(reader: SchemaReader, place: Place, schemas: list[Any], shape: Shape) -> Applied:
    exact = True
    for term in reader.terms(place, "allOf", schemas):
        shape, exactly = reader.meet(shape, term)
        exact = exact and exactly
    return shape, exact


def _all_of_branches(evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    for part in evaluation.parts(place, "allOf"):
        branches = evaluation.product(branches, evaluation.branches(part))
    return branches


def _any_of(reader: SchemaReader, place: Place, schemas: list[Any], shape: Shape) -> Applied:
    return reader.meet(shape, reader.algebra.any_of(*reader.terms(place, "anyOf", schemas)))


def _any_of_branches(evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    options = [Branch()]
    for part in evaluation.parts(place, "anyOf"):
        options = evaluation.perhaps(options, part)
    return evaluation.product(branches, options)


def _one_of(reader: SchemaReader, place: Place, schemas: list[Any], shape: Shape) -> Applied:
    # A member that has to be there keeps most alternatives apart, wherever that is said, and inside of them, too.
    terms = reader.terms(place, "oneOf", schemas)
    needed = reader.required_beside(place, shape)
    if needed:
        required = replace(ANYTHING, objects=(Members(required=needed),))
        shape = reader.algebra.meet(shape, required)
        terms = [reader.narrowed(term, required) for term in terms]
    return reader.algebra.one_of(terms, shape)


def _one_of_branches(evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    algebra, parts = evaluation.reader.algebra, evaluation.parts(place, "oneOf")
    options: list[Branch] = []
    for i, part in enumerate(parts):
        others = [algebra.negate(other) for j, other in enumerate(parts) if j != i]
        options += evaluation.under(algebra.all_of(part, *others), evaluation.branches(part))
    return branches if all(map(says_nothing, options)) else evaluation.product(branches, options)


def _not(reader: SchemaReader, place: Place, value: Any, shape: Shape) -> Applied:
    return reader.meet(shape, reader.algebra.negate(reader.term_at(place, "not", place.name)))


def _cases(reader: SchemaReader, place: Place) -> tuple[Term, Term, Term]:
    """`if`, `then`, `else`; what is missing is true."""
    found = [reader.term_at(place, key, place.name) if key in place.schema else TRUE for key in ("if", "then", "else")]
    return found[0], found[1], found[2]


def _if(reader: SchemaReader, place: Place, value: Any, shape: Shape) -> Applied:
    algebra = reader.algebra
    condition, then, otherwise = _cases(reader, place)
    term = algebra.any_of(algebra.all_of(condition, then), algebra.all_of(algebra.negate(condition), otherwise))
    return reader.meet(shape, term)


def _if_branches(evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    algebra = evaluation.reader.algebra
    condition, then, otherwise = _cases(evaluation.reader, place)
    held = evaluation.product(evaluation.branches(condition), evaluation.branches(then))
    options = evaluation.under(condition, held)
    options += evaluation.under(algebra.negate(condition), evaluation.branches(otherwise))
    return branches if all(map(says_nothing, options)) else evaluation.product(branches, options)


# -- dependencies -----------------------------------------------------------------------------------------------------


def _dependent(keyword: str, reader: SchemaReader, place: Place, value: dict[str, Any], shape: Shape) -> Applied:
    exact = True
    for name, wanted in value.items():
        consequence, exactly = _consequence(reader, place, keyword, name, wanted)
        exact = exact and exactly
        if shape.objects and consequence is not ANYTHING:
            algebra = reader.algebra
            absent = Members(rules=((Words(frozenset((name,))), FALSE),))
            otherwise = algebra.complement_objects(consequence.objects) if _is_one_value(consequence.objects) else ()
            if len(otherwise) == 1:
                # By the value of the tag rather than by presence: that keeps many dependencies on one tag apart.
                options = (*consequence.objects, *algebra.meet_objects(otherwise, (absent,)))
            else:
                options = (absent, *algebra.meet_objects((Members(required=(name,)),), consequence.objects))
            shape = replace(shape, objects=algebra.meet_objects(shape.objects, options))
    return shape, exact


def _consequence(reader: SchemaReader, place: Place, keyword: str, name: str, value: Any) -> Applied:
    """What follows from the presence of `name`."""
    if isinstance(value, str) and keyword == "dependencies":
        value = [value]  # draft 3 allowed a single name
    if isinstance(value, list) and keyword != "dependentSchemas":
        required = tuple(dict.fromkeys(names(value, keyword)))
        return (replace(ANYTHING, objects=(Members(required=required),)) if required else ANYTHING), True
    if keyword == "dependentRequired":
        names(value, keyword)
    return reader.meet(ANYTHING, reader.term_in(place, value, place.name, keyword, name))


def _is_one_value(objects: tuple[Members, ...]) -> bool:
    """Is it all about the value of one member?"""
    if len(objects) != 1 or len(objects[0].rules) != 1:
        return False
    (alternative,) = objects
    ((keys, _),) = alternative.rules
    bare = not (alternative.required or alternative.needs or alternative.least) and alternative.most is None
    return bare and keys.single is not None


def _dependent_branches(keyword: str, evaluation: Evaluation, place: Place, branches: list[Branch]) -> list[Branch]:
    reader = evaluation.reader
    for name, value in with_names(place.schema[keyword], keyword).items():
        if isinstance(value, list | str):
            continue
        part = reader.term_in(place, value, place.name, keyword, name)
        found = evaluation.branches(part)
        if all(map(says_nothing, found)):
            continue
        present = reader.algebra.fixed(replace(VOID, objects=(Members(required=(name,)),)))
        options = evaluation.under(reader.algebra.all_of(present, part), found)
        branches = evaluation.product(branches, [*options, Branch(reader.algebra.negate(present))])
    return branches


_ELSEWHERE = "where it leads depends on the way to it"
_MEETS = "it is a condition beside those of the other keywords"
_PRESENT = "it is a condition on members that may be there"
_SEEN = "what it speaks of depends on which other schemas hold"

ENTRIES: tuple[InPlace, ...] = (
    InPlace(
        name="$ref",
        meaning="says what the schema at that place says",
        refers=True,
        quick=Quick.SAME,
        blame=21,
        branches=partial(_reference_branches, "$ref"),
        read=partial(_reference, "$ref"),
    ),
    InPlace(
        name="$dynamicRef",
        meaning="says what the outermost schema with that dynamic anchor says",
        drafts=SINCE_2020,
        refers=True,
        why=_ELSEWHERE,
        branches=partial(_reference_branches, "$dynamicRef"),
        read=partial(_reference, "$dynamicRef"),
    ),
    InPlace(
        name="$recursiveRef",
        meaning="says what the outermost schema that may recur says",
        drafts=DRAFT_2019,
        refers=True,
        why=_ELSEWHERE,
        branches=partial(_reference_branches, "$recursiveRef"),
        read=partial(_reference, "$recursiveRef"),
    ),
    InPlace(
        name="allOf",
        meaning="the value fits every one of these schemas",
        check=some_schemas,
        schemas=Schemas.LIST,
        quick=Quick.SAME,
        blame=20,
        branches=_all_of_branches,
        read=_all_of,
    ),
    InPlace(
        name="anyOf",
        meaning="the value fits at least one of these schemas",
        check=some_schemas,
        schemas=Schemas.LIST,
        quick=Quick.OPTIONS,
        blame=5,
        branches=_any_of_branches,
        read=_any_of,
    ),
    InPlace(
        name="oneOf",
        meaning="the value fits exactly one of these schemas",
        check=some_schemas,
        schemas=Schemas.LIST,
        quick=Quick.OPTIONS,
        blame=4,
        branches=_one_of_branches,
        read=_one_of,
    ),
    InPlace(
        name="not",
        meaning="the value does not fit this schema",
        schemas=Schemas.ONE,
        why=_MEETS,
        blame=4,
        read=_not,
    ),
    InPlace(
        name="if",
        meaning="decides between then and else",
        drafts=SINCE_7,
        schemas=Schemas.ONE,
        why=_MEETS,
        blame=4,
        branches=_if_branches,
        read=_if,
    ),
    InPlace(
        name="then",
        meaning="holds where the value fits the schema under if",
        drafts=SINCE_7,
        schemas=Schemas.ONE,
        beside="if",
        why=_MEETS,
        read=None,
    ),
    InPlace(
        name="else",
        meaning="holds where the value does not fit the schema under if",
        drafts=SINCE_7,
        schemas=Schemas.ONE,
        beside="if",
        why=_MEETS,
        read=None,
    ),
    InPlace(
        name="dependentRequired",
        meaning="names that must be there if another is",
        drafts=SINCE_2019,
        types=OBJECT,
        check=with_names,
        validates=True,
        why=_PRESENT,
        read=partial(_dependent, "dependentRequired"),
    ),
    InPlace(
        name="dependentSchemas",
        meaning="schemas that hold if a name is there",
        drafts=SINCE_2019,
        types=OBJECT,
        check=with_names,
        schemas=Schemas.BY_NAME,
        why=_PRESENT,
        branches=partial(_dependent_branches, "dependentSchemas"),
        read=partial(_dependent, "dependentSchemas"),
    ),
    InPlace(
        name="dependencies",
        meaning="names or schemas that hold if a name is there (older drafts)",
        drafts=UNTIL_7,
        types=OBJECT,
        check=with_names,
        schemas=Schemas.BY_NAME,
        why=_PRESENT,
        branches=partial(_dependent_branches, "dependencies"),
        read=partial(_dependent, "dependencies"),
    ),
    InPlace(
        name="unevaluatedProperties",
        meaning="the schema of members that no schema here has spoken of",
        drafts=SINCE_2019,
        types=OBJECT,
        schemas=Schemas.ONE,
        why=_SEEN,
        evaluates=lambda reader, place, value: Branch(keys=ALL),
        read=lambda reader, place, value, shape: Evaluation(reader).properties(place, shape),
    ),
    InPlace(
        name="unevaluatedItems",
        meaning="the schema of items that no schema here has spoken of",
        drafts=SINCE_2019,
        types=ARRAY,
        schemas=Schemas.ONE,
        why=_SEEN,
        evaluates=lambda reader, place, value: Branch(prefix=None),
        read=lambda reader, place, value, shape: Evaluation(reader).items(place, shape),
    ),
)
