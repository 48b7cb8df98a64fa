"""PrologSlurmctld and EpilogSlurmctld really run, and jobs fare meanwhile as under 26.05.5 in a recording."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until

import slurmsim

CONF = """\
ClusterName=programs
SlurmctldHost=localhost
PrologSlurmctld={folder}/cprolog
EpilogSlurmctld={folder}/cepilog
KillWait=5
NodeName=n[1-3] CPUs=2
PartitionName=all Nodes=ALL Default=YES
"""
PROGRAM = """\
#!/bin/bash
told={folder}/told.$SLURM_SCRIPT_CONTEXT.$SLURM_JOB_ID.$SLURM_JOB_RESTART_COUNT
env > $told.part && mv $told.part $told
while [ -e {folder}/wait.$SLURM_SCRIPT_CONTEXT ]; do sleep 0.05; done
[ -e {folder}/fail.$SLURM_SCRIPT_CONTEXT ] && exit 3
exit 0
"""
FAILED = "PrologSlurmctld failed, job killed\n"
PATIENCE_S = 20.0
_ALWAYS = """
    CLUSTER_NAME JOBID JOB_CPUS_PER_NODE JOB_END_TIME JOB_EXCLUSIVE JOB_GID JOB_GROUP JOB_ID JOB_NAME JOB_NODELIST
    JOB_NUM_NODES JOB_OVERSUBSCRIBE JOB_PARTITION JOB_RESTART_COUNT JOB_SLUID JOB_START_TIME JOB_UID JOB_USER
    JOB_WORK_DIR SCRIPT_CONTEXT
"""
ALWAYS = frozenset(f"SLURM_{name}" for name in _ALWAYS.split())
OF_BATCH = frozenset({"SLURM_JOB_STDIN", "SLURM_JOB_STDOUT"})
OF_END = frozenset({"SLURM_JOB_DERIVED_EC", "SLURM_JOB_EXIT_CODE", "SLURM_JOB_EXIT_CODE2"})


@pytest.fixture
def live(tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    for name in ("cprolog", "cepilog"):
        (tmp_path / name).write_text(PROGRAM.format(folder=tmp_path))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "slurm.conf").write_text(CONF.format(folder=tmp_path))
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", slurm_version="26.05", allow_code=True, folder=tmp_path / "state"
    ) as cluster:
        yield cluster


def said(cluster: slurmsim.Cluster, *words: str) -> str:
    return cluster.run(words, check=False).stdout


def submit(cluster: slurmsim.Cluster, folder: Path, command: str, *options: str) -> str:
    return said(
        cluster, "sbatch", "--parsable", "-n1", "-t5", "-o", str(folder / "out"), *options, "--wrap", command
    ).strip()


def shown(cluster: slurmsim.Cluster, job: str, form: str = "%T %r %N") -> str:
    return said(cluster, "squeue", "-h", "-t", "all", "-j", job, "-o", form).strip()


def told(folder: Path, context: str, job: str, restarts: int = 0) -> dict[str, str]:
    path = folder / f"told.{context}_slurmctld.{job}.{restarts}"
    last = time.monotonic() + PATIENCE_S
    while not path.exists() and time.monotonic() < last:
        time.sleep(0.05)
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line.startswith("SLURM"))


def test_a_job_is_configuring_until_its_prolog_is_over(live: slurmsim.Cluster, tmp_path: Path) -> None:
    wait = tmp_path / "wait.prolog_slurmctld"
    wait.touch()
    job = submit(live, tmp_path, "echo ran; srun true")
    until(lambda: shown(live, job), r"^CONFIGURING None n1$")
    told(tmp_path, "prolog", job)
    assert shown(live, job, "%t") == "CF"
    assert "JobState=CONFIGURING" in said(live, "scontrol", "show", "job", job)
    (record,) = json.loads(said(live, "squeue", "--json", "-j", job))["jobs"]
    assert record["job_state"] == ["RUNNING", "CONFIGURING"]
    assert said(live, "sacct", "-j", job, "-n", "-P", "-o", "jobid,state") == f"{job}|RUNNING\n"
    assert not (tmp_path / "out").exists()
    wait.unlink()
    until(lambda: shown(live, job), "COMPLETED")
    assert (tmp_path / "out").read_text() == "ran\n"


def test_what_the_programs_are_told(live: slurmsim.Cluster, tmp_path: Path) -> None:
    job = submit(live, tmp_path, "exit 5", "-J", "name")
    until(lambda: shown(live, job), "FAILED")
    before, after = told(tmp_path, "prolog", job), told(tmp_path, "epilog", job)
    assert before.keys() == ALWAYS | OF_BATCH
    assert after.keys() == ALWAYS | OF_BATCH | OF_END
    assert (before["SLURM_JOB_STDIN"], before["SLURM_JOB_NAME"]) == ("/dev/null", "name")
    assert (before["SLURM_JOB_NODELIST"], after["SLURM_JOB_NODELIST"]) == ("n1", "n1")
    assert before["SLURM_SCRIPT_CONTEXT"] == "prolog_slurmctld"
    assert (after["SLURM_JOB_EXIT_CODE"], after["SLURM_JOB_EXIT_CODE2"]) == ("1280", "5:0")
    live.run("salloc -n1 true")
    assert told(tmp_path, "prolog", str(int(job) + 1)).keys() == ALWAYS


def test_a_batch_job_with_a_failed_prolog_waits_again(live: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "fail.prolog_slurmctld").touch()
    job = submit(live, tmp_path, "echo ran")
    until(lambda: shown(live, job), r"^PENDING")
    until(lambda: said(live, "scontrol", "show", "job", job), "Restarts=1")
    assert told(tmp_path, "epilog", job, 1)["SLURM_JOB_RESTART_COUNT"] == "1"
    rows = said(live, "sacct", "-D", "-j", job, "-n", "-P", "-o", "jobid,state,exitcode")
    assert rows == f"{job}|REQUEUED|0:0\n{job}|PENDING|0:0\n"
    assert said(live, "sinfo", "-h", "-N", "-o", "%T", "-n", "n1").strip() == "idle"
    for_good = submit(live, tmp_path, "echo ran", "--no-requeue")
    until(lambda: shown(live, for_good), "CANCELLED")
    row = said(live, "sacct", "-j", for_good, "-n", "-P", "-o", "jobid,state,exitcode")
    assert row == f"{for_good}|CANCELLED by 0|0:0\n"
    assert not (tmp_path / "out").exists()


def test_srun_and_salloc_are_told_that_it_failed(live: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "fail.prolog_slurmctld").touch()
    ran = live.run("srun -n1 true", check=False)
    assert (ran.returncode, ran.stderr) == (1, f"srun: {FAILED}")
    ran = live.run("salloc -n1 true", check=False)
    revoked = "salloc: Job allocation 2 has been revoked.\nsalloc: error: Job allocation 2 has been revoked\n"
    waits = "salloc: Granted job allocation 2\n(salloc: Waiting for resource configuration\n)?"
    assert ran.returncode == 1
    assert re.fullmatch(waits + re.escape(f"salloc: {FAILED}{revoked}"), ran.stderr), ran.stderr


def test_srun_waits_for_the_prolog_without_a_word(live: slurmsim.Cluster, tmp_path: Path) -> None:
    wait = tmp_path / "wait.prolog_slurmctld"
    wait.touch()
    environ = dict(live.environ)
    ran = subprocess.Popen(
        ["srun", "-n1", "echo", "ran"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        executable=str(Path(live.folder) / "bin" / "srun"),
    )  # fmt: skip
    until(lambda: shown(live, "1"), "CONFIGURING")
    told(tmp_path, "prolog", "1")
    wait.unlink()
    assert ran.communicate(timeout=30) == ("ran\n", "")


def test_the_epilog_keeps_the_job_but_no_nodes(live: slurmsim.Cluster, tmp_path: Path) -> None:
    wait = tmp_path / "wait.epilog_slurmctld"
    wait.touch()
    (tmp_path / "fail.epilog_slurmctld").touch()
    job = submit(live, tmp_path, "true")
    until(lambda: shown(live, job), r"^COMPLETING None$")
    told(tmp_path, "epilog", job)
    assert "JobState=COMPLETING" in said(live, "scontrol", "show", "job", job)
    assert said(live, "sinfo", "-h", "-N", "-o", "%T", "-n", "n1").strip() == "idle"
    assert said(live, "sacct", "-X", "-j", job, "-n", "-P", "-o", "jobid,state") == f"{job}|COMPLETED\n"
    wait.unlink()
    until(lambda: shown(live, job), r"^COMPLETED None n1$")  # what it exits with has no effect
    assert said(live, "sinfo", "-h", "-N", "-o", "%T", "-n", "n1").strip() == "idle"


def test_a_job_is_cancelled_while_its_prolog_runs(live: slurmsim.Cluster, tmp_path: Path) -> None:
    wait = tmp_path / "wait.prolog_slurmctld"
    wait.touch()
    job = submit(live, tmp_path, "echo ran")
    until(lambda: shown(live, job), "CONFIGURING")
    told(tmp_path, "prolog", job)
    live.run(["scancel", job])
    until(lambda: shown(live, job), "CANCELLED")
    assert said(live, "sacct", "-j", job, "-n", "-P", "-o", "jobid,exitcode") == f"{job}|0:0\n"
    told(tmp_path, "epilog", job)
    until(lambda: said(live, "sinfo", "-h", "-N", "-o", "%T", "-n", "n1").strip(), "^idle$")
    wait.unlink()
    again = submit(live, tmp_path, "echo again")
    until(lambda: shown(live, again), "COMPLETED")
    assert (tmp_path / "out").read_text() == "again\n"


def test_prologs_are_over_while_the_daemon_is_away(live: slurmsim.Cluster, tmp_path: Path) -> None:
    wait = tmp_path / "wait.prolog_slurmctld"
    wait.touch()
    job = submit(live, tmp_path, "echo ran")
    until(lambda: shown(live, job), "CONFIGURING")
    told(tmp_path, "prolog", job)
    with live.fork() as copy:
        assert shown(copy, job).startswith("RUNNING")
    live.stop()
    wait.unlink()
    time.sleep(0.5)
    live.start()
    until(lambda: shown(live, job), "COMPLETED")
    assert (tmp_path / "out").read_text() == "ran\n"


def test_without_allow_code_no_program_runs(tmp_path: Path) -> None:
    (tmp_path / "cprolog").write_text(PROGRAM.format(folder=tmp_path))
    (tmp_path / "cprolog").chmod(0o755)
    (tmp_path / "slurm.conf").write_text(CONF.format(folder=tmp_path))
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05") as cluster:
        job = submit(cluster, tmp_path, "true")
        until(lambda: shown(cluster, job), "COMPLETED")
    assert not list(tmp_path.glob("told.*"))
