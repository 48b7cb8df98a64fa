"""The normal distribution of many numbers is SciPy's to twelve digits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # whose parts come when they are asked for, a second each

from slurmsim.papers.titan.allocation.normal_law import all_normal_below


def test_the_normal_law_of_many() -> None:
    values = np.concatenate([np.linspace(-38, 38, 20_001), [0.0, -0.0, 1e-300, np.inf, -np.inf, 60, -60]])
    expected = scipy.special.ndtr(values)
    assert all_normal_below(values) == pytest.approx(expected, rel=1e-12, abs=1e-290)
    assert all_normal_below(values[:20_000].reshape(100, 200)).shape == (100, 200)
    assert all_normal_below(0.3) == pytest.approx(float(scipy.special.ndtr(0.3)), rel=1e-15)
