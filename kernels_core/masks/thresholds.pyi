from typing import Final

__all__ = ["TABLE", "read_threshold", "set_threshold"]

TABLE: Final[dict[str, tuple[int, int, str]]]

def read_threshold(name: str) -> int: ...
def set_threshold(name: str, value: int) -> None: ...
