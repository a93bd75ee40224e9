"""One entry of the keyword table: all that the front-end knows of a keyword.

The class of an entry says what its function makes: numbers, strings, items, members, any values, or the shape of the
whole place (`InPlace`).  Whoever needs to know something of keywords asks the table: drafts (`../dialect.py`), the
algebra (`../reading.py`), `unevaluated...` (`../evaluated.py`), the quick readers in C (`quick.pyx`), `explain_schema`,
and the workbench's notes.

Read on: `__init__.py` (the table), `quick.pyx` (what the quick readers are told).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Literal

from ...regular.languages import Language
from ..evaluated import Branch, Evaluation
from ..numbers import Numbers
from ..schema_options import SchemaOptions
from ..schema_reader import SchemaReader
from ..shapes import Items, Members, Shape
from ..terms import Place
from ..values import Check, anything
from .quick import Quick

# Types, a bit for each; `quick.pxd` has the same for C.
NULL: Final = 1
BOOLEAN: Final = 2
INTEGER: Final = 4
NUMBER: Final = 8
STRING: Final = 16
ARRAY: Final = 32
OBJECT: Final = 64
EVERY_TYPE: Final = 127

# Drafts, a bit for each.  `UNDECLARED` is that of schemas without `$schema`, which knows old spellings, too.
DRAFT_4: Final = 1
DRAFT_6: Final = 2
DRAFT_7: Final = 4
DRAFT_2019: Final = 8
DRAFT_2020: Final = 16
UNDECLARED: Final = 32
OPENAPI_3_0: Final = 64
SINCE_2020: Final = DRAFT_2020 | UNDECLARED
SINCE_2019: Final = DRAFT_2019 | SINCE_2020
SINCE_7: Final = DRAFT_7 | SINCE_2019
SINCE_6: Final = DRAFT_6 | SINCE_7
SINCE_4: Final = DRAFT_4 | SINCE_6
UNTIL_7: Final = DRAFT_4 | DRAFT_6 | DRAFT_7 | UNDECLARED
UNTIL_2019: Final = UNTIL_7 | DRAFT_2019
ALWAYS: Final = SINCE_4 | OPENAPI_3_0


BLAMELESS: Final = 99


class Schemas(Enum):
    """Where schemas stand in the value of a keyword."""

    NONE = auto()
    ONE = auto()
    """The value."""
    LIST = auto()
    """Its items."""
    ONE_OR_LIST = auto()
    """The value if it is an object, else its items."""
    BY_NAME = auto()
    """The values of its members."""


Status = Literal["exact", "approximated", "refused", "annotation"]
Applied = tuple[Shape, bool]
"""A shape, and whether it is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """What is known of a keyword, whatever its function makes.

    name, meaning: the word, and a line about it for a person.  drafts: those that know it, as bits.  check: what its
    value must be (`../values.py`).  schemas: where there are schemas in the value.
    beside: it says nothing without this other keyword, whose function reads it.  after: keywords that decide what this
    one speaks of, so that nobody can say what it means where one of these could not be read.
    validates: it belongs to the vocabulary "validation", which a meta-schema may leave out.
    refers: its value is a reference.

    quick: how the quick readers read it; `Quick.NEVER`: a schema with it is compiled now, because of `why`.
    blame: where the conditions on values of its types go past a budget, the present keyword with the least number is
    reported; `BLAMELESS`: none of them.
    explain: the status and the note that `explain_schema` has for a value that is read with these options, if that is
    not "exact".
    evaluates: what it evaluates for `unevaluated...` by itself; see `../evaluated.py`.
    """

    name: str
    meaning: str
    drafts: int = ALWAYS
    types: int = EVERY_TYPE
    check: Check = anything
    schemas: Schemas = Schemas.NONE
    beside: str = ""
    after: tuple[str, ...] = ()
    validates: bool = False
    refers: bool = False
    quick: Quick = Quick.NEVER
    why: str = ""
    blame: int = BLAMELESS
    explain: Callable[[Any, SchemaOptions], tuple[Status, str] | None] | None = None
    evaluates: Callable[[SchemaReader, Place, Any], Branch] | None = None

    def __post_init__(self) -> None:
        if (self.quick is Quick.NEVER) != bool(self.why):
            raise ValueError(f"{self.name}: a keyword is read by the quick readers, or there is a reason why not")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberKeyword(Keyword):
    """`read` returns the numbers that are allowed."""

    read: Callable[[SchemaReader, Place, Any], Numbers]
    types: int = INTEGER | NUMBER
    validates: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StringKeyword(Keyword):
    """`read` returns the strings that are allowed."""

    read: Callable[[SchemaReader, Place, Any], Language]
    types: int = STRING


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKeyword(Keyword):
    """`read` takes what earlier entries say of items, and adds to it.  None: the keyword in `beside` reads it."""

    read: Callable[[SchemaReader, Place, Any, Items], Items] | None
    types: int = ARRAY


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberKeyword(Keyword):
    """`read` takes what earlier entries say of members, and adds to it."""

    read: Callable[[SchemaReader, Place, Any, Members], Members]
    types: int = OBJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKeyword(Keyword):
    """`read` returns the values that are allowed.  None: the keyword in `beside` reads it."""

    read: Callable[[SchemaReader, Place, Any], Shape] | None
    validates: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlace(Keyword):
    """`read` takes the shape so far, and returns what is left of it, and whether that is exact.

    branches: what of the place is evaluated where, given the branches so far.  None: the keyword in `beside` reads it.
    """

    read: Callable[[SchemaReader, Place, Any, Shape], Applied] | None
    branches: Callable[[Evaluation, Place, list[Branch]], list[Branch]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Keyword):
    """A word of the specification that constrains nothing: identifiers, definitions, notes.

    A note of no draft is no keyword of any dialect.  `names`: it gives the schema a name, or says how it is read, so
    that the quick readers have to look at it.
    """

    drafts: int = 0
    quick: Quick = Quick.NOTE
    names: bool = False
