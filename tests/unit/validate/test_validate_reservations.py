"""The judge on reservations and licenses: a sound run passes, each breach is named."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import CLUSTER, Made, Tables, made

from slurmsim.validate import validate_schedule

TEXT = "job {} started at {} on nodes of reservation r"
RAN = "job 1 ran on nodes of reservation r when it began at 100"


def run(
    *jobs: Made, flags: str = "SPEC_NODES", nodes: str = "n[1-2]", licenses: dict[str, int] | None = None
) -> Tables:
    """Jobs beside reservation r of `nodes` over [100, 200)."""
    tables = made(list(jobs), {**CLUSTER, "licenses": licenses or {}})
    for time, state in ((0, "CREATED"), (100, "STARTED"), (200, "ENDED"), (210, "REMOVED")):
        tables.add_event(time, "RESERVATION", None, state, reason=f"r {flags}", nodes=nodes, value=200)
    return tables


def judge(tables: Tables) -> dict[str, list[str]]:
    report = validate_schedule(
        tables.jobs, tables.manifest["cluster"], requeued=tables.requeued, events=tables.events, usage=tables.usage,
        summary=tables.summary,
    )  # fmt: skip
    return {name: report.check(name).examples for name in report.failed}


def test_who_keeps_out_or_belongs_there() -> None:
    tables = run(
        Made(1, 0, 0, 50, "n[1-2]", limit=100), Made(2, 0, 120, 150, "n[3-4]"), Made(3, 0, 130, 150, "n1"),
        Made(4, 0, 200, 250, "n1"),
    )  # fmt: skip
    tables.set(3, reservation="q,r")
    assert judge(tables) == {}


@pytest.mark.parametrize(
    ("job", "flags", "said"),
    [
        (Made(1, 0, 150, 160, "n[2-3]"), "SPEC_NODES", "job 1 started at 150 on nodes of reservation r"),
        (Made(1, 0, 150, 160, "n2"), "IGNORE_JOBS,MAINT", "job 1 started at 150 on nodes of reservation r"),
        (Made(1, 0, 50, 120, "n1", limit=300), "", RAN),
        (Made(1, 0, 50, 120, "n1", limit=300), "IGNORE_JOBS", ""),
        (Made(1, 0, 50, 101, "n1", limit=50), "SPEC_NODES", ""),
        (Made(1, 0, 150, 160, "n1"), "CORES,SPEC_NODES", ""),
    ],
)  # fmt: skip
def test_strangers_on_reserved_nodes(job: Made, flags: str, said: str) -> None:
    found = judge(run(job, flags=flags)) if job.end - job.start <= job.limit else judge_late(job, flags)
    assert found == ({"reservations_kept": [said]} if said else {})


@pytest.mark.parametrize(("suspended", "said"), [(60, []), (110, [RAN])])
def test_nodes_of_a_suspended_job_may_be_reserved(suspended: int, said: list[str]) -> None:
    tables = run(Made(1, 0, 50, 160, "n1", limit=300))
    tables.add_event(suspended, "SUSPEND", 1, "SUSPENDED")
    tables.add_event(suspended + 10, "RESUME", 1, "RUNNING")
    assert judge(tables).get("reservations_kept", []) == said


@pytest.mark.parametrize(
    ("flags", "before", "at", "after", "said"),
    [
        ("IGNORE_JOBS", "n[1-2]", 150, "n1", []),  # it was there, and gives nodes back
        ("IGNORE_JOBS", "n[1-3]", 150, "n[2-3]", []),
        ("IGNORE_JOBS", "n[3-4]", 150, "n[2-4]", [TEXT.format(1, 150)]),  # it grows on reserved ones
        ("IGNORE_JOBS", "n[1,3]", 150, "n[1-3]", [TEXT.format(1, 150)]),
        ("SPEC_NODES", "n[1-2]", 90, "n1", []),  # its limit of 50 counts from 49, not from 90
        ("SPEC_NODES", "n[3-4]", 90, "n[1,4]", []),
    ],
)
def test_a_job_of_another_size_starts_on_its_new_nodes(
    flags: str, before: str, at: int, after: str, said: list[str]
) -> None:
    tables = run(Made(1, 0, at, 160 if at > 100 else 102, after, limit=50), flags=flags)
    begin = 50 if at > 100 else 49
    tables.set(1, start=begin, wait_s=begin)
    tables.events["event"][tables.event(1, "START")] = "RESIZE"
    tables.add_event(begin, "START", 1, "RUNNING", nodes=before, partition="batch")
    tables.add_requeued(1, begin, at, before, state="RESIZING")
    assert judge_only(tables) == said


def judge_only(tables: Tables) -> list[str]:
    """What the judge says of reservations."""
    report = validate_schedule(
        tables.jobs, tables.manifest["cluster"], requeued=tables.requeued, events=tables.events, limit_allowance_s=60
    )
    return report.check("reservations_kept").examples


def judge_late(job: Made, flags: str) -> dict[str, list[str]]:
    """A run that is over its limit by the scan's period, as slurmctld allows."""
    tables = run(job, flags=flags)
    report = validate_schedule(tables.jobs, tables.manifest["cluster"], events=tables.events, limit_allowance_s=30)
    return {name: report.check(name).examples for name in report.failed}


def test_jobs_of_a_reservation_that_may_overlap() -> None:
    tables = run(Made(1, 0, 150, 160, "n1"))
    tables.set(1, reservation="m")
    assert judge(tables) == {"reservations_kept": [TEXT.format(1, 150)]}
    tables.add_event(0, "RESERVATION", None, "CREATED", reason="m MAINT", nodes="n1", value=500)
    assert judge(tables) == {}


def test_a_name_may_be_used_again() -> None:
    tables = run(Made(1, 0, 150, 160, "n1"))
    tables.set(1, reservation="m")
    tables.add_event(0, "RESERVATION", None, "CREATED", reason="m MAINT", nodes="n1", value=180)
    tables.add_event(300, "RESERVATION", None, "CREATED", reason="m FLEX", nodes="n1", value=500)
    assert judge(tables) == {}


def test_a_job_of_a_reservation_may_end_with_it() -> None:
    tables = run(Made(1, 0, 150, 210, "n1", state="TIMEOUT"))
    assert "timeout_at_limit" in judge(tables)
    tables.set(1, reservation="r")
    assert judge(tables) == {}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("mat:2", "mat:1", ""), ""), (("mat:2", "mat:2", ""), "at 100: 4 of 3 licenses mat in use"),
        (("flu", "", ""), "license flu is in use, which the cluster does not have"), (("mat:3", "", "mat:3"), ""),
    ],
)  # fmt: skip
def test_licenses(asked: tuple[str, ...], said: str) -> None:
    tables = run(
        Made(1, 0, 90, 150, "n1"), Made(2, 0, 100, 120, "n3"), Made(3, 0, 150, 170, "n4"), nodes="n2",
        licenses={"mat": 3},
    )  # fmt: skip
    for job, text in enumerate(asked, 1):
        tables.set(job, licenses=text)
    assert judge(tables) == ({"licenses_not_overused": [said]} if said else {})


def test_without_reservations_or_licenses_nothing_is_checked() -> None:
    tables: Any = made([Made(1, 0, 10, 20, "n1")])
    report = validate_schedule(tables.jobs, CLUSTER, events=tables.events)
    assert report.check("reservations_kept").skipped == "no reservation began"
    assert report.check("licenses_not_overused").skipped == "the cluster has no licenses"


@pytest.mark.parametrize(("told", "said"), [(99, [TEXT.format(1, 100)]), (100, [])])
def test_who_starts_in_the_second_of_a_begin_may_have_come_first(told: int, said: list[str]) -> None:
    tables = made([Made(1, 0, 100, 150, "n1")])
    tables.add_event(told, "RESERVATION", None, "STARTED", reason="r IGNORE_JOBS", nodes="n[1-2]", value=200)
    tables.events["time"] = [100 if event == "RESERVATION" else t for t, event in _times(tables)]
    assert judge(tables) == ({"reservations_kept": said} if said else {})


def _times(tables: Tables) -> list[tuple[int, str]]:
    return list(zip(tables.events["time"], tables.events["event"], strict=True))
