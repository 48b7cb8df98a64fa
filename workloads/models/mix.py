"""A simple mix: Poisson submissions with a daily and weekly cycle, lognormal run times, everything Slurm can be asked.

This is not a published model but the smallest one with all that users of a real cluster use. That is partitions, single
CPUs to many whole nodes, memory, GPUs, exclusive nodes, job arrays with throttles, requested times that are too long
(and sometimes too short), failures and cancels. Jobs of one user's session are alike. Equations:
``docs/generators.md``.
"""

import math

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.workload import IntColumn, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import (
    Cycle,
    Floats,
    log_uniform,
    poisson_submits,
    population,
    sessions,
    time_limits,
    weighted,
)
from slurmsim_workloads.models.mix_params import MEM_STEP_MIB, MixParams

EPOCH = 1_704_067_200  # second 0: midnight, Monday 2024-01-01 UTC
DEFAULT_LOAD = 0.85


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
    share: Floats  # Nodes' worth the job takes: nodes times the largest of its shares of a node's CPUs, GPUs and memory
    effect: Floats  # standard normal that the run times of the session have in common


def _sizes(rng: np.random.Generator, low: IntColumn, high: IntColumn, pow2: float) -> IntColumn:
    """Integers in [low, high], uniform in the logarithm; with probability `pow2` rounded down to a power of two."""
    value = log_uniform(rng.random(len(low)), low, high)
    powers = np.maximum(1 << np.floor(np.log2(value)).astype(np.int64), low)
    return np.where(rng.random(len(low)) < pow2, powers, value)


def _draw_sessions(rng: np.random.Generator, n: int, p: MixParams) -> _Sessions:
    which = weighted(rng, n, [part.weight for part in p.cluster])

    def of_partition(attribute: str) -> IntColumn:
        return np.array([getattr(part, attribute) for part in p.cluster], np.int64)[which]

    all_nodes, cpus, gpus, mem = (of_partition(name) for name in ("nodes", "cpus", "gpus", "mem"))
    largest = np.floor(all_nodes * p.largest).astype(np.int64)
    multi = (rng.random(n) < p.multinode) & (largest >= 2)
    n_nodes = np.where(multi, _sizes(rng, np.full(n, 2), np.maximum(largest, 2), p.pow2), 1)
    some_cpus = np.where(multi, cpus, _sizes(rng, np.ones(n, np.int64), cpus, p.pow2))
    with_gpus = (rng.random(n) < p.gpu_share) & (gpus > 0)
    some_gpus = np.where(multi, gpus, _sizes(rng, np.ones(n, np.int64), np.maximum(gpus, 1), p.pow2))
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


@dataclass(slots=True)
class _Submissions:
    """Who submits what: `session` and `tasks` (0: no array) a submission, the rest a row (job or array task) each."""

    session: npt.NDArray[np.int64]
    tasks: IntColumn
    first_row: IntColumn  # first row of each submission
    of_row: npt.NDArray[np.int64]  # submission of each row

    @property
    def session_of_row(self) -> npt.NDArray[np.int64]:
        return self.session[self.of_row]


def _draw_submissions(rng: np.random.Generator, p: MixParams) -> tuple[_Submissions, _Sessions]:
    """As many submissions as make the jobs asked for, and the sessions they belong to."""
    session = sessions(rng, p.jobs, p.session_length, p.concurrent)  # as many submissions as jobs will always do
    asked = _draw_sessions(rng, int(session.max()) + 1, p)
    tasks = _array_lengths(rng, ~asked.multi[session], p)
    of_row = np.repeat(np.arange(p.jobs), np.maximum(tasks, 1))[: p.jobs]
    n = int(of_row[-1]) + 1
    return _Submissions(session[:n], tasks[:n], np.searchsorted(of_row, np.arange(n)), of_row), asked


@dataclass(slots=True)
class _Times:
    """What each job needs, what its submission asks for, and what becomes of it; a row a job."""

    run_time: IntColumn
    limit: IntColumn
    fails: npt.NDArray[np.bool_]
    cancel_after: IntColumn  # seconds from submit to cancel, -1 for never

    def held(self) -> IntColumn:
        """Return how long each job would hold its nodes if it started at once."""
        held = np.minimum(self.run_time, self.limit)
        return np.where(self.cancel_after >= 0, np.minimum(held, self.cancel_after), held)


def _draw_times(rng: np.random.Generator, p: MixParams, subs: _Submissions, asked: _Sessions) -> _Times:
    """Run times, limits and fates."""
    n = p.jobs
    between, within = math.sqrt(p.alike), math.sqrt(1 - p.alike)
    normal = between * asked.effect[subs.session_of_row] + within * rng.standard_normal(n)
    longest = np.array([int(part.hours * 3600) for part in p.cluster], np.int64)[asked.partition][subs.session]
    needs = np.exp(math.log(p.median) + p.sigma * normal)
    run_time = np.clip(np.rint(needs), 1, longest[subs.of_row]).astype(np.int64)
    of_sub = np.maximum.reduceat(run_time, subs.first_row)  # an array's tasks share a limit: the longest decides
    limit = _draw_limits(rng, p, of_sub, longest)[subs.of_row]
    fate = rng.random(n)
    fails, too_long = fate < p.failures, fate >= 1 - p.timeouts
    luck = rng.random(n)
    run_time = np.where(fails, np.maximum(1, np.floor(run_time * luck)).astype(np.int64), run_time)
    run_time = np.where(too_long, limit + 60 + np.floor(limit * luck).astype(np.int64), run_time)
    cancelled = rng.random(n) < p.cancels
    cancel_after = 1 + np.floor(rng.exponential(p.cancel_after, n)).astype(np.int64)
    return _Times(run_time, limit, fails, np.where(cancelled, cancel_after, -1))


def _draw_limits(rng: np.random.Generator, p: MixParams, run_time: IntColumn, longest: IntColumn) -> IntColumn:
    """Return the requested time of each submission, at most the `longest` of its partition."""
    limit = np.empty(len(run_time), np.int64)
    for most in sorted({int(part.hours * 3600) for part in p.cluster}):
        rows = np.flatnonzero(longest == most)
        limit[rows] = time_limits(rng, run_time[rows], p.estimate, p.overestimate, most, p.at_max)
    return limit


def _cycle(p: MixParams) -> Cycle:
    """Return the week's pattern of submissions, by the hour from Monday."""
    hour = np.arange(7 * 24)
    day = 1 + p.daily_cycle * np.cos(2 * math.pi * (hour % 24 + 0.5 - p.peak_hour) / 24)
    return Cycle(day * np.where(hour >= 5 * 24, p.weekend, 1.0), 3600)


def _draw_submits(
    rng: np.random.Generator, p: MixParams, subs: _Submissions, asked: _Sessions, times: _Times
) -> IntColumn:
    """Submit time of each submission: at the rate asked for, or at that which offers the load."""
    n, load = len(subs.session), None if p.jobs_per_hour is not None else p.load or DEFAULT_LOAD
    work = float((asked.share[subs.session_of_row] * times.held()).sum())
    capacity = sum(part.nodes for part in p.cluster)
    return poisson_submits(rng, _cycle(p), n, p.jobs_per_hour or 1.0, load=load, work=work, capacity=capacity)


def generate(params: MixParams, seed: int) -> Workload:
    """Return a workload of the mix.

    Returns
    -------
    Workload
        ``run_time`` is how long the job would run if it were not stopped; jobs meant to time out have it above their
        limit. The id of an array is that of its first task.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all arrive at once.
    """
    rng = np.random.default_rng(seed)
    subs, asked = _draw_submissions(rng, params)
    times = _draw_times(rng, params, subs, asked)
    submit = _draw_submits(rng, params, subs, asked, times)[subs.of_row]
    user, account = population(rng, subs.session, params.users, params.user_exponent, params.accounts)
    job_id = np.arange(1, params.jobs + 1, dtype=np.int64)
    return Workload(
        ints={
            "job_id": job_id,
            "submit": submit,
            "run_time": times.run_time,
            "time_limit": times.limit,
            "cancel_at": np.where(times.cancel_after >= 0, submit + times.cancel_after, -1),
            "exit_code": times.fails.astype(np.int64),
            **_request_columns(asked, subs.session_of_row),
            **_array_columns(rng, params, subs, job_id),
        },
        texts={
            **_request_texts(asked, subs, params),
            "user": user.take(subs.of_row),
            "account": account.take(subs.of_row),
        },
        header=WorkloadHeader(
            source=f"mix generator, seed {seed}",
            format="mix",
            epoch=EPOCH,
            max_nodes=sum(part.nodes for part in params.cluster),
            max_procs=sum(part.nodes * part.cpus for part in params.cluster),
        ),
        quality=QualityReport(records=params.jobs, jobs=params.jobs),
    )


def _request_columns(asked: _Sessions, session: npt.NDArray[np.int64]) -> dict[str, IntColumn]:
    """Return what each row asks for: what its session does."""
    names = ("nodes", "tasks", "cpus_per_task", "tasks_per_node", "mem_per_node", "mem_per_cpu", "exclusive")
    return {name: getattr(asked, name)[session].astype(np.int64) for name in names}


def _array_columns(
    rng: np.random.Generator, p: MixParams, subs: _Submissions, job_id: IntColumn
) -> dict[str, IntColumn]:
    """Ids, indices and throttles of arrays, -1 elsewhere."""
    n, of_row = len(subs.session), subs.of_row
    throttled = rng.random(n) < p.throttled
    throttle = np.where(throttled, 1 + np.floor(rng.random(n) * subs.tasks / 2).astype(np.int64), -1)
    in_array = subs.tasks[of_row] > 0
    first = subs.first_row[of_row]
    return {
        "array_job_id": np.where(in_array, job_id[first], -1),
        "array_task_id": np.where(in_array, np.arange(p.jobs) - first + 1, -1),
        "array_limit": np.where(in_array, throttle[of_row], -1),
    }


def _request_texts(asked: _Sessions, subs: _Submissions, p: MixParams) -> dict[str, TextColumn]:
    """Name by the kind of job, partition and GRES."""
    session = subs.session_of_row
    kind = np.select([asked.gpus > 0, asked.multi, asked.cpus_per_task > 1, asked.tasks > 1], [4, 3, 2, 3], 1)[session]
    kind = np.where(subs.tasks[subs.of_row] > 0, 5, kind)
    gpus = ["", *(f"gpu:{i}" for i in range(1, max(part.gpus for part in p.cluster) + 1))]
    return {
        "name": TextColumn(kind.astype(np.int32), ["", "serial", "threads", "mpi", "gpu", "sweep"]),
        "partition": _partition_column(asked.partition[session], p),
        "gres": TextColumn(asked.gpus[session].astype(np.int32), gpus),
    }


def _partition_column(which: npt.NDArray[np.int64], p: MixParams) -> TextColumn:
    if p.partitions is None:
        return TextColumn.constant(len(which))
    return TextColumn((which + 1).astype(np.int32), ["", *(part.name for part in p.partitions)])
