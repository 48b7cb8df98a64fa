"""``slurmsim why`` of a live cluster: the figures behind each reason, and that what it offers holds."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from test_one_object import DUMP

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError, OutputError, SlurmSimError
from slurmsim.live.cluster import Cluster
from slurmsim.live.waiting.explain import explain
from slurmsim.live.waiting.text import as_text
from slurmsim.why import explain as explain_trace

MORNING = "2026-01-05T08:00:00Z"
CONF = """\
ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
Licenses=matlab:3
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
AccountingStorageTRES=gres/gpu
NodeName=n[1-4] CPUs=8 Gres=gpu:4
PartitionName=p Nodes=ALL Default=YES MaxTime=1-00:00:00
PartitionName=q Nodes=n4 MaxTime=30
"""


def frozen(**more: Any) -> Cluster:
    return slurmsim.cluster(**{"nodes": 4, "frozen": True, "start": MORNING, **more})


def submit(c: Cluster, *words: str, user: str | None = None) -> int:
    """A job that never ends by itself before its limit."""
    return int(c.run(["sbatch", "--parsable", *words, "--wrap", "sleep inf"], check=True, user=user).stdout)


def fact(told: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [one for one in told["facts"] if one["kind"] == kind]
    return found


@pytest.fixture
def limited(tmp_path: Path) -> Cluster:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "acct.toml").write_text("")
    return slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, start=MORNING, users={"alice": 2001})


def test_nodes_are_in_use_and_a_shorter_job_fits_before_the_next() -> None:
    with frozen() as c:
        submit(c, "-N3", "--exclusive", "-t", "60")
        c.step(60)
        submit(c, "-N4", "--exclusive", "-t", "30")
        c.step(60)
        third = submit(c, "-N1", "--exclusive", "-t", "120")
        c.step(60)
        first, told = c.why(2), c.why(third)
        assert (first.reason, told.reason, told.ahead, told.ahead_n) == ("Resources", "Priority", ["2"], 1)
        assert first.planned_start == c.job(1).start_time + 3600
        nodes = fact(told, "nodes")
        assert [nodes[name] for name in ("asked_nodes", "up", "of", "idle", "free_cpus", "cpus")] == [1, 4, 4, 1, 8, 32]
        assert nodes["first_ends"] == [{"job": "1", "ends": c.job(1).start_time + 3600, "nodes": 3}]
        (offer,) = told.offers
        minutes = (first.planned_start - c.now) // 60
        assert offer["option"] in (f"--time=00:{minutes}:00", f"--time=00:{minutes - 1}:00")
        # it holds: here, not only in a copy
        before = [dict(job) for job in c.jobs()]
        c.run(f"scancel {third}", check=True)
        now, again = c.now, submit(c, "-N1", "--exclusive", offer["option"])
        c.step(65)
        assert c.job(again).start_time == now + offer["after_s"]
        assert [dict(job) for job in c.jobs()][:2] == before[:2]
        text = as_text(told)
        assert "1 idle, 8 of 32 CPUs free" in text and "Before it: job 2." in text and offer["option"] in text


def test_fewer_nodes_would_do() -> None:
    with frozen() as c:
        submit(c, "-N2", "--exclusive", "-t", "60")
        c.step(60)
        submit(c, "-N4", "--exclusive", "-t", "60")
        c.step(60)
        assert {offer["option"] for offer in c.why(2).offers} == {"--nodes=2"}


def test_a_limit_with_its_number_and_who_is_in_it(limited: Cluster) -> None:
    with limited as c:
        c.run("sacctmgr -i add account bio grptres=gres/gpu=6; sacctmgr -i add user alice account=bio", check=True)
        for _ in range(2):
            submit(c, "--gres=gpu:3", "-t", "60", user="alice")
            c.step(60)
        job = submit(c, "--gres=gpu:2", "-t", "60", user="alice")
        c.step(60)
        told = c.why(job)
        limit = fact(told, "limit")
        assert (told.reason, limit["limit"], limit["used"], limit["asked"]) == ("AssocGrpGRES", 6, 6, 2)
        assert (limit["by"], limit["whose"]) == (["1", "2"], "account bio")
        assert "6 of 6 gres/gpu of account bio in use by jobs 1, 2, and it asks for 2" in as_text(told)
        assert told.offers == []


def test_other_reasons_have_their_figures(limited: Cluster) -> None:
    with limited as c:
        c.run("sacctmgr -i add account bio; sacctmgr -i add user root account=bio", check=True)
        submit(c, "-A", "bio", "-L", "matlab:2", "-t", "60")
        c.step(60)
        license_, depends, later, held = (
            submit(c, "-A", "bio", *words, "-t", "60")
            for words in (("-L", "matlab:2"), ("-d", "afterok:1"), ("-b", "now+1hour"), ("-H",))
        )
        array = submit(c, "-A", "bio", "-a", "0-3%1", "-t", "60")
        c.step(60)
        found = fact(c.why(license_), "license")
        assert found == {"kind": "license", "name": "matlab", "asked": 2, "used": 2, "of": 3, "by": ["1"], "by_n": 1}
        assert fact(c.why(depends), "dependency")["text"] == "afterok:1(unfulfilled)"
        assert fact(c.why(later), "begin")["at"] == c.job(later).submit_time + 3600
        assert (c.why(held).reason, c.why(held).facts, c.why(held).offers) == ("JobHeldUser", [], [])
        assert fact(c.why(f"{array}_2"), "array") == {"kind": "array", "limit": 1, "running": 1}
        for job in (license_, depends, later, held, array):
            assert as_text(c.why(job, offers=False))


def test_who_runs_or_is_unknown() -> None:
    with frozen() as c:
        submit(c, "-t", "60")
        c.step(60)
        assert as_text(c.why(1)).splitlines()[1].startswith("RUNNING since ")
        with pytest.raises(ConfigError, match="no such job: '7'"):
            c.why(7)


def test_it_starts_by_itself() -> None:
    with frozen() as c:
        submit(c, "-t", "60")
        told = c.why(1)
        assert told.starts_by_itself and not told.offers


def test_nothing_is_written_and_a_stopped_cluster_tells_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "calls"}

    folder = tmp_path / "c"
    with frozen(folder=folder) as c:
        submit(c, "-N4", "--exclusive", "-t", "60")
        for _ in range(60):
            c.step(1)
        submit(c, "-N4", "--exclusive", "-t", "60")
        c.step(60)
        c.stop()
        assert list(folder.glob("snapshot-*"))
        c.start()
        before = contents()
        running = c.why(2)
        assert contents() == before
    assert main(["why", str(folder), "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [running]
    shutil.copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "journal").write_text("x")
    with pytest.raises(OutputError, match="journal"):
        explain(tmp_path / "damaged", "2")


def test_from_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with frozen() as c:
        submit(c, "-N4", "--exclusive", "-t", "60")
        submit(c, "-N4", "--exclusive", "-t", "60")
        c.step(60)
        assert main(["why", "2"]) == 0
        assert capsys.readouterr().out == as_text(c.why(2)) + "\n"
        assert main(["why", "1", "2"]) == 0
        assert main(["why", "9"]) == 2
        assert capsys.readouterr().err.startswith("slurmsim: error: job: no such job: '9'")
    monkeypatch.setenv("SLURMSIM_CLUSTER_DIR", "/nowhere")
    assert main(["why", "1"]) == 1
    assert "no cluster is there" in capsys.readouterr().err


WAITS = int(os.environ.get("SLURMSIM_WAITS", "5"))
"""How many waits are asked about; nightly 1,000."""


def test_it_says_what_the_trace_of_the_same_session_says(tmp_path: Path) -> None:
    """The reasons of jobs that waited, asked for while they did and read from a run of the same session afterwards."""
    reasons: list[str] = []
    for session in itertools.count(11):
        reasons += _asked_while_it_waited(tmp_path / str(session), session, 10 if WAITS < 100 else 40)
        if len(reasons) >= WAITS:
            break
    print(f"{len(reasons)} waits, {len(set(reasons))} reasons: the same")
    assert len(set(reasons)) > 1


def _asked_while_it_waited(folder: Path, seed: int, jobs: int) -> list[str]:
    """The reasons given to one waiting job after each of `jobs` random submissions; they are those of the trace."""
    folder.mkdir()
    rng, asked = random.Random(seed), []
    with frozen(cpus_per_node=4) as c:
        for _ in range(jobs):
            minutes = rng.randrange(5, 120)
            words = ["-N1-4", "-n", str(rng.randrange(1, 10)), "-t", str(minutes)]  # sacct tells no -N from -N1
            c.run(["sbatch", *words, "--wrap", f"sleep {rng.randrange(1, minutes * 60)}"], check=True)
            c.step(rng.randrange(0, 300))
            waiting = [job.job_id for job in c.jobs() if job.state == "PENDING"]
            if waiting:
                job = rng.choice(waiting)
                asked.append((job, c.now, c.why(job, offers=False).reason))
        c.until_idle()
        (folder / "session.txt").write_text(c.run(DUMP, check=True).stdout)
        shutil.copy(c.folder / "slurm.conf", folder / "slurm.conf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = slurmsim.run(
            str(folder / "session.txt"), conf=str(folder / "slurm.conf"), out=str(folder / "out"), as_live=True,
            report=False,
        )  # fmt: skip
    epoch = int(trace.manifest["workload"]["epoch"] or 0)
    told = {job: explain_trace(trace, job).spans for job, _, _ in asked}
    found = [(job, at, next(s.reason for s in told[job] if s.begin <= at - epoch < s.end)) for job, at, _ in asked]
    assert found == asked
    return [reason for _, _, reason in asked]


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        ("easy", "The job at the head of its queue is planned in 00:59:00: a job that starts before it has to end by"),
        ("conservative", "Every waiting job keeps a planned start"),
        ("cpu_hours:limit=20", "ann holds 23.6 CPU-hours with running jobs, and it asks for 16.0 (limit 20.0): its "
         "turn is in the second round"),
        ("titan:limit=1", "It belongs to the bin of 1-125 nodes. ann has 1 of 1 jobs in the queue; it waits in the "
         "buffer, where it does not age."),
    ],
)  # fmt: skip
def test_a_policy_says_what_only_it_knows(tmp_path: Path, scheduler: str, said: str) -> None:
    (tmp_path / "slurm.conf").write_text(_under(scheduler))
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, start=MORNING, users={"ann": 2001}) as c:
        submit(c, "-N3", "--exclusive", "-t", "60", user="ann")
        c.step(60)
        submit(c, "-N4", "--exclusive", "-t", "30", user="ann")
        third = submit(c, "-N1", "--exclusive", "-t", "120", user="ann")
        told = c.why(third, offers=False)
        assert told.policy.startswith(said) and f"Its scheduler says: {said}" in as_text(told)


def _under(scheduler: str) -> str:
    text = CONF.replace("AccountingStorageEnforce=limits\n", "")
    return text.replace("SelectType=select", f"SchedulerType=sched/{scheduler}\nSelectType=select", 1)


def test_a_policy_that_breaks_over_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slurmsim.policy import load_policy

    monkeypatch.setattr(load_policy("fcfs"), "explain", lambda *_: 1 // 0, raising=False)
    (tmp_path / "slurm.conf").write_text(_under("fcfs"))
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, start=MORNING) as c:
        submit(c, "-N4", "--exclusive", "-t", "60")
        waiting = submit(c, "-N4", "--exclusive", "-t", "60")
        with pytest.raises(SlurmSimError, match=r"ZeroDivisionError.*test_why_live.py"):
            c.why(waiting, offers=False)
