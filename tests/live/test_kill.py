"""The daemon is killed, stopped, frozen and started twice at random moments under load, and keeps all its promises.

``SLURMSIM_KILLS=1000`` for the long version: a hundred kills a history, as many histories as it takes.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from kill_session import MOVES, NO_STOP, PAUSE_S, Session
from processes import daemons

from slurmsim.live import daemon
from slurmsim.protocol import Client
from slurmsim.slurmctld.history.compaction import BYTES_VARIABLE

KILLS = int(os.environ.get("SLURMSIM_KILLS", "4"))
SEED = int(os.environ.get("SLURMSIM_KILL_SEED", "1"))
BOUND = 16_000
"""Bytes of entries behind which a snapshot is due, where no daemon is stopped."""
OF_A_HISTORY, TOLD_EVERY = 100, 20
HISTORIES = [(SEED + k, min(OF_A_HISTORY, KILLS - k * OF_A_HISTORY)) for k in range(-(-KILLS // OF_A_HISTORY))]


@pytest.fixture
def seed() -> int:
    return SEED


@pytest.fixture
def session(tmp_path: Path, seed: int) -> Iterator[Session]:
    found = Session(tmp_path, seed)
    yield found
    if daemon.is_alive(found.folder):
        daemon.stop(found.folder)


def under_load(session: Session, kills: int, moves: Sequence[str]) -> None:
    """Kill the daemon so often, with `moves` in between: each once, then as it comes."""
    session.begin()
    left = list(moves)
    while session.moves["kill"] < kills or left:
        session._over.wait(session.random.uniform(0.0, PAUSE_S))
        if left:
            session.move(left.pop())
        elif session.random.random() < 0.3:
            session.move(session.random.choice(moves))
        else:
            session.kill()
            if session.moves["kill"] % TOLD_EVERY == 0:
                print(f"{session.moves['kill']} kills", file=sys.__stderr__, flush=True)
    session.end()


def judge(session: Session, kills: int) -> None:
    """Look for every job that was acknowledged, and for what may not be."""
    assert len(daemons(session.folder)) == 1
    # the queue, priorities, ids, usage: on a clock that stands still a restart gives all of it back
    session.call("clock", action="freeze")
    session.call("clock", action="step", seconds=300)
    session.calm()
    before, shares, factors = session.rows(), session.call("shares"), session.call("priority_factors")
    session.kill()
    assert session.rows() == before
    assert session.call("shares") == shares
    assert session.call("priority_factors")["jobs"] == factors["jobs"]
    assert any(row["usage"] for row in shares["rows"])
    rows = session.settle()
    told, runs = session.told, session.runs()
    shown = {row["array_job_id"] or row["job_id"] for row in rows}
    assert told.twice == []
    assert set(told.jobs) <= shown, "acknowledged and lost"
    ids = Counter(row["job_id"] for row in rows)
    assert [job_id for job_id, count in ids.items() if count > 1 and job_id not in
            {row["array_job_id"] for row in rows}] == []  # fmt: skip
    assert max(runs.values(), default=1) == 1, "a script ran twice"
    ran = {int(line.split()[1]) for line in runs}
    names = {row["array_job_id"] or row["job_id"]: row["name"] for row in rows}
    assert all(names[job_id] == name for job_id, name in told.jobs.items())
    for row in rows:
        name, kind, code = row["name"].split(":")
        if row["job_state"] in ("COMPLETED", "FAILED"):
            assert row["exit_code"] == int(code) << 8, row
            assert row["job_state"] == ("FAILED" if int(code) else "COMPLETED")
            if kind == "real":
                assert row["job_id"] in ran, row
                assert any(line.startswith(f"{name} ") for line in runs)
    for job_id in told.cancelled:
        states = {row["job_state"] for row in rows if job_id in (row["job_id"], row["array_job_id"])}
        assert states <= {"COMPLETED", "FAILED", "CANCELLED"}, (job_id, states)
    done = ", ".join(f"{count} times {move}" for move, count in session.moves.most_common())
    print(f"{done}; {len(told.jobs)} jobs acknowledged, {len(rows)} rows, {len(runs)} scripts ran, "
          f"{told.unanswered} calls unanswered")  # fmt: skip
    assert len(told.jobs) >= kills
    assert runs or kills < 10


@pytest.mark.parametrize(("seed", "kills"), HISTORIES)
def test_kills_under_load(session: Session, seed: int, kills: int) -> None:
    under_load(session, kills, MOVES)
    judge(session, kills)


@pytest.fixture
def small_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daemons of this test make their journal short again and again."""
    monkeypatch.setenv(BYTES_VARIABLE, str(BOUND))


@pytest.mark.parametrize(("seed", "kills"), HISTORIES)
def test_kills_without_one_stop(small_journal: None, session: Session, seed: int, kills: int) -> None:
    """No daemon ever stops by itself, so none tidies up: the journal stays short, by snapshots."""
    under_load(session, kills // 2 if kills < 10 else kills, NO_STOP)
    judge(session, kills)
    print(f"{len(session.snapshots)} snapshots seen, journal of {session.longest:,} bytes at most")
    assert session.longest <= 2 * BOUND
    assert len(session.snapshots) >= max(1, kills // 10)


def test_a_script_goes_on_while_the_daemon_is_away(session: Session) -> None:
    client = Client(str(session.folder))
    flag = session.folder.parent / "flag"
    script = f"#!/bin/sh\nwhile [ ! -e {flag} ]; do sleep 0.05; done\necho x $SLURM_JOB_ID >> {session.ran}\nexit 7\n"
    client.call("submit", job={"name": "n:real:7", "script": script, "work_dir": "/", "std_out": "/dev/null"})
    while session.rows()[0]["job_state"] != "RUNNING":
        session._over.wait(0.1)
    session.kill()
    (row,) = session.rows()
    assert row["job_state"] == "RUNNING"
    flag.touch()
    (row,) = session.settle()
    assert (row["job_state"], row["exit_code"]) == ("FAILED", 7 << 8)
    assert sum(session.runs().values()) == 1
