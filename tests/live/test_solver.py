"""A live cluster whose policy has a solver: it answers meanwhile, and loses nothing when it is killed."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.errors import SlurmSimError
from slurmsim.live import daemon
from slurmsim.policy import PolicyOption
from slurmsim.protocol import Client, Refusal
from slurmsim.slurmctld.processes.solver import WORKER
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


def solve_with(monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    """Let the policy's solver be a function of this folder."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", path)
    option = PolicyOption(str, solver, "of the tests", code=True)
    monkeypatch.setattr(Pcp20, "OPTIONS", {**Pcp20.OPTIONS, "solver": option})


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy's solver is the slow one."""
    solve_with(monkeypatch, "strange_solvers:slow")


TASKS = [32, 12, 12, 12, 8]
"""Of jobs for 32 CPUs: when the first ends, any of the others fits, but not all: somebody has to be asked."""
FIRST_S = 60


def contested(c: slurmsim.live.cluster.Cluster, first_s: int = FIRST_S) -> None:
    """These jobs; the first lasts `first_s`."""
    for k, tasks in enumerate(TASKS):
        sleep = f"sleep {300 + 60 * k if k else first_s}"
        c.run(["sbatch", "-n", str(tasks), "-t", str(10 + k), "-o", "/dev/null", "--wrap", sleep], check=True)


def test_options_stand_in_the_configuration(conf: Path, tmp_path: Path) -> None:
    """A plan by makespan starts the longest first; an option that is not there is one line."""
    conf.write_text(CONF.replace("sched/pcp20", "sched/list:order=length"), "utf-8")
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        c.run(["sbatch", "-n", "32", "-t", "5", "-o", "/dev/null", "--wrap", "sleep 60"], check=True)
        for minutes in ("10", "30"):
            c.run(["sbatch", "-n", "32", "-t", minutes, "-o", "/dev/null", "--wrap", "sleep 60"], check=True)
        c.step(61)
        assert [job.state for job in c.jobs()] == ["COMPLETED", "PENDING", "RUNNING"]
        shown = c.run(["scontrol", "show", "config"]).stdout
        assert "SchedulerType           = sched/list:order=length\n" in shown
    conf.write_text(CONF.replace("sched/pcp20", "sched/pcp20:speed=1"), "utf-8")
    with pytest.raises(SlurmSimError, match="SchedulerType: unknown option 'speed' of policy pcp20"):
        slurmsim.cluster(conf=conf, frozen=True).__enter__()


@pytest.mark.parametrize("policy", ["easy", "pcp20", "list"])
def test_who_waits_has_a_reason(conf: Path, policy: str) -> None:
    """Of a policy that is the scheduler, as of slurmctld's own: nodes for the first, who is before him for others."""
    conf.write_text(CONF.replace("sched/pcp20", f"sched/{policy}"), "utf-8")
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        c.run(["sbatch", "-H", "--wrap", "true"], check=True)
        contested(c)
        c.step(1)
        shown = c.run(["squeue", "-h", "-t", "PD", "-o", "%i %r"]).stdout
        assert shown == "3 Resources\n4 Priority\n5 Priority\n6 Priority\n1 JobHeldUser\n", shown
        c.run(["scancel", "3"], check=True)
        c.step(1)
        assert c.run(["squeue", "-h", "-t", "PD", "-o", "%i %r", "-j", "4,5"]).stdout == "4 Resources\n5 Priority\n"


def test_jobs_run_and_the_plan_is_shown(conf: Path) -> None:
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        contested(c)
        c.step(1)
        shown = c.run(["squeue", "-h", "--start", "-o", "%i %S %Y"]).stdout.split("\n")
        assert len([line for line in shown if line and "N/A" not in line]) == 4, shown
        c.step(FIRST_S)  # time does not pass over the solve
        assert [job.state for job in c.jobs()].count("RUNNING") == 3
        c.until_idle()
        assert [job.state for job in c.jobs()] == ["COMPLETED"] * 5


@pytest.mark.usefixtures("slowly")
def test_nobody_waits_for_a_solve(conf: Path) -> None:
    with slurmsim.cluster(conf=conf) as c:
        contested(c, first_s=1)
        wait_until(lambda: workers_of(os.getpid()))
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


@pytest.mark.usefixtures("slowly")
def test_kill_9_during_a_solve_loses_nothing(conf: Path, folder: Path) -> None:
    from slurmsim.cli import main

    up = ["up", "--state", str(folder), "--conf", str(conf), "--frozen"]
    assert main(up) == 0
    client = Client(str(folder))

    def states() -> dict[int, str]:
        found = client.call("every_job", fields=["job_id", "job_state"])["columns"]
        return dict(zip(found["job_id"], found["job_state"], strict=True))

    for k, tasks in enumerate(TASKS):
        script = f"#!/bin/sh\nsleep {300 + k if k else FIRST_S}\n"
        job = {"name": f"j{k}", "script": script, "work_dir": "/", "num_tasks": tasks, "time_limit": 10 + k}
        client.call("submit", job=job)
    (pid,) = daemons(folder)
    with ThreadPoolExecutor(1) as beside:
        stepping = beside.submit(client.call, "clock", action="step", seconds=FIRST_S + 1)
        wait_until(lambda: workers_of(pid))
        client = Client(str(folder))
        assert states() == {1: "COMPLETED", **dict.fromkeys(range(2, 6), "PENDING")}  # the solver is at it
        os.kill(pid, signal.SIGKILL)
        assert stepping.exception() is not None
    wait_until(lambda: not daemons(folder))
    assert main(up) == 0
    assert sorted(states()) == [1, 2, 3, 4, 5]
    client.call("clock", action="step", seconds=FIRST_S + 1)  # asked once more, and answered
    assert sorted(states().values()) == ["COMPLETED", "PENDING", "RUNNING", "RUNNING", "RUNNING"]
    client.call("clock", action="until-idle")
    assert states() == dict.fromkeys(range(1, 6), "COMPLETED")


def test_an_answer_of_the_same_turn_is_not_missed(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that waits for a solve, and the answer right behind it: nothing comes later that would wake anybody."""
    monkeypatch.setenv("SLURMSIM_TEST_ASKED", os.devnull)
    solve_with(monkeypatch, "strange_solvers:endless")
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        contested(c)
        server = c._server
        assert server is not None and server._loop is not None
        first, second = Client(str(c.folder)), Client(str(c.folder))
        first.post("clock", action="step", seconds=FIRST_S + 1)
        wait_until(lambda: server.engine.controller.solves.awaited)
        number = server.engine.controller.solves.asked
        first.close()  # who asked first waits no more
        wait_until(lambda: not server._parked)
        step = Client(str(c.folder))
        assert step.call("hello") and second.call("hello")
        server._loop.call_soon_threadsafe(time.sleep, 0.5)  # both are there when it looks again
        ready = step.post("clock", action="step", seconds=1)
        time.sleep(0.1)
        second.post("solved", number=number, answer="null")
        second.receive()
        assert select.select([ready], [], [], 60)[0]
        assert step.receive()["now"] == c.now


def test_no_solve_outlives_its_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A daemon that is gone, kill -9 or not, is the end of what is asked: in the middle of a solve, too."""
    asked = tmp_path / "asked"
    monkeypatch.setenv("SLURMSIM_TEST_ASKED", str(asked))
    solve_with(monkeypatch, "strange_solvers:endless")
    with subprocess.Popen([sys.executable, "-m", WORKER], stdin=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        line = json.dumps(
            {"number": 1, "solver": "strange_solvers:endless", "request": json.dumps({"dispatcher": "x"})}
        )
        worker.stdin.write(line.encode() + b"\n")
        worker.stdin.flush()
        wait_until(asked.exists, 120)  # it is nice
        worker.stdin.close()
        try:
            assert worker.wait(30) == 0
        finally:
            worker.kill()


def workers_of(pid: int) -> list[int]:
    """The children of the daemon that solve."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if status.read_text("utf-8").rpartition(")")[2].split()[1] == str(pid):
                found.append(status.parent)
    return [int(one.name) for one in found if b"solver_worker" in (one / "cmdline").read_bytes()]


@pytest.mark.parametrize("solver", ["senseless", "raising", "dying", "rambling", "absent"])
def test_an_answer_nobody_can_use_is_none(
    conf: Path, monkeypatch: pytest.MonkeyPatch, solver: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = tmp_path / "asked"
    asked.touch()
    monkeypatch.setenv("SLURMSIM_TEST_ASKED", str(asked))
    solve_with(monkeypatch, f"strange_solvers:{solver}")
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        contested(c)
        c.step(FIRST_S + 1)
        assert [job.state for job in c.jobs()].count("RUNNING") >= 2
        c.until_idle()
        assert [job.state for job in c.jobs()] == ["COMPLETED"] * 5
        assert asked.read_text("utf-8") or solver == "absent"
        said = capfd.readouterr().err
        assert said.count("pcp20: AttributeError") <= len(asked.read_text("utf-8")), said  # told once, not for ever
        assert len(workers_of(os.getpid())) <= 1  # such a cluster is a thread of ours


def test_an_answer_that_is_no_json_is_refused(conf: Path) -> None:
    with slurmsim.cluster(conf=conf, frozen=True) as c, pytest.raises(Refusal):
        Client(str(c.folder)).call("solved", number=1, answer="{")
