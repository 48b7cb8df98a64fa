"""What the workload models share: daily cycles, loads, users and their sessions, requested times.

Every function draws from the generator it is handed, in a fixed order, so a model is a pure function of its
parameters and its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, TextColumn

Floats = npt.NDArray[np.float64]

ESTIMATES = ("exact", "uniform", "popular")
#: Round requested times people choose, seconds: 5 min to 7 days.
POPULAR_LIMITS_S = 60 * np.array(
    [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 1080, 1440, 2160, 2880, 4320, 5760, 10080],
    np.int64,
)
_ROUND_S = 300


class Cycle:
    """A repeating pattern of arrival rates, used as a change of time.

    If jobs arrive as some process in *operational* time, then at ``clock(operational)`` they arrive ``weights[i]``
    times as often in slot i, and as often as before on average, because the weights are scaled to mean 1. A unit
    Poisson process becomes the Poisson process of that rate; any renewal process is stretched likewise.

    Parameters
    ----------
    weights
        Relative rate of each slot, all > 0.
    slot_s
        Length of a slot, seconds. ``len(weights) * slot_s`` is the period; time 0 is the start of slot 0.
    """

    def __init__(self, weights: npt.ArrayLike, slot_s: float) -> None:
        relative = np.asarray(weights, np.float64)
        self.weights: Floats = relative / relative.mean()
        self.period = slot_s * len(self.weights)
        self._edges = np.arange(len(self.weights) + 1) * slot_s
        self._done = np.concatenate(([0.0], np.cumsum(self.weights) * slot_s))
        self._done[-1] = self.period  # exactly, so that a whole period maps on a whole period

    def clock(self, operational: Floats) -> Floats:
        """Clock seconds at which so many operational seconds have passed."""
        periods, rest = np.divmod(operational, self.period)
        found: Floats = periods * self.period + np.interp(rest, self._done, self._edges)
        return found


def stretch_to_load(clock: Callable[[float], Floats], work: float, capacity: float, load: float) -> float:
    """Return the factor on operational time that makes the offered load `load`.

    Parameters
    ----------
    clock
        Submit times, seconds, for a factor; longer for larger factors.
    work
        Sum of size times run time over all jobs.
    capacity
        Size of the cluster in the same unit.
    load
        Target of ``work / (capacity * (last submit - first submit))``.

    Raises
    ------
    ConfigError
        When all jobs come at one instant (a single job has no load).
    """
    target = work / (capacity * load)

    def span(factor: float) -> float:
        times = clock(factor)
        return float(times.max() - times.min())

    if span(1.0) <= 0:
        raise ConfigError("a load needs jobs that arrive at two or more times", field="load", expected="more jobs")
    low = high = 1.0
    while span(high) < target:
        high *= 2
    while span(low) > target:
        low /= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if span(middle) < target else (low, middle)
    return high


def poisson_submits(
    rng: np.random.Generator,
    cycle: Cycle,
    n: int,
    per_hour: float,
    *,
    load: float | None,
    work: float,
    capacity: float,
) -> IntColumn:
    """Submit times, whole seconds ascending, of a Poisson process with the rate of `cycle`.

    Parameters
    ----------
    n, per_hour
        How many, and their mean rate over a period of the cycle where no load is asked for.
    load, work, capacity
        The rate that makes the offered load `load`, see `stretch_to_load`; None keeps `per_hour`.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all arrive at once.
    """
    arrivals = np.cumsum(rng.exponential(3600 / per_hour, n))
    factor = 1.0
    if load is not None:
        factor = stretch_to_load(lambda f: cycle.clock(arrivals * f), work, capacity, load)
    return np.floor(cycle.clock(arrivals * factor)).astype(np.int64)


def sessions(rng: np.random.Generator, n: int, mean_length: float, concurrent: int = 1) -> npt.NDArray[np.int64]:
    """Session number (0, 1, …) of each of `n` submissions in time order.

    Sessions have geometric lengths of the given mean. `concurrent` of them go on side by side: each submission
    belongs to one of so many lanes at random, and a lane is one session after the other.
    """
    lane = rng.integers(concurrent, size=n)
    order = np.argsort(lane, kind="stable")
    begins = rng.random(n) < 1 / mean_length
    in_order = lane[order]
    begins[0:1] = True
    begins[1:] |= in_order[1:] != in_order[:-1]
    number = np.empty(n, np.int64)
    number[order] = np.cumsum(begins) - 1
    return number


def weighted(rng: np.random.Generator, n: int, weights: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return `n` draws from 0 … len(weights)-1 with probability proportional to their weights."""
    cdf = np.cumsum(np.asarray(weights, np.float64))
    found: npt.NDArray[np.int64] = np.searchsorted(cdf, rng.random(n) * cdf[-1], side="right").clip(0, len(cdf) - 1)
    return found


def log_uniform(u: Floats, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> IntColumn:
    """Integers in [low, high], uniform in the logarithm for `u` uniform in [0, 1)."""
    found: IntColumn = np.floor(low * ((high + 1) / low) ** u).clip(low, high).astype(np.int64)
    return found


def zipf(rng: np.random.Generator, n: int, items: int, exponent: float) -> npt.NDArray[np.int64]:
    """Return `n` draws from ranks 0 … items-1 with probability proportional to ``(rank + 1) ** -exponent``."""
    return weighted(rng, n, np.arange(1, items + 1, dtype=np.float64) ** -exponent)


def population(
    rng: np.random.Generator, session: npt.NDArray[np.int64], users: int, exponent: float, accounts: int
) -> tuple[TextColumn, TextColumn]:
    """User and account of each submission: a user per session, Zipf by rank; user of rank r is in account r mod A."""
    rank = zipf(rng, int(session.max(initial=-1)) + 1, users, exponent)[session]
    return (
        TextColumn((rank + 1).astype(np.int32), ["", *_names("user", users)]),
        TextColumn((rank % accounts + 1).astype(np.int32), ["", *_names("acct", accounts)]),
    )


def _names(prefix: str, n: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(1, n + 1)]


def round_up(seconds: npt.NDArray[np.float64], step: int = _ROUND_S) -> IntColumn:
    """Return `seconds` rounded up to a multiple of `step`."""
    return (np.ceil(seconds / step) * step).astype(np.int64)


def time_limits(
    rng: np.random.Generator, run_time: IntColumn, model: str, factor: float, longest: int, at_most: float
) -> IntColumn:
    """Return the requested time of each job, seconds, never below its run time.

    Parameters
    ----------
    run_time
        Seconds, at most `longest`.
    model
        ``exact``: the run time. ``uniform``: run time times U(1, `factor`), rounded up to 5 min. ``popular``: that
        product rounded up to the next of `POPULAR_LIMITS_S`, except for a share `at_most` of jobs that ask for the
        longest time allowed.
    longest
        Longest time a job may ask for, seconds.

    Notes
    -----
    ``popular`` keeps two facts of Tsafrir, Etsion and Feitelson, "Modeling user runtime estimates" (JSSPP 2005):
    a score of round values makes up nearly all requests, and the maximum is one of the most popular.
    It is not their model, which fits the values and their shares to one log.
    """
    if model == "exact":
        return run_time.copy()
    wished = run_time * (1 + (factor - 1) * rng.random(len(run_time)))
    if model == "uniform":
        return np.maximum(np.minimum(round_up(wished), longest), run_time)
    values = np.append(POPULAR_LIMITS_S[longest > POPULAR_LIMITS_S], longest)
    limit: IntColumn = values[np.searchsorted(values, wished).clip(0, len(values) - 1)]
    limit[rng.random(len(run_time)) < at_most] = longest
    return limit
