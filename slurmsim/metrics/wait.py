"""Waiting and turnaround.

References
----------
D. G. Feitelson, L. Rudolph: Metrics and Benchmarking for Parallel Job Scheduling, JSSPP 1998, LNCS 1459.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import IntArray
from slurmsim.metrics.percentiles import percentiles


def wait(submit: IntArray, start: IntArray) -> IntArray:
    """Wait of each job, seconds: ``w = start - submit``."""
    return start - submit


def turnaround(submit: IntArray, end: IntArray) -> IntArray:
    """Turnaround (response time) of each job, seconds: ``t = end - submit``."""
    return end - submit


def mean(values: npt.NDArray[Any]) -> float | None:
    """Arithmetic mean, None of nothing."""
    return float(np.mean(values)) if len(values) else None


def percentile(values: npt.NDArray[Any], p: float) -> float | None:
    """Return the `p`-th percentile, None of nothing.

    With values sorted ``x[0..n-1]`` and ``h = (n - 1) p / 100`` it is ``x[floor h] + (h - floor h) (x[floor h + 1] -
    x[floor h])``, that is linear between order statistics (Hyndman and Fan 1996, definition 7; NumPy's default).
    """
    return float(percentiles(np.sort(values), np.array([len(values)]), p / 100)[0]) if len(values) else None
