"""The normal distribution function of many numbers at once, as curves over thousands of counts of jobs need it.

By the rational approximations of Cody (1969, Mathematics of Computation 23) for the error function; a test compares it
with SciPy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
# Cody's coefficients, highest power first: of erf(x) near 0 in x², of erfc(x) exp(x²) up to 4 in x, and of its
# remainder beyond in 1 / x²
_NEAR_ZERO = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
_BOUNDS = (0.46875, 4.0, 27.0)


def all_normal_below(values: ArrayLike) -> FloatArray:
    """Return the share of a standard normal distribution below each of `values`, in their shape.

    >>> all_normal_below([0.0, 1.96]).round(4).tolist()
    [0.5, 0.975]
    """
    x = np.asarray(values, np.float64) / -math.sqrt(2)
    y = np.abs(x).ravel()
    upper = np.zeros(y.shape)  # erfc of the absolute value; 0 where nothing is left
    near, far = y <= _BOUNDS[0], y > _BOUNDS[1]
    for where, erfc in (
        (near, _erfc_near_zero), (~near & ~far, _erfc_in_the_middle), (far & (y < _BOUNDS[2]), _erfc_far),
    ):  # fmt: skip
        if where.any():
            upper[where] = erfc(y[where])
    found: FloatArray = 0.5 * np.where(x.ravel() < 0, 2 - upper, upper)
    return found.reshape(x.shape)


def _erfc_near_zero(y: FloatArray) -> FloatArray:
    return 1 - y * _ratio(_NEAR_ZERO, y * y)


def _erfc_in_the_middle(y: FloatArray) -> FloatArray:
    return _ratio(_MIDDLE, y) * np.exp(-y * y)


def _erfc_far(y: FloatArray) -> FloatArray:
    inverse = 1 / (y * y)
    return (1 / math.sqrt(math.pi) - inverse * _ratio(_FAR, inverse)) / y * np.exp(-y * y)


def _ratio(of: tuple[tuple[float, ...], tuple[float, ...]], z: FloatArray) -> FloatArray:
    """Return the ratio of two polynomials, in place where it can be: these are most of the work."""
    above, below = z * of[0][0], z * of[1][0]
    for total, (_, *middle, last) in ((above, of[0]), (below, of[1])):
        for one in middle:
            total += one
            total *= z
        total += last
    return above / below
