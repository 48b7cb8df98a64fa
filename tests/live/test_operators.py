"""Operators: what a user may do to the jobs of others, and what only administrators may."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.protocol import Client, Refusal

RESERVE = ["scontrol", "create", "reservation", "users=bob", "nodes=n1", "start=now", "duration=5"]
USERS = {"alice": 2001, "bob": 2002, "olga": 2003}


def test_an_operator_does_to_jobs_what_their_owners_may() -> None:
    with slurmsim.cluster(frozen=True, users=USERS, operators=["olga"]) as c:
        for _ in range(4):
            c.run(["sbatch", "--wrap", "sleep 100"], user="alice")
        for command, text in (
            (["scancel", "1"], "Access/permission denied"),
            (["scontrol", "update", "jobid=2", "timelimit=5"], "Invalid user id"),
            (["scontrol", "hold", "3"], "Invalid user id"),
            (RESERVE, "Invalid user id"),
        ):  # fmt: skip
            denied = c.run(command, user="bob")
            assert denied.returncode and text in denied.stderr, (command, denied)
            done = c.run(command, user="olga")
            assert not done.returncode, (command, done.stderr)
        shown = [(job.state, job.reason) for job in c.jobs()]
        assert shown[0][0] == "CANCELLED" and shown[2] == ("PENDING", "JobHeldAdmin")
        assert c.run("squeue -h -j 2 -o %l").stdout == "5:00\n"


def test_nodes_and_the_daemon_are_not_for_operators() -> None:
    with slurmsim.cluster(frozen=True, users=USERS, operators=["olga"]) as c:
        for command in (
            ["scontrol", "update", "nodename=n1", "state=drain", "reason=x"],
            ["scontrol", "update", "partitionname=batch", "state=down"],
        ):
            assert "Invalid user id" in c.run(command, user="olga").stderr
        for call in ("down", "clock"):
            with pytest.raises(Refusal, match="denied"):
                Client(str(c.folder), "olga").call(call, **({"action": "freeze"} if call == "clock" else {}))
        with pytest.raises(Refusal, match="denied"):  # an operator is nobody else
            Client(str(c.folder), "olga").call("submit", job={"user_name": "alice", "script": "#!/bin/sh\n"})


def test_the_database_makes_operators_and_administrators(tmp_path: Path) -> None:
    file = tmp_path / "sacctmgr.txt"
    file.write_text(
        "add account a\nadd user alice,olga account=a\nadd user adam account=a\n"
        "modify user olga set adminlevel=operator\nmodify user adam set adminlevel=admin\n"
    )
    with slurmsim.cluster(frozen=True, users={**USERS, "adam": 2004}, accounting=[file]) as c:
        assert not c.run(["sbatch", "--wrap", "sleep 100"], user="alice").returncode
        drain = ["scontrol", "update", "nodename=n1", "state=drain", "reason=x"]
        assert c.run(drain, user="olga").returncode == 1
        assert c.run(drain, user="adam").returncode == 0
        assert c.run(["scancel", "1"], user="olga").returncode == 0
        assert c.job(1).state == "CANCELLED"


def test_the_option_of_up_and_a_restart(tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "slurmsim", *words, "--state", str(tmp_path / "c")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("up", "--frozen", "--user", "olga=2003", "--operator", "olga").returncode == 0
    try:
        job = Client(str(tmp_path / "c"), "alice").call("submit", job={"script": "#!/bin/sh\nsleep 9\n"})["job_id"]
        assert run("down").returncode == 0 and run("up").returncode == 0
        with pytest.raises(Refusal, match="denied"):
            Client(str(tmp_path / "c"), "bob").call("kill", job_id=str(job))
        Client(str(tmp_path / "c"), "olga").call("kill", job_id=str(job))
    finally:
        run("down")


def test_a_name_that_is_none() -> None:
    with pytest.raises(ConfigError, match="--operator"), slurmsim.cluster(operators=["no body"]):
        pass
