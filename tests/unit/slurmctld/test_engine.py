"""The live cluster without sockets: ids, arrays, refusals, and the journal's promise that replaying gives the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import task_list
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.fields.last_sched_eval import last_cycle
from slurmsim.slurmctld.history.journal import Journal
from slurmsim.slurmctld.server.start import make_engine, new_header, replay

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
FIELDS = [
    "job_id",
    "array_job_id",
    "array_task_id",
    "array_task_str",
    "job_state",
    "state_reason",
    "start_time",
    "nodes",
]


def engine() -> Engine:
    """Two nodes of four CPUs, jobs only seem to run."""
    header = new_header(start=START, mode="frozen", rate=1.0, nodes=2, cpus=4, owner=0)
    return make_engine(header, Path("."))


def job(name: str = "j", seconds: int = 100, **more: Any) -> dict[str, Any]:
    return {
        "job": {"name": name, "script": f"#!/bin/sh\nsleep {seconds}\n", "work_dir": "/tmp", "time_limit": 10, **more}
    }


def table(e: Engine, at: int = 0) -> list[dict[str, Any]]:
    found = e.execute(max(START + at, e.now), "jobs", {"fields": FIELDS}, ROOT)
    return [{name: found["columns"][name][k] for name in FIELDS} for k in range(found["n"])]


def test_a_job_starts_and_ends_by_itself() -> None:
    e = engine()
    assert e.execute(START, "submit", job(), ALICE) == {"job_id": 1}
    (row,) = table(e, 10)
    assert (row["job_state"], row["nodes"]) == ("RUNNING", "n1")
    (row,) = table(e, 120)
    assert row["job_state"] == "COMPLETED"
    assert not e.busy


def test_pending_tasks_are_one_record_and_take_ids_when_they_start() -> None:
    e = engine()
    e.execute(START, "submit", job(array_inx="1-5%2", num_tasks=2), ALICE)
    e.execute(START, "submit", job("other"), ALICE)
    rows = {row["job_id"]: row for row in table(e, 10)}
    # the array is 1, the other job 2; the two tasks that started took 3 and 4
    assert sorted(rows) == [1, 2, 3, 4]
    assert (rows[1]["array_task_str"], rows[1]["state_reason"]) == ("3-5%2", "JobArrayTaskLimit")
    assert [rows[k]["array_task_id"] for k in (3, 4)] == [1, 2]
    done = table(e, 340)
    last = [row for row in done if row["array_task_id"] == 5]
    assert last[0]["job_id"] == 1  # the last one left has the array's id


def test_a_refusal_changes_nothing() -> None:
    e = engine()
    with pytest.raises(Refusal) as refused:
        e.execute(START, "submit", job(partition="nowhere"), ALICE)
    assert refused.value.text == "invalid partition specified: nowhere\nInvalid partition name specified"
    assert table(e) == []
    assert e.execute(START, "submit", job(), ALICE) == {"job_id": 1}


def test_only_the_user_and_the_owner_may_cancel() -> None:
    e = engine()
    e.execute(START, "submit", job(), ALICE)
    with pytest.raises(Refusal) as refused:
        e.execute(START, "kill", {"job_id": "1"}, Person("bob", 2002, "bob", 2002, "/"))
    assert (refused.value.text, refused.value.number) == ("Access/permission denied", 2002)
    e.execute(START, "kill", {"job_id": "1"}, ROOT)
    assert table(e)[0]["job_state"] == "CANCELLED"


def test_test_only_tells_where_and_starts_nothing() -> None:
    e = engine()
    told = e.execute(START, "submit", {**job(min_nodes=2), "will_run": True}, ALICE)
    assert (told["start_time"], told["node_list"], told["proc_cnt"]) == (START, "n[1-2]", 2)
    assert table(e) == []


def test_the_journal_gives_everything_back(tmp_path: Path) -> None:
    e, journal = engine(), Journal(tmp_path / "journal")
    journal.begin({})
    asked = [
        (0, "submit", job(array_inx="1-4%1")), (5, "submit", job("b", 30, num_tasks=8)), (7, "kill", {"job_id": "1_3"}),
        (48, "submit", job("d", min_nodes=0)), (50, "submit", job("c")), (51, "kill", {"job_id": "1"}),
    ]  # fmt: skip
    for at, call, arguments in asked:
        who = (ALICE.uid, ALICE.name)
        try:
            e.execute(START + at, call, arguments, ALICE)
        except Refusal:
            who = (ROOT.uid, ROOT.name)
            call, arguments = "last_id", {"id": e.job_table.last_id}  # the id it took is gone for ever
        journal.append([START + at, call, *who, arguments])
    journal.close()
    again = engine()
    replay(again, Journal(tmp_path / "journal").open().entries)
    assert table(again, 60) == table(e, 60) != []


@pytest.mark.parametrize(
    ("tasks", "limit", "text"),
    [
        ([1, 3, 4, 5, 20], None, "1,3-5,20"),
        (range(0, 30, 5), 2, "0-25:5%2"),
        ([3], None, "3"),
        (range(0, 11, 2), None, "0,2,4,6,8,10"),
    ],
)
def test_task_lists(tasks: list[int], limit: int | None, text: str) -> None:
    assert task_list(tasks, limit) == text


def test_an_array_that_misses_its_deadline_ends_as_the_one_record_it_is() -> None:
    """Its tasks have taken no ids (real 22.05.8: ``24`` with ``ArrayTaskId=0-20%2``, and 25 is the next job)."""
    e = engine()
    e.execute(START, "submit", job(seconds=3000, num_tasks=8, time_limit=60), ALICE)
    e.execute(START, "submit", job(array_inx="0-20%2", num_tasks=8, deadline=START + 900), ALICE)
    rows = {row["job_id"]: row for row in table(e, 400)}
    assert sorted(rows) == [1, 2]
    assert (rows[2]["job_state"], rows[2]["array_task_str"]) == ("DEADLINE", "0-20%2")
    assert e.execute(e.now, "submit", job(hold=True, priority=0), ALICE) == {"job_id": 3}
    table(e, 4000)
    assert len(e.controller.state.jobs) == 1  # nobody is left over in the core


def held_array() -> Engine:
    e = engine()
    e.execute(START, "submit", job(array_inx="1-6", hold=True, priority=0), ALICE)
    return e


def test_tasks_cancelled_before_they_were_split_off_leave_neither_records_nor_ids() -> None:
    e = held_array()
    e.execute(START + 5, "kill", {"job_id": "1_[2,4]"}, ALICE)
    (row,) = table(e, 6)
    assert (row["job_id"], row["array_task_str"], row["job_state"]) == (1, "1,3,5-6", "PENDING")
    assert e.job_table.last_id == 1
    with pytest.raises(Refusal):
        e.execute(START + 7, "kill", {"job_id": "1_2"}, ALICE)


@pytest.mark.parametrize(("named", "left"), [("1", "1-6"), ("1_[1-6]", None)])
def test_the_rest_of_an_array_is_cancelled_as_the_one_record_it_is(named: str, left: str | None) -> None:
    e = held_array()
    e.execute(START + 5, "kill", {"job_id": named}, ALICE)
    (row,) = table(e, 6)
    assert (row["job_id"], row["job_state"], row["array_task_str"]) == (1, "CANCELLED", left)
    assert row["array_task_id"] is None
    assert row["state_reason"] == "JobHeldUser"


def test_a_task_is_not_cancelled_by_the_id_it_took() -> None:
    e = engine()
    e.execute(START, "submit", job(array_inx="1-2"), ALICE)
    assert {row["job_id"] for row in table(e, 10)} == {1, 2}
    with pytest.raises(Refusal):
        e.execute(START + 11, "kill", {"job_id": "2"}, ALICE)
    e.execute(START + 12, "kill", {"job_id": "1_1"}, ALICE)
    assert [row["job_state"] for row in table(e, 13)] == ["CANCELLED", "RUNNING"]


def test_what_is_left_of_an_array_goes_to_the_end_of_the_job_table() -> None:
    e = engine()
    e.execute(START, "submit", job(array_inx="1-3", num_tasks=4), ALICE)
    e.execute(START, "submit", job("other"), ALICE)
    assert [row["job_id"] for row in table(e, 10)] == [3, 2, 4, 1]


def test_a_rejected_job_is_there_again_after_a_restart() -> None:
    e = engine()
    asked = job(exc_nodes="n[1-2]")
    with pytest.raises(Refusal):
        e.execute(START, "submit", asked, ALICE)
    assert [row["job_state"] for row in table(e, 1)] == ["FAILED"]
    again = engine()
    replay(again, [(1, [START, "submit", ALICE.uid, ALICE.name, asked])])
    assert table(again, 1) == table(e, 1)
    assert again.job_table.last_id == e.job_table.last_id


def test_what_is_left_of_an_array_counts_the_nodes_of_the_task_that_started() -> None:
    e = engine()
    for more in ({"num_tasks": 3}, {"num_tasks": 3}, {"array_inx": "1-3", "num_tasks": 2}):
        e.execute(START, "submit", job(seconds=300, **more), ALICE)
    found = e.execute(START + 10, "jobs", {"fields": ["array_task_str", "job_state", "num_nodes"]}, ROOT)["columns"]
    assert found["job_state"][2:] == ["RUNNING", "PENDING"] and found["array_task_str"][3] == "2-3"
    assert found["num_nodes"][2:] == [2, 2]  # a CPU on each of both nodes was left


def test_backfill_has_its_first_cycle_though_nobody_came() -> None:
    """Nodes register while slurmctld comes up, which is a change: cycles count from its start on."""
    e = engine()
    e.execute(START + 37, "submit", job(), ALICE)
    assert last_cycle(e.controller) == START + 30


def test_a_refusal_that_used_an_id_up_is_news_to_backfill() -> None:
    """Its record was made, which is a change: the next cycle comes in its time, and later ones count from it."""
    e = engine()
    with pytest.raises(Refusal):
        e.execute(START + 45, "submit", job(exc_nodes="n[1-2]"), ALICE)
    assert e.job_table.last_id == 1
    e.execute(START + 77, "submit", job(), ALICE)
    assert last_cycle(e.controller) == START + 60


def test_an_array_is_not_eligible_before_a_pass_has_asked() -> None:
    """Nor has it begun to accrue age then; where backfill starts it first, its tasks never have."""
    e = engine()
    e.execute(START, "submit", job("block", 5000, num_tasks=8, shared="exclusive", min_nodes=2, max_nodes=2), ALICE)
    e.execute(START + 10, "submit", job("a", array_inx="1-2"), ALICE)
    shown = ["state_reason", "eligible_time", "accrue_time"]
    at_once = e.execute(START + 10, "jobs", {"fields": shown, "job_id": "2"}, ROOT)["columns"]
    assert [at_once[name][0] for name in shown] == ["Resources", 0, 0]
    later = e.execute(START + 60, "jobs", {"fields": shown, "job_id": "2"}, ROOT)["columns"]
    assert later["eligible_time"][0] > START + 10


def test_a_new_array_shows_its_dependency_until_a_pass_has_asked_though_it_is_met() -> None:
    e = engine()
    e.execute(START, "submit", job(seconds=500), ALICE)
    e.execute(START + 10, "submit", job(array_inx="1-2", dependency="after:1"), ALICE)
    e.execute(START + 10, "submit", job(dependency="after:1"), ALICE)

    def shown() -> list[Any]:
        return list(e.execute(e.now, "jobs", {"fields": ["dependency"]}, ROOT)["columns"]["dependency"])

    assert shown() == [None, "after:1(unfulfilled)", None]
    e.execute(START + 15, "ping", {}, ROOT)
    assert set(shown()) == {None}


def test_equal_requests_are_compiled_once() -> None:
    e = engine()
    e.execute(START, "submit", job(num_tasks=7), ALICE)
    state = e.controller.state.cluster
    compiled = state.n_compiled
    for _ in range(3):
        e.execute(START, "submit", job(num_tasks=7), ALICE)
    e.execute(START, "submit", job(num_tasks=7, array_inx="1-4"), ALICE)
    assert state.n_compiled == compiled
    e.execute(START, "submit", job(num_tasks=8), ALICE)
    assert state.n_compiled == compiled + 1
