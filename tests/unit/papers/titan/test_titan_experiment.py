"""The Titan experiment in small: figures by hand, files, claims, bad words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.experiments.verdicts import CONSTRUCTED, DIRECTION, MISSING, REPRODUCED, UNDETERMINED
from slurmsim.papers.titan import cells as titan_cells
from slurmsim.papers.titan import run as titan
from slurmsim.papers.titan.allocation import normal_probability
from slurmsim.papers.titan.cells import ACCOUNTING, SLURM_CONF
from slurmsim.papers.titan.run import Projects, Result, experiment, model_figures, parse_parts, project_use
from slurmsim.papers.titan.view import as_text, claims

NIGHT = settings().max_examples > 100  # then Slurm's own rules on Titan, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("titan") / "out"
    parts = "model,queue,slurm,project" if NIGHT else "model,queue,project"
    options = ["--parts", parts, "--seeds", "2", "--jobs", "1000", "--workers", "1", "--quiet"]
    assert main(["bench", "titan", "--out", str(folder), *options]) == 0
    return folder


def test_files(folder: Path) -> None:
    """Every run is kept, every figure has an interval, and what the log would be needed for is said to be missing."""
    data = json.loads((folder / "results.json").read_text())
    names = [f"queue-{v}" for v in ("titan", "no_boosts", "no_limit")]
    names += [f"slurm-{v}" for v in ("titan", "slurm_rules", "bins_on_backfill") if NIGHT]
    names += ["project-on_start", "project-on_end"]
    assert set(data["runs"]) == {f"{name}-{k}" for name in names for k in (1, 2)}
    if NIGHT:
        assert data["runs"]["slurm-slurm_rules-1"]["summary"]["jobs"] == 1000 // titan_cells.SHORTER
    one = data["runs"]["queue-titan-1"]
    assert one["summary"]["jobs"] == 1000 and 0.3 < one["load"] < 1
    assert 0 <= one["free_median"] <= titan_cells.NODES and one["bin5"]["jobs"] > 500
    waits = [data["runs"][f"queue-titan-{k}"]["wait_h"] for k in (1, 2)]
    assert data["queue"]["titan"]["wait_h"]["mean"] == pytest.approx(np.mean(waits))
    change = [data["runs"][f"queue-no_limit-{k}"]["wait_h"] - waits[k - 1] for k in (1, 2)]
    assert data["changes"]["no limit"]["wait_h"]["mean"] == pytest.approx(np.mean(change))
    claimed = {part: [one["verdict"] for one in found["claims"]] for part, found in data["parts"].items()}
    assert claimed["queue"][-1] == MISSING and claimed["model"] == [REPRODUCED, CONSTRUCTED, CONSTRUCTED]
    assert {"model", "queue", "project"} <= set(claimed) <= {"model", "queue", "slurm", "project"}
    assert set(data["tables"]) == {"bins", "bases", "project"} | ({"bins slurm"} if NIGHT else set())
    assert (folder / "titan.png").stat().st_size > 5_000
    assert "18,688" in (folder / "results.txt").read_text()


def test_curves_of_the_bins_on_all_bases(folder: Path) -> None:
    """They fall; what the next job follows decides how much; independent numbers have another mean of their product."""
    bases = json.loads((folder / "results.json").read_text())["bases"]
    for name in ("next on start, measured", "next on end, measured", "next on end, independent"):
        for curve in bases[name].values():
            assert len(curve) == len(bases["node_h"]) and (np.diff(curve) <= 1e-9).all()
        assert any(curve[0] > 0.9 and curve[-1] < 0.1 for curve in bases[name].values())
    on_start, on_end = (np.array(bases[f"next on {way}, measured"]["bin3"]) for way in ("start", "end"))
    assert (on_start >= on_end - 1e-9).all() and (on_start > on_end + 0.1).any()
    assert bases["next on end, independent"]["bin3"] != bases["next on end, measured"]["bin3"]


def test_a_project_like_hep110(folder: Path) -> None:
    """Its jobs have the moments of ATLAS's on Titan; what it used is what its jobs that started have."""
    runs = json.loads((folder / "results.json").read_text())["runs"]
    for name in ("on_start", "on_end"):
        kept = [runs[f"project-{name}-{k}"] for k in (1, 2)]
        for one in kept:
            assert one["use_node_h"] == pytest.approx(one["starts"] * one["own"]["use"][0])
            assert one["asked_node_h"] == pytest.approx(1.1 * one["use_node_h"], rel=1e-3)  # what the stand-in requests
        assert kept[0]["use_node_h"] != kept[1]["use_node_h"]
    many = [runs[f"project-on_start-{k}"] for k in (1, 2)]
    starts = sum(one["starts"] for one in many)
    nodes = sum(one["own"]["nodes"][0] * one["starts"] for one in many) / starts
    assert abs(nodes - 35.7) < 4 * 55.3 / starts**0.5 + 0.5 and many[0]["own"]["run"][0] * 3600 == pytest.approx(
        6281, rel=0.05
    )


def test_slurms_rules_in_the_words_of_slurm(tmp_path: Path) -> None:
    """Boosts are seconds of age: a job of bin 1 is ahead of a small one that came up to 15 days before it."""
    (tmp_path / "slurm.conf").write_text(SLURM_CONF.replace("MaxTime=1-0", "MaxTime=30-0"), encoding="utf-8")
    (tmp_path / "accounting.toml").write_text(ACCOUNTING, encoding="utf-8")
    day = 86_400
    # a job has all nodes for 20 days; then come one of bin 5 and, after 14 or 16 days, one of bin 1
    for after, first in ((14, "bin1"), (16, "bin5")):
        rows = [(1, 0, 18_688, 20 * day, "bin1"), (2, 100, 18_688, 1000, "bin5"),
                (3, 100 + after * day, 18_688, 1000, "bin1")]  # fmt: skip
        frame = pd.DataFrame([
            {"job_id": i, "submit": at, "nodes": n, "tasks": n, "exclusive": 1, "run_time": run, "time_limit": run,
             "user": f"u{i}", "qos": qos} for i, at, n, run, qos in rows
        ])  # fmt: skip
        trace = slurmsim.run(
            frame, conf=tmp_path / "slurm.conf", accounting=tmp_path / "accounting.toml", unknown_accounts="add",
            out=tmp_path / f"out{after}", report=False,
        )  # fmt: skip
        jobs = trace.jobs_frame().sort_values("start")
        assert jobs["qos"].tolist()[1] == first, after


def test_it_goes_on_where_it_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is there: nothing is run again."""
    monkeypatch.setattr("slurmsim.experiments.runs.run_tasks", None)
    assert len(experiment(folder, parts=["queue"], seeds=2, jobs=1000, workers=1).runs) == 6


def test_busy_nodes_by_hand() -> None:
    """Two jobs on a grid of ten minutes: [0, 1200) and [600, 1800) of 2 and 3 nodes."""
    got = titan_cells._busy(np.array([0, 600]), np.array([1200, 1800]), np.array([2, 3]), 0, 2400)
    assert got.tolist() == [2, 5, 3, 0]


def test_the_models_figures() -> None:
    found = model_figures()
    assert found["expected_use"] == pytest.approx(13_824_000, abs=1)
    assert found["use_variance"] == pytest.approx(416)
    assert found["check"] == pytest.approx(0.8295, abs=5e-5)
    assert found["overlapping_more_than_4900"] == pytest.approx(0.8413, abs=0.003)


def test_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 h instead of 5,000: means within 4 standard deviations of their mean; a seed gives the same again."""
    monkeypatch.setattr(titan, "PERIOD_H", 500)
    for variant, mean, sd in (("A", 500, 1000**0.5), ("B", 250, 125**0.5)):
        cell = Projects("x", variant, tuple(range(1, 13)))
        use = project_use(cell, "")["use"]
        assert abs(np.mean(use) - mean) < 4 * sd / 12**0.5
        assert len(set(use)) == 12 and project_use(cell, "")["use"] == use


def test_distances_and_verdicts() -> None:
    """Uses at the quantiles of the model are near it; uses that are all alike are not."""
    model = Result.spread("A")
    even = np.interp(1 - (np.arange(100) + 0.5) / 100, normal_probability(np.arange(4000, 6000), model)[::-1],
                     np.arange(4000, 6000)[::-1]).tolist()  # fmt: skip
    good = Result(1, 1000, {}, {"A": even, "B": [2530.0 + k for k in range(-50, 50)]}, {})
    assert good.distance("A") < 0.01
    assert good.distance("B") > 0.1
    bad = Result(1, 1000, {}, {"A": [5000.0] * 100, "B": [2500.0] * 100}, {})
    assert bad.distance("A") == pytest.approx(0.5, abs=0.01)
    verdicts = {claim.what.split(":")[0] + claim.what[-10:]: claim.verdict for claim in claims(bad)}
    assert list(verdicts.values()).count(REPRODUCED) == 2  # the two means
    assert "validation 2 A" in as_text(bad)


def test_ratios_by_hand() -> None:
    """Twice and eight times: four times, in logarithms; one seed has no interval."""
    runs = {f"queue-{v}-{k}": {"large_wait_h": x} for v, xs in (("titan", (1.0, 10.0)), ("no_boosts", (2.0, 80.0)))
            for k, x in enumerate(xs, 1)}  # fmt: skip
    found = Result(2, 1000, {}, {}, runs).log_ratio("no boosts", "large_wait_h")
    assert found is not None and found.half is not None and found.mean == pytest.approx(np.log(4))
    assert found.half == pytest.approx(12.706 * np.log(2), rel=1e-3)  # ln 2 is the standard error of ln 2, ln 8
    alone = Result(1, 1000, {}, {}, runs).log_ratio("no boosts", "large_wait_h")
    assert alone is not None and alone.half is None


@pytest.mark.parametrize("words", [["--parts", "all,queue"], ["--seeds", "0"], ["--jobs", "10"]])
def test_what_cannot_be_asked(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "titan", "--out", str(tmp_path), *words]) == 2
    assert capsys.readouterr().err.startswith(f"slurmsim: error: {words[0]}: ")
    with pytest.raises(ConfigError):
        parse_parts("model,queues")


def test_more_replicates_of_titans_policy_alone() -> None:
    names = [cell.name for cell in titan_cells.queue_cells(1, 1000, 3)]
    assert names == ["queue-titan-1", "queue-no_boosts-1", "queue-no_limit-1", "queue-titan-2", "queue-titan-3"]
    runs = {name: {"wait_h": float(k), "large_wait_h": float(k)} for k, name in enumerate(names, 1)}
    found = Result(1, 1000, {}, {}, runs, 3)
    assert found.values("titan", "wait_h") == [1.0, 4.0, 5.0]
    ratio = found.log_ratio("no limit", "large_wait_h")
    assert ratio is not None and ratio.n == 1


def test_several_years() -> None:
    """Years are replicates: their mean wait has an interval."""
    assert [cell.name for cell in titan_cells.year_cells(2)] == ["year-titan-1", "year-titan-2"]
    year = {"load": 0.88, "skew": 3.0, "waiting_first_half": 10.0, "waiting_second_half": 11.0}
    runs = {f"year-titan-{k}": {**year, "wait_h": 14.0 + k} for k in (1, 2, 3)}
    rows = {claim.what: claim for claim in claims(Result(1, 1000, {}, {}, runs, 3))}
    assert rows["a year: mean wait"].ours.startswith("16.00 ± ") and rows["a year: mean wait"].verdict == DIRECTION
    one = {claim.what: claim for claim in claims(Result(1, 1000, {}, {}, {"year-titan-1": runs["year-titan-1"]}))}
    assert one["a year: mean wait"].verdict == UNDETERMINED
