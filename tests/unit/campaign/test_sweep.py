"""Whole sweeps: the same bytes however they came about, failures beside results, and what the command says."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.campaign import sweep as sweep_module
from slurmsim.campaign.grid import read_grid
from slurmsim.campaign.workers import run_tasks
from slurmsim.cli import main
from slurmsim.errors import OutputError
from slurmsim.validate import validate_trace

GRID: dict[str, Any] = {
    "workloads": [{"name": "small", "workload": "generate:lublin:jobs=40,nodes=8"}],
    "policies": ["easy", "fcfs", "backfill"], "loads": [1, 2], "seeds": 2, "per_job": True,
}  # fmt: skip
TOML = (
    'policies = ["easy", "fcfs"]\nseeds = {seeds}\n[[workloads]]\nname = "small"\n'
    'workload = "generate:lublin:jobs=40,nodes=8"\n'
)
ONE = ("--workers", "1")  # to start a second worker takes longer than to have the first run a few small cells
SAME = ("summaries.parquet", "jobs.parquet", "sweep.json", "ranking.txt", "ranking.json", "ranking.html")


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME if (folder / name).exists()}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "out"
    found = slurmsim.sweep(GRID, out=folder, workers=2)
    assert (found.cells, found.done, found.ran, found.failed, found.interrupted) == (12, 12, 12, [], False)
    return folder


def test_a_cell_says_what_its_command_says(done: Path, tmp_path: Path) -> None:
    """The figures of a cell are those of the run that its log names, whose schedule is valid."""
    frame = pd.read_parquet(done / "summaries.parquet").set_index("key")
    key = frame.index[3]
    command = (done / "logs" / f"{key}.log").read_text().splitlines()[0]
    words = shlex.split(command.replace("--out alone", f"--out {tmp_path}/alone"))
    assert main([*words[1:], "--quiet"]) == 0
    assert validate_trace(tmp_path / "alone").valid
    alone = slurmsim.read_trace(tmp_path / "alone")
    for name in ("jobs", "mean_wait_s", "p95_wait_s", "utilization", "makespan_s", "passes"):
        assert frame.loc[key, name] == alone.summary[name]
    jobs = pd.read_parquet(done / "jobs.parquet").query("key == @key")
    assert jobs["wait_s"].tolist() == alone.jobs_frame().sort_values("job_id")["wait_s"].tolist()


def test_done_cells_are_never_run_again_and_new_ones_are(done: Path, tmp_path: Path) -> None:
    before = content(done)
    stamps = {p: p.stat().st_mtime_ns for p in (done / "cells").rglob("*.json")}
    assert slurmsim.sweep(GRID, out=done).ran == 0
    assert content(done) == before
    more = slurmsim.sweep(GRID | {"seeds": 3}, out=done, workers=1)
    assert (more.cells, more.ran) == (18, 6)
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    assert len(more.frame()) == 18 and more.frame()["key"].is_monotonic_increasing
    assert slurmsim.sweep(GRID, out=done).ran == 0 and content(done) == before
    assert [one.title for one in more.rankings()] == ["small", "small, load 2", "all"]
    other = tmp_path / "other"
    slurmsim.sweep(GRID, out=other, workers=1)
    assert content(other) == before


@pytest.mark.slow
def test_killed_at_random_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """``SLURMSIM_SWEEP_KILLS`` says how often."""
    kills = int(os.environ.get("SLURMSIM_SWEEP_KILLS", "1"))
    file = tmp_path / "grid.toml"
    file.write_text(TOML.format(seeds=max(5, 7 * kills)))
    assert main(["sweep", str(file), "--out", str(tmp_path / "whole"), *ONE, "--quiet"]) == 0
    rng = random.Random(7)
    out = tmp_path / "killed"
    program = [sys.executable, "-P", "-m", "slurmsim", "sweep", str(file), "--out", str(out), "--quiet"]
    killed: list[int] = []
    for _ in range(kills):
        with subprocess.Popen(program) as process:
            wanted = sum(killed[-1:]) + rng.randint(
                0, 10 if kills > 1 else 5
            )  # more cells than there were, and a little later
            while process.poll() is None and len(list(out.glob("cells/*/*.json"))) < wanted:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.2))
            if process.poll() is None:
                killed.append(len(list(out.glob("cells/*/*.json"))))
            process.kill()
    assert killed
    print("killed after cells:", killed)
    assert subprocess.run(program).returncode == 0
    assert content(out) == content(tmp_path / "whole")
    assert list((out / "scratch").iterdir()) == [] and list(out.rglob("*.partial")) == []


def test_interrupted_once_it_finishes_what_runs(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(TOML.format(seeds=300))
    out = tmp_path / "out"
    program = [sys.executable, "-P", "-m", "slurmsim", "sweep", str(file), "--out", str(out)]
    with subprocess.Popen(program, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None and len(list(out.glob("cells/*/*.json"))) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=60)
    assert process.returncode == 130, complaint
    assert "what runs is finished" in complaint and "goes on with the" in complaint
    frame = pd.read_parquet(out / "summaries.parquet")
    assert 3 <= len(frame) < 600 and len(frame) == len(list(out.glob("cells/*/*.json")))
    assert f"{len(frame)} of 600 cells are done" in said


def test_a_cell_that_fails_says_how_to_run_it_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log with a job that is larger than the cluster of one of two settings."""
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 4\n1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n")
    file = tmp_path / "grid.toml"
    file.write_text(
        'workloads = ["log.swf"]\npolicies = ["easy"]\n[[settings]]\nname = "four"\nnodes = 4\n'
        '[[settings]]\nname = "two"\nnodes = 2\n'
    )
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), *ONE, "--quiet"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("slurmsim: log.swf, two, easy, seed 0: ") and len(said) == 2
    assert main([*shlex.split(said[1])[1:-1], str(tmp_path / "alone")]) == 2
    manifest = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert manifest["done"] == 1 and manifest["failed"][0]["command"] == said[1].strip()
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), *ONE, "--quiet"]) == 1  # tried again, not kept


def test_cells_that_all_fail_alike_are_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "grid.toml"
    (tmp_path / "bad.swf").write_text("nonsense\n")
    file.write_text('policies = ["easy", "fcfs"]\nworkloads = ["bad.swf"]\n')
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), *ONE]) == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 2 and " (and 1 more, in " in said.err and "bad.swf:1: " in said.err
    few, last = said.out.splitlines()
    assert few.startswith("With 1 pair of runs no test can tell 2 policies apart, so there are no places: 6 tell them")
    assert last == f"0 of 2 cells are done, 0 of them now; in {tmp_path}/out"
    assert "There is nothing to compare" in (tmp_path / "out" / "ranking.html").read_text()


def test_a_policy_with_a_mistake_fails_its_cells_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's plug-in that meets a missing file, which is no full disk."""
    (tmp_path / "strange.py").write_text(
        "from slurmsim.policy import Policy\nclass Strange(Policy):\n"
        "    def schedule(self, view, now):\n        open('/nowhere')\n        yield\n"
    )
    about = tmp_path / "strange-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[slurmsim.policies]\nstrange = strange:Strange\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = slurmsim.sweep({**GRID, "policies": ["strange", "easy"]}, out=tmp_path / "out", workers=1)
    assert (found.done, len(found.failed)) == (4, 4)
    first = found.failed[0]
    assert first.error.startswith("policy strange: FileNotFoundError: ")
    (tmp_path / "strange.py").write_text(
        "from slurmsim_policies.fcfs import Fcfs\nclass Strange(Fcfs):\n    name = ''\n"
    )
    sys.modules.pop("strange", None)
    from slurmsim.campaign.sources import source_digest

    source_digest.cache_clear()
    again = slurmsim.sweep({**GRID, "policies": ["strange", "easy"]}, out=tmp_path / "out", workers=1)
    assert (again.done, again.ran, again.failed) == (8, 4, [])  # another source, so other cells; easy's stay
    sys.modules.pop("strange", None)


def test_what_is_edited_while_a_sweep_runs_is_not_filed_under_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log changes between the plan and the cells' start; so does, for Dask's workers, slurmsim itself."""
    log = tmp_path / "log.swf"
    row = "1 0 -1 {} 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxNodes: 4\n" + row.format(60))
    grid = {"workloads": [str(log)], "policies": ["easy", "fcfs"]}
    planned = sweep_module.plan(read_grid(grid))
    log.write_text("; MaxNodes: 4\n" + row.format(30))
    found = sweep_module.make(planned, tmp_path / "out", partial(run_tasks, workers=1))
    assert found.done == 0 and len(found.failed) == 2
    assert found.failed[0].error.startswith("its files, its policy or slurmsim differ, where it ran, from what they")
    assert not list((tmp_path / "out" / "cells").rglob("*.*"))
    assert slurmsim.sweep(grid, out=tmp_path / "out", workers=1).ran == 2
    log.write_text("nonsense")  # the message is of the edit also where the run itself fails of it
    found = sweep_module.make(planned, tmp_path / "out", partial(run_tasks, workers=1))
    assert found.failed[0].error.startswith("its files, its policy or slurmsim differ")
    log.write_text("; MaxNodes: 4\n" + row.format(60))
    monkeypatch.setattr("slurmsim.campaign.keys.own_digest", lambda: "another source")
    other = sweep_module.make(sweep_module.plan(read_grid(grid)), tmp_path / "out", partial(run_tasks, workers=1))
    assert other.done == 0 and len(other.failed) == 2


def test_starving_cells_are_said_and_strictly_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One job holds the machine until the run stops; the others never start."""
    log = tmp_path / "log.swf"
    row = "{} {} -1 90000 4 -1 -1 4 90000 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxNodes: 4\n" + "".join(row.format(i, i) for i in range(1, 6)))
    file = tmp_path / "grid.toml"
    file.write_text(f'policies = ["easy", "fcfs"]\n[run]\nuntil = 1000\n[[workloads]]\nworkload = "{log}"\n')
    words = ["sweep", str(file), "--out", str(tmp_path / "out"), *ONE]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "warning: easy: in 1 of its cells most jobs never started" in said.err
    assert "easy: 4 jobs never started" in said.out
    assert main([*words, "--strict", "--quiet"]) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["grid.toml"], "--out: no folder given"), (["grid.toml", "--out", "o", "--workers", "-1"], "--workers: -1"),
        (["nowhere.toml", "--out", "o"], "nowhere.toml: cannot be read"),
        (["grid.toml", "--out", "full"], "full: the folder holds files that are no sweep (such as mine)"),
    ],
)  # fmt: skip
def test_bad_options(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(TOML.format(seeds=1))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert main(["sweep", *words]) in (1, 2)
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_dry_run_counts_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(TOML.format(seeds=3))
    assert main(["sweep", "grid.toml", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("small, easy, seed 1\n")
    assert "6 cells, 6 to run: about 0.00 hours of one core (roughly, by the number of jobs)" in said
    assert "With 3 pairs of runs no test can tell 2 policies apart" in said
    assert list(tmp_path.iterdir()) == [tmp_path / "grid.toml"]
    assert main(["sweep", "grid.toml", "--out", "out", *ONE, "--quiet"]) == 0
    (tmp_path / "grid.toml").write_text(TOML.format(seeds=5))
    assert main(["sweep", "grid.toml", "--dry-run", "--out", "out"]) == 0
    assert "10 cells, 4 to run: about" in (said := capsys.readouterr().out) and "4 of them like ones that" in said


def test_a_dry_run_names_the_cells_whose_jobs_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.swf").write_text("nonsense\n")
    (tmp_path / "grid.toml").write_text(TOML.format(seeds=1) + '[[workloads]]\nworkload = "bad.swf"\n')
    assert main(["sweep", "grid.toml", "--dry-run"]) == 1
    said = capsys.readouterr()
    assert "4 cells, 4 to run" in said.out
    assert said.err.startswith("slurmsim: will fail: bad.swf: bad.swf:1: ") and said.err.count("\n") == 1


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    from slurmsim.campaign.store import Store

    with Store(tmp_path / "out").opened(), pytest.raises(OutputError, match="another sweep is writing"):
        slurmsim.sweep(GRID, out=tmp_path / "out")


def test_a_full_disk_is_known_before_or_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Free:
        free = 12 * sweep_module.CELL_BYTES - 1

    with monkeypatch.context() as patch:
        patch.setattr(sweep_module.shutil, "disk_usage", lambda _: Free)
        with pytest.raises(OutputError, match="12 cells need 98,304"):
            slurmsim.sweep(GRID, out=tmp_path / "out")
    (tmp_path / "out" / "cells").rmdir()
    (tmp_path / "out" / "cells").touch()  # as little can be written there as on a full disk
    (tmp_path / "out" / "cells").rename(tmp_path / "cells")
    (tmp_path / "out" / "cells").symlink_to("/dev/full/nothing")
    with pytest.raises(OutputError):
        slurmsim.sweep(GRID, out=tmp_path / "out", workers=1)
