from collections.abc import Callable, Iterable
from typing import Final

from .tree import Node

class ExcludedWords:
    words: Final[frozenset[bytes]]
    letters: Final[tuple[tuple[int, int], ...]]
    beyond: Final[Node]
    rest: Final[Node]
    end: Final[int]
    def __init__(
        self, words: frozenset[bytes], letters: tuple[tuple[int, int], ...], beyond: Node, rest: Node, end: int
    ) -> None: ...

class ListedWords:
    words: Final[tuple[bytes, ...]]
    behind: Final[Callable[[int], str]]
    def __init__(self, words: tuple[bytes, ...], behind: Callable[[int], str]) -> None: ...

class Diagram:
    size: Final[int]
    edges: Final[tuple[tuple[int, Node, int], ...]]
    accepting: Final[tuple[int, ...]]
    spans: Final[tuple[tuple[int, int | None], ...] | None]
    opening: Final[Node]
    closing: Final[Node]
    least: Final[int]
    most: Final[int]
    def __init__(
        self,
        size: int,
        edges: Iterable[tuple[int, Node, int]],
        accepting: tuple[int, ...],
        opening: Node,
        closing: Node,
        spans: tuple[tuple[int, int | None], ...] | None = None,
        least: int = 0,
        most: int = 0,
    ) -> None: ...

# One of the classes above.
CompactBody = ExcludedWords | ListedWords | Diagram
