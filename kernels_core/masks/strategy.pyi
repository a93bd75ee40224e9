from typing import Final

STRATEGIES: Final[tuple[str, ...]]

def names_of(bits: int) -> tuple[str, ...]: ...
