from typing import TypeVar

from ..regular.languages import Language
from .numbers import Numbers
from .terms import Term

# (keys, values): a for-all rule, or one rectangle of a need.
Rule = tuple[Language, Term]
# (first position, position after the last or None, values).
Cell = tuple[int, int | None, Term]

class Members:
    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def required(self) -> tuple[str, ...]: ...
    @property
    def needs(self) -> tuple[tuple[Rule, ...], ...]: ...
    @property
    def least(self) -> int: ...
    @property
    def most(self) -> int | None: ...
    def __init__(
        self,
        rules: tuple[Rule, ...] = (),
        required: tuple[str, ...] = (),
        needs: tuple[tuple[Rule, ...], ...] = (),
        least: int = 0,
        most: int | None = None,
    ) -> None: ...

class Count:
    @property
    def cells(self) -> tuple[Cell, ...]: ...
    @property
    def least(self) -> int: ...
    @property
    def most(self) -> int | None: ...
    def __init__(self, cells: tuple[Cell, ...], least: int, most: int | None) -> None: ...

class Items:
    @property
    def prefix(self) -> tuple[Term, ...]: ...
    @property
    def rest(self) -> Term: ...
    @property
    def counts(self) -> tuple[Count, ...]: ...
    @property
    def least(self) -> int: ...
    @property
    def most(self) -> int | None: ...
    @property
    def unique(self) -> bool | None: ...
    @property
    def place(self) -> str: ...
    def __init__(
        self,
        prefix: tuple[Term, ...] = (),
        rest: Term = ...,
        counts: tuple[Count, ...] = (),
        least: int = 0,
        most: int | None = None,
        unique: bool | None = None,
        place: str = "#",
    ) -> None: ...
    def at(self, position: int) -> Term: ...

class Shape:
    @property
    def null(self) -> bool: ...
    @property
    def booleans(self) -> frozenset[bool]: ...
    @property
    def numbers(self) -> Numbers: ...
    @property
    def strings(self) -> Language: ...
    @property
    def arrays(self) -> tuple[Items, ...]: ...
    @property
    def objects(self) -> tuple[Members, ...]: ...
    def __init__(
        self,
        null: bool,
        booleans: frozenset[bool],
        numbers: Numbers,
        strings: Language,
        arrays: tuple[Items, ...],
        objects: tuple[Members, ...],
    ) -> None: ...
    def is_void(self) -> bool: ...

Content = TypeVar("Content", Members, Count, Items, Shape)

def replace(content: Content, **changes: object) -> Content: ...

ANYTHING: Shape
VOID: Shape
ANY_ITEMS: Items
ANY_MEMBERS: Members
