from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["clear_row"]

def clear_row(bitmask: npt.NDArray[np.int32] | Any, index: int) -> None: ...
