"""Keys that mean one thing, DEFAULT lines and values that are reset: what three releases of slurmctld make of them.

Each expectation was seen with ``scontrol show node`` and ``show partition`` of slurmctld 22.05.8, 24.11.5 and 26.05.5,
started on the lines given here after a ClusterName and a SlurmctldHost. The three agree unless a test says otherwise.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from conf_texts import HEAD, PARTITION, SMALL

from slurmsim.config.load import load_cluster, parse_cluster
from slurmsim.config.renaming import Renaming, renamed_conf
from slurmsim.config.slurm_conf import parse_conf

# Attributes of node n1 by the NodeName lines that make it.
NODES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("NodeName=n1 CPUs=96 Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 Procs=48", {"cpus": 96}),
    ("NodeName=n1 CPUs=8 Procs=3", {"cpus": 8}),
    ("NodeName=n1 Procs=3", {"cpus": 3}),
    ("NodeName=DEFAULT CPUs=8\nNodeName=n1 Procs=3", {"cpus": 8}),
    ("NodeName=DEFAULT Procs=6\nNodeName=n1", {"cpus": 6}),
    ("NodeName=DEFAULT Procs=6\nNodeName=DEFAULT CPUs=5\nNodeName=n1", {"cpus": 5}),
    ("NodeName=n1 CPUs=1 Features=b Feature=a", {"features": ("a",)}),
    ("NodeName=DEFAULT Feature=a\nNodeName=n1 CPUs=1 Features=b", {"features": ("b",)}),
    ("NodeName=DEFAULT Feature=a Features=b\nNodeName=n1 CPUs=1", {"features": ("a",)}),
    ("NodeName=n1 Sockets=4 SocketsPerBoard=2 CoresPerSocket=2", {"cpus": 4, "sockets": 2}),
    ("NodeName=n1 Sockets=1 SocketsPerBoard=2 Boards=2 CoresPerSocket=2", {"cpus": 8, "sockets": 4}),
    ("NodeName=DEFAULT Sockets=4\nNodeName=n1 SocketsPerBoard=2 CoresPerSocket=2", {"cpus": 4, "sockets": 2}),
    ("NodeName=DEFAULT SocketsPerBoard=4\nNodeName=n1 Sockets=2 CoresPerSocket=2", {"cpus": 8, "sockets": 4}),
    ("NodeName=n1 Boards=4 Sockets=2 CoresPerSocket=2", {"cpus": 4, "sockets": 2}),
    ("NodeName=n1 CPUs=3 CPUs=5", {"cpus": 5}),
    ("nodename=n1 CPUs=3 cpus=5 cPUS=7", {"cpus": 7}),
    ("NodeName=n1 CPUs=8 CoresPerSocket=8 CoreSpecCount=2 CPUSpecList=0-3", {"core_spec_count": 4}),
    ("NodeName=n1 CPUs=8 CoresPerSocket=8 CoreSpecCount=8", {"core_spec_count": 1}),
    ("NodeName=n1 CPUs=8 CoresPerSocket=8 CPUSpecList=6-9", {"core_spec_count": 0}),
    ("NodeName=n1 CPUs=8 RealMemory=1000 MemSpecLimit=1000", {"mem_spec_limit_mib": 0}),
    ("NodeName=n1 CPUs=8 RealMemory=4096k", {"real_memory_mib": 4_194_304}),
    ("NodeName=n1 CPUs=0x10", {"cpus": 16}),
    ("NodeName=n1 CPUs=010", {"cpus": 8}),
    ("NodeName=n1 CPUs=+4", {"cpus": 4}),
    ("NodeName=n1 State=ALLOCATED", {"state": "UNKNOWN"}),
    ("NodeName=n1 State=failing", {"state": "DRAIN"}),
)  # fmt: skip

# Attributes of partition p by the PartitionName lines that make it; nodes n1 to n4 are there.
PARTITIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("PartitionName=p Nodes=ALL Priority=10 PriorityTier=5", {"priority_tier": 10, "priority_job_factor": 10}),
    ("PartitionName=DEFAULT Nodes=ALL Priority=7\nPartitionName=p PriorityTier=5",
     {"priority_tier": 7, "priority_job_factor": 7}),
    ("PartitionName=DEFAULT Priority=7\nPartitionName=p PriorityJobFactor=3 Nodes=ALL",
     {"priority_tier": 7, "priority_job_factor": 7}),
    ("PartitionName=p Nodes=ALL Shared=FORCE:2 OverSubscribe=NO", {"oversubscribe": "NO"}),
    ("PartitionName=p Nodes=ALL Shared=YES:2", {"oversubscribe": "YES", "oversubscribe_max": 2}),
    ("PartitionName=DEFAULT OverSubscribe=FORCE:3\nPartitionName=p Shared=NO Nodes=ALL",
     {"oversubscribe": "FORCE", "oversubscribe_max": 3}),
    ("PartitionName=DEFAULT OverSubscribe=FORCE:3\nPartitionName=p Shared=NO OverSubscribe=YES:5 Nodes=ALL",
     {"oversubscribe": "YES", "oversubscribe_max": 5}),
    ("PartitionName=p Nodes=ALL OverSubscribe=YES:1", {"oversubscribe": "NO"}),
    ("PartitionName=p Nodes=ALL OverSubscribe=FORCE:1", {"oversubscribe": "FORCE", "oversubscribe_max": 1}),
    ("PartitionName=p Nodes=ALL OverSubscribe=FORCE:0", {"oversubscribe": "NO"}),
    ("PartitionName=p Nodes=ALL OverSubscribe=YES:5000", {"oversubscribe": "YES", "oversubscribe_max": 5000}),
    ("PartitionName=p Nodes=ALL DefMemPerCPU=100 DefMemPerNode=200 MaxMemPerCPU=300 MaxMemPerNode=400",
     {"def_mem_per_node_mib": 200, "def_mem_per_cpu_mib": None, "max_mem_per_node_mib": 400}),
    ("PartitionName=DEFAULT DefMemPerNode=200\nPartitionName=p DefMemPerCPU=100 Nodes=ALL",
     {"def_mem_per_node_mib": 200, "def_mem_per_cpu_mib": None}),
    ("PartitionName=DEFAULT DisableRootJobs=YES ExclusiveUser=YES SuspendTime=44\nPartitionName=p Nodes=ALL",
     {"disable_root_jobs": None, "exclusive_user": False, "suspend_time_s": None}),
    ("PartitionName=DEFAULT GraceTime=9 MaxTime=5 MinNodes=1 LLN=YES SuspendTimeout=78\nPartitionName=p Nodes=ALL",
     {"grace_time_s": 9, "max_time_s": 300, "min_nodes": 1, "lln": True, "suspend_timeout_s": 78}),
    ('PartitionName=p Nodes="n1 n2"', {"nodes": ("n1", "n2")}),
    ("PARTITIONNAME=p NODES=all", {"nodes": ("n1", "n2", "n3", "n4")}),
    ("PartitionName=p Nodes=ALL OverTimeLimit=UNLIMITED", {"over_time_limit_s": 365 * 86_400}),
    ("PartitionName=p Nodes=ALL OverTimeLimit=-4", {"over_time_limit_s": None}),
    ("PartitionName=p Nodes=ALL OverTimeLimit=5x", {"over_time_limit_s": 300}),
    ("PartitionName=p Nodes=ALL OverTimeLimit=99999", {"over_time_limit_s": 365 * 86_400}),
    ("PartitionName=p Nodes=ALL State=UPPER", {"state": "UP"}),
    ("PartitionName=p Nodes=ALL State=drained", {"state": "DRAIN"}),
    ("NodeSet=s1 Nodes=n1\nNodeSet=s1 Nodes=n2\nPartitionName=p Nodes=s1,n4", {"nodes": ("n1", "n4")}),
)  # fmt: skip


def seen(spec: object, expected: dict[str, Any]) -> dict[str, Any]:
    return {name: attrgetter(name)(spec) for name in expected}


@pytest.mark.parametrize(("lines", "expected"), NODES, ids=[lines for lines, _ in NODES])
def test_nodes(lines: str, expected: dict[str, Any]) -> None:
    cluster, _ = parse_cluster(HEAD + lines + "\n" + PARTITION)
    assert seen(cluster.nodes[0], expected) == expected


@pytest.mark.parametrize(("lines", "expected"), PARTITIONS, ids=[lines for lines, _ in PARTITIONS])
def test_partitions(lines: str, expected: dict[str, Any]) -> None:
    cluster, _ = parse_cluster(HEAD + "NodeName=n[1-4] CPUs=8\n" + lines + "\n")
    assert seen(cluster.partitions[0], expected) == expected


def test_what_is_not_read_is_said() -> None:
    lines = "NodeName=a1 CPUs=96 CoresPerSocket=96 Procs=48\nPartitionName=b Nodes=ALL PriorityTier=5 Priority=10\n"
    _, findings = parse_cluster(SMALL + lines)
    assert [str(finding) for finding in findings] == [
        "slurm.conf:5: note: Procs=48: not read: CPUs=96 counts",
        "slurm.conf:6: note: PriorityTier=5: not read: Priority=10 counts",
    ]


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        ("NodeName=b1 CPUs=2 CPUs+=4", "warning: CPUs=4: += is read as =, as Slurm does"),
        ("NodeName=b1 CPUs=2 CPUs=4", "warning: CPUs=4: set more than once, the last value is used"),
        ("KillWait+=9", "warning: KillWait=9: += is read as =, as Slurm does"),
        ("DownNodes=n[3-7] State=DOWN", "warning: DownNodes=n[5-7]: no nodes of slurm.conf: left out, as Slurm does"),
        ("DownNodes=ALL", "warning: DownNodes=ALL: no nodes of slurm.conf: left out, as Slurm does"),
        ("DownNodes=n1 State=XX", "warning: State=XX: no node state: the line is left out, as Slurm does"),
        ("PartitionName=DEFAULT ExclusiveUser=YES",
         "warning: ExclusiveUser=YES: on a DEFAULT line no partition gets it, as in Slurm"),
    ],
)  # fmt: skip
def test_what_slurm_passes_over_is_said(lines: str, finding: str) -> None:
    _, findings = parse_cluster(SMALL + lines + "\n")
    assert f"slurm.conf:5: {finding}" in [str(found) for found in findings]


def test_down_nodes_that_exist_are_down() -> None:
    cluster, _ = parse_cluster(SMALL + "DownNodes=n[3-7] State=DOWN\nDownNodes=n1 State=XX\nDownNodes=ALL\n")
    assert [spec.state for spec in cluster.nodes] == ["UNKNOWN", "UNKNOWN", "DOWN", "DOWN"]


def test_a_set_with_the_name_of_a_node() -> None:
    """The partition's node is the set in 22.05; 24.11 and 26.05 end."""
    text = SMALL + "NodeSet=n1 Nodes=n2\nPartitionName=b Nodes=n1\n"
    assert parse_cluster(text)[0].partitions[1].nodes == ("n2",)
    with pytest.raises(Exception, match="NodeSet: a node has this name too"):
        parse_cluster(text, release="24.11")


@pytest.mark.parametrize(
    ("override", "tier", "factor", "cpus"),
    [
        (("PartitionName", "main:PriorityTier=3"), 3, 9, 8),
        (("PartitionName", "main:Priority=4"), 4, 4, 8),
        (("NodeName", "n1:Procs=5"), 9, 9, 5),
    ],
)
def test_an_override_wins_whatever_it_is_spelt(
    override: tuple[str, str], tier: int, factor: int, cpus: int, tmp_path: Path
) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(SMALL.replace("Default=YES", "Default=YES Priority=9"))
    cluster, _ = load_cluster(conf, [override])
    main = cluster.partitions[0]
    assert (main.priority_tier, main.priority_job_factor, cluster.nodes[0].cpus) == (tier, factor, cpus)


def test_renamed_files_keep_both_spellings() -> None:
    lines = parse_conf("PartitionName=b Shared=YES:2 OverSubscribe=NO OverTimeLimit=5 State=UP\n", "slurm.conf")
    assert renamed_conf(lines, Renaming({"partition": {"b": "b"}})) == (
        "PartitionName=b Shared=YES:2 OverSubscribe=NO OverTimeLimit=5 State=UP\n"
    )


def test_a_second_key_on_a_line() -> None:
    """slurmctld of the three releases ends with a parse error; slurmsim reads on, but not with --strict."""
    cluster, findings = parse_cluster(SMALL + "KillWait=7 WaitTime=9\n")
    assert cluster.option("KillWait") == 7
    said = "slurm.conf:5: warning: WaitTime=9: a second key on a line: slurmctld does not start"
    assert [str(finding) for finding in findings] == [said]
    with pytest.raises(Exception, match="a second key on a line"):
        parse_cluster(SMALL + "KillWait=7 WaitTime=9\n", strict=True)


def test_power_saving_names_what_is_not_there() -> None:
    """slurmctld logs both and goes on; SuspendTime=NONE is never."""
    lines = "SuspendExcNodes=n[3-6]\nSuspendExcParts=main,zz\nSuspendTime=NONE\n"
    cluster, findings = parse_cluster(SMALL + lines)
    assert cluster.option("SuspendTime") == -1
    assert [str(finding) for finding in findings] == [
        "slurm.conf:5: warning: SuspendExcNodes=n[5-6]: no nodes of slurm.conf: left out, as Slurm does",
        "slurm.conf:6: warning: SuspendExcParts=zz: no partition is called so: left out, as Slurm does",
    ]
