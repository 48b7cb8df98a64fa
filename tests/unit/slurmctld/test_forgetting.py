"""Jobs are forgotten by themselves at full minutes after MinJobAge; accounting and `every_job` still tell of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.fields.every_job import SHOWN
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
EVER = {"start": 0, "end": START + 10**7, "duplicates": True}


def engine() -> Engine:
    return make_engine(new_header(start=START, mode="frozen", rate=1.0, nodes=2, cpus=4, owner=0), Path("."))


def submit(e: Engine, seconds: int = 100, **more: Any) -> int:
    asked = {"name": "j", "script": f"#!/bin/sh\nsleep {seconds}\n", "work_dir": "/tmp", "time_limit": 10, **more}
    return int(e.execute(e.now, "submit", {"job": asked}, ALICE)["job_id"])


def told(e: Engine, call: str, **arguments: Any) -> dict[str, Any]:
    found = e.execute(e.now, call, arguments, ROOT)
    return {key: value for key, value in found.items() if key != "now"}


def test_a_job_is_forgotten_at_the_first_full_minute_though_nobody_asks() -> None:
    e = engine()
    submit(e)
    e.network.advance(START + 110)
    assert e.forgetting.next == START + 420  # it ended at 100, MinJobAge is 300
    assert e.next_event() <= START + 420  # whoever paces the clock comes by
    e.network.advance(START + 419)
    assert list(e.jobs) == [1]
    e.network.advance(START + 420)
    assert not e.jobs
    assert not e.network.live
    assert e.forgetting.next == float("inf")


def test_tasks_are_forgotten_each_for_itself_and_that_with_the_id_of_the_array_last() -> None:
    """Of real Slurm in unseen sessions: ended tasks go while others of their array are there (_list_find_job_old)."""
    e = engine()
    submit(e, array_inx="1-3")
    slow = submit(e, 500, array_inx="7-9%1")
    e.network.advance(START + 480)
    assert {live.array.id for live in e.jobs.values() if live.array is not None} == {slow}
    e.network.advance(START + 1400)
    assert [(live.task, live.over) for live in e.jobs.values()] == [(9, False)]  # the first ended long ago
    array = e.job_table.arrays[slow]
    assert (list(array.tasks), array.gone) == ([9], 2)
    assert told(e, "jobs", job_id=str(slow), fields=["array_task_id"])["columns"] == {"array_task_id": [9]}
    with pytest.raises(Refusal):
        told(e, "jobs", job_id=f"{slow}_7", fields=["array_task_id"])
    e.network.advance(START + 2400)  # at one go
    assert not e.jobs
    assert not e.job_table.arrays
    assert not e.job_table._shown


def test_who_has_the_id_of_the_array_stays_while_another_task_is_there() -> None:
    e = engine()
    array = submit(e, 500, array_inx="0-1")
    e.network.advance(START + 30)
    e.execute(e.now, "kill", {"job_id": f"{array}_1"}, ALICE)
    e.network.advance(START + 480)
    kept = [(live.task, live.own_id == array, live.over) for live in e.jobs.values()]
    assert kept == [(0, False, False), (1, True, True)]  # the last to start has the array's id
    e.network.advance(START + 2400)
    assert not e.jobs and not e.job_table.arrays


def test_tasks_that_were_cancelled_before_they_ever_ran_go_as_well() -> None:
    e = engine()
    array = submit(e, array_inx="0-9%1", hold=True)
    e.execute(e.now, "kill", {"job_id": f"{array}_[2-4]"}, ALICE)
    e.execute(e.now, "kill", {"job_id": f"{array}_7"}, ALICE)
    e.network.advance(START + 480)
    assert {live.task for live in e.jobs.values()} >= {0, 1, 5, 6, 8, 9}
    e.execute(e.now, "kill", {"job_id": str(array)}, ALICE)
    e.network.advance(START + 1000)
    assert not e.jobs and not e.job_table.arrays and not e.job_table._shown


def test_a_job_that_is_requeued_after_its_end_stays() -> None:
    e = engine()
    submit(e)
    e.network.advance(START + 400)
    e.execute(e.now, "requeue_job", {"job_id": "1"}, ALICE)
    e.network.advance(START + 480)
    assert list(e.jobs) == [1]
    e.network.advance(START + 3000)
    assert not e.jobs


def test_what_is_told_of_a_forgotten_job_is_what_was_told_before() -> None:
    e = engine()
    submit(e, comment="c")
    submit(e, array_inx="1-5:2", dependency="afterany:1")
    submit(e, 50, time_limit=None)
    e.network.advance(START + 10)
    e.execute(e.now, "requeue_job", {"job_id": "1"}, ALICE)  # which leaves a row of its own
    held = submit(e, hold=True)
    e.network.advance(START + 1000)
    before = _all_told(e)
    e.network.advance(e.now + 2000)
    assert [live.id for live in e.jobs.values()] == [held]
    assert _all_told(e) == before  # in memory
    e.storage.store.flush()
    assert _all_told(e) == before  # written
    assert [row[0] for row in _paged(e, 2)] == before["every_job"]["columns"]["job_id"]
    for number in (1, 2, held):
        which = told(e, "every_job", fields=["job_id", "array_job_id"], job_id=number)["columns"]
        assert which["job_id"]
        assert all(number in pair for pair in zip(which["job_id"], which["array_job_id"], strict=True))


def _all_told(e: Engine) -> dict[str, Any]:
    window = {"start": START, "end": START + 900}
    return {
        "accounting_jobs": told(e, "accounting_jobs", **EVER),
        "one": told(e, "accounting_jobs", **EVER, jobs=[[1, None]]),
        "task": told(e, "accounting_jobs", **EVER, jobs=[[2, 3]]),
        "done": told(e, "accounting_jobs", **window, states=["COMPLETED"]),
        "every_job": told(e, "every_job", fields=list(SHOWN)),
    }  # fmt: skip


def _paged(e: Engine, most: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    after: int | None = -1
    while after is not None:
        found = told(e, "every_job", fields=["job_id"], after=after, most=most)
        rows += zip(*found["columns"].values(), strict=True)
        after = found["further"]
    return rows


def test_rows_are_the_same_after_a_crash_between_memory_and_file(tmp_path: Path) -> None:
    def run(store: RecordStore, crash: bool) -> dict[str, Any]:
        e = engine()
        e.storage.store = store
        for k in range(30):
            submit(e, 10 + k)
            e.network.advance(e.now + 200)
            if crash and k == 20:
                store.flush()
        return told(e, "accounting_jobs", **EVER)

    store = RecordStore(tmp_path / "a.db")
    store.rewind(0)
    before = run(store, crash=True)
    assert store.waiting()
    store.close()  # what was in memory is gone
    again = RecordStore(tmp_path / "a.db")
    assert again.rewind(0) == []
    assert run(again, crash=False) == before == run(RecordStore(), crash=False)


def test_nothing_of_jobs_that_are_over_stays() -> None:
    e = engine()
    core = e.controller
    for _ in range(300):
        first = submit(e, 5)
        submit(e, 5, dependency=f"afterany:{first}", array_inx="1-3%2")
        submit(e, 5, dependency="singleton")
        e.network.advance(e.now + 60)
    e.network.advance(e.now + 3600)
    kept = core.eligibility
    left = {
        "jobs": e.jobs, "arrays": e.job_table.arrays, "shown": e.job_table._shown, "live": e.network.live,
        "first": e.storage._first,
        "ended": kept._ended, "dependents": kept.dependents, "singletons": kept._singletons, "terms": kept._terms,
        "arrays of the core": kept.arrays.by_id, "events": core.state.events, "behaviour": e.network.behaviour,
        "earlier": e.storage.earlier,
    }  # fmt: skip
    assert {name: len(found) for name, found in left.items() if found} == {}
    assert len(core.state.cluster.requests) <= 1000 + 8
    assert len(core.state.cluster._compiled) <= 1000 + 8
