"""Figures by class of job: a run by hand, and sums over classes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import slurmsim
from slurmsim.metrics.classes import CLASSES, by_class


def test_classes_by_hand(tmp_path: Path) -> None:
    """One CPU a node; of 100 CPUs at most two are narrow. Strict order: the wide one makes all behind it wait."""
    jobs = pd.DataFrame({
        "job_id": [1, 2, 3, 4], "submit": [0, 0, 0, 0], "run_time": [100, 50, 5, 200],
        "time_limit": [3600, 3601, 3600, 3700], "nodes": [100, 3, 2, 2],
    })  # fmt: skip
    trace = slurmsim.run(jobs, out=tmp_path / "t", nodes=100, policy="fcfs", report=False)
    found = by_class(trace, 100)
    assert [found[f"{name}_jobs"] for name in CLASSES] == [1, 1, 1, 1]
    assert [found[f"{name}_wait_s"] for name in CLASSES] == [100, 0, 100, 100]
    assert found["short_narrow_slowdown"] == pytest.approx(105 / 10)
    assert found["long_narrow_slowdown"] == pytest.approx(300 / 200)
    assert found["mean_wait_central_s"] == 75  # all came at one instant: there is no warm-up
    of_classes = [f"{name}_{what}" for name in CLASSES for what in ("jobs", "wait_s", "slowdown")]
    assert list(found) == ["mean_wait_central_s", "mean_bounded_slowdown_central", *of_classes]


def test_empty_classes_and_jobs_that_never_start(tmp_path: Path) -> None:
    jobs = pd.DataFrame({"job_id": [1, 2], "submit": [0, 10], "run_time": [500, 5], "time_limit": [900, 900],
                         "nodes": [2, 2]})  # fmt: skip
    trace = slurmsim.run(jobs, out=tmp_path / "t", nodes=2, policy="easy", until="400", report=False)
    found = by_class(trace, 2)
    whole = trace.summary["mean_wait_so_far_s"]  # so far: until the last thing that happened
    assert found["short_wide_jobs"] == 2 and found["short_wide_wait_s"] == whole
    assert found["short_wide_slowdown"] is None and found["long_wide_wait_s"] is None and found["long_wide_jobs"] == 0


def test_classes_make_up_the_whole(tmp_path: Path) -> None:
    trace = slurmsim.run("generate:lublin:jobs=80,nodes=64", out=tmp_path / "t", load=2, policy="easy", report=False)
    found = by_class(trace, 64)
    jobs = trace.jobs_frame(dates=False).sort_values("submit", kind="stable")
    central = jobs[(jobs.submit >= jobs.submit.iloc[7]) & (jobs.submit < jobs.submit.iloc[72])]  # 0.1 and 0.9 of 79
    assert len(central) == 65
    total = sum(found[f"{name}_jobs"] * (found[f"{name}_wait_s"] or 0) for name in CLASSES)  # type: ignore[operator]
    assert sum(found[f"{name}_jobs"] or 0 for name in CLASSES) == len(central)
    assert found["mean_wait_central_s"] == pytest.approx((central.start - central.submit).mean())
    assert total / len(central) == pytest.approx(found["mean_wait_central_s"])
    slowdowns = ((central.end - central.submit) / central.run_time_s.clip(10)).clip(1)
    assert found["mean_bounded_slowdown_central"] == pytest.approx(slowdowns.mean())
