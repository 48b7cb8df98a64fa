"""EASY: the textbook's, to the second."""

from __future__ import annotations

import pytest
from policy_cases import LATE, Row, check, compare, world_of


@pytest.mark.parametrize(
    ("limit", "start"),
    [
        pytest.param(99, 1, id="ends before the shadow time"),
        pytest.param(100, 1, id="ends in the very second of the shadow time"),
        pytest.param(101, 201, id="one second too long: behind the head"),
    ],
)
def test_a_candidate_may_end_at_the_shadow_time(limit: int, start: int) -> None:
    check("easy", [
        Row("a", 0, 3, 101, 101, 0),
        Row("head", 1, 4, 100, 100, 101),  # shadow time 101
        Row("c", 1, 1, limit, 5, start),
    ])  # fmt: skip


def test_extra_nodes_may_be_kept_beyond_the_shadow_time_until_they_are_used_up() -> None:
    check("easy", [
        Row("a", 0, 4, 100, 100, 0),
        Row("head", 1, 5, 100, 100, 100),  # at 100 all six are free: one extra
        Row("c", 2, 1, 900, 900, 2),  # takes the extra node
        Row("d", 3, 1, 900, 900, 200),  # no extra is left, and it would last beyond 100
        Row("e", 4, 1, 96, 96, 4),  # ends at the shadow time
    ], nodes=6)  # fmt: skip


def test_everything_that_ends_by_the_shadow_time_counts_as_extra() -> None:
    check("easy", [
        Row("a", 0, 2, 100, 100, 0),
        Row("b", 0, 1, 100, 100, 0),  # ends in the same second as a
        Row("head", 1, 3, 100, 100, 100),  # needs 3 of the 4 free at 100
        Row("c", 2, 1, 900, 900, 2),  # the fourth
    ])  # fmt: skip


def test_only_the_first_blocked_job_is_protected() -> None:
    check("easy", [
        Row("a", 0, 3, 100, 100, 0),
        Row("head", 1, 4, 100, 100, 100),
        Row("second", 2, 3, 100, 100, 200),
        Row("c", 3, 1, 90, 90, 3),
    ])  # fmt: skip
    check("easy", [
        Row("a", 0, 2, 100, 100, 0),
        Row("head", 1, 3, 100, 100, 100),  # at 100 one node is extra
        Row("second", 2, 4, 100, 100, 902),  # could have started at 200, but c is in the way
        Row("c", 2, 1, 900, 900, 2),
    ])  # fmt: skip


def test_the_shadow_time_comes_from_limits_and_is_worked_out_again_at_every_pass() -> None:
    check("easy", [
        Row("a", 0, 3, 1000, 50, 0),  # ends long before its limit
        Row("head", 1, 4, 100, 100, 500),  # shadow 1000, then, when a is gone, the end of c
        Row("c", 2, 1, 900, 498, 2),  # may last until 1000
        Row("d", 60, 2, 842, 400, 60),  # the shadow time is now 902, where c has its limit: just in time
    ])  # fmt: skip


def test_facts_of_one_second_come_before_the_pass() -> None:
    check("easy", [
        Row("a", 0, 3, 100, 100, 0),
        Row("head", 50, 4, 100, 100, 100),
        Row("c", 100, 4, 1, 1, 200),  # arrives when a ends: the head is first
    ])  # fmt: skip


def test_a_job_without_limit_counts_with_a_year() -> None:
    rows = [
        Row("a", 0, 3, 100, 100, 0),
        Row("head", 1, 4, 100, 100, 100),
        Row("endless", 2, 1, None, 10, 200),  # never before a shadow time
    ]
    world = check("easy", rows)
    assert world["endless"].time_limit_s == 365 * 86400


def test_a_cancelled_head_makes_room() -> None:
    rows = [
        Row("a", 0, 3, 100, 100, 0),
        Row("head", 1, 4, 100, 100, None),
        Row("c", 2, 1, 500, 500, 50),  # too long to be backfilled; first in the queue once the head is cancelled
    ]
    world = world_of("easy", rows)
    world.scancel("head", at=50)
    world.until(LATE)
    compare(world, rows)


def test_who_was_backfilled_is_told_apart() -> None:
    world = check("easy", [
        Row("a", 0, 3, 100, 100, 0),
        Row("head", 1, 4, 100, 100, 100),
        Row("c", 2, 1, 90, 90, 2),
    ])  # fmt: skip
    assert world.controller.life_cycle.backfilled == 1
    assert {name: world[name].depth for name in ("a", "head", "c")} == {"a": 0, "head": 0, "c": 1}
