"""What public bug reports tell of real Slurm, as small sessions; each answer was recorded from real Slurm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=10,bf_resolution=60
PriorityType=priority/multifactor
PriorityWeightPartition=1000
DefMemPerCPU=100
NodeName=n[1-8] Sockets=2 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=5
PartitionName=hi Nodes=ALL MaxTime=60 PriorityTier=10 PriorityJobFactor=10
"""
RELEASES = pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])


def made(folder: Path, release: str, conf: str = CONF, accounting: str = "") -> Cluster:
    return Cluster(folder, conf, accounting=accounting, release=release)


def queue(cluster: Cluster, form: str = "%i %t %D %r") -> list[str]:
    return cluster.text(f"squeue -h -S i -o '{form}'").splitlines()


# -- begin times ------------------------------------------------------------------------------------------------------


@RELEASES
def test_start_time_now_replaces_the_begin_time_of_a_requeue(tmp_path: Path, release: str) -> None:
    """All three: the job runs again within six seconds."""
    cluster = made(tmp_path, release)
    cluster.run("sbatch -t 30 --wrap 'sleep 1000'", "alice")
    cluster.run("sbatch -t 30 -a 1 --wrap 'sleep 1000'", "alice")
    cluster.now += 6
    cluster.text("scontrol requeue 1")
    cluster.text("scontrol requeue 2_1")
    cluster.now += 5
    assert queue(cluster, "%t %r") == ["PD BeginTime"] * 2
    cluster.text("scontrol update jobid=1 StartTime=now")
    cluster.text("scontrol update jobid=2 StartTime=now-60")
    assert queue(cluster, "%t %r %S") == ["PD None N/A"] * 2
    cluster.now += 6
    assert queue(cluster, "%t %r") == ["R None"] * 2


@RELEASES
def test_start_time_now_of_a_job_that_was_requeued_and_held(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    cluster.run("sbatch -t 30 --wrap 'sleep 1000'", "alice")
    cluster.now += 6
    cluster.text("scontrol requeuehold 1")
    cluster.now += 7
    cluster.text("scontrol update jobid=1 StartTime=now+20")
    cluster.text("scontrol update jobid=1 StartTime=now-60")
    cluster.text("scontrol release 1")
    cluster.now += 7
    assert queue(cluster, "%t %r") == ["R None"]


# -- partitions that are up again -------------------------------------------------------------------------------------


@RELEASES
@pytest.mark.parametrize("state", ["down", "inactive"])
def test_a_partition_that_is_up_again_holds_nothing_against_its_jobs(tmp_path: Path, release: str, state: str) -> None:
    """All three: who is behind another says Priority, as it did before the partition was closed."""
    cluster = made(tmp_path, release)
    cluster.run("sbatch -p hi -N8 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -n20 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -n20 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -w n7 --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -a 1-3 -N8 --exclusive --wrap 'sleep 60'", "alice")
    cluster.now += 5
    cluster.text(f"scontrol update partitionname=main state={state}")
    cluster.now += 4
    closed = f"Partition{state.capitalize()}"
    assert queue(cluster)[1:] == [f"2 PD 3 {closed}", f"3 PD 3 {closed}", f"4 PD 1 {closed}", f"5_[1-3] PD 8 {closed}"]
    cluster.text("scontrol update partitionname=main state=up")
    cluster.now += 4
    assert queue(cluster)[1:] == ["2 PD 3 Resources", "3 PD 3 Priority", "4 PD 1 Priority", "5_[1-3] PD 8 Priority"]


@RELEASES
def test_jobs_that_came_while_their_partition_was_down(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    cluster.text("scontrol update partitionname=main state=down")
    for line in ("-n20 --exclusive", "-N8 --exclusive", "-n20 --exclusive", "-w n7"):
        cluster.run(f"sbatch {line} --wrap 'sleep 60'", "alice")
    cluster.text("scontrol update partitionname=main state=up")
    cluster.now += 3
    assert queue(cluster) == ["1 R 3 None", "2 PD 8 Resources", "3 PD 3 Priority", "4 PD 1 Priority"]


# -- host lists -------------------------------------------------------------------------------------------------------

WITH_A_TAIL = {
    "rack[0-1]node[01-02,4]-ib":
        "rack0node01-ib rack0node02-ib rack0node4-ib rack1node01-ib rack1node02-ib rack1node4-ib",
    "n[1-2]-ib,m[3-4]": "n1-ib n2-ib m3 m4",
    "a[1-2]b[3]-x,c[1-2]y": "a1b3-x a2b3-x c1y c2y",
    "a[1-2]b[1-2]3": "a1b13 a1b23 a2b13 a2b23",
    "[1-2]a": "1a 2a",
    "a[1-2][3-4]z": "a13z a14z a23z a24z",
    "a[1-2]b[1-2]c[1-2]d": "a1b1c1d a1b1c2d a2b1c1d a2b1c2d a1b2c1d a1b2c2d a2b2c1d a2b2c2d",
}  # fmt: skip
"""What 24.11 and 26.05 make of it; 22.05 cannot read it."""
WITHOUT = {
    "n[1-2]x[1-2]": "n1x1 n1x2 n2x1 n2x2",
    "a[1-2]b[1-2],c": "a1b1 a1b2 a2b1 a2b2 c",
    "a[1-2]b[1-2]c[1-2]": "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2",
    "a[1,2]b[7-8]c[2,1]d[3]": "a1b7c2d3 a2b7c2d3 a1b8c2d3 a2b8c2d3 a1b7c1d3 a2b7c1d3 a1b8c1d3 a2b8c1d3",
}

NO_NODES = (
    "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
    "main*        up    1:00:00      0    n/a \n"
    "hi           up    1:00:00      0    n/a \n"
)


@RELEASES
def test_host_names_of_several_brackets(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    for text, names in (WITHOUT | WITH_A_TAIL).items():
        told = cluster.run(f"scontrol show hostnames '{text}'")
        if text in WITH_A_TAIL and release == "22.05":
            assert told == (0, "", f"Invalid hostlist: {text}\n")
        else:
            assert told == (0, names.replace(" ", "\n") + "\n", ""), text


def test_a_text_behind_the_last_bracket(tmp_path: Path) -> None:
    commands = {
        "scontrol show hostlist": {
            "22.05": (1, "", "Invalid hostlist: n[1-2]-ib\n"), "24.11": (0, "n1-ib,n2-ib\n", ""),
        },
        "scontrol show node": {
            "22.05": (1, "", "unable to parse node list n[1-2]-ib\n"),
            "24.11": (1, "Node n1-ib not found\nNode n2-ib not found\n", ""),
        },
        "squeue -h -w": {
            "22.05": (1, "", "squeue: error: 'n[1-2]-ib' invalid entry for --nodelist\n"),
            "24.11": (1, "", "squeue: error: Invalid node name n1-ib\n"),
        },
        "sinfo -n": {
            "22.05": (1, "", "sinfo: error: 'n[1-2]-ib' invalid entry for --nodes\n"), "24.11": (0, NO_NODES, ""),
        },
        "sbatch --wrap true -w": {
            "22.05": (1, "", "sbatch: error: memory allocation failure\n"),
            "24.11": (1, "", "sbatch: error: Batch job submission failed: Invalid node name specified\n"),
        },
    }  # fmt: skip
    for release in ("22.05", "24.11"):
        cluster = made(tmp_path, release)
        for command, told in commands.items():
            assert cluster.run(f"{command} 'n[1-2]-ib'") == told[release], command


# -- time limits and QOS ----------------------------------------------------------------------------------------------

WITH_QOS = CONF + (
    "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits,qos\n"
    "PartitionName=long Nodes=n[1-2] MaxTime=INFINITE\n"
)
ACCOUNTS = """\
add cluster tux
add qos q30 Priority=10 MaxWall=30
add qos q90 Priority=20 MaxWall=90 Flags=PartitionTimeLimit
add account acc,other
add user alice,bob Account=acc
modify user where name=alice,bob set qos=normal,q30,q90 DefaultQOS=normal
"""
LIMITS = {
    "22.05": ["30:00", "5:00", "20:00"], "24.11": ["30:00", "5:00", "20:00"], "26.05": ["1:30:00", "5:00", "20:00"],
}  # fmt: skip


@RELEASES
def test_another_qos_gives_its_time_limit_to_jobs_without_one(tmp_path: Path, release: str) -> None:
    """From 25.05 on, unless the job or its partition (DefaultTime) has one, or the update gives one."""
    cluster = made(tmp_path, release, WITH_QOS, ACCOUNTS)
    for options in ("-p long", "-p main", "-p long -t 20"):
        cluster.run(f"sbatch -H {options} -q q30 --wrap 'sleep 100'", "alice")
    assert queue(cluster, "%l") == ["30:00", "5:00", "20:00"]
    for job in (1, 2, 3):
        assert cluster.run(f"scontrol update jobid={job} qos=q90", "alice") == (0, "", "")
    assert queue(cluster, "%q %l") == [f"q90 {limit}" for limit in LIMITS[release]]
    cluster.text("scontrol update jobid=1 qos=normal")
    assert queue(cluster, "%l")[0] == ("UNLIMITED" if release == "26.05" else "30:00")
    cluster.text("scontrol update jobid=1 qos=q90 timelimit=15")
    cluster.text("scontrol update jobid=1 qos=q30")
    assert queue(cluster, "%l")[0] == "15:00"


@RELEASES
def test_a_requeued_job_keeps_the_time_limit_an_update_gave_it(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release, WITH_QOS, ACCOUNTS)
    for options in ("-t 20", "-t 20", "-p long -q q30", "-p main"):
        cluster.run(f"sbatch {options} --wrap 'sleep 1000'", "alice")
    cluster.text("scontrol update jobid=2 timelimit=40")
    cluster.now += 5
    cluster.text("scontrol update jobid=1 timelimit=45")
    cluster.text("scontrol update jobid=3 timelimit=50")
    for job in (1, 2, 3, 4):
        cluster.text(f"scontrol requeue {job}")
    cluster.now += 2
    assert queue(cluster, "%t %l") == ["PD 45:00", "PD 40:00", "PD 50:00", "PD 5:00"]


# -- reservations -----------------------------------------------------------------------------------------------------

NOT_WHILE_USED = [
    ("r1 users-=alice", 1), ("r1 users=bob", 1), ("r1 users= accounts=acc", 0), ("r1 users= accounts=other", 1),
    ("r1 users=alice,bob accounts=", 0), ("r1 users-=bob", 0), ("r1 users+=bob", 0), ("r2 accounts-=acc", 2),
    ("r2 accounts-=other", 0), ("r3 users-=alice", 3), ("r4 users=-alice", 4), ("r1 nodes=n[1,8]", 0),
    ("r1 duration=20", 0),
]  # fmt: skip
"""Updates, and the job that forbids each."""


@RELEASES
def test_an_update_shuts_no_job_out_of_its_reservation(tmp_path: Path, release: str) -> None:
    """24.11 and 26.05, waiting jobs as well as running ones; 22.05 minds none."""
    cluster = made(tmp_path, release, WITH_QOS, ACCOUNTS)
    create = "scontrol create reservation duration=30 starttime=now"
    cluster.text(f"{create} reservationname=r1 users=alice,bob nodes=n[1-2]")
    cluster.text(f"{create} reservationname=r2 accounts=acc,other nodes=n[3-4]")
    cluster.text(f"{create}+600 reservationname=r3 users=alice,bob nodes=n[5-6]")
    cluster.text(f"{create} reservationname=r4 users=-bob nodes=n7")
    for name in ("r1", "r2", "r3", "r4"):
        cluster.run(f"sbatch --reservation={name} -t 5 --wrap 'sleep 200'", "alice")
    cluster.now += 6
    for update, job in NOT_WHILE_USED:
        code, out, error = cluster.run(f"scontrol update reservationname={update}")
        if job and release != "22.05":
            why = f"scontrol: error: Reservation update rejected because of JobId={job}\n"
            assert (code, out, error) == (1, "", f"{why}slurm_update error: Requested reservation is in use\n"), update
        elif release != "22.05":
            assert (code, out, error) == (0, "Reservation updated.\n", ""), update
    if release == "22.05":
        assert "Users=-bob" in cluster.text("scontrol -o show res r4")


def test_an_unknown_user_of_a_reservation(tmp_path: Path) -> None:
    """26.05 names the error in an update, and not where a reservation is made."""
    cluster = made(tmp_path, "26.05")
    cluster.text("scontrol create reservation reservationname=r1 starttime=now duration=30 users=alice nodes=n1")
    for sign in ("=", "+=", "-="):
        told = cluster.run(f"scontrol update reservationname=r1 users{sign}nosuch")
        assert told == (1, "", "slurm_update error: Invalid user id\n")
    told = cluster.run("scontrol create reservation starttime=now duration=30 users=nosuch nodes=n2")
    assert told == (1, "", "Error creating the reservation: Unspecified error\n")


@RELEASES
def test_magnetic_reservations_take_what_ends_in_time(tmp_path: Path, release: str) -> None:
    """From 25.11 on, unless they are FLEX or the job names them; and a job may find several that do not serve it."""
    cluster = made(tmp_path, release)
    create = "scontrol create reservation duration=10 users=alice"
    cluster.text(f"{create} reservationname=mg starttime=now+60 nodes=n[1-2] flags=magnetic")
    cluster.text(f"{create} reservationname=mf starttime=now+60 nodes=n[3-4] flags=magnetic,flex")
    cluster.text(f"{create} reservationname=mn starttime=now nodes=n[5-6] flags=magnetic")
    for options in ("-w n1 -t 5", "-w n1 -t 30", "-w n3 -t 30", "-w n5 -t 30", "-w n5 -t 30 --reservation=mn"):
        cluster.run(f"sbatch {options} --wrap 'sleep 100'", "alice")
    cluster.now += 75
    late = ["PD (null) ReqNodeNotAvail, May be reserved for other job"] if release == "26.05" else []
    assert queue(cluster, "%t %v %r") == [
        "R mg None", *(late or ["R mg None"]), "R mf None", *(late or ["R mn None"]), "R mn None",
    ]  # fmt: skip


# -- JSON of 22.05 ----------------------------------------------------------------------------------------------------


def test_json_of_22_05_tells_what_a_job_has(tmp_path: Path) -> None:
    """Cores are counted as the request counts CPUs, also where the job has whole nodes."""
    cluster = made(tmp_path, "22.05")
    for options in ("", "-N2 --exclusive -w n[2-3]", "-n5 -w n4 --mem=500", "-H"):
        cluster.run(f"sbatch -t 5 {options} --wrap 'sleep 300'", "alice")
    cluster.now += 9
    one, two, three, held = json.loads(cluster.text("squeue --json"))["jobs"]
    node = {"cpus_used": 0, "memory_used": 0}
    assert one["job_resources"] == {
        "nodes": "n1", "allocated_cores": 1, "allocated_hosts": 1, "allocated_nodes": [
            {"sockets": {"0": {"cores": {"0": "allocated"}}}, "nodename": "n1", "memory_allocated": 100, **node}],
    }  # fmt: skip
    whole = {str(core): "allocated" for core in range(4)}
    assert two["job_resources"] == {
        "nodes": "n[2-3]", "allocated_cores": 2, "allocated_hosts": 2, "allocated_nodes": [
            {"sockets": {"0": {"cores": whole}, "1": {"cores": whole}}, "nodename": name, "memory_allocated": 800,
             **node} for name in ("n2", "n3")],
    }  # fmt: skip
    sockets = three["job_resources"]["allocated_nodes"][0]["sockets"]
    assert {socket: sorted(cores["cores"]) for socket, cores in sockets.items()} == {"0": list("012"), "1": list("01")}
    assert [job["billable_tres"] for job in (one, two, three, held)] == [1.0, 16.0, 5.0, None]
    assert [job["flags"] for job in (one, two)] == [["JOB_WAS_RUNNING"]] * 2
    assert three["flags"] == ["JOB_WAS_RUNNING", "JOB_MEM_SET"]
    assert (held["flags"], held.get("job_resources")) == ([], None)


# -- reasons ----------------------------------------------------------------------------------------------------------


@RELEASES
def test_a_job_that_cannot_end_before_maintenance_says_so_from_the_start(tmp_path: Path, release: str) -> None:
    """All three name it at submission, before any pass; a job that ends in time does not."""
    cluster = made(tmp_path, release)
    cluster.text("scontrol create reservation starttime=now+600 duration=60 users=root nodes=ALL flags=maint")
    for options in ("-t 30", "-t 30 -w n1", "-t 5 -w n1"):
        cluster.run(f"sbatch {options} --wrap 'sleep 60'", "alice")
    assert queue(cluster, "%t %r")[:2] == ["PD ReqNodeNotAvail, Reserved for maintenance"] * 2
    cluster.now += 20
    assert queue(cluster, "%t %r") == ["PD ReqNodeNotAvail, Reserved for maintenance"] * 2 + ["R None"]


@RELEASES
def test_a_dependency_that_failed_stays_failed(tmp_path: Path, release: str) -> None:
    """All three, also of a job that it ended at once (--kill-on-invalid-dep), and after the other was requeued."""
    cluster = made(tmp_path, release)
    cluster.submit(name="fails", script="#!/bin/sh\n#SLURMSIM runtime=2 exit=3\n")
    for kill in ("no", "yes"):
        cluster.run(f"sbatch -d afterok:1 --kill-on-invalid-dep={kill} --wrap true", "alice")
    cluster.now += 9
    waits = ["PD DependencyNeverSatisfied afterok:1(failed)", "CA DependencyNeverSatisfied afterok:1(failed)"]
    shown = "squeue -h -S i -t all -o '%t %r %E'"
    assert cluster.text(shown).splitlines() == ["F NonZeroExitCode (null)", *waits]
    cluster.text("scontrol requeue 1")
    assert cluster.text(shown).splitlines() == ["PD NonZeroExitCode (null)", *waits]


def test_users_without_a_uid_are_problems_of_no_account(tmp_path: Path) -> None:
    """22.05 and 26.05: a line a user, however many associations there are."""
    accounts = "add cluster tux\nadd account a,b,e\nadd user zoe,alice account=a,b\nadd user yan account=a\n"
    cluster = made(tmp_path, "22.05", WITH_QOS, accounts)
    rows = cluster.text("sacctmgr -n -P show problem").splitlines()
    assert rows == ["tux|e||Account has no users", "||yan|User does not have a uid", "||zoe|User does not have a uid"]


# -- lists of nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_list_of_more_nodes_than_the_job_needs_brings_no_cpus(tmp_path: Path, release: str) -> None:
    """22.05 refuses the first three, or takes as many nodes as are named."""
    cluster = made(tmp_path, release)
    asked = {
        "-N1": "1 1", "-N1 -n3": "1 3", "-N1 -n3 -c2": "1 6", "-N1 --exclusive": "1 1", "-n1": "1 1",
        "-N2 -n5": "2 5", "-N1 --ntasks-per-node=2": "1 2", "-N1-4 -n1": "1 1",
    }  # fmt: skip
    for options in asked:
        assert cluster.run(f"sbatch -H -t 5 -w n[5-7] {options} --wrap 'sleep 300'", "alice")[0] == 0
    assert queue(cluster, "%D %C") == list(asked.values())
    cluster.run("sbatch -t 5 -w n1,n2 -N1 --wrap 'sleep 300'", "alice")
    cluster.now += 6
    assert queue(cluster, "%D %C %N")[-1] == "1 1 n1"
