"""Means and standard deviations the model is fed with: time between starts, use per job."""

import math
from dataclasses import dataclass

from slurmsim.errors import ConfigError

Pair = tuple[float, float]
VARIANCES = ("corrected", "printed")


@dataclass(frozen=True, slots=True)
class Moments:
    """A mean and a standard deviation."""

    mean: float
    sd: float

    @property
    def variance(self) -> float:
        """The square of the standard deviation."""
        return self.sd**2


def moments(name: str, pair: Pair) -> Moments:
    """Return the two numbers of `pair`. Raises ConfigError with the field `name`."""
    try:
        mean, sd = float(pair[0]), float(pair[1])
        right = len(pair) == 2
    except (TypeError, ValueError, IndexError):
        right, mean, sd = False, 0.0, 0.0
    if not right:
        raise ConfigError(f"{pair!r} is no pair", field=name, expected="(mean, standard deviation)")
    if not (math.isfinite(mean) and mean > 0):
        raise ConfigError(f"a mean of {mean:g}", field=name, expected="more than 0")
    if not (math.isfinite(sd) and sd >= 0):
        raise ConfigError(f"a standard deviation of {sd:g}", field=name, expected="at least 0")
    return Moments(mean, sd)


def use_per_job(nodes: Moments, execution: Moments, variance: str = "corrected") -> Moments:
    """Return the node-hours of a job, its nodes and hours being independent (equations 12 and 13).

    Parameters
    ----------
    variance
        ``corrected``: s_N^2 s_E^2 + m_N^2 s_E^2 + m_E^2 s_N^2; ``printed``: equation 13 as it stands, in which the
        means lack their squares.

    Raises
    ------
    ConfigError
        There is no such variance.
    """
    if variance not in VARIANCES:
        raise ConfigError(f"variance {variance!r}", field="variance", expected=" or ".join(VARIANCES))
    power = 2 if variance == "corrected" else 1
    spread = nodes.variance * execution.variance
    spread += nodes.mean**power * execution.variance + execution.mean**power * nodes.variance
    return Moments(nodes.mean * execution.mean, math.sqrt(spread))


def spread_of_use(
    period_h: float, wait: Moments, execution: Moments, nodes: Moments, use: Moments, *, after_end: bool
) -> Moments:
    """Use within a long period, as a normal one: mean and standard deviation (node-hours).

    Renewal-reward: (m_U T / m, T / m Var(U - (m_U / m) Q)); `after_end`: Q is wait + execution and correlated with U.
    """
    cycle = wait.mean + (execution.mean if after_end else 0.0)
    rate = use.mean / cycle
    variance = use.variance + rate**2 * wait.variance
    if after_end:
        variance += rate**2 * execution.variance - 2 * rate * nodes.mean * execution.variance
    starts = period_h / cycle
    return Moments(use.mean * starts, math.sqrt(max(starts * variance, 0.0)))
