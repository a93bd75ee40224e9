"""What the functions of keywords ask of the reader of their schema (`reading.py`), which knows the whole table."""

from __future__ import annotations

from typing import Any, Protocol

from .schema_algebra import SchemaAlgebra
from .schema_options import SchemaOptions
from .shapes import Shape
from .terms import Place, Term


class SchemaReader(Protocol):
    """Reads the schemas of one compile."""

    algebra: SchemaAlgebra
    options: SchemaOptions

    def term_at(self, place: Place, keyword: str, name: str) -> Term:
        """The term of a keyword that takes one schema."""

    def term_in(self, place: Place, schema: Any, name: str, keyword: str, *path: str | int) -> Term:
        """The term of `schema`, which stands at `path` in the value of a keyword."""

    def terms(self, place: Place, keyword: str, schemas: list[Any]) -> list[Term]:
        """The terms of a keyword that takes a list of schemas."""

    def target(self, place: Place, keyword: str) -> Term:
        """The term that a reference stands for."""

    def beside(self, place: Place, keyword: str, otherwise: Any) -> Any:
        """The value of a keyword that another one reads; `otherwise` where it is not there, or no keyword here."""

    def meet(self, shape: Shape, term: Term) -> tuple[Shape, bool]:
        """`shape` and `term`, and whether that is exact."""

    def required_beside(self, place: Place, shape: Shape) -> tuple[str, ...]:
        """Names that objects of `shape` have to have, also by what applies beside a `oneOf` and comes behind it."""

    def narrowed(self, term: Term, required: Shape) -> Term:
        """A `oneOf` alone at what is `required`; other terms as they are."""
