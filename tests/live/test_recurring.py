"""Jobs of scrontab in a live cluster: scripts that really run, simulated ones, kills, restarts, copies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.live import daemon

START = "2026-01-05T08:00:00Z"
TABLE = "WHAT=hello\n#SCRON -J quick -o quick.out --open-mode=append\n* * * * * echo $WHAT $SLURM_JOB_ID; exit 3\n"
ROWS = ["squeue", "-h", "-t", "all", "-S", "i", "-o", "%i %j %t %S"]


def test_simulated_jobs_and_copies(tmp_path: Path) -> None:
    with slurmsim.cluster(nodes=2, frozen=True, start=START, slurm_version="24.11") as c:
        assert c.run(["scrontab"], input="#SLURMSIM runtime=20 exit=2\n*/2 * * * * real work\n").returncode == 0
        c.step("2m")
        assert c.run(ROWS).stdout == "1 real R 2026-01-05T08:02:00\n"
        c.step(30)
        assert c.run(ROWS).stdout == "1 real PD 2026-01-05T08:04:00\n"
        rows = c.run(["sacct", "-D", "-X", "-n", "-P", "-o", "state,exitcode,start,end"]).stdout
        assert rows == "REQUEUED|2:0|2026-01-05T08:02:00|2026-01-05T08:02:20\n"
        file = tmp_path / "snapshot"
        c.snapshot(file)
        with c.fork() as copy:
            assert copy.run(["scrontab", "-r"]).returncode == 0
            assert copy.run(ROWS).stdout == "1 real CA 2026-01-05T08:02:30\n"
        assert c.run(["scrontab", "-l"]).stdout.endswith("real work\n")
        c.stop()
        c.start()
        c.step(100)
        assert c.run(ROWS).stdout == "1 real R 2026-01-05T08:04:00\n"
    with slurmsim.restore(file) as again:
        assert again.run(["scrontab", "-l"]).stdout.endswith("real work\n")
        again.step(100)
        assert again.run(ROWS).stdout == "1 real R 2026-01-05T08:04:00\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "c"
    if daemon.is_alive(tmp_path / "c"):
        daemon.stop(tmp_path / "c")


def test_scripts_run_again_and_again_through_kills(folder: Path, tmp_path: Path) -> None:
    def slurmsim_(*words: str) -> str:
        command = [sys.executable, "-m", "slurmsim", *words, "--state", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    def run(command: str) -> str:
        own = {"SLURMSIM_CLUSTER_DIR": str(folder), "HOME": str(tmp_path)}
        environ = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", **own}
        done = subprocess.run(command, shell=True, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = tmp_path / "quick.out"

    def lines() -> int:
        return out.read_text().count("hello 1\n") if out.exists() else 0

    slurmsim_("up", "--frozen", "--jobs", "run", "--start", START, "--slurm-version", "24.11")
    (tmp_path / "table").write_text(TABLE)
    run(f"scrontab {tmp_path}/table")
    for runs in range(1, 4):
        slurmsim_("clock", "step", "1m")
        wait_until(lambda runs=runs: lines() == runs)  # type: ignore[misc]
        wait_until(lambda runs=runs: run("squeue -h -o '%t %r'") == "PD BeginTime\n")  # type: ignore[misc]
        (pid,) = daemons(folder)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not daemons(folder))
        slurmsim_("up")
        assert run("scrontab -l") == TABLE
        assert f"Restarts={runs} " in run("scontrol show job 1") and "ExitCode=3:0" in run("scontrol show job 1")
    run("scrontab -r")
    slurmsim_("clock", "step", "2m")
    assert (lines(), run("squeue -h")) == (3, "")
