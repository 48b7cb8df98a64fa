"""Thinned series say the same as the series."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.report.series import bin_edges, bin_maxima, bin_means, counts_over_time, ecdf, size_classes

STEPS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=12)


def level(steps, t):
    """Value at time t: the last step at or before it."""
    return ([0] + [v for at, v in steps if at <= t])[-1]


@given(STEPS, st.integers(1, 8))
def test_bins_hold_exact_means_and_maxima(steps, bins):
    steps.sort(key=lambda s: s[0])
    time, value = (np.array([s[i] for s in steps], np.int64) for i in (0, 1))
    edges = bin_edges(0, 5 * bins, bins)
    seconds = [[level(steps, t) for t in range(5 * b, 5 * b + 5)] for b in range(bins)]
    assert bin_means(time, value, edges) == pytest.approx([np.mean(s) for s in seconds])
    within = [[v for at, v in steps if 5 * b <= at < 5 * b + 5] for b in range(bins)]
    held = [level([s for s in steps if s[0] <= 5 * b], 5 * b) for b in range(bins)]
    assert bin_maxima(time, value, edges).tolist() == [max([h, *w]) for h, w in zip(held, within, strict=True)]


def test_counts_over_time():
    time, count = counts_over_time(np.array([0, 5]), np.array([10, 5]), np.array([2, 9]))
    assert time.tolist() == [0, 5, 10] and count.tolist() == [2, 2, 0]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300), st.integers(2, 30))
def test_ecdf_is_right_where_it_has_points_and_has_the_last(values, points):
    x, share = ecdf(np.array(values), points)
    assert len(x) <= points
    assert share.tolist() == [np.mean(np.array(values) <= at) for at in x]
    assert x[-1] == max(values) and share[-1] == 1


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=60), st.integers(1, 6))
def test_size_classes_are_in_order_and_none_is_empty(sizes, most):
    codes, names = size_classes(np.array(sizes), most)
    assert len(names) <= most and sorted(set(codes.tolist())) == list(range(len(names)))
    ranges = [[s for s, c in zip(sizes, codes, strict=True) if c == k] for k in range(len(names))]
    assert all(max(a) < min(b) for a, b in pairwise(ranges))
    expected = [f"{min(r):,}" if min(r) == max(r) else f"{min(r):,}–{max(r):,}" for r in ranges]
    assert names == expected


def test_nothing_gives_nothing():
    none = np.zeros(0, np.int64)
    assert bin_means(none, none, bin_edges(0, 1, 3)).tolist() == [0, 0, 0]
    assert bin_maxima(none, none, bin_edges(0, 1, 3)).tolist() == [0, 0, 0]
    assert ecdf(none)[0].tolist() == [] and size_classes(none) == (pytest.approx([]), [])
