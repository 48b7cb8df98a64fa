"""The experiment in small: files, resuming, claims and their verdicts."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.experiments import runs
from slurmsim.experiments.verdicts import CONSTRUCTED, DIRECTION, MISSING, NOT, REPRODUCED, UNDETERMINED
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.lomonosov import run as lomonosov
from slurmsim.papers.lomonosov.run import LIMITS, Part, Result, parse_parts
from slurmsim.papers.lomonosov.view import claims

SMALL = ("-o", "jobs=600", "-o", "jobs_per_day=30", "-o", "nodes=64", "-o", "active=4", "-o", "users=12")
EASY = Part("regular4", "easy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "out"
    options = ["--out", str(folder), "--parts", "regular4-easy", "--seeds", "2", "--workers", "1", "--quiet", *SMALL]
    assert main(["bench", "lomonosov", *options]) == 0
    return folder


def test_files(folder: Path) -> None:
    data = json.loads((folder / "results.json").read_text())
    part = data["parts"]["regular4-easy"]
    assert part["same_as_base"] is True
    assert [claim["verdict"] for claim in part["claims"]][-1] == REPRODUCED
    rows = pd.read_parquet(folder / "results.parquet")
    assert set(rows["limit"]) == {*LIMITS, "base"} and set(rows["replicate"]) == {1, 2}
    waits = rows[(rows["measure"] == "all_wait_s") & (rows["replicate"] == 1)].set_index("limit")["value"]
    base, tight = waits["inf"], waits["0.25x"]
    runs = {name.removeprefix("regular4-easy-"): found["all_wait_s"] for name, found in data["runs"].items()}
    changes = [100 * (runs[f"0.25x-{k}"] / runs[f"inf-{k}"] - 1) for k in (1, 2)]
    assert changes[0] == pytest.approx(100 * (tight / base - 1))
    assert part["changes_percent"]["0.25x"]["all_wait_s"]["mean"] == pytest.approx(np.mean(changes))
    assert (folder / "lomonosov.png").stat().st_size > 5_000
    text = (folder / "results.txt").read_text()
    assert "paper" in text and MISSING in text and "regular4-easy" in text


def test_it_goes_on_where_it_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two results are lost: only those two runs are made again, and give the same."""
    lost = [folder / "runs" / f"regular4-easy-{name}.json" for name in ("1x-2", "inf-1")]
    before = [json.loads(file.read_text())["figures"] for file in lost]
    lost[0].unlink()
    lost[1].write_text("{ broken")
    made: list[str] = []
    keep = runs._keep
    monkeypatch.setattr(runs, "_keep", lambda cell, *more: (made.append(cell.name), keep(cell, *more)))
    options = ["--out", str(folder), "--parts", "regular4-easy", "--seeds", "2", "--workers", "1", "--quiet", *SMALL]
    assert main(["bench", "lomonosov", *options]) == 0
    assert sorted(made) == ["regular4-easy-1x-2", "regular4-easy-inf-1"]
    for file, figures in zip(lost, before, strict=True):
        after = json.loads(file.read_text())["figures"]
        for one in (after, figures):
            del one["wall_s"], one["cpu_s"]
        assert after == figures


def test_a_run_of_other_options_is_another_run(folder: Path) -> None:
    work = partial(runs._run, measure=lomonosov.measure)
    options = sorted(option.split("=") for option in SMALL if option != "-o")
    same, other = ([(name, value) for name, value in some] for some in (options, [("jobs", "600")]))
    assert runs._kept(lomonosov.cells([EASY], 1, None, same)[0], work, folder) is not None
    assert runs._kept(lomonosov.cells([EASY], 1, None, other)[0], work, folder) is None


def figures(**given: float) -> dict[str, object]:
    names = ("first_wait_s", "other_wait_s", "all_wait_s", "utilization")
    return {**dict.fromkeys(names, 1000.0), "utilization": 0.9, "jobs_sha256": "a", **given}


def result(change: list[dict[str, float]], base: dict[str, object] | None = None) -> Result:
    found = {f"regular4-easy-inf-{k + 1}": figures() for k in range(len(change))}
    found |= {f"regular4-easy-1x-{k + 1}": figures(**given) for k, given in enumerate(change)}
    found["regular4-easy-base-1"] = base or figures()
    return Result(len(change), [EASY], [], found)


def verdicts(found: Result) -> list[str]:
    return [claim.verdict for claim in claims(found, EASY)]


def test_verdicts() -> None:
    """The paper: first jobs earlier, all jobs within 1 %, others later, utilization within half a point."""
    as_paper = [{"first_wait_s": 910 + k, "all_wait_s": 1002 + k, "other_wait_s": 1010 + k} for k in range(3)]
    assert verdicts(result(as_paper)) == [REPRODUCED, DIRECTION, REPRODUCED, REPRODUCED, REPRODUCED, REPRODUCED]
    other = [
        {"first_wait_s": 1200 + k, "all_wait_s": 700 + k, "other_wait_s": 700 + k, "utilization": 0.89}
        for k in range(3)
    ]
    assert verdicts(result(other)) == [NOT, NOT, NOT, NOT, NOT, REPRODUCED]
    late = [{"all_wait_s": 1200 + k} for k in range(3)]
    assert verdicts(result(late))[2] == NOT
    noise = [{"first_wait_s": 500}, {"first_wait_s": 1400}]
    assert verdicts(result(noise))[0] == UNDETERMINED
    assert verdicts(result(as_paper, figures(jobs_sha256="b")))[-1] == NOT


def test_intervals() -> None:
    """n = 5, mean 3, s = sqrt(2.5): 2.776 x 1.581/sqrt(5) = 1.963."""
    found = Estimate.of([1, 2, 3, 4, 5])
    assert (found.mean, found.n, found.sign) == (3, 5, 1)
    assert found.half == pytest.approx(1.963, abs=1e-3)
    assert Estimate.of([7]).half is None and Estimate.of([7]).sign == 0
    assert Estimate.of([-1, 1]).sign == 0 and Estimate.of([-5, -5.1]).sign == -1
    assert Estimate.of([-5, -5.1]).text(1, signed=True) == "-5.0 ± 0.6"


def test_first_jobs_of_a_week() -> None:
    """Rows by job id: of equal submits the lower id is first; each week anew."""
    users = np.array([1, 1, 2, 1, 2, 1])
    week = np.array([0, 0, 0, 1, 1, 1])
    submit = np.array([5, 5, 9, 700_000, 700_009, 699_999])
    found = lomonosov._first_of_each(users, week, submit)
    assert found.tolist() == [True, False, True, False, True, True]


def test_final_states_are_by_construction(tmp_path: Path) -> None:
    """The synthetic partition is made with the paper's shares; nothing is run for them."""
    assert main(["bench", "lomonosov", "--parts", "states", "--out", str(tmp_path), "--quiet"]) == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["parts"]["states"]["claims"]
    assert {one["verdict"] for one in found} == {CONSTRUCTED}
    assert [one["paper"] for one in found] == ["77,668 of 828,389", "267,550 of 828,389"]
    assert [float(one["ours"].split()[0]) for one in found] == pytest.approx([9.4, 32.0], abs=0.5)
    assert not (tmp_path / "runs").exists()


def test_parts() -> None:
    assert parse_parts("log-easy,regular4-backfill") == (Part("log", "easy"), Part("regular4", "backfill"))
    assert len(parse_parts("all")) == 16
    with pytest.raises(ConfigError, match="log-fcfs"):
        parse_parts("log-fcfs")


def test_a_log_nobody_named_is_not_attempted_and_said_so(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("SLURMSIM_DATA", raising=False)
    assert main(["bench", "lomonosov", "--out", str(tmp_path), "--parts", "log-easy", "--seeds", "1"]) == 0
    assert f"log-easy: {MISSING}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--parts", "all,log-easy"), "unknown part 'all'"),
        (("--seeds", "0"), "--seeds"),
        (("--log", "nowhere.swf"), "nowhere.swf"),
        (("-o", "nods=5"), "nods"),
    ],
)
def test_refused_in_one_line(
    tmp_path: Path, options: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert main(["bench", "lomonosov", "--out", str(tmp_path / "out"), "--workers", "1", *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_users_over_time_by_hand() -> None:
    """Ann has a job queued in [0, 10) and another in [5, 25), Bob one in [20, 30): one user, then two, then Bob."""
    keys, since, until = np.array([1, 1, 2]), np.array([0, 5, 20]), np.array([10, 25, 30])
    assert lomonosov.covering(keys, since, until, np.arange(0, 40, 10)).tolist() == [1, 1, 2, 0]
    assert lomonosov.covering(keys[:0], since[:0], until[:0], np.arange(3)).tolist() == [0, 0, 0]


def log_of_weeks(folder: Path, run_s: int) -> Path:
    """Six weeks of 1,200 jobs of 4 users, of 2 processors out of 8 each."""
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 6 * lomonosov.WEEK_S, 1200))
    rows = [
        f"{k} {at} -1 {run_s} 2 -1 -1 2 12000 -1 1 {1 + k % 4} 1 -1 1 1 -1 -1"
        for k, at in enumerate(submit.tolist(), 1)
    ]
    file = folder / "KTH-SP2-1996-2.swf.gz"
    file.write_bytes(gzip.compress(("; MaxProcs: 8\n" + "\n".join(rows) + "\n").encode()))
    return file


def test_windows_of_a_log_at_a_load(tmp_path: Path) -> None:
    """1,200 jobs of 2 x 6,048 CPU-seconds are half of 8 x 6 weeks; the windows have all jobs, each once."""
    file = log_of_weeks(tmp_path, 6048)
    found = lomonosov.windows_of(file, 0.9, 3)
    assert [one["load"] for one in found] == pytest.approx([1.8] * 3, rel=0.01)
    edges = [tuple(map(int, one["window"].split(","))) for one in found]
    assert [a for a, _ in edges[1:]] == [b for _, b in edges[:-1]]
    assert edges[-1][1] - edges[0][0] == pytest.approx(6 * lomonosov.WEEK_S, rel=0.01)


def test_a_log_at_a_higher_load(tmp_path: Path) -> None:
    log_of_weeks(tmp_path, 10_886)  # its own load is 0.9
    out = tmp_path / "out"
    options = ["--parts", "kth90-easy", "--windows", "2", "--data", str(tmp_path), "--workers", "1", "--quiet"]
    assert main(["bench", "lomonosov", "--out", str(out), *options]) == 0
    data = json.loads((out / "results.json").read_text())
    assert set(data["parts"]) == {"kth90-easy"} and data["parts"]["kth90-easy"]["same_as_base"]
    assert {name.split("-")[2] for name in data["runs"]} == {"inf", "7x", "1x", "0.25x", "base"}
    assert [len(data["tables"][f"{name}: 0.90 kth"]) for name in ("loads", "periods", "users")] == [2, 2, 2]
    for one in data["runs"].values():
        assert 0 < one["users_running"] <= 4 and 0 <= one["users_queued"] <= 4
        assert 0.6 < one["utilization"] < 1
    assert (out / "lomonosov-users.png").stat().st_size > 5_000


def test_more_replicates_of_what_verdicts_compare() -> None:
    few, more = (lomonosov.cells([EASY], 2, None, (), verdict_seeds=count) for count in (0, 4))
    added = {cell.name for cell in more} - {cell.name for cell in few}
    assert added == {f"regular4-easy-{limit}-{k}" for limit in ("inf", "1x") for k in (3, 4)}
    runs = {cell.name: {"all_wait_s": 100.0 + len(cell.name)} for cell in more}
    found = Result(2, [EASY], [], runs)
    change = found.change(EASY, "1x", "all_wait_s")
    assert change is not None and change.n == 4 and found.count(EASY, "0.5x") == 2
    tight = found.change(EASY, "0.5x", "all_wait_s")
    assert tight is not None and tight.n == 2


def test_windows_of_all_logs_together() -> None:
    """Three logs of two windows are six replicates; two logs are not all."""
    parts = [part for part in lomonosov.AT_LOADS if part.load == 90]
    runs = {
        f"{part}-{limit}-{k}": {"first_wait_s": 3600.0 * (number + k) * (1.0 if limit == "inf" else 0.9)}
        for number, part in enumerate(parts, 1) for limit in ("inf", "1x") for k in (1, 2)
    }  # fmt: skip
    found = Result(5, parts, [], runs)
    assert found.of_loads() == {90: parts}
    change = found.change(parts, "1x", "first_wait_s", percent=True)
    assert change is not None and (change.n, change.mean) == (6, pytest.approx(-10))
    assert Result(5, parts[:2], [], runs).of_loads() == {}
