"""Which nodes of its job a step gets after another, and in which order its tasks are numbered, as recorded."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("simpy", reason="NOT TESTED: steps of a cluster: SimPy is not installed")

from slurmsim.model.block import BlockSpec, BlockTopologySpec
from slurmsim.model.topology import RingSpec, TopologySpec, TorusSpec
from slurmsim.slurmctld.processes.node_ranks import NOWHERE, Rank, node_ranks
from slurmsim.slurmctld.processes.step_places import Room, place_step, task_ids
from slurmsim.slurmctld.processes.step_turns import Turn


class Steps:
    """Steps of a job of four nodes with eight CPUs, one after the other."""

    def __init__(self, *, by_rank: bool, ranks: list[Rank] | None = None) -> None:
        self.by_rank, self.ranks, self.next = by_rank, ranks, 0

    def step(self, count: int, *, busy: tuple[int, ...] = (), **asked: Any) -> list[int]:
        """Return the nodes of the next step, while those at some are not quite over."""
        rooms = [Room(8, 0, steps=int(i in busy)) for i in range(4)]
        turn = Turn(4, self.next, by_rank=self.by_rank, ranks=self.ranks)
        wanted = {"num_tasks": count, "cpu_count": count, "min_nodes": count, "max_nodes": count, **asked}
        place = place_step(wanted, rooms, turn)
        assert place.turn is not None
        self.next = place.turn
        return place.nodes


def test_from_24_11_on_a_step_takes_the_nodes_after_those_of_the_last() -> None:
    """As real 24.11 gave them to the steps of one script."""
    steps = Steps(by_rank=False)
    assert [steps.step(1), steps.step(1), steps.step(1), steps.step(2)] == [[0], [1], [2], [0, 3]]
    assert steps.step(2, busy=(0, 3)) == [1, 2]
    assert [steps.step(3), steps.step(4), steps.step(1)] == [[0, 1, 3], [0, 1, 2, 3], [0]]
    assert [steps.step(3), steps.step(3), steps.step(1), steps.step(1)] == [[1, 2, 3], [0, 1, 2], [3], [0]]
    assert [steps.step(1, nodes=[1]), steps.step(1), steps.step(2, nodes=[0])] == [[1], [2], [0, 3]]
    assert [steps.step(1, busy=(0, 3)), steps.step(1, num_tasks=4, cpu_count=8)] == [[1], [2]]
    assert [steps.step(4), steps.step(2), steps.step(2), steps.step(2)] == [[0, 1, 2, 3], [0, 1], [2, 3], [0, 1]]


def test_relative_steps_by_release() -> None:
    for by_rank, got in ((False, [3]), (True, [1])):
        steps = Steps(by_rank=by_rank)
        steps.next = 3
        assert steps.step(1, relative=1) == got


def test_from_26_05_on_it_begins_after_the_last_node_that_was_looked_at() -> None:
    """As real 26.05 gave them to the steps of one script."""
    steps = Steps(by_rank=True)
    assert [steps.step(1), steps.step(1), steps.step(1), steps.step(2)] == [[0], [1], [2], [0, 3]]
    assert [steps.step(2), steps.step(3), steps.step(4), steps.step(1)] == [[1, 2], [0, 1, 3], [0, 1, 2, 3], [2]]
    assert [steps.step(3), steps.step(3), steps.step(1), steps.step(1)] == [[0, 1, 3], [0, 2, 3], [1], [2]]
    assert [steps.step(1, nodes=[1]), steps.step(1), steps.step(2, nodes=[0])] == [[1], [3], [0, 1]]
    assert [steps.step(1), steps.step(1, num_tasks=4, cpu_count=8)] == [[2], [3]]


def test_the_next_step_begins_in_another_block() -> None:
    steps = Steps(by_rank=True, ranks=[(0, 0), (1, 0), (0, 0), (1, 0)])
    assert [steps.step(2), steps.step(1), steps.step(1), steps.step(3)] == [[0, 2], [1], [0], [0, 1, 3]]


def test_ranks_of_networks() -> None:
    blocks = BlockTopologySpec((BlockSpec("a", ("n1", "n3")), BlockSpec("b", ("n2", "n4"))), 2, (0,), (2,))
    assert node_ranks(TopologySpec("t", blocks=blocks), ["n1", "n2", "n3", "n9"]) == [(0, 0), (1, 0), (0, 0), NOWHERE]
    ring = RingSpec("r", ("n4", "n1", "n2", "n3"))
    assert node_ranks(TopologySpec("t", rings=(ring,)), ["n1", "n3", "n4"]) == [(0, 2), (0, 0), (0, 1)]
    torus = TorusSpec("p", (2, 2, 2), tuple(f"n{i}" for i in range(1, 9)))
    assert node_ranks(TopologySpec("t", toruses=(torus,)), ["n1", "n4", "n8"]) == [(1, 0), (1, 3), (1, 7)]
    flat = TopologySpec("t", alpha_step_rank=True)
    assert node_ranks(flat, ["n102", "n12", "n9"]) == [(0, 2), (0, 1), (0, 0)]
    assert node_ranks(TopologySpec("t"), ["n1", "n2"]) is None
    assert node_ranks(flat, ["n1"]) is None


def test_tasks_are_numbered_in_the_order_of_the_network() -> None:
    assert task_ids([2, 1, 1], "block", ranks=[(1, 0), (0, 1), (0, 0)]) == [[2, 3], [1], [0]]
    assert task_ids([2, 1, 1], "cyclic", ranks=[(1, 0), (0, 1), (0, 0)]) == [[0, 3], [1], [2]]
