"""What the summary of every run says of losses and fairness, and classes in reports and comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import slurmsim
from slurmsim.metrics.classes import CLASSES
from slurmsim.report.build import build_report
from slurmsim.report.compare import compare
from slurmsim.report.compare_view import as_text, compare_page

LOG = "generate:lublin:jobs=150,nodes=16,estimate=popular"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    failures = {"mtbf": 100_000, "mttr": 3600, "seed": 2}
    slurmsim.run(LOG, nodes=16, policy="easy", out=folder / "plain", report=False, **failures)
    slurmsim.run(LOG, nodes=16, policy="easy", out=folder / "saved", report=False, checkpoint="600:10:20", **failures)
    return folder


@pytest.mark.parametrize("name", ["plain", "saved"])
def test_useful_and_lost_time_add_up(runs: Path, name: str) -> None:
    """Without checkpoints completed runs count; with them work that was saved, once."""
    trace = slurmsim.read_trace(runs / name)
    summary, jobs = trace.summary, trace.jobs_frame(dates=False)
    earlier = trace.requeued_frame(dates=False)
    assert len(earlier) > 0
    spent = float((jobs["cpus"] * jobs["run_time_s"]).sum() + (earlier["cpus"] * earlier["run_time_s"]).sum())
    done = jobs[jobs["state"] == "COMPLETED"]
    if name == "plain":
        useful = float((done["cpus"] * done["run_time_s"]).sum())
        assert summary["lost_cpu_s"] == spent - useful
    else:
        work = trace.checkpoints_frame(dates=False).groupby("job_id")["saved_s"].max()
        useful = float(np.dot(done["cpus"], work.loc[done["job_id"]]))
        assert summary["lost_cpu_s"] + summary["checkpoint_cpu_s"] == spent - useful
    assert summary["useful_share"] == pytest.approx(useful / spent) and 0 < summary["useful_share"] < 1
    assert summary["goodput"] < summary["utilization"]
    assert 0 < summary["jain_users"] <= 1 <= summary["users_slowdown_spread"]


def test_checkpoints_save_work(runs: Path) -> None:
    plain, saved = (json.loads((runs / name / "summary.json").read_text()) for name in ("plain", "saved"))
    assert saved["useful_share"] > plain["useful_share"]


def test_a_comparison_has_the_waits_of_classes(runs: Path) -> None:
    found = compare([runs / "plain", runs / "saved"])
    text = as_text(found)
    lines = text[text.index("By class:") :].splitlines()
    shown = {line[:12].strip(): line[12:].split("  ") for line in lines[3 : 3 + len(CLASSES)]}
    there = [name for name in CLASSES if any(run.by_class[f"{name}_jobs"] for run in found.runs)]
    assert list(shown) == [name.replace("_", " ") for name in there]
    assert "By class" in compare_page(found, [])


def test_a_report_has_the_classes(runs: Path) -> None:
    build_report(runs / "plain", formats=())
    page = (runs / "plain" / "report.html").read_text(encoding="utf-8")
    assert all(f">{name.replace('_', ' ')}<" in page for name in CLASSES)
    assert "fairness of users (Jain)" in page and "useful, of allocated CPU time" in page
