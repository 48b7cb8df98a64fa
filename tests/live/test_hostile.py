"""Broken and hostile input on the socket, full disks, damaged journals: the daemon goes on, others do not notice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.live import daemon
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.protocol import MAX_REQUEST, SOCKET, Client, Refusal, connect, pack
from slurmsim.slurmctld.server.bodies import Bodies
from slurmsim.slurmctld.server.connections import READ_S

CONNECTIONS = 2000
FIELDS = ["name", "script", "min_nodes", "time_limit", "array_inx", "environment", "partition", "features", "nice",
          "tres_per_node", "dependency", "num_tasks", "begin_time", "licenses", "req_nodes", "rlimits", "work_dir",
          "account", "argv"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cluster whose daemon is a process of its own."""
    found = tmp_path / "c"
    daemon.start(found, daemon.prepare(found, Settings(mode="frozen")))
    yield found
    if daemon.is_alive(found):
        daemon.stop(found)


def raw(folder: Path) -> socket.socket:
    found = socket.socket(fileno=connect(str(folder / SOCKET), 30).detach())
    found.settimeout(30)
    return found


def answers(folder: Path) -> float:
    """Real seconds an honest client waits."""
    began = time.monotonic()
    assert Client(str(folder), timeout_s=30).call("ping")["cluster"] == "cluster"
    return time.monotonic() - began


def job(script: str = "#!/bin/sh\n", **more: object) -> dict[str, object]:
    return {"name": "j", "script": script, "work_dir": "/", **more}


def test_garbage(folder: Path) -> None:
    rng = random.Random(1)
    for k in range(200):
        with raw(folder) as connection:
            kind = k % 6
            if kind == 0:
                data = rng.randbytes(rng.randrange(1, 4000))
            elif kind == 1:  # a length of 100 MB and more, and a little of it
                data = struct.pack(">I", rng.randrange(100 << 20, 1 << 32)) + b"x" * 1000
            elif kind == 2:  # half a message
                data = pack({"call": "submit", "args": {"job": job()}})[: rng.randrange(1, 60)]
            elif kind == 3:  # no JSON, or not what is expected
                text = rng.choice(
                    [b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"1e999", b"{}", b'{"call":7,"args":[1]}']
                )
                data = struct.pack(">I", len(text)) + text
            elif kind == 4:  # nested deeper than anybody can follow
                data = struct.pack(">I", 200_000) + b"[" * 200_000
            else:
                wrong = rng.choice([None, [], {}, "x" * 70_000, -1, 1e308, [[]], {"a": {}}, "\ud800", True])
                field = rng.choice(FIELDS)
                text = json.dumps({"call": "submit", "args": {"job": {**job(), field: wrong}}, "user": None}).encode()
                data = struct.pack(">I", len(text)) + text
            try:
                connection.sendall(data)
                if kind in (3, 5):
                    connection.recv(100)
            except OSError:
                pass
    assert answers(folder) < 5
    # and what came of it is the same after a restart
    before = Client(str(folder)).call("every_job", fields=["job_id", "job_state", "priority"])
    daemon.stop(folder)
    daemon.start(folder, daemon.prepare(folder, Settings()))
    assert Client(str(folder)).call("every_job", fields=["job_id", "job_state", "priority"]) == before


def test_every_call_survives_wrong_arguments(folder: Path) -> None:
    client = Client(str(folder), timeout_s=60)
    calls = ["submit", "kill", "jobs", "nodes", "partitions", "ended", "users", "config", "steps", "reservations",
             "node_action", "every_job", "clock", "calls", "log_call", "nonsense"]  # fmt: skip
    for name in calls:
        for arguments in ({}, {"job": 1}, {"job_id": []}, {"fields": 3}, {"action": "step", "seconds": "x"},
                          {"names": None}, {"argv": 1}, {"core_id": {}}):  # fmt: skip
            with contextlib.suppress(Refusal):
                client.call(name, **arguments)
    assert client.call("ping")["cluster"] == "cluster"


def test_thousands_of_connections_and_slow_readers(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    count = min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    held = []
    try:
        client = Client(str(folder))
        for _ in range(20):
            client.call("submit", job=job(environment={"X": "y" * 50_000}, comment="c" * 50_000))
        for k in range(count):
            connection = raw(folder)
            held.append(connection)
            if k % 3 == 1:
                connection.sendall(b"\0\0")  # half a length
            elif k % 3 == 2 and k < 300:  # asks for a lot and reads nothing
                connection.sendall(pack({"call": "jobs", "args": {"fields": ["comment"] * 40}, "user": None}))
            if k % 400 == 0:
                assert answers(folder) < 10
        assert answers(folder) < 10
        # eight who send 16 MB slowly do not keep others from submitting
        for _ in range(12):
            connection = raw(folder)
            connection.sendall(struct.pack(">I", MAX_REQUEST) + b" " * 100_000)
            held.append(connection)
        assert client.call("submit", job=job())["job_id"] == 21
        assert answers(folder) < 10
    finally:
        for connection in held:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert answers(folder) < 5


def test_what_is_too_large_is_refused_before_it_is_sent() -> None:
    """The daemon hangs up on it, which would look as if there were none."""
    with slurmsim.cluster(frozen=True) as c:
        client = Client(str(c.folder))
        with pytest.raises(Refusal, match=r"a request of 16,777,[0-9]{3} bytes; slurmsim takes 16,777,216 at most"):
            client.call("users", names=["x" * MAX_REQUEST])
        assert client.call("hello")


@pytest.mark.parametrize("sent", [0, 1 << 20, 14 << 20])
def test_who_announces_much_and_stalls_holds_nobody_up(folder: Path, sent: int) -> None:
    stalled = []
    try:
        for _ in range(10):
            connection = raw(folder)
            connection.settimeout(5)
            stalled.append(connection)
            with contextlib.suppress(OSError):  # hung up on, when the others need the room
                connection.sendall(struct.pack(">I", 15 << 20) + b" " * sent)
        began = time.monotonic()
        assert Client(str(folder), timeout_s=60).call("submit", job=job(comment="", script="#" * (1 << 20)))
        assert time.monotonic() - began < READ_S / 2  # they would be hung up on after READ_S
    finally:
        for connection in stalled:
            connection.close()


def test_unfinished_messages_share_a_bounded_memory() -> None:
    async def talk() -> list[bytes | None]:
        bodies, most = Bodies(budget=1 << 20), 0
        readers = [asyncio.StreamReader() for _ in range(4)]
        writers = [_Writer(reader) for reader in readers]
        tasks = [asyncio.ensure_future(bodies.read(r, w, 400 << 10)) for r, w in zip(readers, writers, strict=True)]
        for reader in readers:  # the first one stalls, and has to go when the others need its room
            reader.feed_data(b"x" * (300 << 10))
            for _ in range(5):
                await asyncio.sleep(0)
                most = max(most, bodies.total)
        assert most <= 1 << 20
        for reader in readers[1:]:
            reader.feed_data(b"x" * (100 << 10))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert bodies.total == 0
        return [one if isinstance(one, bytes) else None for one in found]

    found = asyncio.run(talk())
    assert found[0] is None
    assert [len(one or b"") for one in found[1:]] == [400 << 10] * 3


class _Writer:
    """As much of a StreamWriter as is used."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.transport, self.reader = self, reader

    def abort(self) -> None:
        self.reader.feed_eof()


def test_a_full_disk(folder: Path) -> None:
    client, told = Client(str(folder)), []
    with raw(folder) as connection:
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid = struct.unpack("3i", peer)[0]
    told.append(client.call("submit", job=job())["job_id"])
    limit = (folder / "journal").stat().st_size + 20_000
    old = resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    refused = 0
    for _ in range(300):
        try:
            told.append(client.call("submit", job=job(comment="x" * 5000))["job_id"])
        except Refusal as refusal:
            assert (refusal.number, refusal.text) == (2019, "I/O error writing script/environment to file")
            refused += 1
    assert refused > 200
    assert client.call("every_job", fields=["job_id"])["columns"]["job_id"] == told  # it still answers
    resource.prlimit(pid, resource.RLIMIT_FSIZE, old)
    told.append(client.call("submit", job=job())["job_id"])  # there is room again
    assert told == list(range(1, len(told) + 1))
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    daemon.start(folder, daemon.prepare(folder, Settings()))
    assert Client(str(folder)).call("every_job", fields=["job_id"])["columns"]["job_id"] == told


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_cut_journal_is_refused_and_salvaged(folder: Path, cut: int) -> None:
    client = Client(str(folder))
    for _ in range(3):
        client.call("submit", job=job())
    daemon.stop(folder)
    journal = folder / "journal"
    journal.write_bytes(data := journal.read_bytes()[:-cut] + b"\0" * 100)
    with pytest.raises(slurmsim.errors.OutputError, match=r"cannot be read \(acknowledged up to .*up --salvage"):
        daemon.start(folder, daemon.prepare(folder, Settings()))
    assert journal.read_bytes() == data
    command = [sys.executable, "-m", "slurmsim", "up", "--salvage", "--state", str(folder)]
    environ = {**os.environ, "XDG_STATE_HOME": str(folder.parent)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "are lost; the damaged journal is journal.damaged-1" in done.stderr
    assert (folder / "journal.damaged-1").read_bytes() == data
    ids = client.call("every_job", fields=["job_id"])["columns"]["job_id"]
    assert ids in ([1, 2], [1, 2, 3])  # the last line may be about the clock
    assert client.call("submit", job=job())["job_id"] == len(ids) + 1


def test_a_damaged_journal_is_refused(folder: Path) -> None:
    client = Client(str(folder))
    for _ in range(3):
        client.call("submit", job=job())
    daemon.stop(folder)
    journal = folder / "journal"
    data = bytearray(journal.read_bytes())
    data[data.index(b"\n") + 30] ^= 0xFF
    journal.write_bytes(data)
    with pytest.raises(slurmsim.errors.OutputError, match="damaged in the middle"):
        daemon.start(folder, daemon.prepare(folder, Settings()))
    assert journal.read_bytes() == data


NASTY = [
    "it's",
    'a "b"',
    "tab\there",
    "esc\x1b[31mred",
    "$(touch x)",
    "`id`",
    "%s%n",
    "ü 漢字 🎉",
    "a;b|c&d",
    "back\\slash",
    "-n",
]


@pytest.mark.parametrize("text", NASTY)
def test_names_stay_data(text: str) -> None:
    with slurmsim.cluster(frozen=True) as c:
        c.run(["sbatch", f"--job-name={text}", f"--comment={text}", "--wrap", "true"], check=True)
        assert (c.job(1).name, c.job(1).comment) == (text, text)
        assert c.run(["squeue", "-h", "-o", "%j"]).stdout == f"{text}\n"
        assert c.run(["squeue", "-h", "-n", text, "-o", "%i"]).stdout == ("1\n" if "," not in text else "")
        c.stop()
        c.start()
        assert c.job(1).name == text
        assert c.calls("sbatch")[0].argv[1] == f"--job-name={text}"


def test_a_script_runs_where_it_was_submitted_whatever_the_folder_is_called(tmp_path: Path) -> None:
    place = tmp_path / 'it\'s a "dir" ü $(x)'
    place.mkdir()
    with slurmsim.cluster(rate=100) as c:
        c.run(["sbatch", "-o", "o u't", "--wrap", "pwd"], cwd=place, check=True)
        wait_until_over(c)
        assert (place / "o u't").read_text() == f"{place}\n"


def wait_until_over(c: Cluster) -> None:
    last = time.monotonic() + 60
    while c.job(1).state not in ("COMPLETED", "FAILED"):
        assert time.monotonic() < last
        time.sleep(0.05)


def test_scripts_that_are_too_long(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("#!/bin/sh\n#" + "x" * (4 << 20) + "\n")
    (tmp_path / "fits").write_text("#!/bin/sh\n#" + "x" * ((4 << 20) - 100) + "\n")
    with slurmsim.cluster(frozen=True) as c:
        refused = c.run(["sbatch", "long"], cwd=tmp_path)
        text = "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long\n"
        assert (refused.returncode, refused.stderr) == (1, text)
        assert c.run(["sbatch", "fits"], cwd=tmp_path).stdout == "Submitted batch job 1\n"
        with pytest.raises(Refusal, match="parameter too long"):  # a client that does not look itself
            c.client.call("submit", job=job("#!/bin/sh\n" + "x" * (4 << 20)))


def test_a_full_queue(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=c\nSlurmctldHost=h\nMaxJobCount=4\nNodeName=n1\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        for _ in range(3):
            c.run(["sbatch", "--wrap", "sleep 100"], check=True)
        with pytest.raises(Refusal, match="Resource temporarily unavailable"):
            c.client.call("submit", job=job())
        with pytest.raises(Refusal, match="Resource temporarily unavailable"):
            c.client.call("submit", job=job(array_inx="1-3"))
        command = ["sbatch", "--wrap", "true"]
        sbatch = subprocess.Popen(
            command, env=daemon.environment(c.folder, os.environ), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert sbatch.stderr is not None
        said = sbatch.stderr.readline()  # it was refused, and tries again, as Slurm's does
        c.until_idle()
        c.step("1h")
        stdout, more = sbatch.communicate(timeout=60)
        assert stdout == "Submitted batch job 4\n"
        assert set((said + more).splitlines()) == {
            "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying"
        }


def test_only_the_owner_acts_for_others() -> None:
    with slurmsim.cluster(frozen=True, users={"alice": 2001, "bob": 2002}) as c:
        c.run(["sbatch", "--wrap", "sleep 100"], user="alice")
        denied = c.run(["scancel", "1"], user="bob")
        assert "Access/permission denied" in denied.stderr
        assert c.job(1).state == "PENDING"
        for arguments in ({"action": "step", "seconds": 5}, {"action": "freeze"}):
            with pytest.raises(Refusal, match="denied"):
                Client(str(c.folder), "bob").call("clock", **arguments)
        with pytest.raises(Refusal, match="denied"):
            Client(str(c.folder), "bob").call("down")
        c.run(["scancel", "1"])
        assert c.job(1).state == "CANCELLED"
        assert (c.folder / SOCKET).stat().st_mode & 0o777 == 0o600
