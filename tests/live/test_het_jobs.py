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


OVER = ("TIMEOUT", "TimeLimit", "0:15")
WITH_ITS_SCRIPT = ("FAILED", "JobLaunchFailure", "0:15")


@pytest.mark.parametrize(
    ("leader", "other", "then", "ends"),
    [
        ("-t2", "-t2", "true", [OVER, OVER]),  # one scan finds both
        ("-t9 --reservation=r", "-t9 --reservation=r", "scontrol update reservationname=r duration=1", [OVER, OVER]),
        ("-t9 -q short", "-t9 -q normal", "true", [OVER, WITH_ITS_SCRIPT]),
        ("-t9 -q short", "-t9 -q short", "true", [OVER, OVER]),
    ],
)
def test_whatever_limit_is_over(
    leader: str, other: str, then: str, ends: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """22.05, its clock ten times as fast: components over a limit in the same scan are TIMEOUT, the rest FAILED."""
    (tmp_path / "slurm.conf").write_text(LIMITS + "PriorityType=priority/multifactor\n")
    (tmp_path / "accounts.txt").write_text(ACCOUNTS + "sacctmgr -i add qos short GrpTRESMins=cpu=2\n"
                                           "sacctmgr -i modify user alice set qos+=short\n")  # fmt: skip
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", accounting=[tmp_path / "accounts.txt"], frozen=True, start=MORNING,
        users={"alice": 2001},
    ) as c:  # fmt: skip
        c.run(
            "scontrol create reservation reservationname=r starttime=now duration=20 nodecnt=2 users=alice", check=True
        )
        c.run(f"sbatch -N1 {leader} : -N1 {other} --wrap 'sleep 500'", user="alice", check=True)
        c.step(60)
        assert {job.state for job in c.jobs()} == {"RUNNING"}
        c.run(then, check=True)
        c.until_idle()
        assert [(job.state, job.reason, job.exit_code) for job in c.jobs()] == ends


def test_one_refused_component_refuses_all() -> None:
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING) as c:
        refused = c.run("sbatch -N1 : -N1 -p nowhere --wrap true")
        assert (refused.returncode, c.jobs()[0].state) == (1, "CANCELLED")
        c.step(120)
        assert [job.state for job in c.jobs()] == ["CANCELLED"]
        assert c.run("sbatch -N1 : -a1-2 --wrap true").stderr.endswith("Invalid job array specification\n")
        tested = c.run("sbatch --test-only -N1 : -N2 --wrap true")
        assert "using 3 processors on n[1-2]" in tested.stderr
        assert [job.state for job in c.jobs()] == ["CANCELLED"]
        salloc = c.run("salloc -N1 : -N1 -p nowhere true")
        assert salloc.returncode == 1
        assert salloc.stderr.endswith("Invalid partition name specified\nsalloc: Job allocation 4 has been revoked.\n")
        assert (
            "srun: error: Unable to allocate resources: Job can not start immediately"
            in c.run("srun -I -N1 true : -N1 true").stderr
        )
        assert {job.state for job in c.jobs()} == {"CANCELLED"}


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
        c.run(["sbatch", "-n2", "-J", "a", "-o", "/dev/null", ":", "-N2", "-p", "debug", "--wrap", script], check=True)
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


# -- srun and salloc --------------------------------------------------------------------------------------------------


def rows_of(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.splitlines()]


def test_srun_allocates_components_and_runs_one_step_in_all() -> None:
    with slurmsim.cluster(nodes=4, cpus_per_node=2, rate=50) as c:
        shows = "sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_HET_SIZE'"
        ran = c.run(f"srun -N1 -n2 {shows} : -N2 -n3 {shows}")
        assert sorted(ran.stdout.splitlines()) == [
            "0/5 0 1.0 2", "1/5 0 1.0 2", "2/5 1 1.0 2", "3/5 1 1.0 2", "4/5 2 1.0 2"
        ]  # fmt: skip
        assert ran.stderr == "srun: job 1 queued and waiting for resources\nsrun: job 1 has been allocated resources\n"
        steps = rows_of(c.run("sacct -nP -o jobid,jobidraw,ntasks,state").stdout)
        assert [row for row in steps if row[2]] == [
            ["1+0.0", "1.0", "2", "COMPLETED"], ["1+1.0", "2.0", "3", "COMPLETED"]
        ]  # fmt: skip
        failed = c.run("srun -N1 sh -c 'exit 3' : sh -c 'exit 5'")
        assert failed.returncode == 5
        assert {(job.state, job.exit_code) for job in c.jobs()[2:]} == {("FAILED", "5:0")}


def test_steps_inside_choose_their_components() -> None:
    with slurmsim.cluster(nodes=3, cpus_per_node=2, rate=50) as c:
        inside = """
            srun -l echo first; srun -l --het-group=1 echo second; srun -l --het-group=0,1 -n1 echo both
            srun -l -n1 echo a : -n2 echo b; srun --het-group=2 true; srun true : true : true
            srun --het-group=1 true : --het-group=1 true; env | grep -c '^SLURM_JOB_NODELIST_HET_GROUP_[01]='
        """
        ran = c.run(["salloc", "-N1", "-n1", ":", "-N2", "-n2", "sh", "-c", inside])
        assert sorted(ran.stdout.splitlines()) == sorted(
            ["0: first", "0: second", "1: second", "0: both", "1: both", "0: a", "1: b", "2: b", "2"]
        )
        said = [line for line in ran.stderr.splitlines() if line.startswith("srun")]
        assert said == [
            "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1",
            "srun: error: Requested het-group offset exceeds highest hetjob index (2 > 1)",
            "srun: error: Attempt to run a job step with het group value of 2, but the job allocation has maximum "
            "value of 1",
            "srun: fatal: Duplicate het groups in single srun not supported",
        ]
        steps = rows_of(c.run("sacct -nP -o jobid,ntasks").stdout)
        assert [name for name, tasks in steps if tasks] == [
            "1+0.0", "1+0.2", "1+0.3", "1+1.1", "1+1.2", "1+1.3"
        ]  # the leader counts  # fmt: skip


def test_a_component_that_ends_alone_takes_the_allocation_from_salloc_and_no_step_goes_there() -> None:
    with slurmsim.cluster(nodes=2, rate=50) as c:
        ran = c.run("salloc -N1 : -N1 sh -c 'scancel $SLURM_JOB_ID_HET_GROUP_1; sleep 0.3; srun --het-group=1 true'")
        assert ran.stderr.splitlines()[-3:] == [
            "salloc: Job allocation 2 has been revoked.",
            "srun: error: SLURM_JOB_NUM_NODES environment variable conflicts with allocated node count (1 != 0).",
            "srun: error: Unable to create step for job 2: Job/step already completing or completed",
        ]
        assert [job.state for job in c.jobs()] == ["RUNNING", "CANCELLED"]


def test_steps_of_several_components_last_through_a_restart() -> None:
    with slurmsim.cluster(nodes=2, rate=50) as c:
        c.run("salloc -N1 --no-shell : -N1", check=True)
        asked = {"job_id": 1, "num_tasks": 1, "cpu_count": 1}
        assert c.client.call("step_create", step=asked)["step_id"] == 0
        assert c.client.call("step_create", step={**asked, "job_id": 2, "step_id": 0})["step_id"] == 0
        for again in ({**asked, "job_id": 2, "step_id": 0}, {**asked, "step_id": 7}):
            with pytest.raises(Refusal, match="Invalid argument"):
                c.client.call("step_create", step=again)
        c.stop()
        c.start()
        assert c.client.call("step_create", step={**asked, "job_id": 2, "overlap": True})["step_id"] == 1
        assert sorted(c.run("squeue -h -s -o %i").stdout.split()) == ["1.0", "2.0", "2.1"]
        c.run("scancel 1", check=True)
        assert {job.state for job in c.jobs()} == {"CANCELLED"}


def test_each_component_reads_an_input_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "b", "n8", "n9"):  # 22.05 counts the tasks before a component's twice
        (tmp_path / name).write_text(f"of {name}\n" * 50_000 if name == "a" else f"of {name}\n")
    with slurmsim.cluster(nodes=3, cpus_per_node=2, rate=50) as c:
        count = "sh -c 'sort | uniq -c'"
        ran = c.run(f"srun -l -n2 -N1 -i a {count} : -n2 -i b {count} : -n2 -i n%t cat", cwd=tmp_path)
        assert sorted(" ".join(line.split()) for line in ran.stdout.splitlines()) == [
            "0: 50000 of a", "1: 50000 of a", "2: 1 of b", "3: 1 of b", "4: of n8", "5: of n9"
        ]  # fmt: skip
        ran = c.run("srun -n1 cat : -n1 -i b cat : -n1 -i none cat", cwd=tmp_path, input="typed\n")
        assert sorted(ran.stdout.splitlines()) == ["of b", "typed"]


def test_components_of_a_step_share_an_ordinary_allocation() -> None:
    with slurmsim.cluster(nodes=4, cpus_per_node=2, rate=50) as c:
        inside = """
            srun -l sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID/$SLURM_JOB_NUM_NODES $SLURM_JOB_NODELIST' \\
                : -N2 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_HET_SIZE'
            srun -N2 true : -N2 true; srun --het-group=0 true; srun --het-group=1 true
        """
        ran = c.run(["salloc", "-N3", "sh", "-c", inside])
        assert sorted(ran.stdout.splitlines()) == ["0: 0/3 0/3 n[1-3]", "1: 1 n2", "2: 2 n3"]
        assert [line for line in ran.stderr.splitlines() if line.startswith("srun")] == [
            "srun: error: Allocation failure of 2 nodes: job size of 3, already allocated 2 nodes to previous "
            "components.",
            "srun: error: No directives to start application on any available hetjob components",
            "srun: error: Requested het-group offset exceeds highest hetjob index (1 > 0)",
        ]
        steps = rows_of(c.run("sacct -nP -o jobid,jobidraw,ntasks").stdout)
        assert [row for row in steps if row[2]] == [
            ["1.0+0", "1.0+0", "1"], ["1.0+1", "1.0+1", "2"], ["1.1+0", "1.1+0", "2"]
        ]  # fmt: skip
