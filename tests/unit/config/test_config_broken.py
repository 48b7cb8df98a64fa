"""Broken configurations: each is refused with one exact line."""

from __future__ import annotations

import pytest
from conf_texts import HEAD, NODES, PARTITION, SMALL

from slurmsim.config.load import parse_cluster
from slurmsim.errors import ConfigError

TIMES = "minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED"
CPU_WORDS = "CR_CPU, CR_CPU_Memory, CR_Core, CR_Core_Memory, CR_Socket, CR_Socket_Memory"
NONE = "the configuration defines none (expected at least one "

# text, the whole message after "slurm.conf:"
BROKEN = [
    (HEAD + NODES + "PartitionName=p3 Nodes=n[1-5]\n",
     "4: Nodes: invalid node name 'n5' in partition p3 (expected a NodeName or NodeSet of this configuration)"),
    (HEAD + NODES + "NodeName=n[4-6] CPUs=8\n" + PARTITION,
     "4: NodeName: node n4 is defined twice (first at slurm.conf:3)"),
    (SMALL + "MaxJobCount=abc\n", "5: MaxJobCount: 'abc' is not a valid number (expected a whole number)"),
    (SMALL + "MaxJobCount=-5\n", "5: MaxJobCount: '-5' is out of range (expected at least 1)"),
    (SMALL + "SlurmdPort=x\n", "5: SlurmdPort: 'x' is not a valid number (expected a whole number)"),
    (SMALL + "Foo=1\n", "5: Foo: unrecognized key"),
    (SMALL + "MaxJobCont=5\n", "5: MaxJobCont: unrecognized key; did you mean MaxJobCount?"),
    (SMALL + "CoresPerSocket=2\n", "5: CoresPerSocket: unrecognized key; it belongs on a NodeName line"),
    (HEAD + "NodeName=n1 CPUs=4 Foo=1\n" + PARTITION, "3: Foo: unrecognized key on a NodeName line"),
    (HEAD + "NodeName=n1 CPUs=4 RealMemry=1000\n" + PARTITION,
     "3: RealMemry: unrecognized key on a NodeName line; did you mean RealMemory?"),
    (SMALL + "PartitionName=p MaxTimes=10 Nodes=n1\n",
     "5: MaxTimes: unrecognized key on a PartitionName line; did you mean MaxTime?"),
    (SMALL + "PartitionName=p Nodes=n1 MaxTime=abc\n", f"5: MaxTime: 'abc' is not a time (expected {TIMES})"),
    (SMALL + "PartitionName=p Nodes=n1 State=OPEN\n",
     "5: State: unknown value 'OPEN' (expected one of UP, DOWN, DRAIN, INACTIVE)"),
    (SMALL + "PartitionName=p Nodes=n1 OverSubscribe=MAYBE\n",
     "5: OverSubscribe: bad value 'MAYBE' (expected NO, EXCLUSIVE, YES[:n] or FORCE[:n])"),
    (SMALL + "PartitionName=p Nodes=n1 Default=perhaps\n",
     "5: Default: 'perhaps' is not a yes or no (expected YES or NO)"),
    (HEAD + "NodeName=n[1-4 CPUs=8\n" + PARTITION, "3: NodeName: '[' without ']' in hostlist 'n[1-4'"),
    (HEAD + "NodeName=n[4-1] CPUs=8\n" + PARTITION, "3: NodeName: range '4-1' in hostlist 'n[4-1]' runs backwards"),
    (HEAD + "NodeName=n1 CPUs=four\n" + PARTITION, "3: CPUs: 'four' is not a valid number (expected a whole number)"),
    (HEAD + "NodeName=n1 RealMemory=lots\n" + PARTITION,
     "3: RealMemory: 'lots' is not a memory size (expected MiB)"),
    (HEAD + "NodeName=n1 State=SLEEPY\n" + PARTITION,
     "3: State: 'SLEEPY' is no node state (expected UNKNOWN, CLOUD, DOWN, DRAIN, FAIL or FUTURE)"),
    (HEAD + "NodeName=n1 Gres=gpu:a:b:2\n" + PARTITION,
     "3: Gres: 'gpu:a:b:2' is not a GRES (expected NAME[:TYPE][:COUNT])"),
    (HEAD + "NodeName=DEFAULT NodeAddr=10.0.0.1\n" + NODES + PARTITION,
     "3: NodeAddr: not allowed on a DEFAULT line"),
    (SMALL + "NodeSet=s Nodes=m1\nPartitionName=s Nodes=s\n",
     "5: NodeSet: unknown node 'm1' in partition s (expected a NodeName of this configuration)"),
    (SMALL + "SelectType=select/magic\n",
     "5: SelectType: unknown value 'select/magic' (expected one of select/linear, select/cons_tres, select/cons_res)"),
    (SMALL + "TopologyPlugin=topology/torus3d\n",
     "5: TopologyPlugin: topology/torus3d is not modelled "
     "(expected one of topology/none, topology/default, topology/flat, topology/tree, topology/block, topology/ring)"),
    (SMALL + "SelectType=select/linear\nSelectTypeParameters=CR_Core\n",
     "6: SelectTypeParameters: CR_Core cannot be used with select/linear (expected CR_Memory or nothing)"),
    (SMALL + "SelectType=select/cons_tres\nSelectTypeParameters=CR_Memory\n",
     "6: SelectTypeParameters: select/cons_tres needs to know what it hands out "
     f"(expected at least one of {CPU_WORDS})"),
    (SMALL + "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_Socket_Memory\n",
     "6: SelectTypeParameters: CR_Core and CR_Socket_Memory contradict each other (expected one of them)"),
    (SMALL + "PriorityType=priority/fair\n",
     "5: PriorityType: unknown value 'priority/fair' (expected one of priority/basic, priority/multifactor)"),
    (SMALL + "PreemptType=preempt/qos\n",
     "5: PreemptType: PreemptType=preempt/qos and PreemptMode=OFF contradict each other"),
    (SMALL + "PreemptMode=REQUEUE\n",
     "5: PreemptMode: PreemptType=preempt/none and PreemptMode=REQUEUE contradict each other"),
    (SMALL + "PreemptType=preempt/qos\nPreemptMode=SUSPEND\n",
     "6: PreemptMode: SUSPEND needs GANG too (expected SUSPEND,GANG)"),
    (SMALL + "FirstJobId=0\n", "5: FirstJobId: '0' is out of range (expected 1 to 67043328)"),
    (SMALL + "JobRequeue=70000\n", "5: JobRequeue: '70000' is out of range (expected 0 to 1)"),
    (SMALL + "CompleteWait=70000\n", "5: CompleteWait: '70000' is out of range (expected 0 to 65535)"),
    (SMALL + "PriorityMaxAge=week\n", f"5: PriorityMaxAge: 'week' is not a time (expected {TIMES})"),
    (SMALL + "EnforcePartLimits=SOME\n",
     "5: EnforcePartLimits: unknown value 'SOME' (expected one of NO, ANY, ALL, YES)"),
    (SMALL + "FrontendName=f1 State=UP\n",
     "5: FrontendName: front-end systems are not modelled; without this line the nodes behind it are nodes as others"),
    (SMALL + "KillWait=5 NodeName=n9\n", "5: NodeName: must open its line"),
    (SMALL + "what is this\n", "5: cannot parse 'what is this' (expected Key=value)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message.split("(")[0][:50] for _, message in BROKEN])
def test_refused_with_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(text)
    assert str(caught.value) == f"slurm.conf:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + PARTITION, f"slurm.conf: NodeName: {NONE}NodeName line)"),
        (HEAD + NODES, f"slurm.conf: PartitionName: {NONE}PartitionName line)"),
        ("", f"slurm.conf: NodeName: {NONE}NodeName line)"),
    ],
)  # fmt: skip
def test_what_a_configuration_must_have(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "release", "message"),
    [
        (SMALL + "FastSchedule=2\n", "22.05",
         "slurm.conf:5: FastSchedule: obsolete, real Slurm refuses it; use SlurmdParameters=config_overrides"),
        (SMALL + "FastSchedule=0\n", "26.05", "slurm.conf:5: FastSchedule: obsolete, real Slurm refuses it"),
        (NODES + PARTITION + "SlurmctldHost=h\n", "22.05", 'slurm.conf: ClusterName: missing; "cluster" is used'),
        ("ClusterName=c\n" + NODES + PARTITION, "22.05", "slurm.conf: SlurmctldHost: missing"),
        (SMALL + "PreemptParameters=reorder_count=2\n", "22.05",
         "slurm.conf:5: PreemptParameters: Slurm 22.05 does not know this key"),
        (HEAD + "NodeName=n1 Topology=default:s1\n" + PARTITION, "24.11",
         "slurm.conf:3: Topology: Slurm 24.11 does not know this key"),
        (SMALL + "SelectType=select/cons_res\n", "23.11",
         "slurm.conf:5: SelectType: gone since 23.11: select/cons_tres is used"),
        (HEAD + "NodeSet=every Nodes=ALL\n" + NODES + "PartitionName=p Nodes=every\n", "22.05",
         "slurm.conf:3: NodeSet: slurmctld 22.05 takes ALL for a node's name here and does not start; all nodes are "
         "meant"),
        (SMALL + "SlurmctldHost=head(10.0.0.1)\n", "22.05",
         "slurm.conf:5: SlurmctldHost: slurmctld does not start: a host is named twice"),
        (SMALL + "PartitionName=q Nodes=n1 AllowQos=x\n", "26.05",
         "slurm.conf:5: AllowQos: slurmctld does not start: no QOS without "
         "AccountingStorageType=accounting_storage/slurmdbd"),
    ],
)  # fmt: skip
def test_strict_mode_refuses_what_is_otherwise_a_warning(text: str, release: str, message: str) -> None:
    cluster, _ = parse_cluster(text, release=release)
    assert cluster.nodes
    with pytest.raises(ConfigError) as caught:
        parse_cluster(text, release=release, strict=True)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (("MaxJobCont", "5"),
         "--set MaxJobCont: unknown key 'MaxJobCont'; did you mean MaxJobCount? (expected a key of slurm.conf)"),
        (("KillWait", "soon"), "--set KillWait: 'soon' is not a valid number (expected a whole number)"),
        (("PartitionName", "debug:MaxTime=30"), "--set PartitionName: no partition is called 'debug'"),
        (("PartitionName", "mian:MaxTime=30"),
         "--set PartitionName: no partition is called 'mian'; did you mean main?"),
        (("PartitionName", "main"),
         "--set PartitionName: 'main' is no override (expected NAME:Key=value, more after blanks)"),
        (("PartitionName", "main:MaxTime"),
         "--set PartitionName: cannot parse 'MaxTime' (expected NAME:Key=value, more after blanks)"),
        (("NodeName", "n9:Weight=2"),
         "--set NodeName: unknown node 'n9' in 'n9' (expected a NodeName of this configuration)"),
    ],
)  # fmt: skip
def test_bad_overrides(override: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(SMALL, overrides=[override])
    assert str(caught.value) == message


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(SMALL, release="22.11")
    assert str(caught.value).startswith("release: unknown Slurm release '22.11' (expected one of 22.05, 23.02, 23.11, ")
