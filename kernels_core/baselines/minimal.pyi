from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.tables import Tables

__all__ = ["MinimalTables"]

class MinimalTables(Tables):
    def __init__(self, tables: LazyTables) -> None: ...
