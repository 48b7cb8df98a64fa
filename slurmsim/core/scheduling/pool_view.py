"""What a policy sees of one pool: partitions that share nodes with each other and with no other partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.capacity import CapacityProfile
from slurmsim.core.placement.selector import Forecast
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record

if TYPE_CHECKING:
    from slurmsim.core.scheduling.may_start import StartTest
    from slurmsim.core.state.controller_state import ControllerState

_CPUS, _NODES = attrgetter("n_cpus"), attrgetter("n_nodes")


class PoolView:
    """One pool as policies see it (slurmsim.policy.Pool).

    `pending`: records in order; the list itself, so copy before starting jobs while iterating.
    """

    __slots__ = (
        "_queue",
        "_requests_seen",
        "_test",
        "index",
        "mask",
        "name",
        "partitions",
        "pending",
        "state",
        "units",
    )

    def __init__(self, state: ControllerState, test: StartTest, index: int) -> None:
        self.state, self._test = state, test
        self.index = index
        self.partitions = [p for p in state.partitions if p.pool == index]
        self.name = ",".join(p.name for p in self.partitions)
        self.mask: Bitmap = 0
        for p in self.partitions:
            self.mask |= p.mask
        self.mask = state.table.kept(self.mask)
        self._queue = state.queue.pools[index]
        self.pending: Sequence[Record] = self._queue.records
        self.units: str | None = ""
        self._requests_seen = 0

    @property
    def new(self) -> Sequence[Record]:
        """Records that arrived since `seen`."""
        return self._queue.new

    @property
    def gone(self) -> Sequence[tuple[Job, int | None]]:
        """Since `seen`: (job, expected end) that gave nodes back, (job, None) that left the queue unstarted."""
        return self._queue.gone

    def seen(self) -> None:
        """Clear `new` and `gone`, which the policy has read; they are kept from the first such call on."""
        self._queue.watched = True
        self._queue.new = []
        self._queue.gone = []

    @property
    def generation(self) -> int:
        """Changes with every start, end, cancel, edit or node event; not with arrivals."""
        return self.state.generation

    @property
    def edits(self) -> int:
        """Changes with node events and edits of jobs or partitions: what is known of a job does not survive them."""
        return self.state.edits

    @property
    def counts(self) -> bool:
        """True if counting units decides everything here: they are `alike`, and there is no power budget."""
        return (self.state.watts is None or not self.state.watts.limited) and self.alike

    @property
    def alike(self) -> bool:
        """True if units are.

        True while every job seen so far needs a number of equal nodes, or of equal CPUs, of the whole pool, and no
        reservation or maintenance is to come, which closes some nodes and not others.
        """
        if self.units is None or self.state.reserved.all:
            return False
        cluster = self.state.cluster
        if cluster.n_compiled != self._requests_seen:
            self._requests_seen = cluster.n_compiled
            for request in cluster.requests.values():
                if request.partition.pool != self.index:
                    continue
                same = request.units is not None and self.units in ("", request.units)
                if not same or request.partition.mask != self.mask:
                    self.units = None
                    return False
                self.units = request.units
        return True

    @property
    def free_units(self) -> int:
        """Units free now on usable nodes; only meaningful while `alike`."""
        table = self.state.table
        if self.units == "cpu":
            mask = self.mask & table.up
            if mask == table.everything:
                return table.total_cpus - table.alloc_cpus
            idle = mask & table.idle
            mixed = mask & table.mixed
            return table.cpus_on(idle) + (int(table.free_cpus[to_indices(mixed)].sum()) if mixed else 0)
        return table.idle_of(self.mask)[1]

    @property
    def returning(self) -> Callable[[Job], int]:
        """Units that are usable again when a running job ends: none on nodes that are down or draining."""
        if self.state.table.up == self.state.table.everything:
            return _CPUS if self.units == "cpu" else _NODES
        return self._returning_up

    def _returning_up(self, job: Job) -> int:
        usable = job.nodes & self.state.table.up
        if usable == job.nodes:
            return job.n_cpus if self.units == "cpu" else job.n_nodes
        if self.units == "node":
            return usable.bit_count()
        a = job.alloc
        assert a is not None
        cpus = a.cpus if not isinstance(a.cpus, int) else [a.cpus] * a.n_nodes
        return sum(int(n) for n, i in zip(cpus, a.indices().tolist(), strict=True) if usable >> i & 1)

    def releases(self) -> Iterator[tuple[int, int, Job]]:
        """Yield running jobs of this pool as (end, id, job), earliest first."""
        releases = self.state.holders.releases()
        if len(self.state.queue.pools) == 1:
            return iter(releases)
        return (entry for entry in releases if entry[2].partition.pool == self.index)

    def fitting(self, units: int) -> list[Record]:
        """Return the records that need no more than so many units, in order; cheap enough for each pass."""
        return [record for record in self._queue.records if record.need <= units]

    def turns(self, records: Sequence[Record]) -> Sequence[Record]:
        """Return `records` in the order in which a pass is to take them."""
        return records

    def fits(self, record: Record, within: Bitmap | None = None) -> bool:
        """Return True if the record's job could start now, if need be by preemption."""
        state = self.state
        if state.selector.fits(record.request, within):
            return True
        preemption = self._test.preemption
        return preemption is not None and preemption.could(record, within)

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""
        return self._test.reservations.closed() if self.state.reserved.all else []

    def watts_left(self) -> CapacityProfile | None:
        """Return what the power budget leaves from now on, milliwatts; None without one."""
        watts = self.state.watts
        return watts.outlook(self.state.holders.releases()) if watts is not None and watts.limited else None

    def watts_of(self, record: Record) -> int:
        """Return the milliwatts that a start of the record's job takes of it."""
        assert self.state.watts is not None
        return self.state.watts.start_mw(record.job, record.request.node_need)

    def available(self) -> Bitmap:
        """Return usable nodes of the pool, busy or not."""
        return self.mask & self.state.table.up

    def busy(self) -> Bitmap:
        """Return usable nodes with at least one job."""
        return self.mask & self.state.table.up & ~self.state.table.idle

    def future(self, record: Record, within: Bitmap, *, exact: bool) -> Forecast | None:
        """Earliest start of the record's job on the nodes of `within`, from the expected ends of the running jobs."""
        state = self.state
        if record.request.switches:
            self._test.switch_wait.look(record.job)
        return state.selector.future(record.request, state.holders.occupants(), state.now, within, exact=exact)

    def need_of(self, job: Job) -> int:
        """Units a job takes in the partition it ran in, or the first it asked for."""
        return job.request.unit_need
