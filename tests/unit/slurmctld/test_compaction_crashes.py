"""A daemon that is killed between any two calls of the system, while its journal is made short, loses nothing.

Nothing is stopped here: a crash is an exception at the n-th call that changes the disk, and what lies in the folder
then is what the next start finds.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from slurmsim.slurmctld.history.compaction import BYTES_VARIABLE
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.noting import note_decisions
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.server.server import Server
from slurmsim.slurmctld.server.start import open_cluster

START = 1_767_600_000
BOUND = 6_000
CALLS = ("open", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "pwrite")
"""What changes the disk, in `os`."""


class Crash(BaseException):
    """The process is gone."""


@contextmanager
def crash_at(n: int) -> Iterator[list[str]]:
    """Raise `Crash` in place of the n-th call of `CALLS`, and of all that follow; the calls so far."""
    made: list[str] = []

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def one(*args: Any, **more: Any) -> Any:
            if len(made) >= n:
                raise Crash
            made.append(name)
            return call(*args, **more)

        return one

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted(name, getattr(os, name)))
        yield made


def begin(folder: Path) -> None:
    """A cluster, and nothing else."""
    folder.mkdir(mode=0o700)
    header = new_header(start=START, mode="frozen", rate=1.0, nodes=1)
    History(folder, header).close()


@contextmanager
def daemon(folder: Path) -> Iterator[Server]:
    """A server that is not stopped but killed: all is closed, nothing more is written."""
    held = StateFolder.take(folder)
    try:
        server = open_cluster(held, None)
        try:
            yield server
        finally:
            server._socket.close()
            server.engine.storage.store.close()
            server.journal._close()
    finally:
        held.close()


def live(folder: Path, jobs: int, acknowledged: list[int]) -> None:
    """A daemon's life without a stop: start, then submissions; those `acknowledged` are on the disk."""
    with daemon(folder) as server:
        owner = server.engine.people.by_uid(os.getuid())
        for _ in range(jobs):
            job = {"script": "#!/bin/sh\n" + "#" * 500, "work_dir": "/", "environment": {"A": "b"}}
            answer = server._execute({"call": "submit", "args": {"job": job}}, owner)
            note_decisions(server.engine, server.journal)
            server.journal.sync()
            acknowledged.append(int(answer["ok"]["job_id"]))


def known(folder: Path) -> list[int]:
    """The jobs that a start finds."""
    with daemon(folder) as server:
        return sorted(int(one.id) for one in server.engine.jobs.values())


def entries_size(folder: Path) -> int:
    data = (folder / "journal").read_bytes().rstrip(b"\0")
    return len(data) - data.index(b"\n") - 1


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BYTES_VARIABLE, str(BOUND))


def test_a_cluster_that_is_only_killed_keeps_a_short_journal(tmp_path: Path) -> None:
    """Each life is too short for a snapshot of its own; they count together."""
    folder = tmp_path / "c"
    begin(folder)
    given: list[int] = []
    snapshots = set()
    for _ in range(12):
        live(folder, 5, given)
        assert entries_size(folder) <= 2 * BOUND
        snapshots |= {path.name for path in folder.glob("snapshot-*")}
    assert len(snapshots) >= 3
    assert known(folder) == given == list(range(1, 61))


def test_a_crash_at_any_call_of_the_system_loses_nothing(tmp_path: Path) -> None:
    """In the middle of a start that makes the journal short, and of the submissions after it."""
    before = tmp_path / "before"
    begin(before)
    given: list[int] = []
    live(before, 12, given)
    assert entries_size(before) > BOUND
    met: list[str] = []
    for n in count():
        folder, told = tmp_path / str(n), list(given)
        shutil.copytree(before, folder, ignore=shutil.ignore_patterns("*.sock"))
        with crash_at(n) as calls:
            try:
                live(folder, 1, told)
            except Crash:
                met.append(calls[-1] if calls else "")
                finished = False
            else:
                finished = True
        found = known(folder)
        assert found[: len(told)] == told, (n, calls)
        assert len(found) <= len(given) + 1
        if finished:
            break
        shutil.rmtree(folder)
    assert len(told) == len(given) + 1
    assert {"rename", "fsync", "unlink", "write"} <= set(met)
    assert len(list(folder.glob("snapshot-*"))) == 1
