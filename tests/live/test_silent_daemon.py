"""A daemon that is stopped, or starved: slurmsim's own commands say so in one line, and one of them ends it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.cli import main
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import PATIENCE_VARIABLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cluster with one job, whose daemon gets SIGSTOP."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = tmp_path / "c"
    daemon.start(found, daemon.prepare(found, Settings(mode="frozen")))
    daemon.call(found, "submit", job={"script": "#!/bin/sh\nsleep 100\n", "work_dir": "/", "environment": {"A": "b"}})
    (pid,) = daemons(found)
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.5")
    yield found
    monkeypatch.setenv(PATIENCE_VARIABLE, "10")
    for one in daemons(found):
        os.kill(one, signal.SIGCONT)
        daemon.stop(found)


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_own_commands_say_that_it_does_not_answer_and_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pid,) = daemons(folder)
    line = (
        f"slurmsim: error: the daemon of {folder} (process {pid}) does not answer: it is stopped, or has no processor "
        f"time; let it go on, or end it with slurmsim down --force --state {folder}, which keeps its state\n"
    )
    for words in (
        ["status"], ["clock"], ["clock", "step", "1h"], ["down"], ["shell"], ["as", "alice", "--", "true"], ["calls"],
        ["inject", "timeout"], ["inject", "--list"], ["snapshot", str(folder.parent / "file")], ["web"],
        ["record", str(folder.parent / "session")],
    ):  # fmt: skip
        state = [words[0], "--state", str(folder), *words[1:]]
        assert said(state, capsys) == (1, "", line), words
    assert said(["why", str(folder), "1"], capsys) == (1, "", line)
    code, _, err = said(["up", "--state", str(folder)], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert f"a cluster is running there (process {pid})" in err


def test_down_by_force_ends_it_and_keeps_its_state(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(["down", "--force", "--state", str(folder)], capsys)[:2] == (0, "")
    assert daemons(folder) == []
    daemon.start(folder, daemon.prepare(folder, Settings()))
    assert daemon.call(folder, "every_job", fields=["job_id"])["columns"]["job_id"] == [1]


@pytest.mark.parametrize("text", [b"1                   \n", b"no number", b"", b"\xff\xfe"])
def test_force_never_ends_another_process(folder: Path, text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """The lock's text is damaged: the process that holds the lock is looked for."""
    (folder / "lock").write_bytes(text)
    assert said(["down", "--force", "--state", str(folder)], capsys)[:2] == (0, "")
    wait_until(lambda: daemons(folder) == [])


def test_force_stops_a_daemon_that_answers_as_ever(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pid,) = daemons(folder)
    os.kill(pid, signal.SIGCONT)
    assert said(["down", "--force", "--state", str(folder)], capsys)[:2] == (0, "")
    assert not (folder / "slurmctld.sock").exists()  # a kill would leave it
    code, _, err = said(["down", "--force", "--state", str(folder)], capsys)
    assert (code, err) == (1, f"slurmsim: error: no cluster is running in {folder}; start one with slurmsim up\n")


def test_force_does_not_end_the_process_a_cluster_lives_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This one: its daemon is a thread."""
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.5")
    with slurmsim.cluster(nodes=1, frozen=True, folder=tmp_path / "c") as c:
        (c.folder / "slurmctld.sock").rename(c.folder / "away")  # nothing answers
        code, _, err = said(["down", "--force", "--state", str(c.folder)], capsys)
        (c.folder / "away").rename(c.folder / "slurmctld.sock")
        assert code == 1
        assert err == (f"slurmsim: error: process {os.getpid()} holds {c.folder} and is no daemon: a cluster within a "
                       "Python process ends with it\n")  # fmt: skip
