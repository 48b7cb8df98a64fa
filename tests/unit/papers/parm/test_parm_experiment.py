"""The experiment on PARM: its workload by its rules, its figures by hand, its tables from few runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slurmsim.cli import main
from slurmsim.energy import TABLE
from slurmsim.errors import ConfigError
from slurmsim.experiments.verdicts import NOT, REPRODUCED
from slurmsim.model.power import PowerSpec
from slurmsim.papers.parm import goals
from slurmsim.papers.parm import view as parm_report
from slurmsim.papers.parm.choices import run as parm_choices
from slurmsim.papers.parm.choices import view as parm_choices_view
from slurmsim.papers.parm.choices.run import ChoiceResult
from slurmsim.papers.parm.contested import run as parm_contested
from slurmsim.papers.parm.contested import view as parm_contested_view
from slurmsim.papers.parm.contested.run import ContestedResult
from slurmsim.papers.parm.data import LARGE, SMALL, intrepid, window
from slurmsim.papers.parm.large import run as parm_large
from slurmsim.papers.parm.large import view as parm_large_view
from slurmsim.papers.parm.large.run import MACHINES, LargeResult
from slurmsim.papers.parm.sweeps import run as parm_sweeps
from slurmsim.papers.parm.sweeps import view as parm_sweeps_view
from slurmsim.papers.parm.testbed import run as parm
from slurmsim.papers.parm.testbed.run import GAMMAS, SETS, STEPS, SYSTEMS, Result, cells
from slurmsim.papers.parm.testbed.view import as_dict, as_text, claims


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


def made_choices() -> ChoiceResult:
    """noMM is as slow as the ratio is high; noSE and wSE gain what the paper says."""
    runs = {}
    for cell in parm_choices.cells(3):
        nomm = 1000 * cell.ratio / 2 * (1 + 0.01 * cell.seed)
        noise = 1 + 0.002 * (cell.seed - 2)
        mean = {"baseline": 1000, "fewest nodes": 1500, "noMM": nomm, "noSE": 0.925 * nomm * noise,
                "wSE": 0.861 * nomm * noise}  # fmt: skip
        nodes = {"noSE": 33.0, "wSE": 36.0 - 0.001 * cell.seed}.get(cell.system, 28.0)
        runs[cell.ratio, cell.shape, cell.system, cell.seed] = {"mean_s": mean[cell.system], "nodes": nodes}
    return ChoiceResult(3, runs)


def test_what_the_paper_leaves_open_is_varied() -> None:
    """Draws are the same whatever is chosen; sizes, parallelism and variation follow the choice."""
    ours, other = (parm.testbed("SetL", 1.0, 1, chosen=one) for one in (parm.OURS, parm.Open(1.5, 4.0, 0.0)))
    assert (ours["run_time"] == other["run_time"]).all() and (ours["min_nodes"] == other["min_nodes"]).all()
    assert (other["max_nodes"] == (1.5 * other["min_nodes"]).round()).all()
    assert all(row.endswith("sigma=0.000") for row in other["app"])
    wide = [float(row.split("parallelism=")[1].split(":")[0]) for row in other["app"]]
    assert wide == (4 * other["max_nodes"]).tolist()


def test_a_number_that_depends_on_a_choice_is_not_determined() -> None:
    found = made_choices()
    table = {row[0]: row[-1] for row in parm_choices_view.decided_table(found)[1:]}
    assert table["noSE over noMM"] == table["wSE over noMM"] == REPRODUCED
    assert table["wSE over the baseline on fewest nodes"] == parm_choices_view.OPEN  # 1.7 at a ratio of 2 alone
    assert parm_choices_view.decision([False, False]) == NOT
    rows = parm_choices_view.choices_table(found)
    assert len(rows) == 2 + 3 * 5 and rows[1][0] == "paper"
    assert rows[2][2].startswith("23.") and rows[-1][2].startswith("-53.")  # noMM over the baseline, at 1.5 and 3
    verdicts = {claim.what: claim.verdict for claim in parm_choices_view.claims(found)}
    assert verdicts["ratio 3: noSE over noMM"] == REPRODUCED
    assert "decided" in parm_choices_view.as_text(found)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A small part of the grid; what is there is not made again."""
    monkeypatch.setattr("slurmsim.papers.parm.testbed.run.GAMMAS", (1.0,))
    monkeypatch.setattr("slurmsim.papers.parm.testbed.view.GAMMAS", (1.0, 1.0))
    monkeypatch.setattr("slurmsim.papers.parm.testbed.run.SETS", {name: rows[-2:] for name, rows in SETS.items()})
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


# -- large machines ---------------------------------------------------------------------------------------------------


def test_the_synthetic_intrepid() -> None:
    submit, nodes, run = intrepid(1)
    assert len(submit) == 68_936 and (np.diff(submit) >= 0).all() and set(nodes.tolist()) <= {*SMALL, *LARGE}
    assert (nodes * run).sum() / (submit[-1] * 40_960) == pytest.approx(0.6, abs=0.02)
    assert np.isin(nodes, SMALL).mean() == pytest.approx(0.3, abs=0.01) and run.max() <= 43_200
    assert np.mean(np.diff(submit)) == pytest.approx(305, rel=0.02)


def test_a_window_of_it() -> None:
    log = intrepid(1)
    slow, fast = window(log, "Set2", 0.8, 50, 1), window(log, "Set2", 0.2, 50, 1)
    assert (slow["nodes"] == log[1][10_499:10_549]).all() and (slow["run_time"] == fast["run_time"]).all()
    assert (slow["submit"] - 4 * fast["submit"]).abs().max() <= 4 and slow["submit"][0] == 0
    share = slow["min_nodes"] / slow["max_nodes"]
    assert share.between(0.19, 0.61).all() and slow["app"].equals(fast["app"])
    with pytest.raises(ConfigError, match="jobs from job 10500 on"):
        window(log, "Set2", 0.2, 60_000, 1)


def made_large() -> LargeResult:
    """Each system better than the one before by a known factor, more so where arrivals are faster."""
    runs = {}
    for cell in parm_large.cells("intrepid", 2):
        factor = (0.9 * cell.gamma**0.1) ** list(parm_large.systems(MACHINES["intrepid"])).index(cell.system)
        mean = 1000 * factor * (1 + 0.01 * cell.seed)
        runs[cell.name] = {"mean_s": mean, "max_s": mean, "node_weighted_s": mean, "nodes": 40_000 - 1000 * factor,
                           "resizes": 1, "overhead": 0.001}  # fmt: skip
    return LargeResult("intrepid", 2, 100, runs)


def test_large_figures() -> None:
    found = made_large()
    for gamma in found.gammas:
        total = sum(e.mean for e in found.steps(gamma))
        assert total == pytest.approx(-12 * np.log(0.9 * gamma**0.1))
        assert found.speedup(gamma, "wSE").mean == pytest.approx(np.exp(total))
    assert found.grows.mean == pytest.approx(-1.2 * np.log(0.2 / 0.8))
    verdicts = {claim.what: claim.verdict for claim in parm_large_view.claims(found)}
    assert verdicts["intrepid: γ = 0.2: wSE completes sooner than noSE (log)"] == REPRODUCED
    assert verdicts["intrepid: speed-up of wSE grows as γ falls (log, first to last)"] == REPRODUCED
    assert len(parm_large_view.sets_table(found)) == 1 + 3 * len(found.gammas)
    over = parm_large_view.speedup_table(found, "fewest nodes")
    assert [row[0] for row in over][1:3] == ["baseline", "fewest nodes"] and over[2][1] == "1.00 ± 0.00"
    of_set = {row[0]: float(row[4]) for row in parm_large_view.sets_table(found)[1:]}
    assert of_set["Set1"] == pytest.approx(found.speedup(0.2, "wSE").mean, abs=0.006)
    text, data = parm_large_view.as_text(found), parm_large_view.as_dict(found)
    assert "selection → moldable" in text and set(data["speedup"]) == {f"{gamma:g}" for gamma in found.gammas}


def test_more_replicates_of_what_is_compared_where_arrivals_are_slow() -> None:
    """Only the pairs have them, only at the first pace, and each claim says how many it has."""
    few = parm_large.cells("intrepid", 1)
    more = parm_large.cells("intrepid", 1, slow_seeds=3)
    added = {cell.name for cell in more} - {cell.name for cell in few}
    assert {name.rsplit("-", 1)[1] for name in added} == {"2", "3"} and all("-0.8-" in name for name in added)
    assert {name.split("-")[3] for name in added} == {"baseline", "fewest_nodes", "noMM", "noSE", "wSE"}
    runs = {cell.name: {"mean_s": 1000.0 + cell.seed + 100 * (cell.system == "noSE"), "nodes": 1} for cell in more}
    found = LargeResult("intrepid", 1, 100, runs, 3)
    assert (found.sooner(0.8, "wSE", "noSE").n, found.sooner(0.2, "wSE", "noSE").n) == (9, 3)
    assert found.gain(0.8, "wSE", "noSE").n == 3 and found.sooner(0.8, "wSE", "noSE").mean > 0


def test_the_command_for_large_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small log, as if it were Theta's."""
    small = replace(MACHINES["theta"], nodes=16, gammas=(0.4,))
    monkeypatch.setitem(MACHINES, "theta", small)
    monkeypatch.setattr("slurmsim.papers.parm.large.run.FIRST", {"Set1": 1})
    log = tmp_path / "log.swf"
    rows = [f"{k} {60 * k} 1 600 8 -1 -1 8 900 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 9)]
    log.write_text("; MaxProcs: 16\n" + "".join(rows), encoding="utf-8")
    out = tmp_path / "out"
    words = ["bench", "parm", "--parts", "theta", "--jobs", "5", "--workers", "1", "--out", str(out)]
    assert main([*words, "--log", str(log), "--large-seeds", "2", "--slow-seeds", "3"]) == 0
    assert "three windows of 5 jobs" in capsys.readouterr().out and (out / "parm-theta.png").stat().st_size > 1000
    assert len(list((out / "runs").iterdir())) == 2 * len(parm_large.systems(small)) + 5
    assert main([*words, "--log", str(log), "--slow-seeds", "-1"]) == 2
    assert "--slow-seeds" in capsys.readouterr().err
    assert main(["bench", "parm", "--parts", "theta", "--log", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert "--log" in capsys.readouterr().err


def test_claims_on_another_machine_are_checks_of_ours() -> None:
    goal = goals.BEST_LARGE
    ours, papers = (goals.on_machine(name, goal) for name in ("theta", "intrepid"))
    assert (ours.what, ours.where) == ("theta: best speed-up of wSE over the baseline", "")
    assert papers.where == goal.where


def test_what_the_paper_leaves_open_on_the_large_machine() -> None:
    """Draws are the same whatever is chosen; parallelism and variation follow the choice."""
    log = intrepid(1)
    drawn, chosen = (window(log, "Set1", 0.2, 30, 1, one) for one in (parm.OURS, parm.Open(sigma=1.0, parallelism=2.0)))
    assert drawn.drop(columns="app").equals(chosen.drop(columns="app"))
    assert all(row.endswith("sigma=1.000") for row in chosen["app"])
    wide = [float(row.split("parallelism=")[1].split(":")[0]) for row in chosen["app"]]
    assert wide == (2 * chosen["nodes"]).tolist()
    assert [row.split(":")[0] for row in drawn["app"]] == [row.split(":")[0] for row in chosen["app"]]


def made_contested() -> ContestedResult:
    """Five times as fast as the baseline where σ is 0, twice where it is 1; over fewest nodes twice as much."""
    runs = {}
    for cell in parm_contested.cells(4):
        wse = 1000 if cell.chosen.sigma == 0 else 2500
        mean = {"baseline": 5000, "fewest nodes": 10_000, "wSE": wse}[cell.system] * (1 + 0.01 * cell.seed)
        runs[cell.name] = {"mean_s": mean * (1.02 if cell.system == "wSE" and cell.seed % 2 else 1)}
    return ContestedResult(4, 1000, runs)


def test_whether_the_paper_determines_its_number_on_the_large_machine() -> None:
    found = made_contested()
    rows = {row[0]: row[1:] for row in parm_contested_view.choices_table(found)}
    assert rows["paper"] == ["5.20", "5.20"] and rows["σ = 1"][0].startswith("1.98")
    verdicts = {claim.what: claim.verdict for claim in parm_contested_view.claims(found)}
    assert verdicts["contested, σ = 0: wSE over the baseline"] == REPRODUCED
    assert verdicts["contested, σ = 1: wSE over the baseline"] == "direction only"
    text, facts = parm_contested_view.as_text(found), parm_contested_view.as_dict(found)
    assert "1 reproduced" in text and "4 replicates" in text
    assert facts["figures"]["σ = 1"]["wSE over the baseline on fewest nodes"]["mean"] == pytest.approx(3.96, abs=0.01)


@pytest.mark.slow
def test_the_command_for_the_contested_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "parm", "--parts", "contested", "--seeds", "1", "--jobs", "2", "--workers", "1"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert "what the paper leaves open varied: 2 jobs, 1 replicate" in capsys.readouterr().out
    assert len(list((tmp_path / "runs").iterdir())) == 2 * 3


# -- sweeps -----------------------------------------------------------------------------------------------------------


def made_sweeps() -> LargeResult:
    """Mean and longest as the paper says: later and sooner as alpha grows, sooner up to six levels."""
    factors = {"alpha 0.28": (1.0, 1.0), "alpha 0.98": (1.1, 0.95), "alpha 1.28": (1.2, 0.9), "alpha 1.48": (1.3, 0.8)}
    factors |= {"levels 2": (1.2, 1.1), "levels 3": (1.1, 1.05)}
    runs = {}
    for cell in parm_large.cells("intrepid", 2, compared=parm_sweeps.points(), gammas=(parm_sweeps.GAMMA,)):
        mean, longest = factors.get(cell.system, (1.0, 1.0))
        noise = 1 + 0.01 * cell.seed
        runs[cell.name] = {"mean_s": 1000 * mean * noise, "max_s": 9000 * longest * noise, "node_weighted_s": 1000,
                           "nodes": 40_000, "resizes": 1}  # fmt: skip
    return LargeResult("intrepid", 2, 100, runs)


def test_sweeps(tmp_path: Path) -> None:
    found = made_sweeps()
    assert [claim.verdict for claim in parm_sweeps_view.claims(found)] == [REPRODUCED] * 5
    assert found.gain(0.4, "alpha 0.28", "alpha 1.48").mean == pytest.approx(np.log(1.3))
    policies = {system.policy for system in parm_sweeps.points().values()}
    assert len(policies) == 9 and any("levels=30/33/36/39/42/45/48/51/54/57/60," in policy for policy in policies)
    written = parm_report.write(parm_report.Parts(None, [], found), tmp_path)
    assert {file.name for file in written} == {"results.txt", "results.json", "parm-sweeps.png"}
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(data["sweeps"]["points"]) == set(parm_sweeps.points())


def test_more_replicates_of_levels() -> None:
    more = {cell.name for cell in parm_sweeps.sweep_cells(1, 3)} - {cell.name for cell in parm_sweeps.sweep_cells(1)}
    assert len(more) == 2 * 3 * len(parm_sweeps.STEP_W) and all("levels" in name for name in more)
    found = replace(made_sweeps(), seeds=1, slow_seeds=2)
    claims = {claim.what: claim for claim in parm_sweeps_view.claims(found)}
    assert parm_sweeps_view.gains(found, "levels 6", "levels 2") == pytest.approx([np.log(1.2)] * 6)
    assert claims["6 levels for 2: mean completion sooner"].verdict == REPRODUCED


def test_the_command_for_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slurmsim.papers.parm.large.run.FIRST", {"Set1": 1})
    monkeypatch.setattr(
        "slurmsim.papers.parm.sweeps.run.points",
        lambda: {"alpha 0.28": parm_large.systems(MACHINES["intrepid"])["wSE"]},
    )
    result = parm_sweeps.experiment(tmp_path, seeds=1, count=2, workers=1)
    assert list(result.runs) == ["intrepid-Set1-0.4-alpha_0.28-1"] and result.runs.popitem()[1]["mean_s"] > 0
    assert main(["bench", "parm", "--parts", "sweeps", "--jobs", "1", "--out", str(tmp_path)]) == 2
    assert "expected at least 2" in capsys.readouterr().err
