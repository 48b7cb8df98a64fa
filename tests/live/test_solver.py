"""A live cluster whose policy has a solver: it answers meanwhile, and loses nothing when it is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.live import daemon
from slurmsim.policy import PolicyOption
from slurmsim.protocol import Client
from slurmsim_policies.cp.policy import Pcp20

CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/pcp20
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] CPUs=8 CoresPerSocket=8 RealMemory=16000
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=1000
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF, "utf-8")
    return path


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy's solver is the slow one."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", path)
    own = {**Pcp20.OPTIONS, "solver": PolicyOption(str, "slow_solver:slow", "slow")}
    monkeypatch.setattr(Pcp20, "OPTIONS", own)


def contested(c: slurmsim.live.cluster.Cluster) -> None:
    """More than fits: somebody has to be asked."""
    for k in range(5):
        c.run(["sbatch", "-n", "12", "-t", str(10 + k), "--wrap", f"sleep {300 + 60 * k}"], check=True)


def test_jobs_run_and_the_plan_is_shown(conf: Path) -> None:
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        contested(c)
        c.step(1)  # time does not pass over a solve
        shown = c.run(["squeue", "-h", "--start", "-o", "%i %S %Y"]).stdout.split("\n")
        assert len([line for line in shown if line and "N/A" not in line]) == 3, shown
        c.until_idle()
        assert [job.state for job in c.jobs()] == ["COMPLETED"] * 5


@pytest.mark.usefixtures("slowly")
def test_nobody_waits_for_a_solve(conf: Path) -> None:
    with slurmsim.cluster(conf=conf) as c:
        contested(c)
        client, took = Client(str(c.folder)), []
        job = {"name": "x", "script": "#!/bin/sh\nsleep 600\n", "work_dir": "/", "num_tasks": 8, "std_out": "/dev/null"}
        began = time.monotonic()
        while time.monotonic() < began + 2.0:
            before = time.monotonic()
            client.call("submit", job=job)
            took.append(time.monotonic() - before)
            time.sleep(0.05)
        pending = [row for row in c.jobs() if row.state == "PENDING"]
        assert len(pending) >= len(took)
        print(f"{len(took)} submissions during a solve, the slowest took {max(took) * 1000:.1f} ms")
        assert sorted(took)[len(took) // 2] < 0.1
        assert max(took) < 0.5  # of a machine others use, too


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "cluster"
    yield path
    if daemon.is_alive(path):
        daemon.stop(path)


def test_kill_9_during_a_solve_loses_nothing(conf: Path, folder: Path) -> None:
    from slurmsim.cli import main

    up = ["up", "--state", str(folder), "--conf", str(conf), "--frozen"]
    assert main(up) == 0
    client = Client(str(folder))

    def rows() -> list[dict[str, object]]:
        found = client.call("every_job", fields=["job_id", "job_state"])["columns"]
        return [{"job_id": a, "job_state": b} for a, b in zip(found["job_id"], found["job_state"], strict=True)]

    for k in range(5):
        job = {"name": f"j{k}", "script": f"#!/bin/sh\nsleep {300 + k}\n", "work_dir": "/", "num_tasks": 12,
               "time_limit": 10 + k}  # fmt: skip
        client.call("submit", job=job)
    (pid,) = daemons(folder)
    os.kill(pid, signal.SIGKILL)  # OR-Tools takes longer than this to load
    wait_until(lambda: not daemons(folder))
    assert main(up) == 0
    wait_until(lambda: sum(row["job_state"] == "RUNNING" for row in rows()) == 2)
    assert sorted(int(str(row["job_id"])) for row in rows()) == [1, 2, 3, 4, 5]
    client.call("clock", action="until-idle")
    assert {row["job_state"] for row in rows()} == {"COMPLETED"}
