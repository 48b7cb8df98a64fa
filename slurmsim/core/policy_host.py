"""Runs a policy: the views it sees, and each of its decisions checked and carried out as it is yielded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap, runs, to_indices
from slurmsim.core.job import ONE_YEAR_S, Job
from slurmsim.core.job_queue import Record
from slurmsim.core.outlook import Outlook
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
        maintenance is to come, which closes some nodes and not others.
        """
        if self.units is None or self.c.maintenance.windows:
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
        """Whether the record's job could start now."""
        return self.c.selector.fits(record.shape, within)

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """Maintenance still to come: (start, end, nodes)."""
        windows = self.c.maintenance.windows
        return [(w.start, w.end, w.nodes) for w in windows] if windows else []

    def available(self) -> Bitmap:
        """Usable nodes of the pool, busy or not."""
        return self.mask & self.c.table.up

    def busy(self) -> Bitmap:
        """Usable nodes with at least one job."""
        return self.mask & self.c.table.up & ~self.c.table.idle

    def future(self, record: Record, within: Bitmap, *, exact: bool) -> Forecast | None:
        """Earliest start of the record's job on the nodes of `within`, from the limits of the running jobs."""
        if record.shape.switches:
            self.c.patience.look(record.job)
        return self.c.selector.future(record.shape, self.c.running, self.c.now, within, exact=exact)

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
            self.c.keeps_out(job, partition, shape) is None and self.c.selector.fits(shape)
            for partition, shape in zip(job.partitions, job.shapes, strict=True)
        )

    def earliest_start(self, job: Job) -> int | None:
        """When `job` could start if nothing else did: now, or as the limits of running jobs tell."""
        c = self.c
        found = [
            max(forecast.start, c.now)
            for partition, shape in zip(job.partitions, job.shapes, strict=True)
            if c.keeps_out(job, partition, shape) is None
            and (forecast := c.selector.future(shape, c.running, c.now, partition.mask & c.table.up, exact=True))
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
        return sum_free_cpus(self.c)

    @property
    def free_nodes_or_mixed(self) -> int:
        """Usable nodes that are not taken whole."""
        table = self.c.table
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
        """Maintenance still to come: (start, end, nodes)."""
        return [(w.start, w.end, w.nodes) for w in self.c.maintenance.windows]

    def available(self) -> Bitmap:
        """Nodes that are neither down nor drained."""
        return self.c.table.up

    def free_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Of `nodes`, those no other user's job closes to the record's job as things are."""
        return self.c.free_to(record, nodes)

    def max_limit(self, record: Record) -> int:
        """The partition's MaxTime in seconds, a year when unlimited."""
        limit = record.partition.spec.max_time_s
        return ONE_YEAR_S if limit is None else limit

    def limit_reason(self, record: Record) -> str | None:
        """The partition limit that keeps this record from starting, or a bar because of its QOS, which is shown."""
        reason = self.c.limit_reason(record.job, record.partition, record.shape)
        if reason is None and record.job.bars is not None:
            bar = record.job.bars.get(record.partition.index)
            if bar is not None and bar.by_qos:
                self.c.set_reason(record.job, bar.text)
                return bar.text
        return reason

    @property
    def limits(self) -> Limits | None:
        """Association and QOS limits, None where none are enforced."""
        return self.c.limits

    def earliest_possible(self, record: Record) -> int:
        """An instant before which no plan can let the record's job start, as far as counting nodes tells."""
        return self.c.selector.earliest_by_count(record.shape, self.c.running, self.c.now)

    def too_few_by(self, record: Record, within: Bitmap, time: int) -> bool:
        """Whether counting is enough to tell that the future test on `within` would name an instant after `time`."""
        return self.c.selector.too_few_by(record.shape, self.c.running, within, time)

    def could_start(self, record: Record, within: Bitmap) -> bool:
        """Whether the record's job would fit now on the nodes of `within`."""
        return self.c.selector.could_start(record.shape, within)

    def future(self, record: Record, within: Bitmap) -> Forecast | None:
        """Slurm's future test: earliest start on the nodes of `within` (Selector.future)."""
        if record.shape.switches:
            self.c.patience.look(record.job)
        return self.c.selector.future(record.shape, self.c.running, self.c.now, within)

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
    if table.up == table.everything:
        return table.total_cpus - table.alloc_cpus
    mixed = table.mixed & table.up
    return table.cpus_on(table.idle & table.up) + (int(table.free_cpus[to_indices(mixed)].sum()) if mixed else 0)


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

    def _forbidden(self, record: Record, reason: str) -> None:
        """A limit forbids the start. A policy that is the scheduler does not see the job until it may."""
        if self.policy.event_driven and self.c.limits is not None:
            self.c.limits.refuse(record.job, reason)
        else:
            self.c.set_reason(record.job, reason)

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
            if c.keeps_out(job, record.partition, record.shape) is not None:
                continue
            limits = c.limits
            if limits is not None and (held := limits.before(record) or limits.too_many_nodes(record)) is not None:
                continue
            within = decision.within
            if c.maintenance.windows:
                within = c.open_to(job, c.table.everything if within is None else within)
            if c.owners is not None:
                within = c.free_to(record, c.table.everything if within is None else within)
            alloc = c.selector.place(record.shape, c.table, within)
            if alloc is not None and limits is not None and (held := limits.after(record, alloc)) is not None:
                continue
            if alloc is not None:
                c.start(record, alloc, self._label)
                return True
        if held is not None:
            self._forbidden(records[0], held)
            return None
        return False
