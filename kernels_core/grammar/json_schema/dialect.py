"""Drafts of JSON Schema: which keywords each one knows, and what one reads in another way than the others.

A schema without `$schema` is read as draft 2020-12 that also understands what older drafts spelt differently
(`dependencies`, `items` as a list, `additionalItems` beside it, Boolean `exclusiveMinimum`).  With `$schema`, keywords
that the named draft does not know are annotations, as the specification has it.  OpenAPI 3.0 has a dialect of its own,
which is most of draft 4 and `nullable`; that of OpenAPI 3.1 is draft 2020-12 with more annotations.

Read on: `keywords/` (the table: in which drafts a keyword is), `resolve.py` (references), `reading.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from .keywords import IN_PLACE, TABLE, InPlace, Keyword
from .keywords.entry import DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020, OPENAPI_3_0, UNDECLARED


@dataclass(frozen=True, slots=True)
class Dialect:
    """One draft.  `uri` is its meta-schema; `draft` is 4, 6, 7, 2019 or 2020; `bit` is that of the keyword table.

    A schema that has none of the keywords in `telling` is `true`.  `numbers`: the places of its keywords in the table,
    by which the quick readers know them.  `evaluating`, `branching`: the entries that evaluate
    members and items, by themselves and by the schemas in them.
    """

    uri: str
    draft: int
    bit: int
    keywords: frozenset[str]
    numbers: dict[str, int] = field(init=False, compare=False, repr=False)
    telling: frozenset[str] = field(init=False, compare=False, repr=False)
    evaluating: tuple[Keyword, ...] = field(init=False, compare=False, repr=False)
    branching: tuple[InPlace, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {entry.name: number for number, entry in enumerate(TABLE) if entry.name in self.keywords}
        known = [TABLE[number] for number in numbers.values()]
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "telling", frozenset(entry.name for entry in known if not entry.beside))
        object.__setattr__(self, "evaluating", tuple(entry for entry in known if entry.evaluates is not None))
        branching = (entry for entry in IN_PLACE.values() if entry.name in self.keywords)
        object.__setattr__(self, "branching", tuple(entry for entry in branching if entry.branches is not None))

    @property
    def name(self) -> str:
        """What stands for the dialect in keys: its draft, and what a meta-schema leaves out."""
        return f"{self.uri} {self.bit} {len(self.keywords)}"

    @property
    def ref_alone(self) -> bool:
        """Keywords beside `$ref` are ignored."""
        return self.draft <= 7

    @property
    def identifier(self) -> str:
        """The keyword that names a schema."""
        return "id" if self.bit == DRAFT_4 else "$id"

    @property
    def specification(self) -> str:
        """The meta-schema of the draft that says how schemas are named, for the `referencing` library."""
        return _URI_6 if self.bit == OPENAPI_3_0 else self.uri

    @property
    def boolean_bounds(self) -> bool:
        """`exclusiveMinimum` and `exclusiveMaximum` may say whether the bound beside them is out."""
        return self.draft == 4 or self.bit == UNDECLARED

    @property
    def lists_of_items(self) -> bool:
        """`items` may be a list of schemas, one for each position."""
        return (self.draft < 2020 and self.bit != OPENAPI_3_0) or self.bit == UNDECLARED

    def without_validation(self) -> Dialect:
        """The same draft for a meta-schema that leaves out the validation vocabulary."""
        validation = {entry.name for entry in TABLE if entry.validates}
        return Dialect(self.uri, self.draft, self.bit, self.keywords - validation)


def _dialect(uri: str, draft: int, bit: int) -> Dialect:
    return Dialect(uri, draft, bit, frozenset(entry.name for entry in TABLE if entry.drafts & bit))


_URI_6 = "http://json-schema.org/draft-06/schema"
_DRAFTS = {
    uri: _dialect(uri, draft, bit)
    for uri, draft, bit in (
        ("http://json-schema.org/draft-04/schema", 4, DRAFT_4),
        (_URI_6, 6, DRAFT_6),
        ("http://json-schema.org/draft-07/schema", 7, DRAFT_7),
        ("https://json-schema.org/draft/2019-09/schema", 2019, DRAFT_2019),
        ("https://json-schema.org/draft/2020-12/schema", 2020, DRAFT_2020),
        ("https://spec.openapis.org/oas/3.0/dialect", 4, OPENAPI_3_0),
    )
}
_OPENAPI = (
    ("spec.openapis.org/oas/3.0/schema/", "https://spec.openapis.org/oas/3.0/dialect"),
    ("spec.openapis.org/oas/3.0/dialect/", "https://spec.openapis.org/oas/3.0/dialect"),
    ("spec.openapis.org/oas/3.1/dialect/", "https://json-schema.org/draft/2020-12/schema"),
    ("spec.openapis.org/oas/3.2/dialect/", "https://json-schema.org/draft/2020-12/schema"),
)
DEFAULT = _dialect("https://json-schema.org/draft/2020-12/schema", 2020, UNDECLARED)


@lru_cache(maxsize=64)
def dialect_of(uri: str) -> Dialect | None:
    """The draft whose meta-schema is at `uri` (with or without `#`, http or https); None if it is none of ours."""
    bare = uri.split("#", 1)[0].rstrip("/")
    scheme, _, rest = bare.partition("://")
    for known, dialect in _DRAFTS.items():
        if rest == known.partition("://")[2] and scheme in ("http", "https"):
            return dialect
    if rest == "json-schema.org/schema":
        return DEFAULT
    # An address of OpenAPI has a date behind it, and 3.0 has its schema of schemas inside that of documents.
    for begin, same in _OPENAPI:
        if rest.startswith(begin):
            return _DRAFTS[same]
    return None
