"""A simple mix: Poisson submissions with a daily and weekly cycle, lognormal run times, everything Slurm can be asked.

Not a published model but the smallest one that uses what a real cluster's users use: partitions, single CPUs to many
whole nodes, memory, GPUs, exclusive nodes, job arrays with throttles, requested times that are too long (and
sometimes too short), failures and cancels. Jobs of one user's session are alike. Equations: ``docs/generators.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.draws import ESTIMATES, Cycle, Floats, population, sessions, stretch_to_load, time_limits
from slurmsim_workloads.parameters import check, param, parse

EPOCH = 1_704_067_200
"""Second 0: midnight, Monday 2024-01-01 UTC."""
DEFAULT_LOAD = 0.85
MEM_STEP_MIB = 256


@dataclass(frozen=True)
class PartitionMix:
    """A partition's share of sessions and the nodes its jobs are made for."""

    name: str = param("", "partition name; empty: the default partition")
    weight: float = param(1.0, "share of sessions, relative", above=0)
    nodes: int = param(64, "nodes", "nodes", low=1)
    cpus: int = param(32, "CPUs a node", "CPUs", low=1)
    gpus: int = param(0, "GPUs a node", "GPUs", low=0)
    mem: int = param(128_000, "memory a node", "MiB", low=MEM_STEP_MIB)
    hours: float = param(24.0, "longest job", "h", low=0.1)

    def __post_init__(self) -> None:
        check(self)
        if self.gpus > self.cpus:
            raise ConfigError(f"bad value {self.gpus}", field="gpus", expected="at most one GPU a CPU")
        if self.mem < self.cpus * MEM_STEP_MIB:
            raise ConfigError(f"bad value {self.mem}", field="mem", expected=f"at least {MEM_STEP_MIB} MiB a CPU")


def parse_partitions(text: str) -> tuple[PartitionMix, ...]:
    """Partitions from ``batch:nodes=64:weight=0.9,gpu:nodes=8:gpus=4:weight=0.1``.

    Raises
    ------
    ConfigError
        Naming ``partitions`` or the key in it that is wrong.
    """
    made = []
    for part in text.split(","):
        name, *pairs = part.split(":")
        options = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or key == "name":
                raise ConfigError(f"bad part {pair!r}", field="partitions", expected="name:key=value:key=value,name…")
            options[key] = value
        if not name or "=" in name:
            raise ConfigError(f"no partition name in {part!r}", field="partitions", expected="name:key=value,name…")
        try:
            made.append(parse(PartitionMix, {"name": name, **options}))
        except ConfigError as error:
            raise ConfigError(
                error.message, field=f"partitions, {name}: {error.field}", expected=error.expected
            ) from error
    return tuple(made)


@dataclass(frozen=True)
class MixParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, both a load and a rate, or a cluster described twice.
    """

    jobs: int = param(5_000, "jobs to make, counting array tasks", "jobs", low=1)
    nodes: int | None = param(None, "nodes of the one partition; none: 64", "nodes", kind=int, low=1)
    cpus_per_node: int | None = param(None, "CPUs a node of it; none: 32", "CPUs", kind=int, low=1)
    partitions: tuple[PartitionMix, ...] | None = param(
        None,
        "several: NAME:weight=1:nodes=64:cpus=32:gpus=0:mem=128000:hours=24,NAME… (mem in MiB)",
        kind=parse_partitions,
    )
    load: float | None = param(None, "offered load (dominant share of nodes); none: 0.85", kind=float, above=0)
    jobs_per_hour: float | None = param(None, "rate of submissions, in place of a load", "1/h", kind=float, above=0)
    daily_cycle: float = param(0.6, "amplitude of the daily cosine of the rate", low=0, below=1)
    peak_hour: float = param(14.0, "hour of the highest rate", "h", low=0, below=24)
    weekend: float = param(0.5, "rate on Saturday and Sunday over that of the week", above=0)

    users: int = param(40, "users", "users", low=1)
    user_exponent: float = param(1.0, "Zipf exponent of the users' shares of sessions", low=0)
    accounts: int = param(6, "accounts", "accounts", low=1)
    session_length: float = param(4.0, "mean submissions of a session", "submissions", low=1)
    concurrent: int = param(8, "sessions that go on side by side", "sessions", low=1)

    multinode: float = param(0.3, "share of sessions with jobs of several nodes", low=0, high=1)
    largest: float = param(0.25, "largest job over its partition's nodes", above=0, high=1)
    pow2: float = param(0.75, "share of sizes that are powers of two", low=0, high=1)
    threaded: float = param(0.5, "share of single-node sessions that are one task with threads", low=0, high=1)
    gpu_share: float = param(1.0, "share of sessions in partitions with GPUs that ask for them", low=0, high=1)
    exclusive: float = param(0.05, "share of sessions that ask for exclusive nodes", low=0, high=1)
    mem_share: float = param(0.6, "share of sessions that say how much memory", low=0, high=1)
    mem_median: float = param(0.5, "median memory asked for a CPU over an even share of the node", above=0)
    mem_sigma: float = param(0.8, "sigma of its logarithm", low=0)

    median: float = param(1200.0, "median run time", "s", low=1)
    sigma: float = param(1.5, "sigma of ln(run time)", low=0)
    alike: float = param(0.7, "share of the variance of ln(run time) that is between sessions", low=0, high=1)
    estimate: str = param("popular", "requested times: " + ", ".join(ESTIMATES), choices=ESTIMATES)
    overestimate: float = param(3.0, "uniform, popular: requested over run time is U(1, this)", low=1)
    at_max: float = param(0.05, "popular: share of submissions that ask for the longest time", low=0, high=1)
    timeouts: float = param(0.03, "share of jobs that want to run past their limit", low=0, high=1)
    failures: float = param(0.06, "share of jobs that fail (exit code 1) somewhere on the way", low=0, high=1)
    cancels: float = param(0.03, "share of jobs the user cancels", low=0, high=1)
    cancel_after: float = param(3600.0, "mean time from submit to cancel", "s", above=0)

    arrays: float = param(0.1, "share of single-node submissions that are job arrays", low=0, high=1)
    array_length: float = param(12.0, "mean tasks of an array (2 and more, geometric)", "tasks", low=2)
    array_longest: int = param(200, "most tasks of an array", "tasks", low=2, high=1000)
    throttled: float = param(0.3, "share of arrays with a limit (%N) of U(1, half their length)", low=0, high=1)

    def __post_init__(self) -> None:
        check(self)
        if self.load is not None and self.jobs_per_hour is not None:
            raise ConfigError("given together with jobs_per_hour", field="load", expected="one of the two")
        if self.partitions is not None:
            for name in ("nodes", "cpus_per_node"):
                if getattr(self, name) is not None:
                    raise ConfigError("given together with partitions", field=name, expected="one of the two")
            names = [p.name for p in self.partitions]
            if len(set(names)) != len(names) or not names:
                raise ConfigError("no or repeated names", field="partitions", expected="a different name each")
        if self.accounts > self.users:
            raise ConfigError(f"bad value {self.accounts}", field="accounts", expected="at most as many as users")
        if self.failures + self.timeouts > 1:
            raise ConfigError(
                f"failures + timeouts is {self.failures + self.timeouts:g}",
                field="failures",
                expected="at most 1 in all",
            )
        _ = self.cluster  # its own checks

    @property
    def cluster(self) -> tuple[PartitionMix, ...]:
        """The partitions jobs are made for."""
        if self.partitions is not None:
            return self.partitions
        cpus = self.cpus_per_node or 32
        return (PartitionMix(nodes=self.nodes or 64, cpus=cpus, mem=4_000 * cpus),)


@dataclass(slots=True)
class _Sessions:
    """What all jobs of a session ask for; columns with a row a session."""

    partition: npt.NDArray[np.int64]
    multi: npt.NDArray[np.bool_]
    nodes: IntColumn
    tasks: IntColumn
    cpus_per_task: IntColumn
    tasks_per_node: IntColumn
    gpus: IntColumn
    mem_per_node: IntColumn
    mem_per_cpu: IntColumn
    exclusive: npt.NDArray[np.bool_]
    share: Floats
    """Nodes' worth the job takes: nodes times the largest of its shares of a node's CPUs, GPUs and memory."""
    effect: Floats
    """Standard normal that the run times of the session have in common."""


def _log_uniform(rng: np.random.Generator, low: IntColumn, high: IntColumn, pow2: float) -> IntColumn:
    """Integers in [low, high], uniform in the logarithm; with probability `pow2` rounded down to a power of two."""
    value = np.floor(low * ((high + 1) / low) ** rng.random(len(low))).astype(np.int64).clip(low, high)
    powers = np.maximum(1 << np.floor(np.log2(value)).astype(np.int64), low)
    return np.where(rng.random(len(low)) < pow2, powers, value)


def _draw_sessions(rng: np.random.Generator, n: int, p: MixParams) -> _Sessions:
    """The requests of `n` sessions."""
    weights = np.cumsum([part.weight for part in p.cluster])
    which = np.searchsorted(weights, rng.random(n) * weights[-1], side="right").clip(0, len(weights) - 1)

    def of_partition(attribute: str) -> IntColumn:
        return np.array([getattr(part, attribute) for part in p.cluster], np.int64)[which]

    all_nodes, cpus, gpus, mem = (of_partition(name) for name in ("nodes", "cpus", "gpus", "mem"))
    largest = np.floor(all_nodes * p.largest).astype(np.int64)
    multi = (rng.random(n) < p.multinode) & (largest >= 2)
    n_nodes = np.where(multi, _log_uniform(rng, np.full(n, 2), np.maximum(largest, 2), p.pow2), 1)
    some_cpus = np.where(multi, cpus, _log_uniform(rng, np.ones(n, np.int64), cpus, p.pow2))
    with_gpus = (rng.random(n) < p.gpu_share) & (gpus > 0)
    some_gpus = np.where(multi, gpus, _log_uniform(rng, np.ones(n, np.int64), np.maximum(gpus, 1), p.pow2))
    some_gpus = np.where(with_gpus, some_gpus, 0)
    per_gpu = cpus // np.maximum(gpus, 1)
    on_node = np.where(with_gpus, some_gpus * per_gpu, some_cpus)  # CPUs on each node

    threads = (rng.random(n) < p.threaded) & ~multi & ~with_gpus
    per_task = np.where(with_gpus, per_gpu, np.where(threads, on_node, 1))
    tasks_per_node = on_node // per_task
    exclusive = rng.random(n) < p.exclusive
    says_nodes = multi | with_gpus | threads | exclusive

    even = mem / cpus
    wished = even * p.mem_median * np.exp(p.mem_sigma * rng.standard_normal(n))
    most = mem // on_node // MEM_STEP_MIB * MEM_STEP_MIB
    mem_cpu = np.minimum(np.ceil(wished / MEM_STEP_MIB).astype(np.int64) * MEM_STEP_MIB, most)
    says_mem = rng.random(n) < p.mem_share
    by_node = says_mem & threads
    part = np.maximum(on_node / cpus, some_gpus / np.maximum(gpus, 1))
    part = np.maximum(part, np.where(says_mem, mem_cpu * on_node / mem, 0.0))
    return _Sessions(
        partition=which,
        multi=multi,
        nodes=np.where(says_nodes, n_nodes, -1),
        tasks=n_nodes * tasks_per_node,
        cpus_per_task=per_task,
        tasks_per_node=np.where(multi | with_gpus, tasks_per_node, -1),
        gpus=some_gpus,
        # --mem=0 with --exclusive: all there is; memory a CPU would be charged for every CPU of the node
        mem_per_node=np.where(exclusive, 0, np.where(by_node, mem_cpu * on_node, -1)),
        mem_per_cpu=np.where(says_mem & ~by_node & ~exclusive, mem_cpu, -1),
        exclusive=exclusive,
        share=n_nodes * np.where(exclusive, 1.0, part),
        effect=rng.standard_normal(n),
    )


def _array_lengths(rng: np.random.Generator, may: npt.NDArray[np.bool_], p: MixParams) -> IntColumn:
    """Tasks of each submission, 0 for one that is no array."""
    n = len(may)
    longer = rng.geometric(1 / (p.array_length - 1), n) + 1
    return np.where((rng.random(n) < p.arrays) & may, np.minimum(longer, p.array_longest), 0)


def _cycle(p: MixParams) -> Cycle:
    """The week's pattern of submissions, by the hour from Monday."""
    hour = np.arange(7 * 24)
    day = 1 + p.daily_cycle * np.cos(2 * math.pi * (hour % 24 + 0.5 - p.peak_hour) / 24)
    return Cycle(day * np.where(hour >= 5 * 24, p.weekend, 1.0), 3600)


def generate(params: MixParams, seed: int) -> Workload:
    """A workload of the mix.

    Parameters
    ----------
    params
        Parameters.
    seed
        Seed of the one generator used; equal parameters and seed give equal jobs.

    Returns
    -------
    Workload
        ``run_time`` is how long the job would run if nobody stopped it; jobs meant to time out have it above their
        limit. The id of an array is that of its first task.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all arrive at once.
    """
    p, n = params, params.jobs
    rng = np.random.default_rng(seed)
    session = sessions(rng, n, p.session_length, p.concurrent)  # as many submissions as jobs will always do
    asked = _draw_sessions(rng, int(session.max()) + 1, p)
    array = _array_lengths(rng, ~asked.multi[session], p)
    sub = np.repeat(np.arange(n), np.maximum(array, 1))[:n]  # submission of each row
    n_subs = int(sub[-1]) + 1
    session, array = session[:n_subs], array[:n_subs]
    row_session = session[sub]
    first_row = np.searchsorted(sub, np.arange(n_subs))

    # times: what the job needs, what its submission asks for, and what becomes of it
    between, within = math.sqrt(p.alike), math.sqrt(1 - p.alike)
    normal = between * asked.effect[row_session] + within * rng.standard_normal(n)
    longest = np.array([int(part.hours * 3600) for part in p.cluster], np.int64)[asked.partition]
    needs = np.exp(math.log(p.median) + p.sigma * normal)
    run_time = np.clip(np.rint(needs), 1, longest[row_session]).astype(np.int64)
    of_sub = np.maximum.reduceat(run_time, first_row)  # an array's tasks share a limit: the longest decides
    sub_limit = np.empty(n_subs, np.int64)
    for hours in np.unique(longest):
        rows = np.flatnonzero(longest[session] == hours)
        sub_limit[rows] = time_limits(rng, of_sub[rows], p.estimate, p.overestimate, int(hours), p.at_max)
    limit = sub_limit[sub]
    fate = rng.random(n)
    fails, too_long = fate < p.failures, fate >= 1 - p.timeouts
    luck = rng.random(n)
    run_time = np.where(fails, np.maximum(1, np.floor(run_time * luck)).astype(np.int64), run_time)
    run_time = np.where(too_long, limit + 60 + np.floor(limit * luck).astype(np.int64), run_time)
    cancelled = rng.random(n) < p.cancels
    cancel_after = 1 + np.floor(rng.exponential(p.cancel_after, n)).astype(np.int64)

    arrivals = np.cumsum(rng.exponential(3600 / (p.jobs_per_hour or 1.0), n_subs))
    clock, factor = _cycle(p).clock, 1.0
    if p.jobs_per_hour is None:
        held = np.minimum(run_time, limit)
        held = np.where(cancelled, np.minimum(held, cancel_after), held)
        work = float((asked.share[row_session] * held).sum())
        capacity = sum(part.nodes for part in p.cluster)
        factor = stretch_to_load(lambda f: clock(arrivals * f), work, capacity, p.load or DEFAULT_LOAD)
    submit = np.floor(clock(arrivals * factor)).astype(np.int64)[sub]

    user, account = population(rng, session, p.users, p.user_exponent, p.accounts)
    job_id = np.arange(1, n + 1, dtype=np.int64)
    in_array = array[sub] > 0
    throttle = np.where(
        rng.random(n_subs) < p.throttled, 1 + np.floor(rng.random(n_subs) * array / 2).astype(np.int64), -1
    )
    names = ["", "serial", "threads", "mpi", "gpu", "sweep"]
    kind = np.select([asked.gpus > 0, asked.multi, asked.cpus_per_task > 1, asked.tasks > 1], [4, 3, 2, 3], 1)
    most_gpus = max(part.gpus for part in p.cluster)
    return Workload(
        ints={
            "job_id": job_id,
            "submit": submit,
            "run_time": run_time,
            "time_limit": limit,
            "nodes": asked.nodes[row_session],
            "tasks": asked.tasks[row_session],
            "cpus_per_task": asked.cpus_per_task[row_session],
            "tasks_per_node": asked.tasks_per_node[row_session],
            "mem_per_node": asked.mem_per_node[row_session],
            "mem_per_cpu": asked.mem_per_cpu[row_session],
            "exclusive": asked.exclusive[row_session].astype(np.int64),
            "cancel_at": np.where(cancelled, submit + cancel_after, -1),
            "exit_code": fails.astype(np.int64),
            "array_job_id": np.where(in_array, job_id[first_row][sub], -1),
            "array_task_id": np.where(in_array, np.arange(n) - first_row[sub] + 1, -1),
            "array_limit": np.where(in_array, throttle[sub], -1),
        },
        texts={
            "name": TextColumn(np.where(in_array, 5, kind[row_session]).astype(np.int32), names),
            "user": user.take(sub),
            "account": account.take(sub),
            "partition": _partition_column(asked.partition[row_session], p),
            "gres": TextColumn(
                asked.gpus[row_session].astype(np.int32), ["", *(f"gpu:{i}" for i in range(1, most_gpus + 1))]
            ),
        },
        header=WorkloadHeader(
            source=f"mix generator, seed {seed}",
            format="mix",
            epoch=EPOCH,
            max_nodes=sum(part.nodes for part in p.cluster),
            max_procs=sum(part.nodes * part.cpus for part in p.cluster),
        ),
        quality=QualityReport(records=n, jobs=n),
    )


def _partition_column(which: npt.NDArray[np.int64], p: MixParams) -> TextColumn:
    if p.partitions is None:
        return TextColumn.constant(len(which))
    return TextColumn((which + 1).astype(np.int32), ["", *(part.name for part in p.partitions)])
