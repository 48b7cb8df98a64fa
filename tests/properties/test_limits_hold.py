"""In any random run under any policy no limit is exceeded, all counters equal a recount, and nobody waits for nothing.

From the events the set of running jobs is kept, and each start is put before a judge of its own (`limits_judge`).
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from limits_judge import USERS, Judge, accountings
from unit.core.world import HEAD, World

from slurmsim.core.records.job import Job
from slurmsim.model.accounting import Accounting

CONF = f"""{HEAD}AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
SchedulerParameters=bf_interval=10{{stop}}
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=pq Nodes=n[2-4] QOS=q2 MaxTime=60
"""
jobs = st.lists(
    st.tuples(
        st.sampled_from(sorted(USERS)), st.sampled_from(("normal", "q1", "q2")), st.sampled_from(("main", "pq")),
        st.sampled_from((1, 1, 2, 2, 3, 4, 6)), st.integers(1, 8), st.integers(30, 900), st.integers(0, 60),
    ),
    min_size=6, max_size=20,
)  # fmt: skip


def run(accounting: Accounting, lines: list[Any], policy: str, stop: str) -> World:
    w = World(CONF.format(stop=stop), policy, accounting=accounting)
    for number, (user, qos, partition, tasks, limit, seconds, at) in enumerate(lines):
        line = f"-J j{number} -p {partition} --qos {qos} -n {tasks} -t {limit}"
        w.sbatch(line, min(seconds, limit * 60), at=at, user=user)
    w.until(40_000)
    return w


@settings(max_examples=max(settings().max_examples, 48), deadline=None)
@given(accountings(), jobs, st.sampled_from(("backfill", "builtin", "easy", "fcfs", "conservative")),
       st.sampled_from(("", ",assoc_limit_stop")))  # fmt: skip
def test_no_limit_is_ever_exceeded(accounting: Accounting, lines: list[Any], policy: str, stop: str) -> None:
    w = run(accounting, lines, policy, stop)  # recounts everything at every instant
    judge = Judge(accounting)
    running: list[Job] = []
    for event in w.controller.state.events:
        if event[2] is None or event[1] not in ("START", "END"):
            continue
        job = next((j for j in w.jobs.values() if j.id == event[2]), None)
        if job is None:
            continue
        if event[1] == "START":
            running.append(job)
            assert judge.broken(job, running) == []
        elif job in running:
            running.remove(job)
    assert not running
    if stop:
        return  # then a job no limit will ever let start blocks its partition, in Slurm too
    # whoever still waits could not start on the empty cluster either
    for job in w.jobs.values():
        if job.state == "PENDING":
            empty = w.controller.state.selector.place(job.request, w.controller.state.table)
            if empty is not None:
                job.alloc, job.nodes = empty, empty.mask
                assert judge.broken(job, [job]), (job.reason, policy)


@settings(max_examples=max(settings().max_examples, 24), deadline=None)
@given(accountings(), jobs)
def test_leaving_out_barred_jobs_changes_no_start(accounting: Accounting, lines: list[Any]) -> None:
    """Backfill plans only as deep as the last job that could start, limits included; slurmctld plans them all."""
    starts = []
    for plan_all in (False, True):
        w = World(CONF.format(stop=""), "backfill", accounting=accounting)
        policy: Any = w.controller.state.policy
        policy.plan_all = plan_all
        for number, (user, qos, partition, tasks, limit, seconds, at) in enumerate(lines):
            line = f"-J j{number} -p {partition} --qos {qos} -n {tasks} -t {limit}"
            w.sbatch(line, min(seconds, limit * 60), at=at, user=user)
        w.until(6000)
        starts.append({name: (job.start_time, w.nodes(name)) for name, job in sorted(w.jobs.items())})
    assert starts[0] == starts[1]
