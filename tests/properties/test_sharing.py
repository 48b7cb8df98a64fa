"""Random jobs in partitions that share cores: no core has more jobs than rows, nor one that may not share."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from unit.core.world import HEAD, World

CONF = f"""{HEAD}SchedulerParameters=bf_interval=10
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=1600
NodeName=n4 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1600
PartitionName=force Nodes=ALL Default=YES OverSubscribe=FORCE:2
PartitionName=high Nodes=n[1-3] OverSubscribe=FORCE:3 PriorityTier=5
PartitionName=yes Nodes=ALL OverSubscribe=YES:2
PartitionName=excl Nodes=n[2-4] OverSubscribe=EXCLUSIVE
PartitionName=no Nodes=ALL
PartitionName=user Nodes=ALL ExclusiveUser=YES
"""
JOBS = st.lists(
    st.tuples(
        st.sampled_from(("force", "force", "high", "yes", "excl", "no", "user")),
        st.sampled_from(("-n1", "-n2", "-n5", "-N2 -n4", "-N1 -n4", "-n1 -c2")),
        st.sampled_from(("", "", "-s", "--exclusive", "--exclusive=user")),
        st.integers(1, 90),  # runs
        st.integers(0, 40),  # comes after the one before
        st.sampled_from(("alice", "bob")),
    ),
    min_size=1,
    max_size=14,
)


def check(w: World) -> None:
    """What may run together on one core and on one node."""
    by_core: dict[tuple[int, int], list[str]] = {}
    by_node: dict[int, list[str]] = {}
    running = {name: job for name, job in w.jobs.items() if job.alloc is not None and job.state == "RUNNING"}
    for name, job in running.items():
        cores = (
            job.alloc.share.cores if job.alloc.share is not None else dict.fromkeys(job.alloc.indices().tolist(), -1)
        )
        for node, bits in cores.items():
            by_node.setdefault(node, []).append(name)
            for core in range(4):
                if bits >> core & 1:
                    by_core.setdefault((node, core), []).append(name)
    for names in by_core.values():
        if len(names) > 1:
            assert all(running[n].request.sharing == "row" for n in names)
            for partition, count in Counter(running[n].partition.name for n in names).items():
                assert count <= {"force": 2, "high": 3, "yes": 2}[partition]
    for names in by_node.values():
        # who shares no core is beside sharers of his own partition only, on other cores (asked of 22.05.8)
        for own in (running[n] for n in names if running[n].request.sharing == "one"):
            others = [running[n] for n in names if running[n].partition is not own.partition]
            assert all(job.request.sharing == "one" for job in others)
        if any(running[n].alloc.whole for n in names):
            assert len(names) == 1
        alone = [n for n in names if running[n].partition.name == "user" or running[n].sub.request.exclusive_user]
        if alone:
            assert len({running[n].user for n in names}) == 1


@given(JOBS, st.sampled_from(("backfill", "easy", "conservative", "fcfs")))
def test_cores_are_shared_by_those_who_may(jobs: list[tuple[str, str, str, int, int, str]], policy: str) -> None:
    w = World(CONF, policy)
    now = 0
    for number, (partition, size, how, runs, later, user) in enumerate(jobs):
        now += later
        w.sbatch(f"-p {partition} -J j{number} {size} {how} -t 2", runs, at=now, user=user)
        w.until(now)
        check(w)
    for time in range(now, now + 14 * 700, 50):
        w.until(time)
        check(w)
    assert {job.state for job in w.jobs.values()} <= {"COMPLETED"}, "somebody waits for ever"
    cores = w.controller.state.table.cores
    assert cores is not None and not cores.sole and not any(row for rows in cores.rows.values() for row in rows)
