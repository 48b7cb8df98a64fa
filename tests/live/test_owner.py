"""A state folder has one daemon at a time, whoever starts, stops, interrupts or kills it, and however long it takes."""

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
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import SOCKET, Client
from slurmsim.slurmctld.history import compaction
from slurmsim.slurmctld.history.state_folder import StateFolder, holder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a cluster may be; none is left at the end."""
    found = tmp_path / "c"
    yield found
    for pid in daemons(found):
        os.kill(pid, signal.SIGKILL)


def up(folder: Path, *words: str) -> subprocess.Popen[str]:
    """``slurmsim up`` on its way."""
    command = [sys.executable, "-m", "slurmsim", "up", "--state", str(folder), *words]
    environ = {**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def submit(folder: Path, script: str = "#!/bin/sh\n#SLURMSIM runtime=60\n") -> int:
    job = {"name": "j", "script": script, "work_dir": "/", "std_out": "/dev/null"}
    return int(Client(str(folder)).call("submit", job=job)["job_id"])


SLOW = """\
import os, sys
if "slurmsim.slurmctld" in sys.orig_argv:
    os.read(os.open({pipe!r}, os.O_RDONLY), 1)
"""


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipe; each daemon that starts waits until it is opened for writing, before it does anything."""
    found, modules = tmp_path / "pipe", tmp_path / "modules"
    os.mkfifo(found)
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(SLOW.format(pipe=str(found)))
    monkeypatch.setenv("PYTHONPATH", str(modules), prepend=os.pathsep)
    return found


def go_on(pipe: Path) -> None:
    """Let the daemon that waits for `pipe`, or soon will, go on."""
    wait_until(lambda: opened(pipe))


def opened(pipe: Path) -> bool:
    """Open `pipe` for writing and close it; False if no daemon waits for it yet."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


# -- one daemon -----------------------------------------------------------------------------------------------------


def test_of_many_who_start_one_does(folder: Path) -> None:
    started = [up(folder, "--frozen") for _ in range(4)]
    said = [one.communicate(timeout=60) for one in started]
    (pid,) = daemons(folder)
    assert sorted(one.returncode for one in started) == [0, 2, 2, 2]
    for one, (_, err) in zip(started, said, strict=True):
        if one.returncode:  # the process that holds it is the daemon, or still the one that makes it ready
            assert err.startswith(f"slurmsim: error: {folder}: a cluster is running there (process "), err
            assert err.endswith(") (expected slurmsim down first)\n")
    assert holder(folder) == pid
    late = up(folder)
    assert f"a cluster is running there (process {pid})" in late.communicate(timeout=60)[1]
    assert [submit(folder) for _ in range(3)] == [1, 2, 3]
    daemon.stop(folder)
    assert (holder(folder), daemons(folder)) == (None, [])
    daemon.start(folder, daemon.prepare(folder, Settings()))
    assert submit(folder) == 4


def test_one_that_sleeps_is_still_there(folder: Path) -> None:
    daemon.start(folder, daemon.prepare(folder, Settings(mode="frozen")))
    (pid,) = daemons(folder)
    assert submit(folder) == 1
    os.kill(pid, signal.SIGSTOP)
    other = up(folder)
    _, err = other.communicate(timeout=60)
    os.kill(pid, signal.SIGCONT)
    assert other.returncode == 2 and f"(process {pid})" in err
    assert daemons(folder) == [pid]
    assert submit(folder) == 2
    daemon.stop(folder)


def test_after_a_kill_jobs_that_run_do_not_hold_it(folder: Path) -> None:
    daemon.start(folder, daemon.prepare(folder, Settings(jobs="run")))
    flag = folder.parent / "flag"
    submit(folder, f"#!/bin/sh\nwhile [ ! -e {flag} ]; do sleep 0.05; done\n")
    wait_until(lambda: list((folder / "jobs").glob("*/pid")))
    (pid,) = daemons(folder)
    os.kill(pid, signal.SIGKILL)
    daemon.start(folder, daemon.prepare(folder, Settings()))
    found = daemon.call(folder, "jobs", fields=["job_state"])["columns"]["job_state"]
    assert found == ["RUNNING"]
    flag.touch()
    daemon.stop(folder)


def test_nobody_removes_a_socket_that_is_not_his(folder: Path) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, folder=folder):
        (folder / SOCKET).unlink()
        (folder / SOCKET).write_text("another one's")
    assert (folder / SOCKET).read_text() == "another one's"


def test_a_cluster_in_this_process_is_one_too(folder: Path) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, folder=folder) as c:
        assert holder(folder) == os.getpid()
        with pytest.raises(ConfigError, match=f"a cluster is running there .process {os.getpid()}.") as refused:
            c.__class__(c.settings, folder).__enter__()
        assert "\n" not in str(refused.value)
        there, mine = os.pipe()
        child = os.fork()
        if not child:
            os.write(mine, b"1")
            signal.pause()
        assert os.read(there, 1) == b"1"  # it has begun, and let go of what it got from here
        os.close(there)
        os.close(mine)
        c.stop()  # what has been forked meanwhile does not hold it
        assert holder(folder) is None
        c.start()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert holder(folder) is None
    assert not (folder / SOCKET).exists()


# -- a start that takes long ----------------------------------------------------------------------------------------


def test_who_interrupts_a_slow_start_ends_the_daemon(folder: Path, pipe: Path) -> None:
    starting = up(folder)
    wait_until(lambda: daemons(folder))
    starting.send_signal(signal.SIGINT)
    _, err = starting.communicate(timeout=60)
    assert starting.returncode == 130
    assert err == "slurmsim: interrupted: the cluster was still starting and has been ended; its state is as it was\n"
    assert (daemons(folder), holder(folder)) == ([], None)
    assert "ended while it started: KeyboardInterrupt" in (folder / "log").read_text()


def test_a_daemon_nobody_waits_for_ends(folder: Path, pipe: Path) -> None:
    starting = up(folder)
    wait_until(lambda: daemons(folder))
    starting.kill()
    starting.communicate()
    assert daemons(folder)  # it cannot know yet
    go_on(pipe)
    wait_until(lambda: not daemons(folder))
    assert "the process that started this daemon has gone away" in (folder / "log").read_text()


def test_one_that_does_nothing_is_given_up(folder: Path, pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "STILL_S", 1.0)
    with pytest.raises(OutputError, match="it did nothing for 1 s and was ended"):
        daemon.start(folder, daemon.prepare(folder, Settings()))
    assert (daemons(folder), holder(folder)) == ([], None)


def test_a_long_history_shows_its_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "ENTRIES_AT_STOP", 1000)  # no snapshot: all of it is to be carried out again
    with slurmsim.cluster(nodes=1, frozen=True, folder=folder):
        for _ in range(300):
            submit(folder)
    told: list[tuple[int, int]] = []
    daemon.start(folder, daemon.prepare(folder, Settings()), lambda done, total: told.append((done, total)))
    assert told[0][0] == 0 and told == sorted(told)
    assert told[-1][0] == told[-1][1] >= 300
    daemon.stop(folder)


def test_a_start_that_fails_says_why_and_lets_go(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "journal").write_bytes(b"no journal\n" * 3)
    with pytest.raises(OutputError, match="the daemon did not start: "):
        daemon.start(folder, daemon.prepare(folder, Settings()))
    assert holder(folder) is None


@pytest.mark.parametrize("name", ["slurm.conf", "gres.conf", "part.conf"])
def test_a_configuration_that_is_a_pipe_is_called_one(folder: Path, tmp_path: Path, name: str) -> None:
    """The file itself, one that is read beside it, and one that it includes."""
    conf = tmp_path / "slurm.conf"
    if name != "slurm.conf":
        conf.write_text("ClusterName=c\nSlurmctldHost=h\nNodeName=n1\nInclude part.conf\nPartitionName=p Nodes=ALL\n")
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigError) as refused:
        daemon.prepare(folder, Settings(conf=str(conf)))
    assert str(refused.value).startswith(f"{tmp_path / name}: not a regular file but a named pipe")
    assert "\n" not in str(refused.value) and holder(folder) is None


def test_the_lock_is_free_after_a_refusal(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        daemon.prepare(folder, Settings(conf=str(folder / "nothing")))
    StateFolder.take(folder).close()


def test_down_ends_a_cluster_in_a_process_that_goes_on(folder: Path) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, folder=folder):
        daemon.stop(folder)
        assert holder(folder) is None
