"""How likely a project uses up its allocation: the quantitative model of "Modeling Allocation Utilization Strategies".

A project starts jobs one after the other; Q hours pass between starts, a job uses U node-hours. How many start in T
hours is a renewal count, approximated by normal sums (equations 5-8); so is what they use (9, 10).
"""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slurmsim.errors import ConfigError
from slurmsim.papers.titan.allocation.moments import Moments, Pair, moments, use_per_job
from slurmsim.papers.titan.allocation.normal_law import all_normal_below

FloatArray = NDArray[np.float64]
MOST = 2e7  # counts that are summed over; arrays of more take gigabytes
WIDE = 12.0  # standard deviations of the count that are summed over
MASS = 0.999


def counts(period_h: float, wait: Moments, n_min: int = 1) -> tuple[FloatArray, FloatArray]:
    """How many jobs start in `period_h`, and how likely each count is (equations 5-8); (n_counts,) each.

    Counts below `n_min` are left out. Between equal gaps exactly floor(T / m) jobs start.

    Raises
    ------
    ConfigError
        More than 2e7 counts would have to be summed over.
    """
    if wait.sd == 0:
        n = np.array([float(math.floor(period_h / wait.mean))])
        keep = n >= max(n_min, 1)
        return n[keep], np.ones(int(keep.sum()))
    middle = period_h / wait.mean
    reach = WIDE * math.sqrt(period_h * wait.variance / wait.mean**3) + 200
    if not 2 * reach <= MOST:
        expected = f"at most {MOST:g}; normal_probability(target, spread_of_use(…)) has no bound"
        text = f"{2 * reach:.3g} counts of jobs are possible in {period_h:g} h"
        raise ConfigError(text, field="period_h", expected=expected)
    first, last = max(n_min, 1, math.floor(middle - reach)), math.ceil(middle + reach)
    n = np.arange(first, max(last, first) + 2, dtype=np.float64)
    at_least = _below((period_h - n * wait.mean) / (wait.sd * np.sqrt(n)))  # P(n jobs or more)
    return n[:-1], at_least[:-1] - at_least[1:]


def probability(
    target: ArrayLike, period_h: float, wait_h: Pair, execution_h: Pair | None = None, nodes: Pair | None = None,
    per_job: Pair | None = None, streams: int = 1, n_min: int = 1, variance: str = "corrected",
) -> Any:  # fmt: skip
    """P(U > target): that a project uses more than `target` node-hours (equations 1, 3 and 11).

    Parameters
    ----------
    target
        Node-hours; a number gives a float, an array an array of its shape.
    period_h
        T0, hours.
    wait_h
        Mean and standard deviation of the hours between two starts.
    execution_h, nodes
        Of a job's hours and nodes, taken as independent; or
    per_job
        of its node-hours, where they are not (section 4.3.1).
    streams
        So many independent sequences of jobs: as one sequence in `streams` times the period.
    n_min
        Smallest number of jobs that is counted; the paper has 100. A warning says when that leaves out more than 0.1 %.
    variance
        ``corrected`` or ``printed``, see `moments.use_per_job`.

    Raises
    ------
    ConfigError
        A number is out of its range, or SciPy is not installed.
    """
    wait, use, period = given(period_h, wait_h, execution_h, nodes, per_job, streams, variance)
    if n_min < 0:
        raise ConfigError(f"n_min {n_min}", field="n_min", expected="at least 0")
    n, mass = counts(period, wait, n_min)
    none = 0.0
    if n_min <= 1:
        none = 1.0 - float(_below(np.array([(period - wait.mean) / wait.sd]))[0]) if wait.sd else float(not len(n))
    if mass.sum() + none < MASS:
        text = f"{1 - mass.sum() - none:.1%} of the cases have fewer than {n_min} jobs and are not counted (n_min)"
        warnings.warn(text, stacklevel=2)
    wanted = np.asarray(target, np.float64)
    flat = wanted.ravel()
    found = np.zeros(len(flat))
    mean, root = n * use.mean, use.sd * np.sqrt(n)
    for k, one in enumerate(flat):
        more = (mean > one).astype(np.float64) if use.sd == 0 else _below((mean - one) / root)
        found[k] = float((more * mass).sum())
    found = np.clip(found, 0.0, 1.0)
    return float(found[0]) if wanted.ndim == 0 else found.reshape(wanted.shape)


def expected_use(
    period_h: float, wait_h: Pair, execution_h: Pair | None = None, nodes: Pair | None = None,
    per_job: Pair | None = None, streams: int = 1,
) -> float:  # fmt: skip
    """E[U], node-hours: the mean use of a job times the mean count; parameters as in `probability`."""
    wait, use, period = given(period_h, wait_h, execution_h, nodes, per_job, streams, "corrected")
    n, mass = counts(period, wait)
    return float((n * mass).sum() * use.mean)


def normal_probability(target: ArrayLike, use: Moments) -> Any:
    """P(U > target) where use within the period is normal (`moments.spread_of_use`): for long periods."""
    wanted = np.asarray(target, np.float64)
    found = (use.mean > wanted).astype(np.float64) if use.sd == 0 else _below((use.mean - wanted) / use.sd)
    return float(found) if wanted.ndim == 0 else found


def given(
    period_h: float, wait_h: Pair, execution_h: Pair | None, nodes: Pair | None, per_job: Pair | None, streams: int,
    variance: str,
) -> tuple[Moments, Moments, float]:  # fmt: skip
    """Gaps, use per job and the period in all."""
    if not (math.isfinite(period_h) and period_h > 0):
        raise ConfigError(f"a period of {period_h:g} h", field="period_h", expected="more than 0")
    if isinstance(streams, bool) or streams != int(streams) or streams < 1:
        raise ConfigError(f"{streams} streams", field="streams", expected="a whole number, at least 1")
    wait = moments("wait_h", wait_h)
    if per_job is not None:
        use = moments("per_job", per_job)
    elif execution_h is None or nodes is None:
        raise ConfigError("nothing says what a job uses", field="per_job", expected="execution_h and nodes, or per_job")
    else:
        use = use_per_job(moments("nodes", nodes), moments("execution_h", execution_h), variance)
    return wait, use, period_h * int(streams)


def _below(z: FloatArray) -> FloatArray:
    """Return the normal distribution function."""
    return all_normal_below(z)
