"""The learned predictor: it knows the past alone, keeps what it learned, and its intervals hold."""

from __future__ import annotations

import heapq
import json
import random
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from slurmsim.errors import ConfigError
from slurmsim.policy import Estimate
from slurmsim_policies.predictors.learned import LEAST, Learned


def jobs(n: int, seed: int) -> list[Any]:
    """Jobs of four users who use a tenth, a third, all of their limits, or anything."""
    rng = random.Random(seed)
    found, at = [], 0
    for k in range(n):
        user, limit = rng.randrange(4), rng.choice([600, 3600, 36_000])
        run = max(int(limit * (0.1, 0.33, 1.0, rng.random())[user] * rng.uniform(0.9, 1)), 1)
        at += rng.randrange(0, 400)
        found.append(SimpleNamespace(id=k + 1, user=f"u{user}", name=f"n{rng.randrange(3)}", time_limit_s=limit,
                                     asked=(("node", 1), ("cpu", rng.choice([1, 4]))), came=at, ran=run))  # fmt: skip
    return found


def told(predictor: Learned, log: list[Any], estimates: int = 0) -> list[Any]:
    """What it says of each job, jobs starting when they come; with intervals of so many of the last ones."""
    ends: list[tuple[int, int, Any]] = []
    said: list[Any] = []
    for job in log:
        while ends and ends[0][0] <= job.came:
            at, _, ended = heapq.heappop(ends)
            predictor.ended(ended, at, ended.ran)
        found = predictor.predict(job, job.came)
        said.append((found, predictor.estimate(job, job.came)) if job.id > len(log) - estimates else found)
        heapq.heappush(ends, (job.came + job.ran, job.id, job))
    return said


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_it_knows_nothing_of_the_future(seed: int) -> None:
    """Other run times of jobs that had not ended when the last ones came change nothing that was said before.

    What a job itself takes, and all that comes after it, is another in the second log.
    """
    log = jobs(LEAST + 60, seed)
    cut = log[-20].came
    changed = [
        SimpleNamespace(**{**vars(job), "ran": job.ran if job.came + job.ran <= cut else 7 * job.ran + 99})
        for job in log
    ]
    before = [job for job in log if job.came <= cut]
    first, second = told(Learned(), log), told(Learned(), changed)
    assert first[: len(before)] == second[: len(before)]
    assert first[len(before) - 1] is not None


@pytest.mark.slow
def test_it_learns_users_and_its_intervals_hold() -> None:
    log = jobs(520, 3)
    said = told(Learned(), log, 150)
    assert said[0] is None
    late = [(job, *one) for job, one in zip(log[-150:], said[-150:], strict=True)]
    assert all(isinstance(estimate, Estimate) for _, _, estimate in late)
    steady = [(job, median) for job, median, _ in late if job.user in ("u0", "u1", "u2")]
    near = sum(abs(median - job.ran) <= 0.25 * job.ran for job, median in steady)
    assert near >= 0.7 * len(steady)
    inside = sum(one.low_s <= job.ran <= one.high_s for job, _, one in late)
    assert 0.6 * len(late) <= inside <= 0.97 * len(late)


def test_a_restart_changes_nothing() -> None:
    """What it has learned is plain data, from which another one says the same."""
    log = jobs(LEAST + 90, 4)
    one, other = Learned(), Learned()
    told(one, log[:-10])
    state = json.loads(json.dumps({name: getattr(one, name) for name in Learned.STATE}))
    for name, value in state.items():
        setattr(other, name, {int(k): v for k, v in value.items()} if name == "waiting" else value)
    assert [one.predict(job, job.came) for job in log[-10:]] == [other.predict(job, job.came) for job in log[-10:]]


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ConfigError, match=r"scikit-learn is not installed .*pip install '\.\[learn\]'"):
        told(Learned(), jobs(LEAST + 60, 5))
