"""Another user of the machine, really: what is closed to him, and what he may once the owner has opened the socket.

Rows "other users of the machine" of docs/security.md.
"""

from __future__ import annotations

import os
import shlex
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from as_another import OTHER, as_another, held_open, refusal
from asking import DENIED, SIMULATED, ask, job, opened

import slurmsim
from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.jwt_key import KEY_FILE, key_of
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import SOCKET, Client, Unreachable
from slurmsim.slurmctld.server import connections

UNREACHABLE = "Unable to contact slurm controller (connect failure)"


@pytest.fixture
def cluster(place: Path) -> Iterator[Cluster]:
    with slurmsim.cluster(nodes=2, jobs="run", slurm_version="26.05", folder=place / "c", users={"alice": 2001}) as c:
        key_of(str(c.folder))
        c.run("sbatch -H --wrap 'sleep 1'", env={"SECRET": "no word"}, check=True)
        yield c


def test_a_cluster_is_closed(cluster: Cluster) -> None:
    assert as_another(lambda: refusal(lambda: ask(cluster.folder, "ping"))) == UNREACHABLE
    for name in ("", SOCKET, KEY_FILE, "journal", "slurm.conf", "jobs", "log"):
        assert as_another(lambda name=name: refusal((cluster.folder / name).read_bytes)) == "PermissionError"


def test_files_of_an_open_one_are_closed(cluster: Cluster) -> None:
    """Keys, scripts, environments and what is written of requests; the configuration may be read."""
    opened(cluster.folder)
    for name in (KEY_FILE, "journal", "journal.mark", "lock"):
        assert as_another(lambda name=name: refusal((cluster.folder / name).read_bytes)) == "PermissionError", name
    assert as_another(lambda: refusal(lambda: os.listdir(cluster.folder))) == "PermissionError"
    for act in ((cluster.folder / "x").touch, (cluster.folder / SOCKET).unlink):
        assert as_another(lambda act=act: refusal(act)) == "PermissionError"


def test_an_open_one_takes_them_as_themselves(cluster: Cluster) -> None:
    opened(cluster.folder)

    def acts() -> list[Any]:
        who = ask(cluster.folder, "ping")
        mine = ask(cluster.folder, "submit", job=job(SIMULATED))["job_id"]
        ask(cluster.folder, "update_job", job_id=str(mine), job={"std_out": "/tmp/x", "comment": "mine"})
        ask(cluster.folder, "kill", job_id=str(mine))
        return [who["uid"], who["operator"], mine]

    assert as_another(acts) == [OTHER, False, 2]
    assert cluster.job(2).state == "CANCELLED" and cluster.job(1).state == "PENDING"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("submit", {"job": job("#!/bin/sh\nid\n")}),
        ("submit", {"job": job("#!/bin/sh\nid\n", array_inx="1-3")}),
        ("submit", {"job": job("#!/bin/sh\nid\n", allocate=True)}),
        ("submit", {"job": job("#!/bin/sh\nid\n"), "components": [job(SIMULATED)]}),
        ("submit", {"job": job(SIMULATED, user_name="root")}),
        ("update_crontab", {"crontab": "* * * * * id\n",
                            "jobs": [{"job": job("#!/bin/sh\nid\n"), "spec": "* * * * *", "first": 1, "last": 1}]}),
        ("crontab", {"user": "root"}),
        ("kill", {"job_id": "1"}),
        ("hold_job", {"job_id": "1", "kind": "release"}),
        ("requeue_job", {"job_id": "1"}),
        ("update_job", {"job_id": "1", "job": {"std_out": "/tmp/mine"}}),
        ("update_job", {"job_id": "1", "job": {"comment": "x"}, "acting_uid": 0}),
        ("batch_script", {"job_id": 1}),
        ("step_create", {"step": {"job_id": 1, "num_tasks": 1, "cpu_count": 1}}),
        ("complete_job", {"job_id": 1, "status": 0}),
        ("ended", {"core_id": 1, "restarts": 0, "status": 0}),
        ("solved", {"number": 1, "answer": "x"}),
        ("last_id", {"id": 7}),
        ("clock", {"action": "freeze"}),
        ("inject", {"what": "timeout", "given": {}}),
        ("node_action", {"action": "fail", "nodes": "n1"}),
        ("update_node", {"names": "n1", "state": "DRAIN", "reason": "x"}),
        ("account_change", {"action": "add_account", "names": ["x"], "settings": []}),
        ("reconfigure", {}), ("shutdown", {}), ("snapshot", {"path": "/tmp/file"}), ("down", {}), ("calls", {}),
        ("record", {"action": "start", "path": "/tmp/file"}),
    ],
)  # fmt: skip
def test_what_an_open_one_refuses(cluster: Cluster, call: str, arguments: dict[str, Any]) -> None:
    opened(cluster.folder)
    text = as_another(lambda: refusal(lambda: ask(cluster.folder, call, **arguments)))
    assert text.startswith((DENIED, "Invalid user id")), text
    assert [one.state for one in cluster.jobs()] == ["PENDING"]


def test_nobody_else_says_who_asks(cluster: Cluster) -> None:
    opened(cluster.folder)
    for user in ("root", "alice", "nobody"):
        for asks in (False, True):
            text = as_another(lambda u=user, a=asks: refusal(lambda: ask(cluster.folder, "ping", u, asks=a)))
            assert text == DENIED


def test_hundreds_of_connections_keep_nobody_out(cluster: Cluster) -> None:
    """Half a message on each, from another user; the owner is answered meanwhile."""
    opened(cluster.folder)
    path = str(cluster.folder / SOCKET)

    def half() -> socket.socket:
        line = socket.socket(socket.AF_UNIX)
        line.connect(path)
        line.send(b"\0\0")
        return line

    with held_open(half, 400):
        assert ask(cluster.folder, "ping")["uid"] == os.getuid()


def is_open(client: Client) -> bool:
    """Whether the daemon has not hung up."""
    line = client._socket
    if line is None:
        return False
    line.settimeout(0)
    try:
        return bool(line.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("busy", [False, True])
def test_connections_that_wait_keep_nobody_out(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Of a user who has all descriptors there are: silent ones, or ones whose answer is far away."""
    uids, seen = [os.getuid()], Counter[int]()

    def peer(_: socket.socket) -> int:
        seen[uids[0]] += 1
        return uids[0]

    monkeypatch.setattr(connections, "_peer", peer)
    monkeypatch.setattr(connections, "_descriptors", lambda: connections.SPARE + 64)
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        mine = Client(str(c.folder), None, 20.0)
        mine.post("wait_until", until=c.now + 60)  # as salloc and srun wait
        uids[0] = OTHER
        theirs = []
        for _ in range(200):
            one = Client(str(c.folder), None, 20.0)
            theirs.append(one)
            with suppress(Unreachable):  # it is hung up on at once
                if busy:
                    one.post("wait_until", until=c.now + 3600)
                else:
                    one.call("ping")
        while seen[OTHER] < 200:  # the last of them would be taken for the owner's
            time.sleep(0.01)
        uids[0] = os.getuid()
        assert ask(c.folder, "ping")["uid"] == os.getuid()
        c.step(60)
        assert mine.receive()["now"] == c.now
        assert sum(map(is_open, theirs)) <= 48  # three quarters of 64
        for one in (mine, *theirs):
            one.close()


@pytest.mark.parametrize("words", ["srun -n1 -o {out} /usr/bin/id -u", "salloc -n1 /bin/sh -c 'id -u > {out}'"])
def test_tasks_have_the_callers_rights(words: str, place: Path) -> None:
    """Row "srun, salloc, steps": what they start is the caller's process, and not the owner's."""
    out = place / "out"
    name, *asked = shlex.split(words.format(out=out))
    command = import_module(MODULES[name])  # the other user may not be able to read Python's own files
    with slurmsim.cluster(nodes=1, jobs="run", folder=place / "c") as c:
        c.run(shlex.split(words.format(out="/dev/null")), check=True)  # loads what is loaded late
        folder = opened(c.folder)
        environ = {"PATH": "/usr/bin:/bin", "HOME": "/"}
        world = Io(Client(str(folder)), environ=environ, cwd="/")
        assert as_another(lambda: command.run(asked, world)) == 0
        assert (out.read_text(), out.stat().st_uid) == (f"{OTHER}\n", OTHER)
        assert len({job.user for job in c.jobs()}) == 2
