"""Differences of pairs: intervals that hold the estimate and cover what they say, tests, and Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # whose parts come when they are asked for, a second each
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmsim.metrics.estimate import Estimate
from slurmsim.metrics.paired import RESAMPLES, SEED, fewest, holm, interval, paired

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


@settings(max_examples=30, deadline=None)
@given(NUMBERS)
def test_the_estimate_is_inside_and_signs_turn(values: list[float]) -> None:
    found, turned = paired(values), paired([-value for value in values])
    assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert turned.mean == pytest.approx(-found.mean)
    if found.low is None or found.high is None:
        assert len(values) == 1 and not found.clear
        return
    assert found.low <= found.mean <= found.high
    assert min(values) - 1e-6 <= found.low and found.high <= max(values) + 1e-6
    assert found.p is not None and 0 < found.p <= 1
    assert abs(found.expected) <= abs(found.mean) + 1e-9


def test_small_cases_by_hand() -> None:
    one = paired([3.0])
    assert (one.low, one.p, one.g, one.above) == (None, None, None, 1.0)
    assert paired([0.0, 0.0]).p == 1.0 and not paired([0.0, 0.0]).clear
    same = paired([2.0] * 6)
    assert (same.mean, same.low, same.high, same.p) == (2.0, 2.0, 2.0, 2 / 64)
    signs = paired([1.0, 2, 3, 4, 5])
    assert signs.p == pytest.approx(2 / 32)
    assert signs.g == pytest.approx(3 / np.std([1, 2, 3, 4, 5], ddof=1) * (1 - 3 / 15))


def test_intervals_cover_what_they_say() -> None:
    """Of normal differences, 5 pairs: 95 % within what 150 draws can tell; a plain percentile interval has 82 %."""
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(150):
        low, high = interval(rng.normal(0, 1, 5))
        inside += low <= 0 <= high
    assert inside >= 132


@pytest.mark.parametrize("n", [2, 5, 13, 14, 40])
@pytest.mark.parametrize("places", [1, 9])
def test_intervals_and_tests_are_those_of_scipy(n: int, places: int) -> None:
    """With the same draws; all flips up to 13 pairs. One place makes ties."""
    values = np.random.default_rng(n).normal(0.3, 1, n).round(places)
    batch, rng = 2**18 // n, np.random.default_rng
    low, high = interval(values)
    wide = np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, 0.975)
    found = scipy.stats.bootstrap(
        (values,), np.mean, confidence_level=1 - 2 * scipy.special.ndtr(-wide), n_resamples=RESAMPLES, batch=batch,
        method="percentile", rng=rng(SEED),
    ).confidence_interval  # fmt: skip
    assert (low, high) == pytest.approx((min(found.low, values.mean()), max(found.high, values.mean())), rel=1e-12)
    flipped = scipy.stats.permutation_test(
        (values, np.zeros(n)), lambda a, b, axis: a.mean(axis) - b.mean(axis), permutation_type="samples",
        n_resamples=RESAMPLES, batch=batch, rng=rng(SEED),
    )  # fmt: skip
    assert paired(values).p == pytest.approx(flipped.pvalue, rel=1e-12)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, None]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06), None]
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_fewest_pairs() -> None:
    assert [fewest(k) for k in (1, 3, 45)] == [6, 7, 11]
    for k in (1, 3, 45):
        p = [paired([1.0] * fewest(k)).p] * k
        assert (holm(p)[0] or 1) < 0.05 <= 2 * (holm(p)[0] or 0)


def test_students_t_as_in_tables() -> None:
    assert Estimate.of([1.0, 3.0]).half == pytest.approx(12.706, abs=1e-3)
    many = Estimate.of([1.0] * 20 + [2.0] * 20)
    assert many.half == pytest.approx(2.0227 * 0.5 * np.sqrt(40 / 39) / np.sqrt(40), rel=1e-4)
