"""LLM training on a cluster of GPU nodes: gangs of whole nodes that run for days, and short evaluations beside them.

A training is a gang: it needs all of its nodes at once and stops when one of them fails. The failures and checkpoints
themselves belong to the run (``--mtbf``, ``--mttr``, ``--checkpoint``); this model has the closed formula of what they
cost, and time limits that leave room for it.

References
----------
J. T. Daly: "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
Systems 22(3), 303-312, 2006, equation 13. J. W. Young: "A first order approximation to the optimum checkpoint
interval", Communications of the ACM 17(9), 530-531, 1974. Failures of nodes: "The Llama 3 Herd of Models" (arXiv
2407.21783, section 3.3.4), 419 unexpected interruptions of 2,048 nodes in 54 days. That evaluations are most of the
jobs and trainings most of the GPU time: Q. Hu and others, "Characterization of Large Language Model Development in the
Datacenter", NSDI 2024. Sizes and times are ours: ``docs/generators.md``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import Cycle, poisson_submits, population, round_up, sessions
from slurmsim_workloads.models.gpu_nodes import EPOCH, HOUR_S, gpus_of, lognormal_times
from slurmsim_workloads.parameters import check, check_load_or_rate, check_population, param

DEFAULT_LOAD = 0.85
KINDS = ("", "training", "evaluation")
MOST_LIMIT_S = 10 * 365 * 24 * HOUR_S  # expected times beyond are a mistake


@dataclass(frozen=True)
class LlmTrainingParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, both a load and a rate, or gangs that are larger than the cluster.
    """

    jobs: int = param(500, "jobs to make", "jobs", low=1)
    nodes: int = param(128, "nodes of the cluster", "nodes", low=1)
    cpus_per_node: int = param(96, "CPUs a node", "CPUs", low=1)
    gpus_per_node: int = param(8, "GPUs a node", "GPUs", low=1)
    load: float | None = param(None, "offered load of nodes, without failures; none: 0.85", kind=float, above=0)
    jobs_per_hour: float | None = param(None, "rate of submissions, in place of a load", "1/h", kind=float, above=0)
    evaluations: float = param(0.9, "share of jobs that are evaluations: minutes on one GPU", low=0, high=1)
    smallest: int = param(2, "nodes of the smallest training", "nodes", low=1)
    largest: float = param(0.5, "largest training over the cluster's nodes", above=0, high=1)
    median: float = param(24.0, "median work of a training", "h", above=0)
    sigma: float = param(1.2, "sigma of ln(work) of trainings", low=0)
    longest: float = param(336.0, "longest work of a training", "h", above=0)
    evaluation_median: float = param(4.0, "median time of an evaluation", "min", above=0)
    mtbf: float = param(6335.0, "mean time between failures of a node, which limits leave room for", "h", above=0)
    interval: float | None = param(
        None, "work between checkpoints; none: Young's for the largest training", "s", kind=float, low=1
    )
    write: int = param(60, "time to write a checkpoint", "s", low=0)
    restart: int = param(300, "time to go on from a checkpoint", "s", low=0)
    slack: float = param(1.5, "limit over the expected time of a training", low=1)
    users: int = param(12, "users", "users", low=1)
    user_exponent: float = param(1.0, "Zipf exponent of the users' shares of sessions", low=0)
    accounts: int = param(4, "accounts (teams)", "accounts", low=1)

    def __post_init__(self) -> None:
        check(self)
        check_load_or_rate(self)
        check_population(self)
        if self.smallest > self.most_nodes:
            raise ConfigError(
                f"bad value {self.smallest}", field="smallest", expected=f"at most the largest, {self.most_nodes} nodes"
            )
        if self.cpus_per_node < self.gpus_per_node:
            raise ConfigError(f"bad value {self.gpus_per_node}", field="gpus_per_node", expected="at most one a CPU")

    @property
    def most_nodes(self) -> int:
        """Nodes of the largest training."""
        return max(1, math.floor(self.nodes * self.largest))

    @property
    def saving(self) -> Saving:
        """How trainings save their work."""
        every = self.interval
        if every is None:
            every = young_interval_s(self.mtbf * HOUR_S / self.most_nodes, self.write)
        return Saving(max(1, round(every)), self.write, self.restart)


@dataclass(frozen=True, slots=True)
class Saving:
    """Work between checkpoints, and what writing one and going on from one cost, all in seconds."""

    interval_s: int
    write_s: int
    restart_s: int

    @property
    def option(self) -> str:
        """The value of ``--checkpoint`` that says the same."""
        return f"{self.interval_s}:{self.write_s}:{self.restart_s}"


def young_interval_s(mtbf_s: float, write_s: float) -> float:
    """Return Young's optimum of the work between checkpoints: sqrt(2 * write * MTBF of the gang)."""
    return math.sqrt(2 * write_s * mtbf_s)


def expected_time_s(work_s: int, nodes: int, mtbf_s: float, saving: Saving) -> float:
    """Return how long a gang of `nodes` runs for `work_s` of work, repairs and waits left out.

    Parameters
    ----------
    mtbf_s
        Of one node; the gang's is that over `nodes`, for failures are exponential and independent.

    Notes
    -----
    Daly's equation 13, M exp(R/M) (exp((t + d)/M) - 1) for each interval t of work and write d. Two terms are exact
    here that the equation leaves out: until the first checkpoint there is nothing to read, so no restart R, and the
    last interval is shorter and writes nothing.
    """
    mean = mtbf_s / nodes
    whole = max(0, work_s - 1) // saving.interval_s
    rest = work_s - whole * saving.interval_s
    if not whole:
        return mean * math.expm1(rest / mean)
    segment = mean * math.expm1((saving.interval_s + saving.write_s) / mean)
    again = math.exp(saving.restart_s / mean)
    return segment + again * ((whole - 1) * segment + mean * math.expm1(rest / mean))


def generate(params: LlmTrainingParams, seed: int) -> Workload:
    """Return a log of trainings and evaluations, by time of submission.

    A job is an evaluation with probability `evaluations`. Trainings take whole nodes with all of their GPUs: a power
    of two from `smallest` to `largest` of the cluster, each as likely. Work is lognormal, of trainings at most
    `longest`. A training's limit is `slack` times its expected time under failures, rounded up to an hour; an
    evaluation's is twice its time, at least an hour. Submissions are Poisson.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all come at once, or no training ends under its failures.
    """
    rng = np.random.default_rng(seed)
    n = params.jobs
    trains = rng.random(n) >= params.evaluations
    nodes = np.where(trains, _gangs(rng, n, params), 1)
    long = lognormal_times(rng, n, params.median * HOUR_S, params.sigma, params.longest * HOUR_S)
    short = lognormal_times(rng, n, params.evaluation_median * 60, 1.0, 12 * HOUR_S)
    run_time = np.where(trains, long, short)
    gpus = np.where(trains, params.gpus_per_node, 1)
    share = np.where(trains, 1.0, 1 / params.gpus_per_node)
    load = DEFAULT_LOAD if params.load is None and params.jobs_per_hour is None else params.load
    submit = poisson_submits(
        rng, Cycle([1.0], HOUR_S), n, params.jobs_per_hour or 1.0,
        load=load if n > 1 else None, work=float(np.dot(nodes * share, run_time)), capacity=params.nodes,
    )  # fmt: skip
    user, account = population(rng, sessions(rng, n, 4.0, 4), params.users, params.user_exponent, params.accounts)
    per_gpu = params.cpus_per_node // params.gpus_per_node
    return Workload(
        ints={
            "job_id": np.arange(1, n + 1, dtype=np.int64),
            "submit": submit,
            "run_time": run_time,
            "time_limit": _limits(run_time, nodes, trains, params),
            "nodes": nodes,
            "tasks": nodes * gpus,
            "tasks_per_node": gpus.astype(np.int64),
            "cpus_per_task": np.full(n, per_gpu, np.int64),
            "exclusive": trains.astype(np.int64),
        },
        texts={
            "name": TextColumn(np.where(trains, 1, 2).astype(np.int32), list(KINDS)),
            "gres": gpus_of(gpus),
            "user": user,
            "account": account,
        },
        header=WorkloadHeader(
            source=f"LLM training model, seed {seed}", format="llm-training", epoch=EPOCH, max_nodes=params.nodes,
            max_procs=params.nodes * params.cpus_per_node,
            fields={"Failures": f"--mtbf {round(params.mtbf * HOUR_S)} --checkpoint {params.saving.option}"},
        ),
        quality=QualityReport(records=n, jobs=n),
    )  # fmt: skip


def _gangs(rng: np.random.Generator, n: int, params: LlmTrainingParams) -> IntColumn:
    """Powers of two from `smallest` to the largest; where there is none between them, the largest."""
    low, high = math.ceil(math.log2(params.smallest)), math.floor(math.log2(params.most_nodes))
    if high < low:
        return np.full(n, params.most_nodes, np.int64)
    return 1 << rng.integers(low, high + 1, n)


def _limits(
    run_time: IntColumn, nodes: IntColumn, trains: npt.NDArray[np.bool_], params: LlmTrainingParams
) -> IntColumn:
    """Return the limits: of trainings by the expected time, of evaluations an hour or twice the time."""
    limits = np.maximum(round_up(2 * run_time.astype(np.float64), HOUR_S // 2), HOUR_S)
    mtbf_s, saving = params.mtbf * HOUR_S, params.saving
    pairs = zip(run_time[trains].tolist(), nodes[trains].tolist(), strict=True)
    try:
        expected = np.array([expected_time_s(work, size, mtbf_s, saving) for work, size in pairs])
    except OverflowError:
        expected = np.full(1, np.inf)
    if not expected.max(initial=0) * params.slack <= MOST_LIMIT_S:
        raise ConfigError(f"bad value {params.mtbf:g}", field="mtbf", expected="more: trainings would take years")
    limits[trains] = round_up(expected * params.slack, HOUR_S)
    return limits
