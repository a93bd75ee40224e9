from ..charset import Ranges
from .languages import Language

__all__ = ["explore", "inhabited"]

def explore(
    item: Language, letters: tuple[Ranges, ...], limit: int
) -> tuple[list[list[int]], list[bool]] | int | None: ...
def inhabited(item: Language, letters: tuple[Ranges, ...], limit: int) -> bool | None: ...
