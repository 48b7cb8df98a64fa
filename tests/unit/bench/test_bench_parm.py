"""The experiment on PARM: its workload by its rules, its figures by hand, its tables from few runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slurmsim.bench import parm
from slurmsim.bench.claims import MISSING, REPRODUCED
from slurmsim.bench.parm import GAMMAS, SETS, STEPS, SYSTEMS, Result, cells
from slurmsim.bench.parm_view import as_dict, as_text, claims
from slurmsim.cli import main
from slurmsim.energy import TABLE
from slurmsim.errors import ConfigError
from slurmsim.model.power import PowerSpec


def test_the_sets_have_the_sensitivity_of_the_paper() -> None:
    """Mean beta 0.1 and 0.27."""
    mean = {name: np.mean([TABLE[row].beta for row in rows]) for name, rows in SETS.items()}
    assert mean["SetL"] == pytest.approx(0.096) and mean["SetH"] == pytest.approx(0.269)


@pytest.mark.parametrize("seed", range(5))
def test_jobs_of_the_testbed(seed: int) -> None:
    slow, fast = parm.testbed("SetH", 1.0, seed), parm.testbed("SetH", 0.5, seed)
    assert sorted(row.split(":")[0] for row in slow["app"]) == sorted(SETS["SetH"])
    assert slow["min_nodes"].between(4, 10).all() and slow["run_time"].between(1800, 5400).all()
    assert (slow["max_nodes"] == np.minimum(28, 3 * slow["min_nodes"])).all()
    assert (fast["submit"] - slow["submit"] // 2).abs().max() <= 1 and (fast["run_time"] == slow["run_time"]).all()
    assert slow.equals(parm.testbed("SetH", 1.0, seed)) and not slow.equals(parm.testbed("SetH", 1.0, seed + 1))


def test_what_changes_of_size_cost() -> None:
    """Two of one instant lose twice the longer, each; a change of the cap is none."""
    job, begin = np.array([1, 2, 1, 2, 1]), np.array([0, 0, 100, 100, 150])
    held = np.array([8, 8, 4, 9, 4])
    found = parm._resizes(job, begin, held, 1000, 16_000.0)
    longest = 2 * max(PowerSpec().resize_s(8, 4), PowerSpec().resize_s(8, 9))
    assert found["resizes"] == 2
    assert found["overhead"] == pytest.approx(2 * longest / 2 / 1000)
    assert found["node_overhead"] == pytest.approx(longest * (4 + 9) / 16_000)


def made(seeds: int) -> Result:
    """Figures as if systems were better one after the other, by known factors."""
    runs = {}
    for cell in cells(seeds):
        factor = 0.8 ** list(SYSTEMS).index(cell.system)
        mean = 1000 * factor * (1 + 0.01 * cell.seed)
        runs[cell.name] = {
            "mean_s": mean, "max_s": mean, "node_weighted_s": mean, "nodes": 30.0 - 5 * factor, "watts": 3000.0,
            "energy_j": 5e7, "resizes": 1, "overhead": 0.001, "node_overhead": 0.001,
        }  # fmt: skip
    return Result(seeds, runs)


def test_contributions_sum_to_the_whole() -> None:
    found = made(3)
    for jobs in SETS:
        for gamma in GAMMAS:
            total = sum(e.mean for e in found.steps(jobs, gamma))
            whole = [np.log(b / a) for a, b in found.pairs(jobs, gamma, STEPS[-1], STEPS[0], "mean_s")]
            assert total == pytest.approx(np.mean(whole)) == pytest.approx(-7 * np.log(0.8))
    assert found.gain("SetL", 1.0, "wSE", "noSE").mean == pytest.approx(20.0)


def test_claims_by_name() -> None:
    verdicts = {claim.what: claim.verdict for claim in claims(made(3))}
    assert verdicts["SetL: wSE completes sooner than noSE"] == REPRODUCED
    assert verdicts["time lost in changes of size (the worst part)"] == REPRODUCED
    assert verdicts["speed-up of SetL over that of SetH"] == "not reproduced"  # they are equal here
    assert [verdict for what, verdict in verdicts.items() if what.startswith("Table V")] == [MISSING, MISSING]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A small part of the grid; what is there is not made again."""
    monkeypatch.setattr("slurmsim.bench.parm.GAMMAS", (1.0,))
    monkeypatch.setattr("slurmsim.bench.parm_view.GAMMAS", (1.0, 1.0))
    monkeypatch.setattr("slurmsim.bench.parm.SETS", {name: rows[-2:] for name, rows in SETS.items()})
    out = tmp_path / "out"
    assert main(["bench", "parm", "--seeds", "1", "--workers", "1", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "SetH, gaps times 1" in text and (out / "parm.png").stat().st_size > 1000
    told = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert len(told["runs"]) == 2 * len(SYSTEMS)
    before = {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}
    assert main(["bench", "parm", "--seeds", "1", "--workers", "1", "--out", str(out), "--quiet"]) == 0
    assert before == {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}
    with pytest.raises(ConfigError, match="0 seeds"):
        parm.experiment(out, seeds=0)


def test_the_tables(tmp_path: Path) -> None:
    text, data = as_text(made(2)), as_dict(made(2))
    assert "baseline → selection" in text and "± is the 95 % interval" in text
    assert set(data["log_contributions"]) == {f"{jobs}-{gamma:g}" for jobs in SETS for gamma in GAMMAS}
