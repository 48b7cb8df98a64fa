"""Files of Slurm's beside slurm.conf that are not read, and nodes that ``--set`` adds."""

from __future__ import annotations

from pathlib import Path

import pytest
from conf_texts import HEAD, PARTITION, SMALL

from slurmsim.config.load import load_cluster, make_cluster, parse_cluster
from slurmsim.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "severity"),
    [("burst_buffer.conf", "warning"), ("cgroup.conf", "note"), ("job_container.conf", "note"), ("oci.conf", "note"),
     ("acct_gather.conf", "note"), ("plugstack.conf", "note"), ("scrun.lua", "note"), ("namespace.yaml", "note")],
)  # fmt: skip
def test_a_file_that_is_not_read_is_named(name: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(SMALL)
    (tmp_path / name).write_text("x\n")
    _, findings = load_cluster(tmp_path / "slurm.conf")
    (said,) = map(str, findings)
    assert said.startswith(f"{tmp_path / name}: {severity}: {name}: slurmsim does not read this file of Slurm's")


def test_nodes_are_added_where_their_size_is_said() -> None:
    cluster, findings = parse_cluster(SMALL, overrides=[("NodeName", "n[101-140]:CPUs=16 RealMemory=4000")])
    assert (len(cluster.nodes), len(cluster.partitions[0].nodes), findings) == (44, 44, [])
    new = cluster.nodes[-1]
    assert (new.name, new.cpus, new.real_memory_mib) == ("n140", 16, 4000)


def test_added_nodes_of_a_partition_that_lists_its_nodes() -> None:
    text = HEAD + "NodeName=n[1-4] CPUs=8\n" + PARTITION.replace("ALL", "n[1-2]")
    added = ("NodeName", "m[1-3]:CPUs=8")
    assert parse_cluster(text, overrides=[added])[0].partitions[0].nodes == ("n1", "n2")
    both = parse_cluster(text, overrides=[added, ("PartitionName", "main:Nodes=n[1-2],m[1-3]")])[0]
    assert both.partitions[0].nodes == ("m1", "m2", "m3", "n1", "n2")


@pytest.mark.parametrize("value", ["nn1:Weight=5", "n[4-5]:CPUs=8"])
def test_names_that_are_no_nodes_are_refused_else(value: str) -> None:
    with pytest.raises(ConfigError, match="--set NodeName: unknown node"):
        parse_cluster(SMALL, overrides=[("NodeName", value)])


def test_warnings_of_a_made_up_cluster_are_kept() -> None:
    findings: list = []
    for _ in range(2):  # a log's partitions make it anew
        make_cluster(4, 8, overrides=[("SchedulerParameters", "bf_interval=soon")], findings=findings)
    assert [str(finding) for finding in findings] == [
        "warning: SchedulerParameters=bf_interval=soon: 'soon' is not a number; its default 30 is used"
    ]
