"""``srun --debugger-test``: tasks stop before their programs begin, and srun tells where each is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim


@pytest.fixture(scope="module")
def live() -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(nodes=2, cpus_per_node=4) as cluster:
        yield cluster


def begun(live: slurmsim.Cluster, words: list[str]) -> tuple[subprocess.Popen[str], list[re.Match[str]]]:
    """Return srun and what it tells of three tasks."""
    command = ["srun", "-N2", "-n3", "--debugger-test", *words]
    process = subprocess.Popen(
        command, env={**os.environ, **live.environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    pattern = re.compile(r"srun: task:(\d), host:(n\d), pid:(\d+), executable:(.+)\n")
    found = [pattern.fullmatch(process.stderr.readline()) for _ in range(3)]
    assert all(found)
    return process, [one for one in found if one is not None]


def state(pid: str) -> str:
    return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]


def test_tasks_wait_for_a_debugger_to_let_them_go_on(live: slurmsim.Cluster) -> None:
    process, told = begun(live, ["echo", "went on"])
    assert [one[1] for one in told] == ["0", "1", "2"]
    assert [one[2] for one in told] == ["n1", "n1", "n2"]
    assert {one[4] for one in told} == {"echo"}
    last = time.monotonic() + 20
    while {state(one[3]) for one in told} != {"T"}:
        assert time.monotonic() < last
        time.sleep(0.02)
    for one in told:
        signal.pidfd_send_signal(os.pidfd_open(int(one[3])), signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert out == "went on\n" * 3
    assert process.returncode == 0


def test_programs_of_a_file_are_told_one_by_one(live: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "programs").write_text("0 hostname\n1-2 date\n")
    process, told = begun(live, ["--multi-prog", str(tmp_path / "programs")])
    assert [one[4] for one in told] == ["hostname", "date", "date"]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode != 0
