from kernels_core.automata.lower import Lowering
from kernels_core.automata.tables import Tables

__all__ = ["LazyTables"]

class LazyTables(Tables):
    def __init__(self, lowering: Lowering) -> None: ...
    def subset_of(self, state: int) -> tuple[int, bool, list[int]]: ...
