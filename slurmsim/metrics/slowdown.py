"""Slowdown and bounded slowdown.

References
----------
D. G. Feitelson, L. Rudolph, U. Schwiegelshohn, K. C. Sevcik, P. Wong: Theory and Practice in Parallel Job Scheduling,
JSSPP 1997, LNCS 1291 (bounded slowdown).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import IntArray

TAU_S = 10  # run times below this many seconds count as this long in the bounded slowdown


def slowdown(turnaround: IntArray, run_time: IntArray) -> npt.NDArray[np.float64]:
    """Slowdown of each job: ``s = t / r``; NaN where the run time ``r`` is zero, for which it is not defined."""
    out = np.full(len(run_time), np.nan)
    np.divide(turnaround, run_time, out=out, where=run_time > 0)
    return out


def bounded_slowdown(turnaround: IntArray, run_time: IntArray, tau_s: int = TAU_S) -> npt.NDArray[np.float64]:
    """Bounded slowdown of each job: ``b = max(1, t / max(r, tau))``; defined for zero run times too.

    Raises
    ------
    ValueError
        `tau_s` is not positive.
    """
    if tau_s <= 0:
        raise ValueError("tau_s must be positive")
    return np.maximum(1.0, turnaround / np.maximum(run_time, tau_s))
