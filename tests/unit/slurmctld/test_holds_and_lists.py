"""What a hold and a release leave, how many nodes updates show, and what lists of partitions say.

All as small sessions with real Slurm 22.05 had it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, BATCH, do, engine_of, show, wait

from slurmsim.slurmctld.base.live_job import Row
from slurmsim.slurmctld.database.accounting_records import record_of
from slurmsim.slurmctld.engine.engine import Engine

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
DefMemPerCPU=100
SchedulerParameters=bf_interval=5
PriorityType=priority/multifactor
PriorityWeightPartition=1000
PriorityWeightAge=1000
PriorityMaxAge=10
NodeName=n[1-6] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
PartitionName=debug Nodes=n[1-2] MaxNodes=2 PriorityJobFactor=20
PartitionName=short Nodes=n[2-4] PriorityTier=20
PartitionName=scav Nodes=ALL
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return busy(tmp_path)


def busy(folder: Path, release: str = "22.05") -> Engine:
    """A cluster whose nodes all belong to one job."""
    e = engine_of(folder, CONF, release)
    submit(e, min_nodes=6, max_nodes=6, shared="exclusive")
    wait(e, 5)
    return e


def submit(e: Engine, **asked: Any) -> str:
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def update(e: Engine, job_id: str, **job: Any) -> None:
    do(e, "update_job", job_id=job_id, job=job)


def kill(e: Engine, job_id: str) -> None:
    do(e, "kill", job_id=job_id)


def until_backfill_has_seen(e: Engine, job_id: str) -> None:
    for _ in range(20):
        if show(e, job_id, "scheduler") == ["Backfill:*"]:
            return
        wait(e, 1)
    raise AssertionError("no cycle has seen it")


# -- holds ------------------------------------------------------------------------------------------------------------


def test_a_held_job_is_eligible_anew_once_a_pass_has_seen_its_release(cluster: Engine) -> None:
    job = submit(cluster)
    came = cluster.now
    wait(cluster, 6)
    assert show(cluster, job, "eligible_time") == [came]
    update(cluster, job, priority=0)
    assert show(cluster, job, "eligible_time", "accrue_time") == [0, came]  # where nothing limits it, its age goes on
    wait(cluster, 6)
    update(cluster, job, priority=0xFFFFFFFF)
    released = cluster.now
    assert show(cluster, job, "eligible_time", "accrue_time") == [0, came]
    wait(cluster, 6)
    assert released <= show(cluster, job, "eligible_time")[0] <= cluster.now


def test_slurmdbd_goes_on_to_tell_of_a_hold(cluster: Engine) -> None:
    job = submit(cluster)
    wait(cluster, 6)
    update(cluster, job, priority=0)
    update(cluster, job, priority=0xFFFFFFFF)
    wait(cluster, 6)
    live = next(live for live in cluster.jobs.values() if str(live.id) == job)
    assert (live.core.reason, record_of(cluster, Row(live)).reason) == ("Resources", "JobHeldAdmin")


def test_backfill_has_seen_who_was_held_since_and_forgets_the_plan(cluster: Engine) -> None:
    submit(cluster)
    job = submit(cluster)
    until_backfill_has_seen(cluster, job)
    update(cluster, job, priority=0)
    assert show(cluster, job, "scheduler") == ["Backfill:*"]
    wait(cluster, 11)
    assert show(cluster, job, "scheduler", "start_time", "sched_nodes") == ["Main", 0, ""]


# -- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "last"), [("22.05", True), ("24.11", False)])
def test_the_record_of_an_array_shows_the_start_of_its_last_task(tmp_path: Path, release: str, last: bool) -> None:
    e = busy(tmp_path, release)
    array = submit(e, array_inx="1-8", num_tasks=8, min_cpus=8)
    wait(e, 11)
    first = e.jobs[1].core.end_limit if 1 in e.jobs else None
    assert first is not None
    start = show(e, array, "start_time")[0]
    assert (start > first) is last


def test_slurmdbd_is_told_of_the_limit_a_task_waited_for(tmp_path: Path) -> None:
    e = engine_of(tmp_path, CONF)
    submit(e, array_inx="1-3%1")
    wait(e, 6)
    first, second = (live for live in e.jobs.values() if live.task in (1, 2))
    assert first.array is not None
    kill(e, f"{first.array.id}_1")
    wait(e, 10)
    assert [live.core.start_time is not None for live in (first, second)] == [True, True]
    assert [record_of(e, Row(live)).reason for live in (first, second)] == ["None", "JobArrayTaskLimit"]


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_cpus_of_an_update_count_in_the_nodes_shown_once_a_pass_has_tried(cluster: Engine) -> None:
    first = submit(cluster, num_tasks=10, min_cpus=10)
    second = submit(cluster, num_tasks=10, min_cpus=10)
    wait(cluster, 6)
    for job in (first, second):
        update(cluster, job, min_cpus=30)
        assert show(cluster, job, "num_nodes") == [2]
    wait(cluster, 6)
    assert [show(cluster, job, "num_nodes", "state_reason") for job in (first, second)] == [
        [4, "Resources"], [2, "Priority"],
    ]  # fmt: skip


def test_tasks_of_an_update_that_changes_no_tres_leave_the_nodes_found(cluster: Engine) -> None:
    job = submit(cluster, num_tasks=4, cpus_per_task=3, min_cpus=12)
    wait(cluster, 6)
    update(cluster, job, cpus_per_task=5)
    assert show(cluster, job, "num_nodes") == [2]
    update(cluster, job, min_nodes=3, max_nodes=5)
    assert show(cluster, job, "num_nodes") == [4]  # a node of eight has CPUs for one task


def test_nodes_shown_of_who_wants_as_few_as_can_be(cluster: Engine) -> None:
    job = submit(cluster, num_tasks=16, min_cpus=16, min_nodes=1, max_nodes=4, use_min_nodes=True)
    assert show(cluster, job, "num_nodes") == [2]


def test_tasks_of_a_job_that_never_ran_and_said_nothing_of_them(cluster: Engine) -> None:
    silent, named = submit(cluster), submit(cluster, num_tasks=3, min_cpus=3)
    assert show(cluster, silent, "tasks_unknown") == [False]
    for job in (silent, named):
        kill(cluster, job)
    assert show(cluster, silent, "tasks_unknown", "num_tasks") == [True, 0xFFFFFFFE]
    assert show(cluster, named, "tasks_unknown", "num_tasks") == [False, 3]


# -- lists of partitions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["debug,short", "short,debug", "batch,scav", "scav,batch"])
def test_where_a_submission_finds_no_nodes_its_partitions_stay_as_named(cluster: Engine, names: str) -> None:
    job = submit(cluster, partition=names)
    assert show(cluster, job, "partition", "state_reason") == [names, "Resources"]
    debug, first = 1000, names.startswith("debug")
    assert show(cluster, job, "priority") == [debug if first else 50]


@pytest.mark.parametrize(("names", "shown"), [("batch,short", "short,batch"), ("scav,batch", "scav,batch")])
def test_where_it_finds_some_that_partition_comes_first(tmp_path: Path, names: str, shown: str) -> None:
    e = engine_of(tmp_path, CONF)
    assert show(e, submit(e, partition=names), "partition") == [shown]


def test_the_priority_shown_is_that_of_the_record_a_pass_looks_at_last(cluster: Engine) -> None:
    jobs = [submit(cluster, partition=names) for names in ("batch,debug", "debug,batch", "short,debug")]
    wait(cluster, 6)
    assert [show(cluster, job, "priority")[0] < 1000 for job in jobs] == [True, True, False]


def test_the_last_partition_asked_has_the_last_word(cluster: Engine) -> None:
    submit(cluster, num_tasks=40, min_cpus=40)
    wait(cluster, 6)
    jobs = [submit(cluster, partition=names, min_nodes=3, max_nodes=3) for names in ("debug,batch", "batch,debug")]
    assert [show(cluster, job, "state_reason") for job in jobs] == [["Resources"], ["Resources"]]
    seen: list[set[str]] = [set(), set()]
    for _ in range(12):
        wait(cluster, 1)
        for job, reasons in zip(jobs, seen, strict=True):
            reasons.add(show(cluster, job, "state_reason")[0])
    assert seen == [{"Priority", "None"}, {"PartitionNodeLimit"}]


def test_of_partitions_alike_the_one_named_first_is_tried_first(cluster: Engine) -> None:
    job = submit(cluster, partition="scav,batch")
    kill(cluster, "1")
    wait(cluster, 10)
    assert show(cluster, job, "job_state", "partition") == ["RUNNING", "scav"]


# -- dependencies -----------------------------------------------------------------------------------------------------


def test_no_pass_has_seen_the_end_of_what_ended_in_the_same_second(cluster: Engine) -> None:
    other = submit(cluster, priority=0)
    job = submit(cluster, dependency=f"afterok:{other}")
    wait(cluster, 6)
    for one in (other, job):
        kill(cluster, one)
    assert show(cluster, job, "job_state", "dependency") == ["CANCELLED", f"afterok:{other}(unfulfilled)"]


def test_an_update_names_partitions_alike_in_its_own_order(tmp_path: Path) -> None:
    e = engine_of(tmp_path, CONF, "26.05")
    job = submit(e, dependency=f"afterany:{submit(e)}")
    update(e, job, partition="scav,batch")
    assert show(e, job, "partition") == ["scav,batch"]
    update(e, job, partition="batch,short,scav")
    assert show(e, job, "partition") == ["short,batch,scav"]
