"""Every keyword of every ``scontrol update``: what is taken is shown, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from script_cluster import Scripts

from slurmsim.commands.scontrol.job_values import ROWS
from slurmsim.records.node import NODE
from slurmsim.records.partition import PARTITION
from slurmsim.records.reservation import RESERVATION

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
GresTypes=gpu
Licenses=mat:4
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Feature=a,b Gres=gpu:4
PartitionName=defq Nodes=ALL Default=YES DefaultTime=60
PartitionName=other Nodes=ALL
"""
VALUES = {
    "JobId": None, "Clusters": None, "ArrayTaskThrottle": None, "ReservationName": None, "QOS": None,
    "SiteFactor": None, "ClusterFeatures": None, "MCSLabel": None,
    "DelayBoot": "60", "TimeMin": "10", "Priority": "7", "Nice": "5", "CPUsPerTask": "2",
    "CpusPerTres": "gres/gpu:2", "NumCPUs": "3", "NumTasks": "2", "ReqProcs": "2", "Requeue": "0", "ReqNodes": "2",
    "NumNodes": "2", "ReqSockets": "2", "ReqCores": "2", "TasksPerNode": "2", "ReqThreads": "1", "MinCPUsNode": "2",
    "MinMemoryNode": "500", "MinMemoryCPU": "500", "MinTmpDiskNode": "50", "Partition": "other", "Name": "new",
    "JobName": "new", "WCKey": "key", "StdErr": "/e", "StdIn": "/i", "StdOut": "/o", "Switches": "1@5",
    "wait-for-switch": "7", "OverSubscribe": "YES", "Shared": "YES", "Contiguous": "YES", "CoreSpec": "1",
    "MemPerTres": "gres/gpu:10", "ThreadSpec": "1", "TresPerJob": "gres/gpu:1", "TresPerNode": "gres/gpu:1",
    "TresPerSocket": None, "TresPerTask": "gres/gpu:1", "ExcNodeList": "n4", "NodeList": "n2", "ReqNodeList": "n2",
    "Features": "a", "Gres": "gpu:1", "Account": None, "Dependency": "singleton", "Licenses": "mat:1",
    "EligibleTime": "now+1hour", "StartTime": "now+1hour", "EndTime": None, "Reboot": "YES",
    "Deadline": "now+2days", "WorkDir": "/tmp", "MailType": "END", "MailUser": "eve", "TimeLimit": "20",
    "AdminComment": "x", "Comment": "x", "BurstBuffer": None, "UserID": None, "Network": "ib", "Extra": "x",
    "Container": "x", "ContainerID": "x", "Prefer": "b", "TresBind": "gres/gpu:closest",
    "TresFreq": "gpu:low",
}  # fmt: skip
"""A value that a held job does not have; None where only some jobs can be given one."""
NODE_VALUES = {
    "NodeName": None, "CpuBind": "core", "Extra": "x", "Features": "a,b,c", "AvailableFeatures": "a,b,d",
    "ActiveFeatures": "a", "Gres": "gpu:3", "InstanceId": "i1", "InstanceType": "t1", "NodeAddr": "n1addr",
    "NodeHostName": "n1host", "State": "DRAIN Reason=x", "Comment": "x", "Reason": "y", "ResumeAfter": None,
    "Weight": "5", "Topology": None,
}  # fmt: skip
PARTITION_VALUES = {
    "PartitionName": None, "AllocNodes": "n1", "Nodes": "n[1-3]", "AllowAccounts": "acct", "DenyAccounts": "acct",
    "AllowGroups": "alice", "AllowQos": "normal", "DenyQos": "normal", "QoS": None, "Alternate": "other",
    "TresBillingWeights": "CPU=2", "DefMemPerCPU": "100", "DefMemPerNode": "100", "DefaultTime": "30",
    "JobDefaults": "DefCpuPerGPU=2", "Default": "NO", "Hidden": "YES", "DisableRootJobs": "YES", "RootOnly": "YES",
    "ReqResv": "YES", "LLN": "YES", "PowerDownOnIdle": None, "ExclusiveUser": "YES", "ExclusiveTopo": "YES",
    "GraceTime": "7", "MaxCPUsPerNode": "3",
    "MaxCPUsPerSocket": "2", "MaxMemPerCPU": "300", "MaxMemPerNode": "300", "MaxNodes": "2",
    "OverSubscribe": "FORCE:3", "Shared": "FORCE:2",
    "MaxTime": "50", "OverTimeLimit": "4", "MinNodes": "2", "PreemptMode": "REQUEUE", "Priority": "9",
    "PriorityJobFactor": "8", "PriorityTier": "7", "State": "DOWN", "CpuBind": "core",
    "Topology": None,
}  # fmt: skip
RESERVATION_VALUES = {
    "ReservationName": None, "Accounts": "acct", "BurstBuffer": None, "Comment": "x", "CoreCnt": None,
    "CoreCount": None, "CPUCnt": None, "CPUCount": None, "Duration": "90", "EndTime": "now+4hours", "Features": None,
    "Flags": "IGNORE_JOBS", "Groups": None, "Licenses": "mat:1", "MaxStartDelay": "100", "NodeCnt": "2",
    "NodeCount": "2", "Nodes": "n3", "PartitionName": "other", "StartTime": "now+1hour", "Watts": None, "TRES": None,
    "Users": "bob", "AllowedPartitions": "other", "QOS": None,
}  # fmt: skip


NOT_IN_JSON = {
    ("job", "22.05"): ["Switches", "wait-for-switch", "MailType", "MailUser"],
    ("partition", "24.11"): [
        "JobDefaults", "Default", "Hidden", "DisableRootJobs", "RootOnly", "ReqResv", "LLN", "ExclusiveUser",
        "PreemptMode",
    ],
    ("partition", "26.05"): ["JobDefaults"],
    ("reservation", "24.11"): ["Comment"],
    ("reservation", "26.05"): ["Comment", "AllowedPartitions"],
}  # fmt: skip
"""What real Slurm's JSON has no field for, or an empty one."""


def words_of(table: object) -> set[str]:
    return {word.partition(":")[0] for row in table for word in (row.update or "").split()}  # type: ignore[attr-defined]


def test_every_keyword_has_a_value_here() -> None:
    assert {row[0] for row in ROWS} <= VALUES.keys()
    for table, values in ((NODE, NODE_VALUES), (PARTITION, PARTITION_VALUES), (RESERVATION, RESERVATION_VALUES)):
        assert words_of(table) == values.keys()


def shown(cluster: Scripts, release: str, what: str, name: str) -> tuple[str, object]:
    """What is told as text and as JSON, which 22.05 has of jobs alone."""
    text = cluster.text(f"scontrol -d show {what} {name}")
    if release == "22.05":
        return text, json.loads(cluster.text("squeue --json"))["jobs"] if what == "job" else None
    return text, json.loads(cluster.text(f"scontrol --json show {what} {name}"))[f"{what}s"]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("what", ["job", "node", "partition", "reservation"])
def test_what_is_taken_is_shown(tmp_path: Path, what: str, release: str) -> None:
    cluster = Scripts(tmp_path, release, CONF)
    key, values, name = {
        "job": ("jobid", VALUES, "1"), "node": ("nodename", NODE_VALUES, "n1"),
        "partition": ("partitionname", PARTITION_VALUES, "defq"),
        "reservation": ("reservationname", RESERVATION_VALUES, "r"),
    }[what]  # fmt: skip
    dropped, only_text = [], []
    for word, value in values.items():
        if value is None:
            continue
        if what == "job":
            more = "--switches=1@1 --mail-type=FAIL " if release == "22.05" else ""  # it tells the rest beside these
            assert cluster.run(f"sbatch -H -n1 -t30 {more}--gpus-per-task=1 --wrap true", "alice")[0] == 0
            name = str(cluster.engine.job_table.next_id() - 1)
        elif what == "reservation":
            cluster.run("scontrol delete reservationname=r", "root")
            made = "scontrol create reservationname=r starttime=now+2hours duration=60 nodecnt=1 users=alice"
            assert cluster.run(made, "root")[0] == 0
        elif what == "partition":
            assert cluster.run("scontrol update partitionname=defq allowaccounts=all allowqos=all", "root")[0] == 0
        before = shown(cluster, release, what, name)
        code, _, _ = cluster.run(f"scontrol update {key}={name} {word}={value}", "root")
        after = shown(cluster, release, what, name)
        if code == 0 and after == before:
            dropped.append(word)
        elif code == 0 and after[0] != before[0] and after[1] == before[1] and after[1] is not None:
            only_text.append(word)
    assert (dropped, only_text) == ([], NOT_IN_JSON.get((what, release), []))
