"""Results that cannot be written and runs that fail: exit code 1, one line, and what was there before stays."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input_support import CONF, SWF, Case, Outcome, assert_refused, command, prepare, run_cli, snapshot, swf_job

GOOD = Case("good", ())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, GOOD)
    return tmp_path


def earlier_run(folder: Path) -> dict[str, bytes]:
    """Make a good run into ``out`` and return its files."""
    outcome = run_cli(*command(GOOD))
    assert outcome.code == 0, outcome.err
    files = snapshot(folder / "out")
    assert {"jobs.parquet", "events.parquet", "usage.parquet", "summary.json", "run.json"} <= set(files)
    return files


def test_a_good_run_passes_and_a_second_one_replaces_it(folder: Path) -> None:
    first = earlier_run(folder)
    second = earlier_run(folder)
    assert first["jobs.parquet"] == second["jobs.parquet"]


@pytest.mark.parametrize("out", ["file", "file/below", "/dev/full", "/dev/null/x", "/proc/nowhere/x"])
def test_an_out_folder_that_cannot_be(folder: Path, out: str) -> None:
    (folder / "file").write_text("mine", encoding="utf-8")
    before = snapshot(folder)
    outcome = run_cli("run", "--quiet", "--conf", "slurm.conf", "--workload", "log.swf", "--out", out)
    assert_refused(outcome, 1, (out,))
    assert snapshot(folder) == before


def test_a_folder_that_holds_something_else(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    outcome = run_cli(*command(GOOD))
    assert_refused(outcome, 1, ("out", "thesis.tex"))
    assert snapshot(folder / "out") == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize(
    "case",
    [
        Case("conf", ("slurm.conf:6",), files={"slurm.conf": CONF.replace("CPUs=4", "CPUs=four")}),
        Case("log", ("log.swf:8",), files={"log.swf": SWF + "1 2 3\n"}),
        Case("option", ("--jobs",), ("--jobs", "0")),
        Case("policy", ("clever",), ("--policy", "clever")),
    ],
    ids=lambda case: case.name,
)
def test_bad_input_leaves_an_earlier_result(folder: Path, case: Case) -> None:
    before = earlier_run(folder)
    prepare(folder, case)
    assert_refused(run_cli(*command(case)), 2, case.says)
    assert snapshot(folder / "out") == before


def _limited(argv: list[str], folder: Path, n_bytes: int) -> Outcome:
    """Run the command in a process whose files may not grow beyond `n_bytes`: a disk that is full, also for root."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # or the process is killed instead of told
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    code = "import sys; from slurmsim.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *argv], cwd=folder, capture_output=True, text=True, preexec_fn=limit
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("n_bytes", [0, 1000, 8000])
def test_a_disk_that_fills_up_leaves_an_earlier_result(folder: Path, n_bytes: int) -> None:
    before = earlier_run(folder)
    many = "".join(swf_job(i, submit=i * 7 % 1000, procs=1 + i % 9) for i in range(1, 401))
    (folder / "log.swf").write_text(many, encoding="utf-8")
    outcome = _limited(command(GOOD), folder, n_bytes)
    assert_refused(outcome, 1, ("out",))
    assert snapshot(folder / "out") == before


def test_a_disk_that_fills_up_leaves_no_debris(folder: Path) -> None:
    outcome = _limited(command(GOOD), folder, 1000)
    assert_refused(outcome, 1, ("out",))
    assert not (folder / "out").exists()


def test_standard_output_that_is_full(folder: Path) -> None:
    """The result is written; only telling about it fails."""
    argv = [argument for argument in command(GOOD) if argument != "--quiet"] + ["--json"]
    code = "import sys; from slurmsim.cli import main; sys.exit(main(sys.argv[1:]))"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *argv], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "No space left" in done.stderr, done.stderr
    assert json.loads((folder / "out" / "summary.json").read_text())["jobs"] == 5


def _never_pending(self: Any, view: Any, now: int) -> Iterator[Any]:
    """A policy that starts a job that runs already."""
    from slurmsim.policy import Start

    for job in list(view.pending) + list(view.running):
        yield Start(job)


def test_a_policy_that_breaks_the_port_fails_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slurmsim_policies.easy import Easy

    before = earlier_run(folder)
    monkeypatch.setattr(Easy, "schedule", _never_pending)
    outcome = run_cli(*command(Case("", (), ("--policy", "easy"))))
    assert_refused(outcome, 1, ("policy easy",))
    assert snapshot(folder / "out") == before


def test_a_policy_that_crashes_fails_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slurmsim_policies.easy import Easy

    def crash(self: Any, view: Any, now: int) -> Iterator[Any]:
        raise KeyError("reservation")
        yield

    before = earlier_run(folder)
    monkeypatch.setattr(Easy, "schedule", crash)
    outcome = run_cli(*command(Case("", (), ("--policy", "easy"))))
    assert_refused(outcome, 1, ("policy easy", "KeyError", "reservation"))
    assert snapshot(folder / "out") == before
