"""The normal and Student's distributions, as far as intervals need them: SciPy is 140 MB.

`student_quantile` inverts the regularized incomplete beta function, by the continued fraction of Numerical Recipes
(2007), section 6.4. Tests compare both functions with SciPy.
"""

from __future__ import annotations

import math

_NEAR = 1e-15
_TINY = 1e-300


def normal_below(x: float) -> float:
    """Return the share of a standard normal distribution below `x`.

    >>> round(normal_below(1.96), 4)
    0.975
    """
    return 0.5 * math.erfc(-x / math.sqrt(2))


def student_quantile(freedom: int, share: float) -> float:
    """Return the value below which lies `share` of Student's distribution with `freedom` degrees of freedom.

    >>> round(student_quantile(4, 0.975), 4)
    2.7764
    """
    if share < 0.5:
        return -student_quantile(freedom, 1 - share)
    low, high = 0.0, 1.0
    while _student_above(freedom, high) > 1 - share:
        low, high = high, 2 * high
    while high - low > _NEAR * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _student_above(freedom, middle) > 1 - share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_above(freedom: int, t: float) -> float:
    """Return the share of Student's distribution above `t`, which is not negative."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction by Lentz's method."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 1000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + step * d)
            c = _away(1 + step / c)
            found *= c * d
        if abs(c * d - 1) < _NEAR:
            break
    return found


def _away(value: float) -> float:
    """Return `value`, or a tiny number in place of zero."""
    return value if abs(value) > _TINY else _TINY
