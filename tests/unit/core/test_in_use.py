"""The nodes jobs of one group have, counted once however many jobs share them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.bitmap import to_indices
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters

pytestmark = pytest.mark.hypothesis
MASKS = st.integers(0, 2**6 - 1)


@given(steps=st.lists(st.tuples(MASKS, st.booleans(), st.integers(0, 99)), max_size=40))
def test_nodes_in_use_equal_a_count_per_node(steps: list[tuple[int, bool, int]]) -> None:
    in_use = UsageCounters(TrackedTres(["node"]))
    running: list[int] = []
    for mask, ends, which in steps:
        if ends and running:
            gone = running.pop(which % len(running))
            in_use.end([gone.bit_count()], gone)
        else:
            running.append(mask)
            in_use.begin([mask.bit_count()], mask)
        jobs_on = Counter(int(node) for job in running for node in to_indices(job))
        assert set(map(int, to_indices(in_use.nodes))) == {node for node, jobs in jobs_on.items() if jobs}
        assert in_use.tres == [len(+jobs_on)]
        assert in_use.jobs == len(running)


def test_nodes_are_not_kept_where_nobody_limits_them() -> None:
    in_use = UsageCounters(TrackedTres(["cpu"]))
    in_use.begin([3], 0b11)
    assert (in_use.nodes, in_use.tres) == (0, [3])
