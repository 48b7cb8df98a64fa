"""The kernel of priorities against NumPy and sorting by keys, as Python and as an extension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.core.queue.priority import MAX_PRIORITY
from slurmsim.kernel import load, priorities

KERNELS = pytest.mark.parametrize("kernel", [priorities, load("priorities")], ids=["python", "extension"])
terms = st.floats(-1e4, 1e10, allow_nan=False) | st.sampled_from([0.0, 0.5, 1.0, 1e3])


@KERNELS
@given(keys=st.lists(st.integers(0, 60), max_size=150))
def test_order_is_that_of_a_stable_sort(kernel: Any, keys: list[int]) -> None:
    things = list(range(len(keys)))
    kernel.arrange(things, np.array(keys, np.float64))
    assert things == sorted(range(len(keys)), key=keys.__getitem__)


@KERNELS
@given(data=st.data(), n=st.integers(0, 12), age=st.sampled_from([0, 1000]), grows=st.booleans())
def test_changes_are_those_of_the_sum(kernel: Any, data: st.DataObject, n: int, age: int, grows: bool) -> None:
    weighted = np.array([[data.draw(terms) for _ in range(6)] for _ in range(n)]).reshape(n, 6)
    since = np.array([data.draw(st.integers(0, 200) | st.just(2**62)) for _ in range(n)], np.int64)
    branch = np.array([data.draw(st.integers(0, 3)) for _ in range(n)], np.int64)
    fixed, several = (np.array([data.draw(st.booleans()) for _ in range(n)], bool) for _ in range(2))
    factors = np.array([0.25, 1.0, 1 / 3])
    now, max_age, w_fairshare = 150, 130, 5000

    assoc, size, part, qos, tres, nice = weighted.T
    total = (age * np.minimum(np.maximum(now - since, 0) / max_age, 1.0) + assoc) if age else assoc
    total = total + (w_fairshare * np.append(factors, 0.0))[branch]
    value = np.where(several, part + (total + size + qos + tres - nice), total + size + part + qos + tres - nice)
    new = np.clip(np.trunc(value), 1, MAX_PRIORITY).astype(np.int64)
    had = np.array(
        [data.draw(st.sampled_from([1, MAX_PRIORITY, one, max(one - 1, 1)])) for one in new.tolist()], np.int64
    )
    expected = np.where(fixed, had, np.maximum(new, had) if grows else new)

    slots = list(range(n))
    changed = [slot for slot in slots if expected[slot] != had[slot]]
    flags = fixed.view(np.uint8), several.view(np.uint8)
    found = kernel.changes(
        slots, weighted, since, branch, had, *flags, factors, now, float(age), float(max_age), w_fairshare, grows
    )
    assert found == (changed, expected[changed].tolist())
    assert had.tolist() == expected.tolist()
