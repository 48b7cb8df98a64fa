"""resources.yaml: layers in slurmctld's order, what is left of their counts, and what contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")

from slurmsim.config.load import load_cluster, parse_cluster
from slurmsim.errors import ConfigError
from slurmsim.model.cluster import ClusterSpec

CONF = """ClusterName=c
SlurmctldHost=h
Licenses=plain:5
NodeName=n[01-16] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
RECORDED = """
- resource: one
  mode: MODE_1
  layers: [{nodes: "n[01-08]", count: 2}, {nodes: "n[01-16]", count: 0}, {nodes: "n[05-12]", count: 3}]
- resource: two
  mode: MODE_2
  variables: [{name: small, value: 2}]
  layers:
  - {nodes: "n[01-12]", count: -1}
  - {nodes: "n[01-04]", count: 4}
  - {nodes: ["n05", "n06", "n07"], count: 3}
  - {nodes: "n[08-10]", count: 0}
- resource: watts
  mode: MODE_3
  layers:
  - {nodes: "n[01-16]", count: -1, base: [{name: ac, value: 20}]}
  - {nodes: "n[01-08]", count: 1000, base: [{name: a, value: 10}, {name: b, value: 15}]}
  - {nodes: "n[09-16]", count: 1000}
  - {nodes: "n[01-04]", count: 600}
  - {nodes: "n[05-08]", count: 600}
  - {nodes: "n[09-12]", count: 600}
  - {nodes: "n[13-16]", count: 600, base: [{name: c, value: 100}]}
- resource: more
  mode: MODE_3
  layers: {nodes: "n[01-16]", count: 30}
"""


def read(text: str, release: str = "26.05") -> ClusterSpec:
    return parse_cluster(CONF, resources_yaml=text, release=release)[0]


def test_layers_are_in_the_order_real_slurm_lists_them_in() -> None:
    """Of these resources `scontrol show licenses` said so, counts without what is taken all the time included."""
    found = {one.name: [(layer.shown, layer.count) for layer in one.layers] for one in read(RECORDED).hierarchies}
    assert found == {
        "one": [("n[01-08]", 2), ("n[01-16]", 0), ("n[05-12]", 3)],
        "two": [("n[01-12]", None), ("n[01-04]", 4), ("n[05-07]", 3), ("n[08-10]", 0)],
        "watts": [
            ("n[05-08]", 600), ("n[01-08]", 975), ("n[09-12]", 600), ("n[13-16]", 500), ("n[09-16]", 900),
            ("n[01-04]", 600), ("n[01-16]", None),
        ],
        "more": [("n[01-16]", 30)],
    }  # fmt: skip
    watts = read(RECORDED).hierarchies[2]
    assert [layer.above for layer in watts.layers] == [1, 6, 4, 4, 6, 1, -1]
    assert read(RECORDED).hierarchies[1].variables == (("small", 2),)


def test_the_file_lies_beside_slurm_conf_and_older_releases_do_not_read_it(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "resources.yaml").write_text(RECORDED)
    assert len(load_cluster(tmp_path / "slurm.conf", release="26.05")[0].hierarchies) == 4
    old, findings = load_cluster(tmp_path / "slurm.conf", release="24.11")
    assert old.hierarchies == ()
    assert [(one.severity, one.message) for one in findings] == [("note", "Slurm 24.11 does not read this file")]


def layer(nodes: str, count: object = 4, more: str = "") -> str:
    return f'{{nodes: "{nodes}", count: {count}{more}}}'


def resource(*layers: str, mode: str = "MODE_2", name: str = "r", more: str = "") -> str:
    return f"- {{resource: {name}, mode: {mode}, layers: [{', '.join(layers)}]{more}}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {resource: r, mode: MODE_1}", "layers: r has no layer"),
        (resource(layer("n01"), mode="MODE_4"), "mode: mode 'MODE_4' of r is none of Slurm 26.05"),
        (resource(layer("n17")), "nodes: unknown node 'n17'"), (resource(layer("n[")), "nodes: .*n\\["),
        ("- {resource: r, mode: MODE_1, layers: [{count: 2}]}", "nodes: a layer names no nodes"),
        (resource(layer("n01", "many")), "count: 'many' is no count"), (resource(layer("n01", -2)), "count: -2 is no"),
        (resource(layer("n01", 2, ", base: [{name: x, value: 3}]")), "base: 3 of 2 are taken before any job comes"),
        (resource(layer("n01"), layer("n01")), "layers: two layers of r have the same nodes"),
        (resource(layer("n01"), name="plain"), "resource: plain is a license of slurm.conf, too"),
        (resource(layer("n01")) * 2, "resource: two resources are called r"),
        (resource(layer("n01"), name='"a b"'), "resource: resource 'a b' has no name that a job could ask for"),
        (resource(layer("n01"), layer("n02"), mode="MODE_3"), "layers: no layer of r has the nodes of all others"),
        (resource(layer("n01"), layer("n[01-02]"), layer("n[01-04]"), layer("n04"), mode="MODE_3"), "not equally deep"),
        (resource(layer("n01", 5), layer("n[01-02]", 4), mode="MODE_3").replace("5", "5, base: [{name: x, value: 5}]"),
         "base: 5 of 4 of r on n\\[01-02\\] are taken"),
        (resource(layer("n01"), more=", topology: t"), "topology: r has one, but not MODE_3"),
        (resource(layer("n01"), mode="MODE_3", more=", topology: t"), "topology=?.*no topology of r"),
        ("- 3", "resources: is no list of mappings"), ("a: [", "resources.yaml"), ("x: &a [*a]", "resources.yaml"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as found:
        read(text)
    assert "\n" not in str(found.value)


def test_mode_3_is_none_of_the_first_release_with_the_file() -> None:
    with pytest.raises(ConfigError, match=r"mode 'MODE_3' of r is none of Slurm 25\.05"):
        read(resource(layer("n01"), mode="MODE_3"), "25.05")
    assert read(resource(layer("n01")), "25.05").hierarchies[0].mode == 2


def test_unknown_keys_are_told() -> None:
    _, findings = parse_cluster(CONF, resources_yaml=resource(layer("n01", 4, ", colour: red")), release="26.05")
    assert [(one.severity, one.key) for one in findings] == [("warning", "colour")]
