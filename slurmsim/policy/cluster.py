"""The small port: jobs, and a few names of the cluster. Enough for docs/writing-a-policy.md.

All of it is read only and holds during one call of `schedule`. Times are seconds, None where they do not exist (yet);
a set of nodes is a `Bitmap`, bit i for the cluster's node number i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.data_classes import dataclass


class PartitionView(Protocol):
    """A partition.

    Attributes
    ----------
    index
        Its number in slurm.conf, from 0.
    mask
        Its nodes.
    pool
        The number of its pool in `PoolsView.pools`.
    max_time_s
        MaxTime in seconds, None for none.
    """

    @property
    def name(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def mask(self) -> Bitmap: ...
    @property
    def pool(self) -> int: ...
    @property
    def max_time_s(self) -> int | None: ...


class JobView(Protocol):
    """A job.

    Attributes
    ----------
    partition
        The one it runs in, or the first it asked for.
    partitions
        All it asked for.
    end_limit
        Start plus time limit, of a running job: when its nodes are free at the latest.
    time_limit_s
        The limit in force; a job without one counts as one year, as in Slurm.
    expected_s
        Seconds to plan with: the limit, or less where the policy has a predictor that knows better. Of a running job
        that has exceeded its prediction it is corrected upwards, to the limit in the end.
    expected_end
        Start plus that, of a running job: when its nodes are expected to be free.
    asked
        (name, amount) it asks for in the first of its partitions: node, cpu, mem_per_…, gres/….
    n_nodes, n_cpus
        Allocated, or the minimum asked for.
    nodes
        Allocated; 0 while pending.
    queued
        Whether it is in the queue: pending, and nothing but resources keeps it from starting.
    state, reason
        As squeue names them: PENDING, RUNNING or SUSPENDED while it has not ended; why it waits.
    restarts
        How often it was requeued after a start.
    """

    @property
    def id(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def account(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def qos(self) -> str: ...
    @property
    def partition(self) -> PartitionView: ...
    @property
    def partitions(self) -> Sequence[PartitionView]: ...
    @property
    def priority(self) -> int: ...
    @property
    def submit_time(self) -> int: ...
    @property
    def eligible_time(self) -> int | None: ...
    @property
    def start_time(self) -> int | None: ...
    @property
    def end_limit(self) -> int | None: ...
    @property
    def time_limit_s(self) -> int: ...
    @property
    def expected_s(self) -> int: ...
    @property
    def expected_end(self) -> int | None: ...
    @property
    def asked(self) -> Sequence[tuple[str, int]]: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_cpus(self) -> int: ...
    @property
    def nodes(self) -> Bitmap: ...
    @property
    def queued(self) -> bool: ...
    @property
    def restarts(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str: ...


class RecordView(Protocol):
    """A job in one of its partitions, as the queue holds it; it may be started and planned like a job.

    Attributes
    ----------
    priority
        Of the job in this partition.
    need
        The units it takes in a pool that `counts`.
    n_cpus
        The CPUs it will hold, all of a node it has to itself.
    """

    @property
    def job(self) -> JobView: ...
    @property
    def partition(self) -> PartitionView: ...
    @property
    def priority(self) -> int: ...
    @property
    def need(self) -> int: ...
    @property
    def n_cpus(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long a job is expected to run: seconds from its start, of which four of five jobs lie in the interval.

    `low_s` <= `median_s` <= `high_s` <= the limit. Where nothing is known that is 0, `expected_s` and the limit.
    """

    low_s: int
    median_s: int
    high_s: int


class ClusterView(Protocol):
    """The cluster at one instant, always up to date within one call of `schedule`."""

    @property
    def now(self) -> int:
        """The instant."""

    @property
    def pending(self) -> Sequence[JobView]:
        """Jobs that may start, in priority order (priority, submit time, job id)."""

    @property
    def running(self) -> Sequence[JobView]:
        """Running jobs by the end of their time limit, earliest first."""

    @property
    def suspended(self) -> Sequence[JobView]:
        """Suspended jobs by the end of their time limit, earliest first."""

    @property
    def waiting(self) -> Sequence[JobView]:
        """Jobs that may not start yet, by id: held, not begun, or waiting for other jobs (`JobView.reason`)."""

    def dependencies(self, job: JobView) -> Sequence[JobView]:
        """Return the jobs that have not ended and that `job` waits for, by id; not those of --dependency=singleton."""

    def job(self, job_id: int) -> JobView | None:
        """Return the job of that id; None if it has ended or has not come."""

    @property
    def n_cpus(self) -> int:
        """CPUs of the cluster, down ones included."""

    @property
    def n_queued(self) -> int:
        """Jobs in the queue."""

    @property
    def free_nodes(self) -> int:
        """Usable nodes without a job."""

    @property
    def free_cpus(self) -> int:
        """CPUs free on usable nodes."""

    @property
    def generation(self) -> int:
        """Changes with every start, end, cancel, edit or node event, not with arrivals: the key of caches."""

    def fits(self, job: JobView) -> bool:
        """Return True if `job` could start now."""

    def estimate(self, job: JobView) -> Estimate:
        """Return how long `job` is expected to run from its start, as an interval, by the policy's predictor."""

    def earliest_start(self, job: JobView) -> int | None:
        """Return when `job` could start alone, by the expected ends of running jobs; None while nodes are missing."""
