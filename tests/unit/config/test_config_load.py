"""Whole configurations: what ends in the ClusterSpec, overrides, made-up clusters."""

from __future__ import annotations

from pathlib import Path

import pytest
from conf_texts import ACCOUNTING, HEAD, NODES, PARTITION, REPLAY, SMALL

from slurmsim.config.load import examine, load_cluster, make_cluster, parse_cluster, parse_override
from slurmsim.config.option import Status
from slurmsim.config.options import SCALARS
from slurmsim.errors import ConfigError


def said(findings: list) -> list[str]:
    return [str(finding) for finding in findings]


def test_a_recorded_configuration() -> None:
    cluster, findings = parse_cluster(REPLAY.splitlines(), "replay.conf")
    assert findings == []
    assert cluster.name == "oracle"
    assert [node.name for node in cluster.nodes] == [f"n{i:02d}" for i in range(1, 25)]
    node = cluster.nodes[0]
    assert (node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core) == (8, 2, 4, 1)
    assert (node.real_memory_mib, node.weight, node.state) == (16000, 1, "UNKNOWN")
    batch, debug = cluster.partitions
    assert (batch.name, batch.default, batch.max_time_s, batch.default_time_s) == ("batch", True, 86_400, 600)
    assert (debug.default, debug.nodes, debug.max_time_s) == (False, ("n01", "n02", "n03", "n04"), 1800)
    assert cluster.scheduler_parameters == {"bf_interval": "10", "bf_resolution": "60", "bf_window": "1440"}
    assert cluster.option("SelectType") == "select/cons_tres"
    assert cluster.option("SelectTypeParameters") == ("CR_Core_Memory",)
    assert (cluster.option("KillWait"), cluster.option("MinJobAge"), cluster.option("DefMemPerCPU")) == (
        5,
        100_000,
        100,
    )
    assert cluster.option("DefMemPerNode") is None


def test_what_is_not_modelled_is_said_by_name() -> None:
    cluster, findings = parse_cluster(ACCOUNTING.replace("AllowGroups=root", "Alternate=batch"), "acct.conf")
    assert said(findings) == [
        "acct.conf:24: warning: Alternate=batch: not modelled (PartitionName=closed): jobs wait in their own partition",
    ]
    assert cluster.option("Licenses") == (("matlab", 4), ("fluent", 10))
    assert cluster.option("PriorityMaxAge") == 86_400
    assert cluster.option("PriorityCalcPeriod") == 60
    assert cluster.option("PriorityWeightAge") == 1000
    assert cluster.option("AccountingStorageType") == "accounting_storage/slurmdbd"
    by_name = {partition.name: partition for partition in cluster.partitions}
    assert (by_name["batch"].priority_tier, by_name["scav"].max_time_s, by_name["down"].state) == (10, None, "DOWN")
    assert [node.features for node in cluster.nodes[11:15]] == [("std",), *[("bigmem", "std")] * 2, ("fast",)]
    assert {node.weight for node in cluster.nodes} == {1, 10, 20}


def test_every_honoured_key_has_a_value() -> None:
    cluster, findings = parse_cluster(SMALL)
    assert findings == []
    for option in SCALARS.values():
        assert (option.name in cluster.options) == (option.status is Status.HONOURED)


@pytest.mark.parametrize(
    ("release", "select", "words", "priority"),
    [("22.05", "select/linear", (), "priority/basic"), ("23.02", "select/linear", (), "priority/basic"),
     ("23.11", "select/cons_tres", ("CR_Core_Memory",), "priority/multifactor"),
     ("26.05", "select/cons_tres", ("CR_Core_Memory",), "priority/multifactor")],
)  # fmt: skip
def test_defaults_by_release(release: str, select: str, words: tuple[str, ...], priority: str) -> None:
    cluster, _ = parse_cluster(SMALL, release=release)
    found = cluster.options
    assert (found["SelectType"], found["SelectTypeParameters"], found["PriorityType"]) == (select, words, priority)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("schedulertype=builtin", "SchedulerType", "sched/builtin"),
        ("SchedulerType = sched/easy", "SchedulerType", "sched/easy"),
        ("SelectType=select/cons_tres", "SelectType", "select/cons_tres"),
        ("SelectType=select/cons_res", "SelectType", "select/cons_tres"),
        ("PriorityType=PRIORITY/MULTIFACTOR", "PriorityType", "priority/multifactor"),
        ("PriorityFavorSmall=yes", "PriorityFavorSmall", True),
        ("PriorityFavorSmall=0", "PriorityFavorSmall", False),
        ("PriorityFlags=accrue_always,Small_Relative_To_Time", "PriorityFlags",
         ("ACCRUE_ALWAYS", "SMALL_RELATIVE_TO_TIME")),
        ("PriorityMaxAge=90", "PriorityMaxAge", 5400),
        ("PriorityMaxAge=0-00:00:30", "PriorityMaxAge", 60),
        ("PriorityCalcPeriod=00:05:00", "PriorityCalcPeriod", 300),
        ("OverTimeLimit=2", "OverTimeLimit", 120),
        ("OverTimeLimit=UNLIMITED", "OverTimeLimit", None),
        ("EnforcePartLimits=yes", "EnforcePartLimits", "ALL"),
        ("EnforcePartLimits=any", "EnforcePartLimits", "ANY"),
        ("DefMemPerNode=2k", "DefMemPerNode", 2048),
        ("DefMemPerNode=0", "DefMemPerNode", None),
        ("MaxMemPerCPU=UNLIMITED", "MaxMemPerCPU", None),
        ("DependencyParameters=kill_invalid_depend", "DependencyParameters", ("kill_invalid_depend",)),
        ("AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageType", "accounting_storage/slurmdbd"),
        ("GresTypes=gpu,shard", "GresTypes", ("gpu", "shard")),
        ("SlurmdTimeout=UNLIMITED", "SlurmdTimeout", None),
        ('MailProg="/bin/mail -s x"', "MailProg", "/bin/mail -s x"),
    ],
)  # fmt: skip
def test_values(line: str, key: str, value: object) -> None:
    cluster, findings = parse_cluster(SMALL + line + "\n")
    assert cluster.option(key) == value
    assert [finding for finding in findings if finding.severity != "note"] == []


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        ("KillWait=5\nKillWait=6", "slurm.conf:6: warning: KillWait=6: set more than once, the last value is used"),
        ("MinJobAge=1", "slurm.conf:5: warning: MinJobAge=1: reset to 2, as Slurm does"),
        ("DefMemPerCPU=1\nDefMemPerNode=2",
         "slurm.conf:5: warning: DefMemPerCPU=1: ignored, as DefMemPerNode is set too"),
        ("SelectType=select/cons_res", "slurm.conf:5: note: SelectType=select/cons_res: gone since 23.11: "
                                       "select/cons_tres is used"),
        ("PriorityType=priority/multifactor\nPriorityWeightAge=5",
         "slurm.conf:6: note: PriorityWeightAge=5: ignored without AccountingStorageType=accounting_storage/slurmdbd, "
         "as in real Slurm"),
        ("SuspendProgram=/s\nSuspendTime=60", "slurm.conf:6: note: SuspendTime=60: without effect without "
                                              "ResumeProgram, as in real Slurm"),
        ("PriorityType=priority/multifactor\nPriorityWeightTRES=cpu=0,mem=5,gres/gpu=9",
         "slurm.conf:6: warning: PriorityWeightTRES=gres/gpu: counts as 0, as AccountingStorageTRES does not list it; "
         "slurmctld does not start with it"),
        ("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE",
         "slurm.conf:6: warning: SelectTypeParameters=CR_ONE_TASK_PER_CORE: not modelled: tasks may share a core on "
         "nodes with ThreadsPerCore above 1"),
        ("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nNodeName=t1 CoresPerSocket=2 ThreadsPerCore=2",
         "slurm.conf:6: warning: SelectTypeParameters=CR_CPU: on nodes with threads as t1 real Slurm gives whole "
         "cores"),
        ("SelectType=select/cons_tres\nSelectTypeParameters=CR_Socket\nNodeName=t1 CoresPerSocket=2 ThreadsPerCore=2",
         "slurm.conf:6: warning: SelectTypeParameters=CR_Socket: on nodes with threads as t1 --threads-per-core has no "
         "effect"),
        ("FastSchedule=1", "slurm.conf:5: note: FastSchedule=1: obsolete, real Slurm ignores it: remove the line"),
        ("FastSchedule=2", "slurm.conf:5: warning: FastSchedule=2: obsolete, real Slurm refuses it; use "
                           "SlurmdParameters=config_overrides"),
        ("FastSchedule=0", "slurm.conf:5: warning: FastSchedule=0: obsolete, real Slurm refuses it"),
    ],
)  # fmt: skip
def test_warnings_and_notes(lines: str, finding: str) -> None:
    _, findings = parse_cluster(SMALL + lines + "\n")
    assert said(findings) == [finding]


@pytest.mark.parametrize(
    "line",
    ["TopologyPlugin=topology/none", "TopologyPlugin=topology/flat", "PreemptType=preempt/none", "PreemptMode=OFF",
     "SuspendTime=-1", "SuspendTime=INFINITE", "PriorityWeightFairshare=0", "PriorityWeightFairshare=9",
     "PriorityWeightTRES=cpu=2", "AccountingStorageEnforce=none", "AccountingStorageEnforce=limits",
     "JobSubmitPlugins=none", "Licenses=", "ControlMachine=h", "PriorityDecayHalfLife=1-0", "PreemptMode=GANG",
     "TreeWidth=50", "ResumeTimeout=120", "SuspendTime=60\nSuspendProgram=/s\nResumeProgram=/r"],
)  # fmt: skip
def test_what_has_no_effect_is_not_complained_about(line: str) -> None:
    if line.endswith("="):
        line += '""'
    _, findings = parse_cluster(SMALL + line + "\n")
    assert findings == []


def test_options_that_were_normalised_do_not_depend_on_the_order_of_lines() -> None:
    lines = ["SelectTypeParameters=CR_Socket,CR_LLN", "SelectType=select/cons_tres", "KillWait=7"]
    one, _ = parse_cluster(SMALL + "\n".join(lines))
    two, _ = parse_cluster("\n".join(reversed(lines)) + "\n" + SMALL)
    assert one == two
    assert one.option("SelectTypeParameters") == ("CR_Socket", "CR_LLN")


# -- overrides


def test_scheduler_parameters_merge() -> None:
    cluster, findings = parse_cluster(
        SMALL + "SchedulerParameters=bf_continue,bf_interval=30,default_queue_depth=50\n",
        overrides=[("schedulerparameters", "BF_interval=60,defer"), ("SchedulerParameters", "-bf_continue")],
    )
    assert findings == []
    assert cluster.scheduler_parameters == {"bf_interval": "60", "default_queue_depth": "50", "defer": ""}


def test_scalar_overrides_win_and_the_last_counts() -> None:
    cluster, findings = parse_cluster(
        SMALL + "PriorityWeightAge=1\n",
        overrides=[("priorityweightage", "5"), ("PriorityWeightAge", "7"), ("SchedulerType", "sched/easy")],
    )
    assert (cluster.option("PriorityWeightAge"), cluster.option("SchedulerType")) == (7, "sched/easy")
    assert findings == []


def test_overrides_of_partitions_and_nodes() -> None:
    cluster, _ = parse_cluster(
        HEAD + NODES + "NodeName=g1 Sockets=2 CoresPerSocket=4 Gres=gpu:2 Weight=9\nGresTypes=gpu\n"
        "PartitionName=DEFAULT MaxTime=60\nPartitionName=debug Nodes=ALL\n" + PARTITION,
        overrides=[("PartitionName", "debug:MaxTime=30 PriorityTier=5"), ("NodeName", "n[2-3]:Weight=5"),
                   ("nodename", "g1:CoresPerSocket=8"), ("PartitionName", "debug:Default=YES")],
    )  # fmt: skip
    debug, main = cluster.partitions
    assert (debug.max_time_s, debug.priority_tier, debug.default, len(debug.nodes)) == (1800, 5, True, 5)
    assert (main.max_time_s, main.default) == (3600, False)
    assert {node.name: node.weight for node in cluster.nodes} == {"g1": 9, "n1": 1, "n2": 5, "n3": 5, "n4": 1}
    assert (cluster.nodes[0].cpus, cluster.nodes[0].gres[0].count) == (16, 2)


def test_an_override_that_is_not_modelled_is_said() -> None:
    _, findings = parse_cluster(SMALL, overrides=[("BurstBufferType", "lua")])
    assert said(findings) == [
        "warning: --set BurstBufferType=lua: not modelled: jobs do not wait for stage-in or stage-out"
    ]


def test_parse_override() -> None:
    assert parse_override("SchedulerParameters=bf_interval=60") == ("SchedulerParameters", "bf_interval=60")
    for text in ("KillWait", "=5", ""):
        with pytest.raises(ConfigError) as caught:
            parse_override(text)
        assert str(caught.value) == f"--set: {text!r} sets nothing (expected Key=Value)"


# -- files


def test_load_reads_includes_and_gres_conf(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(HEAD + "GresTypes=gpu\nInclude nodes-%c.conf\n" + PARTITION)
    (tmp_path / "nodes-c.conf").write_text("NodeName=g[1-2] CPUs=8 Gres=gpu:2\n")
    (tmp_path / "gres.conf").write_text("Name=gpu Type=a100 File=/dev/nvidia[0-1]\n")
    cluster, findings = load_cluster(path)
    assert findings == []
    assert [(gres.name, gres.type, gres.count) for gres in cluster.nodes[0].gres] == [("gpu", "a100", 2)]


def test_errors_name_the_included_file(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(HEAD + "Include more.conf\n" + NODES + PARTITION)
    (tmp_path / "more.conf").write_text("\nKillWait=soon\n")
    with pytest.raises(ConfigError) as caught:
        load_cluster(path)
    assert str(caught.value) == (
        f"{tmp_path}/more.conf:2: KillWait: 'soon' is not a valid number (expected a whole number)"
    )


def test_examine_collects_all_errors(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(SMALL + "KillWait=soon\nFoo=1\nPartitionName=p Nodes=n9\n")
    examination = examine(path)
    assert examination.cluster is None
    assert [finding.key for finding in examination.report.errors] == ["Foo", "KillWait", "Nodes"]


# -- made-up clusters


def test_make_cluster() -> None:
    cluster = make_cluster(100, 16, partitions=("q1", "q2"))
    assert [cluster.nodes[i].name for i in (0, 8, 99)] == ["n001", "n009", "n100"]
    node = cluster.nodes[0]
    assert (node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core) == (16, 1, 16, 1)
    first, second = cluster.partitions
    assert (first.name, first.default, first.max_time_s, len(first.nodes)) == ("q1", True, None, 100)
    assert (second.default, second.nodes) == (False, first.nodes)
    assert cluster.option("SelectTypeParameters") == ("CR_Core",)
    assert (cluster.option("MaxArraySize"), cluster.option("MaxJobCount")) == (4_000_001, 2**31 - 1)
    assert cluster.option("PriorityType") == "priority/multifactor"


def test_make_cluster_with_memory_and_overrides() -> None:
    cluster = make_cluster(1, 4, memory_mib=1000, prefix="r", overrides=[("PriorityType", "priority/basic")])
    assert (cluster.nodes[0].name, cluster.nodes[0].real_memory_mib) == ("r1", 1000)
    assert cluster.option("SelectTypeParameters") == ("CR_Core_Memory",)
    assert cluster.option("PriorityType") == "priority/basic"


@pytest.mark.parametrize(
    ("nodes", "cpus", "message"),
    [(0, 4, "--nodes: 0 is too few (expected at least 1)"),
     (4, -1, "--cpus-per-node: -1 is too few (expected at least 1)")],
)  # fmt: skip
def test_make_cluster_needs_nodes(nodes: int, cpus: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_cluster(nodes, cpus)
    assert str(caught.value) == message
