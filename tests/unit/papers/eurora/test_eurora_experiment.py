"""The batches of EURORA: prepared as the paper prepared them, run, counted and judged."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from slurmsim.cli import main
from slurmsim.errors import InputError, SlurmSimError
from slurmsim.experiments import runs
from slurmsim.experiments.verdicts import NOT, REPRODUCED
from slurmsim.papers.eurora import data as eurora_data
from slurmsim.papers.eurora import packing, watts
from slurmsim.papers.eurora.data import (
    BEGINS,
    MEMORY_KB,
    MODELS,
    BatchJob,
    batch,
    cluster,
    completed,
    night,
    read_log,
    workload,
)  # fmt: skip
from slurmsim.papers.eurora.goals import PACKING
from slurmsim.papers.eurora.run import PBS, Batch, Result, Row, _row, experiment
from slurmsim.papers.eurora.view import claims, gain_of_lists, histogram_table, lost_to_rules, rules_table, watts_table
from slurmsim.trace.columns import NULL

T = BEGINS[1]
HEADER = "job_id,queue,submit_utc,start_utc,end_utc,wall_req_s,n_units,cores,gpus,mics,mem_kb,power_w,units"


def line(job_id: int, queue: str, submit: int, start: int, end: int, wall: int, units: int, *amounts: int) -> str:
    """A row of the trace; times from the beginning of batch 1, amounts of one unit: cores, GPUs, MICs, KB."""
    totals = ",".join(str(units * amount) for amount in amounts)
    return f"{job_id},{queue},{T + submit},{T + start},{T + end},{wall},{units},{totals},,"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """32 GPU nodes are more than enough until somebody takes them all for an hour."""
    rows = [
        line(1, "parallel", -500, -400, -1, 900, 1, 8, 0, 0, 1000),  # ended before
        line(2, "parallel", -500, -400, 600, 700, 2, 8, 1, 0, 8388608),  # ran at the beginning, past its wall time
        line(3, "debug", 100, 250, 7300, 1800, 1, 14, 0, 1, 8388608),
        line(4, "np_longpar", 7199, 9000, 9100, 300, 1, 1, 0, 0, 20971520),
        line(5, "debug", 7200, 7201, 7300, 300, 1, 1, 0, 0, 1000),  # comes when it is over
    ]
    rows += [line(10 + k, "parallel", 200 + k, 4000, 4600 + k, 3600, 32, 9, 2, 0, 1000) for k in range(4)]
    rows += [line(20 + k, "reservation", 300 + k, 5000, 5060, 120, 1, 2, 1, 0, 1000) for k in range(6)]
    path = tmp_path_factory.mktemp("eurora") / "log.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", "utf-8")
    return path


def test_preparation(log: Path) -> None:
    """Waits before the beginning are forgotten, what ran is dispatched anew, ends are cut at the wall time."""
    jobs = {job.id: job for job in batch(read_log(log), 1)}
    assert sorted(jobs) == [2, 3, 4, *range(10, 14), *range(20, 26)]
    assert jobs[2] == BatchJob(2, "parallel", T, 700, 600, 2, 8, 1, 0, 8388608, T, T + 600)
    assert jobs[3] == BatchJob(3, "debug", T + 100, 1800, 1800, 1, 14, 0, 1, 8388608, T + 250, T + 2050)
    assert (jobs[4].queue, jobs[4].pbs_start, jobs[4].run_s) == ("longpar", T + 9000, 100)
    assert (jobs[10].core_class, jobs[20].core_class, jobs[20].queue) == ("more", "2", "other")


def test_memory_is_exact(log: Path) -> None:
    """14 CPUs and 8,388,608 KB: the memory of a unit is that, and a node's is a whole number of the same parts."""
    jobs = batch(read_log(log), 1)
    columns = workload(jobs).ints
    scale = eurora_data.memory_scale(jobs)
    assert f"RealMemory={MEMORY_KB * scale} " in cluster(jobs)
    for job, per_cpu, cpus in zip(jobs, columns["mem_per_cpu"], columns["cpus_per_task"], strict=True):
        assert int(per_cpu) * int(cpus) == job.mem_kb * scale


def test_a_completed_batch_has_the_papers_numbers(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"debug": 4, "parallel": 9, "longpar": 1, "other": 8,
              "1": 1, "2": 8, "4": 0, "5": 0, "6": 0, "8": 0, "more": 13}  # fmt: skip
    monkeypatch.setitem(eurora_data.TABLE_6, 1, wanted)
    columns = read_log(log)
    jobs = completed(columns, 1, 1)
    assert {job.id for job in batch(columns, 1)} < {job.id for job in jobs} and len({job.id for job in jobs}) == 22
    counted = Counter(job.queue for job in jobs) + Counter(job.core_class for job in jobs)
    assert counted == Counter(wanted)
    assert all(T <= job.q < T + 7200 for job in jobs) and [job.q for job in jobs] == sorted(job.q for job in jobs)
    assert jobs == completed(columns, 1, 1) != completed(columns, 1, 2)


def row(starts: list[int], ends: list[int], notes: list[dict[str, Any]] | None = None) -> Row:
    """Two jobs: queue debug at 0, one unit of 4 cores and a GPU; queue parallel at 10, two units of 3 cores."""
    jobs = (
        BatchJob(1, "debug", T, 100, 100, 1, 4, 1, 0, 1, T, T + 100),
        BatchJob(2, "parallel", T + 10, 100, 100, 2, 3, 0, 0, 1, T, T + 100),
    )
    one = Batch(1, 0, jobs)
    return Row(one, np.array(starts) + T, np.array(ends) + T, notes or [], 1.0)


def test_figures_by_hand() -> None:
    """Samples every 15 s; both ends of a run count; Table 4's columns are by the number of all jobs."""
    figures = row([0, 3610], [30, 3640]).figures()
    assert (figures["wait"], figures["wait_parallel"], figures["mean_parallel"]) == (1800, 1800, 3600)
    assert figures["cores"] == pytest.approx((3 * 4 + 2 * 6) / 480)  # 0, 15, 30; 3615, 3630
    assert figures["gpus"] == pytest.approx(3 / 480) and figures["jobs"] == pytest.approx(5 / 480)
    assert figures["cores_percent"] == pytest.approx(100 * figures["cores"] / 1024)
    late = row([1801, 10], [1900, 20]).figures()
    assert (late["late"], late["tardiness"]) == (1, pytest.approx(1 / 1800))
    assert row([0, 3610], [30, 3640]).waiting().sum() == 240  # samples 15 to 3600


def note(ours: int, hint: int, status: str = "feasible") -> dict[str, Any]:
    return {"objective": ours, "hint_objective": hint, "status": status, "seconds": 0.5}


def test_verdicts() -> None:
    """A plan that is worse than the list schedule is said so; so is a batch that takes too long."""
    good = row([0, 10], [100, 110], [note(5, 6), note(5, 5, "optimal")])
    found = Result([good.batch], {"batch1": {PBS: good, "mks": good}})
    by_name = {claim.what: claim for claim in claims(found)}
    assert by_name["batch 1, pure models: plans worse than the best list schedule"].verdict == REPRODUCED
    assert by_name["batch 1, PBS: cores in use"].verdict == NOT
    figures = good.figures()
    assert [figures[name] for name in ("contested", "better", "worse", "optimal")] == [2, 1, 0, 1]
    bad = Row(good.batch, good.starts, good.ends, [note(7, 6)], 301.0)
    by_name = {claim.what: claim for claim in claims(Result([good.batch], {"batch1": {"mks": bad}}))}
    assert by_name["batch 1, pure models: plans worse than the best list schedule"].ours == "1 of 1"
    assert by_name["batch 1: CPU time under one model"].verdict == NOT


def test_nothing_contested_proves_nothing() -> None:
    idle = row([0, 10], [100, 110], [])
    assert not [one for one in claims(Result([idle.batch], {"batch1": {"mks": idle}})) if "worse" in one.what]


def test_jobs_that_never_start_are_an_error_that_names_them(log: Path, tmp_path: Path) -> None:
    one = Batch(1, 0, tuple(batch(read_log(log), 1)))
    ids = [job.id for job in one.jobs]
    starts: list[int] = [job.q for job in one.jobs]
    starts[3] = NULL
    with pytest.raises(SlurmSimError, match=f"batch1-mks: 1 jobs never started, of them {ids[3]}"):
        _row(one, "mks", {"job_id": ids, "start": starts, "end": starts, "notes": [], "cpu_s": 1.0})


def test_how_much_of_the_gain_lists_have() -> None:
    rows = {PBS: row([400, 10], [500, 110]), "list": row([100, 10], [200, 110]), "mks_wt_nl": row([0, 10], [100, 110])}
    found = Result([rows[PBS].batch], {"batch1": rows})
    assert gain_of_lists(found, 1, "mks_wt_nl") == pytest.approx(75)
    assert gain_of_lists(found, 2, "mks_wt_nl") is None


def test_what_the_rules_of_pbs_cost() -> None:
    rows = {PBS: row([400, 10], [500, 110]), "list": row([0, 10], [100, 110]),
            "rules_list": row([100, 10], [200, 110])}  # fmt: skip
    found = Result([rows[PBS].batch], {"batch1": rows})
    assert lost_to_rules(found, 1, "list") == pytest.approx(25)
    assert lost_to_rules(found, 1, "easy") is None
    assert rules_table(found, 1)[1:] == [["list", "0", "50", "25 %", "0", "0"]]


def test_the_rules_of_pbs(log: Path, tmp_path: Path) -> None:
    """Longpar jobs start at night unless they ran when the window began; parallel keeps off the nodes for debug."""
    jobs = batch(read_log(log), 1)
    waits = next(job for job in jobs if job.queue == "longpar")
    assert night(waits, T) == T - T % 86400 + 18 * 3600
    ran = BatchJob(9, "longpar", T, 100, 100, 1, 1, 0, 0, 1, T, T + 100)
    assert night(ran, T) == T
    assert "PartitionName=parallel Nodes=n[03-32,35-64] " in cluster(jobs, ruled=True)
    assert "PartitionName=debug Nodes=ALL " in cluster(jobs, ruled=True)
    narrow = [text for text in log.read_text("utf-8").splitlines() if ",32,288,64," not in text]  # those want all GPUs
    (tmp_path / "log.csv").write_text("\n".join(narrow), "utf-8")
    jobs = batch(read_log(tmp_path / "log.csv"), 1)
    assert len(jobs) == 9
    found = experiment(tmp_path, tmp_path / "log.csv", numbers=[1], seeds=0, names=["list", "rules_list"], workers=1)
    rows = found.rows["batch1"]
    at = [job.id for job in jobs].index(waits.id)
    assert rows["list"].starts[at] == waits.q and rows["rules_list"].starts[at] == night(waits, T)


def test_a_histogram_counts_all_jobs() -> None:
    """Debug waits 3,600 s, twice its 1,800; parallel does not wait."""
    header, counted = histogram_table({"x": row([3600, 10], [3700, 110])})
    assert dict(zip(header[1:], counted[1:], strict=True))["≤ 5"] == "50" and counted[1] == "50"
    assert sum(map(int, counted[1:])) == 100


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return packing.experiment(tmp_path_factory.mktemp("packing"), workers=1)


def test_dispatchers_keep_the_gpu_node_whole(packed: dict[str, dict[str, Any]]) -> None:
    """Section 4.2: under backfill the small job is on the node with GPUs, and who needs both waits an hour longer."""
    for name in ("easy", "conservative"):
        assert packed[name]["nodes"][1] == "gpu" and packed[name]["wait"][2] == 3703
    for name in ("list", *MODELS):
        assert packed[name]["nodes"][1] == "plain" and packed[name]["wait"][2] == 103
    assert packed["backfill"]["wait"][2] > 3600
    claim = {one.what: one for one in claims(Result([], {}, packed))}[PACKING.what]
    assert (claim.ours, claim.verdict) == ("3,600 s", REPRODUCED)
    assert packing.figure(packed).axes[0].get_title("left") == "easy: job 3 waits 3,703 s"


def watched(q: int, run_s: int, drawn: float, cores: int = 16, units: int = 20) -> BatchJob:
    job_id = q + run_s
    return BatchJob(job_id, "parallel", T + q, 2 * run_s, run_s, units, cores, 0, 0, 1000, T + q, T + q + run_s, drawn)


@pytest.mark.parametrize("choice", watts.CHOICES)
def test_no_choice_exceeds_its_budget(choice: str) -> None:
    """Three jobs of 100 W under 250 W: two at a time, whatever chooses; without a budget all at once."""
    jobs = [watched(k, 1000 + k, 100.0) for k in range(3)]
    free, tight = watts._Replay(jobs, choice, None), watts._Replay(jobs, choice, 250)
    free.run()
    tight.run()
    assert sorted(free.start.values()) == [T, T + 1, T + 2]
    assert sorted(tight.start.values()) == [T, T + 1, T + 1000]


def test_parms_choice_prefers_what_is_worth_more() -> None:
    """One of two fits beside what runs: the long one is worth more, by its length to the power of alpha."""
    jobs = [watched(0, 500, 150.0), watched(1, 100, 100.0), watched(2, 9000, 100.0)]
    replay = watts._Replay(jobs, "PARM", 200)
    replay.run()
    first, short, long = (replay.start[str(job.id)] for job in jobs)
    assert (first, long, short) == (T, T + 500, T + 500)
    replay = watts._Replay(jobs, "PARM", 199)
    replay.run()
    assert replay.start[str(jobs[2].id)] == T + 500 and replay.start[str(jobs[1].id)] == T + 9500


def test_watts_of_jobs_without_any() -> None:
    jobs = [watched(0, 10, 64.0, cores=4, units=4), watched(1, 20, 0.0, cores=1, units=3)]
    assert list(watts.watts_of(jobs).values()) == [64, 12]


def test_budgets_of_watts_on_a_batch(log: Path, tmp_path: Path) -> None:
    found = watts.experiment(tmp_path, log, workers=1)
    assert found.unmeasured == found.jobs == 13
    assert all(one["most_w"] <= share * found.full_w for (_, share), one in found.runs.items())
    assert found.runs["list", 0.6]["wait"] > found.runs["list", 1.0]["wait"]
    table = watts_table(found)
    assert len(table) == 1 + len(watts.SHARES) and table[1][0].startswith("100 %")


def test_run_go_on_and_write(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    out = tmp_path / "out"
    words = ["bench", "eurora", "--log", str(log), "--out", str(out), "--batches", "1", "--dispatchers",
             "nl,list,easy", "--seeds", "0", "--workers", "1", "--parts", "batches"]  # fmt: skip
    assert main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    figures = data["figures"]["batch1"]
    assert set(figures) == {PBS, "nl", "list", "easy"}
    assert figures["nl"]["contested"] >= 1 and figures["nl"]["worse"] == 0
    assert "13 of the paper's 437 jobs" in data["batches"]["batch1"]
    kept = pd.read_parquet(out / "results.parquet")
    value = kept[(kept["dispatcher"] == "list") & (kept["measure"] == "wait")]["value"].item()
    assert value == pytest.approx(figures["list"]["wait"])
    assert (out / "batch1.png").stat().st_size > 5_000
    made: list[str] = []
    keep = runs._keep
    monkeypatch.setattr(runs, "_keep", lambda cell, *more: (made.append(cell.name), keep(cell, *more)))
    (out / "runs" / "batch1-list.json").unlink()
    assert main([*words, "--quiet"]) == 0
    assert made == ["batch1-list"]


def test_schedules_of_a_batch_are_valid(log: Path, tmp_path: Path) -> None:
    experiment(tmp_path, log, numbers=[1], seeds=0, names=["list"], workers=1)
    inputs = tmp_path / "inputs"
    for policy in ("list", "cp_eurora:model=wt,limit=0.02", "cp_classes:model=mks,limit=0.02"):
        out = tmp_path / policy.replace(":", "-")
        assert main(["run", "--workload", str(inputs / "batch1.parquet"), "--conf", str(inputs / "batch1.conf"),
                     "--policy", policy, "--out", str(out), "--quiet"]) == 0  # fmt: skip
        assert main(["validate", str(out)]) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("job_id,queue", "job,queue"), "no column job_id (expected queue, job_id"),
        ((",700,2,", ",soon,2,"), ":3: wall_req_s: bad number 'soon' (expected a whole number up to 9007199254740991)"),
        ((",900,1,8,", ",900,3,8,"), ":2: cores: 8 is not shared evenly by its units (expected a multiple of n_units)"),
        ((",900,1,8,", ",900,1,0,"), ":2: cores: a job without cores (expected at least one a unit)"),
        ((",900,1,8,", ",9007199254740993,1,8,"), ":2: wall_req_s: bad number '9007199254740993'"),
        (("debug", "batch"), ":4: queue: unknown queue 'batch' (expected debug, parallel, np_longpar, reservation)"),
    ],
)
def test_a_wrong_trace_gets_one_line(log: Path, tmp_path: Path, change: tuple[str, str], said: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(log.read_text("utf-8").replace(*change), "utf-8")
    with pytest.raises(InputError) as raised:
        read_log(path)
    assert str(raised.value) == f"{path}{said if said[0] == ':' else ': ' + said}" or said in str(raised.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--batches", "4"), "--batches: unknown name '4' (expected all, or of 1, 2, 3)"),
        (("--dispatchers", "mks,pcp20"), "--dispatchers: unknown name 'pcp20'"),
        (("--seeds", "-1"), "--seeds: -1 seeds (expected at least 0)"),
        (("--parts", "all,watts"), "--parts: unknown part 'all'"),
        (("--log", "none.csv"), "none.csv: --log: cannot be read: No such file or directory"),
    ],
)
def test_wrong_options_get_one_line(
    log: Path, tmp_path: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "eurora", "--log", str(log), "--out", str(tmp_path), *options]) != 0
    assert said in capsys.readouterr().err


def test_without_a_trace_it_is_asked_for(capsys, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("SLURMSIM_DATA", raising=False)
    assert main(["bench", "eurora"]) != 0
    assert "--log: no trace (expected the public trace, or SLURMSIM_DATA with seeds/" in capsys.readouterr().err


@pytest.fixture(scope="module")
def public() -> dict[str, np.ndarray]:
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder or not (Path(folder) / eurora_data.LOG).is_file():
        pytest.skip(f"set SLURMSIM_DATA to the folder with {eurora_data.LOG}")
    return read_log(Path(folder) / eurora_data.LOG)


@pytest.mark.parametrize(
    ("number", "counts"),
    [
        (1, {"debug": 203, "parallel": 118, "longpar": 44, "other": 8, "1": 263, "2": 2, "8": 57, "more": 43}),
        (2, {"debug": 125, "parallel": 188, "longpar": 11, "other": 31, "1": 188, "2": 34, "8": 54, "more": 72}),
        (3, {"debug": 119, "parallel": 389, "longpar": 11, "other": 61, "1": 251, "2": 37, "8": 186, "more": 96}),
    ],
)
def test_the_public_batches(public: dict[str, np.ndarray], number: int, counts: dict[str, int]) -> None:
    """As many as the specification counted; completed, Table 6 to the job."""
    jobs = batch(public, number)
    found = Counter(job.queue for job in jobs) + Counter(job.core_class for job in jobs)
    assert {name: found[name] for name in counts} == counts
    full = completed(public, number, 1)
    assert Counter(job.queue for job in full) + Counter(job.core_class for job in full) == Counter(
        eurora_data.TABLE_6[number]
    )


def test_pbs_and_list_scheduling_on_batch_1(public: dict[str, np.ndarray], tmp_path: Path) -> None:
    log = Path(os.environ["SLURMSIM_DATA"]) / eurora_data.LOG
    rows = experiment(tmp_path, log, numbers=[1], seeds=0, names=["list"], workers=1).rows["batch1"]
    pbs, plain = rows[PBS].figures(), rows["list"].figures()
    expected = {"cores": 450.54, "gpus": 29.20, "mics": 0.327, "jobs": 62.87}
    assert {name: pbs[name] for name in expected} == pytest.approx(expected, rel=0.01)
    expected = {"wait": 285, "cores": 819, "gpus": 57.7, "mics": 3.99, "jobs": 116}
    assert {name: plain[name] for name in expected} == pytest.approx(expected, rel=0.02)
