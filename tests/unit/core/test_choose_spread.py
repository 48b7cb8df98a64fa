"""`choose_spread` is `choose` from arrays, for requests that only count CPUs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.core.placement.best_fit import Ask, choose, choose_spread

NODES = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 8), st.sampled_from([1, 1, 1, 5])), min_size=1, max_size=24
)


@given(
    nodes=NODES,
    cpus=st.integers(1, 60),
    most=st.one_of(st.integers(1, 6), st.just(500_000)),
    per_task=st.integers(1, 2),
)
def test_same_choice_as_the_general_form(
    nodes: list[tuple[int, int, int]], cpus: int, most: int, per_task: int
) -> None:
    at = np.cumsum([step for step, _, _ in nodes])
    have = np.array([c - c % per_task for _, c, _ in nodes], np.int64)
    weights = np.array([w for _, _, w in nodes], np.int64)
    keep = have > 0
    at, have, weights = at[keep], have[keep], weights[keep]
    want = -(-cpus // per_task) * per_task
    ask = Ask(1, 1, most, want, False, per_task, 1, False, per_task, False)
    if not len(at) or have.sum() < want:
        return
    fast = choose_spread(ask, at.astype(np.int64), have, weights)
    if fast is not None:
        assert fast == choose(ask, at.tolist(), have.tolist(), weights.tolist(), set())
        assert sum(fast.values()) >= want
        assert len(fast) <= most


def test_no_candidates_are_no_choice() -> None:
    nothing = np.zeros(0, np.int64)
    assert choose_spread(Ask(1, 1, 6, 4, False, 1, 1, False, 1, False), nothing, nothing, nothing) is None
