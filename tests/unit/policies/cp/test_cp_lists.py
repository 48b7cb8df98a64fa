"""List scheduling: orders, boards and allocators can be combined as one likes, and all plans pass the checker."""

from __future__ import annotations

import pytest
from cp_cases import WORKED_EXAMPLE, instances, made
from hypothesis import given
from plan_checker import problems

from slurmsim_policies.cp.allocators import ALLOCATORS, Allocator
from slurmsim_policies.cp.boards import CapacityBoard, PooledBoard
from slurmsim_policies.cp.box_board import BoxBoard
from slurmsim_policies.cp.listing import ORDERS, earliest_first, earliest_starts, fitting, serial
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.problem import Instance


@given(instance=instances(most_waiting=6))
def test_every_order_on_every_board(instance: Instance) -> None:
    for order in ORDERS.values():
        for allocator in ALLOCATORS.values():
            assert problems(instance, serial(instance, CapacityBoard(instance, allocator), order(instance))) == []
        assert problems(instance, earliest_first(instance, CapacityBoard(instance), order(instance))) == []
        plan = serial(instance, BoxBoard(instance), order(instance))
        assert problems(instance, plan) == []
        plan = earliest_first(instance, PooledBoard(instance), order(instance))
        plan.layout.clear()
        running = [job.id for job in instance.jobs if job.running]
        now = [job for job, start in plan.starts.items() if start == instance.now]
        said = {f"job {job} has no layout" for job in {*running, *now}}
        assert set(problems(instance, plan, pooled=True)) == said


@given(instance=instances(most_waiting=6))
def test_nobody_starts_before_he_could_alone(instance: Instance) -> None:
    earliest = earliest_starts(instance)
    plan = serial(instance, CapacityBoard(instance), ORDERS["wait"](instance))
    assert all(plan.starts[instance.jobs[i].id] >= start for i, start in earliest.items())


@given(instance=instances(most_waiting=6))
def test_what_fits_is_what_the_whole_plan_starts_now(instance: Instance) -> None:
    for order in ORDERS.values():
        whole = earliest_first(instance, CapacityBoard(instance), order(instance))
        now = fitting(instance, CapacityBoard(instance), order(instance))
        assert now.starts == {job: start for job, start in whole.starts.items() if start <= instance.now}
        assert now.layout == {job: whole.layout[job] for job in now.starts}


def test_orders_by_hand() -> None:
    """Waited 4 of 8, 4 of 2, 0 of 1 (+1 each), lengths 4, 8, 1."""
    instance = made([{"core": 1}], [
        {"core": 1, "duration": 4, "q": -4, "ewt": 8}, {"core": 1, "duration": 8, "q": -4, "ewt": 2},
        {"core": 1, "duration": 1, "q": 0, "ewt": 1},
    ])  # fmt: skip
    found = {name: order(instance) for name, order in ORDERS.items()}
    assert found == {
        "wait": [1, 2, 0], "slowdown": [0, 1, 2], "arrival": [0, 1, 2], "duration": [2, 0, 1], "length": [1, 0, 2],
    }  # fmt: skip


@pytest.mark.parametrize(
    "allocator, layout", [("fewest_free_cores", {3: 1}), ("least_total_free", {2: 1}), ("last_position", {3: 1})]
)
def test_allocators_by_hand(allocator: str, layout: dict[int, int]) -> None:
    """Nodes 0 to 2 have a GPU the job does not need, node 2 the least free; node 3 has none and many cores."""
    instance = made(
        [{"count": 3, "core": 4, "gpu": 1}, {"count": 1, "core": 8}],
        [{"core": 2, "duration": 5, "start": 0, "nodes": [2]}, {"core": 1, "duration": 5}],
    )
    choose: Allocator = ALLOCATORS[allocator]
    plan = serial(instance, CapacityBoard(instance, choose), [1])
    assert plan.layout["j1"] == layout


def test_units_share_nodes_until_they_are_full() -> None:
    instance = instance_from(WORKED_EXAMPLE)
    plan = serial(instance, CapacityBoard(instance), [0])
    assert plan.layout["000"] == dict.fromkeys(range(16), 2)


def test_a_reservation_is_left_alone_and_so_is_the_power() -> None:
    """Four seconds do not fit before the reservation of node 0, node 1 is taken by the first; then there are watts."""
    jobs = [{"core": 4, "duration": 4, "power_w": 6}, {"core": 4, "duration": 4, "power_w": 6}]
    kept = [{"start": 2, "duration": 8, "nodes": [0]}]
    free = made([{"count": 2, "core": 4}], jobs, reservations=kept)
    assert serial(free, CapacityBoard(free), [0, 1]).starts == {"j0": 0, "j1": 4}
    short = made([{"count": 2, "core": 4}], jobs, power=10)
    assert serial(short, CapacityBoard(short), [0, 1]).starts == {"j0": 0, "j1": 4}
    enough = made([{"count": 2, "core": 4}], jobs, power=12)
    assert serial(enough, CapacityBoard(enough), [0, 1]).starts == {"j0": 0, "j1": 0}


def test_boxes_need_neighbouring_positions() -> None:
    """Two of four cores are free from 0, but in pieces of one: b (two cores) waits until c has ended."""
    instance = made([{"core": 4}], [
        {"id": "a", "core": 1, "duration": 9}, {"id": "c", "core": 2, "duration": 3},
        {"id": "d", "core": 1, "duration": 9}, {"id": "b", "core": 2, "duration": 1},
    ])  # fmt: skip
    plan = serial(instance, BoxBoard(instance), [0, 1, 2, 3])
    assert plan.boxes == {"a": [(0, (3,))], "c": [(0, (1,))], "d": [(0, (0,))], "b": [(0, (1,))]}
    assert plan.starts["b"] == 3
