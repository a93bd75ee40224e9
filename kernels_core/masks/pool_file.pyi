from os import PathLike
from typing import Final

__all__ = ["LAYOUT", "read_file", "write_file"]

LAYOUT: Final[int]
MAGIC: Final[bytes]

def write_file(path: str | PathLike[str], fingerprint: str, key: bytes, entries: int, body: bytes) -> None: ...
def read_file(path: str | PathLike[str], fingerprint: str) -> tuple[bytes, bytes]: ...
