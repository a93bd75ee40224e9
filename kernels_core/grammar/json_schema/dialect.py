"""Drafts of JSON Schema: which keywords each one knows, and how numbers in schemas are read.

A schema without `$schema` is read as draft 2020-12 that also understands what older drafts spelt differently
(`dependencies`, `items` as a list, `additionalItems` beside it, Boolean `exclusiveMinimum`).  With `$schema`, keywords
that the named draft does not know are annotations, as the specification has it.

Read on: `resolve.py` (references), `reading.py` (what keywords mean).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

__all__ = ["ANNOTATIONS", "DEFAULT", "IDLE", "Dialect", "dialect_of", "to_fraction"]

# Digits of the largest and the smallest number a schema may hold.
_MAX_DIGITS = 2_000

_CORE = frozenset(
    [
        "type",
        "enum",
        "multipleOf",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "items",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxProperties",
        "minProperties",
        "required",
        "properties",
        "patternProperties",
        "additionalProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "format",
        "$ref",
    ]
)
_SINCE = {
    6: frozenset(("const", "contains", "propertyNames")),
    7: frozenset(("if", "then", "else")),
    2019: frozenset(
        [
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
            "unevaluatedItems",
            "minContains",
            "maxContains",
        ]
    ),
    2020: frozenset(("prefixItems", "$dynamicRef")),
}
_UNTIL = {2019: frozenset(("additionalItems",)), 7: frozenset(("dependencies",))}
_VALIDATION = frozenset(
    [
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
    ]
)

# Words of the specification that never constrain anything (identifiers, definitions, notes).
ANNOTATIONS = frozenset(
    [
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    ]
)

# Keywords that say nothing by themselves.
IDLE = frozenset(("then", "else", "additionalItems", "minContains", "maxContains"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """One draft.  `uri` is its meta-schema; `draft` is 4, 6, 7, 2019 or 2020; a schema that has none of the keywords in
    `telling` is `true`."""

    uri: str
    draft: int
    keywords: frozenset[str]
    # No `$schema` was given: spellings of older drafts count as well.
    relaxed: bool = False
    telling: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "telling", self.keywords - IDLE)

    @property
    def ref_alone(self) -> bool:
        """Keywords beside `$ref` are ignored."""
        return self.draft <= 7

    @property
    def identifier(self) -> str:
        """The keyword that names a schema."""
        return "id" if self.draft == 4 else "$id"

    def without_validation(self) -> Dialect:
        """The same draft for a meta-schema that leaves out the validation vocabulary."""
        return Dialect(self.uri, self.draft, self.keywords - _VALIDATION, self.relaxed)


def _keywords(draft: int) -> frozenset[str]:
    found = _CORE
    for since, names in _SINCE.items():
        if draft >= since:
            found |= names
    for until, names in _UNTIL.items():
        if draft <= until:
            found |= names
    return found | {"$recursiveRef"} if draft == 2019 else found


_URIS = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
_DRAFTS = {draft: Dialect(uri, draft, _keywords(draft)) for uri, draft in _URIS.items()}
DEFAULT = Dialect(_DRAFTS[2020].uri, 2020, _DRAFTS[2020].keywords | {"additionalItems", "dependencies"}, relaxed=True)


@lru_cache(maxsize=64)
def dialect_of(uri: str) -> Dialect | None:
    """The draft whose meta-schema is at `uri` (with or without `#`, http or https); None if it is none of ours."""
    bare = uri.split("#", 1)[0].rstrip("/")
    scheme, _, rest = bare.partition("://")
    for known, draft in _URIS.items():
        if rest == known.partition("://")[2] and scheme in ("http", "https"):
            return _DRAFTS[draft]
    if rest == "json-schema.org/schema":
        return DEFAULT
    return None


def to_fraction(value: object) -> Fraction | None:
    """A JSON number as an exact value; None if it is no number.

    A float stands for its shortest decimal spelling: 0.1 is one tenth.  `ValueError` for NaN, infinities, and numbers
    of more than 2,000 digits.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        if value.bit_length() > 4 * _MAX_DIGITS:
            raise ValueError(f"a number has more than {_MAX_DIGITS:,} digits")
        return Fraction(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no JSON number")
        if len(value.as_tuple().digits) > _MAX_DIGITS or abs(value.adjusted()) > _MAX_DIGITS:
            raise ValueError(f"a number has more than {_MAX_DIGITS:,} digits")
        return Fraction(value)
    return None
