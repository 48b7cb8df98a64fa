"""What slurmctld keeps in memory of users, associations and QOS; numbers of devices; the log of completed jobs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
CONF = """ClusterName=c
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu,tape
JobCompType=jobcomp/filetxt
JobCompLoc=/var/log/done.txt
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=0
NodeName=n1 CPUs=8 Gres=gpu:a:2,gpu:b:2,tape:1
NodeName=n2 CPUs=8
PartitionName=p Nodes=ALL Default=YES MaxTime=60
"""
ACCOUNTS = """add account one fairshare=3 grptres=cpu=6
add user alice,bob account=one fairshare=1
add qos fast
modify user alice,bob set qos+=fast
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "accounts.txt").write_text(ACCOUNTS)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, accounting=["accounts.txt"],
                        users={"alice": "2001", "bob": "2002"})  # fmt: skip
    return make_engine(header, tmp_path)


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, person)


def submit(e: Engine, seconds: int = 600, **more: Any) -> int:
    job = {"name": "j", "script": f"#!/bin/sh\nsleep {seconds}\n", "work_dir": "/w", "time_limit": 10, **more}
    return int(do(e, "submit", ALICE, job=job)["job_id"])


def test_what_counts_against_limits(engine: Engine) -> None:
    for _ in range(3):
        submit(engine, num_tasks=3)
    engine.execute(START + 130, "ping", {}, ROOT)
    found = do(engine, "assoc_mgr", flags=["assoc"], users=["alice"])["assoc"]
    assert [(row["account"], row["user"]) for row in found] == [("root", None), ("one", None), ("one", "alice")]
    account = found[1]
    assert (account["usage"]["jobs"], account["usage"]["submit"]) == (2, 3)
    assert (account["grp_tres"], account["usage"]["tres"]["cpu"]) == ({"cpu": 6}, 6)
    assert account["usage"]["tres"]["node"] == 1  # which both are on
    assert account["used"]["mins"]["cpu"] >= 6 and account["level"] == 4
    assert found[0]["usage"] == account["usage"]  # the root has all


def test_a_running_job_is_billed_by_the_weights_it_started_with(engine: Engine) -> None:
    for billed in (3, 9):
        submit(engine, num_tasks=3)
        engine.execute(engine.now + 10, "ping", {}, ROOT)
        do(engine, "update_partition", partition={"name": "p", "billing_weights": "cpu=2.0"})
        found = do(engine, "assoc_mgr", flags=["assoc"], users=["alice"])["assoc"]
        assert found[1]["usage"]["tres"]["billing"] == billed


def test_whoever_had_jobs_in_a_qos_stays_on_its_list(engine: Engine) -> None:
    def users(name: str) -> list[str]:
        (row,) = do(engine, "assoc_mgr", flags=["qos"], qos=[name])["qos"]
        return [user[0] for user in row["users"]]

    job = submit(engine, qos="fast")
    assert (users("fast"), users("normal")) == (["alice"], [])
    do(engine, "kill", job_id=str(job))
    assert users("fast") == ["alice"]


def test_devices_have_numbers(engine: Engine) -> None:
    for gres in ("gpu:a:1", "gpu:b:2", "gpu:a:1", "tape:1"):
        submit(engine, tres_per_node=f"gres:{gres}")
    engine.execute(START + 10, "ping", {}, ROOT)
    jobs = do(engine, "jobs", fields=["gres_detail", "gres_total"])["columns"]
    assert jobs["gres_detail"] == [["gpu:a:1(IDX:0)"], ["gpu:b:2(IDX:2-3)"], ["gpu:a:1(IDX:1)"], ["tape(CNT:1)"]]
    assert jobs["gres_total"] == ["gpu:a:1", "gpu:b:2", "gpu:a:1", "tape:1"]
    used = do(engine, "nodes", fields=["gres_used"])["columns"]["gres_used"]
    assert used == ["gpu:a:2(IDX:0-1),gpu:b:2(IDX:2-3),tape:1", "gpu:0,tape:0"]
    do(engine, "kill", job_id="1")
    submit(engine, tres_per_node="gres:gpu:a:1")
    engine.execute(START + 30, "ping", {}, ROOT)
    assert do(engine, "jobs", job_id="5", fields=["gres_detail"])["columns"]["gres_detail"] == [["gpu:a:1(IDX:0)"]]


def test_completed_jobs_are_logged(engine: Engine, tmp_path: Path) -> None:
    submit(engine, 5)
    do(engine, "kill", job_id=str(submit(engine, begin_time=START + 5000)))
    job = submit(engine)
    engine.execute(START + 20, "ping", {}, ROOT)
    do(engine, "requeue_job", job_id=str(job))
    lines = (tmp_path / "var" / "log" / "done.txt").read_text().splitlines()
    told = [dict(word.split("=", 1) for word in line.split()) for line in lines]
    assert [(one["JobId"], one["JobState"], one["NodeList"]) for one in told] == [
        ("2", "CANCELLED", "(null)"), ("1", "COMPLETED", "n1"), ("3", "PENDING", "n1"),
    ]  # fmt: skip
    assert (told[1]["UserId"], told[1]["WorkDir"], told[1]["Cluster"], told[1]["Account"]) == (
        "alice(2001)", "/w", "c", "one",
    )  # fmt: skip
    assert {one["ExitCode"] for one in told} == {"0:0"}


def test_a_requeued_script_does_it_again_and_a_release_gives_a_priority_at_once(engine: Engine) -> None:
    job = submit(engine, 5)
    engine.execute(START + 3, "ping", {}, ROOT)
    do(engine, "requeue_job", job_id=str(job), hold=True)
    do(engine, "hold_job", job_id=str(job), kind="release")
    shown = do(engine, "jobs", job_id=str(job), fields=["priority", "state_reason"])["columns"]
    assert shown["priority"][0] > 0


def test_the_text_of_scontrol() -> None:
    from slurmsim.commands.scontrol.assoc_text import show_assoc_mgr

    class Client:
        patience_s = 0.0

        def call(self, name: str, **asked: Any) -> dict[str, Any]:
            assert (name, asked) == ("assoc_mgr", {"flags": ["users"], "users": ["alice"]})
            user = {"user": "alice", "uid": 1, "default_account": "a", "default_wckey": None, "admin_level": "None"}
            return {"users": [user], "assoc": [], "qos": []}

    class Io:
        client = Client()

        def __init__(self) -> None:
            self.text, self.complaints = io.StringIO(), []
            self.out, self.error = self.text.write, self.complaints.append

    class Session:
        release, one_line, code, quiet = "22.05", False, 0, 0

        def __init__(self) -> None:
            self.io = Io()

        def warn(self, text: str) -> None:
            self.io.error(text)

    session: Any = Session()
    show_assoc_mgr(session, ["flags=Users", "users=alice"])
    assert session.io.text.getvalue() == (
        "Current Association Manager state\n\nUser Records\n\n"
        "UserName=alice(1) DefAccount=a DefWckey= AdminLevel=None\n"
    )
    for words in (["flags=x"], ["frob=1"], ["users"]):
        show_assoc_mgr(session, words)
    assert session.io.complaints == [
        "invalid flag 'x', valid options are 'Assoc, QOS, and/or Users'",
        "invalid entity: frob=1 for keyword:show assoc_mgr", "No value given for option users",
    ]  # fmt: skip


def test_no_limit_keeps_a_finished_job_from_being_requeued(engine: Engine) -> None:
    job = submit(engine, 5)
    do(engine, "account_change", action="modify_qos", cond={"names": ["normal"]}, settings=[["MaxSubmitPU", "", "1"]])
    engine.execute(START + 60, "ping", {}, ROOT)
    submit(engine)
    do(engine, "requeue_job", ALICE, job_id=str(job), hold=False)
    shown = do(engine, "jobs", job_id=str(job), fields=["job_state", "account", "qos"])["columns"]
    assert shown == {"job_state": ["PENDING"], "account": ["one"], "qos": ["normal"]}


def test_an_account_that_moves_is_told_as_the_child_it_was(engine: Engine) -> None:
    do(engine, "account_change", action="add_account", names=["two"], settings=[])
    arguments = {"action": "modify_associations", "kind": "account", "cond": {"accounts": ["two"]}}
    told = do(engine, "account_change", **arguments, settings=[["Parent", "", "one"]])
    assert told["objects"] == ["C = c          A = two of root"]
