from collections.abc import Callable, Hashable
from typing import Literal, TypeVar

from ..charset import Ranges
from .languages import Language

__all__ = ["Both", "Machine", "Stepped", "explore", "inhabited", "reader"]

S = TypeVar("S", bound=Hashable)

class Machine: ...

class Stepped(Machine):
    def __init__(
        self, start: S, step: Callable[[S, int], S | Literal[True] | None], accepts: Callable[[S], bool], width: int
    ) -> None: ...

class Both(Machine):
    def __init__(self, parts: list[Machine]) -> None: ...

def reader(item: Language, letters: tuple[Ranges, ...]) -> Machine: ...
def explore(machine: Machine, limit: int) -> tuple[list[list[int]], list[bool]]: ...
def inhabited(machine: Machine, limit: int) -> bool: ...
