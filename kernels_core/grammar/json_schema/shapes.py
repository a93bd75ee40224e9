"""Normal forms of schemas: a `Shape` is a union over the six JSON types, and closed under all Boolean operations.

- null, Booleans: in or out.  Numbers: `numbers.Numbers`.  Strings: `languages.Language`, over decoded characters.
- Objects: a union of `Members`.  One `Members` is a conjunction: *for-all* rules (keys in K have values in T), names
  that are required, *needs* (some member lies in one of these K x T), and bounds on the number of members.
- Arrays: a union of `Items`: the same with positions in place of keys, needs that are counted (`Count`), and
  `unique`.

What members and items hold are terms (`terms.py`): sets of values that are looked into when they are needed and not
before, so recursion is no problem here.  The complement of a for-all is a need and the other way round: that is why
`not`, `oneOf` and `if` need nothing special.

Read on: `space.py` (operations on shapes), `reading.py` (schemas to shapes), `emit.py` (shapes to grammar).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..regular.languages import ALL, NOTHING, Language
from .numbers import ALL_NUMBERS, NO_NUMBERS, Numbers
from .terms import TRUE, Term

__all__ = ["ANYTHING", "ANY_ITEMS", "ANY_MEMBERS", "VOID", "Cell", "Count", "Items", "Members", "Rule", "Shape"]

# (keys, values): a for-all rule, or one rectangle of a need.
Rule = tuple[Language, Term]


@dataclass(frozen=True, slots=True)
class Members:
    """Objects whose members follow all `rules`, have all `required` names, meet all `needs` (each a union of
    rectangles, one of which must hold a member), and number `least` to `most`."""

    rules: tuple[Rule, ...] = ()
    required: tuple[str, ...] = ()
    needs: tuple[tuple[Rule, ...], ...] = ()
    least: int = 0
    most: int | None = None


# (first position, position after the last or None, values).
Cell = tuple[int, int | None, Term]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of items that lie in one of `cells` is within `least..most`."""

    cells: tuple[Cell, ...]
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Items:
    """Arrays: `prefix` by position, then `rest`; `counts`; length within `least..most`; `unique` True: no two items
    are equal, False: some are, None: either.  `place`: the schema that says so, for messages."""

    prefix: tuple[Term, ...] = ()
    rest: Term = TRUE
    counts: tuple[Count, ...] = ()
    least: int = 0
    most: int | None = None
    unique: bool | None = None
    place: str = field(default="#", compare=False)

    def at(self, position: int) -> Term:
        """What may stand at `position`."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


ANY_MEMBERS = Members()
ANY_ITEMS = Items()


@dataclass(frozen=True, slots=True)
class Shape:
    """A set of JSON values by type."""

    null: bool
    booleans: frozenset[bool]
    numbers: Numbers
    strings: Language
    arrays: tuple[Items, ...]
    objects: tuple[Members, ...]

    def is_void(self) -> bool:
        """Certainly no value at all (looking no deeper than this)."""
        return not (self.null or self.booleans or self.arrays or self.objects or self.numbers) and (
            self.strings == NOTHING
        )


ANYTHING = Shape(True, frozenset((True, False)), ALL_NUMBERS, ALL, (ANY_ITEMS,), (ANY_MEMBERS,))
VOID = Shape(False, frozenset(), NO_NUMBERS, NOTHING, (), ())
