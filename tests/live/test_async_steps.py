"""Steps of `srun --async` as a recording of 26.05.5 shows them: what is printed, who waits, what is left of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until

import slurmsim

CONF = """\
ClusterName=apart
SlurmctldHost=localhost
SlurmctldParameters=enable_stepmgr
PrologFlags=Contain
KillWait=5
SchedulerParameters=bf_interval=2
NodeName=n[1-2] CPUs=2
PartitionName=all Nodes=ALL Default=YES
"""
PENDING = """\
StepId={job}.1 UserId={uid} StartTime=Unknown TimeLimit=UNLIMITED
   State=PENDING Partition=all NodeList=n1
   Nodes=1 CPUs=1 Tasks=1 Name=sh Network=(null)
   TRES=(null)
   ResvPorts=(null)
   CPUFreqReq=Default Dist=Unknown
"""
PATIENCE_S = 20.0


@pytest.fixture
def live(tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    (tmp_path / "slurm.conf").write_text(CONF)
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05", folder=tmp_path / "state") as cluster:
        yield cluster


def submit(cluster: slurmsim.Cluster, folder: Path, script: str, *options: str) -> str:
    (folder / "job.sh").write_text(f"#!/bin/sh\ncd {folder}\n{script}")
    words = ["sbatch", "--parsable", "-D", str(folder), "-o", str(folder / "out"), "-t5", *options]
    return cluster.run([*words, str(folder / "job.sh")]).stdout.strip()


def accounted(cluster: slurmsim.Cluster, job: str, fields: str = "jobid,state,exitcode") -> str:
    return cluster.run(["sacct", "-j", job, "-n", "-P", "-o", fields]).stdout


HOLD = "sh -c 'until [ -e go ]; do sleep 0.05; done; echo first'"


def test_a_step_waits_in_its_job_and_swait_for_both(live: slurmsim.Cluster, tmp_path: Path) -> None:
    script = f"srun --async {HOLD}\nsrun --async --parsable -o own-%J sh -c 'echo to-out; echo to-err >&2; exit 3'\n"
    job = submit(live, tmp_path, script + "swait; echo drained $?\n", "-n1")
    shown = until(lambda: live.run(["scontrol", "show", "steps", job]).stdout, r"PENDING")
    assert (tmp_path / "out").read_text() == f"Submitted step {job}.0\n{job}.1\n"
    uid = re.search(r"UserId=(\d+)", shown)
    assert uid is not None
    assert PENDING.format(job=job, uid=uid[1]) in shown
    assert f"{job}.1|PENDING|Unknown|Unknown|00:00:00|n1|1\n" in accounted(
        live, job, "jobid,state,start,end,elapsed,nodelist,ntasks"
    )
    (tmp_path / "go").touch()
    until(lambda: live.run(["squeue", "-h", "-t", "all", "-o", "%T", "-j", job]).stdout, "COMPLETED")
    assert (tmp_path / "out").read_text().endswith("drained 0\n")
    assert (tmp_path / f"slurm-{job}.0.out").read_text() == "first\n"
    assert (tmp_path / f"own-{job}.1").read_text() == "to-out\nto-err\n"
    told = accounted(live, job, "jobid,state,exitcode,start,elapsed")
    assert f"{job}.1|FAILED|3:0|Unknown|00:00:00\n" in told  # accounting never learns when one that waited began
    assert re.search(rf"^{job}\.0\|COMPLETED\|0:0\|20", told, re.MULTILINE)


def test_an_update_of_a_step_is_shown(live: slurmsim.Cluster, tmp_path: Path) -> None:
    job = submit(live, tmp_path, "srun --async sleep 60\nsleep 60\n", "-n1")
    until(lambda: live.run(["scontrol", "show", "steps", f"{job}.0"]).stdout, "TimeLimit=UNLIMITED")
    live.run(["scontrol", "update", f"stepid={job}.0", "timelimit=3"])
    assert "TimeLimit=00:03:00" in live.run(["scontrol", "show", "step", f"{job}.0"]).stdout
    (step,) = json.loads(live.run(["scontrol", "--json", "show", "step", f"{job}.0"]).stdout)["steps"]
    assert step["time"]["limit"]["number"] == 3
    for change, shown in (("+1", "00:04:00"), ("-2", "00:02:00"), ("200", "03:20:00")):
        live.run(["scontrol", "update", f"stepid={job}.0", f"timelimit={change}"])
        assert f"TimeLimit={shown}\n" in live.run(["scontrol", "show", "step", f"{job}.0"]).stdout
    lower = live.run(["scontrol", "update", f"stepid={job}.0", "timelimit=-300"], check=False)
    assert lower.stderr == "scontrol: error: TimeLimit decrement larger than current time limit (300 > 200)\n"
    live.run(["scontrol", "update", f"stepid={job}", "timelimit=1"])
    assert "TimeLimit=00:01:00" in live.run(["scontrol", "show", "step", f"{job}.0"]).stdout
    live.run(["scancel", job])


def test_a_number_of_a_step_that_no_number_holds_ends_nothing(live: slurmsim.Cluster, tmp_path: Path) -> None:
    job = submit(live, tmp_path, "sleep 60")
    for limit in ("5", "+5"):
        done = live.run(["scontrol", "update", f"stepid={job}.{'9' * 5000}", f"timelimit={limit}"])
        assert "Traceback" not in done.stderr and "Unspecified" not in done.stderr
    assert live.run(["squeue", "-h", "-j", job, "-o", "%i"]).stdout == f"{job}\n"


def test_a_step_that_waits_is_cancelled_and_leaves_no_code(live: slurmsim.Cluster, tmp_path: Path) -> None:
    job = submit(live, tmp_path, f"srun --async {HOLD}\nsrun --async true\nsleep 60\n", "-n1")
    until(lambda: live.run(["scontrol", "show", "steps", job]).stdout, "PENDING")
    live.run(["scancel", "-s", "USR1", f"{job}.1"])
    assert f"StepId={job}.1" not in live.run(["scontrol", "show", "steps", job]).stdout
    assert f"{job}.1|CANCELLED|\n" in accounted(live, job)
    live.run(["scancel", f"{job}.0"])
    until(lambda: accounted(live, job), rf"{job}\.0\|CANCELLED")
    live.run(["scancel", job])


def test_the_end_of_the_job_is_the_end_of_its_steps(live: slurmsim.Cluster, tmp_path: Path) -> None:
    job = submit(live, tmp_path, "srun --async -o log sleep 60\nsrun --async true\nsleep 0.5\n", "-n1")
    until(lambda: live.run(["squeue", "-h", "-t", "all", "-o", "%T", "-j", job]).stdout, "COMPLETED")
    told = accounted(live, job)
    assert f"{job}|COMPLETED|0:0\n" in told
    assert f"{job}.0|CANCELLED|0:15\n" in told
    assert f"{job}.1|CANCELLED|\n" in told
    notice = rf"\[.*\] error: \*\*\* STEP {job}\.0 ON n1 CANCELLED AT .* DUE to SIGNAL Terminated \*\*\*\n"
    assert re.fullmatch(notice, (tmp_path / "log").read_text())


def test_it_goes_on_over_a_restart_of_the_daemon(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    state = tmp_path / "state"
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05", folder=state) as cluster:
        script = f"srun --async {HOLD}\nsrun --async -o second echo second\nuntil [ -s second ]; do sleep 0.1; done\n"
        job = submit(cluster, tmp_path, script, "-n1")
        until(lambda: cluster.run(["scontrol", "show", "steps", job]).stdout, "PENDING")
        with cluster.fork() as copy:
            assert "State=PENDING" in copy.run(["scontrol", "show", "steps", job]).stdout
        cluster.stop()
        cluster.start()
        assert "State=PENDING" in cluster.run(["scontrol", "show", "steps", job]).stdout
        (tmp_path / "go").touch()
        until(lambda: accounted(cluster, job), rf"{job}\|COMPLETED")
        assert (tmp_path / "second").read_text() == "second\n"
        assert f"{job}.1|COMPLETED|0:0\n" in accounted(cluster, job)


def test_files_that_cannot_be_opened(live: slurmsim.Cluster, tmp_path: Path) -> None:
    script = "srun --async -o /dev/null/x true\nsrun --async -i all true\nsrun --async -n2 -l -o lab echo a\nswait\n"
    job = submit(live, tmp_path, script, "-n2")
    until(lambda: accounted(live, job), rf"{job}\|COMPLETED")
    told = accounted(live, job)
    assert f"{job}.0|CANCELLED|0:53\n" in told
    assert f"{job}.1|CANCELLED|0:53\n" in told
    assert sorted((tmp_path / "lab").read_text().splitlines()) == ["0: a", "1: a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--async --pty true", "--async and --pty are mutually exclusive."),
        ("--async --immediate true", "--immediate and --async are mutually exclusive."),
        ("--parsable true", "--parsable requires --async."),
    ],
)
def test_what_does_not_go_with_it(live: slurmsim.Cluster, words: str, said: str) -> None:
    ran = live.run(f"salloc -Q srun {words}", check=False)
    assert (ran.returncode, ran.stderr) == (1, f"srun: error: {said}\n")


def test_only_in_a_job_with_a_step_manager(live: slurmsim.Cluster, tmp_path: Path) -> None:
    outside = live.run("srun --async true", check=False)
    only = "--async is only valid for steps submitted within an existing job allocation."
    assert (outside.returncode, outside.stderr) == (1, f"srun: error: {only}\n")
    het = submit(live, tmp_path, "srun --async true\n", "-n1", ":", "-n1")
    until(lambda: accounted(live, het), rf"{het}\+0\|FAILED")
    assert "Unable to create step for job" in (tmp_path / "out").read_text()
    assert "Invalid feature specification" in (tmp_path / "out").read_text()


def test_a_job_can_ask_for_a_step_manager(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF.replace("SlurmctldParameters=enable_stepmgr\n", ""))
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05") as cluster:
        script = "srun --async -o own true && echo $SLURM_STEPMGR; swait\n"
        without = submit(cluster, tmp_path, script, "-n1")
        until(lambda: accounted(cluster, without), rf"{without}\|FAILED")
        job = submit(cluster, tmp_path, script, "-n1", "--stepmgr")
        until(lambda: accounted(cluster, job), rf"{job}\|COMPLETED")
        assert (tmp_path / "out").read_text() == f"Submitted step {job}.0\nn1\n"
        assert "\n   StepMgrEnabled=Yes\n" in cluster.run(["scontrol", "show", "job", job]).stdout
        assert "StepMgr" not in cluster.run(["scontrol", "show", "job", without]).stdout


def test_steps_have_ports_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(f"{CONF}MpiParams=ports=60000-60002\n")
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05") as cluster:
        holds = "sh -c 'echo $SLURM_STEP_RESV_PORTS; until [ -e go ]; do sleep 0.05; done'"
        script = f"srun --overlap {holds} &\nuntil [ -s out ]; do sleep 0.05; done\n"
        script += "srun --async --overlap -o own sh -c 'echo $SLURM_STEP_RESV_PORTS'\nwait\nswait\n"
        job = submit(cluster, tmp_path, script, "-n1")
        shown = until(lambda: cluster.run(["scontrol", "show", "steps", job]).stdout, "PENDING")
        assert "ResvPorts=60000-60001\n" in shown
        (tmp_path / "go").touch()
        until(lambda: accounted(cluster, job), rf"{job}\|COMPLETED")
        assert (tmp_path / "out").read_text().splitlines()[0] == "60000-60001"
        assert (tmp_path / "own").read_text() == "60000-60001\n"
        many = cluster.run("srun -n3 -O true", check=False)
        assert "Requires more ports than can be reserved" in many.stderr
        assert cluster.run("srun -n3 -O --resv-ports=2 true").returncode == 0
