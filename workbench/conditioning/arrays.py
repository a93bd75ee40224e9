"""Arrays of log probabilities: their types, sums and means."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def log_sum_exp(values: FloatArray) -> float:
    """log of the sum of exponentials; -inf of nothing."""
    most = float(values.max()) if len(values) else -math.inf
    return most if most == -math.inf else most + math.log(float(np.exp(values - most).sum()))


def log_mean_exp(values: FloatArray) -> float:
    """log of the mean of exponentials; -inf of nothing."""
    return log_sum_exp(values) - math.log(len(values)) if len(values) else -math.inf
