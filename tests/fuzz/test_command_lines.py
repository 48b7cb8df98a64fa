"""Slips of the hand: no command prints a traceback, and none breaks the daemon."""

from __future__ import annotations

import contextlib
import io as streams
import os
import random
import signal
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest
from command_lines import COMMANDS, LAUNCHERS, UNRECORDED, WAITS, recorded, slip
from test_requests import World

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Client

COUNT = int(os.environ.get("SLURMSIM_SLIPS", "400"))
"""Command lines; 20,000 in `make nightly`."""
SEED = int(os.environ.get("SLURMSIM_FUZZ_SEED", "0"))
WAIT_S = 30
PATIENCE_S = 5  # with a command that tries again and again; it may be cut short
NEW_AFTER, STEP_EVERY = 1500, 25


class Waited(BaseException):
    """A command that would wait for somebody."""


def _waited(number: int, frame: FrameType | None) -> None:
    raise Waited


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)  # some commands write files there
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH -n2\nsleep 60\n")
    before, digits = signal.signal(signal.SIGALRM, _waited), sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as a command's process has it
    found = World(tmp_path)
    yield found
    found.close()
    sys.set_int_max_str_digits(digits)
    signal.signal(signal.SIGALRM, before)


def run(cluster: Cluster, words: list[str], user: str | None) -> str:
    """Run one command in this process; its traceback, "" for none."""
    if words[0] not in COMMANDS:
        return ""
    environ = {"PATH": "", "HOME": "/", "USER": user or "root", "SLURMSIM_CLUSTER_DIR": str(cluster.folder)}
    client = Client(str(cluster.folder), user, WAIT_S)
    out = streams.StringIO()
    world = Io(client, stdin=streams.StringIO(), stdout=out, stderr=out, environ=environ, now=lambda: cluster.now)
    signal.alarm(PATIENCE_S)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            import_module(MODULES[words[0]]).run(words[1:], world)
    except (Waited, SystemExit):
        pass
    except Exception:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        client.close()
    return traceback_in(out.getvalue())


def traceback_in(text: str) -> str:
    return text if "Traceback (most recent" in text else ""


def troubles(cluster: Cluster) -> list[str]:
    server = cluster._server
    assert server is not None
    return list(server.trouble.tracebacks)


def prepared(world: World) -> Cluster:
    """A cluster with some jobs, new now and then."""
    if world.asked > NEW_AFTER:
        world.close()
    fresh = world.cluster is None
    cluster = world.get()
    if fresh:
        job = {"name": "j", "script": "#!/bin/sh\nsleep 300\n", "work_dir": "/", "num_tasks": 2, "time_limit": 10}
        for more in ({}, {"array_inx": "0-5%2"}, {"hold": True}, {"min_nodes": 2}, {"dependency": "afterok:1"}):
            cluster.client.call("submit", job={**job, **more})
        cluster.step(5)
    return cluster


def test_no_slip_makes_a_traceback(world: World) -> None:
    rng = random.Random(SEED)
    lines = [words for words in recorded() if words[0] in COMMANDS]
    world.asked = 0
    for k in range(COUNT):
        cluster = prepared(world)
        world.asked += 1
        words = slip(rng.choice(lines), rng)
        words = [word for word in words if not word.startswith(WAITS.get(words[0], ()))]
        user = rng.choice((None, None, "alice"))
        found = run(cluster, words, user)
        assert not found, f"{words!r}\n{found}"
        assert not troubles(cluster), f"{words!r}\n{troubles(cluster)[-1]}"
        if k % STEP_EVERY == 0:
            cluster.step(10)


def test_no_recorded_command_is_malformed(world: World) -> None:
    """What commands send, the daemon's table of shapes knows."""
    lines = [words for words in recorded() if words[0] in COMMANDS]
    step = max(1, len(lines) * 2 // COUNT)
    for words in lines[::step]:
        cluster = prepared(world)
        run(cluster, [word for word in words if not word.startswith(WAITS.get(words[0], ()))], None)
        server = cluster._server
        assert server is not None
        assert server.trouble.turned_away == 0, words


def test_launchers_too(world: World) -> None:
    """srun and salloc start processes: they are programs of their own here."""
    rng = random.Random(SEED)
    lines = [words for words in recorded() if words[0] in LAUNCHERS]
    cluster = prepared(world)
    for _ in range(max(COUNT // 100, 3)):
        words = slip(rng.choice(lines), rng)
        done = cluster.run(["timeout", "-s", "KILL", "5", *(word.replace("\0", "") for word in words)], input="")
        assert not traceback_in(done.stderr), words
    assert not troubles(cluster)


def test_every_command_is_tried() -> None:
    assert set(MODULES) == {*COMMANDS, *LAUNCHERS}
    assert {words[0] for words in recorded()} >= set(COMMANDS) - UNRECORDED
    assert len(recorded()) > 1000
