"""Streams in a live cluster: the jobs and times of the simulation, whatever happens to the daemon meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from other_release import OTHER, written_by
from processes import daemons, wait_until

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import SlurmSimError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import Client
from slurmsim.sim.sources import load_streams
from slurmsim.sim.submissions import Submissions
from slurmsim.slurmctld.base.simulated import behaviour_of
from slurmsim.slurmctld.base.submit_request import resources
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.journal import read
from slurmsim.slurmctld.server.start import make_engine
from slurmsim.slurmctld.snapshot.image import restore, take
from slurmsim.validate import validate_trace

START = 1_767_600_000  # 2026-01-05T08:00:00Z
CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/{policy}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-6] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
STREAMS = """limit = 6
[[stream]]
name = "hep"
next = "start"
chains = 2
jobs = 40
think = {dist = "expon", scale = 50}
run = {dist = "expon", scale = 400}
nodes = {dist = "poisson", mu = 2, least = 1, most = 4}
request = 2
[[stream]]
name = "cfd"
next = "end"
jobs = 25
run = {dist = "gamma", a = 2, scale = 150}
nodes = 3
[[stream]]
name = "open"
jobs = 60
gap = {dist = "expon", scale = 150}
run = {dist = "gamma", a = 2, scale = 200}
limit = 2
"""
Times = dict[str, tuple[int, int, int]]


def files(folder: Path, policy: str = "easy", streams: str = STREAMS) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    conf, jobs = folder / "slurm.conf", folder / "s.toml"
    conf.write_text(CONF.format(policy=policy), "utf-8")
    jobs.write_text(streams, "utf-8")
    return {"conf": conf, "streams": jobs}


def cluster(folder: Path, policy: str = "easy", streams: str = STREAMS) -> slurmsim.Cluster:
    return slurmsim.cluster(**files(folder, policy, streams), frozen=True, start=START, folder=folder / "c")


def times(c: slurmsim.Cluster) -> Times:
    return {job.name: (job.submit_time - START, job.start_time - START, job.end_time - START) for job in c.jobs()}


def simulated(folder: Path, policy: str = "easy", streams: str = STREAMS, **options: Any) -> Times:
    """The times of `slurmsim run --streams` on the same configuration."""
    given = files(folder, policy, streams)
    trace = slurmsim.run(given["streams"], conf=given["conf"], out=folder / "out", report=False, **options)
    assert validate_trace(folder / "out").failed == []
    jobs = trace.jobs_frame(dates=False)
    return {
        name: (int(submit), int(start), int(end))
        for name, submit, start, end in zip(jobs["name"], jobs["submit"], jobs["start"], jobs["end"], strict=True)
    }


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "bins:file=bins.toml"])
def test_the_same_as_in_simulation(tmp_path: Path, policy: str) -> None:
    """Stepped at random, with clients that look: submissions, starts and ends are those of the simulation."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "bins.toml").write_text("limit = 1\n[[bin]]\nnodes = [3, 6]\nboost_days = 1\n[[bin]]\nnodes = [1, 2]\n")
    expected = simulated(folder, policy)
    assert len(expected) == 125 and sum(start > submit for submit, start, _ in expected.values()) > 30
    rng = random.Random(policy)
    with cluster(folder, policy) as c:
        for _ in range(4):
            c.step(rng.randrange(0, 1600))
            assert c.run(["squeue"]).returncode == 0
        c.until_idle()
        assert times(c) == expected
        users = c.run("sacct -a -n -X -P -o User,State", check=True).stdout.split()
        assert sorted(set(users)) == ["cfd|COMPLETED", "hep|COMPLETED", "open|COMPLETED"]


def test_slurms_own_backfill_decides_as_a_live_cluster(tmp_path: Path) -> None:
    """Its passes come as time goes; the simulation of a live cluster has them at the same seconds."""
    expected = simulated(tmp_path / "a", "backfill", as_live=True)
    with cluster(tmp_path / "a", "backfill") as c:
        c.until_idle()
        found = times(c)
    assert found.keys() == expected.keys()
    away = [abs(a - b) for name in found for a, b in zip(found[name], expected[name], strict=True)]
    assert max(away) == 0


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_restart_changes_nothing(tmp_path: Path, snapshot: bool) -> None:
    expected = simulated(tmp_path / "a")
    with cluster(tmp_path / "a") as c:
        for _ in range(3):
            for _ in range(60 if snapshot else 1):  # so many entries that a stop makes one
                c.step(900 // (60 if snapshot else 1))
            c.stop()
            assert ("snapshot" in read(c.folder / "journal").header) == snapshot
            c.start()
        c.until_idle()
        assert times(c) == expected


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    """The daemon is killed while time runs; no submission is lost, doubled, or at another second."""
    expected = simulated(tmp_path / "a")
    given = files(tmp_path / "a")
    folder = tmp_path / "c"
    made = Settings(conf=str(given["conf"]), streams=str(given["streams"]), mode="running", rate=2000, start=START)
    daemon.start(folder, daemon.prepare(folder, made))
    try:
        for _ in range(2):
            client = Client(str(folder))
            before = client.call("clock", action="show")["now"]
            wait_until(lambda client=client, before=before: client.call("clock", action="show")["now"] > before + 900)
            (pid,) = daemons(folder)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: pid not in daemons(folder))
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            daemon.start(folder, daemon.prepare(folder, made))
        client = Client(str(folder), timeout_s=60)
        client.call("clock", action="until-idle", limit_s=10**6)
        fields = ["name", "submit_time", "start_time", "end_time"]
        found = client.call("every_job", fields=fields, after=-1)["columns"]
    finally:
        daemon.stop(folder)
    rows = list(zip(*(found[name] for name in fields), strict=True))
    assert {name: (a - START, b - START, e - START) for name, a, b, e in rows} == expected
    assert len(rows) == len(expected)
    decided = [one for _, entry in read(folder / "journal").entries if entry[1] == "decided" for one in entry[4]]
    names = [one[4] for one in decided if one[1] == "submit"]
    assert len(names) == len(set(names)) and set(names) <= expected.keys()


def test_users_beside_streams(tmp_path: Path) -> None:
    """Somebody else's jobs get ids of their own, and a stream goes on when its job is cancelled or requeued."""
    text = '[[stream]]\nname = "a"\nnext = "end"\njobs = 4\nrun = 100\nnodes = 6\n'
    with cluster(tmp_path / "a", "easy", text) as c:
        c.step(10)
        told = [c.run(["sbatch", "-N", "6", "-t", "5", "--wrap", "sleep 50"]).stdout for _ in range(2)]
        assert told == ["Submitted batch job 2\n", "Submitted batch job 3\n"]
        c.run(["scancel", "1"], user="a", check=True)
        c.step(1)
        assert [(job.job_id, job.name, job.user) for job in c.jobs() if job.user == "a"] == [
            (1, "a.0", "a"), (4, "a.1", "a")
        ]  # fmt: skip
        c.step(120)
        c.run(["scontrol", "requeue", "4"], user="a", check=True)
        c.until_idle()
        mine = [job for job in c.jobs() if job.user == "a"]
        assert [(job.name, job.state, job.restarts) for job in mine] == [
            ("a.0", "CANCELLED", 0), ("a.1", "COMPLETED", 1), ("a.2", "COMPLETED", 0), ("a.3", "COMPLETED", 0)
        ]  # fmt: skip
        # a requeue renews the time of submission
        assert [after.submit_time - one.end_time for one, after in pairwise(mine[1:])] == [0, 0]


def test_what_a_user_would_have_sent(tmp_path: Path) -> None:
    """The request that is kept with a job asks for what the stream's job asks for."""
    given = files(tmp_path / "a")
    engine = made(tmp_path / "a")
    engine.network.advance(START + 2000)
    streams = load_streams(str(given["streams"]))
    drawn = {
        sub.name: (sub, behaviour)
        for stream in streams.streams for _, sub, behaviour in Submissions(stream.rows(0, 50, 0)).rows()
    }  # fmt: skip
    assert len(engine.jobs) > 5
    for live in engine.jobs.values():
        sub, behaviour = drawn[live.core.name]
        assert resources(live.asked) == sub.request == live.core.sub.request
        assert (live.core.user, live.core.sub.time_limit_s) == (sub.user, sub.time_limit_s)
        assert behaviour_of(engine, live.asked) == behaviour


def made(folder: Path) -> Engine:
    """An engine of the files in `folder`, without a daemon."""
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, streams="s.toml")
    conf = {name: (folder / name).read_text("utf-8") for name in ("slurm.conf", "s.toml")}
    return make_engine({**header, "texts": conf}, folder)


@pytest.mark.parametrize("policy", ["easy", "backfill"])
def test_restored_at_any_second_it_goes_on_alike(tmp_path: Path, policy: str) -> None:
    files(tmp_path / "a", policy)
    whole, rng = made(tmp_path / "a"), random.Random(policy)
    others = list[Engine]()
    now = START
    for _ in range(6):
        now += rng.randrange(0, 700)
        for one in (whole, *others):
            one.network.advance(now)
        others.append(made(tmp_path / "a"))
        restore(others[-1], json.loads(json.dumps(list(take(whole)))))
    for one in (whole, *others):
        one.network.advance(START + 10**5)
    expected = list(take(whole))
    streams = whole.network.streams
    assert streams is not None and [one.submitted for one in streams.sources.sources] == [40, 25, 60]
    assert all(list(take(one)) == expected for one in others)


def test_another_version_follows_what_was_submitted(tmp_path: Path) -> None:
    """After an upgrade recorded starts and ends are made to happen, and streams go on from them."""
    expected = simulated(tmp_path / "a")
    with cluster(tmp_path / "a") as c:
        c.step(3000)
    path = tmp_path / "a" / "c" / "journal"
    found = read(path)
    assert any(one[1] == "submit" for _, entry in found.entries if entry[1] == "decided" for one in entry[4])
    written_by(OTHER, path)
    with cluster(tmp_path / "a") as c:
        assert [entry[1] for _, entry in read(path).entries].count("writer") == 1  # ours goes on
        c.until_idle()
        assert times(c) == expected


def test_a_fast_clock_goes_on_as_long_as_streams_do(tmp_path: Path) -> None:
    """It stops when the last job is over; with a stream that never ends it goes on, and requests are answered."""
    expected = simulated(tmp_path / "a")
    given: dict[str, Any] = {"fast": True, "start": START}
    with slurmsim.cluster(**files(tmp_path / "a"), **given) as c:
        wait_until(lambda: len(jobs := c.jobs()) == len(expected) and all(job.end_time for job in jobs))
        assert times(c) == expected
        before = c.now
        assert c.now - before < 600  # it stands still, or nearly
    endless = '[[stream]]\nname = "a"\nnext = "end"\nrun = 50\nthink = 10\n'
    with slurmsim.cluster(**files(tmp_path / "b", streams=endless), **given) as c:
        wait_until(lambda: c.now > START + 50_000)
        c.freeze()
        jobs = c.jobs()
        assert len(jobs) == (c.now - START) // 60 + 1 and jobs[5].submit_time == START + 300


def test_a_loop_within_a_second_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Jobs nobody takes, the next at once: after 10,000 in a second the stream ends with one line; others go on."""
    text = '[[stream]]\nname = "a"\nnext = "end"\nrun = 10\npartition = "nowhere"\n'
    with cluster(tmp_path / "a", "easy", text + BESIDE) as c:
        c.step(1000)
        assert [job.name for job in c.jobs()] == ["b.0", "b.1"]
        c.until_idle()
    said = [line for line in capfd.readouterr().err.splitlines() if "stream a" in line]
    assert said == [
        f"slurmsim: warning: stream a: more than 10000 jobs in second {START}: it would go on for ever (expected "
        "time between its jobs); the stream has ended"
    ]


BESIDE = '[[stream]]\nname = "b"\njobs = 2\ngap = 300\nrun = 10\n'


def test_a_job_no_cluster_can_run_ends_its_stream(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = '[[stream]]\nname = "a"\njobs = 5\ngap = 10\nrun = 10\nnodes = 7\n'
    with cluster(tmp_path / "a", "easy", text + BESIDE) as c:
        c.until_idle()
        assert [job.name for job in c.jobs()] == ["b.0", "b.1"]
    said = [line for line in capfd.readouterr().err.splitlines() if "stream a" in line]
    assert said == ["slurmsim: warning: stream a: job 0 asks for 7 nodes, the cluster has 6 (expected nodes with "
                    "most = 6); the stream has ended"]  # fmt: skip


def test_the_file_is_kept_with_the_cluster(tmp_path: Path) -> None:
    """It is copied and carried like slurm.conf: comments may change, what it says may not."""
    expected = simulated(tmp_path / "a")
    with cluster(tmp_path / "a") as c:
        (tmp_path / "a" / "s.toml").unlink()
        own = c.folder / "streams.toml"
        c.step(1000)
        c.stop()
        own.write_text("# who submits\n" + STREAMS, "utf-8")
        c.start()
        own.write_text(STREAMS.replace("scale = 50", "scale = 51"), "utf-8")
        told = c.run(["scontrol", "reconfigure"])
        assert told.returncode != 0 and "cannot change: streams of jobs; put the files back" in told.stderr
        c.stop()
        with pytest.raises(SlurmSimError, match="streams of jobs; put the files back"):
            c.start()
        own.write_text((c.folder / "conf.running" / "streams.toml").read_text("utf-8"), "utf-8")
        c.start()
        c.until_idle()
        assert times(c) == expected


def test_status_and_bad_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SlurmSimError) as refused:
        cluster(tmp_path / "bad", "easy", "[[stream]]\nrun = 5\n").__enter__()
    assert "streams.toml: stream 1.gap: missing (expected seconds, or next" in str(refused.value)
    state = ["--state", str(tmp_path / "other")]
    assert main(["up", *state, "--frozen", "--streams", str(tmp_path / "none")]) != 0
    assert "none: no such file (expected streams of jobs in TOML)" in capfd.readouterr().err
    with cluster(tmp_path / "a") as c:
        c.step(1000)
        assert main(["status", "--state", str(c.folder)]) == 0
        (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("streams")]
        found = c.client.call("status")["streams"]
        hep = found[0]
        assert line.startswith(f"streams  hep: {hep['submitted']} submitted")
        assert [one["name"] for one in found] == ["hep", "cfd", "open"] and hep["submitted"] > 5
    with slurmsim.cluster(frozen=True, folder=tmp_path / "other"):
        pass
    assert main(["up", *state, "--streams", str(tmp_path / "a" / "s.toml")]) != 0
    assert "--streams: the cluster in" in capfd.readouterr().err
