"""What documents and ``show job`` go on to tell of jobs that are over, requeued, or read again by slurmctld."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_client import CONF, Cluster

RELEASES = ("22.05", "24.11", "26.05")
FREE = CONF.replace("associations,limits,qos", "none")
SAVES = "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=20\nSuspendTimeout=5\nResumeTimeout=60\n"


def _after(cluster: Cluster, seconds: int) -> None:
    cluster.now += seconds
    cluster.engine.network.advance(cluster.now)


def _jobs(cluster: Cluster) -> dict[int, dict[str, Any]]:
    command = "squeue" if cluster.engine.release == "22.05" else "scontrol show job"
    return {job["job_id"]: job for job in json.loads(cluster.text(f"{command} --json"))["jobs"]}


def _cores(job: dict[str, Any]) -> set[int]:
    """The cores of the first socket of its first node."""
    held = job["job_resources"]
    if "allocated_nodes" in held:
        sockets = held["allocated_nodes"][0]["sockets"]
        return {int(socket) * 100 + int(core) for socket, one in sockets.items() for core in one["cores"]}
    sockets = held["nodes"]["allocation"][0]["sockets"]
    return {s["index"] * 100 + core["index"] for s in sockets for core in s["cores"] if "ALLOCATED" in core["status"]}


@pytest.mark.parametrize("release", RELEASES)
def test_the_cores_of_a_job_that_is_over_stay_known_and_were_not_given_twice(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, FREE.replace("CPUs=4", "Sockets=1 CoresPerSocket=4"), release=release)
    for number, seconds in enumerate((20, 100, 100)):
        cluster.submit(seconds=seconds, time_limit=10, num_tasks=1, min_cpus=1, name=f"j{number}")
        _after(cluster, 2)
    _after(cluster, 30)  # no client has looked so far, and the first job is over
    cores = {number: _cores(job) for number, job in _jobs(cluster).items()}
    assert cores == {1: {0}, 2: {1}, 3: {2}}


@pytest.mark.parametrize("release", RELEASES)
def test_of_a_run_that_lost_its_node_the_end_of_its_script_is_not_known(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, FREE, release=release)
    assert cluster.run("sbatch -n2 --mem=100 --wrap 'sleep 500'", "alice")[0] == 0
    _after(cluster, 5)
    cluster.text("scontrol update nodename=n1 state=down reason=x")
    job = json.loads(cluster.text("sacct -a --json"))["jobs"][0]
    step = job["steps"][0]["exit_code"]
    if release == "22.05":
        assert step == {"status": "PENDING", "return_code": None}
        assert job["derived_exit_code"] == {"status": "SUCCESS", "return_code": 0}
    else:
        assert (step["status"], step["return_code"]["set"], step["signal"]["id"]["set"]) == (["PENDING"], False, False)
        assert job["derived_exit_code"]["status"] == ["PENDING"] and job["failed_node"] == "n1"
        assert cluster.text("sacct -a -X -n -P -o derivedexitcode,failednode") == "0:0|n1\n"
    waiting = _jobs(cluster)[1]
    assert waiting["tres_alloc_str"] == "cpu=2,node=1,billing=2"
    assert {"22.05": "TRES_STR_CALC"}.get(release, "SKIP_TRES_STRING_ACCOUNTING") in waiting["flags"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_requeued_job_has_a_range_of_nodes_where_those_of_its_last_run_are_forgotten(
    tmp_path: Path, release: str
) -> None:
    """In 22.05 they stay; since 24.11 `reconfigure` reads the job anew, with the number that was found for it."""
    cluster = Cluster(tmp_path, FREE, release=release)
    assert cluster.run("sbatch -N1 --wrap 'sleep 500'", "alice")[0] == 0
    _after(cluster, 5)
    cluster.text("scontrol requeue 1")
    old = release == "22.05"
    most = _jobs(cluster)[1]["max_nodes"]
    assert (most if old else most["number"]) == (0 if old else 1)
    assert f" NumNodes={'1' if old else '1-1'} " in f" {cluster.text('scontrol show job 1').replace(chr(10), ' ')} "
    cluster.text("scontrol reconfigure")
    most = _jobs(cluster)[1]["max_nodes"]
    assert (most if old else most["number"]) == 0


@pytest.mark.parametrize("release", RELEASES[1:])
def test_of_a_job_that_ran_before_a_reconfiguration_no_number_is_read(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, FREE, release=release)
    assert cluster.run("sbatch -N1 --wrap 'sleep 500'", "alice")[0] == 0
    _after(cluster, 5)
    cluster.text("scontrol reconfigure")
    cluster.text("scontrol requeue 1")
    cluster.text("scontrol reconfigure")
    assert _jobs(cluster)[1]["max_nodes"]["number"] == 1


@pytest.mark.parametrize("release", RELEASES[1:])
def test_partitions_are_told_with_a_warning_where_there_is_no_database(tmp_path: Path, release: str) -> None:
    for conf, told in ((FREE, 0), (FREE.replace("/slurmdbd", "/none"), 1)):
        folder = tmp_path / str(told)
        folder.mkdir()
        cluster = Cluster(folder, conf, release=release)
        warnings = json.loads(cluster.text("scontrol show partition --json"))["warnings"]
        assert len(warnings) == told and all("[TRES]" in one["description"] for one in warnings)


@pytest.mark.parametrize("release", RELEASES)
def test_a_node_that_boots_after_a_reconfiguration_has_told_of_nothing(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, f"{FREE}{SAVES}", release=release)
    _after(cluster, 120)
    cluster.text("scontrol reconfigure")
    assert cluster.run("sbatch -N1 --wrap 'sleep 500'", "alice")[0] == 0
    _after(cluster, 3)
    shown = cluster.text("scontrol show node n1")
    assert "State=MIXED+NOT_RESPONDING+POWERING_UP" in shown and "Version=" not in shown
    assert "LastBusyTime=Unknown" in shown
    assert cluster.text("sinfo -h -n n1 -o %T") == "mixed#\n"
    state = _jobs(cluster)[1]["job_state"]
    assert state == ("CONFIGURING" if release == "22.05" else ["RUNNING", "CONFIGURING", "POWER_UP_NODE"])
    _after(cluster, 61)
    shown = cluster.text("scontrol show node n1")
    assert "NOT_RESPONDING" not in shown and "Version=" in shown


@pytest.mark.parametrize("release", RELEASES)
def test_no_scheduler_evaluates_a_job_that_is_over_or_that_its_partition_keeps_out(
    tmp_path: Path, release: str
) -> None:
    conf = FREE.replace("PartitionName=batch", "PartitionName=short Nodes=ALL MaxTime=30\nPartitionName=batch")
    cluster = Cluster(tmp_path, f"{conf}SchedulerParameters=bf_interval=5\n", release=release)
    _after(cluster, 7)
    cluster.run("sbatch -p short -t 60 --wrap hostname", "alice")
    cluster.run("sbatch -N2 --exclusive --wrap 'sleep 500'", "alice")
    cluster.run("sbatch -n1 --wrap hostname", "alice")
    _after(cluster, 8)
    cluster.text("scancel 3")
    ended = cluster.now
    cluster.run("sbatch -N2 --wrap hostname", "alice")
    _after(cluster, 90)
    told = {number: job["last_sched_evaluation"] for number, job in _jobs(cluster).items()}
    when = {number: one if release == "22.05" else one["number"] for number, one in told.items()}
    assert when[1] == ended - 8 and when[3] <= ended < when[4]


@pytest.mark.parametrize(("late", "scheduler"), [(False, "Main"), (True, "Backfill")])
def test_a_cycle_of_backfill_comes_first_for_what_the_loop_has_missed(
    tmp_path: Path, *, late: bool, scheduler: str
) -> None:
    cluster = Cluster(tmp_path, f"{FREE}SchedulerParameters=bf_interval=5\n", release="24.11")
    _after(cluster, 9)
    cluster.engine.controller.state.triggers.late = late
    assert cluster.run("sbatch -n1 --wrap 'sleep 500'", "alice")[0] == 0
    assert "JobState=PENDING" in cluster.text("scontrol show job 1")
    cluster.engine.controller.state.triggers.late = False
    _after(cluster, 5)
    assert f" Scheduler={scheduler}\n" in cluster.text("scontrol show job 1")


@pytest.mark.parametrize("release", RELEASES)
def test_a_node_that_is_resumed_was_busy_until_then(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, FREE, release=release)
    _after(cluster, 5)
    for state in ("down", "drain"):
        cluster.text(f"scontrol update nodename=n1 state={state} reason=x")
        _after(cluster, 10)
        cluster.text("scontrol update nodename=n1 state=resume")
        shown = cluster.text("scontrol show node n1")
        assert f"LastBusyTime=2026-01-05T08:00:{cluster.now % 60:02}" in shown
    assert "LastBusyTime=2026-01-05T08:00:00" in cluster.text("scontrol show node n2")
