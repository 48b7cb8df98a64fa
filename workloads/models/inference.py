"""Days of inference: services on GPUs have replicas that follow the requests of the day; each replica is a job.

Every service has so many replicas as its demand needs at that moment. A replica is a job from when it is started until
it is stopped, or until the longest time a job may run: then another job takes its place. When a replica will stop
is not known beforehand, so all ask for the longest time.

References
----------
Demand by hour and weekday: S. Jaiswal and others, "SageServe: Optimizing LLM Serving on Cloud Data Centers with
Forecast Aware Auto-Scaling" (arXiv 2502.14617): requests follow working days and are fewer at weekends. Amounts, the
noise and the cosine are ours: ``docs/generators.md``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.workload import IntColumn, QualityReport, Workload, WorkloadHeader
from slurmsim_workloads.models.draws import Floats, weighted
from slurmsim_workloads.models.gpu_nodes import DAY_S, EPOCH, HOUR_S, gpus_of, is_weekend
from slurmsim_workloads.models.names import numbered
from slurmsim_workloads.parameters import MOST_JOBS, check, param

Replicas = npt.NDArray[np.int64]  # (n_services, n_periods): how many each service has in each period


@dataclass(frozen=True)
class InferenceParams:
    """Parameters of `generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, more GPUs a replica than a node has, or more jobs than a log may have.
    """

    days: int = param(1, "days, the first a Monday", "days", low=1, high=3650)
    nodes: int = param(16, "nodes of the cluster", "nodes", low=1)
    cpus_per_node: int = param(96, "CPUs a node", "CPUs", low=1)
    gpus_per_node: int = param(8, "GPUs a node", "GPUs", low=1)
    services: int = param(12, "services", "services", low=1, high=100_000)
    service_exponent: float = param(0.8, "Zipf exponent of the services' shares of GPUs", low=0)
    load: float = param(0.8, "GPUs wanted at the peak of a weekday, over those of the cluster", low=0.001)
    largest: int = param(8, "most GPUs of a replica", "GPUs", low=1)
    trough: float = param(0.3, "demand at the quietest hour over that of the peak", low=0, high=1)
    peak_hour: float = param(14.0, "hour of the highest demand", "h", low=0, below=24)
    weekend: float = param(0.6, "demand on Saturday and Sunday over that of the week", low=0)
    noise: float = param(0.1, "sigma of ln(demand) about its cycle", low=0, high=3)
    period: int = param(300, "time between two looks at the demand", "s", low=1, high=HOUR_S)
    longest: float = param(24.0, "longest time a job may run", "h", low=1)
    accounts: int = param(4, "accounts (teams)", "accounts", low=1)

    def __post_init__(self) -> None:
        check(self)
        if self.largest > self.gpus_per_node:
            raise ConfigError(f"bad value {self.largest}", field="largest", expected=f"at most {self.gpus_per_node}")
        if self.cpus_per_node < self.gpus_per_node:
            raise ConfigError(f"bad value {self.gpus_per_node}", field="gpus_per_node", expected="at most one a CPU")
        if self.services * self.days * (DAY_S // self.period) > MOST_JOBS:
            raise ConfigError(
                f"bad value {self.period}", field="period", expected="more: that many looks take too long"
            )


def cycle(params: InferenceParams, seconds: npt.NDArray[np.int64]) -> Floats:
    """Return the demand at these times over that of a weekday's peak: a cosine of the hour, less at weekends."""
    hours = seconds % DAY_S / HOUR_S
    wave = 0.5 + 0.5 * np.cos(2 * math.pi * (hours - params.peak_hour) / 24)
    found: Floats = params.trough + (1 - params.trough) * wave
    return np.where(is_weekend(seconds), params.weekend * found, found)


def replicas(rng: np.random.Generator, params: InferenceParams, gpus: npt.NDArray[np.int64]) -> Replicas:
    """Return how many replicas each service has in each period.

    A service's GPUs at the peak are its Zipf share of `load` times the cluster's. Its replicas are those over its
    `gpus` a replica, times `cycle` and exp(`noise` * z), rounded up. The normal z is drawn for full hours, and linear
    between them.
    """
    at = np.arange(0, params.days * DAY_S, params.period)
    share = np.arange(1, params.services + 1, dtype=np.float64) ** -params.service_exponent
    peak = params.load * params.nodes * params.gpus_per_node * share / share.sum() / gpus
    drawn = rng.standard_normal((params.services, params.days * 24 + 1))
    hours = np.arange(drawn.shape[1]) * HOUR_S
    noise = np.array([np.interp(at, hours, row) for row in drawn])
    wanted = peak[:, None] * cycle(params, at) * np.exp(params.noise * noise)
    if not wanted.sum() < MOST_JOBS * 10.0:
        raise ConfigError(f"bad value {params.load:g}", field="load", expected="less: that many replicas take too long")
    found: Replicas = np.ceil(wanted).astype(np.int64)
    return found


def generate(params: InferenceParams, seed: int) -> Workload:
    """Return the jobs of all replicas, by time of submission.

    GPUs a replica are a power of two up to `largest`, the same for all replicas of a service, each size as likely. The
    replica that started first is stopped last. A replica lives for whole periods, at most `longest` hours at a stretch.
    After the last day all stop.

    Raises
    ------
    ConfigError
        Where the services want more replicas than a log may have.
    """
    rng = np.random.default_rng(seed)
    sizes = 1 << np.arange(int(math.log2(params.largest)) + 1)
    gpus = sizes[weighted(rng, params.services, np.ones(len(sizes)))]
    service, submit, life = _lives(replicas(rng, params, gpus), params)
    order = np.lexsort((service, submit))
    service, submit, life = service[order], submit[order], life[order]
    n, longest = len(submit), math.floor(params.longest * HOUR_S)
    names = numbered(service, "service", params.services)
    return Workload(
        ints={
            "job_id": np.arange(1, n + 1, dtype=np.int64),
            "submit": submit,
            "run_time": life,
            "time_limit": np.full(n, longest, np.int64),
            "nodes": np.ones(n, np.int64),
            "tasks": np.ones(n, np.int64),
            "cpus_per_task": gpus[service] * (params.cpus_per_node // params.gpus_per_node),
        },
        texts={
            "name": names,
            "gres": gpus_of(gpus[service]),
            "user": names,
            "account": numbered(service % params.accounts, "acct", params.accounts),
        },
        header=WorkloadHeader(
            source=f"inference model, seed {seed}", format="inference", epoch=EPOCH, max_nodes=params.nodes,
            max_procs=params.nodes * params.cpus_per_node,
        ),
        quality=QualityReport(records=n, jobs=n),
    )  # fmt: skip


def _lives(wanted: Replicas, params: InferenceParams) -> tuple[IntColumn, IntColumn, IntColumn]:
    """Return service, start and length in seconds of each job."""
    at_once = max(1, math.floor(params.longest * HOUR_S) // params.period)  # periods a job may live
    services: list[int] = []
    starts: list[int] = []
    lengths: list[int] = []
    for number, row in enumerate(wanted):
        for rank in range(1, int(row.max(initial=0)) + 1):
            edges = np.diff(np.concatenate(([0], (row >= rank).astype(np.int8), [0])))
            for begin, end in zip(
                np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True
            ):
                parts = range(begin, end, at_once)
                starts += parts
                lengths += [min(part + at_once, end) - part for part in parts]
                services += [number] * len(parts)
    periods = np.array([starts, lengths], np.int64).reshape(2, -1) * params.period
    return np.array(services, np.int64), periods[0], periods[1]
