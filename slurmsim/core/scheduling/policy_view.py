"""What a policy sees of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.placement.layout import capacities, holdings
from slurmsim.core.placement.selector import Forecast, Try
from slurmsim.core.placement.shared_layers import Layer
from slurmsim.core.placement.units import units_of
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.partition import Partition
from slurmsim.core.reservations.access import Access
from slurmsim.core.scheduling.planned_nodes import ReservedNodes, SharedNodes, WholeNodes, shared_nodes, whole_nodes
from slurmsim.core.scheduling.pool_view import PoolView
from slurmsim.core.scheduling.power_view import SeenPower, SeenShape, predicted_s, seen_power, seen_shape
from slurmsim.policy import Estimate
from slurmsim.policy.units import Holding, JobUnits, Unit
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.accounting.limits import Limits
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.occupancy.watts import Watts
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.placement.selector import Trim
    from slurmsim.core.queue.job_array import JobArrays
    from slurmsim.core.queue.predictions import Predictions
    from slurmsim.core.scheduling.may_start import StartTest
    from slurmsim.core.scheduling.solves import Solves
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.energy.profile import Profile


class View:
    """The whole cluster as policies see it (slurmsim.policy.SlurmView)."""

    def __init__(
        self, state: ControllerState, test: StartTest, arrays: JobArrays, solves: Solves, watts: Watts | None = None
    ) -> None:
        self.state, self._test, self._arrays, self._solves = state, test, arrays, solves
        self._watts = watts
        self.waits_for: Callable[[Job], list[Job]] | None = None  # set once all parts are there
        self.predictions: Predictions | None = None  # likewise
        self._accounting, self._partition_limits = test.accounting, test.partition_limits
        self.pools = [PoolView(state, test, i) for i in range(state.cluster.n_pools)]

    @property
    def now(self) -> int:
        return self.state.now

    @property
    def pending(self) -> list[Job]:
        """Jobs that may start, in order, each once."""
        seen: dict[int, Job] = {}
        for record in self.state.queue.records():
            seen.setdefault(record.job.id, record.job)
        return list(seen.values())

    @property
    def running(self) -> list[Job]:
        """Running jobs by the end of their limit."""
        return [entry[2] for entry in self.state.running]

    @property
    def suspended(self) -> list[Job]:
        """Suspended jobs by the end of their limit."""
        return [entry[2] for entry in self.state.suspended]

    @property
    def waiting(self) -> list[Job]:
        """Pending jobs outside the queue, by id."""
        jobs = self.state.jobs
        return [jobs[job_id] for job_id in sorted(jobs)
                if jobs[job_id].state == JobState.PENDING and not jobs[job_id].queued]  # fmt: skip

    def job(self, job_id: int) -> Job | None:
        """Return the job of that id; None if it has ended or has not come."""
        return self.state.jobs.get(job_id)

    def dependencies(self, job: Job) -> list[Job]:
        """Return the jobs that have not ended and that `job` waits for, by id."""
        return [] if self.waits_for is None else self.waits_for(job)

    @property
    def generation(self) -> int:
        return self.state.generation

    def records(self) -> list[Record]:
        """Return all (job, partition) records in order."""
        return self.state.queue.snapshot()

    def fits(self, job: Job) -> bool:
        """Return True if `job` could start now in any of its partitions."""
        return any(
            self._partition_limits.keeps_out(job, partition, request) is None
            and self.state.selector.fits(request, self._open(job, at))
            for at, (partition, request) in enumerate(zip(job.partitions, job.requests, strict=True))
        )

    def _open(self, job: Job, at: int) -> Bitmap | None:
        """Return nodes reservations leave `job` in its partition of that number, None for all."""
        if not self.state.reserved.all:
            return None
        record = Record(job, job.partitions[at], job.requests[at], job.priority, False)
        return self._test.reservations.open_to(record, self.state.table.everything)

    def estimate(self, job: Job) -> Estimate:
        """Return how long `job` is expected to run from its start, as an interval within its limit."""
        found = None if self.predictions is None else self.predictions.estimate(job)
        if found is None:
            return Estimate(0, job.expected_s, job.time_limit_s)
        return Estimate(*(min(end, job.time_limit_s) for end in (found.low_s, found.median_s, found.high_s)))

    def earliest_start(self, job: Job) -> int | None:
        """Return when `job` could start if nothing else did: now, or as the expected ends of running jobs tell."""
        state = self.state
        occupants = state.holders.occupants()
        found = [
            max(forecast.start, state.now)
            for partition, request in zip(job.partitions, job.requests, strict=True)
            if self._partition_limits.keeps_out(job, partition, request) is None
            and (
                forecast := state.selector.future(
                    request, occupants, state.now, partition.mask & state.table.up, exact=True
                )
            )
        ]
        return min(found, default=None)

    @property
    def untried(self) -> bool:
        """True if a job in the queue has not been tried, where that can matter."""
        return bool(self._test.found_cpus.waiting)

    @property
    def plans_count(self) -> bool:
        """True if a job in the queue counts with the CPUs of the nodes it is planned on."""
        return self._test.found_cpus.plans_count

    @property
    def n_cpus(self) -> int:
        """CPUs of the cluster."""
        return self.state.table.total_cpus

    @property
    def free_nodes(self) -> int:
        """Usable nodes without a job."""
        return self.state.table.idle_of(self.state.table.everything)[1]

    @property
    def free_cpus(self) -> int:
        """CPUs free on usable nodes."""
        if self._test.preemption is not None:
            return self.state.table.cpus_on(self.state.table.up)
        return sum_free_cpus(self.state, self._test.suspension)

    @property
    def free_nodes_or_mixed(self) -> int:
        """Usable nodes that are not taken whole."""
        table = self.state.table
        if self._test.preemption is not None:
            return table.up.bit_count()  # the jobs there may be preempted
        return ((table.idle | table.mixed) & table.up).bit_count()

    @property
    def n_queued(self) -> int:
        """Jobs in the queue."""
        return len(self.state.queue)

    @property
    def kill_wait(self) -> int:
        """KillWait, seconds."""
        return self.state.time_limits.kill_wait_s

    @property
    def over_limit(self) -> int:
        """OverTimeLimit, seconds."""
        return self.state.time_limits.over_limit_s

    def next_limit(self, now: int) -> int | None:
        """Return the next instant after `now` at which a running job reaches its limit, or None."""
        for end, _, _ in self.state.running:
            if end > now:
                return end
        return None

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""
        return self._test.reservations.closed() if self.state.reserved.all else []

    @property
    def reserved(self) -> bool:
        """True if there are reservations, so that `access` must be asked."""
        return bool(self.state.reserved.all)

    def reserved_now(self) -> bool:
        """Return True if a reservation is in force."""
        now = self.state.now
        return any(r.covers(now, now + 1) for r in self.state.reserved.all)

    def access(self, record: Record, when: int, limit: int) -> Access:
        """Return what reservations leave the record's job from `when` on, or from a later start."""
        return self._test.reservations.access.examine(record, when, limit, move=True)

    def next_reservation_begin(self, record: Record, nodes: Bitmap) -> int | None:
        """Return the first begin to come of a reservation of others that the record's job on `nodes` would meet."""
        return self._test.reservations.access.next_begin(record, nodes)

    def next_reservation_end(self, when: int) -> int:
        """Return the first end of a reservation at or after `when`, 0 for none."""
        return self._test.reservations.next_end(when)

    def licensed(self, record: Record) -> bool:
        """Return True if the licenses of the record's job are free now."""
        return self._test.licensed(record)

    def throttled(self, record: Record) -> int:
        """Return how many tasks of the array of the record's job are planned that its ``%N`` keeps out of the queue."""
        waiting, more = self._arrays.kept_out(record.job)
        return min(waiting, more) if self.state.rules.plans_within_throttle else waiting

    def license_holds(self) -> tuple[dict[str, int], list[tuple[Any, int, int, str, int]]]:
        """Licenses there are, and (owner, begin, end, name, count) held.

        By running jobs (owner None) to their limits, by reservations over their periods (FLEX: always).
        """
        state = self.state
        held: list[tuple[Any, int, int, str, int]] = [
            (None, state.now, end, name, n)
            for end, _, job in state.running for name, n in self._test.licenses.counted(job)
        ]  # fmt: skip
        for r in state.reserved.all:
            begin, end = (0, 1 << 60) if "FLEX" in r.flags else (r.start, r.end)
            held += [(r, begin, end, name, n) for name, n in r.licenses if name in state.license_totals]
        missing = self._test.licenses.missing
        return {name: total - missing(name) for name, total in state.license_totals.items()}, held

    def layer_holds(self) -> tuple[list[Layer], list[tuple[Any, int, int, int, int]]]:
        """Layers of hierarchical resources, and (owner, begin, end, place of the layer, count) held, as of licenses."""
        state, layers = self.state, self._test.licenses.layers
        if layers is None:
            return [], []
        held: list[tuple[Any, int, int, int, int]] = [
            (None, state.now, end, k, n) for end, _, job in state.running for k, n in layers.held.get(job.id, ())
        ]
        for r in state.reserved.all:
            begin, end = (0, 1 << 60) if "FLEX" in r.flags else (r.start, r.end)
            named = [(layers.table.layer_named(name), n) for name, n in r.licenses]
            held += [(r, begin, end, k, n) for k, n in named if k is not None]
        return layers.table.layers(), held

    def asked_of_layers(self, record: Record) -> list[tuple[str, int]]:
        """Return the hierarchical resources that the record's job asks for, and the counts."""
        layers = self._test.licenses.layers
        return [] if layers is None else layers.asked_by(record.job)

    def what_is_left(self, left: Sequence[int | None]) -> None:
        """Let `future` see that much left of each layer (None: any number), until it is told of all again: ()."""
        layers = self._test.licenses.layers
        if layers is not None:
            layers.table.left = list(left or layers.table.counts)

    def deadline_limit(self, record: Record, limit: int) -> int:
        """Return `limit` cut to what is left before the deadline of the record's job."""
        return self._test.deadlines.limit(record.job, limit)

    def available(self) -> Bitmap:
        """Return nodes that are neither down nor drained."""
        return self.state.table.up

    def free_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Return those of `nodes` no other user's job closes to the record's job as things are."""
        return self.state.free_to(record, nodes, planning=True)

    @property
    def owned(self) -> bool:
        """True if nodes may be closed to others for a time, so that `open_from` must be asked (24.11)."""
        return self.state.rules.owners_from_try and self.state.exclusive_users is not None

    def open_from(self, record: Record, nodes: Bitmap, when: int) -> tuple[Bitmap, int]:
        """Return those of `nodes` others leave to the record's job from `when` on, and when one more is (0: never)."""
        users = self.state.exclusive_users
        return (nodes, 0) if users is None else users.open_from(record, nodes, when, self.state.holders.occupants())

    def time_limit(self, record: Record) -> int:
        """Seconds the record's job may take: its limit, no longer than MaxTime of the partition, or MaxTime itself."""
        own, most = self._partition_limits.time_limit(record.job, record.partition), record.partition.spec.max_time_s
        return own if most is None or own < most else most

    def limit_reason(self, record: Record) -> str | None:
        """Return the partition limit that keeps this record from starting.

        Of a job with a minimum time (--time-min) only that counts against MaxTime.
        """
        return self._partition_limits.limit_reason(record.job, record.partition, record.request, shortened=True)

    def qos_bar(self, record: Record) -> str | None:
        """Why the record's partition does not take the QOS of its job, as the reason to show; None if it does."""
        if record.job.bars is None:
            return None
        bar = record.job.bars.get(record.partition.index)
        return bar.text if bar is not None and bar.by_qos else None

    @property
    def limits(self) -> Limits | None:
        """Association and QOS limits, None where none are enforced."""
        return self._accounting.limits

    def last_fitting(self, records: list[Record]) -> int:
        """Index of the last of `records` that would fit into what is free now, and that no limit bars; -1 for none."""
        limits, fits = self._accounting.limits, dict[int, bool]()
        free_nodes, free_cpus = self.free_nodes_or_mixed, self.free_cpus
        for at in range(len(records) - 1, -1, -1):
            record = records[at]
            request = record.request
            if request.min_nodes > free_nodes or (request.min_cpus > free_cpus and request.own_cpus is None):
                continue
            known = fits.get(id(request))
            if known is None:
                known = fits[id(request)] = self.pools[record.partition.pool].fits(record)
            if known and (limits is None or limits.bars(record) is None):
                return at
        return -1

    def earliest_possible(self, record: Record) -> int:
        """Return an instant before which no plan can let the record's job start, as far as counting nodes tells."""
        if self._test.preemption is not None or self._test.suspension.keeps_from(record.request):
            return self.state.now
        return self.state.selector.earliest_by_count(record.request, self.state.holders.occupants(), self.state.now)

    def too_few_by(self, record: Record, within: Bitmap, time: int) -> bool:
        """Return True if counting suffices to tell that the future test on `within` would end after `time`."""
        if self._test.preemption is not None or self._test.suspension.keeps_from(record.request):
            return False
        return self.state.selector.too_few_by(record.request, self.state.holders.occupants(), within, time)

    def could_start(self, record: Record, within: Bitmap) -> bool:
        """Return True if the record's job would fit now on the nodes of `within`."""
        state = self.state
        if state.selector.could_start(record.request, within):
            return True
        if self._test.suspension.beside(record.request, within) is not None:
            return True
        preemption = self._test.preemption
        return preemption is not None and preemption.could(record, within)

    def marks(self, kept: Bitmap) -> bool:
        """Return True if a cycle that has `kept` nodes for plans marks one of them: idle ones, since 24.11 all."""
        return bool(kept if self.state.rules.marks_busy_nodes else kept & self.state.table.idle)

    @property
    def completing(self) -> Bitmap:
        """Nodes that are not clean yet."""
        return self._test.completing.nodes

    def restated(self) -> tuple[list[Record], list[tuple[Record, int]]]:
        """Return what changed in the queue since the last call.

        First the records of jobs with a new request; then those that only show another reason, with the number of the
        limit that it is (0: none).
        """
        queue, limits = self.state.queue, self._accounting.limits
        jobs, queue.restated = queue.restated, {}
        edited: list[Record] = []
        said: list[Any] = []  # mypyc would copy a tuple of another type for each reader
        for job_id, asks in (jobs or {}).items():
            for record in queue.jobs.get(job_id, ()):
                if asks:
                    edited.append(record)
                else:
                    said.append((record, 0 if limits is None else limits.number_shown(record.job)))
        return edited, said

    @property
    def tries_arrays_twice(self) -> bool:
        """True if tasks of an array are tried without what they prefer once none was found with it (23.02)."""
        return self.state.rules.tries_arrays_twice

    @property
    def tests_from_try(self) -> bool:
        """True if backfill's future test is about the instant it tries (24.11), and not about any later one."""
        return self.state.rules.tests_from_try

    @property
    def _about_tries(self) -> bool:
        """True if the select plugin is told what backfill tries: select/linear is not."""
        return self.tests_from_try and not self.all_whole

    @property
    def minimum_extended(self) -> bool:
        """True if what backfill starts with a minimum time gets as long a limit as the plans leave it (26.05)."""
        return self.state.rules.minimum_extended

    def future(
        self, record: Record, within: Bitmap, when: int = 0, limit: int = 0, following: int = 0
    ) -> Forecast | None:
        """Slurm's future test: earliest start on the nodes of `within` (Selector.future).

        A start at `when` is tried, for `limit` seconds, and after it one at `following` (0: none): that says which
        reservations of parts of nodes matter, and, where it `tests_from_try`, all that is asked.
        """
        state = self.state
        about = Try(when, following, self.state.rules.ends_where_chosen) if self._about_tries else None
        if record.request.switches:
            self._test.switch_wait.look(record.job)
        trim = self._test.reservations.access.trimmer(record, when, limit) if state.reserved.partial else None
        preemption = self._test.preemption
        if preemption is not None:
            return preemption.future(record, within, trim, about)
        if self._test.suspension.keeps_from(record.request):
            trim = self._beside_suspended(record.request, trim)
        return state.selector.future(
            record.request, state.holders.occupants(), state.now, within, trim=trim, about=about
        )

    def _beside_suspended(self, request: CompiledRequest, trim: Trim | None) -> Trim:
        """Return a `trim` that also gives whole nodes on which suspended jobs keep memory."""
        let_in = self._test.suspension.let_in
        return lambda free, gone: let_in(request, trim(free, gone) if trim is not None else free)

    @property
    def preempts(self) -> bool:
        """True if jobs may have to make way for others."""
        return self._test.preemption is not None

    def preempting(self, record: Record) -> bool:
        """Return True if others were stopped for the record's job in this cycle: it is tried in no other partition."""
        return self._test.being_made_room_for(record.job)

    def keeps_nodes(self, job: Job) -> bool:
        """Return True if the node space of backfill leaves out the nodes of running `job` (_bf_reserve_running).

        It does if the job has whole nodes and no job may preempt it. select/linear does not record that for its jobs.
        """
        if self.all_whole or not job.holds_whole_nodes:
            return False
        preemption = self._test.preemption
        return preemption is None or preemption.modes.mode(job) == "OFF"

    def whole_nodes(self) -> WholeNodes | None:
        """Return who holds which nodes, where all is whole nodes that jobs take by runs; None elsewhere.

        As it is now; it does not change as jobs start. Nor where jobs are suspended so that others may start.
        """
        return None if self._suspends else whole_nodes(self.state)

    def shared_nodes(self) -> SharedNodes | None:
        """Return the nodes if the kernel places shares of them and no suspended job keeps memory; else None."""
        if self._suspends or any(self.state.holders.parked.values()):
            return None
        return shared_nodes(self.state)

    @property
    def _suspends(self) -> bool:
        """True if jobs are suspended so that others may start (gang scheduling)."""
        preemption = self._test.preemption
        return preemption is not None and preemption.gang is not None

    @property
    def all_whole(self) -> bool:
        """True if every job gets whole nodes, whatever it asks for (select/linear)."""
        return self.state.table.unit == "node"

    @property
    def only_whole(self) -> bool:
        """True if every job gets whole nodes: because of the configuration, or because no job asks for less."""
        return self.all_whole or self.state.cluster.n_shares == 0

    @property
    def changes(self) -> int:
        """How often who runs, until when, or which nodes are usable has changed."""
        return self.state.selector.forgotten

    def displaces(self, record: Record) -> bool:
        """Return True if preempting running jobs would let the record's job start now."""
        preemption = self._test.preemption
        return preemption is not None and preemption.displaces(record)

    def reserved_nodes(self) -> ReservedNodes | None:
        """Return the reservations as jobs in none of them see them; None if some are of parts of nodes."""
        return None if self.state.reserved.partial else ReservedNodes(self.state)

    # -- layouts

    def units(self, job: Job, partition: Partition | None = None) -> JobUnits:
        """Return `job` as units in one of its partitions, else in the one it runs in or the first it asked for."""
        request = job.request if partition is None else job.requests[job.partitions.index(partition)]
        return units_of(request, self.state.table)

    def waits_in(self, job: Job) -> list[Partition]:
        """Partitions in which pending `job` may start: the others do not take it as it is."""
        return [record.partition for record in self.state.queue.jobs.get(job.id, ())]

    def holdings(self, job: Job) -> list[Holding]:
        """Return what the running `job` holds, node by node."""
        return holdings(job, self.state.table, self.state.selector.memory_consumable)

    def capacities(self) -> list[Unit]:
        """Return what jobs may have of each node when it is empty."""
        return capacities(self.state.table, self.state.selector.memory_consumable)

    def open_to(self, job: Job) -> Bitmap:
        """Return nodes `job` may enter now as far as others' ownership goes: up, and not another user's."""
        state = self.state
        up = state.table.up & ~self._test.completing.nodes
        if state.exclusive_users is None:
            return up
        return state.free_to(Record(job, job.partition, job.request, job.priority, False), up)

    # -- power

    @property
    def power(self) -> SeenPower | None:
        """The watts; None where nothing is known of them."""
        return None if self._watts is None else seen_power(self.state, self._watts)

    def profile(self, job: Job) -> Profile | None:
        return job.sub.profile

    def shape(self, job: Job) -> SeenShape:
        """Return the shape and the progress of the running `job`."""
        assert self._watts is not None
        return seen_shape(self.state.now, self._watts.shapes[job.id])

    def predicted_s(self, job: Job) -> float:
        """Seconds `job` is expected to take on its most nodes at full power."""
        return predicted_s(job, self._watts)

    @property
    def solving(self) -> bool:
        """True if an answer to a `Solve` is awaited."""
        return self._solves.request is not None


def sum_free_cpus(state: ControllerState, suspension: Suspension) -> int:
    """CPUs free on usable nodes; where jobs may share cores all there are, since none tells what fits."""
    table = state.table
    if table.cores is not None:
        return table.total_cpus
    crowded = suspension.crowded
    if table.up == table.everything and not crowded:
        return table.total_cpus - table.alloc_cpus
    mixed = table.mixed & table.up
    free = table.free_cpus[to_indices(mixed)] if mixed else table.free_cpus[:0]
    return table.cpus_on(table.idle & table.up) + int(free.clip(min=0).sum())
