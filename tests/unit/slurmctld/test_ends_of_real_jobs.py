"""Ends of jobs that really run, at moments that only load makes likely: nothing depends on which of two is faster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.noting import note_decisions
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.processes.real_jobs import Pending, RealJobs
from slurmsim.slurmctld.server.server import Server
from slurmsim.slurmctld.server.start import open_cluster
from slurmsim.slurmd.script_runner import Executor

TERM = int(signal.SIGTERM)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose turns this test makes; scripts really run."""
    held = StateFolder.take(tmp_path / "c")
    found = open_cluster(held, new_header(start=1_767_600_000, mode="frozen", rate=1.0, nodes=8, jobs="run"))
    yield found
    real_of(found).executor.end_all()
    found.close()
    held.close()


def real_of(server: Server) -> RealJobs:
    assert server.engine.real is not None
    return server.engine.real


def ask(server: Server, call: str, **arguments: Any) -> dict[str, Any]:
    """One request, and all that is decided by it."""
    owner = server.engine.people.by_uid(os.getuid())
    answer = server._execute({"call": call, "args": arguments}, owner)
    note_decisions(server.engine, server.journal)
    assert "ok" in answer, answer
    found: dict[str, Any] = answer["ok"]
    return found


def submit(server: Server, number: int = 1) -> Pending:
    """Have a job start; what then waits for the disk."""
    job = {"script": "#!/bin/sh\nsleep 100\n", "work_dir": "/", "std_out": "/dev/null", "environment": {"A": "b"}}
    assert ask(server, "submit", job=job)["job_id"] == number
    server._go_to(server.engine.now + 5)  # the next pass
    note_decisions(server.engine, server.journal)
    pending = real_of(server).take()
    assert pending is not None
    return pending


def batch(server: Server) -> tuple[str, int | None]:
    """State and wait status of the script's row."""
    (step,) = [step for step in server.engine.jobs[1].steps if step.name == "batch"]
    return str(step.state), step.exit_code


def completing(server: Server) -> bool:
    server.engine.network.advance(server.engine.now)
    return bool(server.engine.controller.completing.nodes)


def test_a_job_that_is_cancelled_before_its_script_was_started_is_over_at_once(server: Server) -> None:
    """Its start waits for the disk when the cancel comes: no supervisor will ever tell of it."""
    start, real = submit(server), real_of(server)
    ask(server, "kill", job_id="1")
    end = real.take()
    assert end is not None
    assert completing(server)
    real.flush(start)
    real.flush(end)
    assert list(real.executor.runs()) == []
    assert real.unborn() == [{"core_id": 1, "restarts": 0, "status": TERM}]
    ask(server, "ended", **real.unborn()[0])
    assert not completing(server)
    assert batch(server) == ("CANCELLED", TERM)
    assert real.unborn() == []


def test_a_run_is_ended_when_its_end_is_on_the_disk(server: Server) -> None:
    """A daemon that was killed in between found a job that had failed by a signal no client had sent."""
    real = real_of(server)
    real.flush(submit(server))
    ask(server, "kill", job_id="1")
    assert not real.executor.stopped(1, 0)
    end = real.take()
    assert end is not None
    real.flush(end)
    assert real.executor.stopped(1, 0)


def test_whoever_moves_the_clock_finds_runs_ended(server: Server) -> None:
    real = real_of(server)
    real.flush(submit(server))
    ask(server, "kill", job_id="1")
    real.end_now()
    assert real.executor.stopped(1, 0)


def test_a_script_that_leads_no_group_yet_gets_the_signal(tmp_path: Path) -> None:
    """It was forked and, under load, has not run since: TERM was lost, and the script ran to its end."""
    executor = Executor(tmp_path / "jobs")
    place = tmp_path / "jobs" / "1.0"
    place.mkdir()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])  # of our own group
    try:
        words = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()
        (place / "supervisor").write_text(f"{os.getpid()} {words[19]}\n")
        (place / "pid").write_text(f"{child.pid}\n")
        (place / "go").touch()
        executor.terminate(1, 0)
        assert child.wait(30) == -TERM
    finally:
        child.kill()
        child.wait()


def test_jobs_cancelled_as_soon_as_they_run_are_over_by_term(server: Server) -> None:
    """With real supervisors, whatever moment the signal meets them in; KillWait does not pass meanwhile."""
    real, jobs = real_of(server), range(1, 6)
    for number in jobs:
        real.flush(submit(server, number))
        time.sleep(0.015 * number)
        ask(server, "kill", job_id=str(number))
        end = real.take()
        assert end is not None
        real.flush(end)
    last = time.monotonic() + 60
    while None in (found := [real.executor.status(number, 0) for number in jobs]):
        assert time.monotonic() < last, found
        time.sleep(0.02)
    assert found == [TERM] * len(jobs)
