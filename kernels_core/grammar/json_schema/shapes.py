"""Normal forms of schemas: a `Shape` is a union over the six JSON types, and closed under all Boolean operations.

- null, Booleans: in or out.  Numbers: `numbers.Numbers`.  Strings: `languages.Language`, over decoded characters.
- Objects: a union of `Members`.  One `Members` is a conjunction: *for-all* rules (keys in K have values in T), names
  that are required, *needs* (some member lies in one of these K x T), and bounds on the number of members.
- Arrays: a union of `Items`: the same with positions in place of keys, needs that are counted (`Count`), and
  `unique`.

What members and items hold are terms (`terms.py`): sets of values that are looked into when they are needed and not
before, so recursion is no problem here.  The complement of a for-all is a need and the other way round: that is why
`not`, `oneOf` and `if` need nothing special.

Shapes are immutable, compare by content, and are asked for their hash again and again, so they keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

from ..regular.languages import ALL, NOTHING, Language
from .numbers import ALL_NUMBERS, NO_NUMBERS, Numbers
from .terms import TRUE, Term

__all__ = [
    "ANYTHING",
    "ANY_ITEMS",
    "ANY_MEMBERS",
    "VOID",
    "Cell",
    "Count",
    "Items",
    "Members",
    "Rule",
    "Shape",
    "Tags",
    "TermAlgebra",
    "replace",
]

Rule = tuple[Language, Term]
"""(keys, values): a for-all rule, or one rectangle of a need."""
Cell = tuple[int, int | None, Term]
"""(first position, position after the last or None, values)."""


class _Content:
    """What compares by the values of its fields, and keeps the hash of these."""

    __slots__ = ("_hash",)
    __match_args__: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(tuple([getattr(self, name) for name in self.__match_args__])))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]


@dataclass(frozen=True, slots=True)
class Members(_Content):
    """Objects whose members follow all `rules`, have all `required` names, meet all `needs` (each a union of
    rectangles, one of which must hold a member), and number `least` to `most`."""

    rules: tuple[Rule, ...] = ()
    required: tuple[str, ...] = ()
    needs: tuple[tuple[Rule, ...], ...] = ()
    least: int = 0
    most: int | None = None
    __hash__ = _Content.__hash__


@dataclass(frozen=True, slots=True)
class Count(_Content):
    """The number of items that lie in one of `cells` is within `least..most`."""

    cells: tuple[Cell, ...]
    least: int
    most: int | None
    __hash__ = _Content.__hash__


@dataclass(frozen=True, slots=True)
class Items(_Content):
    """Arrays: `prefix` by position, then `rest`; `counts`; length within `least..most`; `unique` True: no two items
    are equal, False: some are, None: either.  `place`: the schema that says so, for messages; it is not compared."""

    prefix: tuple[Term, ...] = ()
    rest: Term = TRUE
    counts: tuple[Count, ...] = ()
    least: int = 0
    most: int | None = None
    unique: bool | None = None
    place: str = field(default="#", kw_only=True, compare=False)
    __hash__ = _Content.__hash__

    def at(self, position: int) -> Term:
        """What may stand at `position`."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


@dataclass(frozen=True, slots=True)
class Shape(_Content):
    """A set of JSON values by type."""

    null: bool
    booleans: frozenset[bool]
    numbers: Numbers
    strings: Language
    arrays: tuple[Items, ...]
    objects: tuple[Members, ...]
    __hash__ = _Content.__hash__

    def is_void(self) -> bool:
        """Certainly no value at all (looking no deeper than this)."""
        return not (self.null or self.booleans or self.arrays or self.objects or self.numbers) and (
            self.strings == NOTHING
        )


ANY_MEMBERS = Members()
ANY_ITEMS = Items()
ANYTHING = Shape(True, frozenset((True, False)), ALL_NUMBERS, ALL, (ANY_ITEMS,), (ANY_MEMBERS,))
VOID = Shape(False, frozenset(), NO_NUMBERS, NOTHING, (), ())


# Required names, and the single scalars that their values may be.
Tags = dict[str, frozenset[Shape]]


class TermAlgebra(Protocol):
    """What arrays and objects ask of the algebra that they are a part of (`schema_algebra.SchemaAlgebra`)."""

    def all_of(self, *terms: Term) -> Term: ...
    def any_of(self, *terms: Term) -> Term: ...
    def negate(self, term: Term) -> Term: ...
    def is_void(self, term: Term) -> bool: ...
    def apart(self, left: Term, right: Term) -> bool: ...
    def scalars(self, term: Term, limit: int) -> list[Shape] | None: ...
    def tags(self, members: Members) -> Tags: ...
