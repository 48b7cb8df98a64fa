"""Power and frequency of a processor, and what the frequency does to run time: PASS, equations 12-19."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def power(frequency: ArrayLike, a: float, b: float, c: float) -> FloatArray:
    """Watts at `frequency` GHz: a f^3 + b f + c (equation 18)."""
    f = np.asarray(frequency, np.float64)
    return np.asarray(a * f**3 + b * f + c)


def frequency(watts: ArrayLike, a: float, b: float, c: float) -> FloatArray:
    """GHz at which the processor draws `watts`, the inverse of `power` (equation 19).

    Cardano's formula; the paper adds the second root, which has to be subtracted.
    """
    half = (np.asarray(watts, np.float64) - c) / (2 * a)
    root = np.sqrt(half**2 + b**3 / (27 * a**3))
    near = np.cbrt(root + np.abs(half))
    # the other root by their product, b / 3a: subtracting two equal numbers would lose all digits of a small frequency
    found: FloatArray = np.copysign(near - b / (3 * a) / near, half)
    return found


def slowdown(frequency: ArrayLike, low: float, high: float, beta: float) -> FloatArray:
    """t(f) / t(f_h): 1 at `high` GHz and above, 1 / (1 - beta) at `low` (equations 12-16).

    W / f + M with W = beta f_l f_h / ((1 - beta)(f_h - f_l)) cycles for each second at full speed. M may be negative,
    as it is for two rows of Table IV.
    """
    f = np.asarray(frequency, np.float64)
    cycles = beta * low * high / ((1 - beta) * (high - low))
    still = 1 - beta * low / ((1 - beta) * (high - low))
    found: FloatArray = np.where(f < high, cycles / f + still, 1.0)
    return found
