"""A synthetic partition "regular4" of the supercomputer Lomonosov: jobs in bursts of one user.

No log of it is public. Published are jobs and users a day, utilisation, nodes and the shares of final states; this
model has those, and bursts, which are what CPU-hour limits of users are about. Jobs take whole nodes.

References
----------
"Supercomputer Efficiency: Complex Approach Inspired by Lomonosov-2 History Evaluation" (1,000 jobs and 50 to 70 users a
day, utilisation 92.3 %, 2,000 nodes; table 1: 9.4 % timeouts, 32.3 % failed). Sizes, the law of run times, bursts and
requested times are not in the paper: ``docs/generators.md`` and ``docs/systems/lomonosov.md``.
"""

from __future__ import annotations

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import Floats, round_up, weighted
from slurmsim_workloads.models.names import numbered
from slurmsim_workloads.parameters import check, param

DAY_S, HOUR_S = 86_400, 3_600
SIZES = 2 ** np.arange(10)  # nodes a job may ask for: 1, 2, 4 … 512
BURST_S = 600  # all jobs of a burst come within so many seconds
OVER_S = 3_600  # a job that runs into its limit would have run so much longer
EPOCH = 1_396_224_000  # second 0: midnight, Monday 2014-03-31 UTC; the history the paper looks at begins in that month


@dataclass(frozen=True)
class LomonosovParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, more active users than users, or a load that the longest time makes impossible.
    """

    jobs: int = param(28_000, "jobs to make: four weeks", "jobs", low=1)
    jobs_per_day: float = param(1000.0, "mean arrival rate", "jobs/day", above=0)
    nodes: int = param(2_000, "nodes of the partition", "nodes", low=1)
    cpus_per_node: int = param(8, "CPUs a node", "CPUs", low=1)
    load: float = param(0.923, "offered load", above=0)
    users: int = param(900, "users", "users", low=1)
    active: int = param(60, "users who submit on a day", "users", low=1)
    user_exponent: float = param(1.0, "Zipf exponent of the chance to be active", low=0)
    burst: float = param(6.0, "mean jobs of a burst (geometric): one user's, within 10 min", "jobs", low=1)
    size_exponent: float = param(0.8, "chance of n nodes is proportional to n to minus this", low=0)
    sigma: float = param(1.5, "sigma of ln(run time)", above=0)
    over_low: float = param(1.2, "requested over run time is U(this, over_high)", low=1)
    over_high: float = param(4.0, "requested over run time is U(over_low, this)", low=1)
    longest: int = param(72, "longest time a job may ask for", "h", low=1)
    timeouts: float = param(0.094, "share of jobs that run into their limit", low=0, high=1)
    failures: float = param(0.32, "share of jobs that fail at `failed_at` of their run time", low=0, high=1)
    failed_at: float = param(0.3, "when those fail, of the run time", above=0, high=1)
    accounts: int = param(90, "accounts (projects)", "accounts", low=1)

    def __post_init__(self) -> None:
        check(self)
        if self.active > self.users:
            raise ConfigError(f"bad value {self.active}", field="active", expected="at most as many as users")
        if self.over_low > self.over_high:
            raise ConfigError(f"bad value {self.over_low:g}", field="over_low", expected="at most over_high")
        if self.timeouts + self.failures > 1:
            raise ConfigError(f"bad value {self.failures:g}", field="failures", expected="with timeouts at most 1")


def generate(params: LomonosovParams, seed: int) -> Workload:
    """Return a synthetic log of regular4.

    Bursts of geometric length begin evenly over jobs / jobs_per_day days; the jobs of one are spread evenly over its 10
    minutes. Each day `active` users are drawn without replacement with chances proportional to rank ** -user_exponent;
    each of them gets one of the day's bursts, the others are dealt among them evenly. With z normal and u uniform on
    [0, 1): run time = c * exp(sigma * z), at most `longest`; requested time = run time * (over_low + (over_high -
    over_low) * u), at most `longest`, rounded up to a minute. A share `timeouts` of the jobs runs into that limit, a
    share `failures` ends at `failed_at` of the run time with exit code 1. The constant c makes nodes x time occupied
    over all jobs the share `load` of what the nodes give in that time.

    Returns
    -------
    Workload
        Jobs in order of submission with `nodes`, as many `tasks`, and `exclusive` set.

    Raises
    ------
    ConfigError
        The load cannot be had: jobs of `longest` hours would not make it.
    """
    rng = np.random.default_rng(seed)
    n = params.jobs
    span = n / params.jobs_per_day * DAY_S
    submit, user = _submissions(rng, params, span)
    sizes = SIZES[params.nodes >= SIZES]
    nodes = sizes[weighted(rng, n, sizes**-params.size_exponent)].astype(np.int64)
    shape = np.exp(params.sigma * rng.standard_normal(n))
    over = params.over_low + (params.over_high - params.over_low) * rng.random(n)
    fate = rng.random(n)
    times_out = fate < params.timeouts
    fails = ~times_out & (fate < params.timeouts + params.failures)
    run_time, limit = _times(params, nodes, shape, over, times_out, fails, params.load * params.nodes * span)
    codes = (user % params.accounts).astype(np.int32)
    return Workload(
        ints={
            "job_id": np.arange(1, n + 1, dtype=np.int64),
            "submit": submit,
            "run_time": run_time + np.where(times_out, OVER_S, 0),
            "time_limit": limit,
            "nodes": nodes,
            "tasks": nodes.copy(),
            "exclusive": np.ones(n, np.int64),
            "exit_code": fails.astype(np.int64),
        },
        texts={
            "user": numbered(user, "user", params.users),
            "account": numbered(codes, "acct", params.accounts),
        },
        header=WorkloadHeader(
            source=f"synthetic Lomonosov regular4, seed {seed}", format="lomonosov-regular4", epoch=EPOCH,
            max_nodes=params.nodes, max_procs=params.nodes * params.cpus_per_node,
        ),
        quality=QualityReport(records=n, jobs=n),
    )  # fmt: skip


def _submissions(rng: np.random.Generator, params: LomonosovParams, span: float) -> tuple[IntColumn, IntColumn]:
    """Submit time and user's rank (from 0) of each job, by time."""
    n = params.jobs
    lengths = rng.geometric(1 / params.burst, n)  # more than enough
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), n)) + 1]
    lengths[-1] -= int(lengths.sum()) - n
    begins = np.sort(rng.random(len(lengths)) * max(span - BURST_S, 0))
    owner = np.empty(len(lengths), np.int64)
    chance = np.arange(1, params.users + 1, dtype=np.float64) ** -params.user_exponent
    chance /= chance.sum()
    day = (begins // DAY_S).astype(np.int64)
    for first, last in zip(*_runs(day), strict=True):
        active = rng.choice(params.users, params.active, replace=False, p=chance)
        dealt = np.concatenate([active, rng.choice(active, max(last - first - params.active, 0))])
        owner[first:last] = rng.permutation(dealt[: last - first])
    burst = np.repeat(np.arange(len(lengths)), lengths)
    submit = np.floor(begins[burst] + rng.random(n) * BURST_S).astype(np.int64)
    order = np.argsort(submit, kind="stable")
    return submit[order], owner[burst][order]


def _runs(values: IntColumn) -> tuple[list[int], list[int]]:
    """First and past-the-last index of each run of equal `values`."""
    edges = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return edges.tolist(), [*edges[1:].tolist(), len(values)]


def _times(
    params: LomonosovParams, nodes: IntColumn, shape: Floats, over: Floats, times_out: np.ndarray, fails: np.ndarray,
    work: float,
) -> tuple[IntColumn, IntColumn]:  # fmt: skip
    """Return the run time and limit of each job, seconds; node-seconds sum to `work` but for rounding."""
    longest = params.longest * HOUR_S

    def at(scale: float) -> tuple[IntColumn, IntColumn]:
        run = np.minimum(scale * shape, longest)
        limit = np.minimum(round_up(run * over, 60), longest)
        occupied = np.where(times_out, limit, np.where(fails, run * params.failed_at, run))
        return np.clip(np.rint(occupied), 1, limit).astype(np.int64), limit

    low, high = 0.0, 1.0
    while float(np.dot(nodes, at(high)[0])) < work:
        if (high * shape > longest).all():
            raise ConfigError(f"bad value {params.load:g}", field="load", expected="less, or a longer longest time")
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.dot(nodes, at(middle)[0])) < work else (low, middle)
    return at(high)
