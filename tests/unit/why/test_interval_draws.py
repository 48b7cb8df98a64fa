"""What copies that live on draw: factors by which the past was wrong about itself, one for all jobs of a copy."""

from __future__ import annotations

from random import Random

import pytest

from slurmsim.live.waiting.interval import Draws, at_level
from slurmsim.live.waiting.misjudged import ENOUGH, WINDOW_S, factors
from slurmsim.live.waiting.past import Known


def job(at: int, used: float | None, user: str = "ann", cpus: int = 4) -> Known:
    return Known(user, "", "p", "", at, 60, 1, cpus, used)


def test_a_past_that_repeats_itself_was_never_wrong() -> None:
    past = [job(k * WINDOW_S // 10, 0.3) for k in range(100)]
    assert set(factors(past)) == {1.0}


def test_a_morning_on_which_all_ran_longer_is_a_factor() -> None:
    quiet = [job(k, 0.2, f"u{k % 3}") for k in range(60)]
    morning = [job(WINDOW_S + k, 0.8, f"u{k % 3}") for k in range(3)] + [job(WINDOW_S + 9, 0.8, "new")]
    found = factors([*quiet, *morning])
    assert found[0] == 1.0
    assert found[1] == pytest.approx(4.0, rel=0.05)


def test_large_jobs_count_for_more() -> None:
    quiet = [job(k, 0.2) for k in range(20)]
    mixed = [job(WINDOW_S + k, 0.2, cpus=1) for k in range(ENOUGH - 1)] + [job(WINDOW_S + 9, 0.8, cpus=1000)]
    assert factors([*quiet, *mixed])[1] == pytest.approx(4.0, rel=0.01)


def test_few_jobs_and_those_that_have_not_ended_are_no_evidence() -> None:
    assert factors([]) == []
    assert factors([job(k, None) for k in range(50)]) == []
    lonely = [job(k * WINDOW_S, 0.5) for k in range(50)]
    assert factors(lonely) == []


@pytest.mark.parametrize(("factor", "seconds"), [(1.0, 900), (2.0, 1800), (9.0, 3600)])
def test_a_factor_holds_for_all_jobs_of_a_copy_and_no_limit_is_passed(factor: float, seconds: int) -> None:
    draws = Draws(Random(1), [job(k, 0.25) for k in range(20)], [factor])
    assert {draws.seconds("ann", 3600) for _ in range(20)} == {seconds}
    assert draws.seconds("nobody else", 3600) == seconds


def test_what_runs_already_goes_on_until_its_limit_where_all_ended_sooner() -> None:
    draws = Draws(Random(1), [job(k, 0.25) for k in range(20)], [0.5])
    assert draws.seconds("ann", 3600, ran_s=100) == 350
    assert draws.seconds("ann", 3600, ran_s=1000) == 2600


def test_levels_between_two_copies() -> None:
    assert at_level([0.0, 10.0, 20.0], 0.25) == 5.0
    assert at_level([0.0, 10.0, 20.0], 1.0) == 20.0
    assert at_level([7.0], 0.5) == 7.0
    never = float("inf")
    assert at_level([0.0, 10.0, never], 0.75) == never
    assert at_level([0.0, 10.0, never], 0.5) == 10.0
    assert at_level([never, never], 0.3) == never
