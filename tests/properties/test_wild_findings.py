"""What wild worlds have shown, as small as it gets (``python -m wild.shrink``): each is sound now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from wild.judging import judge
from wild.requests_met import unmet
from wild.running import Ran
from wild.texts import expand
from wild.world import World

FOUND = {
    # the validator took what still ran for ended when the run stopped later than all starts and ends
    "a job that stands still at the end of the run": World(
        1024,
        ("NodeName=n[1-2] Gres=gpu:2,nic:2", "GresTypes=gpu,nic", "PartitionName=p Nodes=ALL Default=YES"),
        (
            {"job_id": 6, "submit": 147, "nodes": 2, "options": "--gpus-per-socket=1 --sockets-per-node=1"},
            {"job_id": 23, "submit": 317, "cancel_at": 617},
        ),
        watts=("time,watts", "293,1220", "362,140"),
        options={"power_budget": "@watts.csv"},
    ),
    # the gang stopped a job whose watts nobody had counted yet: KeyError
    "a gang under a budget": World(
        1105,
        (
            "SelectType=select/cons_tres", "PreemptType=preempt/qos", "PreemptMode=CANCEL,GANG",
            "NodeName=n[1-6] RealMemory=8000", "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2",
        ),
        (
            {"job_id": 1, "submit": 0, "nodes_max": 5, "run_time": 300},
            {"job_id": 8, "submit": 166, "mem_per_cpu": 10, "run_time": 300},
            {"job_id": 10, "submit": 186, "mem_per_node": 100, "run_time": 60},
        ),
        options={"power_budget": "300"},
    ),
    # a job that had been suspended for want of watts went on in another row's turn: 6 CPUs in use of 4
    "a gang under a budget, out of turn": World(
        1400560,
        (
            "SelectType=select/cons_tres", "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE,GANG",
            "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=20", "DefMemPerNode=500",
            "NodeName=n[1-3] CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000",
            "PartitionName=p Nodes=ALL Default=YES OverSubscribe=YES:2",
        ),
        (
            {"job_id": 43, "submit": 963, "time_limit": 600, "tasks": 4, "cpus_per_task": 2},
            *({"job_id": n, "submit": at} for n, at in ((45, 1008), (46, 1008), (53, 1009), (54, 1009))),
        ),
        options={"power_budget": "360"},
    ),
    # the run ended in the second in which a failure let its job start once more: joules of a phase of no length
    "a start in the last second": World(
        1800424,
        ("NodeName=n[2-3]", "PartitionName=p Nodes=ALL Default=YES"),
        ({"job_id": 1, "submit": 1},),
        watts=("time,watts", "908,270"),
        options={"policy": "eos", "mtbf": 20000, "mttr": 100, "power_budget": "@watts.csv"},
    ),
    # kernels said never, plain Python gave four CPUs
    "one task with a GPU under MaxMemPerCPU": World(
        1174,
        (
            "SelectType=select/cons_tres", "MaxMemPerCPU=2000",
            "NodeName=n[1-4] CoresPerSocket=8 RealMemory=8000 Gres=gpu:2", "PartitionName=p Nodes=ALL Default=YES",
        ),
        ({"job_id": 17, "submit": 402, "tasks": 1, "gres": "gpu:1", "run_time": 60},),
    ),
    # the row said memory and GPUs of the most nodes, and CPUs of the fewest
    "a job on fewer nodes than it may have": World(
        44,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "GresTypes=gpu",
            "NodeName=n[1-2] CPUs=4 RealMemory=1000 Gres=gpu:2",
            "NodeName=n3 CPUs=4 RealMemory=1000 Gres=gpu:2 State=DOWN",
            "PartitionName=p Nodes=ALL Default=YES",
        ),
        (
            {"job_id": 1, "submit": 0, "run_time": 60, "time_limit": 300, "nodes": 3, "min_nodes": 2, "max_nodes": 3,
             "mem_per_cpu": 10, "gres": "gpu:1", "app": "LeanMD:parallelism=24:sigma=0.2"},
        ),
        options={"policy": "equipartition"},
    ),
    # a job inside its reservation started without a look at the budget; the validator knew no limit of a year
    "a job of a reservation under a budget": World(
        5393,
        ("NodeName=n[1-4]", "PartitionName=p Nodes=ALL Default=YES"),
        (
            {"job_id": 1, "submit": 1},
            {"job_id": 22, "submit": 227, "account": "a", "reservation": "r1", "nodes_max": 3},
        ),
        reservations=(
            '[[reservation]]\nname = "r1"\nstart = 1013\nduration = "00:01:00"\nnodes = "ALL"\naccounts = ["a"]\n'
            "flags = ['FLEX', 'IGNORE_JOBS']",
        ),
        watts=("time,watts", "1,280"),
        options={"policy": "cpu_hours", "power_budget": "@watts.csv"},
    ),
    # the validator knew no flags of QOS
    "a QOS that lifts MaxTime": World(
        5037,
        (
            "ClusterName=wild", "AccountingStorageType=accounting_storage/slurmdbd",
            "AccountingStorageEnforce=associations,limits,qos", "EnforcePartLimits=ALL", "NodeName=n1",
            "PartitionName=p Nodes=ALL Default=YES MaxTime=20",
        ),
        ({"job_id": 33, "submit": 0, "run_time": 3000, "time_limit": 3600, "user": "ann", "qos": "low"},),
        accounts=("add qos low Flags=PartitionTimeLimit", "add account a QOS=normal,low", "add user ann Account=a"),
    ),
    # whose exempt time was noted depended on the jobs a plan looked at: by kernels on others than without
    "an exempt time that nobody waits for": World(
        1274,
        (
            "PreemptType=preempt/qos", "PreemptMode=REQUEUE", "PreemptExemptTime=00:01:00",
            "AccountingStorageEnforce=safe,qos", "NodeName=n[1-4]", "PartitionName=p Nodes=ALL Default=YES",
            "PartitionName=q",
        ),
        (
            {"job_id": 5, "submit": 1000, "user": "eve"},
            {"job_id": 17, "submit": 1194, "user": "ann", "qos": "high", "nodes": 4},
            {"job_id": 31, "submit": 1495, "user": "ann", "partition": "q,p"},
            {"job_id": 34, "submit": 1500, "user": "eve"},
        ),
        accounts=(
            "add qos high Priority=100 Preempt=low,normal Flags=NoReserve", "add qos low Priority=1 MaxJobsPerUser=2",
            "add account a Fairshare=10 QOS=normal,high,low GrpTRES=mem=4000",
            "add account b Fairshare=1 QOS=normal,high,low GrpWall=100", "add account bb parent=b",
            "add user ann Account=a GrpTRESMins=cpu=400", "add user eve Account=bb MaxTRES=node=2",
        ),
        events=(("1187", "fail", "n3", "", "x", ""),),
    ),
    # the second count took a lower tier for one that stops when the row of a higher one changes (see `wild.count`)
    "turns beside a lower tier": World(
        900216,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "PreemptMode=GANG",
            "NodeName=n1 CoresPerSocket=2", "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2",
            "PartitionName=z Nodes=ALL OverSubscribe=FORCE:2 PriorityTier=5",
        ),
        (
            {"job_id": 26, "submit": 0, "run_time": 600},
            {"job_id": 38, "submit": 4, "run_time": 600, "partition": "z"},
            {"job_id": 47, "submit": 11, "run_time": 300, "partition": "z", "exclusive": 1},
        ),
    ),
    # the second count knew LLN=YES of a partition only: with CR_LLN, too, slurmctld gives the least loaded nodes
    "--contiguous where the least loaded nodes come first": World(
        940102,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory,CR_LLN",
            "NodeName=n[1-4] RealMemory=900", "PartitionName=p Nodes=ALL Default=YES",
        ),
        (
            {"job_id": 1, "submit": 0, "run_time": 300, "node_list": "n2", "mem_per_node": 9},
            {"job_id": 2, "submit": 0, "run_time": 300, "node_list": "n3", "mem_per_node": 9},
            {"job_id": 3, "submit": 9, "run_time": 300, "nodes": 2, "contiguous": 1, "mem_per_node": 9},
        ),
    ),
    # the second count held the size after a lost node against what was asked for
    "a job that goes on without a lost node": World(
        940131,
        ("NodeName=n[1-3]", "PartitionName=p Nodes=ALL Default=YES"),
        ({"job_id": 1, "submit": 0, "run_time": 300, "nodes": 3, "contiguous": 1, "options": "--no-kill"},),
        events=(("60", "down", "n2", "", "x", ""),),
    ),
    # who starts beside others in a gang was not asked for watts: nobody knew yet which of them would run
    "a start of a gang under a budget": World(
        951054,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU_Memory", "PreemptType=preempt/partition_prio",
            "PreemptMode=SUSPEND,GANG", "PriorityType=priority/multifactor", "PriorityWeightQOS=10000",
            "NodeName=n[1-12] CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000",
            "PartitionName=p Nodes=ALL Default=YES OverSubscribe=YES",
        ),
        (
            {"job_id": 1, "submit": 1000, "time_limit": 60},
            {"job_id": 5, "submit": 1171, "nodes_max": 7},
            {"job_id": 6, "submit": 1176, "run_time": 30},
            {"job_id": 9, "submit": 1197, "time_limit": 60, "tasks": 4, "mem_per_cpu": 10},
            {"job_id": 10, "submit": 1197, "deadline": 5197},
            {"job_id": 17, "submit": 1213, "time_limit": 300, "qos": "high"},
            {"job_id": 18, "submit": 1213, "time_limit": 300},
            {"job_id": 20, "submit": 1333, "time_limit": 300, "mem_per_cpu": 250},
            {"job_id": 31, "submit": 1610, "time_limit": 600, "mem_per_node": 500},
        ),
        accounts=("add qos high Priority=100",),
        events=(("1012", "down", "n12", "", "x", ""), ("1076", "drain", "n8", "", "x", "")),
        watts=("time,watts", "1000,240"),
        options={"power_budget": "@watts.csv", "idle_w": "10"},
        release="24.11",
    ),
    # builtin made estimates every 30 s of the eight days for which an unused daily reservation keeps the run going
    "estimates beside a daily reservation": World(
        920025,
        ("AccountingStorageEnforce=limits", "NodeName=n[1-6]", "PartitionName=p"),
        ({"job_id": 1, "submit": 0, "user": "eve", "partition": "p"},),
        reservations=(
            '[[reservation]]\nname = "r1"\nstart = 1580\nduration = "00:01:00"\nnodes = "ALL"\naccounts = ["a"]\n'
            "flags = ['DAILY']",
        ),
        options={"policy": "builtin"},
    ),
    # backfill of 26.05 gave a job that started with its minimum time its whole limit, into a reservation
    "a minimum time before a reservation": World(
        1101289,
        ("NodeName=n[2-6]", "PartitionName=p Nodes=ALL Default=YES"),
        (
            {"job_id": 5, "submit": 1122, "run_time": 3000, "nodes_max": 5},
            {"job_id": 33, "submit": 2031, "run_time": 3000, "time_min": 60},
        ),
        reservations=(
            '[[reservation]]\nname = "r2"\nstart = 2516\nduration = "00:05:00"\nnodes = "n2"\nusers = ["-eve"]\n'
            "flags = ['PURGE_COMP']",
        ),
        release="26.05",
    ),
    # running jobs grew on nodes that were reserved to others soon after
    "a job that grows before a reservation": World(
        1101341,
        ("NodeName=n[1-8]", "PartitionName=p Nodes=ALL Default=YES"),
        (
            {"job_id": 10, "submit": 1180, "run_time": 3000, "nodes": 8, "app": "LeanMD:parallelism=4:sigma=1",
             "min_nodes": 5, "malleable": 1},
        ),
        reservations=(
            '[[reservation]]\nname = "r1"\nstart = 1200\nduration = "00:01:00"\nnodes = "n[5-7]"\nusers = ["root"]',
            '[[reservation]]\nname = "r2"\nstart = 1348\nduration = "00:20:00"\nnodes = "n5"\nusers = ["root"]\n'
            "flags = ['DAILY']",
        ),
        options={"policy": "equipartition"},
    ),
    # what the kernel found for a job in p was not yet heard of where it looked at the same job in q
    "a limit of one of two partitions": World(
        970220,
        ("AccountingStorageEnforce=limits", "NodeName=n[1-2] CoresPerSocket=4", "PartitionName=p Nodes=ALL",
         "PartitionName=q Nodes=ALL QOS=low"),
        (
            {"job_id": 10, "submit": 122, "run_time": 3000, "user": "bob", "partition": "p"},
            {"job_id": 43, "submit": 1303, "run_time": 60, "user": "bob", "partition": "p,q", "tasks": 8},
        ),
        accounts=("add qos low MaxTRESPerJob=cpu=4", "add account b", "add user bob Account=b"),
    ),
    # the slice let a job go on whose grace time was over: it was TIMEOUT, in slurmctld a preempted job never is
    "a slice after the grace time": World(
        1020383,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_Socket", "PreemptType=preempt/partition_prio",
            "PreemptMode=SUSPEND,GANG", "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=300",
            "NodeName=n[1-3] State=CLOUD",
            "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:3 PreemptMode=CANCEL GraceTime=20",
            "PartitionName=z Nodes=ALL PriorityTier=10",
        ),
        (
            {"job_id": 1, "submit": 1}, {"job_id": 2, "submit": 121},
            {"job_id": 12, "submit": 165, "tasks": 2, "partition": "z"},
        ),
        options={"mtbf": 20_000, "mttr": 2000, "seed": 69, "boot_time": 100},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found_once(name: str, tmp_path: Path) -> None:
    ran, findings = judge(FOUND[name], tmp_path / "w")
    assert (ran.how, findings) == ("ran", [])


ASKED = {
    "1 task": ({"tasks": 1, "gres": "gpu:1"}, 1, 1),
    "1 task, no GPU": ({"tasks": 1}, 4, 1),
    "2 tasks": ({"tasks": 2, "gres": "gpu:1"}, 4, 1),
    "1 node": ({"nodes": 1, "gres": "gpu:1"}, 4, 1),
    "2 nodes, 2 tasks": ({"nodes": 2, "tasks": 2, "gres": "gpu:1"}, 2, 2),
    "1 task of 2 CPUs": ({"tasks": 1, "cpus_per_task": 2, "gres": "gpu:1"}, 2, 1),
}


@pytest.mark.parametrize("name", ASKED)
def test_cpus_for_memory_beside_gpus(name: str, tmp_path: Path) -> None:
    """MaxMemPerCPU asks for four CPUs a node; a job of one task a node and GPUs gets those of its tasks all the same.

    Asked of slurmctld 22.05.8 (nodes of 8 CPUs, 8,000 MiB, gpu:2; MaxMemPerCPU=2000, no default): CPUs and nodes squeue
    showed of ``sbatch -n1 --gres=gpu:1``, ``-n1``, ``-n2 --gres=gpu:1``, ``-N1 --gres=gpu:1``,
    ``-N2 -n2 --gres=gpu:1``, ``-n1 -c2 --gres=gpu:1``.
    """
    job, cpus, nodes = ASKED[name]
    world = FOUND["one task with a GPU under MaxMemPerCPU"]
    small = World(0, world.conf, ({"job_id": 1, "submit": 0, "run_time": 60, **job},))
    ran, findings = judge(small, tmp_path / "w")
    assert ran.folder is not None and not findings
    row = pq.read_table(ran.folder / "jobs.parquet").to_pylist()[0]
    assert (row["cpus"], row["nodes"], row["state"]) == (cpus, nodes, "COMPLETED")


def test_a_layout_is_for_a_partition_that_takes_the_job(tmp_path: Path) -> None:
    """The policy laid the job out for p, whose MinNodes it does not meet: what q lacks is said instead."""
    world = World(
        93,
        (
            "SelectType=select/cons_tres", "NodeName=n[1-2] CoresPerSocket=2",
            "PartitionName=p Nodes=ALL Default=YES MinNodes=2", "PartitionName=q Nodes=ALL",
        ),
        ({"job_id": 4, "submit": 121, "run_time": 9, "tasks": 2, "partition": "q,p"},),
        options={"policy": "list"},
    )  # fmt: skip
    ran, findings = judge(world, tmp_path / "w")
    assert (ran.how, findings) == ("refused", [])
    assert "asks for something per node and leaves open how many nodes: that is not modelled" in ran.said
    sized = replace(world, jobs=({**world.jobs[0], "mem_per_cpu": 10},))
    assert judge(sized, tmp_path / "sized") == (Ran("ran", "", tmp_path / "sized" / "usual"), [])


# SelectTypeParameters, cores of the nodes, jobs before it, CPUs it gets on each node: as squeue and scontrol of
# slurmctld 22.05.8 showed them (DefMemPerNode=500, nodes of 4,000 MiB)
ODD_CPUS = {
    "CR_Core_Memory": (4, [{"nodes": 6}], "3(x2),2(x3)"),
    "CR_CPU_Memory": (8, [{"nodes": 6}], "7,6"),
    "CR_CPU_Memory,CR_Pack_Nodes": (
        8,
        [{"nodes": 1, "node_list": f"n{node}", "tasks": tasks} for node, tasks in ((1, 6), (2, 3), (3, 4))],
        "2,4(x2),2",
    ),
}


@pytest.mark.parametrize("parameters", ODD_CPUS)
def test_seven_tasks_of_two_cpus(parameters: str, tmp_path: Path) -> None:
    """``sbatch -n7 -c2`` gets fewer than 14 CPUs where nodes have odd numbers of free ones, as in Slurm."""
    cores, before, expected = ODD_CPUS[parameters]
    world = World(
        900545,
        (
            "SelectType=select/cons_tres", f"SelectTypeParameters={parameters}", "DefMemPerNode=500",
            f"NodeName=n[1-{4 if len(before) > 1 else 12}] CoresPerSocket={cores} RealMemory=4000",
            "PartitionName=p Nodes=ALL Default=YES",
        ),
        (
            *({"job_id": k, "submit": 0, "run_time": 300, **job} for k, job in enumerate(before, 1)),
            {"job_id": 9, "submit": 5, "run_time": 300, "tasks": 7, "cpus_per_task": 2},
        ),
    )  # fmt: skip
    ran, findings = judge(world, tmp_path / "w")
    assert ran.folder is not None and not findings
    rows = {row["job_id"]: row for row in pq.read_table(ran.folder / "jobs.parquet").to_pylist()}
    assert rows[9]["cpus_per_node"] == expected


AT_MOST_FOUR = {
    "1 CPU taken": ({"tasks": 5, "cpus_per_task": 2}, 1, "3,4,2"),
    "3 CPUs taken": ({"tasks": 5, "cpus_per_task": 2}, 3, "4(x2),2"),
    "tasks of 3": ({"tasks": 4, "cpus_per_task": 3}, 1, "3(x4)"),
}


@pytest.mark.parametrize("name", AT_MOST_FOUR)
def test_tasks_of_several_cpus_under_max_cpus_per_node(name: str, tmp_path: Path) -> None:
    """As slurmctld 22.05.8 showed them (four nodes of 8 CPUs, MaxCPUsPerNode=4, a job of so many CPUs before it)."""
    job, before, expected = AT_MOST_FOUR[name]
    world = World(
        920162,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "DefMemPerNode=500",
            "NodeName=n[1-4] CoresPerSocket=8 RealMemory=4000",
            "PartitionName=p Nodes=ALL Default=YES MaxCPUsPerNode=4",
        ),
        (
            {"job_id": 1, "submit": 0, "run_time": 300, "tasks": before},
            {"job_id": 2, "submit": 5, "run_time": 300, **job},
        ),
    )  # fmt: skip
    ran, findings = judge(world, tmp_path / "w")
    assert ran.folder is not None and not findings
    rows = {row["job_id"]: row for row in pq.read_table(ran.folder / "jobs.parquet").to_pylist()}
    assert rows[2]["cpus_per_node"] == expected


SKIPPED = {
    "n[1-5] of 4 CPUs, n6 of 8": ({"nodes": 2, "tasks": 6, "cpus_per_task": 2}, (), "n[1,6]"),
    "n[1-3] taken": ({"nodes": 2, "tasks": 6, "cpus_per_task": 2}, ({"nodes": 3, "exclusive": 1},), "n[4,6]"),
    "three nodes": ({"nodes": 3, "tasks": 8, "cpus_per_task": 2}, (), "n[1-2,6]"),
    "2 CPUs of n1 and n2 taken": (
        {"nodes": 2, "tasks": 3, "cpus_per_task": 2, "exclude": "n6"},
        ({"node_list": "n1", "cpus_per_task": 2}, {"node_list": "n2", "cpus_per_task": 2}),
        "n[1,3]",
    ),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_the_last_of_contiguous_nodes_may_be_further_on(name: str, tmp_path: Path) -> None:
    """The second count took it for a fault; ``sbatch --contiguous`` with CR_Core, as slurmctld 22.05.8 showed it."""
    job, before, expected = SKIPPED[name]
    conf = (
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
        "NodeName=n[1-5] CoresPerSocket=2 ThreadsPerCore=2", "NodeName=n6 CoresPerSocket=8",
        "PartitionName=p Nodes=ALL Default=YES",
    )  # fmt: skip
    first = ({"job_id": k, "submit": 0, "run_time": 300, **more} for k, more in enumerate(before, 1))
    row = {"job_id": 7, "submit": 9, "run_time": 60, "contiguous": 1, **job}
    ran, findings = judge(World(991371, conf, (*first, row)), tmp_path / "w")
    assert ran.folder is not None and not findings
    rows = {row["job_id"]: row for row in pq.read_table(ran.folder / "jobs.parquet").to_pylist()}
    assert rows[7]["node_list"] == expected


@pytest.mark.parametrize(("nodes", "n2", "right"), [("n[1,3]", 3, True), ("n[1,3]", 4, False), ("n[1,3-4]", 3, False)])
def test_the_second_count_still_tells_nodes_that_are_apart(nodes: str, n2: int, right: bool) -> None:
    """`n2`: CPUs of the 4 of n2 that another job has."""
    n = len(expand(nodes))
    job = {"job_id": 2, "submit": 0, "contiguous": 1, "nodes": n}
    world = World(0, ("PartitionName=p",), ({"job_id": 1, "submit": 0}, job))
    facts = {"cluster": {"partitions": {"p": {"nodes": "n[1-4]"}}, "whole_nodes": False, "memory_tracked": False}}
    runs = [
        {"job_id": k, "partition": "p", "start": k, "held_since": k, "end": 9, "node_list": names, "gpus": 0,
         "cpus_per_node": cpus, "cpus": c, "nodes": c if k == 2 else 1, "gres_per_node": "", "state": "COMPLETED"}
        for k, names, cpus, c in ((1, "n2", str(n2), n2), (2, nodes, f"1(x{n})", n))
    ]  # fmt: skip
    found = list(unmet(world, runs, {f"n{k}": (4, 0, {}) for k in range(1, 5)}, facts))
    assert found == ([] if right else [("request", f"job 2 started at 2: {nodes} are not side by side")])


SIDE_BY_SIDE = {
    "-N2 -n4": ({"nodes": 2, "tasks": 4}, "n[3-4]", "n[1,3]"),
    "-N2": ({"nodes": 2}, "n[3-4]", "n[1-2]"),
    "-N3": ({"nodes": 3}, "n[1-3]", "n[1-3]"),
}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_nodes_side_by_side_of_several_weights(name: str, tmp_path: Path) -> None:
    """``sbatch --contiguous`` with select/linear, then with select/cons_tres, as slurmctld 22.05.8 showed them."""
    job, *expected = SIDE_BY_SIDE[name]
    found = []
    for plugin, unit in (("select/linear", "CR_Memory"), ("select/cons_tres", "CR_Core_Memory")):
        conf = (
            f"SelectType={plugin}", f"SelectTypeParameters={unit}", "NodeName=n[1-2] RealMemory=1000 Weight=5",
            "NodeName=n[3-4] CPUs=4 CoresPerSocket=4 RealMemory=1000 Weight=1", "PartitionName=p Nodes=ALL Default=YES",
        )  # fmt: skip
        row = {"job_id": 1, "submit": 0, "run_time": 60, "contiguous": 1, "mem_per_node": 100, **job}
        ran, _ = judge(World(960594, conf, (row,)), tmp_path / unit)
        assert ran.folder is not None
        found += [row["node_list"] for row in pq.read_table(ran.folder / "jobs.parquet").to_pylist()]
    assert found == expected


def test_a_partition_that_keeps_a_job_out_shows_none_of_its_limits(tmp_path: Path) -> None:
    """Backfill found the limit of q's QOS for a job that q, of one node, cannot hold.

    slurmctld 22.05.8, two nodes of 4 CPUs: ``sbatch -p p,q`` held n1, then ``sbatch -p p,q -n8`` showed Resources, and
    PartitionConfig from the first cycle on, which does not look at it in q. It never showed QOSMaxCpuPerJobLimit.
    """
    world = FOUND["a limit of one of two partitions"]
    conf = (*world.conf[:-1], "PartitionName=q Nodes=n2 QOS=low")
    jobs = tuple({**job, "partition": "p,q"} for job in world.jobs)
    ran, findings = judge(replace(world, conf=conf, jobs=jobs), tmp_path / "w")
    assert ran.folder is not None and not findings
    events = pq.read_table(ran.folder / "events.parquet").to_pylist()
    reasons = [event["reason"] for event in events if event["event"] == "REASON" and event["job_id"] == 43]
    assert reasons == ["Resources", "PartitionConfig"]


@pytest.mark.parametrize(("most", "expected"), [(2, "n[1-2,4]"), (3, "n[1-4]")])
def test_spread_jobs_get_a_node_that_is_powered_down(most: int, expected: str, tmp_path: Path) -> None:
    """The second count took it for one too many; ``sbatch -N2 --spread-job`` and ``-N2-3`` of slurmctld 26.05.5."""
    conf = (
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "SuspendProgram=/bin/true",
        "ResumeProgram=/bin/true", "SuspendTime=5", "SuspendTimeout=3", "ResumeTimeout=60", "SuspendExcNodes=n[1-3]",
        "NodeName=n[1-4] CPUs=4 CoresPerSocket=4 Weight=5", "PartitionName=p Nodes=ALL Default=YES",
    )  # fmt: skip
    row = {"job_id": 2, "submit": 60, "run_time": 60, "nodes": 2, "nodes_max": most, "options": "--spread-job"}
    first = {"job_id": 1, "submit": 0, "run_time": 9}  # the seconds before it let n4 power down
    ran, findings = judge(World(970633, conf, (first, row), release="26.05"), tmp_path / "w")
    assert ran.folder is not None and not findings
    rows = {row["job_id"]: row for row in pq.read_table(ran.folder / "jobs.parquet").to_pylist()}
    assert rows[2]["node_list"] == expected
