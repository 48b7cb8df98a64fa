"""The model of allocation utilisation: the published numbers, quadrature, simulation, degenerate cases."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy  # whose parts come when they are asked for, a second each
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim.papers.titan.allocation import (
    Moments,
    counts,
    expected_use,
    normal_probability,
    probability,
    spread_of_use,
    use_per_job,
)  # fmt: skip

ONE = Moments(1, 1)


def test_use_per_job() -> None:
    """Poisson(8) nodes for Normal(4, 2) hours: 416, which equation 13 as printed makes 96."""
    nodes, hours = Moments(8, math.sqrt(8)), Moments(4, 2)
    assert use_per_job(nodes, hours).variance == pytest.approx(416)
    assert use_per_job(nodes, hours, "printed").variance == pytest.approx(96)
    assert use_per_job(nodes, hours).mean == 32


def test_validation_1() -> None:
    """100 jobs an hour of 32 node-hours for 4,320 hours."""
    assert expected_use(4320, (0.01, 0.01), (4, 2), (8, math.sqrt(8))) == pytest.approx(13_824_000, abs=1)


def test_a_smallest_count_loses_cases_and_says_so() -> None:
    assert probability(900, 500, (5, 5), per_job=(10, 3)) == pytest.approx(0.8295, abs=5e-5)
    with pytest.warns(UserWarning, match=r"50\.0% of the cases have fewer than 100 jobs"):
        assert probability(900, 500, (5, 5), per_job=(10, 3), n_min=100) == pytest.approx(0.5, abs=5e-5)


def test_validation_2_on_paper() -> None:
    """Variant A by the model and by the normal of long periods; variant B, a true server, spreads less."""
    found = probability([4900, 5000, 5100], 5000, (1, 1), (1, 1), (1, 0))
    assert found == pytest.approx([0.8413, 0.498, 0.1587], abs=5e-5)
    starts = spread_of_use(5000, ONE, ONE, Moments(1, 0), ONE, after_end=False)
    server = spread_of_use(5000, ONE, ONE, Moments(1, 0), ONE, after_end=True)
    assert (starts.mean, starts.sd) == pytest.approx((5000, 100))
    assert (server.mean, server.sd) == pytest.approx((2500, 35.3553), rel=1e-5)
    assert normal_probability([4900, 5000, 5100], starts) == pytest.approx(found, abs=0.003)


def test_validation_2_simulated() -> None:
    """100 runs each; the distance between curves stays below 0.14, the 99 % point of Kolmogorov's statistic's order."""
    rng = np.random.default_rng(5)
    gaps, uses = rng.exponential(1, (2, 100, 5600))
    begun = gaps.cumsum(axis=1) <= 5000
    overlapping = np.sort((uses * begun).sum(axis=1))
    model = probability(overlapping, 5000, (1, 1), (1, 1), (1, 0))
    assert np.abs(model - (1 - (np.arange(100) + 0.5) / 100)).max() <= 0.14
    cycles = (gaps + uses).cumsum(axis=1) <= 5000
    single = (uses * cycles).sum(axis=1)
    server = spread_of_use(5000, ONE, ONE, Moments(1, 0), ONE, after_end=True)
    assert single.mean() == pytest.approx(server.mean, abs=4 * server.sd / 10)
    assert single.std() == pytest.approx(server.sd, rel=0.3)


@given(
    wait=st.tuples(st.floats(0.5, 20), st.floats(0.1, 3)), use=st.tuples(st.floats(1, 50), st.floats(0.05, 2)),
    period=st.floats(50, 2000), at=st.floats(0.5, 1.5),
)  # fmt: skip
def test_equal_to_the_sum_of_normals(wait: Any, use: Any, period: float, at: float) -> None:
    """Equations 1-11 term by term, with another normal distribution."""
    m, s, u, v = wait[0], wait[0] * wait[1], use[0], use[0] * use[1]
    target = at * period / m * u
    n = np.arange(1, int(period / m + 12 * math.sqrt(period * s**2 / m**3)) + 400, dtype=float)
    cdf = [scipy.stats.norm.cdf((period - k * m) / (s * np.sqrt(k))) for k in (n, n + 1)]
    exact = float(((cdf[0] - cdf[1]) * scipy.stats.norm.sf((target - n * u) / (v * np.sqrt(n)))).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert probability(target, period, (m, s), per_job=(u, v)) == pytest.approx(max(exact, 0), abs=1e-9)


def test_degenerate_cases() -> None:
    """Equal gaps: exactly floor(T / m) jobs; equal jobs: a step, and strictly more."""
    assert probability([99, 100, 101], 100, (10, 0), per_job=(10, 0)).tolist() == [1, 0, 0]
    assert probability(95, 100, (10, 0), per_job=(10, 1)) == pytest.approx(scipy.stats.norm.sf(-5 / math.sqrt(10)))
    assert probability(5, 9, (10, 0), per_job=(10, 0)) == 0  # nobody starts
    assert expected_use(105, (10, 0), per_job=(7, 3)) == 70
    n, mass = counts(500, Moments(5, 5))
    assert probability(10 * 95, 500, (5, 5), per_job=(10, 0)) == pytest.approx(mass[n > 95].sum())


def test_streams_are_a_longer_period() -> None:
    given_ = {"wait_h": (5, 5), "per_job": (10, 3)}
    assert probability(3000, 500, streams=3, **given_) == probability(3000, 1500, **given_)  # type: ignore[arg-type]
    assert expected_use(500, (5, 5), per_job=(10, 3), streams=3) == pytest.approx(
        expected_use(1500, (5, 5), per_job=(10, 3))
    )


def test_shapes_and_order() -> None:
    found = probability(np.array([[0, 500], [900, 1e9]]), 500, (5, 5), per_job=(10, 3))
    assert found.shape == (2, 2) and np.all(np.diff(found.ravel()) <= 0) and found[1, 1] == 0
    assert isinstance(probability(900, 500, (5, 5), per_job=(10, 3)), float)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wait_h": (0, 1)}, "wait_h: a mean of 0 (expected more than 0)"),
        ({"wait_h": (1, -1)}, "wait_h: a standard deviation of -1 (expected at least 0)"),
        ({"per_job": 3}, "per_job: 3 is no pair (expected (mean, standard deviation))"),
        ({"per_job": None}, "per_job: nothing says what a job uses (expected execution_h and nodes, or per_job)"),
        ({"streams": 0}, "streams: 0 streams (expected a whole number, at least 1)"),
        ({"period_h": float("inf")}, "period_h: a period of inf h (expected more than 0)"),
        ({"n_min": -1}, "n_min: n_min -1 (expected at least 0)"),
        ({"per_job": None, "nodes": (2, 1), "execution_h": (1, 1), "variance": "mine"},
         "variance: variance 'mine' (expected corrected or printed)"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_named(change: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {"target": 1, "period_h": 500, "wait_h": (5, 5), "per_job": (10, 3), **change}
    with pytest.raises(ConfigError) as raised:
        probability(**arguments)
    assert str(raised.value) == said
