"""Files and bytes that another user of the machine made: refused in one line, or data and nothing else.

Rows "garbage", "the author of a file", "streams", "journal" and "snapshot" of docs/security.md.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from as_another import OTHER, as_another, theirs

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.protocol import SOCKET, Client
from slurmsim.slurmctld.history.copies import make
from slurmsim.slurmctld.history.state_folder import StateFolder

CONF = "ClusterName=c\nSlurmctldHost=h\n{more}NodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What slurmsim says in one line, when it refuses the command."""
    capsys.readouterr()
    assert main(list(words)) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out + said.err


GARBAGE: tuple[Callable[[random.Random], bytes], ...] = (
    lambda rng: rng.randbytes(3000),
    lambda rng: struct.pack(">I", rng.randrange(100 << 20, 1 << 32)) + b"x" * 1000,
    lambda rng: struct.pack(">I", 200_000) + b"[" * 200_000,
    lambda rng: struct.pack(">I", 2) + rng.choice((b"{]", b"[]", b"\xff\xfe", b"{}")),
    lambda rng: b"\0\0",
)


def test_garbage_stops_nothing(place: Path) -> None:
    """Another user sends it to the open socket of a cluster; the owner is answered meanwhile and afterwards."""
    with slurmsim.cluster(nodes=1, frozen=True, folder=place / "c") as c:
        c.folder.chmod(0o711)
        (c.folder / SOCKET).chmod(0o666)
        path = str(c.folder / SOCKET)

        def send() -> int:
            rng = random.Random(3)
            for k in range(60):
                with socket.socket(socket.AF_UNIX) as line:
                    line.settimeout(20)
                    line.connect(path)
                    with suppress(OSError):  # it is hung up on
                        line.sendall(GARBAGE[k % len(GARBAGE)](rng))
            return 60

        assert as_another(send) == 60
        began = time.monotonic()
        assert Client(path.removesuffix(SOCKET), timeout_s=20).call("ping")["uid"] == os.getuid()
        assert time.monotonic() - began < 5
        assert c.run("squeue -h").stdout == ""


@pytest.mark.parametrize(
    ("name", "text", "command", "said"),
    [
        ("slurm.conf", CONF.format(more="SchedulerType=sched/cp_eurora:solver=evil:run\n"), ("check", "{}"), "solver"),
        ("slurm.conf", CONF.format(more="Include /dev/zero\n"), ("check", "{}"), "not a regular file but a device"),
        ("log.swf", "; MaxNodes: 1\n1 0 x\n", ("convert", "{}", "{out}"), "log.swf"),
        ("log.csv", "job_id,submit,run_time\n1,0,\x1b[2J\n", ("convert", "{}", "{out}"), "log.csv"),
    ],
)
def test_configurations_and_logs_are_data(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str,
    text: str, command: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    file = theirs(place / name, text)
    theirs(place / "evil.py", f"open({str(place / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(place)
    found = refused(capsys, *(word.format(file, out=tmp_path / "out.parquet") for word in command))
    assert said in found and "\x1b" not in found and not (place / "ran").exists()


def test_a_folder_with_a_strangers_journal_is_refused(place: Path) -> None:
    """A folder that the other user made, and a journal of that user which the owner has moved to a folder."""
    with slurmsim.cluster(nodes=1, frozen=True, folder=place / "c") as c:
        c.run(["sbatch", "-o", "/dev/null", "--wrap", f"touch {place / 'ran'}"], check=True)
    journal = place / "c" / "journal"
    mine = journal.read_bytes()
    theirs(place / "moved", mine).rename(journal)
    as_another((place / "made").mkdir)
    for folder, named in ((place / "c", journal), (place / "made", place / "made")):
        with pytest.raises(ConfigError, match=rf"{named}: it belongs to .*, not to") as refusal:
            StateFolder.take(folder)
        assert "\n" not in str(refusal.value)
    journal.unlink()
    journal.write_bytes(mine)
    StateFolder.take(place / "c").close()


def with_owner(data: bytes, uid: int) -> bytes:
    """The snapshot, as one that `uid` would have made, with right checksums."""
    crc, lines = 0, []
    for number, line in enumerate(data.splitlines()):
        row = json.loads(line[9:])
        if number == 0:
            row["cluster"]["owner"] = uid
        text = json.dumps(row, separators=(",", ":")).encode()
        crc = zlib.crc32(text, crc)
        lines.append(b"%08x %s\n" % (crc, text))
    return b"".join(lines)


def test_a_strangers_snapshot_is_refused_and_a_forged_one_runs_nothing(place: Path) -> None:
    """A user can write the owner's uid into a file; no script in a copy is run, whatever the file says."""
    with slurmsim.cluster(nodes=1, jobs="run", folder=place / "c") as c:
        c.run(["sbatch", "-H", "-o", "/dev/null", "--wrap", f"touch {place / 'ran'}"], check=True)
        c.snapshot(place / "mine")
    data = (place / "mine").read_bytes()
    with pytest.raises(SlurmSimError, match=f"made by uid {OTHER}") as refusal:
        make(theirs(place / "theirs", with_owner(data, OTHER)), place / "copy")
    assert "\n" not in str(refusal.value)
    made = make(theirs(place / "forged", with_owner(data, os.getuid())), place / "copy")
    with slurmsim.cluster(folder=place / "copy") as copy:
        copy.run(["scontrol", "release", "1"], check=True)
        copy.until_idle()
        assert copy.job(1).state == "COMPLETED"
    assert made is not None and not (place / "ran").exists()


def test_jobs_of_a_strangers_stream_run_nothing(place: Path) -> None:
    """In a cluster that runs scripts, jobs of streams are simulated; their names are texts."""
    text = '[[stream]]\nname = "$(touch ran)"\nuser = "root"\njobs = 2\ngap = 1\nrun = 1\n'
    file = theirs(place / "streams.toml", text)
    with slurmsim.cluster(nodes=1, jobs="run", frozen=True, folder=place / "c", streams=file) as c:
        c.step(60)
        assert [(job.name, job.state) for job in c.jobs()] == [(f"$(touch ran).{k}", "COMPLETED") for k in (0, 1)]
        assert not any((c.folder / "jobs").glob("*")) and not list(place.rglob("ran"))
