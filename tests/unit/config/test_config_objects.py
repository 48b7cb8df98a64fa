"""NodeName, DownNodes, NodeSet and PartitionName lines, and gres.conf."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conf_texts import GRES, GRES_CONF, HEAD, NODES, PARTITION, SMALL

from slurmsim.config.findings import Finding, warnings_among
from slurmsim.config.load import parse_cluster
from slurmsim.errors import ConfigError
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec


def node(attributes: str) -> tuple[NodeSpec, list[str]]:
    cluster, findings = parse_cluster(f"{HEAD}NodeName=n1 {attributes}\n{PARTITION}")
    return cluster.nodes[0], [str(finding) for finding in findings]


def partition(line: str) -> tuple[PartitionSpec, list[str]]:
    cluster, findings = parse_cluster(HEAD + NODES + line + "\n")
    return cluster.partitions[0], [str(finding) for finding in findings]


@pytest.mark.parametrize(
    ("attributes", "sizes"),  # sockets, cores, threads, CPUs
    [
        ("", (1, 1, 1, 1)),
        ("CPUs=8", (8, 1, 1, 8)),
        ("Procs=8", (8, 1, 1, 8)),
        ("CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", (2, 4, 2, 16)),
        ("Sockets=2 CoresPerSocket=4", (2, 4, 1, 8)),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", (2, 4, 2, 16)),
        ("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", (2, 4, 2, 8)),
        ("CPUs=2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", (2, 4, 2, 2)),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", (4, 4, 1, 16)),
        ("Boards=2 CoresPerSocket=4", (2, 4, 1, 8)),
    ],
)
def test_sizes_are_inferred(attributes: str, sizes: tuple[int, int, int, int]) -> None:
    spec, findings = node(attributes)
    assert (spec.sockets, spec.cores_per_socket, spec.threads_per_core, spec.cpus) == sizes
    assert findings == []


@pytest.mark.parametrize(
    ("attributes", "sizes", "finding"),
    [
        ("CPUs=7 Sockets=2 CoresPerSocket=4", (2, 4, 1, 8),
         "CPUs=7: n1 has 2 sockets * 4 cores * 1 threads: CPUs reset to 8, as Slurm does"),
        ("Sockets=0 CoresPerSocket=4", (1, 4, 1, 4), "Sockets=0: reset to 1, as Slurm does"),
        ("CPUs=0", (1, 1, 1, 1), "CPUs=0: reset to 1, as Slurm does"),
        ("Sockets=3 SocketsPerBoard=2 CoresPerSocket=2", (2, 2, 1, 4),
         "Sockets=3: given beside SocketsPerBoard, which is used"),
    ],
)  # fmt: skip
def test_sizes_are_reset(attributes: str, sizes: tuple[int, int, int, int], finding: str) -> None:
    spec, findings = node(attributes)
    assert (spec.sockets, spec.cores_per_socket, spec.threads_per_core, spec.cpus) == sizes
    assert findings == [f"slurm.conf:3: warning: {finding}"]


def test_other_node_attributes() -> None:
    spec, findings = node("CPUs=8 RealMemory=65536 TmpDisk=100 Weight=5 Feature=a,b State=DRAIN Reason=\"bad fan\" "
                          "CPUSpecList=0-1 MemSpecLimit=1000 NodeAddr=10.0.0.1 Port=17001")  # fmt: skip
    assert findings == []
    assert replace(spec, spec_cores=()) == NodeSpec(
        "n1", 8, 8, 1, 1, 65_536, 100, 5, ("a", "b"), (), "DRAIN", "bad fan", 2, 1000
    )  # fmt: skip
    assert spec.spec_cores == (0, 1)


def test_specialised_cores_leave_one() -> None:
    spec, findings = node("CPUs=4 CoreSpecCount=4")
    assert spec.core_spec_count == 1
    assert findings == [
        "slurm.conf:3: warning: CoreSpecCount=4: as many cores as the node has: reset to 1, as Slurm does"
    ]


def test_default_lines_hold_for_the_lines_below() -> None:
    cluster, _ = parse_cluster(
        HEAD + "NodeName=a1\nNodeName=DEFAULT CPUs=4 Weight=7\nNodeName=b1\nnodename=default weight=8\nNodeName=c1\n"
        "NodeName=d1 CPUs=2\nPartitionName=p0 Nodes=a1\nPartitionName=DEFAULT Nodes=ALL MaxTime=60 State=DOWN\n"
        "PartitionName=p1\nPartitionName=DEFAULT State=UP\nPartitionName=p2 MaxTime=INFINITE\n"
    )
    assert [(spec.name, spec.cpus, spec.weight) for spec in cluster.nodes] == [
        ("a1", 1, 1), ("b1", 4, 7), ("c1", 4, 8), ("d1", 2, 8)]  # fmt: skip
    assert [(p.name, len(p.nodes), p.max_time_s, p.state) for p in cluster.partitions] == [
        ("p0", 1, None, "UP"), ("p1", 4, 3600, "DOWN"), ("p2", 4, None, "UP")]  # fmt: skip


def test_the_node_table_is_in_natural_order() -> None:
    cluster, _ = parse_cluster(HEAD + "NodeName=n[9-11],n2\nNodeName=g1\nPartitionName=p Nodes=n10,g1,n2\n")
    assert [spec.name for spec in cluster.nodes] == ["g1", "n2", "n9", "n10", "n11"]
    assert cluster.partitions[0].nodes == ("g1", "n2", "n10")


def test_states() -> None:
    cluster, findings = parse_cluster(
        HEAD + "NodeName=n1 State=FUTURE\nNodeName=n2 State=CLOUD\nNodeName=n3 State=fail\nNodeName=n4\n"
        "DownNodes=n4 State=DOWN Reason=broken\nPartitionName=p Nodes=n[1-4]\n"
    )
    assert [(spec.name, spec.state, spec.reason) for spec in cluster.nodes] == [
        ("n2", "CLOUD", ""), ("n3", "DRAIN", ""), ("n4", "DOWN", "broken")]  # fmt: skip
    assert cluster.partitions[0].nodes == ("n2", "n3", "n4")
    assert [str(finding) for finding in findings] == [
        "slurm.conf:3: note: State=FUTURE: n1 is left out: future nodes take no jobs",
        "slurm.conf:4: warning: State=CLOUD: the nodes are up from the start: nothing boots them without "
        "SuspendProgram, ResumeProgram and SuspendTime",
    ]


def test_node_sets() -> None:
    cluster, findings = parse_cluster(
        HEAD + "NodeName=n[1-2] Feature=a\nNodeName=n[3-4] Feature=b\nNodeName=n5\nNodeSet=set1 Feature=a Nodes=n5\n"
        "NodeSet=none Feature=z\nPartitionName=p Nodes=set1,n3\nPartitionName=q Nodes=none\n"
    )
    assert cluster.partitions[0].nodes == ("n1", "n2", "n3", "n5")
    assert cluster.partitions[1].nodes == ()
    assert [str(finding) for finding in findings] == ["slurm.conf:7: warning: NodeSet=none: no node belongs to it"]


def test_partition_attributes() -> None:
    spec, findings = partition(
        "PartitionName=p Nodes=n[1-2] Default=YES MaxTime=2-0 DefaultTime=1:30 MinNodes=1 MaxNodes=2 MaxCPUsPerNode=4 "
        "DefMemPerCPU=1024 OverSubscribe=FORCE:1 PriorityTier=7 PriorityJobFactor=9 State=drain "
        "OverTimeLimit=5 LLN=yes RootOnly=no TRESBillingWeights=CPU=1.0,Mem=0.25G Hidden=YES"
    )
    assert findings == []
    assert spec == PartitionSpec(
        "p", ("n1", "n2"), True, 172_800, 120, 1, 2, 4, 1024, None, None, None, "FORCE", 1, 7, 9, "DRAIN", 300, True,
        tres_billing_weights=(("cpu", 1.0), ("mem", 0.25 / 1024)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "share"),
    [("NO", ("NO", 1)), ("FORCE:1", ("FORCE", 1)), ("EXCLUSIVE", ("EXCLUSIVE", 1))],
)
def test_oversubscribe(text: str, share: tuple[str, int]) -> None:
    for key in ("OverSubscribe", "Shared"):
        spec, findings = partition(f"PartitionName=p Nodes=n1 {key}={text}")
        assert (spec.oversubscribe, spec.oversubscribe_max) == share
        assert findings == []


@pytest.mark.parametrize(
    ("text", "share"),
    [("FORCE", ("FORCE", 4)), ("force:2", ("FORCE", 2)), ("YES", ("YES", 4)), ("yes:3", ("YES", 3))],
)
def test_how_many_jobs_share_a_core(text: str, share: tuple[str, int]) -> None:
    spec, findings = partition(f"PartitionName=p Nodes=n1 OverSubscribe={text} ExclusiveUser=YES")
    assert (spec.oversubscribe, spec.oversubscribe_max, spec.exclusive_user) == (*share, True)
    assert findings == []


@pytest.mark.parametrize(
    ("attributes", "finding"),
    [
        ("MaxMemPerCPU=5 MaxMemPerNode=99999", "MaxMemPerCPU=5: ignored, as MaxMemPerNode is set too"),
        ("OverSubscribe=YES:x", "OverSubscribe=YES:x: bad count 'X': NO is used, as in Slurm"),
        ("MaxTime=10 DefaultTime=20", "DefaultTime=20: above MaxTime of partition p: MaxTime is used"),
        ("MinNodes=3 MaxNodes=2", "MinNodes=3: above MaxNodes=2 of partition p: its jobs never start"),
        ("DefMemPerCPU=5 DefMemPerNode=6", "DefMemPerCPU=5: ignored, as DefMemPerNode is set too"),
        ("Alternate=q", "Alternate=q: not modelled (PartitionName=p): jobs wait in their own partition"),
    ],
)
def test_partition_warnings(attributes: str, finding: str) -> None:
    _, findings = partition(f"PartitionName=p Nodes=n1 {attributes}")
    assert findings == [f"slurm.conf:4: warning: {finding}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DefMemPerNode=5000 MaxMemPerNode=4000", "below DefMemPerNode=5000 in partition p: its jobs that ask for no"
         " memory never start"),
        ("MaxMemPerNode=4000 DefMemPerCPU=9000", ""),
        ("MaxMemPerNode=UNLIMITED", ""),
        ("MaxMemPerCPU=1", ""),
    ],
)  # fmt: skip
def test_a_default_beyond_the_limit_is_warned_about(text: str, message: str) -> None:
    _, findings = partition(f"PartitionName=p Nodes=n1 {text}")
    assert findings == ([f"slurm.conf:4: warning: MaxMemPerNode=4000: {message}"] if message else [])


def test_limits_on_memory() -> None:
    """0 is the cluster's limit, UNLIMITED none at all."""
    for text, value in (("0", None), ("UNLIMITED", 0), ("40k", 40960)):
        spec, findings = partition(f"PartitionName=p Nodes=n1 MaxMemPerNode={text}")
        assert (spec.max_mem_per_node_mib, findings) == (value, [])


def test_deny_lists_lose_against_allow_lists() -> None:
    spec, findings = partition("PartitionName=p Nodes=n1 AllowAccounts=a,b DenyAccounts=c AllowQos=ALL")
    assert (spec.allow_accounts, spec.deny_accounts, spec.allow_qos) == (("a", "b"), (), ())
    assert "slurm.conf:4: warning: DenyAccounts=c: ignored, as AllowAccounts is set too" in findings


def test_a_partition_named_twice_takes_the_later_keys() -> None:
    """slurmctld of all releases ends with a duplicate entry; slurmsim reads on, but not with --strict."""
    text = SMALL + "PartitionName=b Nodes=n1 Default=YES\nPartitionName=main MaxTime=5\n"
    cluster, findings = parse_cluster(text)
    main, b = cluster.partitions
    said = "defined twice (first at slurm.conf:4): slurmctld does not start; the later keys are used"
    assert [str(finding) for finding in findings] == [f"slurm.conf:6: warning: PartitionName=main: {said}"]
    with pytest.raises(ConfigError, match="defined twice"):
        parse_cluster(text, strict=True)
    assert (main.name, main.max_time_s, len(main.nodes), main.default, b.default) == ("main", 300, 4, False, True)


@pytest.mark.parametrize("nodes", ["", 'Nodes=""'])
def test_a_partition_without_nodes(nodes: str) -> None:
    spec, findings = partition(f"PartitionName=p {nodes}")
    assert spec.nodes == ()
    assert findings == ["slurm.conf:4: warning: PartitionName=p: has no nodes: its jobs never start"]


# -- gres.conf


def gres_of(text: str, gres_conf: str) -> tuple[list[list[tuple[str, str, int]]], list[str]]:
    cluster, findings = parse_cluster(text, gres_lines=gres_conf)
    kinds = [[(gres.name, gres.type, gres.count) for gres in spec.gres] for spec in cluster.nodes]
    return kinds, [str(finding) for finding in findings]


def test_gres_conf_agrees() -> None:
    kinds, findings = gres_of(GRES, GRES_CONF)
    assert kinds == [[("gpu", "a", 2)]] * 2 + [[("gpu", "b", 4)]] * 2 + [[]]
    assert findings == []


@pytest.mark.parametrize(
    ("line", "kinds", "findings"),
    [
        ("Name=gpu Type=x Count=2", [("gpu", "x", 2)], []),
        ("Name=gpu Type=x\nName=gpu Type=y", [("gpu", "x", 1), ("gpu", "y", 1)], []),
        ("Name=gpu Count=2 Cores=0-3 Links=0,-1", [("gpu", "", 2)], []),
        ("NodeName=n1 AutoDetect=nvml", [("gpu", "", 2)], []),
        ("AutoDetect=off", [("gpu", "", 2)],
         ["gres.conf:1: warning: Count=gpu:2: gres.conf gives node n1 0 gpu, slurm.conf 2, which counts here; a real "
          "node would be drained"]),
        ("Name=gpu File=/dev/nvidia0", [("gpu", "", 2)],
         ["gres.conf:1: warning: Count=gpu:2: gres.conf gives node n1 1 gpu, slurm.conf 2, which counts here; a real "
          "node would be drained"]),
        ("Name=gpu Count=8", [("gpu", "", 2)],
         ["gres.conf:1: note: Count=gpu:2: gres.conf gives node n1 8 gpu, slurm.conf 2: the rest is ignored, as in "
          "real Slurm"]),
        ("Name=gpu File=/dev/nvidia[0-1] Count=5", [("gpu", "", 2)],
         ["gres.conf:1: warning: Count=5: File names 2 devices, which is used"]),
    ],
)  # fmt: skip
def test_gres_conf_fills_in_and_is_compared(line: str, kinds: list, findings: list[str]) -> None:
    text = HEAD + "GresTypes=gpu\nNodeName=n1 CPUs=8 Gres=gpu:2\n" + PARTITION
    assert gres_of(text, line) == ([kinds], findings)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Nme=gpu Count=2", "gres.conf:1: Nme: unrecognized key on a gres.conf line; did you mean Name?"),
        ("Type=a Count=2", "gres.conf:1: Type: the line names no GRES (expected Name=gpu)"),
        ("Name=gpu Count=two", "gres.conf:1: Count: 'two' is not a count (expected a whole number)"),
        ("Name=gpu File=/dev/x[0", "gres.conf:1: File: '[' without ']' in hostlist '/dev/x[0'"),
        ("gpu", "gres.conf:1: cannot parse 'gpu' (expected Key=value)"),
    ],
)  # fmt: skip
def test_bad_gres_conf(line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(SMALL, gres_lines=line)
    assert str(caught.value) == message


@pytest.mark.parametrize("first", [0, 1])
def test_what_a_node_detects_by_its_own_line_counts_wherever_that_stands(first: int) -> None:
    lines = ["NodeName=n1 AutoDetect=nvml", "AutoDetect=rsmi"]
    text = HEAD + "GresTypes=gpu\nNodeName=n[1-2] CPUs=8 Gres=gpu:2\n" + PARTITION
    cluster, _ = parse_cluster(text, gres_lines="\n".join([lines[first], lines[1 - first]]))
    assert [spec.gpu_variables for spec in cluster.nodes] == [("CUDA_VISIBLE_DEVICES",), ("ROCR_VISIBLE_DEVICES",)]


def test_nodes_of_other_clusters_in_gres_conf_are_left_out() -> None:
    """slurmctld 22.05.8, 24.11.5 and 26.05.5 start with a line for nodes that slurm.conf does not have."""
    lines = "NodeName=m1 Name=gpu Count=2\nNodeName=n1,m[2-3] Name=gpu Count=2"
    _, findings = parse_cluster("GresTypes=gpu\n" + SMALL, gres_lines=lines)
    assert [str(one) for one in findings if "gres.conf" in str(one)] == [
        "gres.conf:1: warning: NodeName=m1: no nodes of slurm.conf: left out, as Slurm does",
        "gres.conf:2: warning: NodeName=m[2-3]: no nodes of slurm.conf: left out, as Slurm does",
    ]


def test_warnings_that_say_the_same_are_one_line() -> None:
    def warning(line: int, message: str = "not modelled", severity: str = "warning") -> Finding:
        return Finding(severity, "slurm.conf", line, "NodeName.Foo", str(line), message)

    found = [warning(4), warning(5), warning(6, "other"), warning(7, severity="note"), warning(9)]
    assert warnings_among(found) == [
        "slurm.conf:4: warning: NodeName.Foo=4: not modelled (and 2 more of NodeName.Foo)",
        "slurm.conf:6: warning: NodeName.Foo=6: other",
    ]
