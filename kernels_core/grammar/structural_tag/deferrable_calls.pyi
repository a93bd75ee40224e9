from typing import Any, Final

from ..canonical_json import CanonicalText

__all__ = ["DeferrableCalls"]

class DeferrableCalls:
    begins: Final[list[str | None]]
    ends: Final[set[str]]
    texts: Final[set[str]]
    by_trigger: Final[list[list[int]]]
    others: Final[list[int]]
    def __init__(self, tags: list[Any], triggers: tuple[str, ...], written: CanonicalText) -> None: ...
    def text(self, at: int) -> str: ...
    def whole_text(self) -> str: ...
