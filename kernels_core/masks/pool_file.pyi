from typing import Final

__all__ = ["LAYOUT", "digest_of"]

LAYOUT: Final[int]

def digest_of(data: bytes) -> bytes: ...
