"""Runs that failed in the log fail in the replay: after those seconds, and no more often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.errors import WorkloadError
from slurmsim.policy import Policy, Requeue, Start, WakeAt
from slurmsim.validate import validate_trace


def log(*failed: str) -> pd.DataFrame:
    """Jobs that come ten seconds apart and work for 1,000 seconds on two nodes."""
    rows = [{"job_id": k, "submit": 10 * k, "failed_runs": text} for k, text in enumerate(failed, 1)]
    return pd.DataFrame(rows).assign(run_time=1000, time_limit=1200, nodes=2, exclusive=1, user="ann")


def row(trace: slurmsim.Trace, job_id: int) -> Any:
    return trace.jobs_frame(dates=False).set_index("job_id").loc[job_id]


def runs(trace: slurmsim.Trace) -> list[int]:
    frame = pd.read_parquet(trace.path / "requeued.parquet")
    return (frame["end"] - frame["start"]).tolist()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "backfill"])
@pytest.mark.parametrize("more", [{}, {"base_w": 5}, {"checkpoint": "50:5:5"}], ids=["", "power", "checkpoints"])
def test_runs_fail_as_they_did(policy: str, more: dict[str, Any], tmp_path: Path) -> None:
    often = ",".join(["10"] * 14)  # more often than a replay lets a job come to nothing
    trace = slurmsim.run(log("60,300", "", often), nodes=2, policy=policy, out=tmp_path / "out", **more)
    assert sorted(runs(trace)) == [10] * 14 + [60, 300]
    assert [row(trace, k)["restarts"] for k in (1, 2, 3)] == [2, 0, 14]
    assert trace.summary["completed"] == 3
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()


def test_work_that_failed_is_lost(tmp_path: Path) -> None:
    trace = slurmsim.run(log("60,300"), nodes=2, policy="easy", out=tmp_path / "out")
    assert trace.summary["lost_cpu_s"] == 2 * 360
    assert row(trace, 1)["run_time_s"] == 1000


class Interrupts(Policy):
    """Requeues job 1 at 110, 100 seconds into a run that would fail after 300."""

    name = "interrupts"

    def schedule(self, view: Any, now: int) -> Any:
        for job in view.pending:
            yield Start(job)
        if now == 110 and view.running:
            yield Requeue(view.job(1))
        elif now < 110:
            yield WakeAt(110)


def test_a_run_that_is_taken_away_fails_the_next_time(tmp_path: Path) -> None:
    trace = slurmsim.run(log("300"), nodes=2, policy=Interrupts, out=tmp_path / "out")
    assert runs(trace) == [100, 300]
    assert row(trace, 1)["run_time_s"] == 1000


def test_who_may_not_be_requeued_ends(tmp_path: Path) -> None:
    trace = slurmsim.run(log("60").assign(requeue=0), nodes=2, policy="easy", out=tmp_path / "out")
    assert (row(trace, 1)["state"], row(trace, 1)["run_time_s"]) == ("NODE_FAIL", 60)


@pytest.mark.parametrize("text", ["0", "-3", "x", "1,,2", "1.5", "9" * 40])
def test_what_is_no_run_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="job 1: ") as error:
        slurmsim.run(log(text), nodes=2, policy="easy", out=tmp_path / "out")
    assert "failed_runs" in str(error.value)
