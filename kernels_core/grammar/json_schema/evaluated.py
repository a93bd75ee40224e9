"""`unevaluatedProperties` and `unevaluatedItems`, resolved branch by branch.

Which members count as evaluated depends on which schemas at this place turned out to hold.  So the place is split
into branches: each is a condition (a term) under which a fixed set of keys, and of positions, is evaluated.  Under
`anyOf` of two schemas these are "both", "only the first", "only the second".  Within a branch `unevaluatedProperties`
is one more for-all rule, on the keys that are left.

Which keywords evaluate what is in their entries (`keywords/`: `evaluates`, `branches`).

Read on: `keywords/in_place.py`, `shapes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..regular.languages import NOTHING, Language, complement, union
from .schema_algebra import Circular, TooLarge
from .schema_reader import SchemaReader
from .shapes import ANYTHING, Items, Members, Shape, replace
from .terms import FALSE, TRUE, Place, Term
from .values import some_schemas

MAX_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class Branch:
    """Where `condition` holds, `keys` are evaluated, and the first `prefix` items (None: all), and items that lie in
    `contained`."""

    condition: Term = TRUE
    keys: Language = NOTHING
    prefix: int | None = 0
    contained: Term = FALSE


class Evaluation:
    """Works out branches; `properties` and `items` are what the two keywords mean."""

    def __init__(self, reader: SchemaReader) -> None:
        self.reader = reader
        self._open: set[Term] = set()

    def properties(self, place: Place, shape: Shape) -> tuple[Shape, bool]:
        """`unevaluatedProperties`."""
        term = self.reader.term_at(place, "unevaluatedProperties", f"{place.name}_value")
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
        term = self.reader.term_at(place, "unevaluatedItems", f"{place.name}_value")
        if term is TRUE:
            return shape, True

        def rule(branch: Branch) -> Shape:
            if branch.prefix is None:
                return ANYTHING
            rest = self.reader.algebra.any_of(branch.contained, term)
            return replace(ANYTHING, arrays=(Items((TRUE,) * branch.prefix, rest),))

        return self._split(place, shape, "unevaluatedItems", rule)

    def _split(self, place: Place, shape: Shape, keyword: str, rule: Any) -> tuple[Shape, bool]:
        algebra = self.reader.algebra
        exact = True
        met: list[Shape] = []
        for branch in self.branches(place, without=keyword):
            exact = exact and algebra.is_exact(branch.condition)
            both = algebra.meet(shape, algebra.shape(branch.condition))
            met.append(algebra.meet(both, rule(branch)))
        return algebra.join(*met), exact

    # -- branches -------------------------------------------------------------------------------------------------

    def branches(self, term: Term, without: str | None = None) -> list[Branch]:
        """The branches of a schema that holds: conditions cover every value of it.  `without`: a keyword left out."""
        if not isinstance(term, Place):
            return [Branch()]
        if term in self._open:
            raise Circular
        self._open.add(term)
        try:
            return self._of_schema(term, without)
        finally:
            self._open.discard(term)

    def parts(self, place: Place, keyword: str) -> list[Term]:
        """The terms of a keyword that takes a list of schemas."""
        return self.reader.terms(place, keyword, some_schemas(place.schema[keyword], keyword))

    def _of_schema(self, place: Place, without: str | None) -> list[Branch]:
        dialect = place.context.dialect
        if dialect.ref_alone and "$ref" in place.schema:
            return self.branches(self.reader.target(place, "$ref"))
        branches = [self._own(place, without)]
        for entry in dialect.branching:
            if entry.name in place.schema and entry.branches is not None:
                branches = entry.branches(self, place, branches)
        return branches

    def _own(self, place: Place, without: str | None) -> Branch:
        """What the keywords beside each other evaluate."""
        found = Branch()
        for entry in place.context.dialect.evaluating:
            if entry.name in place.schema and entry.name != without and entry.evaluates is not None:
                found = self._both(found, entry.evaluates(self.reader, place, place.schema[entry.name]), TRUE)
        return found

    def perhaps(self, branches: list[Branch], part: Term) -> list[Branch]:
        """`part` may hold or not; where it evaluates nothing, that makes no difference."""
        found = self.branches(part)
        if all(map(says_nothing, found)):
            return branches
        return self.product(branches, [*self.under(part, found), Branch(self.reader.algebra.negate(part))])

    def under(self, condition: Term, branches: list[Branch]) -> list[Branch]:
        """The same where `condition` holds as well."""
        algebra = self.reader.algebra
        return [replace(branch, condition=algebra.all_of(condition, branch.condition)) for branch in branches]

    def _both(self, a: Branch, b: Branch, condition: Term) -> Branch:
        """What either evaluates is evaluated."""
        prefix = None if a.prefix is None or b.prefix is None else max(a.prefix, b.prefix)
        return Branch(condition, union(a.keys, b.keys), prefix, self.reader.algebra.any_of(a.contained, b.contained))

    def product(self, left: list[Branch], right: list[Branch]) -> list[Branch]:
        """Both hold: what either evaluates is evaluated."""
        algebra = self.reader.algebra
        made: list[Branch] = []
        for a in left:
            for b in right:
                condition = algebra.all_of(a.condition, b.condition)
                if condition is FALSE or (condition not in (a.condition, b.condition) and algebra.is_void(condition)):
                    continue
                made.append(self._both(a, b, condition))
        if len(made) > MAX_BRANCHES:
            raise TooLarge(
                "what is evaluated depends on too many combinations of schemas; let fewer apply here that may not hold"
            )
        return made


def says_nothing(branch: Branch) -> bool:
    """Whether nothing is evaluated in a branch."""
    return branch.keys == NOTHING and branch.prefix == 0 and branch.contained is FALSE
