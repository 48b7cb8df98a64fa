"""The moments of the future test against a walk over the jobs one by one, and counting against looking."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim import compiled
from slurmsim.core.placement.node_release_times import ONE_BY_ONE, NodeReleaseTimes

pytestmark = pytest.mark.skipif(compiled(), reason="compiled code takes no stand-ins for jobs: pure Python runs this")

N = 10  # nodes


@dataclass
class Running:
    """As much of a running job as `NodeReleaseTimes` looks at."""

    nodes: int

    @property
    def n_nodes(self) -> int:
        return self.nodes.bit_count()


@st.composite
def running(draw: st.DrawFn) -> tuple[list[tuple[int, int, Running]], int]:
    """Running jobs on disjoint whole nodes, and what is idle."""
    owners = draw(st.lists(st.integers(0, 6), min_size=N, max_size=N))  # 0: idle
    ends = draw(st.lists(st.integers(1, 2000) | st.sampled_from([100, 200]), min_size=7, max_size=7))
    jobs = []
    for owner in sorted(set(owners) - {0}):
        nodes = sum(1 << i for i, o in enumerate(owners) if o == owner)
        jobs.append((ends[owner], owner, Running(nodes)))
    return sorted(jobs, key=lambda entry: entry[:2]), sum(1 << i for i, o in enumerate(owners) if o == 0)


def batches(jobs: list[tuple[int, int, Running]], reach: int, linear: int) -> list[int]:
    """_will_run_test of select/cons_tres, job by job: how many are gone at each of its tests."""
    found = []
    origin, window, waiting = -1, 30, 0
    for k, (end, _, job) in enumerate(jobs):
        if not job.nodes & reach:
            continue
        if origin < 0:
            origin = end + 30 - end % 30
        waiting = k + 1
        following = jobs[k + 1][0] if k + 1 < len(jobs) else None
        if following is not None and following <= origin + window:
            continue
        found.append(k + 1)
        waiting = 0
        if following is not None:
            window = window + linear if linear else window * 2
            while following > origin + window:
                window = window + linear if linear else window * 2
    return [*found, waiting] if waiting else found


@given(running(), st.integers(0, (1 << N) - 1), st.sampled_from([0, 30, 60]))
def test_moments_of_the_future_test(world: tuple[list, int], reach: int, linear: int) -> None:
    jobs, idle = world
    assert list(NodeReleaseTimes(jobs, idle).in_batches(reach, linear)) == batches(jobs, reach, linear)  # type: ignore[arg-type]


@given(running(), st.integers(0, (1 << N) - 1), st.integers(0, 6), st.integers(0, 2100))
def test_moments_between_two_tries(world: tuple[list, int], reach: int, first: int, until: int) -> None:
    """Those gone before the one do not count, nor those that end after the other."""
    jobs, idle = world
    releases = NodeReleaseTimes(jobs, idle)  # type: ignore[arg-type]
    between = [entry for entry in jobs[first:] if entry[0] <= until]
    found = list(releases.in_batches(reach, 0, first, until))
    assert found == [first + gone for gone in batches(between, reach, 0)]
    for gone in found:
        on_reach = [end for end, _, job in jobs[first:gone] if job.nodes & reach]
        assert releases.last_end(first, gone, reach) == on_reach[-1]


@given(running(), st.integers(0, (1 << N) - 1))
def test_after_every_end(world: tuple[list, int], reach: int) -> None:
    jobs, idle = world
    counting = [(end, k + 1) for k, (end, _, job) in enumerate(jobs) if job.nodes & reach]
    last = dict(counting)  # of one end the last that counts
    assert list(NodeReleaseTimes(jobs, idle).at_ends(reach)) == list(last.values())  # type: ignore[arg-type]


@given(running(), st.integers(0, (1 << N) - 1))
def test_after_each_job(world: tuple[list, int], reach: int) -> None:
    """_will_run_test of select/linear."""
    jobs, idle = world
    counting = [k + 1 for k, (_, _, job) in enumerate(jobs) if job.nodes & reach]
    assert list(NodeReleaseTimes(jobs, idle).in_batches(reach, ONE_BY_ONE)) == counting  # type: ignore[arg-type]


@given(
    running(), st.integers(0, (1 << N) - 1), st.integers(1, N), st.sampled_from([0, 60, ONE_BY_ONE]), st.booleans()
)  # fmt: skip
def test_counting_finds_the_first_moment_with_enough(
    world: tuple[list, int], mask: int, need: int, linear: int, exact: bool
) -> None:
    jobs, idle = world
    releases = NodeReleaseTimes(jobs, idle)  # type: ignore[arg-type]

    def free(gone: int) -> int:
        return idle | sum(job.nodes for _, _, job in jobs[:gone])

    enough_now = (idle & mask).bit_count() >= need
    moments = list(releases.at_ends(mask) if exact else releases.in_batches(mask, linear))
    expected = next((p for p in moments if (free(p) & mask).bit_count() >= need), None)
    found = releases.first_with(need, mask, linear, exact)
    if enough_now and exact:
        assert found == 0
    else:
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert free(found) & mask == free(expected) & mask
            assert releases.ends[found - 1] == releases.ends[expected - 1]
    assert all(releases.free_after(p) == free(p) for p in range(len(jobs) + 1))
    if found:
        earliest = releases.earliest(need)
        assert earliest is None or earliest <= releases.ends[found - 1]
