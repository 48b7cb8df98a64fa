"""Answers of the newer releases, and what slurmctld says before a pass has looked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, do, show, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.requests.cluster.reservations import _altered
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
DefMemPerCPU=100
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
SchedulerParameters=bf_interval=5
NodeName=n[1-4] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
PartitionName=down Nodes=n1 State=DOWN
PartitionName=closed Nodes=n[1-4] AllowGroups=root
PartitionName=theirs Nodes=n[1-4] AllowAccounts=them
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "min_cpus": 1}


def engine(folder: Path, release: str, users: dict[str, str] | None = None) -> Engine:
    (folder / "slurm.conf").write_text(CONF)
    header = new_header(
        start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release, users=users or {}
    )
    return make_engine(header, folder)


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path, "24.11")


def submit(e: Engine, **asked: Any) -> str:
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def fill(e: Engine) -> None:
    """Nobody else can start."""
    submit(e, min_nodes=4, max_nodes=4, shared="exclusive", time_limit=60)
    wait(e, 6)


def test_an_array_that_has_lost_its_tasks_is_asked_and_answers_for_none(cluster: Engine) -> None:
    fill(cluster)
    array = submit(cluster, array_inx="1-3")
    wait(cluster, 6)
    do(cluster, "kill", ALICE, job_id=f"{array}_[1-3]")
    assert do(cluster, "update_job", job_id=array, job={"name": "other"}) == {"responses": []}


def test_lists_of_accounts_keep_nobody_out_where_there_are_no_accounts(cluster: Engine, tmp_path: Path) -> None:
    with pytest.raises(Refusal):
        submit(cluster, partition="theirs", pn_min_tmp_disk=10, num_tasks=3)
    job = submit(cluster, partition="theirs")
    wait(cluster, 6)
    assert show(cluster, job, "job_state") == ["RUNNING"]
    (tmp_path / "older").mkdir()
    assert submit(engine(tmp_path / "older", "22.05"), partition="theirs", pn_min_tmp_disk=10, num_tasks=3)


def test_a_job_that_was_refused_while_it_waited_for_another_was_never_eligible(cluster: Engine) -> None:
    first = submit(cluster)
    for dependency in ("", f"after:{first}+9"):
        with pytest.raises(Refusal):
            submit(cluster, pn_min_tmp_disk=10, dependency=dependency)
    assert [cluster.jobs[job].core.eligible_time for job in (2, 3)] == [START, None]


@pytest.mark.parametrize(("release", "state", "given"), [
    ("22.05", "IDLE", "mem=100M"), ("24.11", "MIXED", "mem=100M"), ("26.05", "MIXED", "mem=100M"),
])  # fmt: skip
def test_a_suspended_job_leaves_its_memory_on_the_node(tmp_path: Path, release: str, state: str, given: str) -> None:
    e = engine(tmp_path, release)
    job = submit(e)
    wait(e, 6)
    do(e, "suspend_job", job_id=job, op="suspend")
    found = do(e, "nodes", fields=["name", "state", "alloc_tres_fmt_str", "alloc_memory"])["columns"]
    assert [found[name][0] for name in ("name", "state", "alloc_tres_fmt_str", "alloc_memory")] == [
        "n1", state, given, 100,
    ]  # fmt: skip


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_whole_nodes_are_planned_beside_a_suspended_job(tmp_path: Path, release: str) -> None:
    e = engine(tmp_path, release)
    stopped = submit(e, req_nodes="n1", time_limit=60)
    others = submit(e, req_nodes="n[2-4]", min_nodes=3, max_nodes=3, min_cpus=24, num_tasks=24, time_limit=5)
    wait(e, 6)
    assert show(e, others, "job_state") == ["RUNNING"]
    do(e, "suspend_job", job_id=stopped, op="suspend")
    job = submit(e, min_nodes=4, max_nodes=4, shared="exclusive")
    wait(e, 20)
    begun = show(e, others, "start_time")[0]
    assert show(e, job, "start_time") == [begun + 300]


def test_an_update_to_fewer_tasks_than_nodes(tmp_path: Path) -> None:
    for release, refused in (("24.11", False), ("26.05", True)):
        (tmp_path / release).mkdir()
        e = engine(tmp_path / release, release)
        fill(e)
        job = submit(e, min_nodes=3, max_nodes=3, min_cpus=3)
        if refused:
            with pytest.raises(Refusal, match="Task count specification invalid"):
                do(e, "update_job", job_id=job, job={"num_tasks": 2})
        else:
            do(e, "update_job", job_id=job, job={"num_tasks": 2})


@pytest.mark.parametrize("whose", [{"users": "root"}, {"groups": "bob"}])
def test_who_is_in_no_list_cannot_be_taken_out_of_it(tmp_path: Path, whose: dict[str, str]) -> None:
    asked = {"start_time": START + 3600, "duration": 60, "node_list": "n1", "flags": [], "name": "r"}
    for release, says in (("22.05", ""), ("24.11", "Invalid user id"), ("26.05", "Invalid user id")):
        (tmp_path / release).mkdir()
        e = engine(
            tmp_path / release, release, {"alice": "2001:alice:2001:/home/alice", "bob": "2002:bob:2002:/home/bob"}
        )
        do(e, "create_reservation", reservation={**asked, **whose})
        change = {"name": "r", "users": "-alice", "flags": []}
        if says:
            with pytest.raises(Refusal, match=says):
                do(e, "update_reservation", reservation=change)
        else:
            do(e, "update_reservation", reservation=change)


def test_a_list_of_who_may_not_use_a_reservation_is_altered_the_other_way_round() -> None:
    assert _altered(["-bob"], ("-alice",), "") == ("-alice", "-bob")
    assert _altered(["+alice"], ("-alice", "-bob"), "") == ("-bob",)
    assert _altered(["+carol", "-alice"], ("alice", "bob"), "") == ("bob", "carol")
    with pytest.raises(Refusal, match="no such user"):
        _altered(["+carol"], ("-alice",), "no such user")


def test_partitions_named_twice_are_shown_once_of_a_job_that_waits_for_another(cluster: Engine) -> None:
    fill(cluster)
    first = submit(cluster)
    job = submit(cluster, partition="batch,batch", dependency=f"afterok:{first}")
    assert show(cluster, job, "partition") == ["batch"]


def test_backfill_says_again_who_is_in_no_group(cluster: Engine) -> None:
    """A pass says that the nodes are kept for others; the cycle plans it all the same, and finds out why not."""
    submit(cluster, min_nodes=3, max_nodes=3, shared="exclusive", time_limit=60)
    wait(cluster, 6)
    submit(cluster, min_nodes=4, max_nodes=4)
    job = submit(cluster, partition="closed", time_limit=5)
    wait(cluster, 61)
    assert " not in group permitted to use this partition (closed)" in cluster.jobs[int(job)].core.reason


def test_a_partition_that_is_down_hides_a_dependency_until_a_pass(cluster: Engine) -> None:
    fill(cluster)
    first = submit(cluster)
    job = submit(cluster, partition="down", dependency=f"afterok:{first}")
    assert show(cluster, job, "state_reason") == ["PartitionDown"]
    wait(cluster, 6)
    assert show(cluster, job, "state_reason") == ["Dependency"]


@pytest.mark.parametrize(("release", "cpus"), [("22.05", 1), ("24.11", 4), ("26.05", 4)])
def test_tasks_a_node_of_an_update(tmp_path: Path, release: str, cpus: int) -> None:
    e = engine(tmp_path, release)
    fill(e)
    job = submit(e, num_tasks=12, min_cpus=12)
    wait(e, 6)
    assert show(e, job, "num_nodes") == [2]
    do(e, "update_job", job_id=job, job={"ntasks_per_node": 4})
    assert show(e, job, "num_nodes", "pn_min_cpus") == [2, cpus]


def test_a_cancelled_job_that_is_requeued_says_what_it_said(cluster: Engine) -> None:
    fill(cluster)
    submit(cluster, num_tasks=16, min_cpus=16)
    job = submit(cluster)
    wait(cluster, 6)
    assert show(cluster, job, "state_reason", "num_nodes") == ["Priority", 1]
    do(cluster, "kill", ALICE, job_id=job)
    do(cluster, "requeue_job", job_id=job)
    assert show(cluster, job, "job_state", "state_reason") == ["PENDING", "Priority"]
    wait(cluster, 6)
    assert show(cluster, job, "state_reason") == ["BeginTime"]


def test_a_job_cancelled_with_what_it_waits_for_still_waits_for_it(cluster: Engine) -> None:
    fill(cluster)
    first = submit(cluster)
    job = submit(cluster, dependency=f"afterok:{first}")
    wait(cluster, 6)
    do(cluster, "kill", ALICE, job_id=first)
    do(cluster, "kill", ALICE, job_id=job)
    assert show(cluster, job, "state_reason") == ["Dependency"]


def test_a_job_that_never_started_keeps_the_nodes_found_for_it(cluster: Engine) -> None:
    fill(cluster)
    job = submit(cluster, num_tasks=20, min_cpus=20)
    wait(cluster, 12)
    do(cluster, "kill", ALICE, job_id=job)
    assert show(cluster, job, "num_nodes", "scheduler") == [3, "Backfill"]


def test_memory_of_temporary_disks_counts_after_an_update(cluster: Engine) -> None:
    fill(cluster)
    job = submit(cluster)
    wait(cluster, 6)
    do(cluster, "update_job", job_id=job, job={"pn_min_tmp_disk": 5})
    wait(cluster, 3700)
    assert show(cluster, job, "job_state", "state_reason") == ["PENDING", "BadConstraints"]


def test_a_job_that_was_refused_has_failed_to_those_that_name_it(cluster: Engine) -> None:
    with pytest.raises(Refusal):
        submit(cluster, min_nodes=5, max_nodes=5)
    assert show(cluster, "1", "job_state", "state_reason") == ["FAILED", "BadConstraints"]
    job = submit(cluster, dependency="afterok:1")
    wait(cluster, 6)
    assert show(cluster, job, "state_reason") == ["DependencyNeverSatisfied"]


def test_another_default_qos_is_for_other_jobs(tmp_path: Path) -> None:
    more = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,qos\n"
    (tmp_path / "slurm.conf").write_text(CONF + more)
    (tmp_path / "accounts.txt").write_text(
        "add qos high\nadd account one\nadd user alice account=one qos=normal,high\n"
    )
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release="26.05",
                        accounting=["accounts.txt"], users={"alice": "2001"})  # fmt: skip
    e = make_engine(header, tmp_path)
    fill(e)
    job = submit(e)
    change = {"action": "modify_associations", "kind": "user", "cond": {"users": ["alice"]}}
    do(e, "account_change", **change, settings=[["DefaultQOS", "", "high"]])
    do(e, "update_job", job_id=job, job={"min_nodes": 2})
    assert show(e, job, "qos") == ["normal"]
    assert show(e, submit(e), "qos") == ["high"]


@pytest.mark.parametrize(("partitions", "told"), [("batch,closed", False), ("closed,batch", True), ("closed", True)])
def test_a_closed_partition_is_told_of_if_it_is_asked_first(cluster: Engine, partitions: str, told: bool) -> None:
    job = submit(cluster, partition=partitions)
    assert cluster.jobs[int(job)].core.reason.startswith("uid ") == told


@pytest.mark.parametrize(("release", "state"), [("24.11", "REQUEUED"), ("26.05", "CANCELLED")])
def test_the_row_of_a_job_that_is_requeued_after_its_end(tmp_path: Path, release: str, state: str) -> None:
    e = engine(tmp_path, release)
    job = submit(e)
    wait(e, 6)
    do(e, "kill", ALICE, job_id=job)
    ended = e.now
    wait(e, 60)
    do(e, "requeue_job", job_id=job)
    (row,) = e.storage.earlier[int(job)]
    assert (row.state, row.end == ended) == (state, state == "CANCELLED")
