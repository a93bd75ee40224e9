from typing import Final

from kernels_core.earley.machine import Machine
from kernels_core.masks.trie import TokenTrie

__all__ = ["STRATEGIES", "Strategies", "names_of"]

STRATEGIES: Final[tuple[str, ...]]

def names_of(bits: int) -> tuple[str, ...]: ...

class Strategies:
    @property
    def trie(self) -> TokenTrie: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def direct_limit(self) -> int: ...
    @property
    def differential(self) -> bool: ...
    @property
    def differential_from(self) -> int: ...
    @property
    def iteration_profiles(self) -> bool: ...
    @property
    def walk_shortcuts(self) -> bool: ...
    def __init__(
        self,
        trie: TokenTrie,
        machine: Machine,
        *,
        direct_limit: int,
        differential: bool,
        differential_from: int,
        iteration_profiles: bool,
        walk_shortcuts: bool,
    ) -> None: ...
