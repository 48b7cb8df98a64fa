"""Days of interactive work: sessions of one user in working hours, each job after the one before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim_workloads.models.gpu_nodes import DAY_S
from slurmsim_workloads.models.interactive import BREAK_S, InteractiveParams, generate


@given(
    st.integers(1, 1500), st.integers(1, 40), st.integers(0, 4), st.floats(1, 40), st.floats(0.5, 300),
    st.floats(0.01, 8), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_counts_order_and_bounds(
    jobs: int, nodes: int, gpus: int, length: float, per_day: float, longest: float, seed: int
) -> None:
    """As many jobs as asked for, by time, each after the one before of its session; equal seeds repeat."""
    params = InteractiveParams(
        jobs=jobs, nodes=nodes, gpus_per_node=gpus, session_length=length, sessions=per_day, longest=longest
    )
    log = generate(params, seed)
    i = log.ints
    assert len(log) == jobs and i["submit"].min() >= 0 and (np.diff(i["submit"]) >= 0).all()
    assert i["tasks"].min() >= 1 and i["tasks"].max() <= nodes * 32
    assert (i["run_time"] >= 1).all() and (i["run_time"] <= np.ceil(longest * 3600)).all()
    assert (i["run_time"] <= i["time_limit"]).all() and (i["time_limit"] <= np.ceil(longest * 3600)).all()
    before = i["depends_on"]
    follows = np.flatnonzero(before > 0)
    first = before[follows] - 1
    assert (first < follows).all() and len(set(first.tolist())) == len(first)
    ended = i["submit"][first] + i["run_time"][first]
    assert (i["submit"][follows] == ended + i["think_after"][follows]).all()
    assert (i["think_after"][follows] <= BREAK_S).all() and (i["think_after"][before < 0] == -1).all()
    assert (log.texts["user"].codes[follows] == log.texts["user"].codes[first]).all()
    with_gpu = log.texts["gres"].codes > 0
    assert gpus or not with_gpu.any()
    assert (i["tasks"][with_gpu] == 1).all()
    again = generate(params, seed)
    assert all((log.ints[name] == again.ints[name]).all() for name in log.ints)


def test_most_sessions_begin_in_working_hours() -> None:
    log = generate(InteractiveParams(jobs=20_000, outside=0.2), 3)
    begin = log.ints["submit"][log.ints["depends_on"] < 0]
    hours, weekday = begin % DAY_S / 3600, begin // DAY_S % 7 < 5
    inside = weekday & (hours >= 9) & (hours < 18)
    expected = 0.8 + 0.2 * 45 / 168  # sessions at any time of the week fall into working hours, too
    assert inside.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / len(begin)))
    none = generate(InteractiveParams(jobs=2000, outside=0.0), 3)
    begin = none.ints["submit"][none.ints["depends_on"] < 0]
    assert ((begin // DAY_S % 7 < 5) & (begin % DAY_S >= 9 * 3600) & (begin % DAY_S < 18 * 3600)).all()


def test_sessions_have_their_mean_length_and_number() -> None:
    log = generate(InteractiveParams(jobs=40_000), 4)
    n_sessions = int((log.ints["depends_on"] < 0).sum())
    assert 40_000 / n_sessions == pytest.approx(8, rel=4 * np.sqrt(7 / 8 / n_sessions) + 0.005)
    weeks = (log.ints["submit"][-1] + 1) / (7 * DAY_S)
    assert n_sessions / (5 * weeks) == pytest.approx(60, rel=0.08)


def test_the_first_jobs_do_not_depend_on_how_many_are_made_later() -> None:
    """Weeks drawn are whole: the jobs kept are the first of all, without a thin end."""
    log = generate(InteractiveParams(jobs=12_000), 6)
    by_week = np.bincount(log.ints["submit"] // (7 * DAY_S))
    assert by_week[:-1].min() > 0.85 * 60 * 5 * 8


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"closes": 9.0}, "closes"), ({"nodes": 1, "cpus_per_node": 15}, "nodes"), ({"accounts": 41}, "accounts"),
        ({"gpus_per_node": 33}, "gpus_per_node"), ({"jobs": 0}, "jobs"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(given: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        InteractiveParams(**given)


def test_weeks_too_full_are_refused() -> None:
    with pytest.raises(ConfigError, match="sessions"):
        generate(InteractiveParams(jobs=1, sessions=1e6, session_length=1000.0), 1)
