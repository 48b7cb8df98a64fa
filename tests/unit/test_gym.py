"""The environment of agents: Gymnasium's own check, masks, rewards, and the decisions of an agent as a policy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("gymnasium")

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.gym import AgentPolicy, SchedulingEnv
from slurmsim.gym.observing import Question
from slurmsim.validate import validate_trace

SAMPLES = Path(__file__).parents[2] / "workloads" / "samples"
SAMPLE = {"conf": SAMPLES / "sample.conf"}
LOG = str(SAMPLES / "sample.parquet")


def shortest(jobs: Any, mask: Any) -> int:
    """The job with the shortest limit that fits."""
    limits = np.where(mask[:-1] == 1, jobs[:, 1], np.inf)
    return int(limits.argmin())


def play(env: Any, choose: Callable[[Any, Any], int], **options: Any) -> tuple[float, dict[str, Any], int]:
    """Play one episode; the sum of its rewards, what it told last, and its steps."""
    seen, info = env.reset(**options)
    total, steps, over = 0.0, 0, False
    while not over:
        seen, reward, over, cut, info = env.step(choose(seen["jobs"], info["action_mask"]))
        assert not cut
        total, steps = total + reward, steps + 1
    return total, info, steps


def drawn(seed: int) -> Callable[[Any, Any], int]:
    """Any action that is possible."""
    random = np.random.default_rng(seed)
    return lambda jobs, mask: int(random.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("more", [{"nodes": 40}, {"conf": SAMPLES / "sample.conf"}], ids=["nodes alone", "partitions"])
@pytest.mark.filterwarnings("ignore:.*Box observation space maximum:UserWarning")
def test_it_is_an_environment(more: dict[str, Any]) -> None:
    log = "generate:lublin:jobs=200,nodes=40" if "nodes" in more else LOG
    check_env(SchedulingEnv(log, episode=50, **more), skip_render_check=True)


def test_the_same_seed_is_the_same_episode_and_another_is_not() -> None:
    env = SchedulingEnv(LOG, episode=60, slots=16, **SAMPLE)
    one, again, other = (play(env, drawn(5), seed=seed) for seed in (1, 1, 2))
    assert one[0] == again[0] and one[1]["now"] == again[1]["now"]
    assert one[1]["now"] != other[1]["now"]


def test_rewards_are_what_the_episode_measures() -> None:
    """The same decisions, three rewards: their sums are the waits and slowdowns of all jobs."""
    found = {
        name: play(SchedulingEnv(LOG, episode=80, reward=name, **SAMPLE), shortest, options={"first": 7})
        for name in ("wait", "bounded_slowdown")
    }
    info = found["wait"][1]
    n = info["started"]
    assert n == 79  # one is cancelled while it waits
    assert found["wait"][0] == pytest.approx(-info["mean_wait_s"] * n / 3600)
    assert found["bounded_slowdown"][0] == pytest.approx(-info["mean_bounded_slowdown"] * n)
    total, _, _ = play(SchedulingEnv(LOG, episode=80, reward=lambda job, wait, run: run * 1.0, **SAMPLE), shortest,
                       options={"first": 7})  # fmt: skip
    assert total > 0


class Shortest(AgentPolicy):
    """The same agent as a policy."""

    name = "shortest"
    slots = 32

    def act(self, question: Question) -> int:
        assert question.jobs.shape == (32, 5)
        return shortest(question.jobs, question.mask)


def test_an_agent_decides_the_same_as_a_policy(tmp_path: Path) -> None:
    """In the environment, in a run behind facades, and in a judged trace."""
    log = "generate:lublin:jobs=300,nodes=40"
    _, info, _ = play(SchedulingEnv(log, episode=None, slots=32, nodes=40), shortest)
    trace = slurmsim.run(log, nodes=40, policy=Shortest, out=tmp_path / "out", report=False)
    assert validate_trace(tmp_path / "out").valid
    assert info["mean_wait_s"] == pytest.approx(trace.summary["mean_wait_s"])
    assert info["mean_bounded_slowdown"] == pytest.approx(trace.summary["mean_bounded_slowdown"])


JOBS = pd.DataFrame({"job_id": [1, 2, 3], "submit": [0, 0, 0], "run_time": [100, 50, 70], "time_limit": [120, 60, 600],
                     "nodes": [2, 1, 1], "user": ["ann"] * 3})  # fmt: skip


def test_what_it_asks() -> None:
    """Two nodes: all three jobs fit alone; behind the start of job 2 only job 3 does."""
    env = SchedulingEnv(JOBS, nodes=2, episode=None, slots=4, reward="wait")
    seen, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0]  # nothing runs, so waiting would be for ever
    assert seen["jobs"][:, 2:].tolist() == [[1, 1, 1], [0.5, 1, 1], [0.5, 1, 1], [0, 0, 0]]
    assert seen["cluster"].tolist() == [1, 0.75, 0]
    seen, reward, over, _, info = env.step(1)
    assert (reward, over, info["action_mask"].tolist()) == (0, False, [0, 1, 0, 0, 1])
    seen, reward, over, _, info = env.step(4)  # wait: job 2 ends at 50
    assert (info["now"], info["action_mask"].tolist()) == (50, [1, 1, 0, 0, 0])
    seen, reward, over, _, info = env.step(0)
    assert (reward, over, info["now"]) == (pytest.approx(-50 / 3600), False, 150)
    _, reward, over, _, info = env.step(0)
    assert (reward, over, info["mean_wait_s"]) == (pytest.approx(-150 / 3600), True, pytest.approx(200 / 3))
    with pytest.raises(ConfigError, match="the episode is over"):
        env.step(0)


def test_a_masked_action_waits() -> None:
    env = SchedulingEnv(JOBS, nodes=2, episode=None, slots=4)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(1)
    _, reward, _, _, info = env.step(0)
    assert (reward, info["masked"], info["now"]) == (0, True, 50)


def test_jobs_that_come_back_are_asked_about_again(tmp_path: Path) -> None:
    """A node fails under the first job: it is requeued, and an episode ends with the last start."""
    events = tmp_path / "nodes.csv"
    events.write_text("time,action,nodes\n40,down,n1\n60,resume,n1\n", encoding="utf-8")
    jobs = JOBS.head(2).assign(nodes=1, submit=[0, 500])
    env = SchedulingEnv(jobs, nodes=1, episode=None, slots=2, node_events=events)
    env.reset(seed=0)
    times = []
    over = False
    while not over:
        _, _, over, _, info = env.step(0)
        times.append(info["now"])
    assert times == [161, 500, 500]  # 121 s behind the failure
    assert info["started"] == 3


def test_several_at_once() -> None:
    envs = SyncVectorEnv([lambda: SchedulingEnv(LOG, episode=20, slots=8, **SAMPLE)] * 3)
    seen, info = envs.reset(seed=3)
    assert seen["jobs"].shape == (3, 8, 5)
    seen, rewards, *_ = envs.step([int(np.flatnonzero(mask)[0]) for mask in info["action_mask"]])
    assert rewards.shape == (3,)
    envs.close()


def test_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    play(SchedulingEnv(LOG, episode=30, **SAMPLE), drawn(1), seed=1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ({"episode": 0}, "0 jobs of"), ({"episode": 10**9}, "jobs of"), ({"slots": 0}, "slots"),
        ({"reward": "wealth"}, "unknown reward 'wealth'"), ({"policy": "easy"}, "the agent is the policy"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(what: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        SchedulingEnv(LOG, **{**SAMPLE, **what})


def test_it_needs_an_episode_that_is_there() -> None:
    env = SchedulingEnv(LOG, episode=20, **SAMPLE)
    with pytest.raises(ConfigError, match="first"):
        env.reset(options={"first": -1})
    assert isinstance(env, gymnasium.Env)
