"""`unevaluatedProperties` and `unevaluatedItems`, resolved branch by branch.

Which members count as evaluated depends on which schemas at this place turned out to hold.  So the place is split
into branches: each is a condition (a term) under which a fixed set of keys, and of positions, is evaluated.  Under
`anyOf` of two schemas these are "both", "only the first", "only the second".  Within a branch `unevaluatedProperties`
is one more for-all rule, on the keys that are left.

Read on: `conditions.py`, `shapes.pyx`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..regular.languages import ALL, NOTHING, Language, Words, complement, union
from ..regular.patterns import search
from .problems import child
from .shapes import ANYTHING, VOID, Items, Members, Shape, replace
from .space import Circular, TooLarge
from .terms import FALSE, TRUE, Place, Term

if TYPE_CHECKING:
    from .conditions import Conditions
    from .reading import Reader

__all__ = ["Evaluation"]

MAX_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class _Branch:
    """Where `condition` holds, `keys` are evaluated, and the first `prefix` items (None: all), and items that lie in
    `contained`."""

    condition: Term = TRUE
    keys: Language = NOTHING
    prefix: int | None = 0
    contained: Term = FALSE


class Evaluation:
    """Works out branches; the two keywords are methods in the style of `Conditions`."""

    def __init__(self, reader: Reader, conditions: Conditions) -> None:
        self._reader = reader
        self._conditions = conditions
        self._open: set[Term] = set()

    def properties(self, place: Place, shape: Shape) -> tuple[Shape, bool]:
        """`unevaluatedProperties`."""
        term = self._term(place, "unevaluatedProperties")
        if term is TRUE:
            return shape, True
        return self._split(
            place,
            shape,
            "unevaluatedProperties",
            lambda branch: replace(ANYTHING, objects=(Members(((complement(branch.keys), term),)),)),
        )

    def items(self, place: Place, shape: Shape) -> tuple[Shape, bool]:
        """`unevaluatedItems`."""
        term = self._term(place, "unevaluatedItems")
        if term is TRUE:
            return shape, True

        def rule(branch: _Branch) -> Shape:
            if branch.prefix is None:
                return ANYTHING
            rest = self._reader.space.any_of(branch.contained, term)
            return replace(ANYTHING, arrays=(Items((TRUE,) * branch.prefix, rest),))

        return self._split(place, shape, "unevaluatedItems", rule)

    def _term(self, place: Place, keyword: str) -> Term:
        return self._reader.term(
            place.schema[keyword], place.context, child(place.pointer, keyword), f"{place.name}_value"
        )

    def _split(self, place: Place, shape: Shape, keyword: str, rule: Any) -> tuple[Shape, bool]:
        space = self._reader.space
        exact = True
        met: list[Shape] = []
        for branch in self._branches(place, without=keyword):
            exact = exact and space.is_exact(branch.condition)
            both = space.meet(shape, space.shape(branch.condition))
            met.append(space.meet(both, rule(branch)))
        return space.join(*met), exact

    # -- branches -------------------------------------------------------------------------------------------------

    def _branches(self, term: Term, without: str | None = None) -> list[_Branch]:
        """The branches of a schema that holds: conditions cover every value of it."""
        if not isinstance(term, Place):
            return [_Branch()]
        if term in self._open:
            raise Circular
        self._open.add(term)
        try:
            return self._of_schema(term, without)
        finally:
            self._open.discard(term)

    def _of_schema(self, place: Place, without: str | None) -> list[_Branch]:
        schema, keywords = place.schema, place.context.dialect.keywords
        space = self._reader.space
        words = ("$ref", "$dynamicRef", "$recursiveRef")
        references: list[str] = [word for word in words if word in schema and word in keywords]
        if references and place.context.dialect.ref_alone:
            return self._branches(self._conditions.target(place, "$ref"))
        branches = [self._own(place, without)]
        for word in references:
            branches = self._product(branches, self._branches(self._conditions.target(place, word)))
        if "allOf" in schema:
            for part in self._reader.terms(place, "allOf"):
                branches = self._product(branches, self._branches(part))
        for key in ("anyOf", "oneOf"):
            if key not in schema:
                continue
            parts = self._reader.terms(place, key)
            options: list[_Branch] = []
            if key == "oneOf":
                for i, part in enumerate(parts):
                    others = [space.negate(other) for j, other in enumerate(parts) if j != i]
                    options += self._under(space.all_of(part, *others), self._branches(part))
                if all(_says_nothing(option) for option in options):
                    continue
            else:
                options = [_Branch()]
                for part in parts:
                    options = self._perhaps(options, part)
            branches = self._product(branches, options)
        if "if" in schema and "if" in keywords:
            condition, then, otherwise = self._conditions.branches(place)
            held = self._product(self._branches(condition), self._branches(then))
            options = self._under(condition, held) + self._under(space.negate(condition), self._branches(otherwise))
            if not all(_says_nothing(option) for option in options):
                branches = self._product(branches, options)
        for key in ("dependentSchemas", "dependencies"):
            if key not in schema or key not in keywords:
                continue
            for name, value in self._conditions.dependencies(place, key):
                if isinstance(value, list | str):
                    continue
                part = self._reader.term(value, place.context, child(place.pointer, key, name), place.name)
                found = self._branches(part)
                if all(_says_nothing(option) for option in found):
                    continue
                present = space.fixed(replace(VOID, objects=(Members(required=(name,)),)))
                options = self._under(space.all_of(present, part), found)
                branches = self._product(branches, [*options, _Branch(space.negate(present))])
        return branches

    def _own(self, place: Place, without: str | None) -> _Branch:
        """What the keywords beside each other evaluate."""
        schema, keywords = place.schema, place.context.dialect.keywords
        keys: list[Language] = []
        if isinstance(schema.get("properties"), dict):
            keys.append(Words(frozenset(schema["properties"])))
        if isinstance(schema.get("patternProperties"), dict):
            keys += [search(pattern) for pattern in schema["patternProperties"]]
        if "additionalProperties" in schema or (
            "unevaluatedProperties" in schema and without != "unevaluatedProperties"
        ):
            keys = [ALL]
        prefix: int | None = 0
        items = schema.get("items")
        if isinstance(schema.get("prefixItems"), list) and "prefixItems" in keywords:
            prefix = len(schema["prefixItems"])
        if isinstance(items, list):
            prefix = None if "additionalItems" in schema else max(prefix or 0, len(items))
        elif "items" in schema:
            prefix = None
        if "unevaluatedItems" in schema and "unevaluatedItems" in keywords and without != "unevaluatedItems":
            prefix = None
        contained: Term = FALSE
        if "contains" in schema and place.context.dialect.draft >= 2020:
            contained = self._reader.term(
                schema["contains"], place.context, child(place.pointer, "contains"), f"{place.name}_item"
            )
        return _Branch(TRUE, union(*keys), prefix, contained)

    def _perhaps(self, branches: list[_Branch], part: Term) -> list[_Branch]:
        """`part` may hold or not; where it evaluates nothing, that makes no difference."""
        space = self._reader.space
        found = self._branches(part)
        if all(_says_nothing(option) for option in found):
            return branches
        return self._product(branches, [*self._under(part, found), _Branch(space.negate(part))])

    def _under(self, condition: Term, branches: list[_Branch]) -> list[_Branch]:
        space = self._reader.space
        return [dataclasses.replace(branch, condition=space.all_of(condition, branch.condition)) for branch in branches]

    def _product(self, left: list[_Branch], right: list[_Branch]) -> list[_Branch]:
        """Both hold: what either evaluates is evaluated."""
        space = self._reader.space
        made: list[_Branch] = []
        for a in left:
            for b in right:
                condition = space.all_of(a.condition, b.condition)
                if condition is FALSE or (condition not in (a.condition, b.condition) and space.is_void(condition)):
                    continue
                prefix = None if a.prefix is None or b.prefix is None else max(a.prefix, b.prefix)
                made.append(_Branch(condition, union(a.keys, b.keys), prefix, space.any_of(a.contained, b.contained)))
        if len(made) > MAX_BRANCHES:
            raise TooLarge(f"what is evaluated depends on more than {MAX_BRANCHES} combinations of schemas")
        return made


def _says_nothing(branch: _Branch) -> bool:
    return branch.keys == NOTHING and branch.prefix == 0 and branch.contained is FALSE
