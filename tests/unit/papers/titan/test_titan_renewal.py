"""The renewal answer against Poisson counts, exact gamma sums and drawn sequences; bounds of both answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy  # whose parts come when they are asked for, a second each
from reference.renewal import renewal_probability

from slurmsim.errors import ConfigError
from slurmsim.papers.titan.allocation import counts, probability
from slurmsim.papers.titan.allocation.moments import Moments


@pytest.mark.parametrize("mean", [2.0, 20.0, 300.0])
def test_exponential_gaps_give_poisson_counts(mean: float) -> None:
    """Jobs of exactly one node-hour: more than m of them."""
    targets = np.floor(mean + np.array([-2, -1, 0, 1, 2]) * math.sqrt(mean)) + 0.5
    found = renewal_probability(targets, mean, (1, 1), per_job=(1, 0))
    assert found == pytest.approx(scipy.stats.poisson.sf(targets, mean), abs=0.004)


@pytest.mark.parametrize(
    ("wait", "use", "period"),
    [((6.21, 29.77), (257.0, 800.0), 2190.0), ((5, 5), (10, 3), 500), ((1, 0.3), (1, 2), 12), ((1, 0), (3, 4), 25)],
)
def test_it_is_the_sum_over_counts(wait: tuple[float, float], use: tuple[float, float], period: float) -> None:
    """Sums of n gamma gaps and of n gamma uses are gamma again: the sum over n in closed form."""
    mean, sd = wait
    shape, scale = (use[0] / use[1]) ** 2, use[1] ** 2 / use[0]
    n = np.arange(1, 4000)
    if sd:
        at_least = scipy.stats.gamma.cdf(period, n * (mean / sd) ** 2, scale=sd**2 / mean)
        mass = at_least - np.append(at_least[1:], 0.0)
    else:
        mass = (n == math.floor(period / mean)) * 1.0
    total = period / mean * use[0]
    targets = total * np.array([0.2, 0.5, 1, 1.5, 2])
    expected = [float((mass * scipy.stats.gamma.sf(u, n * shape, scale=scale)).sum()) for u in targets]
    assert renewal_probability(targets, period, wait, per_job=use) == pytest.approx(expected, abs=0.002)


def test_independent_streams() -> None:
    """Three of them, drawn 40,000 times: within 4 standard errors, and a single target gives a number."""
    rng = np.random.default_rng(3)
    gaps = rng.exponential(2.0, (40_000, 3, 60)).cumsum(axis=2)
    assert gaps[:, :, -1].min() > 20
    use = (rng.gamma(0.5, 8.0, gaps.shape) * (gaps <= 20)).sum(axis=(1, 2))
    for target in (60.0, 120.0, 180.0):
        drawn = float((use > target).mean())
        found = renewal_probability(target, 20, (2, 2), per_job=(4, 8 * math.sqrt(0.5)), streams=3)
        assert isinstance(found, float)
        assert abs(found - drawn) < 4 * math.sqrt(drawn * (1 - drawn) / 40_000) + 0.002


def test_normal_sums_come_near_it_when_there_are_many_jobs() -> None:
    """And differ with few skewed ones, which is what it is for."""
    many: dict[str, Any] = {"period_h": 1000, "wait_h": (1, 1), "per_job": (10, 5)}
    few: dict[str, Any] = {"period_h": 20, "wait_h": (6.21, 29.77), "per_job": (257, 800)}
    targets = np.array([9_500.0, 10_000, 10_500])
    assert probability(targets, **many) == pytest.approx(renewal_probability(targets, **many), abs=0.01)
    assert abs(probability(500.0, **few) - renewal_probability(500.0, **few)) > 0.1


def test_too_many_jobs() -> None:
    """Each answer says where it ends, and what to use then."""
    with pytest.raises(ConfigError, match=r"period_h: 1.1e\+03 starts are expected .* beyond, probability is as good"):
        renewal_probability(1, 1100, (1, 1), per_job=(1, 1))
    for period, wait in ((1e18, Moments(1, 1)), (1.0, Moments(1e-18, 1e-18)), (1e300, Moments(1, 2))):
        with pytest.raises(ConfigError, match=r"counts of jobs are possible .* normal_probability\(target, spread_of"):
            counts(period, wait)
    with pytest.raises(ConfigError, match=r"period_h: 2.4e\+10 counts"):
        probability(1.0, 1e18, (1, 1), per_job=(1, 1))
    with pytest.raises(ConfigError, match="streams: 0 streams"):
        renewal_probability(1, 10, (1, 1), per_job=(1, 1), streams=0)
