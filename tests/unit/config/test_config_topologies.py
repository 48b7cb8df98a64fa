"""topology.yaml: several topologies, a partition's own, what contradicts itself; rings by topology.conf."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: topology.yaml: PyYAML is not installed")

from slurmsim.cli import main
from slurmsim.config.load import examine, parse_cluster
from slurmsim.errors import ConfigError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.topology import PlacementSpec, RingSpec
from slurmsim.slurmctld.fields.network_address import network_address
from slurmsim.slurmctld.requests.show.network_rows import conf_rows, network_rows

CONF = """ClusterName=c
SlurmctldHost=h
NodeName=n[1-8] CPUs=4
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=ALL Topology=two
"""
YAML = """---
- topology: two
  block: {block_sizes: [2, 4], blocks: [{block: b1, nodes: "n[1-2]"}, {block: b2, nodes: "n[3-4]"}]}
- topology: one
  cluster_default: true
  tree: {switches: [{switch: top, children: "s[1-2]"}, {switch: s1, nodes: "n[1-4]"}, {switch: s2, nodes: "n[5-8]"}]}
- topology: three
  flat: true
- topology: four
  ring: {rings: {ring: r1, nodes: "n[3,1-2]"}}
- topology: five
  torus3d:
    toruses:
      - name: pod
        dims: {x: 2, y: 2, z: 2}
        nodes: n[1-8]
        placements: [{dims: {x: 2, y: 1, z: 1}}, {dims: {x: 2, y: 2, z: 1}, anchor_spacing: {x: 2, y: 2, z: 2}}]
"""


def read(text: str = YAML, conf: str = CONF, release: str = "26.05") -> ClusterSpec:
    return parse_cluster(conf, topology_yaml=text, release=release)[0]


def test_the_default_comes_first_and_partitions_name_theirs() -> None:
    cluster = read()
    assert [one.name for one in cluster.networks] == ["one", "two", "three", "four", "five"]
    assert [switch.name for switch in cluster.switches] == ["top", "s1", "s2"]
    assert cluster.blocks is None
    assert cluster.network_of(cluster.partitions[0].topology).plugin == "topology/tree"
    assert cluster.network_of(cluster.partitions[1].topology).plugin == "topology/block"
    assert cluster.network_of("four").rings == (RingSpec("r1", ("n3", "n1", "n2")),)
    assert cluster.network_of("five").toruses[0].placements[1] == PlacementSpec((2, 2, 1), spacing=(2, 2, 2))


def test_what_show_topoconf_prints_is_read_again() -> None:
    """Empty mappings stand for kinds that are not there."""
    cluster = read()
    again = read(str(conf_rows(cluster.topologies)).replace("True", "true").replace("False", "false")
                 .replace("None", "null"))  # fmt: skip
    assert conf_rows(again.topologies) == conf_rows(cluster.topologies)
    assert [one.name for one in again.networks] == [one.name for one in cluster.networks]


def test_regions_fill_a_torus() -> None:
    text = """- topology: t
  torus3d: {toruses: [{name: pod, dims: {x: 2, y: 2, z: 1}, regions: [
    {anchor: {x: 0, y: 1, z: 0}, dims: {x: 2, y: 1, z: 1}, nodes: "n[7-8]"},
    {anchor: {x: 1, y: 0, z: 0}, dims: {x: 1, y: 1, z: 1}, nodes: [n1]}]}]}
"""
    cluster = read(text, CONF.replace(" Topology=two", ""))
    assert cluster.networks[0].toruses[0].cells == ("", "n1", "n7", "n8")
    assert network_address(cluster, "n7") == ("pod:0:1:0.n7", "torus:x:y:z.node")
    assert network_address(cluster, "n2") == ("n2", "node")


def test_releases_before_25_05_do_not_read_the_file(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.yaml").write_text(YAML)
    found = examine(tmp_path / "slurm.conf", release="24.11")
    assert "no topology of partition q" in str(found.report.errors[0])
    assert any("does not read this file" in str(one) for one in found.report.findings)
    with pytest.raises(ConfigError, match=r"Slurm 25\.11 has no such topology"):
        read(release="25.11")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (YAML, "- [1", "expected"),
        (YAML, "7", "is no list of mappings"),
        (YAML, "--- []", "it has no topology"),
        ("topology: two\n", "topology: other\n", "no topology of partition q"),
        ("flat: true", "flat: true\n  block: {blocks: [{block: b, nodes: n1}]}", "has block and flat"),
        ("flat: true", "flat: false", "has no kind"),
        ("flat: true", "flat: 7", "neither true nor a mapping"),
        ("topology: three", "topology: one", "two topologies have one name"),
        ("block: b2", "block: b1", "b1 is defined twice"),
        ("[2, 4]", "[2, 3]", "'3' is no size of a block"),
        ('"s[1-2]"', '"s[1-3]"', "switch top joins a switch that no line defines"),
        ("switch: s2,", "switch: s1,", "s1 is defined twice"),
        ('children: "s[1-2]"', 'children: "s[1-2]", nodes: n1', "top joins nodes and switches"),
        ("rings: {ring: r1", "rings: {ring: [[]]", "is no text"),
        ("x: 2, y: 2, z: 2}\n        nodes", "x: 2, y: 0, z: 2}\n        nodes", "is not x, y and z"),
        ("x: 2, y: 2, z: 2}\n        nodes", "x: 2, y: 2, z: 3}\n        nodes", "8 nodes for 12 places"),
        ("x: 2, y: 2, z: 2}\n        nodes", "x: 65535, y: 9, z: 9}\n        nodes", "at most 65,536 places"),
        ("{x: 2, y: 1, z: 1}", "{x: 3, y: 1, z: 1}", "reach beyond its torus"),
        ("{x: 2, y: 1, z: 1}", "7", "is no mapping"),
    ],
)
def test_refused_with_one_line(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        read(YAML.replace(old, new, 1))
    assert "\n" not in str(refused.value)


def test_what_may_be_odd_is_said() -> None:
    _, findings = parse_cluster(CONF, topology_yaml=YAML.replace("flat: true", "flat: {colour: 1}"), release="26.05")
    assert any("unknown in flat, ignored, as Slurm does" in str(one) for one in findings)
    _, findings = parse_cluster(CONF, topology_yaml=YAML.replace("n[3,1-2]", "n[3,11]"), release="26.05")
    assert any("n11 in topology.yaml is no node of slurm.conf" in str(one) for one in findings)


RINGS = "RingName=r1 Nodes=n[4,3,2,1]\nRingName=r2 Nodes=n[5-7]\n"
RING_CONF = CONF.replace(" Topology=two", " Topology=default") + "TopologyPlugin=topology/ring\n"


def test_rings_of_topology_conf() -> None:
    cluster = parse_cluster(RING_CONF, topology_lines=RINGS, release="26.05")[0]
    assert network_rows(cluster.networks[0], by_yaml=False)["rings"] == [
        {"name": "r1", "nodes": "n[4,3,2,1]", "ring_size": 4}, {"name": "r2", "nodes": "n[5-7]", "ring_size": 3},
    ]  # fmt: skip
    assert network_address(cluster, "n3") == ("r1:1.n3", "ring:position.node")
    assert network_address(cluster, "n8") == ("n8", "node")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "needs a topology.conf with RingName lines"),
        ("RingName=r1 Nodes=n1\nRingName=r1 Nodes=n2", "this ring is defined twice"),
        ("SwitchName=s1 Nodes=n1", "opens no line here"),
        ("RingName=r1 Nodes=m[1-17]", "17 nodes are too many for ring r1"),
    ],
)
def test_rings_refused(lines: str, message: str) -> None:
    conf = RING_CONF.replace("n[1-8] CPUs", "m[1-20] CPUs")
    with pytest.raises(ConfigError, match=message):
        parse_cluster(conf, topology_lines=lines or "\n", release="26.05")


UNREADABLE = [
    ("plain words", "#/", "Unexpected type string when expecting a list", 9202),
    ("- plain", "#/", "Rejecting string when dictionary expected", 9209),
    ("block: [{block: one}]", "#/block/", "Rejecting list when dictionary expected", 9209),
    ("block: {block_sizes: [4], blocks: one}", "#/block/blocks/", "Unexpected type string when expecting a list", 9202),
    ("tree: {switches: [s1]}", "#/tree/switches/", "Rejecting string when dictionary expected", 9209),
    ("torus3d: {toruses: [{name: p, dims: 2x2}]}", "#/torus3d/toruses/dims/",
     "Rejecting string when dictionary expected", 9209),
    ("torus3d: {toruses: {name: p, regions: r}}", "#/torus3d/toruses/regions/",
     "Unexpected type string when expecting a list", 9202),
    ("flat: true\n  ring: {rings: {ring: r, nodes: n1}}", "#/ring/",
     "Field ring is mutually excusive with fields block, tree and flat", -1),
    ("tree: {switches: {switch: s, nodes: n1}}\n  flat: true", "#/tree/",
     "Field tree is mutually excusive with fields block and flat", -1),
]  # fmt: skip
MEANS = {9202: "Unable to convert Data type", 9209: "Data parser expected a dictionary or object",
         -1: "Unspecified error"}  # fmt: skip


@pytest.mark.parametrize(("text", "source", "words", "code"), UNREADABLE)
def test_what_slurmctld_logs_of_a_file_it_cannot_read(text: str, source: str, words: str, code: int) -> None:
    """As real 26.05 wrote it, the last line included."""
    with pytest.raises(ConfigError) as refused:
        read(text if source == "#/" else f"- topology: t\n  {text}\n", CONF.replace(" Topology=two", ""))
    parser, listed, loading, fatal = refused.value.log
    assert parser == f"error: {source}: parser=data_parser/v0.0.45 rc[{code}]={MEANS[code]} -> {words}"
    assert listed.startswith("error: [") and listed.endswith(f"] source: {source}, description: {words}, rc: {code}")
    assert loading == f"error: Failed to load topology.yaml: {MEANS[code]}"
    assert fatal == "fatal: Failed to initialize topology plugin"


def test_releases_before_26_05_say_it_in_their_words() -> None:
    with pytest.raises(ConfigError) as refused:
        read("- topology: t\n  block: {blocks: [{block: b, nodes: n1}]}\n  flat: true\n", release="25.11")
    assert refused.value.log[0].endswith("parser=data_parser/v0.0.44 rc[-1]=Unspecified error -> "
                                         "Field flat is mutually excusive with fields tree and block")  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "log"),
    [
        ("flat: true", "flat: false", ["error: _get_plugin_index_by_type: cannot create topo context for (null)",
                                       "fatal: Failed to initialize topology plugin"]),
        ("[2, 4]", "[2, 3]", ["fatal: Invalid BlockSizes value in topology two"]),
        ("block: b2", "block: b1", ["fatal: Block (b1) has already been defined"]),
        ('"s[1-2]"', '"s[1-3]"', ["fatal: Switch configuration top has invalid child (s3)"]),
        ("switch: s2, nodes", "switch: s2, children: top, x", ["fatal: Switch configuration is not a tree"]),
        ("nodes: n[1-8]", "nodes: n[1-7]", ["error: Torus3d dimensions 2x2x2=8 do not match node count 7",
                                            "fatal: Torus3d (pod) has invalid configuration"]),
    ],
)  # fmt: skip
def test_what_slurmctld_logs_of_a_topology_that_cannot_be(old: str, new: str, log: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        read(YAML.replace(old, new, 1))
    assert list(refused.value.log) == log


def test_a_check_shows_what_slurmctld_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slurm.conf").write_text(CONF.replace("n[1-8] CPUs", "n[1-20] CPUs"))
    (tmp_path / "topology.yaml").write_text("- topology: two\n  ring: {rings: [{ring: r0, nodes: 'n[1-17]'}]}\n")
    assert main(["check", "--release", "26.05", str(tmp_path / "slurm.conf")]) == 2
    assert "\n  slurmctld: fatal: Ring (r0) is bigger than 16\n" in capsys.readouterr().out
