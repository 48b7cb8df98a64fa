"""What the models of GPU clusters share: the epoch, columns of GPUs, lognormal times and hours of the week."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.workload import IntColumn, TextColumn
from slurmsim_workloads.models.draws import Floats

HOUR_S, DAY_S = 3_600, 86_400
EPOCH = 1_704_067_200  # second 0: midnight, Monday 2024-01-01 UTC


def gpus_of(counts: npt.NDArray[np.int64]) -> TextColumn:
    """Return ``gres=gpu:N`` of so many GPUs a node; nothing for 0."""
    return TextColumn(counts.astype(np.int32), ["", *(f"gpu:{i}" for i in range(1, int(counts.max(initial=0)) + 1))])


def lognormal_times(rng: np.random.Generator, n: int, median_s: float, sigma: float, longest_s: float) -> IntColumn:
    """Return `n` whole seconds, at least 1: median * exp(sigma * z) with z normal, at most `longest_s`."""
    drawn: Floats = median_s * np.exp(sigma * rng.standard_normal(n))
    return np.maximum(np.minimum(drawn, longest_s), 1).astype(np.int64)


def is_weekend(seconds: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which times are on a Saturday or Sunday; second 0 is a Monday's midnight."""
    return seconds // DAY_S % 7 >= 5
