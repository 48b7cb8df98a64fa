"""A run without outputs has the figures of the run with all of them, and writes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from slurmsim.cli import main
from slurmsim.replaying.figures import figures
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare

PER_RUN = {"wall_s", "jobs_per_s"}
OF_JOBS = {
    "jobs",
    "completed",
    "makespan_s",
    "utilization",
    "mean_wait_s",
    "mean_bounded_slowdown",
    "unfinished",
    "passes",
}
ALL = ("--nodes", "128", "--workload", "generate:lublin:jobs=400")


def summary_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["run", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {name: value for name, value in found.items() if name not in PER_RUN}


@pytest.mark.parametrize("policy", ["easy", "fcfs", "backfill", "conservative", "spf", "cpu_hours"])
def test_figures_are_those_of_the_run_with_a_trace(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (*ALL, "--policy", policy, "--release", "22.05")
    whole = summary_of(capsys, *words, "--out", "run")
    before = sorted(path.name for path in tmp_path.iterdir())
    alone = summary_of(capsys, *words, "--outputs", "none")
    assert alone == {name: whole[name] for name in alone}
    assert set(alone) >= OF_JOBS
    assert sorted(path.name for path in tmp_path.iterdir()) == before == ["run"]


def test_jobs_that_never_start_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = (*ALL, "--policy", "fcfs", "--until", "20000")
    whole = summary_of(capsys, *words, "--out", str(tmp_path / "run"))
    alone = summary_of(capsys, *words, "--outputs", "none")
    assert alone["unfinished"] == whole["unfinished"] > 0
    assert alone["mean_wait_s"] == whole["mean_wait_s"]


def test_what_happened_until_ctrl_c_is_counted() -> None:
    """Of a run on rows, too, which has no rows yet when it is cut short."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    given = RunOptions.of("generate:lublin:jobs=400", "", nodes=128, policy="easy")
    summary, interrupted = figures(prepare(given), interrupt)
    assert interrupted and summary["stopped"]
    assert 0 < summary["completed"] < 400


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--out: there is nothing to write to (expected --out DIR, or --outputs none)"),
        (("--outputs", "none", "--out", "x"), "--out: none writes nothing there"),
        (("--outputs", "none", "--check-repeat"), "--check-repeat: compares the traces of two runs"),
        (("--outputs", "none", "--checkpoint", "60"), "--checkpoint: --outputs none writes no trace"),
        (("--outputs", "none", "--fair-start", "3"), "--fair-start: --outputs none writes no trace"),
        (
            ("--outputs", "none", "--power-budget", "99999"),
            "--outputs: none writes no trace, which watts are counted from",
        ),
    ],
)
def test_what_needs_a_trace_is_refused(
    words: tuple[str, ...],
    told: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *ALL, "--policy", "easy", *words]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
