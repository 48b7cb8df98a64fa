"""The Lublin–Feitelson model of rigid parallel jobs.

Sizes, run times (depending on size) and arrivals (with a daily cycle) as in the paper; the numbers are those the
authors' own program ships, for jobs of one kind or for separate interactive and batch jobs. Requested times, users
and accounts are not part of the model: those come from `slurmsim_workloads.models.draws`.

References
----------
U. Lublin, D. G. Feitelson: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 1105-1122, 2003. Parameter values: the authors' program
``m_lublin99`` of the Parallel Workloads Archive. Equations and deviations: ``docs/generators.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, fields, replace
from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import ESTIMATES, Cycle, Floats, population, sessions, stretch_to_load, time_limits
from slurmsim_workloads.parameters import check, check_population, param

LN_MAX_RUN_TIME = 12.0  # run times above e^12 s (45 h) are drawn again
LN_MAX_GAP = 13.0  # gaps above e^13 s (5 days) are drawn again
SLOTS = 48
SLOT_S = 1800
FIRST_SLOT = 11
"""The paper's day begins with half-hour slot 11 (05:00-05:30 when slots count from 1) and wraps at midnight."""
EPOCH = 1_704_067_200  # second 0 of a generated log: midnight, Monday 2024-01-01 UTC (the model has no weekly cycle)


@dataclass(frozen=True, slots=True)
class JobKind:
    """The model's numbers for one kind of job.

    `serial`, `pow2`: probabilities of a serial job and of a parallel one rounded to a power of two. `ulow`, `uprob`:
    lower end and weight of the first stage of the two-stage uniform distribution of log2(size). Its upper end is
    log2(machine) - `uhi_below`, its break `umed_below` less. `a1 b1 a2 b2`: shapes and scales of the two gammas of
    ln(run time); `pa pb`: probability of the first, ``pa * size + pb``. `aarr barr`: gamma of ln(gap) in the rush
    hours; `arar`: factor on `aarr` that makes it hold for all hours; `anum bnum`: gamma of the arrivals over the day,
    in half-hour slots.
    """

    name: str
    serial: float
    pow2: float
    ulow: float
    umed_below: float
    uhi_below: float
    uprob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    arar: float
    anum: float
    bnum: float


ALL = JobKind(
    "all", 0.244, 0.576, 0.8, 2.5, 0.0, 0.86,
    4.2, 0.94, 312.0, 0.03, -0.0054, 0.78,
    10.2303, 0.4871, 1.0225, 8.1737, 3.9631,
)  # fmt: skip
BATCH = JobKind(
    "batch", 0.2927, 0.6686, 1.2, 2.0, 0.0, 0.875,
    6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986,
    6.0415, 0.8531, 1.0519, 6.1271, 5.2740,
)  # fmt: skip
INTERACTIVE = JobKind(
    "interactive", 0.1541, 0.625, 1.0, 2.5, 1.5, 0.705,
    3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156,
    6.5510, 0.6621, 0.9797, 8.9186, 3.6680,
)  # fmt: skip


@dataclass(frozen=True)
class LublinParams:
    """Parameters of `generate`; the defaults of the middle block are the published values (`ALL`).

    Raises
    ------
    ConfigError
        For a value outside its bounds, a machine too small for the model, or a published value changed together
        with `job_types`, which has its own.
    """

    jobs: int = param(10_000, "jobs to make", "jobs", low=1)
    nodes: int = param(128, "nodes of the machine", "nodes", low=1)
    cpus_per_node: int = param(1, "processors a node; sizes are processors (tasks)", "CPUs", low=1)
    load: float | None = param(None, "offered load; none: as the model's gaps give it", kind=float, above=0)
    job_types: bool = param(False, "separate batch and interactive jobs (the job name says which)")

    serial: float = param(ALL.serial, "probability of a serial job", low=0, high=1)
    pow2: float = param(ALL.pow2, "probability of a parallel job rounded to a power of two", low=0, high=1)
    ulow: float = param(ALL.ulow, "lower end of log2(size) of parallel jobs", low=0)
    umed_below: float = param(ALL.umed_below, "break of the two stages, below log2(machine)", above=0)
    uprob: float = param(ALL.uprob, "weight of the first stage", low=0, high=1)
    a1: float = param(ALL.a1, "shape of the first gamma of ln(run time)", "ln s", above=0)
    b1: float = param(ALL.b1, "scale of the first gamma of ln(run time)", "ln s", above=0)
    a2: float = param(ALL.a2, "shape of the second gamma of ln(run time)", "ln s", above=0)
    b2: float = param(ALL.b2, "scale of the second gamma of ln(run time)", "ln s", above=0)
    pa: float = param(ALL.pa, "slope of the first gamma's probability over size", "1/processor")
    pb: float = param(ALL.pb, "intercept of the first gamma's probability")
    aarr: float = param(ALL.aarr, "shape of the gamma of ln(gap) in rush hours", "ln s", above=0)
    barr: float = param(ALL.barr, "scale of the gamma of ln(gap)", "ln s", above=0)
    arar: float = param(ALL.arar, "factor on aarr: all hours over rush hours", above=0)
    anum: float = param(ALL.anum, "shape of the gamma of arrivals over the day", "half hours", above=0, high=1e4)
    bnum: float = param(ALL.bnum, "scale of the gamma of arrivals over the day", "half hours", above=0)

    estimate: str = param("exact", "requested times: " + ", ".join(ESTIMATES), choices=ESTIMATES)
    overestimate: float = param(3.0, "uniform, popular: requested over run time is U(1, this)", low=1)
    at_max: float = param(0.15, "popular: share of jobs that ask for the longest time", low=0, high=1)
    users: int = param(60, "users", "users", low=1)
    user_exponent: float = param(1.1, "Zipf exponent of the users' shares of sessions", low=0)
    session_length: float = param(5.0, "mean jobs of a session (one user's run of jobs)", "jobs", low=1)
    concurrent: int = param(8, "sessions that go on side by side", "sessions", low=1)
    accounts: int = param(6, "accounts", "accounts", low=1)

    def __post_init__(self) -> None:
        check(self)
        smallest = 16 if self.job_types else 4
        if self.machine < smallest:
            raise ConfigError(
                f"a machine of {self.machine} processors is too small for the model",
                field="nodes",
                expected=f"nodes * cpus_per_node of at least {smallest}",
            )
        if self.serial + self.pow2 > 1:
            raise ConfigError(
                f"serial + pow2 is {self.serial + self.pow2:g}", field="pow2", expected="at most 1 in all"
            )
        if self.ulow + 0.7 > math.log2(self.machine):
            raise ConfigError(
                f"bad value {self.ulow!r}", field="ulow", expected=f"at most log2({self.machine}) - 0.7, the machine's"
            )
        if self.job_types:
            for name in _TYPELESS:
                if getattr(self, name) != getattr(ALL, name):
                    raise ConfigError("has no effect with job_types", field=name, expected="job_types=no")
        check_population(self)

    @property
    def machine(self) -> int:
        return self.nodes * self.cpus_per_node

    @property
    def kinds(self) -> tuple[JobKind, ...]:
        """The kinds of job to make: one, or batch and interactive."""
        if self.job_types:
            return (BATCH, INTERACTIVE)
        return (replace(ALL, **{name: getattr(self, name) for name in _TYPELESS}),)


_TYPELESS = tuple(f.name for f in fields(JobKind) if f.name not in ("name", "uhi_below"))


def gamma_cdf(x: npt.ArrayLike, shape: float, scale: float) -> Floats:
    """Distribution function of the gamma distribution.

    Notes
    -----
    The power series of the incomplete gamma function (Abramowitz and Stegun 6.5.29). Its terms are positive, so
    nothing cancels; they are made from their logarithms, so nothing overflows. Beyond ten standard deviations and 40
    the function is 1 to double precision.
    """
    z = np.minimum(np.asarray(x, np.float64) / scale, shape + 40 + 10 * math.sqrt(shape))
    n_terms = int(z.max() + 12 * math.sqrt(z.max()) + 60)
    log_factorials = math.lgamma(shape + 1) + np.cumsum(np.log(shape + np.arange(1.0, n_terms)))
    log_factorials = np.concatenate(([math.lgamma(shape + 1)], log_factorials))
    powers = shape + np.arange(n_terms)

    def one(point: float) -> float:
        return float(np.exp(powers * math.log(point) - point - log_factorials).sum()) if point > 0 else 0.0

    return np.array([one(float(point)) for point in z.ravel()]).reshape(z.shape)


def day_weights(kind: JobKind) -> Floats:
    """Share of a day's arrivals in each half hour of the clock, from midnight; shape (48,), sum 1.

    Slot i (1 … 48) is half an hour that ends i/2 hours after midnight. The gamma's mass between i - ½ and i + ½ goes
    to slot i, for i from `FIRST_SLOT` on; those past 48 are the early hours of the day and wrap.
    """
    i = np.arange(FIRST_SLOT, FIRST_SLOT + SLOTS)
    mass = gamma_cdf(i + 0.5, kind.anum, kind.bnum) - gamma_cdf(i - 0.5, kind.anum, kind.bnum)
    weights = np.empty(SLOTS)
    weights[(i - 1) % SLOTS] = mass
    if not np.all(weights > 0):
        raise ConfigError("leaves hours of the day without any arrivals", field="anum", expected="a wider gamma")
    found: Floats = weights / weights.sum()
    return found


def _redraw(draw: Callable[[npt.NDArray[np.int64]], Floats], n: int, most: float, field: str) -> Floats:
    """Return `n` values of `draw`, which takes the rows to draw for, each drawn again until it is at most `most`."""
    values = np.full(n, np.inf)
    for _ in range(1000):
        rows = np.flatnonzero(values > most)
        if not len(rows):
            return values
        values[rows] = draw(rows)
    raise ConfigError(f"nearly every draw is above e^{most:g} s", field=field, expected="a smaller shape or scale")


def sizes(rng: np.random.Generator, n: int, kind: JobKind, machine: int) -> IntColumn:
    """Processors of `n` jobs: serial, a power of two, or any, from the two-stage uniform of log2(size)."""
    uhi = math.log2(machine) - kind.uhi_below
    umed = max(uhi - kind.umed_below, kind.ulow + 0.7)
    which = rng.random(n)
    first = rng.random(n) < kind.uprob
    u = rng.random(n)
    log2 = np.where(first, kind.ulow + u * (umed - kind.ulow), umed + u * (uhi - umed))
    to_pow2 = which < kind.serial + kind.pow2
    log2 = np.where(to_pow2, np.floor(log2 + 0.5), log2)
    size = np.floor(2.0**log2 + 0.5).astype(np.int64)
    size = np.minimum(size, np.where(to_pow2, 1 << (machine.bit_length() - 1), machine))
    return np.where(which < kind.serial, 1, size)


def run_times(rng: np.random.Generator, size: IntColumn, kind: JobKind) -> IntColumn:
    """Return run times, seconds (>= 1): e to the hyper-gamma; its mixing probability depends linearly on size."""
    p = np.clip(kind.pa * size + kind.pb, 0.0, 1.0)

    def draw(rows: npt.NDArray[np.int64]) -> Floats:
        first = rng.random(len(rows)) <= p[rows]
        return rng.standard_gamma(np.where(first, kind.a1, kind.a2)) * np.where(first, kind.b1, kind.b2)

    return np.exp(_redraw(draw, len(size), LN_MAX_RUN_TIME, "a1")).astype(np.int64)


def operational_arrivals(rng: np.random.Generator, n: int, kind: JobKind) -> Floats:
    """Arrival times of `n` jobs in operational seconds (before the daily cycle): sums of e^gamma gaps."""

    def draw(rows: npt.NDArray[np.int64]) -> Floats:
        return rng.gamma(kind.aarr * kind.arar, kind.barr, len(rows))

    return np.cumsum(np.exp(_redraw(draw, n, LN_MAX_GAP, "aarr")))


def generate(params: LublinParams, seed: int) -> Workload:
    """Return a workload of the Lublin–Feitelson model.

    Returns
    -------
    Workload
        `tasks` is the size in processors, one CPU a task, with no wish for nodes. The name is ``all``, ``batch`` or
        ``interactive``.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all arrive at once, or parameters make every draw fall outside the limits.
    """
    rng = np.random.default_rng(seed)
    kinds = params.kinds
    clocks = [Cycle(day_weights(kind), SLOT_S).clock for kind in kinds]
    arrivals = np.concatenate([operational_arrivals(rng, params.jobs, kind) for kind in kinds])
    kind_of = np.repeat(np.arange(len(kinds)), params.jobs)

    def submit_at(factor: float) -> Floats:
        stretched = arrivals * factor
        return np.select([kind_of == k for k in range(len(kinds))], [clock(stretched) for clock in clocks])

    # whichever kind comes first is next, as in the paper: keep the first `jobs` of the merged streams
    first = np.argsort(submit_at(1.0), kind="stable")[: params.jobs]
    arrivals, kind_of = arrivals[first], kind_of[first]
    size = np.empty(params.jobs, np.int64)
    run_time = np.empty(params.jobs, np.int64)
    for k, kind in enumerate(kinds):
        mine = kind_of == k
        size[mine] = sizes(rng, int(mine.sum()), kind, params.machine)
        run_time[mine] = run_times(rng, size[mine], kind)

    factor = 1.0
    if params.load is not None:
        factor = stretch_to_load(submit_at, float((size * run_time).sum()), params.machine, params.load)
    submit = np.floor(submit_at(factor)).astype(np.int64)

    order = np.argsort(submit, kind="stable")
    user, account = population(
        rng,
        sessions(rng, params.jobs, params.session_length, params.concurrent),
        params.users,
        params.user_exponent,
        params.accounts,
    )
    run_time = run_time[order]
    longest = int(math.exp(LN_MAX_RUN_TIME))
    limit = time_limits(rng, run_time, params.estimate, params.overestimate, longest, params.at_max)
    return Workload(
        ints={
            "job_id": np.arange(1, params.jobs + 1, dtype=np.int64),
            "submit": submit[order],
            "run_time": run_time,
            "time_limit": limit,
            "tasks": size[order],
        },
        texts={
            "name": TextColumn((kind_of[order] + 1).astype(np.int32), ["", *(kind.name for kind in kinds)]),
            "user": user,
            "account": account,
        },
        header=WorkloadHeader(
            source=f"Lublin-Feitelson 2003 model, seed {seed}",
            format="lublin",
            epoch=EPOCH,
            max_nodes=params.nodes,
            max_procs=params.machine,
        ),
        quality=QualityReport(records=params.jobs, jobs=params.jobs),
    )
