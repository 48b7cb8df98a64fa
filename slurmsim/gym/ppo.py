"""Learn an order of the queue by masked proximal policy optimisation (PPO), in NumPy.

An update plays some episodes with the present network, then improves it by a few walks over what was seen. Actions are
the jobs that fit; to wait is masked where one fits, so all decisions between two or more jobs count, and no others.

The cost of a decision is what slowdowns grow by until the next one: each waiting job adds the time that passes over its
run time, at least `TAU_S`. Over an episode that adds up to the slowdowns, but it comes when it arises, not when a job
starts at last. It is divided by the sum under shortest-first, so easy and hard stretches of a log count alike. Run
times are those of the past; the network never sees them. Nothing is discounted.

References
----------
J. Schulman and others, "Proximal Policy Optimization Algorithms" (arXiv 1707.06347), equation 7; "High-Dimensional
Continuous Control Using Generalized Advantage Estimation" (arXiv 1506.02438). S. Huang, S. Ontañón, "A Closer Look at
Invalid Action Masking in Policy Gradient Algorithms" (arXiv 2006.14171).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError
from slurmsim.gym.environment import TAU_S, SchedulingEnv
from slurmsim.gym.network import FEATURES, Floats, Order, features
from slurmsim.policy import JobView

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Learning:
    """How to learn: the numbers of PPO, and how much is played.

    `updates` times `episodes` are played, each from one of the harder half of `probes` places in the log, by the
    slowdown under shortest-first: where nothing waits there is nothing to learn. `walks` and `batch`
    decisions a step: how often what was seen is used. `clip` bounds how far a step may go, `trace` is lambda of the
    advantages, `entropy` rewards undecided networks.
    """

    updates: int = 40
    episodes: int = 8
    probes: int = 32
    walks: int = 6
    batch: int = 256
    rate: float = 3e-3
    clip: float = 0.2
    trace: float = 0.97
    entropy: float = 3e-3

    def __post_init__(self) -> None:
        for name in ("updates", "episodes", "probes", "walks", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{value!r}", field=name, expected="1 or more")


@dataclass
class Decision:
    """Jobs as the network saw them, the one chosen, its log probability, the critic's state, and the reward."""

    seen: Floats
    chosen: int
    log_p: float
    state: Floats
    reward: float = 0.0


@dataclass
class Adam:
    """Steps of D. Kingma and J. Ba's Adam (arXiv 1412.6980) over a list of arrays, which it changes."""

    rate: float
    n: int = 0
    first: list[Floats] = field(default_factory=list)
    second: list[Floats] = field(default_factory=list)

    def step(self, values: list[Floats], slopes: list[Floats]) -> None:
        """Go against the slopes, their common norm cut at 1."""
        if not self.first:
            self.first, self.second = ([np.zeros_like(v) for v in values] for _ in range(2))
        norm = float(np.sqrt(sum((slope**2).sum() for slope in slopes)))
        cut = min(1.0, 1.0 / (norm + 1e-12))
        self.n += 1
        for value, slope, m, v in zip(values, slopes, self.first, self.second, strict=True):
            m += 0.1 * (cut * slope - m)
            v += 0.001 * ((cut * slope) ** 2 - v)
            value -= self.rate * (m / (1 - 0.9**self.n)) / (np.sqrt(v / (1 - 0.999**self.n)) + 1e-8)


def slopes_of(order: Order, layers: list[Floats], outer: Floats) -> list[Floats]:
    """Return the slopes of weights and biases, weights first, where `outer` are those of the scores, (n_jobs, 1)."""
    weights: list[Floats] = []
    biases: list[Floats] = []
    for number in range(len(order.weights) - 1, -1, -1):
        weights.append(layers[number].T @ outer)
        biases.append(outer.sum(axis=0))
        if number:
            outer = (outer @ order.weights[number].T) * (1 - layers[number] ** 2)
    return [*weights[::-1], *biases[::-1]]


N_STATE = 2 * len(FEATURES) + 4


def state_of(shown: dict[str, Any], left: float) -> Floats:
    """Return what the critic sees: means and largest of the features of all jobs shown, their number and work."""
    jobs = shown["jobs"]
    there = jobs[jobs[:, 4] == 1]
    seen = features(there, shown["cluster"])
    hours = there[:, 1].astype(np.float64)
    work, hurry = float((there[:, 2] * hours).sum()), float((1 / np.maximum(hours, 0.01)).sum())
    sums = [np.log1p(len(there)) / 4, np.log1p(work) / 3, np.log1p(hurry) / 6, left]
    return np.concatenate((seen.mean(axis=0), seen.max(axis=0), sums))


class _Starts:
    """Told of every start, as a reward that is always 0: when each job came and began, and how it weighs."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, float]] = []

    def __call__(self, job: JobView, wait_s: int, run_time_s: int) -> float:
        self.rows.append((job.submit_time, job.submit_time + wait_s, 1 / max(run_time_s, TAU_S)))
        return 0.0

    def cost_until(self, times: Floats) -> Floats:
        """Return by how much the slowdowns have grown until each of `times`, ascending."""
        rows = np.array(self.rows, np.float64)
        at = np.concatenate((rows[:, 0], rows[:, 1]))
        order = np.argsort(at, kind="stable")
        at = at[order]
        growth = np.cumsum(np.concatenate((rows[:, 2], -rows[:, 2]))[order])
        grown = np.concatenate(([0.0], np.cumsum(growth[:-1] * np.diff(at))))
        found: Floats = np.interp(times, at, grown)
        return found


def learn_order(
    workload: Any, *, seed: int = 0, episode: int = 256, first: int = 0, last: int | None = None,
    how: Learning | None = None, tell: Callable[[int, float], None] | None = None, **options: Any,
) -> Order:  # fmt: skip
    """Return an order of the queue that was learned on a log.

    Parameters
    ----------
    workload, options
        As of `SchedulingEnv`.
    episode
        Jobs of an episode.
    first, last
        Jobs of the log that are learned from: numbers from `first` to before `last`, None for all. The others are never
        seen, so they can judge the result.
    how
        The numbers of PPO; `Learning()` if None.
    tell
        Called after each update with its number and the mean of the episodes' bounded slowdowns over those of
        shortest-first: below 1 is better.

    Notes
    -----
    Equal arguments give equal networks on one machine.

    Raises
    ------
    ConfigError
        Where there are fewer jobs between `first` and `last` than an episode has.
    """
    how = how or Learning()
    starts = _Starts()
    env = SchedulingEnv(workload, episode=episode, reward=starts, **options)
    rng = np.random.default_rng(seed)
    last = env.n_jobs_of_log if last is None else min(last, env.n_jobs_of_log)
    if first < 0 or last - first < episode:
        raise ConfigError(f"{last - first} jobs", field="last", expected=f"at least {episode}, an episode")
    order, critic = Order.drawn(rng), _Critic(rng)
    best, steps = Adam(how.rate), Adam(how.rate)
    values = [*order.weights, *order.biases]
    places = rng.integers(first, last - episode + 1, how.probes).tolist()
    probed = sorted((*_play_shortest(env, start, starts), start) for start in places)
    kept = probed[len(probed) // 2 :]
    for update in range(how.updates):
        played: list[list[Decision]] = []
        parts: list[float] = []
        for _ in range(how.episodes):
            slowdown, cost, start = kept[int(rng.integers(len(kept)))]
            seen, mean = _play(env, start, order, rng, starts, max(cost, 1.0))
            played.append(seen)
            parts.append(mean / slowdown)
        best.rate = steps.rate = how.rate * (1 - update / how.updates)
        _improve(order, values, critic, played, how, rng, best, steps)
        if tell is not None:
            tell(update, float(np.mean(parts)))
    return order


class _Critic:
    """What is still to come from a state: one hidden layer."""

    def __init__(self, rng: np.random.Generator) -> None:
        n_in, width = N_STATE, 32
        self.values = [
            rng.standard_normal((n_in, width)) / np.sqrt(n_in),
            np.zeros(width),
            np.zeros(width),
            np.zeros(1),
        ]

    def of(self, states: Floats) -> Floats:
        w, b, out, bias = self.values
        found: Floats = np.tanh(states @ w + b) @ out + bias[0]
        return found

    def slopes(self, states: Floats, error: Floats) -> list[Floats]:
        w, b, out, _ = self.values
        inner = np.tanh(states @ w + b)
        back = error[:, None] * out[None, :] * (1 - inner**2)
        return [states.T @ back, back.sum(axis=0), inner.T @ error, np.array([error.sum()])]


def _play_shortest(env: SchedulingEnv, start: int, starts: _Starts) -> tuple[float, float]:
    """Mean bounded slowdown and cost of an episode in which the shortest limit that fits starts first."""
    shown, info = env.reset(options={"first": start})
    starts.rows.clear()
    over = False
    while not over:
        rows = np.flatnonzero(info["action_mask"][:-1])
        shown, _, over, _, info = env.step(int(rows[shown["jobs"][rows, 1].argmin()]))
    return float(info["mean_bounded_slowdown"]), float(starts.cost_until(np.array([np.inf]))[0])


def _play(
    env: SchedulingEnv, start: int, order: Order, rng: np.random.Generator, starts: _Starts, scale: float
) -> tuple[list[Decision], float]:
    """Play an episode by drawn actions: its decisions with their costs, and its mean bounded slowdown."""
    shown, info = env.reset(options={"first": start})
    starts.rows.clear()
    decisions: list[Decision] = []
    times: list[int] = []
    over = False
    while not over:
        rows = np.flatnonzero(info["action_mask"][:-1])
        chosen = int(rows[0])
        if len(rows) > 1:
            seen = features(shown["jobs"][rows], shown["cluster"])
            p = _softmax(order.scores(seen))
            picked = min(int(np.searchsorted(np.cumsum(p), rng.random())), len(rows) - 1)
            state = state_of(shown, 1 - len(starts.rows) / env.n_jobs_of_episode)
            decisions.append(Decision(seen, picked, float(np.log(p[picked])), state))
            times.append(info["now"])
            chosen = int(rows[picked])
        shown, _, over, _, info = env.step(chosen)
    grown = starts.cost_until(np.array([*times, np.inf]))
    for one, cost in zip(decisions, np.diff(grown).tolist(), strict=True):
        one.reward = -cost / scale
    return decisions, float(info["mean_bounded_slowdown"])


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max())
    found: Floats = raised / raised.sum()
    return found


def _advantages(decisions: list[Decision], worth: Floats, trace: float) -> tuple[Floats, Floats]:
    """Return generalized advantages, and what the critic should have said: nothing is discounted."""
    gained = np.zeros(len(decisions))
    after, next_worth = 0.0, 0.0
    for k in range(len(decisions) - 1, -1, -1):
        after = decisions[k].reward + next_worth - worth[k] + trace * after
        gained[k], next_worth = after, worth[k]
    return gained, gained + worth


def _improve(
    order: Order, values: list[Floats], critic: _Critic, played: list[list[Decision]], how: Learning,
    rng: np.random.Generator, best: Adam, steps: Adam,
) -> None:  # fmt: skip
    """Change network and critic by what was played."""
    decisions = [one for episode in played for one in episode]
    if not decisions:
        return
    states = np.array([one.state for one in decisions])
    gained: list[Floats] = []
    wanted: list[Floats] = []
    for episode in played:
        if episode:
            found = _advantages(episode, critic.of(np.array([one.state for one in episode])), how.trace)
            gained.append(found[0])
            wanted.append(found[1])
    gain, target = np.concatenate(gained), np.concatenate(wanted)
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    for _ in range(how.walks):
        shuffled = rng.permutation(len(decisions))
        for begin in range(0, len(shuffled), how.batch):
            rows = shuffled[begin : begin + how.batch]
            _, slopes = objective(order, [decisions[row] for row in rows.tolist()], gain[rows], how)
            best.step(values, slopes)
            error = critic.of(states[rows]) - target[rows]
            steps.step(critic.values, critic.slopes(states[rows], error / len(rows)))


def objective(order: Order, asked: list[Decision], gain: Floats, how: Learning) -> tuple[float, list[Floats]]:
    """Return minus the clipped objective and entropy over these decisions, and its slopes by weights and biases."""
    lengths = np.array([len(one.seen) for one in asked])
    begins = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    of = np.repeat(np.arange(len(asked)), lengths)
    layers = order.layers(np.concatenate([one.seen for one in asked]))
    scores = layers[-1][:, 0]
    scores = scores - np.maximum.reduceat(scores, begins)[of]
    log_p = scores - np.log(np.add.reduceat(np.exp(scores), begins))[of]
    p = np.exp(log_p)
    chosen = begins + np.array([one.chosen for one in asked])
    ratio = np.exp(log_p[chosen] - np.array([one.log_p for one in asked]))
    clipped = np.clip(ratio, 1 - how.clip, 1 + how.clip)
    entropy = -np.add.reduceat(p * log_p, begins)
    value = -(np.minimum(ratio * gain, clipped * gain) + how.entropy * entropy).mean()
    pull = np.where(ratio * gain > clipped * gain, 0.0, ratio * gain) / len(asked)
    slope = p * pull[of]  # by each score; the chosen one's probability is to rise
    slope[chosen] -= pull
    slope += how.entropy * p * (log_p + entropy[of]) / len(asked)
    return float(value), slopes_of(order, layers, slope[:, None])
