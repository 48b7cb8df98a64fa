"""Commands of 26.05 take a SLUID where they take a job id. Answers as real Slurm 26.05.5 gave them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster

UNKNOWN, NONE = "sB0HM8KEZZ8000", "s0000000000000"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster with a held job 1, job 2 that runs, and an array 3 that waits."""
    with slurmsim.cluster(nodes=2, frozen=True, slurm_version="26.05") as found:
        found.run(
            "sbatch -H --wrap 'sleep 300'; sbatch --wrap 'sleep 300'; sbatch -H --array=1-3 --wrap 'sleep 3'",
            check=True,
        )
        found.step(5)
        yield found


def said(cluster: Cluster, command: str) -> tuple[int, str]:
    """Return what a command says, its SLUIDs put in place of S1, S2 and S3."""
    lines = cluster.run("squeue -h -O jobid:10,sluid:20").stdout.split()
    words = dict(zip(lines[::2], lines[1::2], strict=True))
    command = re.sub(r"\bS(\d)\b", lambda found: words[found[1]], command)  # all at once: a SLUID may have such letters
    ran = cluster.run(command)
    return ran.returncode, (ran.stdout + ran.stderr).replace(command.split()[-1], "SLUID")


def test_queries_know_jobs_by_sluid(cluster: Cluster) -> None:
    assert said(cluster, "squeue -h -o %i -j S1") == (0, "1\n")
    assert said(cluster, "squeue -h -S i -o %i -j S2,1") == (0, "1\n2\n")
    assert said(cluster, "squeue -h -o %i -j S3") == (0, "3_[1-3]\n")
    assert said(cluster, "scontrol show job S1")[1].startswith("JobId=1 ")
    assert said(cluster, "sprio -h -j S1")[0] == 0
    assert said(cluster, "sacct -n -P -o jobid,state -j S2") == (0, "2|RUNNING\n2.batch|RUNNING\n")
    assert said(cluster, "sacct -n -P -o jobid,state -j S2.batch") == (0, "2.batch|RUNNING\n")


def test_jobs_are_changed_by_sluid(cluster: Cluster) -> None:
    for words in ("update comment=x jobid=S1", "hold S1", "hold 1,S1", "suspend S2", "resume S2"):
        assert said(cluster, f"scontrol {words}") == (0, ""), words
    assert said(cluster, "squeue -h -o %k -j S1") == (0, "x\n")
    assert said(cluster, "scancel S3") == (0, "")
    assert said(cluster, "squeue -h -o %i -j 3")[1] == ""


def test_what_no_job_has_is_refused_in_the_words_of_each_command(cluster: Cluster) -> None:
    no_job = "Invalid job id specified"
    assert said(cluster, f"squeue -j {UNKNOWN}") == (1, f"slurm_load_jobs error: {no_job}\n")
    assert said(cluster, f"squeue -j {NONE}") == (1, "squeue: error: Invalid job id: SLUID\n")
    assert said(cluster, f"scontrol show job {UNKNOWN}") == (1, f"slurm_load_jobs error: {no_job}\n")
    assert said(cluster, f"scontrol show job {NONE}") == (1, f"scontrol_print_job error: {no_job}\n")
    assert said(cluster, f"scontrol hold {UNKNOWN}") == (
        1, f"{no_job} for job SLUID\nslurm_suspend error:{no_job}\n")  # fmt: skip
    assert said(cluster, f"scontrol update comment=x jobid={UNKNOWN}")[0] == 1
    assert said(cluster, f"sacct -n -j {UNKNOWN}") == (0, "")
    assert said(cluster, f"sacct -j {NONE}") == (1, "sacct: fatal: Bad job/step specified: SLUID: SLUID is invalid\n")
    assert said(cluster, f"sstat -n -j {UNKNOWN}") == (0, "sstat: error: couldn't get steps for SLUID=SLUID\n")
    assert said(cluster, f"sstat -j {NONE}") == (1, "sstat: fatal: Bad job/step specified: SLUID: SLUID is invalid\n")
    assert said(cluster, f"scancel {NONE}") == (1, "scancel: error: Invalid SLUID SLUID\n")
    assert said(cluster, f"scancel {UNKNOWN}") == (0, "")
    assert said(cluster, "scancel s9XXM") == (1, "scancel: error: Invalid SLUID SLUID\n")


def test_signals_name_jobs_and_steps_as_they_were_given(cluster: Cluster) -> None:
    assert said(cluster, "scancel -v -s USR1 S2") == (0, "scancel: Signal 10 to job SLUID\n")
    error = "scancel: error: Kill job error on job step id"
    assert said(cluster, f"scancel -v -s USR1 {UNKNOWN}.1")[1].endswith(f"{error} SLUID: Invalid job id specified\n")
    assert said(cluster, f"scancel -v -s USR1 {UNKNOWN}")[1].endswith(
        f"{error} SLUID.4294967294: Invalid job id specified\n"
    )


def test_triggers_are_of_jobs_by_sluid(cluster: Cluster) -> None:
    assert said(cluster, "strigger --set --fini --program=/bin/true --jobid=S2") == (0, "")
    code, told = said(cluster, "strigger --get --noheader --jobid=S2")
    assert code == 0
    assert told.split()[1:4] == ["job", "2", "fini"]
    assert said(cluster, "strigger --clear --jobid=S2") == (0, "")
