"""Days of interactive work: users come in sessions during working hours and submit one short job after the other.

A session is one user's. Its next job comes a while after the one before has ended, on a machine without waits; with
``--feedback`` it comes a while after the real end.

References
----------
Sizes and run times: the interactive jobs of U. Lublin, D. G. Feitelson (2003), see `slurmsim_workloads.models.lublin`.
Sessions with breaks of at most 20 minutes: J. Zilber, O. Amit, D. Talby, "What is worth learning from parallel
workloads? A user and session based analysis", ICS 2005. Hours and numbers of sessions are ours: ``docs/generators.md``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import Floats, round_up, zipf
from slurmsim_workloads.models.gpu_nodes import DAY_S, EPOCH, HOUR_S, gpus_of
from slurmsim_workloads.models.lublin import INTERACTIVE, run_times, sizes
from slurmsim_workloads.models.names import numbered
from slurmsim_workloads.parameters import MOST_JOBS, check, check_population, param

BREAK_S = 20 * 60  # a longer one ends a session
MOST_DRAWN = 4 * MOST_JOBS


@dataclass(frozen=True)
class InteractiveParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, a day that closes before it opens, or a cluster too small for the model.
    """

    jobs: int = param(5_000, "jobs to make", "jobs", low=1)
    nodes: int = param(16, "nodes of the cluster", "nodes", low=1)
    cpus_per_node: int = param(32, "CPUs a node", "CPUs", low=1)
    gpus_per_node: int = param(0, "GPUs a node", "GPUs", low=0)
    gpu_share: float = param(0.3, "share of sessions with a GPU for each job, if nodes have any", low=0, high=1)
    users: int = param(40, "users", "users", low=1)
    user_exponent: float = param(0.5, "Zipf exponent of the users' shares of sessions", low=0)
    accounts: int = param(6, "accounts", "accounts", low=1)
    sessions: float = param(60.0, "mean sessions of a working day", "1/day", low=0.1, high=1e6)
    session_length: float = param(8.0, "mean jobs of a session (geometric)", "jobs", low=1, high=10_000)
    opens: float = param(9.0, "hour at which working hours begin", "h", low=0, below=24)
    closes: float = param(18.0, "hour at which they end", "h", above=0, high=24)
    outside: float = param(0.1, "share of sessions at any other hour, or at weekends", low=0, high=1)
    think: float = param(
        180.0, "mean time between a job's end and the next one (exponential, at most 20 min)", "s", above=0
    )
    longest: float = param(4.0, "longest job", "h", above=0, high=45)
    overestimate: float = param(4.0, "requested over run time, rounded up to 5 min, at most longest", low=1)

    def __post_init__(self) -> None:
        check(self)
        check_population(self)
        if self.closes <= self.opens:
            raise ConfigError(f"bad value {self.closes:g}", field="closes", expected="an hour after opens")
        if self.nodes * self.cpus_per_node < 16:
            raise ConfigError(f"bad value {self.nodes}", field="nodes", expected="nodes * cpus_per_node of at least 16")
        if self.gpus_per_node > self.cpus_per_node:
            raise ConfigError(f"bad value {self.gpus_per_node}", field="gpus_per_node", expected="at most one a CPU")


def generate(params: InteractiveParams, seed: int) -> Workload:
    """Return the first `jobs` jobs of all sessions, by time of submission.

    Sessions are Poisson by day. One begins evenly in the working hours of a weekday, or with probability `outside` at
    any time of the week. Jobs with a GPU take one task on one node.

    Raises
    ------
    ConfigError
        For weeks with more than `MOST_DRAWN` jobs.
    """
    rng = np.random.default_rng(seed)
    begin, session = _sessions(rng, params)
    every = len(session)
    with_gpu = (rng.random(len(begin)) < params.gpu_share)[session] & (params.gpus_per_node > 0)
    size = np.where(with_gpu, 1, sizes(rng, every, INTERACTIVE, params.nodes * params.cpus_per_node))
    run_time = np.clip(run_times(rng, size, INTERACTIVE), 1, math.ceil(params.longest * HOUR_S))
    think = np.minimum(rng.exponential(params.think, every), BREAK_S).astype(np.int64)
    submit, first = _one_after_the_other(begin, session, run_time, think)
    user = zipf(rng, len(begin), params.users, params.user_exponent)[session]

    kept = np.argsort(submit, kind="stable")[: params.jobs]
    number = np.full(every + 1, -1, np.int64)  # by row; the last: no job
    number[kept] = np.arange(1, len(kept) + 1)
    before = number[np.where(first, every, np.arange(every) - 1)][kept]
    n = len(kept)
    longest = math.ceil(params.longest * HOUR_S)
    limit = np.maximum(
        np.minimum(round_up(run_time[kept].astype(np.float64) * params.overestimate), longest), run_time[kept]
    )
    return Workload(
        ints={
            "job_id": np.arange(1, n + 1, dtype=np.int64),
            "submit": submit[kept],
            "run_time": run_time[kept],
            "time_limit": limit,
            "tasks": size[kept],
            "nodes": np.where(with_gpu[kept], 1, -1),
            "depends_on": before,
            "think_after": np.where(before > 0, np.append(0, think[:-1])[kept], -1),
        },
        texts={
            "name": TextColumn(np.where(with_gpu[kept], 2, 1).astype(np.int32), ["", "interactive", "notebook"]),
            "gres": gpus_of(with_gpu[kept].astype(np.int64)),
            "user": numbered(user[kept], "user", params.users),
            "account": numbered(user[kept] % params.accounts, "acct", params.accounts),
        },
        header=WorkloadHeader(
            source=f"interactive model, seed {seed}", format="interactive", epoch=EPOCH, max_nodes=params.nodes,
            max_procs=params.nodes * params.cpus_per_node,
        ),
        quality=QualityReport(records=n, jobs=n),
    )  # fmt: skip


def _sessions(rng: np.random.Generator, params: InteractiveParams) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return when each session begins, seconds ascending, and the session of each job: at least `jobs` of these.

    The first half of the weeks drawn has that many already, so no kept job is later than one of a session left out.
    """
    per_week = params.sessions * 5
    weeks = math.ceil(params.jobs / (per_week * params.session_length)) + 1
    if 2 * weeks * per_week * params.session_length > MOST_DRAWN:
        raise ConfigError(f"bad value {params.sessions:g}", field="sessions", expected="fewer, or shorter ones")
    begins: list[Floats] = []
    lengths: list[npt.NDArray[np.int64]] = []
    jobs = 0
    while jobs < params.jobs:
        jobs = sum(int(found.sum()) for found in lengths)
        count = int(rng.poisson(per_week * weeks))
        begins.append(np.sort(_begin_times(rng, count, weeks, params)) + len(begins) * weeks * 7 * DAY_S)
        lengths.append(rng.geometric(1 / params.session_length, count))
    begin, length = np.concatenate(begins), np.concatenate(lengths)
    return begin, np.repeat(np.arange(len(begin)), length)


def _begin_times(rng: np.random.Generator, n: int, weeks: int, params: InteractiveParams) -> Floats:
    """Return when `n` sessions of so many weeks begin."""
    inside = rng.integers(weeks, size=n) * 7 + rng.integers(5, size=n)
    hours = params.opens + (params.closes - params.opens) * rng.random(n)
    found: Floats = np.where(
        rng.random(n) < params.outside, rng.random(n) * weeks * 7 * DAY_S, inside * DAY_S + hours * HOUR_S
    )
    return found


def _one_after_the_other(
    begin: Floats, session: npt.NDArray[np.int64], run_time: IntColumn, think: IntColumn
) -> tuple[IntColumn, npt.NDArray[np.bool_]]:
    """Return when each job is submitted where none waits, and which are the first of their sessions."""
    first = np.append(True, session[1:] != session[:-1])
    after = np.append(0, np.cumsum(run_time + think)[:-1])  # as if all sessions were one
    at_first = after[first][np.cumsum(first) - 1]
    return np.floor(begin[session]).astype(np.int64) + after - at_first, first
