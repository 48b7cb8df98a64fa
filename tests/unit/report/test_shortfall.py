"""What was refused, left out or never started is said before any mean, and means are of the same jobs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.metrics.summary import summarize
from slurmsim.report.shortfall import shortfall
from slurmsim.whatif.effect import effect

CONF = """ClusterName=c
SlurmctldHost=h
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime={limit}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Twelve jobs in a row, every second one of an hour; a partition of up to two hours, another of ten minutes."""
    n = np.arange(1, 13)
    frame = pd.DataFrame({"job_id": n, "submit": n, "run_time": 300, "time_limit": np.where(n % 2, 3600, 600),
                          "nodes": 4, "log_start": n + 5, "partition": "p"})  # fmt: skip
    frame.to_parquet(tmp_path / "log.parquet")
    (tmp_path / "long.conf").write_text(CONF.format(limit="2:00:00") + "EnforcePartLimits=ALL\n")
    (tmp_path / "short.conf").write_text(CONF.format(limit="10") + "EnforcePartLimits=ALL\n")
    return tmp_path


def run(site: Path, conf: str, out: str, *more: str) -> list[str]:
    return ["run", "--conf", str(site / conf), "--workload", str(site / "log.parquet"), "--out", str(site / out), *more]


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ({"jobs": 9, "refused": 0, "never_started": 0, "dropped": 0}, ""),
        ({"jobs": 9, "refused": 1, "never_started": 0, "dropped": 0}, "1 job refused."),
        (
            {"jobs": 3000, "refused": 369, "never_started": 2999, "dropped": 2, "mean_wait_so_far_s": 7200.0},
            "369 jobs refused. 2,999 jobs never started. 2 jobs left out of the log. Waits are of the 1 of 3,000 that "
            "started; with the waits so far of the others the mean is 2 h.",
        ),
        (
            {
                "jobs": 30,
                "never_started": 12,
                "waiting": {"PartitionTimeLimit": 9, "Priority": 1},
                "stopped": False,
                "ended_waiting": {"DeadLine": 1},
                "cancelled_waiting": 1,
            },
            "10 jobs can never start: PartitionTimeLimit 9, Priority 1. 1 job ended without a start: DeadLine 1. "
            "1 job was cancelled in the log while waiting. Waits are of the 18 of 30 that started.",
        ),
        (
            {"jobs": 30, "refused": 0, "never_started": 9, "cancelled_waiting": 8, "dropped": 0},
            "1 job never started. 8 jobs were cancelled in the log while waiting. "
            "Waits are of the 21 of 30 that started.",
        ),
        (
            {"jobs": 3, "never_started": 2, "waiting": {"Resources": 2}, "stopped": True},
            "2 jobs had not started when the run was stopped: Resources 2. Waits are of the 1 of 3 that started.",
        ),
        ({}, ""),
    ],
)
def test_what_is_said(summary: dict[str, object], text: str) -> None:
    assert shortfall(summary).replace("2 h 0 min", "2 h") == text


def test_waits_so_far_are_counted() -> None:
    """One of three started at once; one was cancelled after 50 s, one still waits when the run is over at 100."""
    nan = float("nan")
    found = summarize(
        {"submit": [0, 10, 40], "start": [0, nan, nan], "end": [100, 60, nan], "cpus": [1] * 3, "nodes": [1] * 3,
         "state": ["COMPLETED", "CANCELLED", "PENDING"]},
        cpus=1,
    )  # fmt: skip
    assert (found["mean_wait_s"], found["never_started"], found["mean_wait_so_far_s"]) == (0, 2, (0 + 50 + 60) / 3)


def test_the_first_line_says_it(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run(site, "long.conf", "long")) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["measure", "value"]  # there is nothing to say
    assert main(run(site, "short.conf", "short")) == 0
    assert capsys.readouterr().out.splitlines()[0] == "6 jobs refused."
    assert main(run(site, "long.conf", "cut", "--until", "5")) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "had not started when the run was stopped: " in first and "waits so far" in first
    assert "6 jobs refused." in (site / "short" / "report.html").read_text()
    assert main(["compare", *(str(site / name) for name in ("long", "short", "cut"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "short: 6 jobs refused." and lines[1].startswith("cut: ") and "had not started" in lines[1]


def test_compared_means_are_of_the_same_jobs(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("long", "short"):
        assert main(run(site, f"{name}.conf", name, "--quiet")) == 0
    assert main(["compare", str(site / "long"), str(site / "short"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    waits = [slurmsim.read_trace(site / name).jobs_frame().set_index("job_id")["wait_s"] for name in ("long", "short")]
    started = waits[1].dropna().index
    assert len(started) == found["common"]["jobs"] == 6
    assert found["common"]["mean_wait_s"] == [float(one[started].mean()) for one in waits]
    assert found["headline"] == ["short: 6 jobs refused."]


def test_whatif_begins_with_what_was_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["whatif", "--conf", str(site / "long.conf"), "--changed-conf", str(site / "short.conf"), "--replicates",
             "1", "--workload", str(site / "log.parquet"), "--out", str(site / "answer")]  # fmt: skip
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("partition p MaxTime: 02:00:00 -> 00:10:00: mean wait ")
    assert lines[1].startswith(f"{site / 'long.conf'}, {site / 'log.parquet'}, 12 jobs; slurmsim ")
    assert lines[2:4] == [
        "after: 6 jobs refused.", "Waits are compared over the 6 jobs that started in both (12 before, 6 after)."
    ]  # fmt: skip
    found = json.loads((site / "answer" / "whatif.json").read_text())
    assert found["missing"] == lines[2:4]
    assert [one["jobs"] for one in found["both_started"].values()] == [6, 6]
    overall = found["overall"]
    assert overall["low"] <= overall["difference_s"] <= overall["high"]


def test_a_band_contains_its_estimate() -> None:
    """Also where the unjittered pair lies far from all replicates: it is one of them."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        a = rng.exponential(100, 20)
        b = a + rng.normal(0, 30, 20) + 50
        pairs = [(x := a + rng.normal(0, 9, 20), x + rng.normal(-5, 5, 20)) for _ in range(rng.integers(1, 6))]
        a[rng.integers(0, 20, 3)] = np.nan
        found = effect("all", a, b, pairs, np.ones(20, bool))
        assert found is not None and found.low is not None and found.high is not None
        assert found.low <= found.difference_s <= found.high
        one = [float(np.nanmean(y - x)) for x, y in [(a, b), *pairs]]
        assert found.difference_s == pytest.approx(np.mean(one))
        assert effect("all", a, b, [], np.ones(20, bool)).low is None  # type: ignore[union-attr]


def test_a_run_in_which_most_jobs_never_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    row = "{} {} -1 90000 4 -1 -1 4 90000 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxNodes: 4\n" + "".join(row.format(i, i) for i in range(1, 4)))
    words = ["run", "--workload", str(log), "--out", str(tmp_path / "a"), "--quiet", "--until", "99000", "--strict"]
    assert main(words) == 0  # two of three start
    words[-2] = "1000"
    assert main(words) == 1
    assert "most jobs never started" in capsys.readouterr().err
    assert main(words[:-1]) == 0


def test_what_the_log_cancels_is_no_fault_of_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three users cancel while they wait: the run does not say that these jobs never started, nor that it starved."""
    frame = pd.DataFrame({"job_id": [1, 2, 3, 4, 5], "submit": 0, "run_time": [500, 9, 9, 9, 9], "time_limit": 600,
                          "nodes": 4, "cancel_at": [-1, 50, 60, 70, -1], "dependency": ["", "", "", "", "afternotok:1"],
                          "partition": "p"})  # fmt: skip
    frame.to_parquet(tmp_path / "log.parquet")
    (tmp_path / "slurm.conf").write_text(CONF.format(limit="2:00:00"))
    assert main([*run(tmp_path, "slurm.conf", "out"), "--strict"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].startswith(
        "1 job can never start: DependencyNeverSatisfied 1. 3 jobs were cancelled in the log while waiting. Waits are "
    )
    assert "most jobs never started" not in shown.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["cancelled_waiting"], summary["waiting"], summary["stopped"]) == (
        3, {"DependencyNeverSatisfied": 1}, False
    )  # fmt: skip
    assert summary["never_started"] == 3 + 1
