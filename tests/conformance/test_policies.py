"""Every installed policy, ours and strangers' alike, through the same workloads: what any scheduler has to keep.

A policy that is installed is picked up by itself; nothing has to be listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from conformance_support import WORLDS, World, run, stream_of_small_jobs
from hypothesis import settings

import slurmsim.core.scheduling.outside
from slurmsim.errors import PolicyError
from slurmsim.policy import (
    PREDICTORS,
    Decision,
    JobView,
    Policy,
    Predictor,
    Start,
    load_policy,
    policy_names,
)
from slurmsim.states import FINAL_STATES

DAY_S = 86_400
# One without a schedule plans single instances only (`slurmsim dispatch`).
NAMES = [name for name in policy_names() if load_policy(name).schedule is not Policy.schedule]
SOLVING = [name for name in NAMES if "solver" in load_policy(name).OPTIONS or load_policy(name).reshapes]
policies = pytest.mark.parametrize("policy", NAMES)
# who asks a solver takes minutes of a world
in_worlds = pytest.mark.parametrize(
    "policy", [pytest.param(name, marks=[pytest.mark.slow] if name in SOLVING else []) for name in NAMES]
)
# who optimises the jobs that fit now promises no bound to those that do not, nor does who prefers short ones
# or keeps nothing free for anybody
in_turn = pytest.mark.parametrize(
    "policy", [name for name in NAMES if name not in (*SOLVING, "spf", "list", "learned_order")]
)
PREDICTING = ("easy:predictor=grudge", "conservative:predictor=grudge", "spf:predictor=real")
worlds = pytest.mark.parametrize("make", WORLDS, ids=lambda make: make.__name__)


NIGHT = settings().max_examples > 100
OURS = [name for name in NAMES if name not in SOLVING and load_policy(name).__module__.startswith("slurmsim_policies.")]


def test_ours_are_installed() -> None:
    assert {"backfill", "builtin", "conservative", "easy", "fcfs"} <= set(policy_names())


@policies
def test_it_says_what_it_is(policy: str) -> None:
    found = load_policy(policy)
    assert found.name == policy
    assert found.summary
    for key, option in found.OPTIONS.items():
        assert option.help, f"option {key} has no help"


@in_worlds
@worlds
def test_every_job_comes_to_its_end(
    make: Callable[[], World], policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All jobs that can run do, the validator agrees, and the same input gives the same bytes again.

    Ours are shown then what policies of others are: they use what the port declares and nothing else.
    """
    world = make()
    submissions = world.workload
    try:
        jobs = run(world, policy, tmp_path / "first").jobs_frame()
    except PolicyError as error:
        if "that is not modelled" in str(error):
            pytest.skip(str(error))  # a policy may refuse what it cannot describe, by name
        raise
    assert len(jobs) == len(submissions)
    assert set(jobs["state"]) <= set(FINAL_STATES)
    cancelled = jobs[(jobs["state"] == "CANCELLED") & jobs["start"].isna()]
    assert set(cancelled["job_id"]) <= set(submissions.ints["job_id"][submissions.ints["cancel_at"] >= 0].tolist())
    assert jobs["start"].isna().sum() == len(cancelled)
    if not (NIGHT or WORLDS.index(make) == NAMES.index(policy) % len(WORLDS)):
        return  # by day each policy comes again in one of the worlds
    if policy in OURS:
        monkeypatch.setattr(slurmsim.core.scheduling.outside, "OURS", frozenset())
    run(world, policy, tmp_path / "second")
    for table in ("jobs.parquet", "requeued.parquet", "events.parquet", "usage.parquet"):
        assert (tmp_path / "first/out" / table).read_bytes() == (tmp_path / "second/out" / table).read_bytes()


class Grudge(Predictor):
    """What the last job that ended took, whoever's it was: as wrong as a prediction can be."""

    name = "grudge"
    STATE = ("last",)

    def __init__(self) -> None:
        self.last: int | None = None

    def predict(self, job: JobView, now: int) -> int | None:
        return self.last

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        self.last = run_time_s


@pytest.mark.parametrize("policy", PREDICTING)
@worlds
def test_every_job_comes_to_its_end_whatever_is_predicted(
    make: Callable[[], World], policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validator finds nothing wrong with plans that failing nodes, requeues, arrays and bad predictions cross."""
    brought = EntryPoint("grudge", f"{__name__}:Grudge", PREDICTORS)
    monkeypatch.setattr(
        "slurmsim.policy.registry.entry_points",
        lambda group: [*entry_points(group=group), *([brought] if group == PREDICTORS else [])],
    )
    jobs = run(make(), policy, tmp_path).jobs_frame()
    assert set(jobs["state"]) <= set(FINAL_STATES)
    assert (jobs["start"].isna() <= (jobs["state"] == "CANCELLED")).all()


@in_turn
def test_nobody_starves(policy: str, tmp_path: Path) -> None:
    """A job of all nodes starts within two days although small jobs keep coming for four."""
    jobs = run(stream_of_small_jobs(), policy, tmp_path).jobs_frame()
    wide = jobs[jobs["name"] == "wide"]
    assert wide["wait_s"].item() <= 2 * DAY_S


class Greedy(Policy):
    """Starts whatever fits."""

    name = "greedy"

    def schedule(self, view: Any, now: int) -> Iterable[Decision]:
        return [Start(job) for job in view.pending]


class Lazy(Policy):
    """Starts nothing."""

    name = "lazy"

    def schedule(self, view: Any, now: int) -> Iterable[Decision]:
        return ()


@pytest.fixture
def bad_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two policies that should not pass, as if a stranger's package had brought them."""
    points = [EntryPoint(cls.name, f"{__name__}:{cls.__name__}", "slurmsim.policies") for cls in (Greedy, Lazy)]
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: points)


@pytest.mark.usefixtures("bad_ones")
def test_this_suite_notices_starvation_and_jobs_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert policy_names() == ["greedy", "lazy"]
    with pytest.raises(AssertionError):
        test_nobody_starves("greedy", tmp_path / "greedy")
    with pytest.raises(AssertionError):
        test_every_job_comes_to_its_end(WORLDS[0], "lazy", tmp_path / "lazy", monkeypatch)
