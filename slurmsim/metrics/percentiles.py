"""Percentiles of classes of values, all at once.

The same numbers as `np.percentile` has (linear interpolation), which takes 60 µs for each class and loads NumPy's
masked arrays first, 8 ms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import IntArray

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def percentiles(values: Values, counts: IntArray, share: float) -> npt.NDArray[np.float64]:
    """Return the value below which a `share`, 0 to 1, of each class lies.

    Parameters
    ----------
    values
        (n,) class after class, ascending within each.
    counts
        (n_classes,) how many values each class has; what is found for one without any means nothing.
    """
    if not len(values):
        return np.zeros(len(counts))
    first, last = np.cumsum(counts) - counts, np.maximum(counts - 1, 0)
    at = last * share
    below = np.floor(at).astype(np.int64)
    low, high = (values[np.minimum(first + place, len(values) - 1)] for place in (below, np.minimum(below + 1, last)))
    part, step = at - below, high - low
    return np.where(part < 0.5, low + step * part, high - step * (1 - part))
