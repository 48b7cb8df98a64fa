"""Who wants more than one that failed fails, against a list of all that failed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slurmsim_policies.slurm_backfill.dominated import Hopeless

REQUESTS = st.tuples(st.integers(-1, 1), st.integers(1, 6), st.integers(1, 6))


@given(failed=st.lists(REQUESTS, max_size=12))
def test_covers_who_wants_at_least_as_much_as_one_that_failed(failed: list[tuple[int, int, int]]) -> None:
    hopeless = Hopeless()
    known: list[tuple[int, int, int]] = []
    for kind, limit, need in failed:
        covered = any(k == kind and n <= need and s <= limit for k, s, n in known if k >= 0)
        assert hopeless.covers(kind, limit, need) == covered
        if not covered:
            hopeless.add(kind, limit, need)
            known.append((kind, limit, need))
