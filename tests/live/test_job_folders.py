"""What is kept of a job that really runs goes when it is over, whatever happened to the daemon meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import Client

CONF = """\
ClusterName=c
SlurmctldHost=h
KillWait=2
MinJobAge=0
NodeName=n1 CPUs=8
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cluster whose daemon is a process of its own, which kills what does not end within two seconds."""
    (tmp_path / "slurm.conf").write_text(CONF)
    found = tmp_path / "c"
    daemon.start(found, daemon.prepare(found, Settings(conf=str(tmp_path / "slurm.conf"), jobs="run")))
    yield found
    daemon.stop(found)


def submit(folder: Path, script: str) -> int:
    job = {"name": "j", "script": f"#!/bin/sh\n{script}\n", "work_dir": "/", "std_out": "/dev/null"}
    return int(Client(str(folder)).call("submit", job=job)["job_id"])


def jobs(folder: Path) -> list[tuple[str, int]]:
    found: dict[str, Any] = daemon.call(folder, "every_job", fields=["job_state", "exit_code"])["columns"]
    return list(zip(found["job_state"], found["exit_code"], strict=True))


def runs(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "jobs"))


def kill(folder: Path) -> None:
    (pid,) = daemons(folder)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not daemons(folder))


def again(folder: Path) -> None:
    daemon.start(folder, daemon.prepare(folder, Settings()))


def test_what_is_left_by_a_crash_goes_at_the_next_start(folder: Path, tmp_path: Path) -> None:
    ran, flag = tmp_path / "ran", tmp_path / "flag"
    submit(folder, f"echo ran >> {ran}; while [ ! -e {flag} ]; do sleep 0.05; done; exit 5")
    wait_until(lambda: ran.exists() and runs(folder) == ["1.0"] and (folder / "jobs/1.0/pid").read_text().strip())
    kill(folder)
    flag.touch()
    wait_until(lambda: (folder / "jobs/1.0/exit").read_text().strip())
    shutil.copytree(folder / "jobs/1.0", tmp_path / "1.0")
    again(folder)
    wait_until(lambda: jobs(folder) == [("FAILED", 5 << 8)] and runs(folder) == [])
    kill(folder)
    shutil.copytree(tmp_path / "1.0", folder / "jobs/1.0")  # written down, and killed before the folder went
    (folder / "jobs/2.0.part").mkdir()  # and killed while another one was made
    again(folder)
    wait_until(lambda: runs(folder) == [])
    assert jobs(folder) == [("FAILED", 5 << 8)]
    assert ran.read_text() == "ran\n"


def test_a_run_nobody_began_does_not_begin_when_its_job_is_over(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    submit(folder, f"echo ran >> {ran}")
    wait_until(lambda: jobs(folder) == [("COMPLETED", 0)] and runs(folder) == [])
    kill(folder)
    (folder / "jobs/1.0").mkdir()
    (folder / "jobs/1.0/supervisor").write_text(" " * 48)
    again(folder)
    wait_until(lambda: runs(folder) == [])
    assert ran.read_text() == "ran\n"


@pytest.mark.parametrize("crash", [False, True])
def test_what_a_script_leaves_behind_is_killed_after_killwait(folder: Path, tmp_path: Path, crash: bool) -> None:
    """A child that takes no TERM outlived its cancelled job: the folder with its process group was gone too early."""
    child = tmp_path / "child"
    submit(folder, f"(trap '' TERM; echo $$ > {child}; while :; do sleep 0.1; done) & wait")
    wait_until(lambda: child.exists() and child.read_text())
    group = int(child.read_text())
    daemon.call(folder, "kill", job_id="1")
    if crash:
        kill(folder)
        again(folder)
    wait_until(lambda: not alive(group))
    wait_until(lambda: runs(folder) == [])
    assert jobs(folder)[0][0] == "CANCELLED"


def alive(group: int) -> bool:
    """Whether a process of that group is there; dead ones nobody waits for do not count."""
    for place in Path("/proc").iterdir():
        try:
            words = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if place.name.isdigit() and int(words[2]) == group and words[0] != "Z":
            return True
    return False


def test_an_end_that_could_not_be_written_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder went although the journal did not have the end: the script ran a second time."""
    ran, flag = tmp_path / "ran", tmp_path / "flag"
    broken = []

    def sync(descriptor: int) -> None:
        if flag.exists() and not broken:
            broken.append(descriptor)
            raise OSError(5, "Input/output error")

    def has_failed() -> bool:
        try:
            return c.job(1).state == "FAILED"
        except ConfigError:  # a question that came together with the end is answered after the same sync, so not at all
            return False

    with slurmsim.cluster(nodes=1, jobs="run") as c:
        script = f"echo ran >> {ran}; while [ ! -e {flag} ]; do sleep 0.1; done; exit 5"
        c.run(["sbatch", "-o", "/dev/null", "--wrap", script])
        wait_until(ran.exists)
        monkeypatch.setattr(os, "fdatasync", sync)
        flag.touch()
        wait_until(has_failed)
        assert (c.job(1).exit_code, ran.read_text(), len(broken)) == ("5:0", "ran\n", 1)
