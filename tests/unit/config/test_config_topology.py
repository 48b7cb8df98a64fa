"""topology.conf: switches, and what contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.config.load import load_cluster, parse_cluster
from slurmsim.core.placement.topology import SwitchTree
from slurmsim.errors import ConfigError
from slurmsim.model.switch import SwitchSpec

CONF = """ClusterName=c
SlurmctldHost=h
TopologyPlugin=topology/tree
NodeName=n[1-6] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
TREE = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-6] LinkSpeed=9\nSwitchName=top Switches=s[1-2]\n"


def test_switches() -> None:
    cluster, findings = parse_cluster(CONF, topology_lines=TREE)
    assert cluster.switches == (
        SwitchSpec("s1", ("n1", "n2")), SwitchSpec("s2", ("n3", "n4", "n5", "n6")), SwitchSpec("top", (), ("s1", "s2")),
    )  # fmt: skip
    assert not [f for f in findings if f.severity != "note"]


def test_the_file_beside_slurm_conf(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    with pytest.raises(ConfigError, match=r"TopologyPlugin: topology/tree needs a topology\.conf"):
        load_cluster(tmp_path / "slurm.conf")
    (tmp_path / "topology.conf").write_text(TREE)
    assert len(load_cluster(tmp_path / "slurm.conf")[0].switches) == 3
    flat = load_cluster(tmp_path / "slurm.conf", [("TopologyPlugin", "topology/none")])[0]
    assert flat.switches == ()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("SwitchName=s1 Nodes=n1 Switches=s2", "joins either nodes or switches"),
        ("SwitchName=s1", "joins either nodes or switches"),
        ("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2", "defined twice"),
        ("SwitchName=s1 Switches=s2", "joins a switch that no line defines"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "is below itself"),
        ("BlockName=b1 Nodes=n1", "opens no line here"),
        ("SwitchName=s1 Nodes=n1 Colour=red", "unrecognized key"),
    ],
)
def test_contradictions(lines: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_cluster(CONF, topology_lines=lines)


def test_a_switch_may_be_below_two_others() -> None:
    """slurmctld 22.05.8, 24.11.5 and 26.05.5 take it; both switches above have the nodes."""
    lines = "SwitchName=s Nodes=n[1-6]\nSwitchName=a Switches=s,s\nSwitchName=b Switches=s\n"
    cluster, findings = parse_cluster(CONF, topology_lines=lines)
    assert ["is below a already" in f.message for f in findings if f.severity == "warning"] == [True]
    tree = SwitchTree(cluster.switches, {node.name: i for i, node in enumerate(cluster.nodes)})
    assert [nodes.bit_count() for nodes in tree.nodes] == [6, 6, 6]
    assert tree.leaves == [0]


def test_nodes_without_a_switch_are_told() -> None:
    _, findings = parse_cluster(CONF, topology_lines="SwitchName=s1 Nodes=n[1-4]")
    assert ["2 nodes are on no switch (the first is n5)" in f.message for f in findings if f.severity == "warning"] == [
        True
    ]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_names_that_are_no_nodes_are_left_out(release: str) -> None:
    """slurmctld of the three releases logs "Invalid hostnames in switch configuration" and goes on; ALL is a name."""
    lines = "SwitchName=s1 Nodes=n[1-2],old\nSwitchName=s2 Nodes=n[3-9]\nSwitchName=s3 Nodes=ALL\n"
    cluster, findings = parse_cluster(CONF, topology_lines=lines + "SwitchName=top Switches=s[1-3]\n", release=release)
    assert [switch.nodes for switch in cluster.switches] == [("n1", "n2"), ("n3", "n4", "n5", "n6"), (), ()]
    assert [str(finding) for finding in findings if finding.severity != "note"] == [
        "topology.conf:1: warning: Nodes=n[1-2],old: old in topology.conf is no node of slurm.conf, left out, as Slurm "
        "does",
        "topology.conf:2: warning: Nodes=n[3-9]: n[7-9] in topology.conf are no nodes of slurm.conf, left out, as "
        "Slurm does",
        "topology.conf:3: warning: Nodes=ALL: ALL in topology.conf is no node of slurm.conf, left out, as Slurm does",
    ]


def test_a_switch_that_joins_nothing() -> None:
    """fatal in 22.05 and 24.11, taken by 26.05."""
    lines = TREE + "SwitchName=s9\n"
    with pytest.raises(ConfigError, match="joins either nodes or switches"):
        parse_cluster(CONF, topology_lines=lines, release="24.11")
    assert parse_cluster(CONF, topology_lines=lines, release="26.05")[0].switches[-1] == SwitchSpec("s9", ())
