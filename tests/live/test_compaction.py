"""The journal is made short, by a running daemon and by a stop, and nothing is lost, whenever the daemon dies."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim.errors import OutputError, SlurmSimError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import Client
from slurmsim.slurmctld.history.compaction import BYTES_VARIABLE
from slurmsim.slurmctld.history.journal import read
from slurmsim.slurmctld.history.salvage import salvage

START = "2026-01-05T08:00:00Z"
CONF = """\
ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=30
KillWait=30
MinJobAge=120
JobCompType=jobcomp/filetxt
JobCompLoc=/var/log/done.txt
NodeName=n[1-2] CPUs=4 Weight=1
NodeName=n[3-4] CPUs=4 Weight=5
PartitionName=p Nodes=ALL Default=YES MaxTime=60
PartitionName=q Nodes=ALL MaxTime=INFINITE
"""
SACCT = ["sacct", "-a", "-X", "-D", "-P", "-S", "2026-01-01", "-E", "2026-12-01",
         "-o", "JobID,State,ExitCode,Submit,Start,End,NodeList"]  # fmt: skip


def cluster(folder: Path) -> slurmsim.Cluster:
    conf = folder.parent / "slurm.conf"
    if not conf.exists():
        conf.write_text(CONF)
    return slurmsim.cluster(conf=conf, frozen=True, start=START, folder=folder)


def load(c: slurmsim.Cluster, n: int = 60) -> None:
    """Jobs enough for a stop to make a snapshot; most are over and forgotten, some run, some wait."""
    for k in range(n):
        job = {"name": f"j{k}", "script": f"#!/bin/sh\nsleep {20 + k % 7 * 40}\n", "work_dir": "/", "time_limit": 10,
               "min_cpus": 1 + k % 5, "environment": {"A": "b"}}  # fmt: skip
        c.client.call("submit", job=job)
        if k % 10 == 0:
            c.step(30)


def shown(c: slurmsim.Cluster) -> tuple[str, str]:
    return (c.run(["squeue", "-a", "-t", "all", "-o", "%i %T %r %N %S %Q"], check=True).stdout,
            c.run(SACCT, check=True).stdout)  # fmt: skip


def snapshots(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("snapshot-*"))


def test_a_stop_leaves_a_snapshot_and_a_short_journal(tmp_path: Path) -> None:
    with cluster(tmp_path / "c") as c:
        load(c)
        c.step(300)
        load(c, 12)
        before = shown(c)
        log = (c.folder / "var/log/done.txt").read_text()
        c.stop()
        found = read(c.folder / "journal")
        assert found.header["snapshot"]["file"] == f"snapshot-{found.header['after']}"
        assert snapshots(c.folder) == [found.header["snapshot"]["file"]]
        assert not found.entries
        c.start()
        assert shown(c) == before
        assert (c.folder / "var/log/done.txt").read_text() == log
        c.step(600)
        load(c, 3)
        later = shown(c)
        c.stop()
        assert len(read(c.folder / "journal").entries) > 3  # too few for another snapshot: they are carried out again
        c.start()
        assert shown(c) == later


def test_ids_go_on_behind_a_snapshot(tmp_path: Path) -> None:
    with cluster(tmp_path / "c") as c:
        load(c)
        c.stop()
        c.start()
        assert c.client.call("submit", job={"script": "#!/bin/sh\n", "work_dir": "/"})["job_id"] == 61


@pytest.mark.parametrize("damage", ["gone", "cut", "another's"])
def test_a_snapshot_that_cannot_be_used_is_said(tmp_path: Path, damage: str) -> None:
    with cluster(tmp_path / "c") as c:
        load(c)
        c.stop()
        path = c.folder / snapshots(c.folder)[0]
        good = path.read_bytes()
        if damage == "gone":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(good[:-50])
        else:
            with cluster(tmp_path / "d") as other:
                load(other)
                other.stop()
                path.write_bytes((other.folder / snapshots(other.folder)[0]).read_bytes())
        with pytest.raises(SlurmSimError, match=path.name):
            c.start()
        path.write_bytes(good)
        c.start()
        assert len(c.jobs()) == 60


def test_salvage_goes_on_from_the_snapshot(tmp_path: Path) -> None:
    """What the journal stands on is not damaged with it."""
    with cluster(tmp_path / "c") as c:
        load(c)
        c.stop()
        c.start()
        load(c, 3)
        c.stop()
        path = c.folder / "journal"
        good = path.read_bytes()
        last = good.rindex(b"submit")
        path.write_bytes(good[:last] + b"SUBMIT" + good[last + 6 :])
        with pytest.raises(SlurmSimError, match="up --salvage"):
            c.start()
        assert "are lost; the damaged journal is journal.damaged-1" in salvage(c.folder)
        assert snapshots(c.folder) == [read(path).header["snapshot"]["file"]]
        c.start()
        assert [job.job_id for job in c.jobs()] == list(range(1, 63))
        assert c.client.call("submit", job={"script": "#!/bin/sh\n", "work_dir": "/"})["job_id"] == 64
        c.stop()
        c.start()
        assert len(c.jobs()) == 63


def test_a_snapshot_nobody_stands_on_is_removed(tmp_path: Path) -> None:
    with cluster(tmp_path / "c") as c:
        load(c, 3)
        c.stop()
        (c.folder / "snapshot-99").write_text("half")
        (c.folder / "snapshot-7.part").write_text("half")
        c.start()
        assert not snapshots(c.folder)


# -- while the daemon runs --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A daemon in a process of its own that makes a snapshot of every 20,000 bytes."""
    monkeypatch.setenv(BYTES_VARIABLE, "20000")
    (tmp_path / "slurm.conf").write_text(CONF)
    found = tmp_path / "c"
    daemon.start(found, daemon.prepare(found, Settings(conf=str(tmp_path / "slurm.conf"), mode="frozen", start=START)))
    yield found
    with contextlib.suppress(OutputError):
        daemon.stop(found)


def submit(folder: Path, n: int) -> list[int]:
    client = Client(str(folder))
    job = {"name": "j", "script": "#!/bin/sh\nsleep 100\n", "work_dir": "/", "environment": {"A": "b" * 200}}
    return [int(client.call("submit", job=job)["job_id"]) for _ in range(n)]


def until(condition: Any, seconds: float = 60) -> None:
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.02)


def pid_of(folder: Path) -> int:
    return int(daemon.call(folder, "status")["pid"])


def test_a_running_daemon_makes_its_journal_short(folder: Path) -> None:
    given = submit(folder, 120)
    until(lambda: len(snapshots(folder)) == 1 and json.dumps(read(folder / "journal").header["after"]) != "0")
    daemon.call(folder, "clock", action="step", seconds=1000)
    given += submit(folder, 100)
    until(lambda: (folder / "journal").stat().st_size < 400_000)
    os.kill(pid_of(folder), signal.SIGKILL)
    until(lambda: not daemon.is_alive(folder))
    daemon.start(folder, daemon.prepare(folder, Settings()))
    assert read(folder / "journal").header["after"] > 0
    assert submit(folder, 1)[0] not in given
    rows = daemon.call(folder, "every_job", fields=["job_id"], after=-1, most=2000)
    assert sorted(rows["columns"]["job_id"])[: len(given)] == given == list(range(1, 221))
    assert "Traceback" not in (folder / "log").read_text()


def test_kills_at_any_moment_lose_nothing(folder: Path) -> None:
    """Most of the time a snapshot is being made, or takes its place."""
    given: list[int] = []
    for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
        given += submit(folder, 60)
        time.sleep(pause)
        os.kill(pid_of(folder), signal.SIGKILL)
        until(lambda: not daemon.is_alive(folder))
        daemon.start(folder, daemon.prepare(folder, Settings()))
    rows = daemon.call(folder, "every_job", fields=["job_id"], after=-1, most=2000)
    assert sorted(rows["columns"]["job_id"]) == given == list(range(1, 301))
    until(lambda: not [name for name in snapshots(folder) if name.endswith(".part")])


def entries_size(folder: Path) -> int:
    """Bytes of the journal's entries."""
    data = (folder / "journal").read_bytes().rstrip(b"\0")
    return len(data) - data.index(b"\n") - 1


def test_a_cluster_in_this_process_makes_its_journal_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its daemon is a thread, and this process may be killed as well."""
    monkeypatch.setenv(BYTES_VARIABLE, "20000")
    with cluster(tmp_path / "c") as c:
        for _ in range(4):
            load(c, 40)
            assert entries_size(c.folder) <= 40_000
        assert len(snapshots(c.folder)) == 1
        before = shown(c)
        c.stop()
        c.start()
        assert shown(c) == before


def test_a_snapshot_that_takes_long_is_waited_for(folder: Path) -> None:
    """Requests come faster than it is written: they wait before the journal has twice its bytes."""
    child = stopped_child(folder)
    client = Client(str(folder))
    job = {"name": "j", "script": "#!/bin/sh\nsleep 100\n", "work_dir": "/", "environment": {"A": "b" * 200}}
    threading.Timer(1.0, os.kill, (child, signal.SIGCONT)).start()
    began, n = time.monotonic(), 0
    while time.monotonic() - began < 1.0:
        client.call("submit", job=job)
        n += 1
        assert entries_size(folder) <= 40_000
    assert 5 <= n < 100


def stopped_child(folder: Path) -> int:
    """A process that makes a snapshot, held up in its work; jobs are submitted until there is one."""
    pid = pid_of(folder)
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for _ in range(5000):
        submit(folder, 1)
        for child in children.read_text().split():
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(child), signal.SIGSTOP)
                until(lambda child=child: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] in "TZ")
                if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                    return int(child)
    raise AssertionError("no snapshot was begun")


def test_reconfigure_while_a_snapshot_is_made(folder: Path) -> None:
    """The snapshot has the configuration of before, and the journal behind it tells of the change."""
    child = stopped_child(folder)
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text().replace("KillWait=30", "KillWait=77").replace("MaxTime=60", "MaxTime=50"))
    daemon.call(folder, "reconfigure")
    last = submit(folder, 3)[-1]
    os.kill(child, signal.SIGCONT)
    until(lambda: read(folder / "journal").header["after"] > 0)
    os.kill(pid_of(folder), signal.SIGKILL)
    until(lambda: not daemon.is_alive(folder))
    daemon.start(folder, daemon.prepare(folder, Settings()))
    found = daemon.call(folder, "partitions", fields=["name", "max_time"])["columns"]
    assert found["max_time"][found["name"].index("p")] == 50
    rows = daemon.call(folder, "every_job", fields=["job_id"], after=-1, most=9000)
    assert sorted(rows["columns"]["job_id"]) == list(range(1, last + 1))
    assert "Traceback" not in (folder / "log").read_text()


def test_bytes_that_are_no_number_end_a_start_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BYTES_VARIABLE, "many")
    prepared = daemon.prepare(tmp_path / "c", Settings(mode="frozen"))
    with pytest.raises(OutputError, match=f"did not start: .*{BYTES_VARIABLE}.*'many' is no number of bytes"):
        daemon.start(tmp_path / "c", prepared)
    assert "Traceback" not in (tmp_path / "c" / "log").read_text()


def test_who_starts_a_cluster_hears_what_it_has_lost(folder: Path) -> None:
    until(lambda: bool(submit(folder, 20)) and read(folder / "journal").header["after"] > 0)
    daemon.call(folder, "clock", action="step", seconds=100_000)
    daemon.stop(folder)
    stored = next(path for path in folder.iterdir() if path.suffix in (".db", ".sqlite"))
    stored.write_bytes(b"no data base")
    warnings = daemon.start(folder, daemon.prepare(folder, Settings()))
    assert len(warnings) >= 1
    assert stored.name in warnings[0]
    assert "put aside" in warnings[0]


# -- another configuration --------------------------------------------------------------------------------------------


def edit(c: slurmsim.Cluster, *changes: tuple[str, str]) -> None:
    conf = c.folder / "slurm.conf"
    text = conf.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    conf.write_text(text)


def test_a_changed_conf_holds_from_now_on(tmp_path: Path) -> None:
    with cluster(tmp_path / "c") as c:
        load(c, 8)
        c.step(40)
        done = c.run(SACCT, check=True).stdout.splitlines()
        c.stop()
        edit(c, ("MaxTime=60", "MaxTime=5"), ("Weight=1", "Weight=9"), ("bf_interval=30", "bf_interval=60"),
             ("PartitionName=q Nodes=ALL MaxTime=INFINITE", "PartitionName=r Nodes=n4"))  # fmt: skip
        c.start()
        for line in done:
            if "|COMPLETED|" in line or "|RUNNING|" in line:
                job, state = line.split("|")[:2]
                assert f"{job}|{state}|" in c.run(SACCT, check=True).stdout
        shown = c.run(["sinfo", "-h", "-o", "%P %l %N"], check=True).stdout
        assert "p* 5:00" in shown
        assert "r infinite n4" in shown
        assert "q" not in shown
        assert "Weight=9" in c.run(["scontrol", "show", "node", "n1"], check=True).stdout
        c.until_idle()
        long = c.client.call("submit", job={"script": "#!/bin/sh\n", "work_dir": "/", "time_limit": 6})["job_id"]
        c.step(60)
        assert (c.job(long).state, c.job(long).reason) == ("PENDING", "PartitionTimeLimit")
        late = c.client.call("submit", job={"script": "#!/bin/sh\nsleep 5\n", "work_dir": "/", "time_limit": 4})[
            "job_id"
        ]
        c.step(60)
        assert c.job(late).nodes == ["n3"]  # the light ones are heavy now
        before = c.run(SACCT, check=True).stdout
        c.stop()
        c.start()
        assert c.run(SACCT, check=True).stdout == before


def test_reconfigure_of_a_running_cluster(tmp_path: Path) -> None:
    with cluster(tmp_path / "c") as c:
        load(c, 12)
        before = c.run(["squeue", "-o", "%i %T %N"], check=True).stdout
        edit(c, ("KillWait=30", "KillWait=77"), ("MaxTime=60", "MaxTime=50"))
        assert c.run(["scontrol", "reconfigure"]).returncode == 0
        assert c.run(["squeue", "-o", "%i %T %N"], check=True).stdout == before
        assert "KillWait                = 77 sec" in c.run(["scontrol", "show", "config"], check=True).stdout
        edit(c, ("PartitionName=p Nodes=ALL Default=YES", "PartitionName=pp Nodes=ALL Default=YES"))
        refused = c.run(["scontrol", "reconfigure"])
        assert refused.returncode == 1
        assert "partition p is gone and has jobs" in refused.stderr
        edit(c, ("PartitionName=pp", "PartitionName=p"))
        c.until_idle()
        assert {job.state for job in c.jobs()} == {"COMPLETED"}
