"""The renewal answer itself, where the model approximates it by normal sums.

Gaps between starts and use per job have gamma distributions of the given moments and are independent. Use within the
period is the sum over the jobs started by then. Its transform at each frequency is the probability generating function
of the count, at the transform of a job's use; the count's is a contour integral over the lattice of time. Both are
done by fast Fourier transforms, so that neither counts nor sums are taken for normal, and few jobs are no problem.

Source: renewal reward processes, e.g. Ross, "Stochastic Processes", chapter 3; inversion on a damped circle after Abate
and Whitt, "Numerical Inversion of Probability Generating Functions", Operations Research Letters 12(4), 1992.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slurmsim.errors import ConfigError
from slurmsim.papers.titan.allocation.moments import Moments, Pair
from slurmsim.papers.titan.allocation.utilization import given

FloatArray = NDArray[np.float64]
TIMES = 4096  # cells of the period
AMOUNTS = 8192  # cells of use
DAMPING = 1e-9  # of what comes back around the circle
WIDE = 10.0  # standard deviations of use beyond its mean that are told apart
MOST_STARTS = TIMES / 4
_ROWS = 512


def renewal_probability(
    target: ArrayLike, period_h: float, wait_h: Pair, execution_h: Pair | None = None, nodes: Pair | None = None,
    per_job: Pair | None = None, streams: int = 1,
) -> Any:  # fmt: skip
    """P(U > target) without normal sums, for gamma gaps and gamma use per job; parameters as in `probability`.

    `streams` are independent, each over the period: not one over so many periods.

    Raises
    ------
    ConfigError
        As `probability`; or more than 1,024 starts are expected of a stream: sums are as good as normal then.

    Notes
    -----
    The period is cut into 4,096 cells and use into 8,192, both keeping means: against Poisson counts and against exact
    gamma sums the error is below 0.002.
    """
    wait, use, period = given(period_h, wait_h, execution_h, nodes, per_job, 1, "corrected")
    if isinstance(streams, bool) or streams != int(streams) or streams < 1:
        raise ConfigError(f"{streams} streams", field="streams", expected="a whole number, at least 1")
    if period / wait.mean > MOST_STARTS:
        raise ConfigError(f"{period / wait.mean:.3g} starts are expected", field="period_h",
                          expected=f"at most {MOST_STARTS:g}; beyond, probability is as good")  # fmt: skip
    wanted = np.asarray(target, np.float64)
    found = np.interp(wanted.ravel(), *_survival(wait, use, period, int(streams), wanted), left=1.0, right=0.0)
    return float(found[0]) if wanted.ndim == 0 else found.reshape(wanted.shape)


def _survival(
    wait: Moments, use: Moments, period: float, streams: int, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Node-hours, ascending, and the probability of more than each."""
    starts = period / wait.mean
    spread = math.sqrt(starts * (use.variance + (use.mean / wait.mean) ** 2 * wait.variance)) + use.sd + use.mean
    reach = max(float(wanted.max(initial=0.0)), streams * starts * use.mean) + WIDE * spread * math.sqrt(streams)
    step = 2 * reach / AMOUNTS
    z = np.fft.rfft(_lattice(use, step, AMOUNTS))
    count = _generating(wait, period, z)
    mass = np.fft.irfft(count**streams, AMOUNTS)
    at_most = np.cumsum(mass)
    values = np.arange(AMOUNTS // 2, dtype=np.float64) * step
    return values, np.clip(1.0 - at_most, 0.0, 1.0)[: AMOUNTS // 2]


def _generating(wait: Moments, period: float, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """E[z^N] of the number N of starts within the period."""
    if wait.sd == 0:
        return z ** math.floor(period / wait.mean)
    length = 2 * TIMES
    radius = DAMPING ** (1 / length)
    powers = radius ** np.arange(length)
    x = radius * np.exp(-2j * math.pi * np.arange(length) / length)
    phi = np.fft.fft(_lattice(wait, period / TIMES, length) * powers)
    weights = np.zeros(length, np.complex128)
    for k in (TIMES - 1, TIMES):  # a start in the last cell is half inside
        weights += 0.5 * radius**-k * np.exp(2j * math.pi * np.arange(length) * k / length) / length
    weights *= (1 - phi) / (1 - x)
    found = np.empty(len(z), np.complex128)
    for begin in range(0, len(z), _ROWS):
        part = z[begin : begin + _ROWS]
        found[begin : begin + _ROWS] = (weights / (1 - part[:, None] * phi)).sum(axis=1)
    return found


def _lattice(law: Moments, step: float, n: int) -> FloatArray:
    """Return probabilities of 0, step, 2 step, … with the mean of a gamma distribution of these moments; (n,).

    With E(x) the mean of min(X, x), a cell has (2 E(kh) - E(kh - h) - E(kh + h)) / h.
    """
    from scipy.special import gammainc

    edges = np.arange(n + 1) * step
    if law.sd == 0:
        limited = np.minimum(edges, law.mean)
    else:
        shape, scale = (law.mean / law.sd) ** 2, law.variance / law.mean
        limited = law.mean * gammainc(shape + 1, edges / scale) + edges * (1 - gammainc(shape, edges / scale))
    found = np.empty(n)
    found[0] = 1 - limited[1] / step
    found[1:] = (2 * limited[1:-1] - limited[:-2] - limited[2:]) / step
    return np.clip(found, 0.0, 1.0)
