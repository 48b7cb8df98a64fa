"""topology.conf under topology/block: base blocks, sizes of blocks, and what contradicts itself."""

from __future__ import annotations

import pytest

from slurmsim.config.load import parse_cluster
from slurmsim.errors import ConfigError
from slurmsim.model.block import BlockSpec, BlockTopologySpec
from slurmsim.slurmctld.fields.network_address import network_address, network_addresses
from slurmsim.slurmctld.requests.show.block_rows import block_rows

CONF = """ClusterName=c
SlurmctldHost=h
TopologyPlugin=topology/block
NodeName=n[1-6] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
BLOCKS = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n5\n"


def read(lines: str) -> BlockTopologySpec:
    found = parse_cluster(CONF, topology_lines=lines, release="24.11")[0].blocks
    assert found is not None
    return found


def test_blocks_and_sizes() -> None:
    named = tuple(
        BlockSpec(name, nodes) for name, nodes in (("b1", ("n1", "n2")), ("b2", ("n3", "n4")), ("b3", ("n5",)))
    )
    assert read(BLOCKS) == BlockTopologySpec(named, 2, (0, 1, 2))  # up to the first that holds all
    assert read(BLOCKS + "BlockSizes=2,8\n") == BlockTopologySpec(named, 2, (0, 2), (2, 8))
    assert read(BLOCKS + "BlockSizes=1\n") == BlockTopologySpec(named, 1, (0,), (1,))


def test_what_may_be_odd_is_said() -> None:
    _, findings = parse_cluster(CONF, topology_lines=BLOCKS.replace("n5", "n[5,9]"), release="24.11")
    said = " ".join(str(one) for one in findings if one.severity == "warning")
    assert "n9 in topology.conf is no node of slurm.conf, left out, as Slurm does" in said
    assert "1 nodes are in no block (the first is n6)" in said


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "needs a topology.conf with BlockName lines"),
        ("BlockSizes=4", "needs a topology.conf with BlockName lines"),
        ("BlockName=b1", "no block has a node, and there are no BlockSizes"),
        ("BlockName=b1 Nodes=n1\nBlockName=b1 Nodes=n2", "this block is defined twice"),
        ("BlockName=b1 Nodes=n1\nBlockSizes=4,12", "'12' is no size of a block"),
        ("BlockName=b1 Nodes=n1\nBlockSizes=4,6", "'6' is no size of a block"),
        ("BlockName=b1 Nodes=n1\nBlockSizes=0", "'0' is no size of a block"),
        ("BlockName=b1 Nodes=n1\nBlockSizes=1,65536", "'65536' is no size of a block"),
        ("SwitchName=s1 Nodes=n1", "opens no line here"),
        ("BlockName=b1 Nodes=n1 Colour=red", "unrecognized key"),
    ],
)
def test_refused_with_one_line(lines: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        parse_cluster(CONF, topology_lines=lines or "\n", release="24.11")
    assert "\n" not in str(refused.value)


def test_rows_of_show_topology_as_recorded() -> None:
    """An odd base block at the end is no larger block of the level that it fills no half of."""
    names = [(row["name"], row["index"], row["block_size"], row["nodes"]) for row in block_rows(read(BLOCKS))]
    assert names == [
        ("b1", 0, 2, "n[1-2]"), ("b2", 1, 2, "n[3-4]"), ("b3", 2, 2, "n5"),
        ("b[1-2]", 3, 4, "n[1-4]"), ("b[1-3]", 4, 8, "n[1-5]"),
    ]  # fmt: skip


def test_addresses() -> None:
    blocks = parse_cluster(CONF, topology_lines=BLOCKS, release="24.11")[0]
    assert network_address(blocks, "n3") == ("b2.n3", "block.node")
    assert network_address(blocks, "n6") == ("n6", "node")
    tree = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-6]\nSwitchName=top Switches=s[1-2]\n"
    switches = parse_cluster(CONF.replace("block", "tree"), topology_lines=tree)[0]
    assert network_address(switches, "n3") == ("top.s2.n3", "switch.switch.node")
    assert network_addresses(blocks, ["n5", "n6", "n1"]) == [network_address(blocks, n) for n in ("n5", "n6", "n1")]
    assert network_addresses(switches, ["n2", "n6"]) == [network_address(switches, n) for n in ("n2", "n6")]
    flat = parse_cluster(CONF.replace("topology/block", "topology/none"))[0]
    assert network_address(flat, "n3") == ("n3", "node")
