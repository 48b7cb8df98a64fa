"""Conservative backfill: every waiting job has a planned start, and nobody delays any."""

from __future__ import annotations

from policy_cases import LATE, Row, check, compare, world_of


def test_nobody_delays_the_second_blocked_job_either() -> None:
    check("conservative", [
        Row("a", 0, 2, 100, 100, 0),
        Row("head", 1, 3, 100, 100, 100),
        Row("second", 2, 4, 100, 100, 200),  # planned for 200
        Row("c", 2, 1, 900, 900, 300),  # fits beside the head (EASY would start it at 2), but not before second
        Row("d", 3, 1, 197, 197, 3),  # over in the very second in which second is planned
    ])  # fmt: skip


def test_plans_are_made_at_arrival_in_queue_order() -> None:
    rows = [
        Row("a", 0, 4, 100, 100, 0),
        Row("b", 1, 3, 100, 100, 100),
        Row("c", 2, 2, 50, 50, 200),
        Row("d", 3, 1, 100, 100, 100),  # beside b
        Row("e", 4, 2, 60, 60, 200),  # beside c
    ]
    world = world_of("conservative", rows)
    world.until(10)
    assert [world.planned(name)[0] for name in "bcde"] == [100, 200, 100, 200]
    world.until(LATE)
    compare(world, rows)


def test_an_early_end_moves_plans_forward_in_queue_order() -> None:
    check("conservative", [
        Row("a", 0, 4, 1000, 100, 0),  # 900 s before its limit
        Row("b", 1, 3, 500, 500, 100),  # planned for 1000
        Row("c", 2, 4, 10, 10, 600),  # planned for 1500
        Row("d", 3, 1, 600, 200, 610),  # planned for 1510; beside b it would last beyond 600
        Row("e", 4, 1, 500, 500, 100),  # planned for 1000, beside b
    ])  # fmt: skip


def test_a_cancelled_job_leaves_a_hole() -> None:
    rows = [
        Row("a", 0, 3, 100, 100, 0),
        Row("b", 1, 4, 100, 100, None),  # planned for 100
        Row("c", 2, 1, 500, 500, 50),  # planned for 200, starts when b is cancelled
    ]
    world = world_of("conservative", rows)
    world.until(10)
    assert [world.planned(name)[0] for name in "bc"] == [100, 200]
    world.scancel("b", at=50)
    world.until(LATE)
    compare(world, rows)


def test_compression_is_one_walk_over_the_queue() -> None:
    check("conservative", [
        Row("a", 0, 2, 300, 300, 0),
        Row("b", 0, 2, 100, 40, 0),  # ends early
        Row("c", 1, 4, 100, 100, 300),  # behind a
        Row("d", 2, 2, 250, 250, 400),  # behind c; at 40 the plan of e, at 100, is still in the way
        Row("e", 3, 2, 10, 10, 40),  # planned for 100; moves to 40 after d has had its turn
    ])  # fmt: skip


def test_a_job_without_limit_is_planned_with_a_year() -> None:
    world = world_of("conservative", [Row("a", 0, 4, None, 100, 0), Row("b", 1, 4, 10, 10, 100)])
    world.until(10)
    assert world.planned("b")[0] == 365 * 86400
    world.until(LATE)
    assert world.start("b") == 100
