from typing import Final, Literal, overload

from kernels_core.earley.machine import Machine
from kernels_core.masks.interned_mask import Mask
from kernels_core.masks.lookahead import Lookahead
from kernels_core.masks.pool import TokenSetPool
from kernels_core.masks.string_bodies import StringBodies
from kernels_core.masks.trie import TokenTrie

__all__ = ["MaskCache"]

class MaskCache:
    trie: Final[TokenTrie]
    machine: Final[Machine]
    pool: Final[TokenSetPool | None]
    max_fill_ms: Final[int]
    lookahead: Final[Lookahead | None]
    string_bodies: Final[StringBodies | None]
    @property
    def nbytes(self) -> int: ...
    def __init__(
        self,
        trie: TokenTrie,
        machine: Machine,
        pool: TokenSetPool | None,
        *,
        differential: bool = True,
        differential_from: int = 2048,
        memoize: bool = True,
        lookahead: Lookahead | None = None,
        max_fill_ms: int = 0,
        direct_limit: int = 0,
        iteration_profiles: bool = False,
        walk_shortcuts: bool = False,
    ) -> None: ...
    def allowed_ids(self, set_number: int) -> list[int]: ...
    def strategies(self, set_number: int) -> tuple[str, ...]: ...
    def mask(self, number: int) -> Mask: ...
    def cost_estimates(self) -> list[tuple[int, int, int | None]]: ...
    def warm(self, state: int) -> None: ...
    @overload
    def counters(self) -> dict[str, int]: ...
    @overload
    def counters(self, *, wait: Literal[True]) -> dict[str, int]: ...
    @overload
    def counters(self, *, wait: bool) -> dict[str, int] | None: ...
