"""The naive schedulers on cases small enough to follow with a finger; the expected fate stands beside each job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import conservative, easy, easy_pyss, fcfs, rigid

Case = list[tuple[tuple[int, int, int, int, int], int]]

N = 10  # units of the machine in every case; jobs are (job_id, submit, run, size, limit), then the expected start


def check(scheduler, case: Case) -> None:  # type: ignore[no-untyped-def]
    assert scheduler([job for job, _ in case], N) == {job[0]: start for job, start in case}


def test_fcfs_nobody_overtakes() -> None:
    check(fcfs, [
        ((1, 0, 100, 6, 100), 0),
        ((2, 5, 100, 6, 100), 100),    # 4 units free, needs 6
        ((3, 6, 10, 1, 10), 100),      # would fit at 6, but waits behind 2
        ((4, 200, 10, 10, 10), 200),   # 2 ends in this very second
        ((6, 200, 10, 1, 10), 220),    # submitted together with 5, higher id
        ((5, 200, 10, 10, 50), 210),
    ])  # fmt: skip


def test_easy_backfills_up_to_the_shadow_time() -> None:
    check(easy, [
        ((1, 0, 100, 6, 100), 0),
        ((2, 0, 100, 6, 100), 100),    # first blocked: shadow time 100, extra 10 - 6 = 4
        ((3, 0, 50, 4, 100), 0),       # by its limit it ends exactly at the shadow time
        ((4, 10, 10, 4, 200), 50),     # fits when 3 ends early; runs past the shadow time on the extra units
        ((5, 20, 10, 4, 40), 60),      # fits when 4 ends early: 60 + 40 is the shadow time
        ((6, 20, 10, 4, 41), 70),      # ends after the shadow time, extra is 4 again
    ])  # fmt: skip


def test_easy_long_candidates_use_the_extra_units_up() -> None:
    check(easy, [
        ((1, 0, 100, 5, 100), 0),
        ((2, 0, 50, 8, 50), 100),      # first blocked: shadow time 100, extra 2
        ((3, 0, 500, 2, 500), 0),      # takes the extra 2
        ((4, 0, 500, 2, 500), 150),    # nothing left of them; at 100 job 2 fills the machine
    ])  # fmt: skip


def test_easy_extra_counts_everything_that_ends_by_the_shadow_time() -> None:
    check(easy, [
        ((1, 0, 100, 4, 100), 0),
        ((2, 0, 100, 4, 100), 0),
        ((3, 0, 10, 6, 10), 100),      # one end is enough for it, but both come at 100: extra 4, not 0
        ((4, 0, 300, 2, 300), 0),
    ])  # fmt: skip


def test_easy_all_facts_of_one_second_come_before_the_pass() -> None:
    check(easy, [
        ((1, 0, 50, 5, 100), 0),
        ((2, 0, 50, 5, 60), 0),
        ((3, 1, 10, 10, 10), 50),      # both ends of second 50 are known: all 10 units are free
        ((4, 2, 10, 5, 10), 60),
        ((5, 60, 10, 5, 10), 60),      # submitted in the second in which 3 ends
    ])  # fmt: skip


def test_pyss_passes_after_each_event_of_one_second() -> None:
    check(easy_pyss, [
        ((1, 0, 50, 5, 100), 0),
        ((2, 0, 50, 5, 60), 0),
        ((3, 1, 10, 10, 10), 60),      # when only 1 has ended its shadow time is 60 ...
        ((4, 2, 10, 5, 10), 50),       # ... and this one slips in before it
    ])  # fmt: skip


def test_pyss_gives_away_units_whose_limit_ends_in_this_second() -> None:
    case: Case = [
        ((1, 0, 100, 6, 100), 0),
        ((2, 100, 10, 10, 10), 100),   # arrives before the end of 1 is processed; its units count as free
        ((3, 100, 10, 1, 10), 110),
    ]  # fmt: skip
    check(easy_pyss, case)
    check(easy, case)


def test_pyss_orders_ends_of_one_second_by_start() -> None:
    check(easy_pyss, [
        ((1, 0, 20, 9, 20), 0),
        ((2, 1, 30, 9, 100), 20),      # ends at 50
        ((3, 2, 48, 1, 200), 2),       # ends at 50 too; it started first and so it ends first
        ((4, 3, 10, 10, 10), 50),      # then 4's shadow time is 120, when 2 must end ...
        ((5, 4, 10, 1, 100), 60),      # ... and 5 is too long; the other way round it would start at 50
    ])  # fmt: skip


def test_easy_may_delay_the_second_blocked_job_conservative_may_not() -> None:
    jobs = [
        (1, 0, 100, 8, 100),
        (2, 0, 100, 8, 100),           # first blocked: at 100 with 2 extra units
        (3, 0, 50, 10, 50),            # second blocked: planned for 200
        (4, 0, 1000, 2, 1000),         # fits into the extra units, but for too long
    ]  # fmt: skip
    assert easy(jobs, N) == {1: 0, 2: 100, 3: 1000, 4: 0}
    assert conservative(jobs, N) == {1: 0, 2: 100, 3: 200, 4: 250}


def test_conservative_fills_holes() -> None:
    check(conservative, [
        ((1, 0, 100, 6, 100), 0),
        ((2, 0, 100, 6, 100), 100),    # planned for 100
        ((3, 0, 300, 4, 300), 0),      # beside 1 and beside 2
        ((4, 0, 50, 4, 50), 200),      # no four units before 2 ends
        ((5, 0, 10, 7, 10), 300),      # needs the units of 3
    ])  # fmt: skip


def test_conservative_compresses_when_a_job_ends_early() -> None:
    check(conservative, [
        ((1, 0, 40, 10, 100), 0),
        ((2, 0, 10, 10, 50), 40),      # planned for 100; 1 ends at 40
        ((3, 0, 10, 5, 20), 50),       # planned for 150, then 90, then 50
        ((4, 0, 10, 5, 20), 50),
    ])  # fmt: skip


def test_run_time_is_capped_and_bad_jobs_are_refused() -> None:
    assert rigid([(2, 5, 100, 1, 10), (1, 5, 1, 1, 1)], N)[1].run == 10
    for bad in ((1, 0, 10, 11, 10), (1, 0, 0, 1, 10), (1, 0, 10, 0, 10)):
        with pytest.raises(ValueError, match="cannot run"):
            easy([bad], N)


JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, N), st.integers(1, 40)), min_size=1, max_size=25
).map(lambda rows: [(i + 1, *row) for i, row in enumerate(rows)])


@given(JOBS, st.sampled_from([fcfs, easy, easy_pyss, conservative]))
def test_no_schedule_uses_more_than_there_is(jobs, scheduler) -> None:  # type: ignore[no-untyped-def]
    starts = scheduler(jobs, N)
    assert starts.keys() == {job[0] for job in jobs}
    assert all(starts[job_id] >= submit for job_id, submit, _, _, _ in jobs)
    for instant in starts.values():
        used = sum(z for i, _, run, z, limit in jobs if starts[i] <= instant < starts[i] + min(run, limit))
        assert used <= N


@given(JOBS)
def test_without_parallelism_all_are_first_come_first_served(jobs) -> None:  # type: ignore[no-untyped-def]
    alone = [(i, submit, run, N, limit) for i, submit, run, _, limit in jobs]
    expected = fcfs(alone, N)
    assert easy(alone, N) == conservative(alone, N) == expected
