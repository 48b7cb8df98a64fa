"""When priorities of jobs are worked out anew that no pass looks at: by the thread, and at the end of an update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import do, engine_of, submit, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
BOB = Person("bob", 2002, "bob", 2002, "/home/bob")
CONF = """ClusterName=c
SlurmctldHost=head
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityWeightFairshare=1000
PriorityDecayHalfLife=1:0:0
NodeName=n1 CPUs=8
PartitionName=p Nodes=ALL Default=YES
"""
ACCOUNTS = "add account one\nadd user alice,bob account=one\n"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Alice's job 1 runs, 2 waits for its end, 3 is an array of which one task runs."""
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "accounts.txt").write_text(ACCOUNTS)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, accounting=["accounts.txt"],
                        users={"alice": "2001", "bob": "2002"})  # fmt: skip
    e = make_engine(header, tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 900\n", "work_dir": "/w", "time_limit": 30, "num_tasks": 2}
    for more in ({}, {"dependency": "afterany:1"}, {"array_inx": "0-3%1"}):
        e.execute(START, "submit", {"job": {**job, **more}}, ALICE)
    return e


def priority(e: Engine, job_id: str) -> int:
    return int(e.execute(e.now, "jobs", {"job_id": job_id, "fields": ["priority"]}, ROOT)["columns"]["priority"][0])


def test_the_thread_ranks_who_waits_for_something_else_as_well(engine: Engine) -> None:
    before = [priority(engine, job) for job in ("2", "3")]
    engine.execute(START + 130, "ping", {}, ROOT)
    assert all(priority(engine, job) < was for job, was in zip(("2", "3"), before, strict=True))


def test_a_refused_update_ranks_a_running_job_anew_unless_it_was_not_the_users(engine: Engine) -> None:
    def refused(person: Person, **job: Any) -> str:
        with pytest.raises(Refusal) as caught:
            engine.execute(engine.now, "update_job", {"job_id": "1", "job": job}, person)
        return caught.value.text

    before = priority(engine, "1")
    engine.execute(START + 130, "ping", {}, ROOT)
    assert refused(BOB, comment="x") == "Invalid user id"
    assert priority(engine, "1") == before
    assert refused(ALICE, features="x") == "Job is no longer pending execution"
    assert priority(engine, "1") < before


def test_an_array_is_eligible_behind_the_task_that_will_take_its_last_place(tmp_path: Path) -> None:
    def told() -> set[int]:
        return {job["job_id"] for job in do(e, "priority_factors")["jobs"]}

    e = engine_of(tmp_path, CONF.replace("CPUs=8", "CPUs=8 RealMemory=8000\nDefMemPerCPU=100"))
    submit(e, array_inx="0-3%1")
    wait(e, 60)
    do(e, "update_job", job_id="1_2", job={"comment": "has a record of its own"})
    do(e, "update_node", names="n1", state="DRAIN", reason="full")
    wait(e, 60)
    assert told() == set()
    do(e, "requeue_job", job_id="1_0", hold=True)
    wait(e, 60)
    assert told() == {1, 3}


def test_what_is_refused_before_anybody_asks_whose_the_job_is_ranks_it_anew(engine: Engine) -> None:
    before = priority(engine, "1")
    engine.execute(START + 130, "ping", {}, ROOT)
    with pytest.raises(Refusal, match="not supported on this system"):
        engine.execute(engine.now, "update_job", {"job_id": "1", "job": {"burst_buffer": ""}}, BOB)
    assert priority(engine, "1") < before


def test_an_update_that_changes_nothing_of_its_size_ranks_a_running_job_anew(engine: Engine) -> None:
    before = priority(engine, "1")
    engine.execute(START + 130, "ping", {}, ROOT)
    engine.execute(engine.now, "update_job", {"job_id": "1", "job": {"comment": "x"}}, ALICE)
    assert priority(engine, "1") < before
