"""What the shapes of arrays and objects ask of the algebra that they are a part of (`schema_algebra.py`)."""

from __future__ import annotations

from typing import Protocol

from .shapes import Members, Shape
from .terms import Term

__all__ = ["Tags", "TermAlgebra"]

# Required names, and the single scalars that their values may be.
Tags = dict[str, frozenset[Shape]]


class TermAlgebra(Protocol):
    """Makes terms of terms, and knows what values they have; `SchemaAlgebra` says more of each."""

    def all_of(self, *terms: Term) -> Term: ...
    def any_of(self, *terms: Term) -> Term: ...
    def negate(self, term: Term) -> Term: ...
    def is_void(self, term: Term) -> bool: ...
    def apart(self, left: Term, right: Term) -> bool: ...
    def scalars(self, term: Term, limit: int) -> list[Shape] | None: ...
    def tags(self, members: Members) -> Tags: ...
