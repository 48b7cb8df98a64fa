"""Differences of pairs: an interval by bootstrap, a test by flipping signs, and the size of the effect.

Holm's correction is for many comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.laws import normal_below, student_quantile

LEVEL = 0.95
RESAMPLES = 9_999
SEED = 0xB007  # the same differences give the same interval


@dataclass(frozen=True, slots=True)
class Paired:
    """What `n` differences of pairs say."""

    n: int
    mean: float  # their mean, in their unit
    # low, high: 95 % interval of it; None of a single pair. The mean is always inside.
    low: float | None
    high: float | None
    p: float | None  # probability of a mean at least as far from zero if signs were by chance; None of a single pair
    # the mean in standard deviations of the differences, corrected for small samples; None where they do not vary
    g: float | None
    above: float  # share of the differences above zero, those of zero by half

    @property
    def clear(self) -> bool:
        """True if the interval lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def expected(self) -> float:
        """The difference one may expect to see again, to be careful: the end of the interval nearer to zero."""
        if not self.clear:
            return 0.0
        assert self.low is not None and self.high is not None
        return self.low if self.low > 0 else self.high


def paired(differences: Sequence[float] | npt.NDArray[np.float64]) -> Paired:
    """Return the mean of `differences`, at least one, and how sure it is.

    Notes
    -----
    The interval is the percentile bootstrap of the mean with its level widened so that it is as wide as Student's t
    for normal differences, which few pairs need: the expanded percentile interval of T. Hesterberg, "What Teachers
    Should Know About the Bootstrap", The American Statistician 69(4), 2015, section 3.3. It never leaves the range of
    the differences. The test flips signs, all of them where there are few pairs (R. Fisher, *The Design of
    Experiments*, 1935). The correction of the effect size is L. Hedges', 1981.
    """
    values = np.asarray(differences, np.float64)
    n = len(values)
    mean = float(values.mean())
    above = float((values > 0).mean() + (values == 0).mean() / 2)
    if n == 1:
        return Paired(1, mean, None, None, None, None, above)
    low, high = interval(values)
    if low == high:
        return Paired(n, mean, low, high, 2.0 ** (1 - n) if mean else 1.0, None, above)
    spread = float(values.std(ddof=1))
    g = mean / spread * (1 - 3 / (4 * (n - 1) - 1))
    return Paired(n, mean, low, high, _flipped(values), g, above)


def interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of at least two values, see `paired`."""
    mean = float(values.mean())
    if not np.ptp(values):
        return mean, mean
    n = len(values)
    wide = math.sqrt(n / (n - 1)) * student_quantile(n - 1, (1 + LEVEL) / 2)
    level = min(1 - 2 * normal_below(-wide), 1 - 1e-9)
    rng = np.random.default_rng(SEED)
    means = np.concatenate([values[rng.integers(0, n, (size, n))].mean(axis=-1) for size in _batches(n)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return min(float(low), mean), max(float(high), mean)


def _batches(n: int) -> Iterator[int]:
    """Yield how many resamples are made at a time: so many that they need a few megabytes."""
    most = max(1, 2**18 // n)
    for first in range(0, RESAMPLES, most):
        yield min(most, RESAMPLES - first)


def _flipped(values: npt.NDArray[np.float64]) -> float:
    """Two-sided p of the mean under flips of signs: all of them, or as many as there are resamples."""
    n, exact = len(values), 2 ** len(values) <= RESAMPLES
    means = _mean(values, np.array(list(product((True, False), repeat=n))) if exact else _signs(n))
    mean, chosen = values.mean(), 0 if exact else 1  # the flips there are count among those that are drawn
    near = 100 * np.finfo(np.float64).eps * abs(mean)
    tail = min(np.count_nonzero(means <= mean + near), np.count_nonzero(means >= mean - near))
    return min(1.0, 2 * float(tail + chosen) / (len(means) + chosen))


def _signs(n: int) -> npt.NDArray[np.bool_]:
    """Return whether each of `n` values keeps its sign, shape (`RESAMPLES`, n); the pair of a value changes places."""
    rng, (most, *_) = np.random.default_rng(SEED), _batches(n)
    pairs = np.tile(np.arange(2), (most, n, 1))
    return np.concatenate([rng.permuted(pairs, axis=-1)[:size, :, 0] == 0 for size in _batches(n)])


def _mean(values: npt.NDArray[np.float64], kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the mean of `values` for each row of signs."""
    means: npt.NDArray[np.float64] = np.where(kept, values, -values).mean(axis=-1)
    return means


def confidence(n: int) -> float:
    """Return what an interval of `n` pairs may be called: 0.95, or less where they are few.

    It never leaves the range of the differences, and that holds their median in 1 - 2**(1 - n) of all draws: 0.5 of
    two pairs, 0.75 of three, 0.875 of four, 0.94 of five.
    """
    return min(LEVEL, 1 - 2.0 ** (1 - n))


def fewest(comparisons: int, level: float = 1 - LEVEL) -> int:
    """Return the least number of pairs for a significant test of so many: all signs equal are 2 of 2**n."""
    n = 2
    while 2.0 ** (1 - n) * comparisons >= level:
        n += 1
    return n


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Return the p values of one family, corrected: one of them is wrongly small as seldom as a single one would be.

    Those that are None stay so and count for nothing. Source: S. Holm, "A Simple Sequentially Rejective Multiple Test
    Procedure", Scandinavian Journal of Statistics 6(2), 1979.
    """
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    found: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, i) in enumerate(known):
        least = max(least, min(1.0, value * (len(known) - rank)))
        found[i] = least
    return found
