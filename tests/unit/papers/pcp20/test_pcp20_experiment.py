"""The PCP'20 experiment in small: its systems, its files, resuming, counts, claims and their verdicts. No times."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plan_checker import problems

from slurmsim.cli import main
from slurmsim.errors import InputError, PolicyError
from slurmsim.experiments import runs
from slurmsim.experiments.verdicts import DIRECTION, MISSING, NOT, REPRODUCED, UNDETERMINED
from slurmsim.papers.eurora.data import LOG as EURORA_LOG
from slurmsim.papers.pcp20 import cells as pcp20_cells
from slurmsim.papers.pcp20 import goals
from slurmsim.papers.pcp20.cells import InstanceCell, RunCell
from slurmsim.papers.pcp20.data import KIT_FILE, LOGS, as_short, eurora, kit, mapped
from slurmsim.papers.pcp20.run import PARTS, SCHEDULERS, Result, Sizes, experiment, parse_parts, schedulers
from slurmsim.papers.pcp20.tables import (
    gain_sentence,
    instance_claims,
    quality_table,
    system_claims,
    system_table,
    times_table,
)
from slurmsim.policy import PolicyOption, load_policy
from slurmsim.trace.schema import JOBS
from slurmsim_policies.cp.options import OPTIONS
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.policy import Pcp20

COLUMNS = "job_id,queue,submit_utc,start_utc,end_utc,wall_req_s,n_units,cores,gpus,mics,mem_kb,power_w,units\n"
SIZE = ("--instances", "2", "--jobs", "11", "--window", "11", "--first", "0", "--seeds", "2")
SMALL = ("--parts", "instances-eurora,variables-eurora,systems-eurora,quality-kth", *SIZE)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with jobs of Eurora that crowd its GPU nodes, and a log that crowds 100 nodes."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "seeds").mkdir()
    rows = []
    for n in range(30):
        units, cores, gpus, mics = ((4, 8, 2, 0), (16, 16, 0, 0), (20, 12, 2, 0), (1, 1, 0, 1))[n % 4]
        length = 300 + 70 * n % 400
        at = 1396255870 + 30 * n
        rows.append(f"{500 + n},parallel,{at},{at},{at + length},600,{units},{units * cores},{units * gpus},"
                    f"{units * mics},{units * 1048576},,\n")  # fmt: skip
    (folder / EURORA_LOG).write_text(COLUMNS + "".join(rows))
    jobs = [f"{n} {20 * n} -1 {60 + 37 * n % 90} {20 + 17 * n % 80} -1 -1 {20 + 17 * n % 80} 200" for n in range(1, 31)]
    text = "; MaxNodes: 100\n; MaxProcs: 100\n" + "".join(f"{job} -1 1 1 1 1 1 1 -1 -1\n" for job in jobs)
    (folder / LOGS["kth"][0]).write_bytes(gzip.compress(text.encode()))
    (folder / KIT_FILE).write_bytes(gzip.compress(text.encode()))
    return folder


def give_up_soon(patch: pytest.MonkeyPatch) -> None:
    """Solvers do, in this process, where that is known."""
    for name in pcp20_cells.LIMITS:
        patch.setitem(pcp20_cells.LIMITS, name, 0.01 if name == "pcp19" else 0.05)
        soon = PolicyOption(float, 0.001, "")
        patch.setitem(OPTIONS[name], "limit", soon)
        patch.setitem(load_policy(name).OPTIONS, "limit", soon)


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "out"
    with pytest.MonkeyPatch.context() as patch:
        give_up_soon(patch)
        assert main(["bench", "pcp20", "--data", str(data), "--out", str(folder), "--quiet", *SMALL]) == 0
    return folder


def test_files(out: Path) -> None:
    found = json.loads((out / "results.json").read_text())
    assert list(found["parts"]) == SMALL[1].split(",") and not found["not_attempted"]
    assert len(found["parts"]["instances-eurora"]["claims"]) == 8
    assert "real jobs of Eurora" in found["parts"]["systems-eurora"]["about"]
    waits = found["parts"]["quality-kth"]["schedulers"]
    assert set(waits) == set(schedulers("quality-kth")) and not any(name.endswith(".D") for name in waits)
    assert waits["easy"]["mean_wait_s"]["n"] == 2 and waits["easy"]["queue"]["mean"] > 0
    assert (out / "pcp20.png").stat().st_size > 5_000 and (out / "pcp20.svg").stat().st_size > 5_000
    text = (out / "results.txt").read_text()
    assert MISSING in text and "list scheduling" in text and "predictor=real" in text


def test_every_instance_of_every_pace_is_counted(out: Path) -> None:
    found = json.loads((out / "results.json").read_text())
    cells = {name: one for name, one in found["cells"].items() if name.startswith("variables-eurora")}
    assert [name.rpartition("-")[2] for name in cells] == ["0.5", "1", "1.5", "2", "3"]
    for one in cells.values():
        assert len(one["sizes"]) == one["solves"] and all(small > jobs > 0 for jobs, small, _ in one["sizes"])
    quick, slow = (cells[f"variables-eurora-{pace}"]["mean_wait_s"] for pace in ("3", "0.5"))
    assert quick > slow
    (header, *rows) = found["tables"]["variables-eurora"]
    assert header[-1] == "below 0.1" and [row[2] for row in rows] == [str(one["solves"]) for one in cells.values()]
    assert [row[1] for row in rows] == [f"{one['offered_load']:.0%}" for one in cells.values()]
    claims = found["parts"]["variables-eurora"]["claims"]
    assert [claim["what"].partition(":")[0] for claim in claims] == [
        f"eurora, arrivals × {name.rpartition('-')[2]}" for name, one in cells.items() if one["sizes"]
    ]


def test_a_log_without_users_goes_without_their_predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = "".join(f"{n} {20 * n} -1 60 128 -1 -1 128 200 -1 1 -1 -1 -1 1 1 -1 -1\n" for n in range(1, 9))
    (tmp_path / LOGS["theta"][0]).write_bytes(gzip.compress(f"; MaxNodes: 4360\n; MaxProcs: 4360\n{jobs}".encode()))
    give_up_soon(monkeypatch)
    found = experiment(tmp_path / "out", tmp_path, parts=["quality-theta"], sizes=Sizes(window=8, first=0, seeds=1))
    assert set(schedulers("quality-theta")) == {
        "easy",
        "conservative",
        "backfill",
        "list",
        "pcp20",
        "cp_classes",
        "pcp20.R",
    }
    assert len(found.cells) == 7


def test_the_mean_queue_is_that_of_the_run_whenever_it_begins() -> None:
    def row(submit: int, start: int | None) -> tuple[Any, ...]:
        return tuple({"submit": submit, "start": start, "run_time_s": 10}.get(name) for name in JOBS)

    found = pcp20_cells._schedule(
        [row(10**9, 10**9), row(10**9, 10**9 + 30), row(10**9 + 10, 10**9 + 40), row(10**9, None)]
    )
    assert (found["queue"], found["mean_wait_s"], found["never_started"]) == (1.5, 20, 1)
    assert sum(found["queue_over_time"]) / len(found["queue_over_time"]) == pytest.approx(1.5)


def test_saved_instances_are_judged_and_counted(out: Path) -> None:
    files = sorted((out / "instances" / "eurora").iterdir())
    assert 0 < len(files) <= 2
    for file in files:
        instance = instance_from(json.loads(file.read_text()))
        answer = Pcp20({"limit": "0.01"}).dispatch(json.loads(file.read_text()))
        plan = Plan(answer["starts"], {k: {int(n): u for n, u in v.items()} for k, v in answer["layout"].items()})
        assert problems(instance, plan, queued=answer["queued"]) == []
        figures = json.loads((out / "runs" / f"instances-eurora-{file.stem}.json").read_text())["figures"]
        assert figures["pcp20_variables"] == figures["pcp20_variables_tenfold"]
        assert figures["pcp19_variables_tenfold"] - figures["waiting"] == 10 * (
            figures["pcp19_variables"] - figures["waiting"]
        )
        compared = [figures[key] for key in figures if key.endswith("_reached")]
        assert any(compared) if figures["pcp19_asked"] else not compared


def test_it_goes_on_where_it_stopped(out: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = out / "runs" / "quality-kth-pcp20-1.json"
    before = json.loads(lost.read_text())["figures"]
    lost.unlink()
    made: list[str] = []
    give_up_soon(monkeypatch)
    keep = runs._keep
    monkeypatch.setattr(runs, "_keep", lambda cell, *more: (made.append(cell.name), keep(cell, *more)))
    assert main(["bench", "pcp20", "--data", str(data), "--out", str(out), "--quiet", *SMALL]) == 0
    assert made == ["quality-kth-pcp20-1"]
    after = json.loads(lost.read_text())["figures"]
    timed = {"cpu_s", "dispatch_s", "solver_s", "times_ms"}
    assert {k: v for k, v in after.items() if k not in timed} == {k: v for k, v in before.items() if k not in timed}


def nothing(_: Any) -> None:
    """A solver that never has an answer."""


def test_the_dispatcher_without_its_solver_is_list_scheduling_too(data: Path, tmp_path: Path) -> None:
    """It starts who could start now, in its order; the baseline plans everybody, so the two need not agree."""
    log = str(data / LOGS["kth"][0])
    mute, listed = (
        pcp20_cells.run(RunCell(name, "kth", policy, log, jobs=24), tmp_path)
        for name, policy in (("a", f"pcp20:solver={__name__}:nothing"), ("b", SCHEDULERS["list"]))
    )
    assert mute["solves"] > 0 == listed["solves"] and mute["mean_wait_s"] > 0
    assert mute["never_started"] == listed["never_started"] == 0
    assert sum(listed["queue_over_time"]) / 24 == pytest.approx(listed["queue"], rel=0.01)


def test_eurora_as_it_was(data: Path) -> None:
    system = eurora(data / EURORA_LOG, jobs=4, first=0)
    ints, texts = system.workload.ints, system.workload.texts
    assert ints["tasks"].tolist() == [4, 16, 20, 1] and ints["cpus_per_task"].tolist() == [8, 16, 12, 1]
    gpus, mic = "--tres-per-task=gres/gpu=2", "--tres-per-task=gres/mic=1"
    assert [texts["options"][k] for k in range(4)] == [gpus, "", gpus, mic]
    assert set((ints["mem_per_cpu"] * ints["cpus_per_task"]).tolist()) == {1048576 * 3}  # in thirds of a KB
    assert ints["submit"].tolist() == [0, 30, 60, 90]
    with pytest.raises(InputError, match="cannot be read"):
        eurora(data / "nothing.csv", jobs=4)


def test_a_table_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job_id,queue\n1,debug\n")
    with pytest.raises(InputError, match="no column submit_utc"):
        eurora(tmp_path / "a.csv", jobs=1)


def test_kit_by_its_rule(data: Path) -> None:
    assert [mapped(procs, 20, 1152) for procs in (7, 20, 40, 50, 25000)] == [
        (1, 7), (1, 20), (2, 20), (5, 10), (1152, 20),
    ]  # fmt: skip
    system = kit(data / KIT_FILE, jobs=5)
    assert (system.workload.ints["cpus_per_task"] == 20).all() and "CPUs=48" in system.conf


MANY = 80  # so many that all of them are nearly all of any


def figures(**given: Any) -> dict[str, Any]:
    found = {"pcp19_variables": 100, "pcp20_variables": 5, "pcp20_variables_tenfold": 5, "pcp19_asked": True}
    for name in ("pcp19", "pcp20"):
        found[f"{name}_objective"] = 5.0
        for search in ("paper", "solver"):
            found |= {f"{name}_{search}_s": 1.0 if name == "pcp19" else 0.5, f"{name}_{search}_reached": True}
    return {**found, **given}


def verdicts(found: list[dict[str, Any]]) -> list[str]:
    return [claim.verdict for claim in instance_claims(found)]


def test_verdicts_on_instances() -> None:
    assert verdicts([figures()] * MANY) == [REPRODUCED] * 8
    large = figures(pcp20_variables=50, pcp20_variables_tenfold=51, pcp20_objective=6.0)
    assert verdicts([large] * MANY)[:4] == [DIRECTION, NOT, NOT, NOT]
    assert verdicts([figures(), figures(), figures(pcp20_variables=20)])[:2] == [REPRODUCED, NOT]


def test_a_share_of_few_instances_decides_little() -> None:
    """All of 16 may be four fifths of many: the direction alone. One decides nothing; nor does none."""
    assert verdicts([figures()] * 16)[3:] == [REPRODUCED, DIRECTION, DIRECTION, DIRECTION, UNDETERMINED]
    assert verdicts([figures()])[3:] == [UNDETERMINED] * 5
    unsolved = {f"{name}_{search}_reached": False for name in ("pcp19", "pcp20") for search in ("paper", "solver")}
    claims = instance_claims([figures(**unsolved)] * MANY)[4:]
    assert [(claim.ours, claim.verdict) for claim in claims] == [("none", UNDETERMINED)] * 4


def test_verdicts_on_times_of_models() -> None:
    """By the paper's search, by CP-SAT's, against PCP'19's quicker one; then the ratio. Who gives up comes last."""
    slow = {"pcp20_paper_s": 2.0, "pcp20_solver_s": 2.0}
    assert verdicts([figures(**slow)] * MANY)[4:] == [NOT, NOT, NOT, NOT]
    late = figures(pcp19_paper_reached=False, pcp19_solver_s=1.5, **slow)
    assert verdicts([late] * MANY)[4:] == [REPRODUCED, NOT, NOT, UNDETERMINED]
    both = [figures(pcp19_paper_reached=False, pcp20_paper_reached=False)] * MANY
    assert verdicts(both)[4:6] == [UNDETERMINED, REPRODUCED]
    mixed = [figures()] * (2 * MANY) + [figures(pcp20_paper_s=3.0)] * MANY
    assert verdicts(mixed)[4:] == [DIRECTION, REPRODUCED, DIRECTION, NOT]


def test_instances_that_need_no_solver_are_not_compared() -> None:
    alone = figures(pcp19_asked=False, pcp20_variables=99, pcp20_paper_s=9.0)
    assert verdicts([figures()] * MANY + [alone]) == [REPRODUCED] * 8 and verdicts([alone]) == []


def cells(system: str, letter: str, **times: float) -> dict[str, dict[str, Any]]:
    ms = {"mean": 20.0, "50": 1.0, "90": 2.0, "95": 3.0, "99": 150.0, "100": 300.0, "below": 99.5}
    common: dict[str, Any] = {
        "cpu_s": 1.0,
        "activations": 10,
        "solves": 5,
        "mean_wait_s": 1.0,
        "bounded_slowdown": 1.0,
        "times_ms": ms,
    }
    return {f"systems-{system}-{name}{letter}": {"dispatch_s": time, **common} for name, time in times.items()}


def test_a_mix_with_the_papers_share_of_short_jobs() -> None:
    """No short job goes; of the longer ones those that stay lie evenly in order of submission."""
    n = np.arange(200)
    end = np.where(n % 2 == 0, 3599, 3600)
    log = {"job_id": n, "submit_utc": n[::-1].copy(), "start_utc": n * 0, "end_utc": end}
    found = as_short(log)
    short = found["end_utc"] < 3600
    assert short.sum() == 100 and (~short).sum() == 7  # 7 % of 107
    assert (np.diff(found["submit_utc"]) > 0).all()
    assert np.diff(found["submit_utc"][~short]).tolist() == pytest.approx([33] * 6, abs=2)


def test_verdicts_on_systems() -> None:
    times = cells("eurora", ".R", hcp19=1.0, pcp19=1.4, pcp20=0.97, cp_classes=0.5)
    found = Result(Sizes(), ["systems-eurora"], [], times)
    assert [row[-1] for row in system_table(found, "systems-eurora")[1:]] == [
        "", REPRODUCED, REPRODUCED, "no number in the paper",
    ]  # fmt: skip
    assert [claim.verdict for claim in system_claims(found, "systems-eurora")] == [REPRODUCED] * 6
    header, *rows = times_table(found, "systems-eurora")
    pcp20 = dict(zip(header, rows[2], strict=True))
    assert (pcp20["99 %, ms"], pcp20["below 252 ms"], pcp20["paper's mean, ms"]) == ("150.0", "99.5 %", "364")
    found = Result(Sizes(), ["systems-kit"], [], cells("kit", "", hcp19=2.0, pcp19=1.0, pcp20=1.0, cp_classes=1.0))
    assert [claim.verdict for claim in system_claims(found, "systems-kit")] == [NOT, REPRODUCED]


def test_whole_runs_beside_the_papers() -> None:
    """The time of all dispatches goes by ratios; a run under PCP'19 that ends does not reproduce one that did not."""
    runs = cells("kit", ".R", hcp19=10.0, pcp19=12.0, pcp20=24.0, cp_classes=1.0)
    found = {claim.what: claim for claim in system_claims(Result(Sizes(), ["systems-kit"], [], runs), "systems-kit")}
    whole = found["whole run, kit, R: pcp20 over hcp19"]
    assert (whole.paper, whole.ours, whole.verdict) == ("133,086 / 54,719", "2.40", REPRODUCED)
    stalls = found["whole run, kit, R: PCP'19 does not finish"]
    assert (stalls.paper, stalls.counts, stalls.verdict) == ("∞", "≥ 600", NOT)


def test_how_much_of_the_gain_each_scheduler_has() -> None:
    measures = {"slowdown": 1.0, "bounded_slowdown": 1.0, "longest_wait_h": 2.0, "queue": 1.0}
    waits = dict.fromkeys(schedulers("quality-kth"), 70.0) | {"easy": 100.0, "pcp20": 40.0}
    runs = {f"quality-kth-{name}-1": {"mean_wait_s": wait, **measures} for name, wait in waits.items()}
    found = Result(Sizes(seeds=1), ["quality-kth"], [], runs)
    gains = {row[0]: row[-1] for row in quality_table(found, "quality-kth")[1:]}
    assert (gains["easy"], gains["list"], gains["pcp20"]) == ("0%", "50%", "100%")


@pytest.mark.parametrize(("pcp20", "said"), [(40.0, "has 50%"), (120.0, "no less than EASY")])
def test_how_much_list_scheduling_has(pcp20: float, said: str) -> None:
    waits = {"quality-kth-easy-1": 100.0, "quality-kth-list-1": 70.0, "quality-kth-pcp20-1": pcp20}
    found = Result(Sizes(seeds=1), ["quality-kth"], [], {k: {"mean_wait_s": v} for k, v in waits.items()})
    assert said in gain_sentence(found, "quality-kth")


def test_without_data_nothing_is_attempted_and_said_so(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("SLURMSIM_DATA", raising=False)
    parts = [part for part in PARTS if part != "quality-mix"]  # which needs none
    assert main(["bench", "pcp20", "--parts", ",".join(parts), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert all(f"{part}: {MISSING}" in said for part in parts)


def test_jobs_with_names_are_made_up(tmp_path: Path) -> None:
    """D knows nothing without names: it plans otherwise than by requests there, and each seed is another workload."""
    (tmp_path / "0").mkdir()
    found = {
        name: pcp20_cells.run(RunCell(name, "mix", SCHEDULERS[scheduler], "", jobs=60, seed=seed), tmp_path / "0")
        for name, scheduler, seed in (("a", "easy", 0), ("b", "easy.D", 0), ("c", "easy", 1))
    }
    waits = {name: figures["mean_wait_s"] for name, figures in found.items()}
    assert len(set(waits.values())) == 3 and "synthetic" in found["a"]["about"]
    assert found["a"]["jobs"] == found["b"]["jobs"] == 60


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--parts", "quality-fcfs"), "unknown part 'quality-fcfs'"),
        (("--seeds", "0"), "--seeds"),
        (("--first", "-1"), "--first"),
        (("--data", "nowhere"), "nowhere"),
    ],
)
def test_refused_in_one_line(
    tmp_path: Path, options: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert main(["bench", "pcp20", "--out", str(tmp_path / "out"), *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_parts() -> None:
    assert parse_parts("all") == PARTS and parse_parts("systems-kit") == ("systems-kit",)


def test_errors_of_policies_come_from_other_processes() -> None:
    error = pickle.loads(pickle.dumps(PolicyError("easy", "took a busy node")))
    assert str(error) == "policy easy: took a busy node" and error.policy == "easy"


def test_the_real_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder or not (Path(folder) / EURORA_LOG).is_file():
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs and seeds/")
    give_up_soon(monkeypatch)
    found = experiment(
        tmp_path, Path(folder), parts=("instances-eurora",), sizes=Sizes(instances=2, jobs=60, seeds=1)
    )  # fmt: skip
    assert "5,930" not in found.cells["instances-eurora-saved"]["about"]
    assert isinstance(InstanceCell("a", "b").file, str)


def test_how_many_jobs_a_run_has() -> None:
    assert (Sizes().jobs_of("kit"), Sizes().jobs_of("eurora"), Sizes(jobs=7).jobs_of("kit")) == (1000, 400, 7)


def test_ratios_of_times_are_shown_as_the_paper_prints_them() -> None:
    """A quotient is ours; what is printed are its two numbers."""
    goal = goals.of_ratio("kit", "R", "pcp20")
    assert goal is not None and goal.paper == "662 / 270"
    assert goals.whole_run("eurora", "R", "pcp19").paper == "272,925 / 204,363"
