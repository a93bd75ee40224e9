from typing import Any, NamedTuple

from kernels_core.inspect.layout import StateTable
from kernels_core.inspect.snapshots import Automaton, CacheStats, CostTable

def ask(answer: str, about: object, *more: object) -> Any: ...

class Step(NamedTuple):
    text: bytes
    token: int | None = None
    spelt: bool = True
    has_text: bool = True

class Inspected:
    @property
    def state_table(self) -> StateTable: ...
    def automaton(self) -> Automaton: ...
    def cost_estimates(self) -> CostTable: ...
    def cache_stats(self) -> CacheStats: ...
