import numpy as np
import numpy.typing as npt

__all__ = ["write_minus_infinity"]

def write_minus_infinity(
    logits: int,
    row_step: int,
    item_step: int,
    item_bytes: int,
    pattern: int,
    width: int,
    words: int,
    words_step: int,
    word_count: int,
    chosen: npt.NDArray[np.int64],
) -> None: ...
