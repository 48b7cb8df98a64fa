"""What all values of a column have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def alike(values: npt.NDArray[np.int64]) -> int:
    """What all have; 0 where they differ, or nobody has any."""
    return int(values[0]) if len(values) and (values == values[0]).all() else 0
