"""What EASY and conservative promise: kept by the naive references, and broken schedules are caught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import conservative, easy, fcfs
from reference.guarantees import conservative_guarantee, easy_guarantee

import slurmsim
from slurmsim.trace import schema
from slurmsim.validate import validate_trace
from slurmsim.validate.columns import table_of

N = 10
JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, N), st.integers(0, 20)), min_size=1, max_size=25
).map(lambda rows: [(i + 1, submit, run, size, run + more) for i, (submit, run, size, more) in enumerate(rows)])


def columns(jobs: list[tuple[int, ...]], starts: dict[int, int]) -> dict[str, list[int]]:
    return {
        "job_id": [job[0] for job in jobs],
        "submit": [job[1] for job in jobs],
        "start": [starts[job[0]] for job in jobs],
        "end": [starts[job[0]] + job[2] for job in jobs],
        "size": [job[3] for job in jobs],
        "limit": [job[4] for job in jobs],
    }


@given(JOBS)
def test_easy_and_fcfs_never_delay_the_first_blocked_job(jobs: list[tuple[Any, ...]]) -> None:
    for scheduler in (easy, fcfs):
        check = easy_guarantee(columns(jobs, scheduler(jobs, N)), N)
        assert check.ok, (scheduler.__name__, check.examples)


def test_conservative_may_delay_the_first_blocked_job() -> None:
    """At 2 six units are free for job 3, but job 5 holds a planned start in them."""
    jobs = [(1, 0, 2, 4, 3), (2, 0, 2, 6, 2), (3, 1, 1, 6, 1), (4, 0, 1, 1, 1), (5, 1, 1, 4, 1)]
    starts = conservative(jobs, N)
    assert starts == {1: 0, 2: 0, 3: 3, 4: 2, 5: 2}
    assert not easy_guarantee(columns(jobs, starts), N).ok


def test_delaying_the_first_blocked_job_is_found() -> None:
    jobs = [
        (1, 0, 100, 6, 100),
        (2, 0, 100, 6, 100),  # first blocked at 0, shadow time 100
        (3, 0, 150, 5, 150),  # does not fit beside it: needs 5, extra is 4
    ]
    assert easy_guarantee(columns(jobs, {1: 0, 2: 100, 3: 200}), N).ok
    check = easy_guarantee(columns(jobs, {1: 0, 2: 150, 3: 100}), N)
    assert check.subjects == 1
    assert check.examples == ["job 2 was first in the queue at 0 and could have started by 100; it started at 150"]


def test_idle_machine_is_found() -> None:
    """Enough units are free and the head of the queue does not start."""
    check = easy_guarantee(columns([(1, 0, 10, 5, 10), (2, 0, 10, 5, 10)], {1: 0, 2: 3}), N)
    assert check.examples == ["job 2 was first in the queue at 0 and could have started by 0; it started at 3"]


def test_shadow_time_uses_limits_not_ends() -> None:
    jobs = [(1, 0, 10, 10, 100), (2, 1, 10, 10, 10)]
    assert easy_guarantee(columns(jobs, {1: 0, 2: 100}), N).ok
    assert not easy_guarantee(columns(jobs, {1: 0, 2: 101}), N).ok


def plans(*rows: tuple[int, int, int]) -> Any:
    """Events PLAN of (time, job, planned start)."""
    return table_of(
        {
            "time": [0, *(row[0] for row in rows)],
            "event": ["SUBMIT", *("PLAN" for _ in rows)],
            "job_id": [1, *(row[1] for row in rows)],
            "value": [None, *(row[2] for row in rows)],
        },
        schema.EVENTS,
        "events",
    )


def test_conservative_keeps_its_plans() -> None:
    jobs = table_of({"job_id": [2, 1, 3], "start": [80, 0, None]}, schema.JOBS, "jobs")
    check = conservative_guarantee(jobs, plans((0, 2, 100), (0, 3, 200), (50, 2, 80)))
    assert (check.ok, check.subjects) == (True, 3)
    check = conservative_guarantee(jobs, plans((0, 2, 100), (50, 2, 120)))
    assert check.examples == ["job 2, planned for 100, was put back to 120 at 50"]
    check = conservative_guarantee(jobs, plans((0, 2, 70), (0, 1, 0)))
    assert check.examples == ["job 2, planned at 0 for 70, started at 80"]


@pytest.mark.parametrize(("release", "started"), [("22.05", False), ("26.05", True)])
def test_a_job_of_one_node_may_lack_gpus_on_26_05(tmp_path: Path, release: str, started: bool) -> None:
    """As in the recording of `tests/unit/core/test_gpus_tried.py`: n2 gives the four it has, for the five asked for."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=g\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu\n"
        "NodeName=n[1-2] CPUs=8 CoresPerSocket=8 Gres=gpu:4\nPartitionName=all Nodes=ALL Default=YES\n"
    )
    frame = pd.DataFrame([{"job_id": 1, "submit": 0, "run_time": 9, "time_limit": 60, "nodes": 1, "gpus": "5"}])
    out = tmp_path / "out"
    trace = slurmsim.run(
        frame, conf=tmp_path / "slurm.conf", release=release, out=out, report=False, impossible_jobs="drop"
    )
    assert (trace.jobs_frame()["start"].notna().all(), validate_trace(out).valid) == (started, True)
    if started:
        manifest = json.loads((out / "run.json").read_text())
        del manifest["cluster"]["gpus_trusted"]
        (out / "run.json").write_text(json.dumps(manifest))
        assert validate_trace(out).check("request_met").examples == ["job 1 got 4 gpus, it asked for 5"]
