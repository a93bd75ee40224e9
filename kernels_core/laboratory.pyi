from contextlib import AbstractContextManager
from typing import Final

__all__ = ["NAMES", "has_mechanism", "watch", "without"]

NAMES: Final[tuple[str, ...]]

def has_mechanism(name: str) -> bool: ...
def without(*names: str) -> AbstractContextManager[None]: ...
def watch() -> AbstractContextManager[dict[str, int]]: ...
