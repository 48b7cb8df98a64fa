"""More or less load from the same log: what is kept and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads.transforms.loads import WEEK_S, lengthened, with_load


def log(submits: list[int], users: list[str], **ints: list[int]) -> Workload:
    columns = {"job_id": list(range(1, len(submits) + 1)), "submit": sorted(submits), **ints}
    return Workload(
        {k: np.array(v, np.int64) for k, v in columns.items()}, {"user": TextColumn.from_list(users)}
    ).sorted()


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30), st.floats(0.1, 10))
def test_arrivals_keep_jobs_and_scale_the_span(submits: list[int], factor: float) -> None:
    n = len(submits)
    cancel = [s + 50 for s in sorted(submits)]
    given_log = log(submits, ["a"] * n, cancel_at=cancel, log_start=cancel)
    moved = with_load(given_log, factor, "arrivals", 0)
    assert sorted(moved.ints["job_id"]) == list(range(1, n + 1))
    span = max(submits) - min(submits)
    assert moved.ints["submit"].min() == min(submits)
    assert abs(int(np.ptp(moved.ints["submit"])) - span / factor) <= 1
    assert (moved.ints["cancel_at"] - moved.ints["submit"] == 50).all()
    assert (moved.ints["log_start"] == -1).all()


@given(
    st.lists(st.tuples(st.integers(0, 5 * WEEK_S), st.sampled_from("abcd")), min_size=1, max_size=40),
    st.floats(0.2, 3), st.integers(0, 50),
)  # fmt: skip
def test_users_come_whole_and_at_their_hour(jobs: list[tuple[int, str]], factor: float, seed: int) -> None:
    jobs = sorted(jobs)
    submits, users = [s for s, _ in jobs], [u for _, u in jobs]
    given_log = log(submits, users, run_time=list(range(len(jobs))))
    found = with_load(given_log, factor, "users", seed)
    n = len(found)
    assert sorted(found.ints["job_id"]) == list(range(1, n + 1))
    assert (np.diff(found.ints["submit"]) >= 0).all()
    names = [found.texts["user"][i] for i in range(n)]
    for user in set(users):  # each of the user's jobs equally often
        rows = [i for i, name in enumerate(names) if name == user]
        counts = np.bincount(found.ints["run_time"][rows], minlength=len(jobs))
        own = [i for i, name in enumerate(users) if name == user]
        assert len(set(counts[own].tolist())) == 1
    hour = {i: (s - submits[0]) % WEEK_S for i, s in enumerate(submits)}
    for run, submit in zip(found.ints["run_time"].tolist(), found.ints["submit"].tolist(), strict=True):
        assert (submit - submits[0]) % WEEK_S == hour[run]
    again = with_load(given_log, factor, "users", seed)
    assert (again.ints["submit"] == found.ints["submit"]).all()


def test_arrays_of_a_user_who_comes_twice_are_two() -> None:
    given_log = log([0, 0, 5], ["a", "a", "a"], array_job_id=[1, 1, -1], array_task_id=[0, 1, -1])
    found = with_load(given_log, 2, "users", 1)
    arrays = found.ints["array_job_id"]
    assert sorted(np.unique(arrays[arrays != -1], return_counts=True)[1].tolist()) == [2, 2]
    assert (arrays[found.ints["array_task_id"] == -1] == -1).all()


@given(
    st.lists(st.tuples(st.integers(0, 3 * WEEK_S), st.sampled_from("abcd")), min_size=1, max_size=40),
    st.integers(0, 9), st.integers(0, 50),
)  # fmt: skip
def test_users_repeat_weeks_of_their_own(jobs: list[tuple[int, str]], more: int, seed: int) -> None:
    """Whole weeks stay; in each further one a user's jobs are exactly those of one of his weeks, at their hours."""
    jobs = sorted([(0, "a"), *jobs, (WEEK_S, "a")])
    submits, users = [s for s, _ in jobs], [u for _, u in jobs]
    whole = (submits[-1] + 1) // WEEK_S
    found = lengthened(log(submits, users, run_time=list(range(len(jobs)))), whole + more, seed)
    own: dict[tuple[str, int], list[int]] = {}
    for run, (submit, user) in enumerate(jobs):
        own.setdefault((user, submit // WEEK_S), []).append(run)
    made: dict[tuple[str, int], list[int]] = {}
    for i in range(len(found)):
        run, submit = int(found.ints["run_time"][i]), int(found.ints["submit"][i])
        assert submit % WEEK_S == submits[run] % WEEK_S and found.texts["user"][i] == users[run]
        made.setdefault((users[run], submit // WEEK_S), []).append(run)
    assert max(week for _, week in made) < whole + more
    for user in sorted(set(users)):
        weeks = [sorted(own.get((user, week), [])) for week in range(whole)]
        assert [sorted(made.get((user, week), [])) for week in range(whole)] == weeks
        assert all(sorted(made.get((user, week), [])) in weeks for week in range(whole, whole + more))
    assert sorted(found.ints["job_id"]) == list(range(1, len(found) + 1))


def test_a_log_is_lengthened_by_what_is_there() -> None:
    short = log([0, 5], ["a", "a"])
    with pytest.raises(WorkloadError, match=r"x\.swf: --weeks: the log is shorter than a week"):
        lengthened(short, 3, 0, "x.swf")
    with pytest.raises(WorkloadError, match="no job has a user"):
        lengthened(log([0, WEEK_S], ["", ""]), 3, 0)
    with pytest.raises(ConfigError, match="--weeks: 1 weeks of a log of 2"):
        lengthened(log([0, 2 * WEEK_S], ["a", "a"]), 1, 0)


def test_what_cannot_be_done_is_said() -> None:
    plain = log([0, 5], ["", ""])
    with pytest.raises(WorkloadError, match=r"x\.swf: --load-by users: no job has a user"):
        with_load(plain, 1, "users", 0, "x.swf")
    tied = log([0, 5], ["a", "a"], depends_on=[-1, 1])
    with pytest.raises(WorkloadError, match="depend on others"):
        with_load(tied, 1, "users", 0)
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="--load"):
            with_load(plain, factor, "arrivals", 0)
    with pytest.raises(ConfigError, match="no method 'sizes'"):
        with_load(plain, 1, "sizes", 0)
