"""What all values of a column have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def alike(values: npt.NDArray[np.int64]) -> int:
    """Return the value that all have; 0 if they differ or there are none."""
    return int(values[0]) if len(values) and (values == values[0]).all() else 0
