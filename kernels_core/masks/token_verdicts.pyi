from typing import TypedDict

import numpy as np
import numpy.typing as npt

from kernels_core.masks.cache import MaskCache

__all__ = ["kept", "verdicts"]

class _Verdicts(TypedDict):
    accepted: npt.NDArray[np.int32]
    uncertain: npt.NDArray[np.int32]
    escapes: npt.NDArray[np.int32]
    allowed: npt.NDArray[np.bool_]
    rejected_count: int

def verdicts(masks: MaskCache, state: int, counter: int, frames: list[int]) -> _Verdicts: ...
def kept(masks: MaskCache, state: int, counter: int) -> tuple[str, str, int]: ...
