"""Pools and counting: the independent parts of a cluster, and where units decide everything."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile
from slurmsim.policy.cluster import ClusterView, JobView, RecordView


class Forecast(Protocol):
    """When a job could start, and on which nodes."""

    @property
    def start(self) -> int: ...
    @property
    def nodes(self) -> Bitmap: ...


class Pool(Protocol):
    """Partitions that overlap, directly or through others: jobs and nodes that compete.

    `new` and `gone` tell what came to and left the queue or the nodes since the policy cleared them with `seen`.
    """

    @property
    def name(self) -> str:
        """The names of its partitions, with commas."""

    @property
    def pending(self) -> Sequence[RecordView]:
        """Its part of the queue; the list itself, so copy it before starting jobs while iterating."""

    @property
    def new(self) -> Sequence[RecordView]:
        """Records that arrived since `seen`."""

    @property
    def gone(self) -> Sequence[tuple[JobView, int | None]]:
        """Since `seen`: (job, `expected_end` then) that gave nodes back, (job, None) that left the queue unstarted."""

    def seen(self) -> None:
        """Note that `new` and `gone` were taken in; they are kept from the first such call on."""

    def turns(self, records: Sequence[RecordView]) -> Iterable[RecordView]:
        """Return `records` in the order in which a pass is to take them, one when the one before is decided.

        As they are, unless another policy stands between (`slurmsim_policies.cpu_hours`).
        """

    def fitting(self, units: int) -> list[RecordView]:
        """Return the records of `pending` that need no more than so many units, in order; only while `alike`."""

    @property
    def generation(self) -> Hashable:
        """Changes with every start, end, cancel, edit, node event or new priorities, not with arrivals."""

    @property
    def edits(self) -> Hashable:
        """Changes with node events and updates of jobs or partitions: what is known of a job does not survive them."""

    def fits(self, record: RecordView, within: Bitmap | None = None) -> bool:
        """Return True if the record's job could start now, if need be by preemption."""

    # -- counting

    @property
    def counts(self) -> bool:
        """True if what jobs take here is interchangeable, so that counting units decides everything.

        Every job needs a number of equal nodes, or of equal CPUs, out of the whole pool (`alike`), and there is no
        power budget; otherwise placement must be asked.
        """

    @property
    def alike(self) -> bool:
        """The same, whether there is a power budget or not: then units and watts together decide."""

    @property
    def free_units(self) -> int:
        """Units free now on usable nodes, while `alike`."""

    def releases(self) -> Iterable[tuple[int, int, JobView]]:
        """Return running jobs as (`expected_end`, id, job), earliest first."""

    @property
    def returning(self) -> Callable[[JobView], int]:
        """Units that are usable again when a running job ends: none on nodes that are down or draining."""

    def need_of(self, job: JobView) -> int:
        """Units a job takes in the partition it ran in, or the first it asked for."""

    # -- watts

    def watts_left(self) -> CapacityProfile | None:
        """Return what the power budget leaves from now on, milliwatts, as running jobs are expected to end; a copy.

        None without a budget. Below zero where the budget will fall below what runs.
        """

    def watts_of(self, record: RecordView) -> int:
        """Return what a start of the record's job takes of it, milliwatts, while it is not None."""

    # -- nodes

    def available(self) -> Bitmap:
        """Return usable nodes, busy or not."""

    def busy(self) -> Bitmap:
        """Return usable nodes with at least one job."""

    def closed(self) -> Sequence[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""

    def future(self, record: RecordView, within: Bitmap, *, exact: bool) -> Forecast | None:
        """Earliest start of the record's job on the nodes of `within`, from the expected ends of the running jobs.

        Ends close together count as one, as in Slurm, unless `exact`. None: it fits on no such nodes.
        """


class PoolsView(ClusterView, Protocol):
    """The cluster in its parts."""

    @property
    def pools(self) -> Sequence[Pool]:
        """Independent parts of the cluster."""

    def records(self) -> Sequence[RecordView]:
        """Return every job in each of its partitions, in priority order; a list of its own."""
