"""When schedulers looked last: at jobs on no list, and at a queue without any job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_client import CONF, Cluster

BACKFILL = CONF.replace("AccountingStorageEnforce=associations,limits,qos\n", "") + (
    "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval=5\n"
)


def seen(cluster: Cluster) -> tuple[int, dict[int, int]]:
    """Return when backfill came last, and when a scheduler looked at each job, in seconds since the start."""
    start, found = cluster.engine.network.start_time, json.loads(cluster.text("squeue --json"))

    def second(value: Any) -> int:
        at = value["number"] if isinstance(value, dict) else value
        return int(at) - start if at else 0

    return second(found["last_backfill"]), {
        job["job_id"]: second(job["last_sched_evaluation"]) for job in found["jobs"]
    }


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_cycle_without_jobs_is_not_the_last_one_that_is_told(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, conf=BACKFILL, release=release)
    cluster.now += 6
    cluster.text("sbatch -n1 --wrap 'sleep 900'", "alice")
    cluster.now += 24
    assert seen(cluster)[0] == 0
    cluster.text("sbatch -n8 -N2 --exclusive --wrap 'sleep 900'", "alice")
    cluster.now += 15
    assert seen(cluster)[0] >= 30


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_jobs_on_no_list_keep_the_moment_of_the_last_look(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, conf=BACKFILL, release=release)
    cluster.now += 5
    cluster.text("sbatch -n1 --wrap 'sleep 900'", "alice")
    cluster.text("sbatch -n1 -d afterok:1 --wrap 'sleep 900'", "alice")
    cluster.text("sbatch -n1 -H --wrap 'sleep 900'", "alice")
    cluster.text("sbatch -n1 -b now+900 --wrap 'sleep 900'", "alice")
    cluster.now += 20
    before = seen(cluster)[1]
    assert before[2] == before[3] == before[4] == 5
    cluster.text("scontrol requeue 1")
    for _ in range(4):
        cluster.now += 15
        cluster.text("sbatch -n8 -N2 --exclusive --wrap 'sleep 900'", "alice")
    after = seen(cluster)[1]
    assert {job: after[job] for job in before} == before


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_whole_cores_found_for_jobs_of_one_thread_count_with_both(tmp_path: Path, release: str) -> None:
    """Sizes as real Slurm works them out once it has looked for nodes, of 160 CPUs: 12.5 for two of them."""
    lines = CONF.replace("AccountingStorageEnforce=associations,limits,qos\n", "").replace(
        "PriorityWeightFairshare=10000\n", ""
    )
    lines = lines.replace("n[1-2] CPUs=4", "n[1-5] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2")
    cluster = Cluster(tmp_path, conf=f"{lines}PriorityWeightJobSize=2000\nPriorityCalcPeriod=1\n", release=release)
    for _ in range(5):
        cluster.text("sbatch -N1 --exclusive -t 60 --wrap 'sleep 900'", "alice")
    cluster.now += 5
    asked = ("-n 8 --threads-per-core=1", "-n 5 --hint=nomultithread", "-N 2 --exclusive --threads-per-core=1", "-n 5",
             "-n 6 --ntasks-per-core=1", "-n 3 -c 3 --threads-per-core=1", "-n 8 --threads-per-core=2",
             "-N 2 -n 8 --threads-per-core=1")  # fmt: skip
    for words in asked:
        cluster.text(f"sbatch {words} -t 600 --wrap 'sleep 5'", "alice")
    cluster.now += 2
    assert cluster.text("sprio -h -o '%J'") == "250 231 413 231 238 256 250 450 ".replace(" ", "\n")
    cluster.now += 63
    assert cluster.text("sprio -h -o '%J'") == "300 262 800 238 275 312 250 500 ".replace(" ", "\n")


@pytest.mark.parametrize(("release", "out"), [("24.11", "/home/slurm-%j.out"), ("26.05", "slurm-%j.out")])
def test_documents_of_older_forms_tell_what_the_release_keeps(tmp_path: Path, release: str, out: str) -> None:
    """Of a job on one thread of its cores, and of a file without a name, as slurmrestd of 26.05 answers for v0.0.42."""
    cluster = Cluster(
        tmp_path, conf=BACKFILL.replace("CPUs=4", "Sockets=1 CoresPerSocket=2 ThreadsPerCore=2"), release=release
    )
    cluster.text("sbatch -n1 --threads-per-core=1 --wrap 'sleep 900'", "alice")
    cluster.text("sbatch -n1 --wrap 'sleep 900'", "alice")
    cluster.now += 5
    found = json.loads(cluster.text("squeue --json"))["jobs"]
    threads = {job["job_id"]: job["job_resources"]["threads_per_core"] for job in found}
    assert threads[1] == {"set": True, "infinite": False, "number": 1} and not threads[2]["set"]
    for form in ("", "=v0.0.42"):
        rows = json.loads(cluster.text(f"sacct -a --json{form}"))["jobs"]
        assert {row["stdout"] for row in rows} == {out}


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_job_that_is_held_while_it_runs_has_accrued_since_it_was_eligible(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, conf=BACKFILL, release=release)
    cluster.text("sbatch -n2 --wrap 'sleep 900'", "alice")
    cluster.now += 5
    cluster.text("scontrol hold 1")
    told = dict(word.split("=", 1) for word in cluster.text("scontrol show job 1").split() if "=" in word)
    assert told["JobState"] == "RUNNING" and told["EligibleTime"] == "Unknown"
    assert told["AccrueTime"] == told["SubmitTime"]


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_what_a_tested_job_lacks_is_not_told(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, conf=BACKFILL, release=release)
    failed = "Requested node configuration is not available"
    assert cluster.run("sbatch --test-only -c8 --wrap true", "alice") == (1, "", f"allocation failure: {failed}\n")
    told = "sbatch: error: CPU count per node can not be satisfied"
    submitted = f"{told}\nsbatch: error: Batch job submission failed: {failed}\n"
    assert cluster.run("sbatch -c8 --wrap true", "alice") == (1, "", submitted)
