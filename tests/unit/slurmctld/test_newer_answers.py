"""Answers of the newer releases, and what slurmctld says before a pass has looked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, do, show, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine
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


def engine(folder: Path, release: str) -> Engine:
    (folder / "slurm.conf").write_text(CONF)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release)
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


def test_what_an_account_keeps_out_is_not_asked_for_nodes(cluster: Engine) -> None:
    assert submit(cluster, partition="theirs", pn_min_tmp_disk=10, num_tasks=3)
    with pytest.raises(Refusal):
        submit(cluster, partition="batch", pn_min_tmp_disk=10)


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
