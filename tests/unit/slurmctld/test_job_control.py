"""Job control of scontrol: what requeue, top, resume and notify make of a job, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
BOB = Person("bob", 2002, "bob", 2002, "/home/bob")
JOB = {"name": "j", "work_dir": "/tmp", "time_limit": 10, "num_tasks": 8}


@pytest.fixture
def cluster() -> Engine:
    """Two nodes of four CPUs: job 1 runs on all of them, 2, 3 and the array 4 wait, 5 is bob's."""
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, nodes=2, cpus=4, owner=0), Path("."))
    script = "#!/bin/sh\nsleep 500\n"
    for person, more in ((ALICE, {}), (ALICE, {}), (ALICE, {}), (ALICE, {"array_inx": "1-3"}), (BOB, {})):
        e.execute(START, "submit", {"job": {**JOB, "script": script, **more}}, person)
    e.execute(START + 10, "ping", {}, ROOT)
    return e


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, person)


def says(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> str:
    try:
        do(e, call, person, **arguments)
    except Refusal as refusal:
        return refusal.text
    return ""


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


STATE = ("job_state", "state_flags", "state_reason", "state_desc")


def test_a_job_requeued_while_it_runs_is_completing_for_a_moment(cluster: Engine) -> None:
    do(cluster, "requeue_job", ALICE, job_id="1", hold=False)
    assert show(cluster, "1", *STATE) == ["PENDING", ["COMPLETING"], "None", None]
    cluster.execute(cluster.now + 70, "ping", {}, ROOT)
    assert show(cluster, "1", *STATE) == ["PENDING", [], "BeginTime", None]


def test_requeuehold_of_a_running_job(cluster: Engine) -> None:
    do(cluster, "requeue_job", ALICE, job_id="1", hold=True)
    assert show(cluster, "1", *STATE) == ["PENDING", ["COMPLETING"], "JobHeldUser", "job requeued in held state"]


@pytest.mark.parametrize(
    ("hold", "shown"),
    [(False, ["PENDING", [], "None", None]),
     (True, ["PENDING", [], "JobHeldUser", "job requeued in held state"])],
)  # fmt: skip
def test_a_job_that_has_ended_is_requeued(cluster: Engine, hold: bool, shown: list[Any]) -> None:
    do(cluster, "kill", job_id="1")
    cluster.execute(cluster.now + 10, "ping", {}, ROOT)
    do(cluster, "requeue_job", ALICE, job_id="1", hold=hold)
    assert show(cluster, "1", *STATE) == shown


def test_a_partition_that_is_inactive_is_told_of_once_the_change_is_made(cluster: Engine) -> None:
    text = "Requested partition configuration not available now"
    partition = show(cluster, "2", "partition")[0]
    do(cluster, "update_partition", partition={"name": partition, "state_up": "INACTIVE"})
    assert says(cluster, "update_job", job_id="2", job={"name": "other"}) == text
    assert says(cluster, "hold_job", ALICE, job_id="2", kind="hold") == text
    assert show(cluster, "2", "name", "state_reason") == ["other", "JobHeldUser"]


def test_what_resume_says_of_a_job_that_is_not_there(cluster: Engine) -> None:
    for person in (ROOT, ALICE):
        assert says(cluster, "suspend_job", person, job_id="99", op="resume") == "Unexpected message received"


def test_a_task_of_a_job_that_is_no_array_is_not_there(cluster: Engine) -> None:
    for op, job_id in (("suspend", "1_4"), ("suspend", "2_0"), ("resume", "5_1")):
        found = do(cluster, "suspend_job", job_id=job_id, op=op)
        assert found["responses"] == [[job_id, "Invalid job id specified"]]


@pytest.mark.parametrize(
    ("job", "text"),
    [("1", ""), ("2", "Requested operation is presently disabled"), ("99", "Invalid job id specified")],
)
def test_what_notify_says(cluster: Engine, job: str, text: str) -> None:
    assert says(cluster, "notify_job", ALICE, job_id=job, message="hello") == text


def test_a_job_that_has_ended_cannot_be_told_anything(cluster: Engine) -> None:
    do(cluster, "kill", job_id="2")
    assert says(cluster, "notify_job", job_id="2", message="x") == "Job/step already completing or completed"


def test_top_gives_jobs_the_highest_priorities_of_their_kind(cluster: Engine) -> None:
    first, second, array, bobs = (show(cluster, job, "priority")[0] for job in ("2", "3", "4", "5"))
    assert says(cluster, "top_job", job_id="4,3") == ""
    assert show(cluster, "4", "priority", "nice") == [first, array - first]
    assert show(cluster, "3", "priority") == [second]
    assert show(cluster, "2", "priority") == [array]
    assert show(cluster, "5", "priority") == [bobs]


@pytest.mark.parametrize(
    ("jobs", "text"),
    [
        ("1", "Job is no longer pending execution"),
        ("1,2", ""),  # what is left is enough
        ("2,99", "Invalid job id specified"),
        ("4_2", "Job is in held state, pending scheduler release"),
    ],
)
def test_what_top_says(cluster: Engine, jobs: str, text: str) -> None:
    do(cluster, "hold_job", job_id="4_2", kind="hold")
    assert says(cluster, "top_job", job_id=jobs) == text


def test_what_a_partition_limit_says_outlives_an_update(cluster: Engine) -> None:
    """Where job_limits_check still finds it; else the job waits for nothing until a pass has looked."""
    do(cluster, "update_partition", partition={"name": "debug", "max_time": 5})
    cluster.execute(cluster.now + 60, "ping", {}, ROOT)
    assert show(cluster, "3", "state_reason", "start_time", "scheduler") == ["PartitionTimeLimit", 0, "Main"]
    do(cluster, "update_job", job={"comment": "a"}, job_id="3")
    assert show(cluster, "3", "state_reason") == ["PartitionTimeLimit"]
    do(cluster, "update_job", job={"time_limit": 5}, job_id="3")
    assert show(cluster, "3", "state_reason") == ["None"]


def test_sbatch_names_no_limit_of_its_partition(cluster: Engine) -> None:
    """Its own test of a job ends at any of them; a pass tells which, and what else the job waits for."""
    do(cluster, "update_partition", partition={"name": "debug", "max_time": 5})
    job = {**JOB, "script": "#!/bin/sh\n"}
    do(cluster, "submit", ALICE, job=job)
    do(cluster, "submit", ALICE, job={**job, "dependency": "afterany:1"})
    do(cluster, "submit", ALICE, job={**job, "time_limit": 5})
    do(cluster, "submit", ALICE, job={**job, "hold": True})
    reasons = [show(cluster, job_id, "state_reason")[0] for job_id in ("6", "7", "8", "9")]
    assert reasons == ["PartitionConfig", "PartitionConfig", "None", "JobHeldUser"]
    cluster.execute(cluster.now + 60, "ping", {}, ROOT)
    reasons = [show(cluster, job_id, "state_reason")[0] for job_id in ("6", "7", "8", "9")]
    assert reasons == ["PartitionTimeLimit", "Dependency", "Resources", "JobHeldUser"]


@pytest.mark.parametrize(("partitions", "reason"), [("off,debug", "PartitionDown"), ("debug,off", "None")])
def test_the_first_partition_settles_what_sbatch_says(cluster: Engine, partitions: str, reason: str) -> None:
    do(cluster, "create_partition", partition={"name": "off", "nodes": "ALL", "state_up": "DOWN"})
    do(cluster, "submit", ALICE, job={**JOB, "num_tasks": 1, "script": "#!/bin/sh\n", "partition": partitions})
    assert show(cluster, "6", "state_reason") == [reason]


def test_an_immediate_allocation_in_a_partition_that_is_down(cluster: Engine) -> None:
    do(cluster, "create_partition", partition={"name": "off", "nodes": "ALL", "state_up": "DOWN"})
    job = {"name": "s", "work_dir": "/tmp", "num_tasks": 1, "partition": "off", "immediate": 1}
    for job_id in "12345":
        do(cluster, "kill", job_id=job_id, signal=9)
    found = do(cluster, "submit", ALICE, job={**job, "allocate": True, "held": True})
    assert found["refused"] == "Partition in DOWN state"


@pytest.mark.parametrize("more", [{"num_tasks": 500, "min_cpus": 500}, {"partition": "brief", "time_limit": 60}])
def test_an_immediate_allocation_that_is_too_much_for_its_partition(cluster: Engine, more: dict[str, Any]) -> None:
    """Whoever is ahead of it: 22.05 tests limits of the partition before it asks."""
    do(cluster, "create_partition", partition={"name": "brief", "nodes": "ALL", "max_time": 5})
    job = {"name": "s", "work_dir": "/tmp", "num_tasks": 1, "immediate": 1, "allocate": True, "held": True, **more}
    assert do(cluster, "submit", ALICE, job=job)["refused"] == "Requested partition configuration not available now"


@pytest.mark.parametrize(("more", "reason"), [({}, "Priority"), ({"array_inx": "1-2"}, "None")])
def test_who_is_ahead_is_told_at_once(cluster: Engine, more: dict[str, Any], reason: str) -> None:
    """Also of a job whose dependencies are met when it is submitted; of an array nothing is asked."""
    job = {**JOB, "name": "own", "script": "#!/bin/sh\n"}
    do(cluster, "submit", ROOT, job={**job, "priority": 100})
    do(cluster, "submit", ALICE, job={**job, "dependency": "singleton", **more})
    assert show(cluster, "7", "state_reason") == [reason]


def test_an_operator_may_set_a_limit_beyond_that_of_the_partition(cluster: Engine) -> None:
    """The job then waits for nodes like others, until its user sets the limit; as real slurmctld 22.05.8 told."""
    do(cluster, "update_partition", partition={"name": "debug", "max_time": 5})
    cluster.execute(cluster.now + 60, "ping", {}, ROOT)
    assert show(cluster, "3", "state_reason") == ["PartitionTimeLimit"]
    do(cluster, "update_job", job={"time_limit": 90}, job_id="3")
    cluster.execute(cluster.now + 60, "ping", {}, ROOT)
    assert show(cluster, "3", "state_reason", "time_limit") == ["Resources", 90]
    do(cluster, "update_job", ALICE, job={"time_limit": 80}, job_id="3")
    cluster.execute(cluster.now + 60, "ping", {}, ROOT)
    assert show(cluster, "3", "state_reason") == ["PartitionTimeLimit"]
