"""A synthetic year of Titan, the machine of Oak Ridge with 18,688 nodes.

The real log (May 2017 to April 2018, 562,079 jobs) is not public; what is published are its means and standard
deviations and the scheduling bins. This generator draws jobs that have those moments, also of the product of nodes
and time, and so the load. Jobs take whole nodes.

References
----------
"Modeling Allocation Utilization Strategies on Supercomputers" (Titan's moments and its queue simulator QSS); bins
and longest wall times are OLCF's published policy. The mixture and its numbers are ours: ``docs/generators.md``.
"""

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import (
    Cycle,
    Floats,
    log_uniform,
    poisson_submits,
    population,
    round_up,
    sessions,
    weighted,
)
from slurmsim_workloads.parameters import check, check_load_or_rate, check_population, param

NODES = 18_688
CPUS_PER_NODE = 16
EPOCH = 1_493_596_800  # second 0: midnight, Monday 2017-05-01 UTC, when the real log began
JOBS_PER_HOUR = 64.16
DAY_FROM, DAY_TO = 9, 18
SHORT_MEAN_H = 0.15


@dataclass(frozen=True, slots=True)
class Bin:
    """A scheduling bin: its share of jobs, node range, exponent of the size law, share of long jobs, longest hours."""

    share: float
    low: int
    high: int
    exponent: float
    long_share: float
    max_hours: int


BINS = (
    Bin(0.0008, 11_250, 18_688, 1.0, 0.08, 24),
    Bin(0.0060, 3_750, 11_249, 1.6, 0.08, 24),
    Bin(0.07049, 313, 3_749, 2.6, 0.4624, 12),
    Bin(0.06, 126, 312, 1.0, 0.90, 6),
    Bin(0.86271, 1, 125, 1.6, 0.1491, 2),
)
QOS = {  # by bin
    1: ("capability", "capability", "capacity", "capacity", "small"),
    2: ("bin1", "bin2", "bin3", "bin4", "bin5"),
}


@dataclass(frozen=True)
class TitanParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, or both a load and a rate.
    """

    jobs: int = param(562_079, "jobs to make", "jobs", low=1)
    jobs_per_hour: float | None = param(None, "mean arrival rate; none: 64.16", "jobs/h", kind=float, above=0)
    load: float | None = param(None, "offered load of 18,688 nodes; none: as the rate gives it", kind=float, above=0)
    day_rate: float = param(1.5, "relative arrival rate from 9 to 18 h", above=0)
    night_rate: float = param(0.67, "relative arrival rate at other hours", above=0)
    overestimate: float = param(3.0, "requested over run time is U(1, this), rounded up to 5 min", low=1)
    users: int = param(600, "users", "users", low=1)
    user_exponent: float = param(1.1, "Zipf exponent of the users' shares of sessions", low=0)
    session_length: float = param(5.0, "mean jobs of a session (one user's run of jobs)", "jobs", low=1)
    concurrent: int = param(1, "sessions that go on side by side", "sessions", low=1)
    accounts: int = param(60, "accounts (projects)", "accounts", low=1)
    qos: int = param(
        0, "1: jobs have a QOS by bin, capability (1, 2), capacity (3, 4) or small (5); 2: bin1 to bin5", low=0, high=2
    )

    def __post_init__(self) -> None:
        check(self)
        check_load_or_rate(self)
        check_population(self)


def generate(params: TitanParams, seed: int) -> Workload:
    """Return a synthetic Titan log.

    With u, v, w, x uniform on [0, 1):

    - bin b with its share;
    - nodes = floor(low * ((high + 1) / low) ** (u ** exponent));
    - hours = v * max_hours with probability long_share, else min(max_hours, an exponential of mean 0.15 h);
    - requested time = min(max_hours, run time * (1 + (overestimate - 1) * x)), rounded up to 5 min.

    Arrivals are Poisson, faster by day than by night, at `jobs_per_hour` on average over a day.

    Returns
    -------
    Workload
        Jobs with `nodes`, as many `tasks`, and `exclusive` set.

    Raises
    ------
    ConfigError
        When a load is asked of jobs that all arrive at once.
    """
    rng = np.random.default_rng(seed)
    n = params.jobs
    which = weighted(rng, n, [b.share for b in BINS])

    def of_bin(attribute: str) -> Floats:
        return np.array([getattr(b, attribute) for b in BINS], np.float64)[which]

    nodes = log_uniform(rng.random(n) ** of_bin("exponent"), of_bin("low"), of_bin("high"))
    longest = of_bin("max_hours") * 3600
    long = rng.random(n) < of_bin("long_share")
    seconds = np.where(long, rng.random(n) * longest, rng.exponential(SHORT_MEAN_H * 3600, n))
    run_time = np.clip(np.rint(seconds), 1, longest).astype(np.int64)
    wished = run_time * (1 + (params.overestimate - 1) * rng.random(n))
    limit = round_up(np.minimum(wished, longest))

    hours = [params.day_rate if DAY_FROM <= h < DAY_TO else params.night_rate for h in range(24)]
    work, rate = float((nodes * run_time).sum()), params.jobs_per_hour or JOBS_PER_HOUR
    submit = poisson_submits(rng, Cycle(hours, 3600), n, rate, load=params.load, work=work, capacity=NODES)

    user, account = population(
        rng,
        sessions(rng, n, params.session_length, params.concurrent),
        params.users,
        params.user_exponent,
        params.accounts,
    )
    qos = _qos(QOS[params.qos], which) if params.qos else TextColumn.constant(n)
    return Workload(
        ints={
            "job_id": np.arange(1, n + 1, dtype=np.int64),
            "submit": submit,
            "run_time": run_time,
            "time_limit": limit,
            "nodes": nodes,
            "tasks": nodes.copy(),
            "exclusive": np.ones(n, np.int64),
        },
        texts={"user": user, "account": account, "qos": qos},
        header=WorkloadHeader(
            source=f"synthetic Titan, seed {seed}",
            format="titan",
            epoch=EPOCH,
            max_nodes=NODES,
            max_procs=NODES * CPUS_PER_NODE,
        ),
        quality=QualityReport(records=n, jobs=n),
    )


def _qos(by_bin: tuple[str, ...], which: npt.NDArray[np.int64]) -> TextColumn:
    names = ["", *dict.fromkeys(by_bin)]
    codes = np.array([names.index(name) for name in by_bin], np.int32)
    return TextColumn(codes[which], names)
