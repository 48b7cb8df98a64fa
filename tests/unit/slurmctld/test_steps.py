"""Where tasks of a step go, and what becomes of steps in the engine."""

from __future__ import annotations

from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.processes.step_places import BUSY, TOO_MANY_CPUS, Place, Room, lay_out, place_step, task_ids


def place(rooms: list[Room], **asked: Any) -> Place:
    return place_step({"num_tasks": 1, "cpu_count": 1, "min_nodes": 1, "max_nodes": len(rooms), **asked}, rooms)


def refused(rooms: list[Room], **asked: Any) -> str:
    with pytest.raises(Refusal) as refusal:
        place(rooms, **asked)
    return refusal.value.text


def test_tasks_fill_round_after_round() -> None:
    found = place([Room(3, 0), Room(1, 0)], num_tasks=4, cpu_count=4, min_nodes=2)
    assert (found.nodes, found.tasks, found.cpus) == ([0, 1], [3, 1], [3, 1])
    assert lay_out(6, [2, 2], plane=2) == [4, 2]


def test_a_step_takes_whole_nodes_unless_it_wants_exact_cpus() -> None:
    assert place([Room(8, 0)], num_tasks=2, cpu_count=2).cpus == [8]
    assert place([Room(8, 0)], num_tasks=2, cpu_count=2, exact=True).cpus == [2]


def test_a_step_waits_for_others_or_lies_over_them() -> None:
    busy = [Room(4, 400, used=2, memory_used=200, steps=1)]
    assert refused(busy) == BUSY
    assert place(busy, exact=True).cpus == [1]
    assert refused(busy, exact=True, num_tasks=3, cpu_count=3) == BUSY
    assert refused(busy, exact=True, num_tasks=2, cpu_count=2, mem_per_cpu=150) == BUSY
    assert place(busy, overlap=True).cpus == [4]


def test_nodes_without_a_step_come_first() -> None:
    rooms = [Room(4, 0, used=1, steps=1), Room(4, 0)]
    assert place(rooms, exact=True).nodes == [1]
    assert place(rooms, exact=True, nodes=[0]).nodes == [0]
    assert place([Room(4, 0), Room(4, 0), Room(4, 0)], relative=1).nodes == [1]


def test_more_than_there_is() -> None:
    assert refused([Room(4, 0)], num_tasks=9, cpu_count=9) == TOO_MANY_CPUS
    assert place([Room(4, 0)], num_tasks=9, cpu_count=9, overcommit=True).tasks == [9]


@pytest.mark.parametrize(
    ("distribution", "ids"),
    [("block", [[0, 1, 2], [3]]), ("cyclic", [[0, 2, 3], [1]]), ("plane", [[0, 1, 3], [2]])],
)
def test_numbers_of_tasks(distribution: str, ids: list[list[int]]) -> None:
    assert task_ids([3, 1], distribution, 2) == ids


def test_exact_steps_share_a_node_by_cores() -> None:
    assert place([Room(8, 0, grain=2)], num_tasks=3, cpu_count=3, exact=True).cpus == [4]
    assert place([Room(8, 0, grain=2)], num_tasks=3, cpu_count=3, exact=True, threads_per_core=1).cpus == [6]
    assert refused([Room(4, 0, grain=2, used=4, steps=2)], num_tasks=1, cpu_count=1, exact=True) == BUSY
