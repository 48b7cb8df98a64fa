"""Random jobs on few nodes that take their time to be clean: nobody enters one too early, and everybody runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.core.world import World

from slurmsim.bitmap import to_indices

CONF = """ClusterName=t
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=25
CompleteWait={wait}
SchedulerParameters=bf_interval=10{more}
NodeName=n[1-3] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
JOBS = st.lists(
    st.tuples(
        st.integers(0, 120),  # submitted
        st.sampled_from(("-n1", "-n3", "-N2 -n2", "-N1 --exclusive", "-N3 --exclusive", "-n6", "-n1 -w n2")),
        st.sampled_from((5, 30, 90, None)),  # runs that long; None until it is killed
        st.integers(1, 3),  # limit, minutes
    ),
    min_size=4, max_size=14,
)  # fmt: skip


@pytest.mark.parametrize("policy", ["backfill", "builtin"])
@settings(max_examples=max(settings.default.max_examples, 40), deadline=None)
@given(jobs=JOBS, epilog=st.sampled_from((0, 7, 60)), term=st.sampled_from((0, 10, 100)), wait=st.sampled_from((0, 15)))
def test_nobody_enters_a_node_that_is_completing(
    policy: str, jobs: list[tuple[int, str, int | None, int]], epilog: int, term: int, wait: int
) -> None:
    w = World(CONF.format(wait=wait, more=",defer" if len(jobs) % 2 else ""), policy, epilog=epilog, term=term)
    for number, (at, line, run, limit) in enumerate(jobs):
        w.sbatch(f"-J j{number} {line} -t {limit}", run, at=at)
    w.until(40_000)
    done = [job for job in w.jobs.values() if job.state in ("COMPLETED", "TIMEOUT")]
    assert len(done) == len(jobs), {job.name: (job.state, job.reason) for job in w.jobs.values()}
    for before in done:
        assert before.end_time is not None
        clean = before.end_time + epilog + (min(term, 25) if before.state == "TIMEOUT" else 0)
        held = set(to_indices(before.nodes).tolist())
        for after in done:
            assert after.start_time is not None
            if before.end_time <= after.start_time < clean:
                assert held.isdisjoint(to_indices(after.nodes).tolist()), f"{after.name} enters {before.name}'s nodes"
            held_up = min(clean, before.end_time + wait)
            assert not before.end_time <= after.start_time < held_up or not (epilog or term), "CompleteWait"
