"""What a job uses is put against all it counts in alike by the kernel, as Python and as extension, and by NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel_forms import FORMS, kernel

KINDS, ROWS = 3, 6
JOBS = st.lists(
    st.tuples(
        st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=4, unique=True),
        st.lists(st.floats(0, 1e6), min_size=KINDS, max_size=KINDS),
        st.floats(-1e3, 1e3),
    ),
    max_size=12,
)


@FORMS
@given(jobs=JOBS)
def test_amounts_are_added_to_the_bit(form: str, jobs: list[tuple[list[int], list[float], float]]) -> None:
    found, expected = np.zeros((KINDS, ROWS)), np.zeros((KINDS, ROWS))
    for rows, values, times in jobs:
        rate = np.array(values)[:, None]
        kernel("amounts", form).add(found, np.array(rows, np.int64), rate, times)
        expected[:, rows] += rate * times
    assert found.tobytes() == expected.tobytes()


@FORMS
@given(jobs=JOBS, ended=st.data())
def test_rates_of_whoever_runs(
    form: str, jobs: list[tuple[list[int], list[float], float]], ended: st.DataObject
) -> None:
    """To the bit what NumPy says, and nothing where nobody runs any more."""
    rates, running = np.zeros((KINDS, ROWS)), np.zeros(ROWS, np.int64)
    expected, count = np.zeros((KINDS, ROWS)), np.zeros(ROWS, np.int64)
    for rows, values, _ in jobs:
        rate = np.array(values)[:, None]
        kernel("amounts", form).begin(rates, running, np.array(rows, np.int64), rate)
        expected[:, rows] += rate
        count[rows] += 1
    for rows, values, _ in ended.draw(st.permutations(jobs)):
        rate = np.array(values)[:, None]
        kernel("amounts", form).end(rates, running, np.array(rows, np.int64), rate)
        expected[:, rows] -= rate
        count[rows] -= 1
        expected[:, count == 0] = 0.0
        assert rates.tobytes() == expected.tobytes()
        assert running.tolist() == count.tolist()
    assert not rates.any()
