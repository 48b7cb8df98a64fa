"""What if: grading a baseline, effects and their band, jitter, and whole studies on small logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.fidelity.grade import grade, spearman
from slurmsim.metrics.paired import interval
from slurmsim.replaying.options import RunOptions
from slurmsim.whatif import Question, study
from slurmsim.whatif.effect import by_class, effect
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads.transforms.jitter import jittered

NAN = float("nan")
N = 60


def numbers(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


# -- grade ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_rank_correlation_is_that_of_pandas(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, np.float64) for side in zip(*pairs, strict=True))
    expected = pd.Series(a).rank().corr(pd.Series(b).rank())
    found = spearman(a, b)
    assert (found is None) == bool(np.isnan(expected))
    if found is not None:
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scale", "shuffled", "verdict"),
    [(1.0, False, "good"), (1.1, False, "good"), (1.2, False, "fair"), (1.4, False, "poor"), (1.0, True, "poor")],
)
def test_verdicts(scale: float, shuffled: bool, verdict: str) -> None:
    """Mean wait off by 0, 10, 20 and 40 %, order kept; and the right mean with the order turned round."""
    logged = 100 * np.arange(100, dtype=np.float64)
    replayed = logged[::-1] if shuffled else logged * scale
    fit = grade(logged, replayed)
    assert fit.verdict == verdict
    assert fit.error == pytest.approx(scale - 1)
    assert (verdict == "poor") == ("nothing can be concluded" in fit.sentence)


def test_grade_leaves_out_who_did_not_start_in_both() -> None:
    logged = np.where(np.arange(80) % 2 == 0, NAN, 500.0)
    fit = grade(logged, np.full(80, 500.0))
    assert (fit.jobs, fit.error, fit.rank_correlation, fit.close, fit.verdict) == (40, 0.0, None, 1.0, "good")
    assert grade(logged[:50], np.full(50, 500.0)).verdict == "none"


def test_short_waits_are_not_measured_against_nearly_nothing() -> None:
    """2 s instead of 1 s is an error of 1/60, not of 100 %."""
    assert grade(np.ones(50), np.full(50, 2.0)).error == pytest.approx(1 / 60)


# -- effect ---------------------------------------------------------------------------------------------------------


def test_effect_by_hand() -> None:
    before, after = numbers(0, 100, 1000, NAN), numbers(0, 200, 400, 5)
    pairs = [(before + k, after + 2 * k) for k in range(5)]  # means differ by k more each time
    found = effect("all", before, after, pairs, np.ones(4, np.bool_))
    assert found is not None
    shift = [0, 0, 1, 2, 3, 4]  # the pair without jitter, and the replicates
    assert found.jobs == 3
    assert (found.baseline_s, found.changed_s) == pytest.approx((1100 / 3 + np.mean(shift), 200 + 2 * np.mean(shift)))
    assert found.difference_s == pytest.approx(-500 / 3 + np.mean(shift))
    assert (found.low, found.high) == pytest.approx(
        tuple(-500 / 3 + end for end in interval(numbers(*shift))), rel=1e-9
    )
    assert found.clear
    assert (found.gain, found.lose) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_a_band_over_zero_is_not_clear_and_none_is_not_either() -> None:
    before, after = numbers(10, 10), numbers(11, 11)
    rows = np.ones(2, np.bool_)
    pairs = [(before, before + d) for d in (-3.0, 4.0)]
    crossing = effect("all", before, after, pairs, rows)
    assert crossing is not None and not crossing.clear
    alone = effect("all", before, after, [], rows)
    assert alone is not None and alone.low is None and not alone.clear
    assert effect("none", before, after, [], ~rows) is None


def test_classes_with_most_jobs_first() -> None:
    codes = np.array([0, 1, 1, 2, 2, 2])
    waits = np.arange(6.0)
    assert [e.name for e in by_class(codes, ["", "b", "c"], waits, waits, [])] == ["c", "b", "(none)"]
    assert [e.name for e in by_class(codes, ["", "b", "c"], waits, waits, [], most=None)] == ["(none)", "b", "c"]


# -- jitter ---------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=40), st.integers(0, 600), st.integers(0, 100),
    st.integers(0, 3), st.sampled_from([0, 1_600_000_000]),
)  # fmt: skip
def test_jitter(submits: list[int], jitter: int, seed: int, array: int, began: int) -> None:
    n = len(submits)
    submit = began + np.sort(np.array(submits, np.int64))
    arrays = np.full(n, -1, np.int64)
    arrays[: min(array, n)] = 7
    submit[: min(array, n)] = submit[0]
    ids = np.arange(1, n + 1)
    cancel = np.where(ids % 3 == 0, submit + 50, -1)
    given_log = Workload({"job_id": ids, "submit": submit, "array_job_id": arrays, "cancel_at": cancel}, {})
    moved = jittered(given_log, jitter, seed)
    assert sorted(moved.ints["job_id"].tolist()) == ids.tolist()
    assert (np.diff(moved.ints["submit"]) >= 0).all()
    assert moved.ints["submit"][0] >= submit[0]  # nobody comes before the log begins, also one of Unix times
    before = dict(zip(ids.tolist(), submit.tolist(), strict=True))
    shift = {
        j: s - before[j] for j, s in zip(moved.ints["job_id"].tolist(), moved.ints["submit"].tolist(), strict=True)
    }
    assert all(abs(s) <= jitter for s in shift.values())
    assert len({shift[j] for j in ids[arrays == 7].tolist()}) <= 1
    for j, at in zip(moved.ints["job_id"].tolist(), moved.ints["cancel_at"].tolist(), strict=True):
        assert at == (-1 if j % 3 else before[j] + 50 + shift[j])
    again = jittered(given_log, jitter, seed)
    assert (again.ints["submit"] == moved.ints["submit"]).all()


# -- whole studies --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose waits are those of an EASY replay of it: a site that runs EASY."""
    folder = tmp_path_factory.mktemp("log")
    rng = np.random.default_rng(3)
    submit = np.cumsum(rng.integers(0, 120, N)).tolist()
    run, procs = rng.integers(60, 1500, N).tolist(), rng.integers(1, 9, N).tolist()

    def write(name: str, waits: list[int]) -> Path:
        lines = ["; MaxNodes: 8", "; MaxProcs: 8"]
        for i in range(N):
            lines.append(f"{i + 1} {submit[i]} {waits[i]} {run[i]} {procs[i]} -1 -1 {procs[i]} {2 * run[i]} -1 1 "
                         f"{i % 3 + 1} {i % 2 + 1} -1 1 1 -1 -1")  # fmt: skip
        path = folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    first = write("first.swf", [0] * N)
    assert main(["run", "--workload", str(first), "--policy", "easy", "--out", str(folder / "run"), "--quiet"]) == 0
    jobs = pd.read_parquet(folder / "run" / "jobs.parquet").sort_values("job_id")
    return write("log.swf", jobs["wait_s"].tolist())


def options(log: Path, out: Path, policy: str) -> RunOptions:
    return RunOptions(workload=str(log), out=str(out), policy=policy)


def test_a_study(log: Path, tmp_path: Path) -> None:
    question = Question(options(log, tmp_path / "a", "easy"), options(log, tmp_path / "b", "fcfs"), 3, 30)
    seen: list[tuple[int, int]] = []
    found = study(question, lambda done, total: seen.append((done, total)))
    assert found.fit.verdict == "good" and found.fit.error == 0.0 and found.fit.close == 1.0
    assert found.overall is not None and found.overall.jobs == N and found.overall.difference_s > 0
    assert found.overall.clear and "longer" in found.conclusion
    assert found.shared[1]["mean_wait_s"] == pytest.approx(found.summaries[1]["mean_wait_s"])  # all started
    assert found.missing == []
    assert seen[-1] == (8, 8)
    assert sum(e.jobs for e in found.by["user"]) == sum(e.jobs for e in found.by["nodes"]) == N
    again = study(question)
    assert again.overall == found.overall  # whatever the number of processes


def test_no_change_no_effect(log: Path, tmp_path: Path) -> None:
    found = study(Question(options(log, tmp_path / "a", "easy"), options(log, tmp_path / "b", "easy"), 2, 30))
    assert found.overall is not None and found.overall.difference_s == 0
    assert "No clear effect" in found.conclusion


def test_a_baseline_that_does_not_fit_says_so(log: Path, tmp_path: Path) -> None:
    found = study(Question(options(log, tmp_path / "a", "fcfs"), options(log, tmp_path / "b", "easy"), 0, 0))
    assert found.fit.verdict == "poor"
    assert found.conclusion.startswith("Nothing can be concluded")


def test_command(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "answer"
    arguments = ["whatif", "--workload", str(log), "--base-set", "SchedulerType=sched/easy", "--policy", "fcfs"]
    assert main([*arguments, "--replicates", "1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "fits the log well" in shown and "By account" in shown
    assert {p.name for p in out.iterdir()} == {"baseline", "changed", "plots", "whatif.html", "whatif.json"}
    told = json.loads((out / "whatif.json").read_text())
    assert told["fit"]["verdict"] == "good" and told["overall"]["jobs"] == N
    page = (out / "whatif.html").read_text()
    assert page.count("<img") == 2 and page.count('class="run-data"') == 2
    assert 'aria-label="Change of the mean wait by' in page
    assert main([*arguments, "--replicates", "0", "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["replicates"] == 0


def test_command_refuses(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["whatif", "--workload", str(log), "--out", str(tmp_path / "x")]
    assert main(start) == 2
    assert "nothing is changed" in capsys.readouterr().err
    assert main([*start, "--policy", "easy", "--replicates", "-1"]) == 2
    assert "--replicates" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="seconds"):
        study(Question(options(log, tmp_path, "easy"), options(log, tmp_path, "fcfs"), 1, -5))
    assert not (tmp_path / "x").exists()


def test_text_columns_are_untouched_by_jitter() -> None:
    workload = Workload(
        {"job_id": np.array([1, 2]), "submit": np.array([0, 100])}, {"user": TextColumn.from_list(["ann", "bob"])}
    )
    moved = jittered(workload, 500, 1)
    users = {int(j): moved.texts["user"][i] for i, j in enumerate(moved.ints["job_id"])}
    assert users == {1: "ann", 2: "bob"}
