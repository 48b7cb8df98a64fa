"""Percentiles of classes are NumPy's, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.metrics.percentiles import percentiles


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_each_class_has_what_numpy_says(kind: type) -> None:
    draw = np.random.default_rng(1)
    for _ in range(100):
        counts = draw.integers(0, 12, draw.integers(1, 9))
        classes = [np.sort(draw.integers(0, 10 ** draw.integers(1, 8), n)).astype(kind) for n in counts]
        for share in (0.05, 0.5, 0.9, 0.95):
            found = percentiles(np.concatenate(classes), counts, share)
            for mine, value in zip(classes, found.tolist(), strict=True):
                assert not len(mine) or value == np.percentile(mine, 100 * share)


def test_of_no_values_there_is_one_for_each_class() -> None:
    assert percentiles(np.zeros(0, np.int64), np.zeros(3, np.int64), 0.5).tolist() == [0, 0, 0]
