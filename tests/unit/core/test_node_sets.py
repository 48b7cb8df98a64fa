"""What nodes of a set have in common is looked up once, and anew once a node is altered."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.core.placement import node_sets
from slurmsim.core.placement.node_sets import NodeSets
from slurmsim.core.records.node_table import NodeTable
from slurmsim.model.node import NodeSpec


def table() -> NodeTable:
    sizes = (8, 8, 8, 4, 4)
    nodes = [NodeSpec(f"n{i}", cpus=n, cores_per_socket=n, real_memory_mib=1000) for i, n in enumerate(sizes)]
    return NodeTable(nodes, "core")


def test_what_nodes_have_in_common() -> None:
    sets = NodeSets(table())
    large, small, all_, none = (sets.of(mask) for mask in (0b00111, 0b11000, 0b11111, 0))
    assert (large.cpus_each, small.cpus_each, all_.cpus_each, none.cpus_each) == (8, 4, 0, 0)
    assert large.rows.tolist() == [0, 1, 2] and none.rows.tolist() == []
    assert large.by_cpu and not large.only_whole and not none.only_whole
    assert sets.of(0b00111) is large


def test_weights_set_nodes_apart_once_they_are_altered() -> None:
    nodes = table()
    sets = NodeSets(nodes)
    assert sets.of(0b111).cpus_each == 8
    nodes.weight[1] = 7
    sets.forget()
    assert sets.of(0b111).cpus_each == 0


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_sets, "MOST", 2)
    sets = NodeSets(table())
    first = sets.of(1)
    assert sets.of(2).rows.tolist() == [1] and sets.of(1) is first
    assert sets.of(4).rows.tolist() == [2]
    assert sets.of(1) is not first and np.array_equal(sets.of(1).rows, first.rows)
