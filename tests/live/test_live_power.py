"""Malleable jobs under caps in a live cluster: the simulation's starts, sizes and ends, whatever the daemon does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from other_release import OTHER, written_by

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.journal import read
from slurmsim.slurmctld.server.start import make_engine
from slurmsim.slurmctld.snapshot.image import restore, take
from slurmsim.validate import validate_trace

START = 1_767_600_000  # 2026-01-05T08:00:00Z
CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/{policy}
SelectType={select}
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-20] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
APPS = ("LeanMD:parallelism=24:sigma=0.2", "Wave2D:parallelism=9:sigma=0", "AMR:parallelism=6:sigma=0.5:points=90")
Row = dict[str, Any]
Times = dict[int, tuple[int, int, int]]


def rows(seed: int, count: int = 14) -> list[Row]:
    """Jobs of a workload: rigid, moldable and malleable ones."""
    rng, at = random.Random(seed), 0
    found = []
    for k in range(1, count + 1):
        least = rng.randint(1, 5)
        run, app = rng.randint(200, 3000), rng.choice((*APPS, ""))
        row = {"job_id": k, "submit": at, "run_time": run, "time_limit": -(-run // 60) * 60 + 60, "nodes": least}
        sizes = (least, least * rng.randint(1, 4), rng.randint(0, 1)) if app else ("", "", "")
        row |= dict(zip(("min_nodes", "max_nodes", "malleable"), sizes, strict=True))
        found.append({**row, "app": app})
        at += rng.randrange(0, 500)
    return found


def conf(folder: Path, policy: str, select: str = "select/linear") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "slurm.conf").write_text(CONF.format(policy=policy, select=select), "utf-8")
    return folder / "slurm.conf"


def simulated(folder: Path, policy: str, jobs: list[Row], **options: str) -> slurmsim.Trace:
    """The trace of `slurmsim run` on the same jobs and configuration."""
    text = "\n".join([",".join(jobs[0]), *(",".join(map(str, row.values())) for row in jobs)])
    (folder / "jobs.csv").write_text(text + "\n", "utf-8")
    trace = slurmsim.run(folder / "jobs.csv", conf=conf(folder, policy), out=folder / "out", report=False, **options)
    assert validate_trace(folder / "out").failed == []
    return trace


def request(row: Row) -> dict[str, Any]:
    """What sbatch sends for it."""
    words = [f"runtime={row['run_time']}"]
    if row["app"]:
        words += [f"app={row['app']}", f"malleable={'yes' if row['malleable'] else 'no'}"]
    script = f"#!/bin/sh\n#SLURMSIM {' '.join(words)}\n"
    nodes = {"min_nodes": row["nodes"], "max_nodes": row["max_nodes"] or row["nodes"]}
    return {"name": f"j{row['job_id']}", "script": script, "work_dir": "/", **nodes,
            "time_limit": row["time_limit"] // 60}  # fmt: skip


def submit(c: slurmsim.Cluster, row: Row) -> None:
    c.client.call("submit", job=request(row))


def live(c: slurmsim.Cluster, jobs: list[Row], stops: tuple[int, ...] = ()) -> Times:
    """The same jobs, submitted at the same seconds; after those of `stops` the daemon is stopped and started."""
    for row in jobs:
        c.step(row["submit"] - (c.now - START))
        submit(c, row)
        if row["job_id"] in stops:
            c.stop()
            c.start()
    c.until_idle()
    return times(c)


def times(c: slurmsim.Cluster) -> Times:
    return {job.job_id: (job.start_time - START, job.end_time - START, job.num_nodes) for job in c.jobs()}


def expected_of(trace: slurmsim.Trace) -> Times:
    frame = trace.jobs_frame(dates=False)
    last = {int(k): int(n) for k, n in zip(frame["job_id"], frame["nodes"], strict=True)}
    return {
        int(k): (int(start), int(end), last[int(k)])
        for k, start, end in zip(frame["job_id"], frame["start"], frame["end"], strict=True)
    }


@pytest.mark.parametrize(
    ("policy", "stops"),
    [
        ("equipartition", ()),
        ("equipartition:every=300", (2, 3, 5, 8, 9, 13)),
        ("malleable:mode=pref,every=300", (4,)),
        ("parm:budget_w=1500", ()),
        ("parm:version=nose,budget_w=1200", ()),
    ],
)
def test_the_same_as_in_simulation(tmp_path: Path, policy: str, stops: tuple[int, ...]) -> None:
    """Starts, ends and last sizes, and the joules of each job in all its rows of sacct; a restart changes nothing."""
    jobs = rows(3)
    trace = simulated(tmp_path, policy, jobs)
    expected = expected_of(trace)
    (phases,) = trace.ints("phases", "job_id")
    assert len(phases) > len(jobs) + 3 or "nose" in policy  # some changed their shape
    given: dict[str, Any] = {"conf": conf(tmp_path, policy), "frozen": True, "start": START}
    with slurmsim.cluster(**given, folder=tmp_path / "c") as c:
        assert live(c, jobs, stops) == expected
        told = c.run("sacct -a -n -X -D -P -o JobID,ConsumedEnergyRaw,AllocTRES", check=True).stdout.split()
    spent = dict.fromkeys(expected, 0)
    for line in told:
        job, joules, tres = line.split("|")
        assert f"energy={joules}" in tres
        spent[int(job)] += int(joules)
    frame = trace.jobs_frame(dates=False)
    assert spent == {int(k): int(j) for k, j in zip(frame["job_id"], frame["energy_j"], strict=True)}


@pytest.mark.parametrize("policy", ["easy", "conservative", "equipartition"])
@pytest.mark.parametrize(
    "power",
    [{"power_budget": "1400", "idle_w": "12"}, {"power_cap": "36", "base_w": "50"}, {"full_w": "80", "limit": "keep"}],
    ids=["budget", "cap", "keep"],
)
def test_options_of_power(tmp_path: Path, policy: str, power: dict[str, str]) -> None:
    """The same under a budget, a cap and other watts as `slurmsim run` has them; `easy` chooses no sizes."""
    jobs = rows(6)
    for row in jobs:
        row["app"] = row["app"] or ("" if "power_cap" not in power else APPS[0])
        if row["app"] and policy != "equipartition":
            row |= {"min_nodes": row["nodes"], "max_nodes": row["nodes"], "malleable": 0}
        elif row["app"] and not row["max_nodes"]:
            row |= {"min_nodes": row["nodes"], "max_nodes": 3 * row["nodes"], "malleable": 1}
    expected = expected_of(simulated(tmp_path, policy, jobs, **power))
    given: dict[str, Any] = {"conf": conf(tmp_path, policy), "frozen": True, "start": START, "power": power}
    with slurmsim.cluster(**given, folder=tmp_path / "c") as c:
        assert live(c, jobs, (4,)) == expected


@pytest.mark.parametrize("policy", ["equipartition", "parm", "fcfs"])
def test_a_budget_that_falls(tmp_path: Path, policy: str) -> None:
    """Caps, sizes and suspensions when it falls are the simulation's, across a restart; the file is the cluster's."""
    jobs = rows(6)
    if policy == "fcfs":
        jobs = [{**row, "app": "", "min_nodes": "", "max_nodes": "", "malleable": ""} for row in jobs]
    series = tmp_path / "budget.csv"
    series.write_text("time,watts\n0,1600\n+00:30:00,700\n+01:00:00,1800\n", "utf-8")
    expected = expected_of(trace := simulated(tmp_path, policy, jobs, power_budget=str(series)))
    assert {"equipartition": "RESIZE", "parm": "CAP", "fcfs": "SUSPEND"}[policy] in set(trace.events_frame()["event"])
    series.write_text("time,watts\n2026-01-05T08:00:00Z,1600\n+00:30:00,700\n1767603600,1800\n", "utf-8")
    given: dict[str, Any] = {"conf": conf(tmp_path, policy), "frozen": True, "start": START, "folder": tmp_path / "c"}
    with slurmsim.cluster(**given, power={"power_budget": str(series)}) as c:
        series.unlink()
        assert live(c, jobs, (9,)) == expected
        (c.folder / "power-budget.csv").write_text("time,watts\n0,99\n", "utf-8")
        assert "the power budget (power-budget.csv); put the files back" in c.run(["scontrol", "reconfigure"]).stderr


def test_a_budget_that_cannot_be_read(tmp_path: Path) -> None:
    series = tmp_path / "budget.csv"
    for text, said in (
        ("time,watts\n+1,100\nsoon,50\n", "power-budget.csv:3: time: 'soon' is no time (expected +D-HH:MM:SS after"),
        ("time,watts\n5,100\n5,50\n", "power-budget.csv:3: time: 5 is not after 5"),
        ("when,watts\n", "power-budget.csv:1: columns are when, watts (expected time,watts)"),
    ):
        series.write_text(text, "utf-8")
        with pytest.raises(ConfigError) as refused:
            slurmsim.cluster(frozen=True, power={"power_budget": str(series)}).__enter__()
        assert said in str(refused.value)


def test_options_that_cannot_be(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parm = {"conf": conf(tmp_path, "parm:budget_w=1500")}
    (tmp_path / "s.toml").write_text("[[stream]]\ngap = 5\nrun = 5\n")
    cases: list[tuple[dict[str, Any], dict[str, str], str]] = [
        ({}, {"power_budget": "many"}, "many: no such file (expected watts, or a CSV file time,watts)"),
        (parm, {"power_cap": "30"}, "--power-cap: policy parm chooses caps itself"),
        (parm, {"power_budget": "30"}, "--power-budget: beside the policy's budget_w"),
        ({"jobs": "run"}, {"idle_w": "10"}, "--idle-w: what nodes draw is modelled: no process keeps to it"),
        ({}, {"power_budget": "30", "idle_w": "10"}, "30 W are less than 4 idle nodes draw"),
        ({}, {"limit": "none"}, "--limit: 'none' (expected scale or keep)"),
        ({"streams": tmp_path / "s.toml"}, {"power_cap": "30"}, "which a cap needs"),
    ]
    for given, power, said in cases:
        with pytest.raises(ConfigError) as refused:
            slurmsim.cluster(**given, frozen=True, power=power).__enter__()
        assert said in str(refused.value)
    assert main(["up", "--state", str(tmp_path / "c"), "--frozen", "--base-w", "many"]) != 0
    assert capfd.readouterr().err.splitlines() == [
        "slurmsim: error: the daemon did not start: --base-w: 'many' (expected watts: 30 or 30.5W)"
    ]
    with pytest.raises(ConfigError, match="power: 'watts'"):
        slurmsim.cluster(power={"watts": 3})
    with slurmsim.cluster(frozen=True, power={"power_cap": 40}) as c:
        told = c.run(["sbatch", "--wrap", "true"]).stderr
        assert "Invalid job: --power-cap of this cluster needs an application (#SLURMSIM app=…)" in told


def test_two_engines_go_on_alike(tmp_path: Path) -> None:
    """What is restored from a snapshot does and holds the same as what went on, to the last attribute."""
    conf(tmp_path, "equipartition:every=200")
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0)
    header |= {"texts": {"slurm.conf": (tmp_path / "slurm.conf").read_text("utf-8")}}
    engines = [make_engine(header, tmp_path)]
    for row in rows(8, 20):
        for engine in engines:
            engine.execute(START + row["submit"], "submit", {"job": request(row)}, engine.people.by_uid(0))
        if row["job_id"] % 5 == 0:
            engines.append(make_engine(header, tmp_path))
            restore(engines[-1], json.loads(json.dumps(list(take(engines[0])))))
    for engine in engines:
        engine.controller.check()
        engine.network.advance(START + 10**6)
    first, *others = [list(take(engine)) for engine in engines]
    assert len(others) == 4 and all(other == first for other in others)


@pytest.mark.parametrize("policy", ["equipartition", "parm:budget_w=1500"])
def test_restored_it_decides_alike(tmp_path: Path, policy: str) -> None:
    """Shapes, progress, watts and joules are in a snapshot, and the entries behind one are carried out on it."""
    jobs = rows(5)
    expected = expected_of(simulated(tmp_path, policy, jobs))
    with slurmsim.cluster(conf=conf(tmp_path, policy), frozen=True, start=START, folder=tmp_path / "c") as c:
        for row in jobs:
            for _ in range(5):  # entries: the next stop makes a snapshot
                c.step(max(0, row["submit"] - (c.now - START)) // 2)
            c.step(row["submit"] - (c.now - START))
            submit(c, row)
            if row["job_id"] == 11:
                c.stop()
                assert "snapshot" in read(c.folder / "journal").header
                c.start()
        c.until_idle()
        assert times(c) == expected
        decided = [one for _, entry in read(c.folder / "journal").entries if entry[1] == "decided" for one in entry[4]]
        assert {"start", "shape", "resize", "end"} <= {one[1] for one in decided}


@pytest.mark.parametrize("policy", ["equipartition", "parm:budget_w=1500"])
def test_another_version_follows_sizes_and_caps(tmp_path: Path, policy: str) -> None:
    """After an upgrade recorded starts, sizes and caps are made to happen; jobs end as they would have."""
    jobs = rows(5)
    expected = expected_of(simulated(tmp_path, policy, jobs))
    given: dict[str, Any] = {"conf": conf(tmp_path, policy), "frozen": True, "start": START, "folder": tmp_path / "c"}
    with slurmsim.cluster(**given) as c:
        for row in jobs:
            c.step(row["submit"] - (c.now - START))
            submit(c, row)
        c.step(6000)
        path = tmp_path / "c" / "journal"
        data = path.read_bytes()
    path.write_bytes(data)  # a stop makes a snapshot of so many entries
    found = read(path)
    kinds = [one[1] for _, entry in found.entries if entry[1] == "decided" for one in entry[4]]
    assert kinds.count("resize") > 1 and kinds.count("shape") > kinds.count("resize")
    written_by(OTHER, path)
    with slurmsim.cluster(**given) as c:
        assert [entry[1] for _, entry in read(path).entries].count("writer") == 1  # ours goes on
        c.until_idle()
        assert times(c) == expected


def test_what_users_do_to_malleable_jobs(tmp_path: Path) -> None:
    """Suspended, resumed, shrunk, requeued, cancelled, given another limit: and the daemon goes."""
    app = "LeanMD:parallelism=24:sigma=0.2"
    row = {"job_id": 1, "run_time": 3600, "time_limit": 7200, "nodes": 4, "max_nodes": 16, "malleable": 1, "app": app}
    with slurmsim.cluster(conf=conf(tmp_path, "equipartition"), frozen=True, start=START, folder=tmp_path / "c") as c:
        (tmp_path / "job.sh").write_text(f"#!/bin/sh\n#SLURMSIM app={app}\n")
        for _ in range(4):
            submit(c, row)
            c.step(100)
        assert [job.num_nodes for job in c.jobs()] == [5, 5, 5, 5]

        def ask(*words: str) -> None:
            assert c.run(["scontrol", *words]).returncode == 0, words

        c.run(["sbatch", "-N4-16", "--hold", str(tmp_path / "job.sh")], check=True)
        told = c.run(["scontrol", "update", "JobId=5", "NumNodes=2-8"])
        assert told.returncode == 1 and "Sizes of a waiting job with an application are not changed" in told.stderr
        c.run(["scancel", "5"], check=True)
        ask("suspend", "1")
        c.step(50)
        ask("update", "JobId=2", "NumNodes=4")
        c.step(10)
        ask("requeue", "3")
        c.step(300)
        ask("resume", "1")
        c.step(200)
        before = c.job(4).time_limit
        ask("update", "JobId=4", f"TimeLimit={before + 60}")
        assert c.job(4).time_limit == before + 60
        c.run(["scancel", "2"], check=True)
        c.step(30)
        c.stop()
        c.start()
        assert c.job(4).time_limit != before  # the limit moves with its shape, and what was added stays
        c.until_idle()
        assert [(job.state, job.restarts) for job in c.jobs()] == [
            ("COMPLETED", 0), ("CANCELLED", 0), ("COMPLETED", 1), ("COMPLETED", 0), ("CANCELLED", 0)
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "script", "said"),
    [
        (["-N2-4"], "app=Nobody:parallelism=2:sigma=0", "'Nobody' is no row of the table"),
        (["-N2-4"], "app=LeanMD:parallelism=24", "sigma is missing"),
        (["-n3"], "app=LeanMD:parallelism=24:sigma=0", "-N MIN-MAX beside it"),
        (["-N2-4", "-n8"], "app=LeanMD:parallelism=24:sigma=0", "-N alone"),
        (["-N2-4"], "malleable=yes", "app=APPLICATION beside it"),
        (["-N2-4"], "app=LeanMD:parallelism=24:sigma=0 malleable=maybe", "malleable=yes or no"),
        (
            ["-N2-4"],
            "runtime=90 aps=3",
            "Invalid #SLURMSIM aps=3 (runtime=TIME exit=STATUS term=TIME app=APPLICATION malleable=",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, words: list[str], script: str, said: str) -> None:
    (tmp_path / "job.sh").write_text(f"#!/bin/sh\n#SLURMSIM {script}\n")
    with slurmsim.cluster(conf=conf(tmp_path, "equipartition"), frozen=True, start=START) as c:
        told = c.run(["sbatch", *words, str(tmp_path / "job.sh")])
        assert told.returncode == 1 and said in told.stderr and len(told.stderr.splitlines()) == 1
        assert c.jobs() == []


def test_where_no_applications_are_known(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Other policies, shared nodes, and clusters that run scripts say so."""
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SLURMSIM app=LeanMD:parallelism=24:sigma=0\n")
    asked = ["sbatch", "-N2-4", str(tmp_path / "job.sh")]
    with slurmsim.cluster(conf=conf(tmp_path, "easy"), frozen=True) as c:
        assert (
            "(none is known here without SchedulerType=sched/parm, sched/equipartition or up --power-…)"
            in c.run(asked).stderr
        )
    with slurmsim.cluster(conf=conf(tmp_path, "equipartition", "select/cons_tres"), frozen=True) as c:
        assert "--exclusive beside it" in c.run(asked).stderr
        assert c.run([*asked[:1], "--exclusive", *asked[1:]]).returncode == 0
    given = conf(tmp_path, "parm:budget_w=2000")
    assert main(["up", "--state", str(tmp_path / "c"), "--conf", str(given), "--jobs", "run"]) != 0
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("SchedulerType: policy parm changes sizes and power of running jobs, which no process bears "
                         "(expected --jobs simulate, or another policy)")  # fmt: skip
    with pytest.raises(ConfigError, match="which no process bears"), slurmsim.cluster(conf=given):
        pass
    given = conf(tmp_path, "parm:levels=30/70")
    with pytest.raises(ConfigError, match=r"has a level of 70 W \(expected at most 60"):
        slurmsim.cluster(conf=given, frozen=True).__enter__()
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SLURMSIM app=Wave2D:parallelism=24:sigma=0\n")
    with slurmsim.cluster(conf=conf(tmp_path, "parm:levels=30"), frozen=True) as c:
        assert "policy parm has no level of 32 W or more" in c.run(asked).stderr


def test_caps_are_shown_at_nodes(tmp_path: Path) -> None:
    """CapWatts of scontrol show node; a node without a job draws nothing."""
    row = {"job_id": 1, "run_time": 3600, "time_limit": 7200, "nodes": 20, "max_nodes": 20, "malleable": 0}
    row["app"] = "LeanMD:parallelism=24:sigma=0.2"
    with slurmsim.cluster(conf=conf(tmp_path, "parm:budget_w=1900"), frozen=True, start=START) as c:
        show = ["scontrol", "show", "node", "n1"]
        assert "CapWatts=n/a\n   CurrentWatts=0 AveWatts=0" in c.run(show).stdout
        submit(c, row)
        c.step(60)
        assert c.job(1).state == "RUNNING"
        assert "CapWatts=36\n   CurrentWatts=92 AveWatts=0" in c.run(show).stdout  # 20 x (36 + 56) W = 1840 W
    with slurmsim.cluster(conf=conf(tmp_path, "easy"), frozen=True, start=START) as c:
        assert "CapWatts=n/a\n   CurrentWatts=0 AveWatts=0" in c.run(show).stdout


CLOUD = """ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SuspendProgram=/opt/s
ResumeProgram=/opt/r
SuspendTime=600
NodeName=dy-[1-4] CPUs=4 State=CLOUD
NodeName=n1 CPUs=2
PartitionName=q Nodes=ALL Default=YES
"""


@pytest.mark.parametrize(
    ("release", "more", "shown"),
    [
        ("22.05", "", "idle n1\n"),  # slurmctld 22.05.8 hides them while they are off
        ("22.05", "PrivateData=jobs,cloud\n", "idle~ dy-[1-4]\nidle n1\n"),
        ("24.11", "", "idle~ dy-[1-4]\nidle n1\n"),
        ("26.05", "", "idle~ dy-[1-4]\nidle n1\n"),
    ],
)
def test_cloud_nodes_begin_powered_down(release: str, more: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CLOUD + more)
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, slurm_version=release) as c:
        assert c.run("sinfo -h -o '%t %N'").stdout == shown
        state = c.run("scontrol show node dy-1").stdout
        assert ("State=IDLE+CLOUD+POWERED_DOWN" in state) == ("dy" in shown)
        c.run(["sbatch", "-N1", "-n4", "--wrap", "sleep 100"], check=True)
        c.step(4)
        assert c.run("squeue -h -o '%t %N'").stdout == "CF dy-1\n"
        assert c.run("sinfo -h -n dy-1 -o '%t'").stdout == "alloc#\n"
        c.step(100)
        assert c.run("squeue -h -o '%t %N'").stdout == "R dy-1\n"


def test_a_carbon_policy_waits_for_clean_hours(tmp_path: Path) -> None:
    series = tmp_path / "grid.csv"
    series.write_text("time,g_per_kwh\n0,400\n+02:00:00,100\n+04:00:00,400\n", "utf-8")
    given: dict[str, Any] = {"nodes": 2, "frozen": True, "start": START, "policy": "carbon"}
    with slurmsim.cluster(**given, power={"carbon": str(series)}) as c:
        c.run("sbatch -N2 -t 60 --wrap 'sleep 3600'", check=True)
        c.step("1h")
        assert c.job(1).state == "PENDING"
        c.stop()
        c.start()
        c.step("61m")
        assert c.job(1).state == "RUNNING"
        (c.folder / "carbon.csv").write_text("time,g_per_kwh\n0,9\n", "utf-8")
        assert "the carbon intensity (carbon.csv); put the files back" in c.run(["scontrol", "reconfigure"]).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,g_per_kwh\nsoon,1\n", "carbon.csv:2: time: 'soon' is no time"),
        ("time,grams\n0,1\n", "carbon.csv:1: columns time, grams (expected time,g_per_kwh"),
        ("time,g_per_kwh\n0,many\n", "carbon.csv:2: g_per_kwh: 'many' (expected a number from 0 to"),
    ],
)
def test_a_carbon_series_that_is_none(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "grid.csv").write_text(text, "utf-8")
    with pytest.raises(ConfigError) as refused:
        slurmsim.cluster(frozen=True, power={"carbon": str(tmp_path / "grid.csv")}).__enter__()
    assert said in str(refused.value)
