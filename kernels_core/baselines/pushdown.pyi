from kernels_core.automata.tables import Tables
from kernels_core.earley.machine import Machine

__all__ = ["PushdownMachine", "refuse_left_recursion"]

class PushdownMachine(Machine):
    @property
    def max_stacks(self) -> int: ...
    def __init__(
        self,
        tables: Tables,
        *,
        max_bytes: int,
        where: str = "grammar",
        memoize: bool = False,
        max_stacks: int = 4096,
    ) -> None: ...

def refuse_left_recursion(tables: Tables) -> None: ...
