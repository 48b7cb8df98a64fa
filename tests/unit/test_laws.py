"""The laws of intervals are SciPy's to ten digits."""

from __future__ import annotations

import pytest
import scipy  # whose parts come when they are asked for, a second each

from slurmsim.laws import normal_below, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 29, 100, 999, 20_000])
def test_quantiles_of_student(freedom: int) -> None:
    for share in (0.5, 0.6, 0.9, 0.975, 0.995, 0.9999, 0.025):
        expected = float(scipy.special.stdtrit(freedom, share))
        assert student_quantile(freedom, share) == pytest.approx(expected, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("x", [-40.0, -8.0, -1.96, -1e-9, 0.0, 0.3, 2.0, 9.0])
def test_the_normal_law(x: float) -> None:
    assert normal_below(x) == pytest.approx(float(scipy.special.ndtr(x)), rel=1e-12, abs=1e-300)
