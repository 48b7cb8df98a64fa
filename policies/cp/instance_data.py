"""What an instance is made of: nodes, jobs and reservations as plain values, and what follows from them directly."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass, field

DEFAULT_EWT_S = 1800  # what the authors divide waits by in queues without a figure of their own

Amounts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """`count` nodes of the same `capacity`, amounts in the order of the instance's resources."""

    count: int
    capacity: Amounts


@dataclass(frozen=True, slots=True)
class Job:
    """A job that waits or runs."""

    id: str  # unique in the instance
    q: int  # when it was submitted (q_i, s)
    units: int  # how many units it has (rn_i)
    demand: Amounts  # what one unit needs of each resource (rq_{i,r})
    duration: int  # how long it is expected to run in all (D_i or d_i, s)
    ewt: int = DEFAULT_EWT_S  # the wait that is thought fit for its queue (ewt_i, s)
    # start, nodes: of a running job: when it started and on which node each unit runs. None and () while it waits.
    start: int | None = None
    nodes: tuple[int, ...] = ()
    within: tuple[int, ...] | None = None  # indices of the nodes it may use, sorted; None: all
    per_node: int | None = None  # most units of it on one node; None: as many as fit
    power_w: int = 0  # watts it draws while it runs

    @property
    def running(self) -> bool:
        """True if it has started."""
        return self.start is not None

    @property
    def total(self) -> Amounts:
        """What all its units need together."""
        return tuple(self.units * amount for amount in self.demand)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes on which no waiting job may run during [start, start + duration)."""

    start: int
    duration: int
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class InstanceData:
    """A dispatching problem before it is checked (`problem.Instance` is checked)."""

    now: int  # the instant t of the decision (s)
    resources: tuple[str, ...]  # names of the resources R, the order of all amounts
    groups: tuple[NodeGroup, ...]  # equal nodes side by side; node 0 is the first of the first group
    jobs: tuple[Job, ...]  # running and waiting ones
    reservations: tuple[Reservation, ...] = ()  # times at which nodes are kept free
    power: int | None = None  # watts all running jobs may draw together; None: no limit
    # what makespans are measured from (s): 0 is the papers' equation as printed, the batch's start is the authors' code
    origin: int = field(default=0)

    @cached_property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return sum(group.count for group in self.groups)

    @cached_property
    def capacity(self) -> NDArray[np.int64]:
        """cap_{k,r}: (n_nodes, n_resources) int64."""
        rows = np.array([group.capacity for group in self.groups], np.int64).reshape(len(self.groups), -1)
        return np.repeat(rows, [group.count for group in self.groups], axis=0)

    @cached_property
    def waiting(self) -> tuple[int, ...]:
        """Indices of the waiting jobs."""
        return tuple(i for i, job in enumerate(self.jobs) if not job.running)

    @cached_property
    def running(self) -> tuple[int, ...]:
        """Indices of the running jobs."""
        return tuple(i for i, job in enumerate(self.jobs) if job.running)

    def places(self, job: Job) -> NDArray[np.int64]:
        """Return how many units of `job` an empty node holds: p_{i,k} of EURORA's equation 6, (n_nodes,) int64.

        Corrected: it depends on the node (accelerators), and a resource with no demand does not count.
        """
        return self.units_that_fit(job, self.capacity)

    def units_that_fit(self, job: Job, free: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many units of `job` fit into `free` amounts, (..., n_resources) int64, node by node."""
        most = job.units if job.per_node is None else min(job.units, job.per_node)
        fit = np.full(free.shape[:-1], most, np.int64)
        for r, amount in enumerate(job.demand):
            if amount > 0:
                np.minimum(fit, free[..., r] // amount, out=fit)
        if job.within is not None:
            allowed = np.zeros(free.shape[-2], bool)
            allowed[list(job.within)] = True
            fit[..., ~allowed] = 0
        return np.maximum(fit, 0)
