"""A Gymnasium environment: an episode is a stretch of a log, a step one decision.

Actions are the first jobs of the queue, in its order, and to wait until something happens. Only questions with
an answer are asked: where none of these jobs fits, time goes on by itself. A masked action waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces

from slurmsim.errors import ConfigError
from slurmsim.gym.deciding import Agent, Deciding
from slurmsim.gym.observing import CLUSTER_FEATURES, JOB_FEATURES, SLOTS, Mask, Question, ask
from slurmsim.policy import JobView
from slurmsim.replaying.jobs import FRAME
from slurmsim.replaying.options import RunKeywords, RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.simulating import simulation_of
from slurmsim.sim.listener import Listener

TAU_S: Final = 10
Reward = Callable[[JobView, int, int], float]
"""Told a job that starts now, how long it waited and how long it will run, seconds."""


def _bounded_slowdown(job: JobView, wait_s: int, run_time_s: int) -> float:
    return -max(1.0, (wait_s + run_time_s) / max(run_time_s, TAU_S))


REWARDS: Final[Mapping[str, Reward]] = {
    "wait": lambda job, wait_s, run_time_s: -wait_s / 3600,
    "node_wait": lambda job, wait_s, run_time_s: -wait_s * job.n_nodes / 3600,
    "bounded_slowdown": _bounded_slowdown,
}
"""Rewards by name, given when a job starts: minus its wait in hours, that times its nodes, minus bounded slowdown."""


class SchedulingEnv(gymnasium.Env):
    """Asks an agent which job starts next.

    Parameters
    ----------
    workload
        A file or a DataFrame, as `slurmsim.run` takes it.
    episode
        Jobs of an episode: so many in a row of the log, from a place that the seed draws. None: the whole log.
    slots
        Jobs an agent may choose from: the first ones of the queue.
    reward
        A name of `REWARDS`, or a function of the job, its wait and its run time.
    options
        As of `slurmsim.run`: ``conf``, ``nodes``, …. There is no policy.

    Notes
    -----
    ``reset(options={"first": k})`` begins an episode at job number k of the log. `info` has ``action_mask`` and
    ``now``, and in the last step the mean wait and the mean bounded slowdown of the episode. No file is written.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self, workload: Any, *, episode: int | None = 256, slots: int = SLOTS,
        reward: str | Reward = "bounded_slowdown", **options: Unpack[RunKeywords],
    ) -> None:  # fmt: skip
        if options.get("policy") is not None:
            raise ConfigError("the agent is the policy", field="policy", expected="none")
        if slots < 1:
            raise ConfigError(f"{slots}", field="slots", expected="1 or more jobs")
        if isinstance(reward, str) and reward not in REWARDS:
            raise ConfigError(f"unknown reward {reward!r}", field="reward", expected=f"one of: {', '.join(REWARDS)}")
        named = isinstance(workload, str) or hasattr(workload, "__fspath__")
        options["policy"] = Agent
        asked = RunOptions.of(workload if named else FRAME, "", **options)
        self._prepared = prepare(asked, None if named else workload)
        self._log = self._prepared.workload
        if not len(self._log) or (episode is not None and not 0 < episode <= len(self._log)):
            raise ConfigError(
                f"{episode} jobs of {len(self._log)}", field="episode", expected="at least one, at most all"
            )
        self._n_jobs, self._slots = episode or len(self._log), slots
        self._reward = REWARDS[reward] if isinstance(reward, str) else reward
        self.action_space = spaces.Discrete(slots + 1)
        self.observation_space = spaces.Dict(
            {
                "jobs": spaces.Box(0, np.inf, (slots, len(JOB_FEATURES)), np.float32),
                "cluster": spaces.Box(0, np.inf, (len(CLUSTER_FEATURES),), np.float32),
            }
        )
        self._simulation: Deciding | None = None
        self._question: Question | None = None
        self._waits: list[int] = []
        self._slowdowns: list[float] = []

    @property
    def n_jobs_of_log(self) -> int:
        """Jobs of the whole log."""
        return len(self._log)

    @property
    def n_jobs_of_episode(self) -> int:
        """Jobs of an episode."""
        return self._n_jobs

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: its first observation, and what goes with it."""
        super().reset(seed=seed)
        last = len(self._log) - self._n_jobs
        first = (options or {}).get("first")
        if first is None:
            first = int(self.np_random.integers(0, last + 1))
        elif not isinstance(first, int) or not 0 <= first <= last:
            raise ConfigError(f"{first!r}", field="first", expected=f"a job of the log from 0 to {last}")
        prepared = self._prepared
        prepared.policy = Agent()
        prepared.workload = self._log.take(np.arange(first, first + self._n_jobs))
        self._simulation = simulation_of(prepared, Listener(), Deciding)
        self._waits, self._slowdowns = [], []
        if not self._to_the_next():
            raise ConfigError("no job of the episode can start", field="first", expected="another stretch of the log")
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Start the job of a slot, or wait: the next observation, the reward, and whether the episode is over."""
        simulation, question = self._simulation, self._question
        if simulation is None or question is None:
            raise ConfigError("the episode is over, or has not begun", field="step", expected="reset() first")
        chosen, reward = int(action), 0.0
        may = bool(question.mask[chosen])
        if may and chosen < self._slots and simulation.start(question.records[chosen]):
            reward = self._started(question.records[chosen].job)
            over = not self._again()
        else:
            over = not self._to_the_next()
        if over:
            self._question = None
        info = self._info()
        if not may:
            info["masked"] = True
        return self._observation(), reward, over, False, info

    def action_masks(self) -> Mask:
        """Return which actions are possible, shape (slots + 1,): what sb3-contrib's MaskablePPO asks."""
        return self._info()["action_mask"]  # type: ignore[no-any-return]

    # -- how far it is ------------------------------------------------------------------------------------------------

    def _started(self, job: JobView) -> float:
        """Return the reward of a start."""
        assert self._simulation is not None
        wait_s = self._simulation.timers.now - job.submit_time
        run_time_s = max(0, min(self._simulation.behaviour[job.id].run_time, job.time_limit_s))
        self._waits.append(wait_s)
        self._slowdowns.append(-_bounded_slowdown(job, wait_s, run_time_s))
        return float(self._reward(job, wait_s, run_time_s))

    def _again(self) -> bool:
        """Ask about this instant once more if a job fits, else go on; False if the episode is over."""
        assert self._simulation is not None
        return not self._simulation.all_decided and (self._ask() or self._to_the_next())

    def _to_the_next(self) -> bool:
        """Go on to the next question; False if there is none."""
        assert self._simulation is not None
        while not self._simulation.all_decided and self._simulation.go_on():
            if self._ask():
                return True
        return False

    def _ask(self) -> bool:
        """Look at the queue; True if there is something to decide."""
        simulation = self._simulation
        assert simulation is not None
        question = ask(simulation.view, simulation.timers.now, self._slots)  # type: ignore[arg-type]
        if question is None:
            return False
        question.mask[-1] = simulation.anything_to_come
        self._question = question
        return True

    # -- what is told ------------------------------------------------------------------------------------------------

    def _observation(self) -> dict[str, Any]:
        if self._question is None:
            return {space: np.zeros(box.shape, np.float32) for space, box in self.observation_space.spaces.items()}
        return {"jobs": self._question.jobs, "cluster": self._question.cluster}

    def _info(self) -> dict[str, Any]:
        assert self._simulation is not None
        if self._question is not None:
            return {"action_mask": self._question.mask, "now": self._simulation.timers.now}
        mask = np.zeros(self._slots + 1, np.int8)
        mask[-1] = 1
        n = len(self._waits)
        return {
            "action_mask": mask, "now": self._simulation.timers.now, "started": n,
            "mean_wait_s": sum(self._waits) / n if n else None,
            "mean_bounded_slowdown": sum(self._slowdowns) / n if n else None,
        }  # fmt: skip
