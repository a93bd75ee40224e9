from typing import TypedDict

import numpy as np
import numpy.typing as npt

from kernels_core.masks.cache import MaskCache
from kernels_core.masks.pool import TokenSetPool

__all__ = ["OF_STATE", "held_by", "kept", "made_by", "pooled", "rules_of", "verdicts", "visited"]

OF_STATE: int

class _Verdicts(TypedDict):
    accepted: npt.NDArray[np.int32]
    uncertain: npt.NDArray[np.int32]
    escapes: npt.NDArray[np.int32]
    allowed: npt.NDArray[np.bool_]
    rejected_count: int

def held_by(masks: MaskCache) -> list[tuple[int, int, int, str, str, int]]: ...
def made_by(masks: MaskCache, first: int = 0) -> list[tuple[int, int, int, str]]: ...
def pooled(pool: TokenSetPool) -> list[tuple[int, int, int]]: ...
def rules_of(masks: MaskCache, states: list[int]) -> list[int]: ...
def visited(masks: MaskCache) -> list[tuple[int, list[tuple[int, int, int]]]]: ...
def verdicts(masks: MaskCache, state: int, counter: int, frames: list[int]) -> _Verdicts: ...
def kept(masks: MaskCache, state: int, counter: int) -> tuple[str, str, int]: ...
