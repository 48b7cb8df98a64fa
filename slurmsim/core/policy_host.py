"""Runs a policy: the views it sees, and each of its decisions checked and carried out as it is yielded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap, runs, to_indices
from slurmsim.core.job import ONE_YEAR_S, Job
from slurmsim.core.job_queue import Record
from slurmsim.core.outlook import Outlook
from slurmsim.core.reservation_access import Access
from slurmsim.core.select import Forecast
from slurmsim.errors import PolicyError, SlurmSimError
from slurmsim.policy import Plan, Policy, Reject, Resize, Start, WakeAt
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.limits import Limits


_CPUS, _NODES = attrgetter("n_cpus"), attrgetter("n_nodes")


class PoolView:
    """One pool as policies see it (slurmsim.policy.Pool).

    `pending`: records in order; the list itself, so copy before starting jobs while iterating.
    """

    __slots__ = ("_queue", "_shapes_seen", "c", "index", "mask", "name", "partitions", "pending", "units")

    def __init__(self, controller: Controller, index: int) -> None:
        self.c = controller
        self.index = index
        self.partitions = [p for p in controller.partitions if p.pool == index]
        self.name = ",".join(p.name for p in self.partitions)
        self.mask: Bitmap = 0
        for p in self.partitions:
            self.mask |= p.mask
        self._queue = controller.queue.pools[index]
        self.pending: Sequence[Record] = self._queue.records
        self.units: str | None = ""
        self._shapes_seen = 0

    @property
    def new(self) -> Sequence[Record]:
        """Records that arrived since `seen`."""
        return self._queue.new

    @property
    def gone(self) -> Sequence[tuple[Job, int | None]]:
        """Since `seen`: (job, end of its limit) that gave nodes back, (job, None) that left the queue unstarted."""
        return self._queue.gone

    def seen(self) -> None:
        """The policy has taken note of `new` and `gone`; they are kept from the first such call on."""
        self._queue.watched = True
        self._queue.new = []
        self._queue.gone = []

    @property
    def generation(self) -> int:
        """Changes with every start, end, cancel, edit or node event; not with arrivals."""
        return self.c.generation

    @property
    def edits(self) -> int:
        """Changes with node events, new priorities and edits of jobs or partitions: what a plan does not survive."""
        return self.c.edits

    @property
    def counts(self) -> bool:
        """Whether counting units decides everything here.

        True while every job seen so far needs a number of equal nodes, or of equal CPUs, of the whole pool, and no
        reservation or maintenance is to come, which closes some nodes and not others.
        """
        if self.units is None or self.c.reservations.all:
            return False
        shapes = self.c.state.shapes
        if len(shapes) != self._shapes_seen:
            self._shapes_seen = len(shapes)
            for shape in shapes.values():
                if shape.partition.pool != self.index:
                    continue
                same = shape.units is not None and self.units in ("", shape.units)
                if not same or shape.partition.mask != self.mask:
                    self.units = None
                    return False
                self.units = shape.units
        return True

    @property
    def free_units(self) -> int:
        """Units free now on usable nodes; only meaningful while `counts`."""
        table = self.c.table
        if self.units == "cpu":
            mask = self.mask & table.up
            if mask == table.everything:
                return table.total_cpus - table.alloc_cpus
            idle = mask & table.idle
            mixed = mask & table.mixed
            return table.cpus_on(idle) + (int(table.free_cpus[to_indices(mixed)].sum()) if mixed else 0)
        return (table.idle & table.up & self.mask).bit_count()

    @property
    def returning(self) -> Callable[[Job], int]:
        """Units that are usable again when a running job ends: none on nodes that are down or draining."""
        if self.c.table.up == self.c.table.everything:
            return _CPUS if self.units == "cpu" else _NODES
        return self._returning_up

    def _returning_up(self, job: Job) -> int:
        usable = job.nodes & self.c.table.up
        if usable == job.nodes:
            return job.n_cpus if self.units == "cpu" else job.n_nodes
        if self.units == "node":
            return usable.bit_count()
        a = job.alloc
        assert a is not None
        cpus = a.cpus if not isinstance(a.cpus, int) else [a.cpus] * a.n_nodes
        return sum(int(n) for n, i in zip(cpus, a.indices().tolist(), strict=True) if usable >> i & 1)

    def releases(self) -> Iterator[tuple[int, int, Job]]:
        """Running jobs of this pool as (end by limit, id, job), earliest first."""
        if len(self.c.queue.pools) == 1:
            return iter(self.c.running)
        return (entry for entry in self.c.running if entry[2].partition.pool == self.index)

    def turns(self, records: Sequence[Record]) -> Sequence[Record]:
        """`records` in the order in which a pass is to take them."""
        return records

    def fits(self, record: Record, within: Bitmap | None = None) -> bool:
        """Whether the record's job could start now, if need be by preemption."""
        c = self.c
        if c.selector.fits(record.shape, within):
            return True
        return c.preemption is not None and c.preemption.could(record, within)

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""
        return self.c.reservations.closed() if self.c.reservations.all else []

    def available(self) -> Bitmap:
        """Usable nodes of the pool, busy or not."""
        return self.mask & self.c.table.up

    def busy(self) -> Bitmap:
        """Usable nodes with at least one job."""
        return self.mask & self.c.table.up & ~self.c.table.idle

    def future(self, record: Record, within: Bitmap, *, exact: bool) -> Forecast | None:
        """Earliest start of the record's job on the nodes of `within`, from the limits of the running jobs."""
        c = self.c
        if record.shape.switches:
            c.patience.look(record.job)
        return c.selector.future(record.shape, c.suspension.occupants(), c.now, within, exact=exact)

    def limit_reason(self, record: Record) -> str | None:
        """The partition limit that keeps this record from starting, or None."""
        return self.c.limit_reason(record.job, record.partition, record.shape)


class View:
    """The whole cluster as policies see it (slurmsim.policy.ClusterView)."""

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
    def owned(self) -> bool:
        """Whether users may have nodes to themselves, so that `free_to` must be asked."""
        return self.c.owners is not None

    def max_limit(self, record: Record) -> int:
        """The partition's MaxTime in seconds, a year when unlimited."""
        limit = record.partition.spec.max_time_s
        return ONE_YEAR_S if limit is None else limit

    def limit_reason(self, record: Record) -> str | None:
        """The partition limit that keeps this record from starting, or a bar because of its QOS, which is shown.

        Of a job with a minimum time (--time-min) only that counts against MaxTime.
        """
        reason = self.c.limit_reason(record.job, record.partition, record.shape, shortened=True)
        if reason is not None:
            return reason
        if record.job.bars is not None:
            bar = record.job.bars.get(record.partition.index)
            if bar is not None and bar.by_qos:
                self.c.set_reason(record.job, bar.text)
                return bar.text
        return None

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

    def future(self, record: Record, within: Bitmap, when: int = 0, limit: int = 0) -> Forecast | None:
        """Slurm's future test: earliest start on the nodes of `within` (Selector.future).

        `when` and `limit` say which reservations of parts of nodes matter.
        """
        c = self.c
        if record.shape.switches:
            c.patience.look(record.job)
        trim = c.reservations.access.trimmer(record, when, limit) if c.reservations.partial else None
        if c.preemption is not None:
            return c.preemption.future(record, within, trim)
        return c.selector.future(record.shape, c.suspension.occupants(), c.now, within, trim=trim)

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


class PolicyHost:
    """Calls the policy when it is due and carries out what it decides.

    An event-driven policy is due whenever something happened; another one only at the times it asked for, first at
    the controller's start.
    """

    def __init__(self, controller: Controller, policy: Policy) -> None:
        self.c = controller
        self.policy = policy
        self.view = View(controller)
        self.passes = 0
        self.changed = False  # something happened since the policy was last called
        self.wake: int | None = None
        self._label = policy.label or policy.name
        policy.configure(controller.cluster.scheduler_parameters, controller.start_time)

    def count_no_more(self, job: Job) -> None:
        """`job` is suspended: from now on counting units does not tell what its pool can do."""
        self.view.pools[job.partition.pool].units = None

    def next_time(self, now: int) -> int | None:
        """When the policy must be called next, None if only a new event can matter."""
        if self.wake is not None:
            return max(self.wake, now)
        return self.policy.next_time(self.view, now, self.changed) if not self.policy.event_driven else None

    def run_if_due(self, now: int) -> None:
        """Call the policy if something happened (event-driven) or its time has come."""
        due = self.wake is not None and self.wake <= now
        if self.c.event_driven:
            if not self.changed and not due:
                return
        else:
            if not self.c.queue.jobs:
                self.changed = False  # nothing waits that the change could matter to
            at = self.policy.next_time(self.view, now, self.changed)
            if not due and (at is None or at > now):
                return
        self.wake = None
        if self.c.deadlines.jobs:
            self.c.deadlines.sweep()
        while True:
            if self.policy.event_driven and self.c.limits is not None:
                self.c.limits.sweep()
            self.changed = False
            self.passes += 1
            self.run()
            if self.policy.event_driven and self.c.limits is not None:
                self.c.limits.sweep()
            if not (self.changed and self.c.event_driven):
                return  # else a job started that had also waited in another pool

    def run(self) -> None:
        """One call of the policy, to its end. What the policy itself raises comes out as a PolicyError."""
        if self.c.preemption is not None:
            self.c.preemption.in_progress.clear()
        try:
            decisions = self.policy.schedule(self.view, self.c.now)
            if type(decisions) is tuple and not decisions:
                return
            decisions = iter(decisions)
        except Exception as error:
            raise self._broken(error) from error
        send: Any = getattr(decisions, "send", None) or (lambda _: next(decisions))
        outcome: Any = None
        while True:
            try:
                decision = send(outcome)
            except StopIteration:
                return
            except Exception as error:
                raise self._broken(error) from error
            outcome = self._start(decision) if type(decision) is Start else self._carry_out(decision)

    def in_order(self, records: list[Record]) -> list[Record]:
        """`records` as the policy wants the main scheduler to walk them; the very list if as they are."""
        try:
            wanted = self.policy.order(self.view, records, self.c.now)
        except Exception as error:
            raise self._broken(error) from error
        if wanted is records:
            return records
        if len(wanted) != len(records) or set(wanted) != set(records):
            raise PolicyError(self.policy.name, "gave an order that has not the same jobs")
        return list(wanted)

    def _forbidden(self, job: Job, target: Any, reason: str) -> None:
        """A limit forbids the start of `target`. A policy that is the scheduler does not see it until it may."""
        if self.policy.event_driven and self.c.limits is not None:
            self.c.limits.refuse(job, reason, target.partition if isinstance(target, Record) else None)
        else:
            self.c.set_reason(job, reason)

    def _broken(self, error: Exception) -> SlurmSimError:
        """`error`, raised by the policy's code, as one line that says where."""
        if isinstance(error, SlurmSimError):
            return error
        at = error.__traceback__
        where = ""
        while at is not None:
            where = f" ({at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno})"
            at = at.tb_next
        return PolicyError(self.policy.name, f"{type(error).__name__}: {error}{where}")

    def _carry_out(self, decision: Any) -> Any:
        kind = type(decision)
        if kind is Start:
            return self._start(decision)
        if kind is Plan:
            job = decision.job
            if isinstance(job, Record):
                job = job.job
            if decision.start is None:
                job.planned_start, job.planned_nodes = None, 0
                return None
            self._check_time(decision, decision.start, self.c.now)
            if job.planned_start != decision.start:
                first = job.planned_start is None
                job.planned_start, job.planned_nodes = decision.start, decision.nodes
                if not (first or decision.promise):
                    return None
                nodes = self.c.state.namer.runs(runs(decision.nodes)) if decision.nodes else ""
                self.c.record("PLAN", job, nodes=nodes, value=decision.start, scheduler=self._label)
            return None
        if kind is Reject:
            job = decision.job.job if isinstance(decision.job, Record) else decision.job
            self.c.set_reason(job, decision.reason)
            return None
        if kind is Resize:
            if not isinstance(decision.job, Job):
                raise PolicyError(self.policy.name, f"resized {decision.job!r}, which is no job of the view")
            return self.c.resizes.to(decision.job, decision.n_nodes, decision.within)
        if kind is WakeAt:
            self._check_time(decision, decision.time, self.c.now + 1)
            self.wake = decision.time if self.wake is None else min(self.wake, decision.time)
            return None
        raise PolicyError(self.policy.name, f"yielded {decision!r}, which is no decision")

    def _check_time(self, decision: Any, time: Any, earliest: int) -> None:
        """Times are whole seconds (a float would spread through the core) that are still to come."""
        if not isinstance(time, int) or time < earliest:
            text = f"yielded {type(decision).__name__} for {time!r} (expected whole seconds, at least {earliest})"
            raise PolicyError(self.policy.name, text)

    def _start(self, decision: Start) -> bool | None:
        """Start the job if it fits; False if it does not, None if a limit forbids it."""
        target = decision.job
        c = self.c
        records: Sequence[Record]
        if isinstance(target, Record):
            records, job = (target,), target.job
        elif isinstance(target, Job):
            records, job = c.queue.jobs.get(target.id, ()), target
        else:
            raise PolicyError(self.policy.name, f"started {target!r}, which is no job of the view")
        if c.limits is not None and job.id in c.limits.waiting:
            return None  # refused in this very pass
        if job.state != JobState.PENDING or not job.queued:
            raise PolicyError(self.policy.name, f"started job {job.id}, which is not waiting in the queue")
        held: str | None = None
        for record in records:
            if c.keeps_out(job, record.partition, record.shape, shortened=True) is not None:
                continue
            limit = decision.time_limit_s
            if job.claims:
                if job.licenses and not c.event_driven and not c.licenses.free(job, record.reservation):
                    continue
                if c.deadlines.missed(job):  # it came into the queue while the policy was at work
                    return False
                if limit is None and job.deadline is not None:
                    limit = c.deadlines.limit(job, job.time_limit_s)
            limits = c.limits
            if limits is not None and (held := limits.early(record)) is not None:
                continue
            within = c.table.everything if decision.within is None else decision.within
            seconds = job.time_limit_s if limit is None else limit
            alloc = c.place_now(record, within, seconds)
            asked = limits is not None and (alloc is not None or c.preemption is not None)
            if asked and limits is not None and (held := limits.after(record, alloc)) is not None:
                if alloc is not None:
                    job.likely_nodes = alloc.n_nodes
                continue
            if alloc is None and c.preemption is not None:
                alloc = c.preemption.make_room(record, c.reach(record, within, seconds))
            if alloc is not None:
                c.start(record, alloc, self._label, limit)
                return True
        if held is not None:
            self._forbidden(job, target, held)
            return None
        return False
