"""Masked PPO: slopes against differences, costs against slowdowns, and that it learns what is known to be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("gymnasium")

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.gym import Learning, SchedulingEnv, learn_order
from slurmsim.gym.network import FEATURES, Order
from slurmsim.gym.ppo import N_STATE, Decision, _advantages, _Critic, _play, _play_shortest, _Starts, objective


def drawn_decisions(rng: np.random.Generator, n: int) -> list[Decision]:
    """Decisions between two to six jobs, under another network than the one that is tested."""
    found = []
    for _ in range(n):
        seen = rng.standard_normal((int(rng.integers(2, 7)), len(FEATURES)))
        chosen = int(rng.integers(len(seen)))
        found.append(Decision(seen, chosen, float(np.log(rng.uniform(0.1, 0.9))), np.zeros(N_STATE)))
    return found


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_slopes_are_those_of_the_objective(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, asked = Order.drawn(rng, (5, 4)), drawn_decisions(rng, 7)
    gain, how = rng.standard_normal(7), Learning(entropy=0.05)
    _, slopes = objective(order, asked, gain, how)
    for value, slope in zip((*order.weights, *order.biases), slopes, strict=True):
        place = tuple(int(rng.integers(size)) for size in value.shape)
        kept, around = value[place], []
        for step in (1e-6, -1e-6):
            value[place] = kept + step
            around.append(objective(order, asked, gain, how)[0])
        value[place] = kept
        assert slope[place] == pytest.approx((around[0] - around[1]) / 2e-6, abs=1e-6)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_slopes_of_the_critic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    critic, states, wanted = _Critic(rng), rng.standard_normal((6, N_STATE)), rng.standard_normal(6)
    slopes = critic.slopes(states, critic.of(states) - wanted)
    for value, slope in zip(critic.values, slopes, strict=True):
        place = tuple(int(rng.integers(size)) for size in value.shape)
        kept, around = value[place], []
        for step in (1e-6, -1e-6):
            value[place] = kept + step
            around.append(float(((critic.of(states) - wanted) ** 2).sum()) / 2)
        value[place] = kept
        assert slope[place] == pytest.approx((around[0] - around[1]) / 2e-6, abs=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 300)), min_size=1, max_size=12),
    st.lists(st.integers(0, 1200), min_size=1, max_size=6),
)
def test_cost_is_waiting_time_over_run_time(jobs: list[tuple[int, int, int]], times: list[int]) -> None:
    starts = _Starts()
    for submit, wait, run in jobs:
        starts.rows.append((submit, submit + wait, 1 / max(run, 10)))
    found = starts.cost_until(np.array(sorted(times), np.float64))
    for at, cost in zip(sorted(times), found.tolist(), strict=True):
        wanted = sum(max(0, min(at, submit + wait) - submit) / max(run, 10) for submit, wait, run in jobs)
        assert cost == pytest.approx(wanted, abs=1e-6)


def test_costs_of_an_episode_add_up_to_its_slowdowns() -> None:
    """What decisions cost is what all waits amount to, but for waits before the first decision."""
    starts = _Starts()
    env = SchedulingEnv("generate:lublin:jobs=200,nodes=16", nodes=16, episode=150, reward=starts)
    rng = np.random.default_rng(1)
    decisions, slowdown = _play(env, 20, Order.drawn(rng), rng, starts, 1.0)
    every = sum((begin - submit) * weight for submit, begin, weight in starts.rows)
    assert len(starts.rows) == 150 and len(decisions) > 10
    assert 0.5 * every < -sum(one.reward for one in decisions) <= every + 1e-6
    mean, cost = _play_shortest(env, 20, starts)
    assert cost == pytest.approx(sum((begin - submit) * weight for submit, begin, weight in starts.rows))
    assert mean >= 1 and slowdown >= 1


def test_advantages_by_hand() -> None:
    """With lambda 1 they are what is still to come less the critic's word; with 0 one step and the next word."""
    found = [Decision(np.zeros((2, len(FEATURES))), 0, 0.0, np.zeros(N_STATE), r) for r in (-1.0, -2.0, -4.0)]
    worth = np.array([-5.0, -5.0, -3.0])
    gained, wanted = _advantages(found, worth, 1.0)
    assert gained.tolist() == [-2, -1, -1] and wanted.tolist() == [-7, -6, -4]
    assert _advantages(found, worth, 0.0)[0].tolist() == [-1 - 5 + 5, -2 - 3 + 5, -4 + 3]


def crowded(n: int) -> pd.DataFrame:
    """Many short jobs and some long ones, all for the same few nodes: to take the short ones first is right."""
    rng = np.random.default_rng(3)
    run = np.where(rng.random(n) < 0.7, rng.integers(10, 60, n), rng.integers(3000, 6000, n))
    return pd.DataFrame(
        {"job_id": np.arange(1, n + 1), "submit": np.sort(rng.integers(0, n * 200, n)), "run_time": run,
         "time_limit": run + 60, "nodes": 1}
    )  # fmt: skip


SMALL: dict[str, Any] = {
    "nodes": 6, "episode": 80, "how": Learning(updates=12, episodes=4, probes=6, batch=64, rate=1e-2)
}  # fmt: skip


def test_it_learns_to_start_short_jobs_first() -> None:
    """The order learned on the first half is nearer to shortest-first than to first come on the second half."""
    log, told = crowded(400), []
    order = learn_order(log, seed=1, last=200, tell=lambda update, part: told.append(update), **SMALL)
    assert told == list(range(12))
    seen = np.tile([0.5, 0.5, 0.2, -0.3, 0.2, 0.2, 0.1, 0.5], (2, 1))
    seen[:, FEATURES.index("limit")] = [0.1, 0.9]
    short, long = order.scores(seen)
    assert short > long

    env = SchedulingEnv(log, nodes=6, episode=150)
    slowdowns = {}
    for name, choose in (("first", lambda s, m: int(np.flatnonzero(m)[0])),
                         ("learned", lambda s, m: choice(order, s, m))):  # fmt: skip
        shown, info = env.reset(options={"first": 230})
        over = False
        while not over:
            shown, _, over, _, info = env.step(choose(shown, info["action_mask"]))
        slowdowns[name] = info["mean_bounded_slowdown"]
    assert slowdowns["learned"] < 0.8 * slowdowns["first"]


def choice(order: Order, shown: dict[str, Any], mask: Any) -> int:
    from slurmsim.gym.observing import Question

    return order.choose(Question([], shown["jobs"], shown["cluster"], mask))


def test_equal_seeds_learn_equal_orders() -> None:
    log = crowded(160)
    few = {**SMALL, "how": Learning(updates=2, episodes=2, probes=2)}
    one, same, other = (learn_order(log, seed=seed, **few).text() for seed in (1, 1, 2))
    assert one == same != other


def test_a_learned_order_is_a_policy(tmp_path: Any) -> None:
    order = learn_order(crowded(160), seed=1, **{**SMALL, "how": Learning(updates=1, episodes=1, probes=1)})
    (tmp_path / "mine.toml").write_text(order.text(), encoding="utf-8")
    trace = slurmsim.run(
        crowded(60), nodes=6, policy=f"learned_order:model={tmp_path / 'mine.toml'}", out=tmp_path / "o"
    )
    assert trace.summary["completed"] == 60


@pytest.mark.parametrize(
    ("given", "said"), [({"first": 100}, "last"), ({"last": 20}, "last"), ({"first": -1}, "last")]
)  # fmt: skip
def test_too_few_jobs_to_learn_from(given: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        learn_order(crowded(160), **SMALL, **given)


@pytest.mark.parametrize("name", ["updates", "episodes", "probes", "walks", "batch"])
def test_bad_numbers_are_named(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Learning(**{name: 0})
