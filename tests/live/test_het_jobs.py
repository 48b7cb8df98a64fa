"""Heterogeneous jobs in a live cluster: all components or none, whatever else goes on, and what their script sees."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slurmsim
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Refusal

MORNING = "2026-01-05T08:00:00Z"
ACCOUNTS = """\
add cluster cluster
add qos capped GrpTRES=node=3
add account sci
add user alice Account=sci QOS=normal,capped
"""
LIMITS = """\
ClusterName=cluster
SlurmctldHost=localhost
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
NodeName=n[1-4] CPUs=2
PartitionName=batch Nodes=ALL Default=YES
"""

# -- together or not at all -------------------------------------------------------------------------------------------


def request(nodes: int, minutes: int, seconds: int, exclusive: bool) -> dict[str, Any]:
    more = {"shared": "exclusive"} if exclusive else {}
    return {"script": f"#!/bin/sh\nsleep {seconds}\n", "min_nodes": nodes, "max_nodes": nodes, "time_limit": minutes,
            "work_dir": "/tmp", "name": "one", **more}  # fmt: skip


def component(nodes: int, minutes: int, exclusive: bool) -> dict[str, Any]:
    asked = request(nodes, minutes, 0, exclusive)
    del asked["script"]
    return asked


plain = st.builds(request, st.integers(1, 4), st.integers(1, 30), st.integers(1, 1500), st.booleans())
components = st.lists(
    st.builds(component, st.integers(1, 2), st.integers(1, 30), st.booleans()), min_size=1, max_size=2
)
actions = st.one_of(
    st.tuples(st.just("submit"), st.builds(lambda job: {"job": job}, plain)),
    st.tuples(st.just("submit"), st.builds(lambda job, more: {"job": job, "components": more}, plain, components)),
    st.tuples(st.just("clock"), st.builds(lambda s: {"action": "step", "seconds": s}, st.integers(1, 400))),
    st.tuples(st.just("kill"), st.builds(lambda n: {"job_id": str(n)}, st.integers(1, 9))),
    st.tuples(st.just("hold_job"), st.builds(lambda n, kind: {"job_id": f"{n}+1", "kind": kind}, st.integers(1, 6),
                                             st.sampled_from(["hold", "release"]))),
)  # fmt: skip


def rows(c: Cluster) -> list[dict[str, Any]]:
    fields = ["job_id", "het_job_id", "het_job_offset", "job_state", "start_time", "nodes", "shared"]
    answer = c.client.call("jobs", fields=fields)
    return [{name: answer["columns"][name][k] for name in fields} for k in range(answer["n"])]


@settings(max_examples=200 if settings().max_examples > 100 else 20, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, min_size=3, max_size=14))
def test_components_start_together_on_nodes_of_their_own(session: list[Any]) -> None:
    from slurmsim.hostlist import expand

    with slurmsim.cluster(nodes=4, cpus_per_node=2, frozen=True, start=MORNING) as c:
        began: dict[int, dict[int, int]] = {}
        sizes: dict[int, int] = {}
        for call, arguments in [*session, ("clock", {"action": "step", "seconds": 120})]:
            try:
                answer = c.client.call(call, **arguments)
            except Refusal:
                continue
            if call == "submit" and "components" in arguments:
                sizes[answer["job_id"]] = 1 + len(arguments["components"])
            running = [row for row in rows(c) if row["job_state"] == "RUNNING"]
            taken: dict[int, set[str]] = {}
            for row in running:
                if row["het_job_id"]:
                    before = taken.setdefault(row["het_job_id"], set())
                    nodes = set(expand(row["nodes"]))
                    assert not before & nodes
                    before |= nodes
                    began.setdefault(row["het_job_id"], {})[row["het_job_offset"]] = row["start_time"]
        for leader, starts in began.items():
            assert len(set(starts.values())) == 1
            assert 0 in starts and len(starts) <= sizes[leader]


def test_what_one_lacks_keeps_all_from_starting_and_the_rest_goes_on() -> None:
    with slurmsim.cluster(nodes=4, cpus_per_node=2, frozen=True, start=MORNING) as c:
        c.run("sbatch -N2 --exclusive -t 30 --wrap 'sleep 900'", check=True)
        c.step(5)
        c.run("sbatch -N1 --exclusive -t 10 : -N2 --exclusive -t 10 --wrap 'sleep 60'", check=True)
        c.run("sbatch -N1 --exclusive -t 5 --wrap 'sleep 60'", check=True)
        c.step(120)
        assert [(job.job_id, job.state) for job in c.jobs()] == [
            (1, "RUNNING"), (2, "PENDING"), (3, "PENDING"), (4, "COMPLETED")
        ]  # fmt: skip
        c.until_idle()
        _, leader, other, _ = c.jobs()
        assert (leader.start_time, leader.end_time) == (other.start_time, other.end_time)
        assert not set(leader.nodes) & set(other.nodes)


def test_limits_are_counted_together(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(LIMITS)
    (tmp_path / "accounts.txt").write_text(ACCOUNTS)
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", accounting=[tmp_path / "accounts.txt"], frozen=True, start=MORNING,
        users={"alice": 2001},
    ) as c:  # fmt: skip
        asked = "sbatch -q capped -N{} -t 5 : -q capped -N2 -t 5 --wrap 'sleep 30'"
        c.run(asked.format(2), user="alice", check=True)  # either alone is allowed, four nodes are not
        c.step(120)
        assert {job.state for job in c.jobs()} == {"PENDING"}
        assert "QOSGrpNodeLimit" in {job.reason for job in c.jobs()}
        c.run("scancel 1", user="alice")
        c.run(asked.format(1), user="alice", check=True)
        c.step(120)
        assert [job.state for job in c.jobs()[2:]] == ["COMPLETED"] * 2
        assert all(job.restarts == 0 for job in c.jobs())


def test_ends(tmp_path: Path) -> None:
    with slurmsim.cluster(nodes=4, frozen=True, start=MORNING) as c:
        c.run("sbatch -N1 : -N1 --wrap 'sleep 40; exit 3'; sbatch -N1 -t1 : -N1 -t9 --wrap 'sleep 400'", check=True)
        c.run("sbatch -N1 -t9 : -N1 -t1 --wrap 'sleep 200'", check=True)
        c.until_idle()
        ends = [(job.state, job.reason, job.exit_code) for job in c.jobs()]
        assert ends[:2] == [("FAILED", "NonZeroExitCode", "3:0")] * 2
        assert ends[2:4] == [("TIMEOUT", "TimeLimit", "0:15"), ("FAILED", "JobLaunchFailure", "0:15")]
        assert ends[4:] == [("COMPLETED", "None", "0:0"), ("TIMEOUT", "TimeLimit", "0:15")]
        assert c.jobs()[2].end_time == c.jobs()[3].end_time
        c.step("1h")  # slurmctld forgets them, accounting does not
        for asked, told in (
            ("1", ["1+0", "1+1"]), ("2", ["1+1"]), ("1+1 --whole-hetjob=yes", ["1+0", "1+1"]),
            ("1 --whole-hetjob=no", ["1+0"]), ("1+3", []),
        ):  # fmt: skip
            assert c.run(f"sacct -X -n -P -o jobid -j {asked}").stdout.split() == told


def test_one_refused_component_refuses_all() -> None:
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING) as c:
        refused = c.run("sbatch -N1 : -N1 -p nowhere --wrap true")
        assert (refused.returncode, c.jobs()[0].state) == (1, "CANCELLED")
        c.step(120)
        assert [job.state for job in c.jobs()] == ["CANCELLED"]
        assert c.run("sbatch -N1 : -a1-2 --wrap true").stderr.endswith("Invalid job array specification\n")
        assert "not supported" in c.run("sbatch --test-only -N1 : -N1 --wrap true").stderr
        assert "heterogeneous" in c.run("salloc -N1 : -N1 true").stderr


@pytest.mark.parametrize("scheduler", ["sched/builtin", "sched/easy"])
def test_without_backfill_there_are_none(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        f"ClusterName=c\nSlurmctldHost=h\nSchedulerType={scheduler}\nNodeName=n[1-2]\n"
        "PartitionName=b Nodes=ALL Default=YES\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, start=MORNING) as c:
        assert "not supported" in c.run("sbatch -N1 : -N1 --wrap true").stderr
        assert c.jobs() == []


def test_at_once() -> None:
    """bf_hetjob_immediate: the nodes are gone before the next in line is looked at; it changes no start here."""
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING) as c:
        conf = c.folder / "slurm.conf"
        conf.write_text(conf.read_text() + "SchedulerParameters=bf_hetjob_immediate\n")
        assert c.run("scontrol reconfigure").returncode == 0
        c.run("sbatch -N1 --exclusive -t5 : -N1 --exclusive -t5 --wrap 'sleep 50'; sbatch -t1 --wrap true", check=True)
        c.step(40)
        assert [job.state for job in c.jobs()] == ["RUNNING", "RUNNING", "PENDING"]


# -- what lasts, and what scripts see ---------------------------------------------------------------------------------


def test_restarts_and_copies_keep_them() -> None:
    with slurmsim.cluster(nodes=3, frozen=True, start=MORNING) as c:
        c.run("sbatch -N1 --exclusive -t5 : -N2 --exclusive -t5 --wrap 'sleep 50'", check=True)
        c.run("sbatch -N1 --exclusive -t5 : -N2 --exclusive -t5 --wrap 'sleep 70'", check=True)
        c.step(60)
        with c.fork() as fork:
            fork.until_idle()
            copied = [(job.state, job.start_time, job.nodes) for job in fork.jobs()]
        c.stop()
        c.start()
        c.until_idle()
        assert [(job.state, job.start_time, job.nodes) for job in c.jobs()] == copied
        assert {job.state for job in c.jobs()} == {"COMPLETED"}


def test_the_script_runs_once_and_knows_of_all(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"env | grep ^SLURM_ >>{said}.part; mv {said}.part {said}"
    with slurmsim.cluster(nodes=3, rate=20) as c:
        c.run(["sbatch", "-n2", "-J", "a", ":", "-N2", "-p", "debug", "--wrap", script], check=True)
        last = time.monotonic() + 30
        while not said.exists() and time.monotonic() < last:
            time.sleep(0.05)
        found = dict(line.split("=", 1) for line in said.read_text().splitlines())
        assert (found["SLURM_JOB_ID"], found["SLURM_HET_SIZE"], found["SLURM_NTASKS_HET_GROUP_0"]) == ("1", "2", "2")
        assert (found["SLURM_JOB_ID_HET_GROUP_1"], found["SLURM_JOB_PARTITION_HET_GROUP_1"]) == ("2", "debug")
        assert found["SLURM_JOB_NUM_NODES_PACK_GROUP_1"] == "2"
        assert found["SLURM_JOB_NODELIST_HET_GROUP_0"] == found["SLURM_JOB_NODELIST"]
        while any(job.state == "RUNNING" for job in c.jobs()) and time.monotonic() < last:
            time.sleep(0.05)
        assert [job.state for job in c.jobs()] == ["COMPLETED"] * 2
