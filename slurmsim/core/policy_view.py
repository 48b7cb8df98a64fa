"""What a policy sees of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.job import Job
from slurmsim.core.job_queue import Record
from slurmsim.core.outlook import Outlook
from slurmsim.core.pool_view import PoolView
from slurmsim.core.reservation_access import Access
from slurmsim.core.select import Forecast, Try

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.limits import Limits


class View:
    """The whole cluster as policies see it (slurmsim.policy.SlurmView)."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        self.pools = [PoolView(controller, i) for i in range(controller.state.n_pools)]

    @property
    def now(self) -> int:
        return self.c.now

    @property
    def pending(self) -> list[Job]:
        """Jobs that may start, in order, each once."""
        seen: dict[int, Job] = {}
        for record in self.c.queue.records():
            seen.setdefault(record.job.id, record.job)
        return list(seen.values())

    @property
    def running(self) -> list[Job]:
        """Running jobs by the end of their limit."""
        return [entry[2] for entry in self.c.running]

    @property
    def generation(self) -> int:
        return self.c.generation

    def records(self) -> list[Record]:
        """All (job, partition) records in order."""
        return self.c.queue.snapshot()

    def fits(self, job: Job) -> bool:
        """Whether `job` could start now in any of its partitions."""
        return any(
            self.c.keeps_out(job, partition, shape) is None and self.c.selector.fits(shape, self._open(job, at))
            for at, (partition, shape) in enumerate(zip(job.partitions, job.shapes, strict=True))
        )

    def _open(self, job: Job, at: int) -> Bitmap | None:
        """Nodes reservations leave `job` in its partition of that number, None for all."""
        reservations = self.c.reservations
        if not reservations.all:
            return None
        record = Record(job, job.partitions[at], job.shapes[at], job.priority, False)
        return reservations.open_to(record, self.c.table.everything)

    def earliest_start(self, job: Job) -> int | None:
        """When `job` could start if nothing else did: now, or as the limits of running jobs tell."""
        c = self.c
        occupants = c.suspension.occupants()
        found = [
            max(forecast.start, c.now)
            for partition, shape in zip(job.partitions, job.shapes, strict=True)
            if c.keeps_out(job, partition, shape) is None
            and (forecast := c.selector.future(shape, occupants, c.now, partition.mask & c.table.up, exact=True))
        ]
        return min(found, default=None)

    @property
    def untried(self) -> bool:
        """Whether a job in the queue has not been tried, where that can matter."""
        return bool(self.c.tried.waiting)

    @property
    def n_cpus(self) -> int:
        """CPUs of the cluster."""
        return self.c.table.total_cpus

    @property
    def free_nodes(self) -> int:
        """Usable nodes without a job."""
        return (self.c.table.idle & self.c.table.up).bit_count()

    @property
    def free_cpus(self) -> int:
        """CPUs free on usable nodes."""
        if self.c.preemption is not None:
            return self.c.table.cpus_on(self.c.table.up)
        return sum_free_cpus(self.c)

    @property
    def free_nodes_or_mixed(self) -> int:
        """Usable nodes that are not taken whole."""
        table = self.c.table
        if self.c.preemption is not None:
            return table.up.bit_count()  # whoever has them may have to go
        return ((table.idle | table.mixed) & table.up).bit_count()

    @property
    def n_queued(self) -> int:
        """Jobs in the queue."""
        return len(self.c.queue)

    @property
    def kill_wait(self) -> int:
        """KillWait, seconds."""
        return int(self.c.cluster.option("KillWait"))

    @property
    def over_limit(self) -> int:
        """OverTimeLimit, seconds."""
        return self.c.over_limit_s

    def next_limit(self, now: int) -> int | None:
        """The next instant after `now` at which a running job reaches its limit, None if there is none."""
        for end, _, _ in self.c.running:
            if end > now:
                return end
        return None

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""
        return self.c.reservations.closed() if self.c.reservations.all else []

    @property
    def reserved(self) -> bool:
        """Whether there are reservations, so that `access` must be asked."""
        return bool(self.c.reservations.all)

    def reserved_now(self) -> bool:
        """Whether a reservation is in force."""
        now = self.c.now
        return any(r.covers(now, now + 1) for r in self.c.reservations.all)

    def access(self, record: Record, when: int, limit: int) -> Access:
        """What reservations leave the record's job from `when` on, or from a later start."""
        return self.c.reservations.access.examine(record, when, limit, move=True)

    def next_reservation_end(self, when: int) -> int:
        """The first end of a reservation at or after `when`, 0 for none."""
        return self.c.reservations.next_end(when)

    def licensed(self, record: Record) -> bool:
        """Whether the licenses of the record's job are free now."""
        return self.c.licenses.free(record.job, record.reservation)

    def throttled(self, record: Record) -> int:
        """How many tasks of the array of the record's job wait because of its ``%N``."""
        return len(self.c.eligibility.arrays.by_id[record.job.array_key].waiting)

    def license_holds(self) -> tuple[dict[str, int], list[tuple[Any, int, int, str, int]]]:
        """Licenses there are, and (owner, begin, end, name, count) held.

        By running jobs (owner None) to their limits, by reservations over their periods (FLEX: always).
        """
        c = self.c
        held: list[tuple[Any, int, int, str, int]] = [
            (None, c.now, end, name, n) for end, _, job in c.running for name, n in job.licenses
        ]
        for r in c.reservations.all:
            begin, end = (0, 1 << 60) if "FLEX" in r.flags else (r.start, r.end)
            held += [(r, begin, end, name, n) for name, n in r.licenses]
        return dict(c.licenses.total), held

    def deadline_limit(self, record: Record, limit: int) -> int:
        """`limit` cut to what is left before the deadline of the record's job."""
        return self.c.deadlines.limit(record.job, limit)

    def available(self) -> Bitmap:
        """Nodes that are neither down nor drained."""
        return self.c.table.up

    def free_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Of `nodes`, those no other user's job closes to the record's job as things are."""
        return self.c.free_to(record, nodes)

    @property
    def completing(self) -> bool:
        """Whether there are nodes without a job that no job may enter yet."""
        return self.c.completing is not None and bool(self.c.completing.nodes)

    @property
    def owned(self) -> bool:
        """Whether users may have nodes to themselves, so that `free_to` must be asked."""
        return self.c.owners is not None

    def time_limit(self, record: Record) -> int:
        """Seconds the record's job may take: its limit, no longer than MaxTime of the partition, or MaxTime itself."""
        own, most = self.c.time_limit(record.job, record.partition), record.partition.spec.max_time_s
        return own if most is None or own < most else most

    def limit_reason(self, record: Record) -> str | None:
        """The partition limit that keeps this record from starting.

        Of a job with a minimum time (--time-min) only that counts against MaxTime.
        """
        return self.c.limit_reason(record.job, record.partition, record.shape, shortened=True)

    def qos_bar(self, record: Record) -> str | None:
        """Why the record's partition does not take the QOS of its job, as the reason to show; None if it does."""
        if record.job.bars is None:
            return None
        bar = record.job.bars.get(record.partition.index)
        return bar.text if bar is not None and bar.by_qos else None

    @property
    def limits(self) -> Limits | None:
        """Association and QOS limits, None where none are enforced."""
        return self.c.limits

    def earliest_possible(self, record: Record) -> int:
        """An instant before which no plan can let the record's job start, as far as counting nodes tells."""
        if self.c.preemption is not None:
            return self.c.now
        return self.c.selector.earliest_by_count(record.shape, self.c.suspension.occupants(), self.c.now)

    def too_few_by(self, record: Record, within: Bitmap, time: int) -> bool:
        """Whether counting is enough to tell that the future test on `within` would name an instant after `time`."""
        if self.c.preemption is not None:
            return False
        return self.c.selector.too_few_by(record.shape, self.c.suspension.occupants(), within, time)

    def could_start(self, record: Record, within: Bitmap) -> bool:
        """Whether the record's job would fit now on the nodes of `within`."""
        c = self.c
        if c.selector.could_start(record.shape, within):
            return True
        return c.preemption is not None and c.preemption.could(record, within)

    @property
    def tests_from_try(self) -> bool:
        """Whether backfill's future test is about the instant it tries (24.11), and not about any later one."""
        return self.c.rules.tests_from_try

    def future(
        self, record: Record, within: Bitmap, when: int = 0, limit: int = 0, following: int = 0
    ) -> Forecast | None:
        """Slurm's future test: earliest start on the nodes of `within` (Selector.future).

        A start at `when` is tried, for `limit` seconds, and after it one at `following` (0: none): that says which
        reservations of parts of nodes matter, and, where it `tests_from_try`, all that is asked.
        """
        c = self.c
        about = Try(when, following, self.c.rules.ends_where_chosen) if self.tests_from_try else None
        if record.shape.switches:
            c.patience.look(record.job)
        trim = c.reservations.access.trimmer(record, when, limit) if c.reservations.partial else None
        if c.preemption is not None:
            return c.preemption.future(record, within, trim, about)
        return c.selector.future(record.shape, c.suspension.occupants(), c.now, within, trim=trim, about=about)

    @property
    def preempts(self) -> bool:
        """Whether jobs may have to make way for others."""
        return self.c.preemption is not None

    def preempting(self, record: Record) -> bool:
        """Whether others were stopped for the record's job in this cycle: it is tried in no other partition."""
        return self.c.preemption is not None and record.job.id in self.c.preemption.in_progress

    def may_be_preempted(self, job: Job) -> bool:
        """Whether running `job` might have to make way for somebody."""
        return self.c.preemption is not None and self.c.preemption.mode(job) != "OFF"

    def outlook(self) -> Outlook:
        """What running jobs will give back when, as it is now: holds while further jobs start."""
        return Outlook(self.c.selector, self.c.running, self.c.now)

    @property
    def whole_nodes_only(self) -> bool:
        """Whether every running job holds whole nodes."""
        return not self.c.table.mixed


def sum_free_cpus(controller: Controller) -> int:
    """CPUs free on usable nodes; where jobs may share cores all there are, since none tells what fits."""
    table = controller.table
    if table.cores is not None:
        return table.total_cpus
    crowded = controller.suspension.crowded
    if table.up == table.everything and not crowded:
        return table.total_cpus - table.alloc_cpus
    mixed = table.mixed & table.up
    free = table.free_cpus[to_indices(mixed)] if mixed else table.free_cpus[:0]
    return table.cpus_on(table.idle & table.up) + int(free.clip(min=0).sum())
