"""The checker finds each way a plan can be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from cp_cases import WORKED_EXAMPLE, made
from plan_checker import problems

from slurmsim_policies.cp import criteria
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Plan

GOOD: dict[str, Any] = {
    "starts": {"run": -2, "a": 0, "b": 3},
    "layout": {"run": {0: 1}, "a": {1: 2}, "b": {0: 1}},
    "boxes": {"run": [(0, (0,))], "a": [(1, (0,)), (1, (2,))], "b": [(0, (1,))]},
}


def two_nodes() -> Any:
    """One job runs on node 0 until 3; a has two units, b wants most of a node."""
    return made(
        [{"count": 2, "core": 4}],
        [
            {"id": "run", "q": -2, "core": 2, "duration": 5, "start": -2, "nodes": [0], "power_w": 5},
            {"id": "a", "rn": 2, "core": 2, "duration": 4, "power_w": 5},
            {"id": "b", "core": 3, "duration": 2, "within": [0], "power_w": 5},
        ],
        power=10, reservations=[{"start": 6, "duration": 9, "nodes": [0]}],
    )  # fmt: skip


def test_a_good_plan_has_no_problems() -> None:
    assert problems(two_nodes(), Plan(**GOOD)) == []


@pytest.mark.parametrize(
    "change, said",
    [
        ({"starts": {"run": 0}}, "running job run is moved from -2 to 0"),
        ({"layout": {"run": {1: 1}}}, "running job run is moved from {0: 1} to {1: 1}"),
        ({"starts": {"a": -1}}, "job a starts at -1, before now (0)"),
        ({"starts": {"b": 99}}, "job b ends at 101, after the horizon"),
        ({"layout": {"a": {1: 1}}}, "job a has 2 units, its layout {1: 1}"),
        ({"layout": {"a": {2: 2}}}, "job a is on node 2, of 2"),
        ({"layout": {"b": {1: 1}}}, "job b is on node 1, which it may not use"),
        ({"starts": {"b": 5}}, "job b runs on node 0, which is reserved from 6"),
        ({"starts": {"b": 2}}, "node 0 has 5 of 4 core in use at 2"),
        ({"layout": {"b": None}}, "job b has no layout"),
        ({"starts": {"b": None}}, "job b has no start"),
        ({"starts": {"c": 1}}, "job c is not in the instance"),
        ({"boxes": {"a": [(1, (0,)), (1, (1,))]}}, "jobs a and a overlap in core of node 1"),
        ({"boxes": {"b": [(0, (2,))]}}, "job b lies outside of core of node 0: 2 to 5"),
        ({"boxes": {"b": [(1, (0,))]}}, "job b has boxes on other nodes than its layout"),
    ],
)
def test_each_wrong_is_found(change: dict[str, Any], said: str) -> None:
    plan = {
        part: {job: what for job, what in {**GOOD[part], **change.get(part, {})}.items() if what is not None}
        for part in GOOD
    }
    assert any(line.startswith(said) for line in problems(two_nodes(), Plan(**plan)))


def test_watts_and_pools_are_counted() -> None:
    """Three jobs at once draw too much; without layouts the cores of all nodes together still count."""
    instance = two_nodes()
    plan = Plan({"run": -2, "a": 0, "b": 1}, {"run": {0: 1}, "a": {1: 2}})
    assert problems(instance, plan, pooled=True) == [
        "all nodes have 9 of 8 core in use at 1", "15 W of 10 are drawn at 1",
    ]  # fmt: skip
    assert problems(instance, Plan({"run": -2, "a": 0}, {"run": {0: 1}, "a": {1: 2}}), queued=["b"]) == []
    assert problems(instance, Plan(**GOOD), queued=["b"]) == ["job b is said to wait on but runs or has a start"]


def test_the_papers_plan_of_the_worked_example() -> None:
    """EURORA 2014, table 3: feasible, makespan 15,000 (and not optimal)."""
    instance = instance_from(WORKED_EXAMPLE)
    starts = {"000": 0, "001": 0, "002": 600, "003": 0, "004": 800}
    layout = {
        "000": {1: 2, **dict.fromkeys(range(2, 32), 1)}, "001": {0: 1}, "002": {0: 2},
        "003": dict.fromkeys(range(32, 64), 1), "004": dict.fromkeys(range(32, 64), 1),
    }  # fmt: skip
    assert problems(instance, Plan(starts, layout)) == []
    assert criteria.value(instance, "mks", starts) == 15_000
    assert criteria.value(instance, "wt", starts) == 0


def test_criteria_by_hand() -> None:
    """Waits of 9 and 14 s of 4 and 6 that would be fit: 5/4 + 8/6 of tardiness, two late, and so on."""
    jobs = [{"core": 4, "duration": 3, "q": -2, "ewt": 4}, {"core": 1, "duration": 7, "ewt": 6}]
    instance = made([{"core": 4}], jobs, origin=-10)
    starts = {"j0": 7, "j1": 14}
    assert criteria.scale(instance, "wt") == 12
    assert {name: criteria.value(instance, name, starts) for name in criteria.NAMES} == {
        "mks": 31, "wt": 15 + 16, "nl": 2, "slowdown": 400_000 + 300_000,
    }  # fmt: skip
    assert criteria.in_units(instance, "wt", 31) == pytest.approx(31 / 12)
    assert criteria.in_units(instance, "slowdown", 700_000) == 7
