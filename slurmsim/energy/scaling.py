"""How long an application takes on n nodes at full speed: PASS, equations 9-11 (Downey's low-variance model).

The three lines are re-derived so that they are continuous and t(1) = T1. For sigma / 2 of the time the application is
2A - 1 wide, for as long 1, else A.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def share_of_t1(nodes: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """t(n) / T1.

    Parameters
    ----------
    nodes
        n >= 1, any shape.
    parallelism
        A >= 1, the average parallelism.
    sigma
        Its variation, 0 to 1; shapes are broadcast.

    Returns
    -------
    Array of the broadcast shape, in (0, 1].
    """
    n, wide, vary = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (nodes, parallelism, sigma)))
    serial = vary / (2 * wide)
    few = (1 - serial) / n + serial  # 1 <= n <= A, equation 9
    some = vary * (1 - 1 / (2 * wide)) / n + 1 / wide - serial  # A <= n <= 2A - 1, equation 10
    found: FloatArray = np.where(n <= wide, few, np.where(n <= 2 * wide - 1, some, 1 / wide))  # else equation 11
    return found
