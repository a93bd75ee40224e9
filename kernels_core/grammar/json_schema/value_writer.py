"""What the texts of objects and arrays ask of the emitter that writes the values in them (`emit.py`)."""

from __future__ import annotations

from typing import Protocol

from ..ir import Node
from ..rulebook import RuleBook
from .kinds import Kinds
from .layout import Layout
from .schema_algebra import SchemaAlgebra
from .shapes import Members
from .spelling import Speller
from .steps import Order
from .terms import Term


class ValueWriter(Protocol):
    """Writes the values of terms, and keeps what all texts of one grammar share.

    `as_json`: that is how values are written, so that they can be compared.  `way`: stands for all that says how, in
    the keys of rules that the book keeps.
    """

    as_json: bool
    algebra: SchemaAlgebra
    book: RuleBook
    speller: Speller
    layout: Layout
    order: Order
    way: object

    def value(self, term: Term, level: int) -> Node:
        """The texts of `term`; made when they are needed where that is safe."""

    def now(self, term: Term, level: int) -> Node:
        """The texts of `term`, made at once."""

    def kinds(self, members: Members) -> Kinds:
        """The kinds of members that objects of `members` have.  Raises `TooManyStates`."""
