"""The strategy search: moments of categories, the ranking, checks in simulation, and what cannot be asked."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.cli.strategy import numbers
from slurmsim.energy.profile import read_profile
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.papers.titan.allocation import probability
from slurmsim.papers.titan.strategy.categories import DRAWN, FEWEST, categories, drawn_anew, estimates, resampled
from slurmsim.papers.titan.strategy.data import History, history_of, node_hours
from slurmsim.papers.titan.strategy.loop import SampledStream
from slurmsim.papers.titan.strategy.ranking import BEYOND, Goal, above, rank
from slurmsim.papers.titan.strategy.run import Wanted, search
from slurmsim_workloads import read_workload, write_workload
from slurmsim_workloads.parquet import from_frame

WEEK_S = 7 * 86_400


def history(n: int = 400, seed: int = 1) -> History:
    """Two kinds of jobs over ten weeks: small ones that wait little, large ones that wait much."""
    rng = np.random.default_rng(seed)
    large = np.arange(n) % 2 == 1
    run = rng.exponential(np.where(large, 4.0, 1.0))
    return History(
        np.sort(rng.integers(0, 10 * WEEK_S, n)), np.where(large, 6, 2) * 3600, np.where(large, 10, 2),
        rng.exponential(np.where(large, 8.0, 1.0)), run, 4, 16, "made up",
    )  # fmt: skip


def test_moments_of_categories() -> None:
    """Sums by week give the moments of all rows; the bootstrap has them on average."""
    made = history()
    found, few = categories(made, "bins")
    assert [one.name for one in found] == ["2-4 nodes, 0-2 h", "5-16 nodes, 2-6 h"] and few == 0
    assert [one.name for one in categories(made, "shapes")[0]] == ["2 nodes, 2 h", "10 nodes, 6 h"]
    for one in found:
        got = estimates(one.weeks.sum(axis=0))
        w, r, u = made.wait[one.rows], made.run[one.rows], made.use[one.rows]
        assert (got.n, len(one.weeks)) == (200, 10)
        expected = [w.mean(), r.mean(), u.mean(), w.var(), r.var(), u.var(), np.cov(r, u, bias=True)[0, 1]]
        assert [got.wait, got.run, got.use, got.wait_var, got.run_var, got.use_var, got.run_use] == pytest.approx(
            expected
        )
        many = resampled(one, 2000, 3)
        assert many is not None and many.wait.mean() == pytest.approx(w.mean(), rel=0.02)
        assert 0.03 < many.wait.std() / w.mean() < 0.15  # near 1 / sqrt(200)


def test_bins_of_a_policy_and_few_jobs() -> None:
    made = history(n=80)
    found, few = categories(made, "bins", ((1, 4), (5, None)))
    assert [one.name for one in found] == ["1-4 nodes, 0-2 h", "5+ nodes, 2-6 h"]
    assert categories(history(n=2 * FEWEST - 2), "bins") == ([], 2)
    assert few == 0


def test_the_ranking_is_the_models() -> None:
    """P is the formula's with the category's own moments; ties at 1 go by E[U]."""
    made = history()
    found, _ = categories(made, "bins")
    goal = Goal(2_000.0, 500.0, n_nodes=16)
    ranked = rank(found, goal, (1, 2))
    assert len(ranked) == 8 and ranked[0].probability >= ranked[1].probability
    for one in ranked:
        w, r = made.wait[one.category.rows], made.run[one.category.rows]
        gap = w if one.scheme == "start" else w + r
        per_job = (made.use[one.category.rows].mean(), made.use[one.category.rows].std())
        p = probability(2_000.0, 500.0, (gap.mean(), gap.std()), per_job=per_job, streams=one.streams)
        assert one.probability == pytest.approx(p, abs=1e-12)
        assert one.expected == pytest.approx(one.streams * 500 * per_job[0] / gap.mean())
        assert one.low is not None and one.high is not None and one.low <= one.high
    sure = [one for one in ranked if one.feasible and one.probability > 1 - 1e-9]
    assert [one.expected for one in sure] == sorted((one.expected for one in sure), reverse=True)
    small = next(one for one in ranked if one.scheme == "end" and one.streams == 1)
    assert small.renewal != pytest.approx(small.probability, abs=1e-6)  # use and Q are correlated


def test_a_category_drawn_anew_for_each_job() -> None:
    """Each category is as likely as any other, however many jobs it has had; wait and use are correlated."""
    made = history()
    (small, large), _ = categories(made, "bins")
    few = replace(small, rows=small.rows[:50])
    drawn = drawn_anew(made, [few, large])
    got = estimates(drawn.weeks.sum(axis=0))
    rows = (few.rows, large.rows)
    assert got.n == 400 and got.wait == pytest.approx(np.mean([made.wait[one].mean() for one in rows]))
    assert got.use == pytest.approx(np.mean([made.use[one].mean() for one in rows]))
    wait, use = (
        np.concatenate([np.resize(column[few.rows], 200), column[large.rows]]) for column in (made.wait, made.use)
    )
    assert got.wait_use == pytest.approx(np.cov(wait, use, bias=True)[0, 1])


def test_fixed_against_drawn_anew() -> None:
    made = history()
    found, _ = categories(made, "bins")
    goal = Goal(2_000.0, 500.0, n_nodes=16)
    ranked, drawn = rank(found, goal, (1, 2)), rank([drawn_anew(made, found)], goal, (1, 2))
    assert [one.category.name for one in drawn] == [DRAWN] * 4
    more, same, less = above(ranked, drawn)
    assert more + same + less == 8 and more > 0 and less > 0


def test_flags() -> None:
    """What the machine has not comes last; more streams than may be queued are said."""
    found, _ = categories(history(), "bins")
    ranked = rank(found, Goal(100.0, 500.0, n_nodes=5, limit=2), (1, 3))
    assert any(BEYOND in one.flags for one in ranked)
    feasible = [one.feasible for one in ranked]
    assert feasible == sorted(feasible, reverse=True)
    for one in ranked:
        assert (one.streams > 2) == any("more streams than the 2 queued" in flag for flag in one.flags)
    with pytest.raises(ConfigError, match=r"--allocation: 9,000 node-hours are more than the machine has in 500 h"):
        rank(found, Goal(9_000.0, 500.0, n_nodes=16), (1,))


def test_jobs_like_those_of_a_category() -> None:
    """Drawn with replacement, whole rows at a time, each by its number."""
    run = np.array([10, 20, 30], np.int64)
    stream = SampledStream("p", "start", 1, 0, 99, run, 2 * run, run // 10, run // 5)
    rows = stream.rows(0, 3000, 5)
    assert (rows.ints["time_limit"] == 2 * rows.ints["run_time"]).all()
    assert (rows.ints["nodes"] == rows.ints["run_time"] // 10).all()
    shares = np.bincount(rows.ints["nodes"])[1:] / 3000
    assert shares == pytest.approx([1 / 3] * 3, abs=0.04)
    assert (stream.rows(1000, 10, 5).ints["run_time"] == rows.ints["run_time"][1000:1010]).all()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five weeks of jobs of 1 and of 8 CPUs on 16, with waits that are made up."""
    rng = np.random.default_rng(2)
    rows = []
    for k in range(1, 701):
        submit, size = k * 4_300, 8 if k % 5 == 0 else 1
        run = int(rng.integers(600, 7_000))
        wait = int(rng.integers(0, 9_000 if size == 8 else 300))
        rows.append(f"{k} {submit} {wait} {run} {size} -1 -1 {size} 7200 -1 1 {k % 3} 1 1 1 1 -1 -1")
    file = tmp_path_factory.mktemp("strategy") / "log.swf"
    file.write_text("; MaxProcs: 16\n; MaxNodes: 16\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_a_search_with_checks(log: Path) -> None:
    """The best are tried beside the log's jobs; the formula with the waits seen then is near what was used."""
    answer = search(Wanted(str(log), "1500", months=0.5, streams=(1, 2)))
    assert len(answer.categories) == 2 and len(answer.ranked) == 8
    assert 3 <= len(answer.checks) <= 9
    assert all(one.seen for one in answer.ranked[:3])
    for check in answer.checks:
        assert check.use <= 16 * 365 * 1.1 and check.starts > 10
        assert check.disagrees == (
            abs(check.use - check.after.expected) > 3 * check.after.sd
            or ((check.use > 1500) != (check.after.probability > 0.5) and not 0.05 <= check.after.probability <= 0.95)
        )
    assert sum(one.disagrees for one in answer.checks) < len(answer.checks)
    again = search(Wanted(str(log), "1500", months=0.5, streams=(1, 2)))
    assert [one.use for one in again.checks] == [one.use for one in answer.checks]


def test_a_trace_is_a_log(log: Path, tmp_path: Path) -> None:
    """What slurmsim run left has waits, too; they are those of the run."""
    dated = tmp_path / "dated.swf"  # its trace has dates
    dated.write_text("; UnixStartTime: 1700000000\n" + log.read_text(encoding="utf-8"), encoding="utf-8")
    trace = slurmsim.run(dated, policy="easy", out=tmp_path / "out", report=False)
    answer = search(Wanted(str(tmp_path / "out"), "100", months=0.1, nodes=16, checks=0))
    jobs = trace.jobs_frame()
    assert len(answer.history) == len(jobs)
    assert answer.history.wait.sum() == pytest.approx(jobs["wait_s"].sum() / 3600)
    assert answer.history.submit.max() < 5_000_000
    assert answer.history.use.sum() == pytest.approx((jobs["run_time_s"] * jobs["req_cpus"]).sum() / 3600)


def test_the_command(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["strategy", "--log", str(log), "--allocation", "1500", "--months", "0.5", "--check", "1"]
    assert main([*command, "--plot", str(tmp_path / "p.png"), "--streams", "1..2"]) == 0
    shown = capsys.readouterr().out
    assert "700 jobs, 2 categories; more than 1,500 node-hours in 365 h?" in shown
    assert "tried in a closed loop beside the log's jobs, under easy" in shown
    assert "Random, a category drawn anew for each job, next on " in shown
    rows = shown.split("-------\n", 1)[1].splitlines()
    assert rows[1].startswith("random: drawn anew for each job, next on ") and not rows[0].startswith("random")
    assert "fixed ways" in shown
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert main([*command, "--json", "--policy", "titan:base=easy", "--streams", "5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["allocation_node_h"] == 1500 and found["policy"] == "titan"
    assert all("more streams than the 4 queued jobs a user may have" in one["flags"] for one in found["ranked"])
    assert {one["name"] for one in found["categories"]} == {"1-125 nodes, 0-2 h"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--allocation", "1M-core-h"], "--allocation: '1M-core-h' (expected as 1M-node-hours"),
        (["--allocation", "9M"], "--allocation: 9,000,000 node-hours are more than the machine has in 2190 h"),
        (["--streams", "3..1"], "--streams: '3..1' (expected as 3 or 1..8)"),
        (["--months", "0"], "--months: 0 months"),
        (["--check", "-1"], "--check: -1 checks"),
        (["--plot", "x.pdf"], "--plot: x.pdf (expected a name that ends in .png or .svg)"),
        (["--by", "shapes", "--log", "FEW"], "no category has had 30 jobs (5 have had fewer)"),
        (["--log", "NONE"], "wait: no job has a recorded start and a run time"),
    ],
)
def test_what_cannot_be_asked(
    log: Path, more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = log.read_text(encoding="utf-8").splitlines()
    few, none = tmp_path / "few.swf", tmp_path / "none.swf"
    sizes = [" ".join([*row.split()[:7], str(k), str(3600 + 60 * k), *row.split()[9:]]) for k, row in
             enumerate(text[2:7], 1)]  # fmt: skip
    few.write_text("\n".join([*text[:2], *sizes]) + "\n", encoding="utf-8")
    rows = [" ".join([*row.split()[:2], "-1", *row.split()[3:]]) for row in text[2:40]]
    none.write_text("\n".join([*text[:2], *rows]) + "\n", encoding="utf-8")
    words = [{"FEW": str(few), "NONE": str(none)}.get(word, word) for word in more]
    assert main(["strategy", "--log", str(log), "--allocation", "100", "--check", "0", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_an_allocation_nobody_can_use(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The machine has it, and no way of submitting comes near: one line says so, and what the best would use."""
    command = ["strategy", "--log", str(log), "--allocation", "5000", "--months", "0.5", "--check", "0"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("warning:")]
    assert "no way of submitting is likely to use 5,000 node-hours in 365 h" in line and "on average; try" in line
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"] == line
    assert main(["strategy", "--log", str(log), "--allocation", "10", "--months", "0.5", "--check", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"] is None


def test_amounts() -> None:
    assert [node_hours(text, 16) for text in ("1M-node-hours", "32k-core-hours", "250000")] == [1e6, 2000.0, 250_000.0]
    assert numbers("1..3") == (1, 2, 3) and numbers("8") == (8,)


def test_nodes_of_a_log(log: Path) -> None:
    """CPUs become nodes where the site says how many a node has."""
    workload = read_workload(log)
    assert history_of(workload, "log", 4, None).nodes.max() == 2
    assert history_of(workload, "log", None, None).nodes.max() == 8
    assert math.isclose(
        float(history_of(workload, "log", None, None).wait[0] * 3600), int(workload.ints["log_start"][0] - 4300)
    )
    with pytest.raises(WorkloadError, match="streams have no history"):
        file = log.with_name("s.toml")
        file.write_text("nodes = 4\n[[stream]]\njobs = 1\ngap = 1\nrun = 1\n", encoding="utf-8")
        search(Wanted(str(file), "100"))


def applications(folder: Path) -> Path:
    """240 jobs of an application on 8 of 2 to 16 nodes, and 240 plain ones of each of those sizes that wait longer."""
    app = "LeanMD:parallelism=12:sigma=0.3"
    rng = np.random.default_rng(4)
    rows = []
    for k in range(960):
        size = (8, 2, 8, 16)[k % 4]
        own = k % 4 == 0
        submit, run = 3_000 * k, int(rng.integers(900, 1_800))
        wait = int(rng.exponential({2: 60, 8: 600, 16: 6_000}[size]))
        rows.append({
            "job_id": k + 1, "submit": submit, "log_start": submit + wait, "run_time": run, "time_limit": 3_600,
            "nodes": size, "tasks": -1 if own else size, "user": f"u{k % 3}", "app": app if own else "",
            "min_nodes": 2 if own else -1, "max_nodes": 16 if own else -1,
        })  # fmt: skip
    file = folder / "apps.parquet"
    write_workload(from_frame(pd.DataFrame(rows)), file)
    return file


def test_shapes_of_an_application_nobody_has_run(tmp_path: Path) -> None:
    """On n nodes a job takes what the PASS model says, and waits as jobs of that size do."""
    file = applications(tmp_path)
    answer = search(Wanted(str(file), "300", months=0.5, by="shapes", nodes=64, cpus_per_node=1, checks=1))
    profile = read_profile("LeanMD:parallelism=12:sigma=0.3", 2, 16, False)
    log = history_of(read_workload(file), "log", 1, 64)
    (applied,) = log.applied
    assert len(applied.rows) == 240 and (log.nodes[applied.rows] == 8).all()
    at_most = read_workload(file).ints["run_time"][::4] / 3600  # as the log has them: on 16 nodes
    full_mw = round(profile.application.p_high_w * 1000)
    assert log.run[applied.rows] == pytest.approx(at_most * profile.slowdown(8, full_mw))
    found = {one.name: estimates(one.weeks.sum(axis=0)) for one in answer.categories if " on " in one.name}
    assert [int(name.rsplit(" ", 2)[1]) for name in found] == [2, 4, 6, 8, 10, 12, 14, 16]
    for name, got in found.items():
        nodes = int(name.rsplit(" ", 2)[1])
        assert got.n == 240
        assert got.run == pytest.approx((at_most * profile.slowdown(nodes, full_mw)).mean())
        assert got.use == pytest.approx(nodes * got.run)
        waited = 60 if nodes <= 4 else (600 + 600 + 6_000) / 3  # of the log's jobs in bins 2-4 and 5-16
        assert got.wait * 3600 == pytest.approx(waited, rel=0.3)
    assert len(answer.checks) >= 1 and answer.checks[0].starts > 0


def test_a_users_own_sacct_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `sacct -P` prints is a log with waits, run times and limits."""
    lines = ["JobIDRaw|User|Submit|Start|End|ElapsedRaw|State|Timelimit|NNodes|NCPUS"]
    for k in range(80):
        submit = 1_700_000_000 + 20_000 * k
        stamps = [datetime.fromtimestamp(submit + s, UTC).strftime("%Y-%m-%dT%H:%M:%S") for s in (0, 1_800, 9_000)]
        lines.append(f"{k + 1}|ann|{'|'.join(stamps)}|7200|COMPLETED|03:00:00|4|16")
    (tmp_path / "mine.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["strategy", "--log", str(tmp_path / "mine.txt"), "--allocation", "1000-core-hours", "--months", "0.5"]
    assert main([*command, "--nodes", "8", "--cpus-per-node", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["categories"]
    assert (one["name"], one["jobs"], one["wait_h"], one["run_h"]) == ("2-4 nodes, 2-6 h", 80, [0.5, 0.0], [2.0, 0.0])
    assert one["use_node_h"] == [8.0, 0.0] and found["allocation_node_h"] == 250
    assert found["checks"] and found["checks"][0]["starts"] > 0
