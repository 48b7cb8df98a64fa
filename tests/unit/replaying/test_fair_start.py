"""Fair starts: by hand, against whole runs of those that came no later, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slurmsim
from slurmsim.core.records.job import Job
from slurmsim.errors import ConfigError
from slurmsim.replaying.fair_start import fair_start
from slurmsim.replaying.jobs import FRAME
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared, prepare
from slurmsim.replaying.simulating import simulation_of
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation

ROW = st.tuples(st.integers(0, 40), st.integers(1, 60), st.integers(0, 40), st.integers(1, 4))


def frame(rows: list[tuple[int, int, int, int]]) -> pd.DataFrame:
    """Jobs of (submit, run time, what is asked for beyond it, nodes), ids from 1 on."""
    rows = sorted(rows)
    return pd.DataFrame({
        "job_id": range(1, len(rows) + 1), "submit": [row[0] for row in rows], "run_time": [row[1] for row in rows],
        "time_limit": [row[1] + row[2] for row in rows], "nodes": [row[3] for row in rows],
    })  # fmt: skip


def prepared(jobs: pd.DataFrame, policy: str) -> Prepared:
    return prepare(RunOptions.of(FRAME, "unused", nodes=4, policy=policy), jobs)


def summary(jobs: pd.DataFrame, out: Path, **more: Any) -> dict[str, Any]:
    return slurmsim.run(jobs, out=out, nodes=4, report=False, **more).summary


def test_who_is_passed_by_starts_later(tmp_path: Path) -> None:
    """1 has the machine until 100, 2 waits for 50 s of it; 3, shorter and later, is before 2 under spf."""
    jobs = frame([(0, 100, 0, 4), (1, 50, 0, 4), (2, 20, 0, 4)])
    assert fair_start(prepared(jobs, "spf"), 2) == 100
    found = summary(jobs, tmp_path / "spf", policy="spf", fair_start=9)
    assert found["fair_start_jobs"] == 3 and found["unfair_share"] == pytest.approx(1 / 3)
    assert found["mean_unfair_wait_s"] == pytest.approx(20 / 3)
    fair = summary(jobs, tmp_path / "fcfs", policy="fcfs", fair_start=2)
    assert (fair["fair_start_jobs"], fair["unfair_share"], fair["mean_unfair_wait_s"]) == (2, 0.0, 0.0)
    assert "unfair_share" not in summary(jobs, tmp_path / "none", policy="fcfs")


class Starts(Listener):
    def __init__(self) -> None:
        self.of: dict[int, int | None] = {}

    def finished(self, job: Job) -> None:
        self.of[job.id] = job.start_time


@settings(max_examples=settings().max_examples // 4)
@given(rows=st.lists(ROW, min_size=1, max_size=5), policy=st.sampled_from(["easy", "spf", "backfill", "fcfs"]))
def test_it_is_the_start_in_a_run_of_who_came_no_later(rows: list[tuple[int, int, int, int]], policy: str) -> None:
    jobs = frame(rows)
    ready = prepared(jobs, policy)
    for job_id, submit in zip(jobs["job_id"], jobs["submit"], strict=True):
        starts = Starts()
        simulation_of(prepared(jobs[jobs["submit"] <= submit], policy), starts, Simulation).run()
        assert fair_start(ready, int(job_id)) == starts.of[job_id]


def test_nobody_is_treated_unfairly_in_strict_order(tmp_path: Path) -> None:
    jobs = frame([(k, 30 + 7 * k % 50, 0, 1 + k % 4) for k in range(12)])
    assert summary(jobs, tmp_path / "r", policy="fcfs", fair_start=12)["unfair_share"] == 0


@pytest.mark.parametrize(
    ("more", "said"), [({"fair_start": -1}, "--fair-start: -1 jobs"), ({"mtbf": 9}, "--fair-start with --mtbf")]
)
def test_refused_in_one_line(tmp_path: Path, more: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        summary(frame([(0, 9, 0, 1)]), tmp_path / "r", policy="easy", **{"fair_start": 1, **more})
