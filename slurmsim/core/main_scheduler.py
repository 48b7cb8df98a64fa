"""slurmctld's main scheduler: when its passes run, and one walk over the queue.

Mirrors src/slurmctld/job_scheduler.c and the background loop of controller.c (22.05). Wall-clock stops
(max_sched_time, max_rpc_cnt) are never reached in virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, runs
from slurmsim.core.free_state import Supposed
from slurmsim.core.job_queue import Record
from slurmsim.core.limit_reasons import LIMIT_REASONS
from slurmsim.core.reservation_access import MAINTENANCE_TEXT
from slurmsim.states import NODES_REQUIRED_TEXT, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job
    from slurmsim.core.reservation import Reservation
    from slurmsim.core.shape import Shape
    from slurmsim.model.cluster import ClusterSpec

SCHEDULER = "Main"
MAX_BLOCKED_RESERVATIONS = 10
_key = attrgetter("key")
_MAY_BECOME_PRIORITY = (Reason.NONE, Reason.RESOURCES, NODES_REQUIRED_TEXT)


def number(parameters: Mapping[str, str], name: str, default: int) -> int:
    """Integer SchedulerParameters option `name`; the configuration has checked it."""
    return int(parameters.get(name) or default)


def _nodes_clean_up(cluster: ClusterSpec) -> bool:
    """Whether the nodes of a job that ended by itself have something left to do."""
    flags = {word.casefold() for word in cluster.option("PrologFlags")}
    return cluster.option("Epilog") not in ("", "(null)") or not flags.isdisjoint(("contain", "x11"))  # X11: Contain


class MainScheduler:
    """Triggers and the pass.

    A pass is *full* (whole queue, every sched_interval) or *partial* (stops after default_queue_depth + 1 candidates).
    Partial passes come from the background loop, once a second, no sooner than batch_sched_delay after the previous
    one, when somebody asked (`request`); and at once when a job's epilog is done (`request_now`). Which of the two an
    ending job causes depends on the configuration (`job_ended`).
    """

    def __init__(self, controller: Controller, parameters: Mapping[str, str]) -> None:
        self.c = controller
        self.interval = number(parameters, "sched_interval", 60)
        self.delay = number(parameters, "batch_sched_delay", 3)
        self.depth = number(parameters, "default_queue_depth", 100)
        self.part_depth = number(parameters, "partition_job_depth", 0)
        self.max_start = number(parameters, "sched_max_job_start", 0)
        self.min_age_reserve = number(parameters, "bf_min_age_reserve", 0)
        self.min_prio_reserve = number(parameters, "bf_min_prio_reserve", 0)
        self.defer = "defer" in parameters
        self.bf_licenses = "bf_licenses" in parameters
        self.epilog = _nodes_clean_up(controller.cluster)
        self.enabled = self.interval != -1
        self.min_gap = number(parameters, "sched_min_interval", 2) // 1_000_000  # whole seconds of virtual time
        self.dirty = False  # something changed since the last pass that saw the whole queue
        self.passes = 0
        self.last_pass = 0  # when the last walk over the queue was
        self._last_pass = controller.start_time - self.min_gap
        self._full_due = False
        self._begun = False
        self._asked_at = controller.start_time
        self._requested = False
        self._now = False
        self._last_loop_pass = controller.start_time
        # whether requests (by id of their shape) could be served by the nodes that were up when last asked
        self._up_then: Bitmap = 0
        self._served: dict[int, bool] = {}
        # nodes of jobs that share with nobody, and when that was worked out
        self._taken: Bitmap = 0
        self._taken_at = -1
        self._reordered = False  # this pass walks the queue in an order of the policy's

    # -- triggers -------------------------------------------------------------------------------------------------

    def request(self) -> None:
        """Something could have become runnable: a partial pass by the background loop."""
        self._asked_at = self.c.now
        self.dirty = True
        self._requested = True

    def request_now(self) -> None:
        """A job's nodes are free again: a partial pass at once (with ``defer`` by the loop)."""
        self._asked_at = self.c.now
        self.dirty = True
        if self.defer:
            self._requested = True
        else:
            self._now = True

    def job_ended(self, *, by_itself: bool) -> None:
        """A job's nodes are free again.

        slurmctld tells each node to clean up (agent.c, slurmd's _rpc_terminate_job). A node with an epilog to run, or
        with steps still alive, reports later, and the last report causes a pass at once. A node with nothing left to
        do answers that there is nothing to do; that only asks the loop. So it is when a job ended by itself, without
        Epilog and without the step PrologFlags=Contain keeps on every node.
        """
        if by_itself and not self.epilog:
            self.request()
        else:
            self.request_now()

    def time_came(self) -> None:
        """A begin time passed: nobody notices before the next pass, and backfill only after that."""
        self.dirty = self._begun = True
        if not self.c.queue.jobs and self.c.now - self._asked_at > self.delay:
            self._requested = self._now = False  # a pass over the empty queue has seen to it
        if not self.enabled:
            self.c.host.changed = True

    def _next_full(self, now: int) -> int:
        """First full pass at or after `now`; they keep the phase of slurmctld's start."""
        since = now - self.c.start_time
        return now if since and since % self.interval == 0 else now + self.interval - since % self.interval

    def next_time(self, now: int) -> int | None:
        """When the next pass is due, None when nothing waits for one."""
        if not self.enabled or not self.dirty or not self.c.queue.jobs:
            return None
        at = self._next_full(now + 1)
        if self._requested:
            at = min(at, max(self._last_loop_pass + self.delay, now + 1))
        if self._now or self._full_due:  # sched_min_interval put it off
            at = now + 1
        return max(at, self._last_pass + self.min_gap)

    def run_if_due(self, now: int) -> None:
        """Make the pass that is due at `now`, if any."""
        if not self.enabled or not self.dirty:
            return
        full = self._full_due or self._next_full(now) == now
        if now - self._last_pass < self.min_gap:
            self._full_due = full
            return
        loop = self._requested and now - self._last_loop_pass >= self.delay
        if not (full or loop or self._now):
            return
        if loop or full:
            self._last_loop_pass = now
            self._requested = False
        self._now = self._full_due = False
        self._last_pass = now
        self.passes += 1
        self.run(full)
        if self._begun:
            self._begun = False
            self.c.host.changed = True
        if self.c.preemption is not None:
            self.follow_up()

    def follow_up(self) -> None:
        """Victims are gone within the instant: the pass their last epilog asks for."""
        preemption = self.c.preemption
        assert preemption is not None
        while preemption.freed:
            preemption.freed = False
            if self._now and self.enabled:
                self._now = False
                self.passes += 1
                self.run(full=False)

    # -- the pass -------------------------------------------------------------------------------------------------

    def run(self, full: bool) -> None:
        """One walk over the queue in order."""
        c = self.c
        self.last_pass = c.now
        if c.accrual is not None:
            c.accrual.look(c.now)
        if c.queue.unasked:
            self._independent_now()
        limits = c.limits
        queue = c.queue.snapshot()
        records = c.host.in_order(queue)
        self._reordered = records is not queue
        usable = c.table.up
        blocked: set[int] = set()
        reservations = c.reservations
        blocked_resv: list[Reservation] = []
        per_partition: dict[int, int] = {}
        examined = started = 0
        limit = None if full else self.depth
        cut = False  # somebody was not looked at
        # (array, partition, reservation) of the record before, when its task was rejected
        array: tuple[int, int, Reservation | None] | None = None
        preemption = c.preemption
        if preemption is not None:
            preemption.in_progress.clear()
        waiting = {p.index for p in c.partitions if any(q.per_partition.get(p.index) for q in c.queue.pools)}
        for at, record in enumerate(records):
            job = record.job
            if job.state != JobState.PENDING or not job.queued:
                continue
            if preemption is not None and job.id in preemption.in_progress:
                continue  # others make room for it in another partition
            index = record.partition.index
            own = record.reservation
            if own is not None and reservations.access.too_small(record):
                continue
            is_task = job.sub.array_task_id is not None
            if is_task and array == (job.array_key, index, own):
                c.set_reason(job, records[at - 1].job.reason)
                continue
            array = (job.array_key, index, own) if is_task else None
            if self.part_depth:
                count = per_partition[index] = per_partition.get(index, 0) + 1
                if count > self.part_depth:
                    cut = True
                    if job.reason == Reason.NONE:
                        c.set_reason(job, Reason.PRIORITY)
                    continue
            if limit is not None and examined > limit:
                return
            examined += 1
            limited = c.limit_reason(job, record.partition, record.shape)
            if limited is not None:
                c.set_reason(job, limited)
                continue
            if own is not None and own in blocked_resv:
                c.set_reason(job, Reason.PRIORITY)
                continue
            if own is None and index in blocked:
                if job.reason in _MAY_BECOME_PRIORITY:
                    self._behind(record)
                if len(blocked) >= len(waiting) and self._settle_rest(records, at, limit, examined):
                    break
                continue
            if job.deadline is not None and c.deadlines.missed(job):
                continue
            if limits is not None and job.reason in LIMIT_REASONS and (held := limits.before(record)) is not None:
                c.set_reason(job, held)
                continue
            if record.shape.required & ~usable and job.reason.startswith(Reason.REQ_NODE_NOT_AVAIL):
                continue
            if (usable & record.partition.mask).bit_count() < record.shape.min_nodes:
                c.set_reason(job, NODES_REQUIRED_TEXT)
                usable = self._block(record, usable, blocked, exempt=False)
                continue
            if job.licenses and not c.licenses.free(job, own):
                c.set_reason(job, Reason.LICENSES)
                if self.bf_licenses:
                    return
                continue
            if job.bars is not None and index in job.bars:  # asked after the limits of accounts; blocks nobody
                c.set_reason(job, job.bars[index].text)
                continue
            if record.shape.switches:
                c.patience.look(job)
            held = None if limits is None else limits.before(record) or limits.too_many_nodes(record)
            time_limit = None if job.deadline is None else c.deadlines.limit(job, job.time_limit_s)
            seconds = time_limit or job.time_limit_s
            alloc = c.place_now(record, usable, seconds) if held is None else None
            if limits is not None and (held := held or limits.after(record, alloc)) is not None:
                usable = self._held(record, held, usable, blocked)
                continue
            if alloc is None and preemption is not None:
                alloc = preemption.make_room(record, c.reach(record, usable, seconds))
            if alloc is not None:
                waited = len(c.queue)
                c.start(record, alloc, SCHEDULER, time_limit)
                if c.queue.fifo and len(c.queue) >= waited:
                    # no queue was built before the walk: who may start since this start (after:ID) has its turn too
                    records[at + 1 :] = [r for r in c.queue.snapshot() if r.key > record.key]
                    waiting |= {r.partition.index for r in records[at + 1 :]}
                array = None
                started += 1
                if self.max_start and started >= self.max_start:
                    return
                continue
            if reservations.all:
                outcome = reservations.access.classify(record, usable, self._classify)
            else:
                outcome = self._classify(record, usable)
            if outcome == Reason.RESOURCES:
                c.set_reason(job, Reason.RESOURCES)
                if own is not None and record.shape.required.bit_count() < record.shape.min_nodes:
                    if len(blocked_resv) < MAX_BLOCKED_RESERVATIONS:
                        blocked_resv.append(own)
                    continue
                usable = self._block(record, usable, blocked, exempt=True)
            elif outcome == Reason.BAD_CONSTRAINTS:
                if len(job.partitions) == 1:
                    c.dequeue(job)
                    job.priority = 0
                    c.set_reason(job, Reason.BAD_CONSTRAINTS)
            else:
                c.set_reason(job, outcome)
                if own is not None and outcome in (Reason.RESERVATION, MAINTENANCE_TEXT):
                    usable &= ~own.nodes
        if not cut and (limit is None or examined <= limit):
            self.dirty = self._requested

    def _independent_now(self) -> None:
        """The queue is built: who waits for no time and no job any more says so (job_independent)."""
        c = self.c
        for job in list(c.queue.unasked.values()):
            if job.reason in (Reason.BEGIN_TIME, Reason.DEPENDENCY):
                c.set_reason(job, Reason.NONE)
        c.queue.unasked.clear()

    def _behind(self, record: Record) -> None:
        self.c.set_reason(record.job, Reason.PRIORITY)
        self.c.queue.fresh.pop(record.job.id, None)

    def _settle_rest(self, records: list[Record], at: int, limit: int | None, examined: int) -> bool:
        """Every partition with records is blocked: what is left can only get its reason set.

        Equal to walking on, and proved so by a test: nothing starts, partition limits were seen when the job came or
        changed, and of reasons only those of `fresh` jobs can change. False when that does not hold.
        """
        c = self.c
        if limit is not None and examined + len(records) - at - 1 > limit:
            return False  # the pass ends before the queue does
        if self.part_depth or self._reordered or len(c.queue.pools) > 1 or c.queue.arrange is not None:
            return False
        key = records[at].key
        rest = [record for job_id in c.queue.fresh for record in c.queue.jobs[job_id] if record.key > key]
        for record in sorted(rest, key=_key):
            job = record.job
            limited = c.limit_reason(job, record.partition, record.shape)
            if limited is not None:
                c.set_reason(job, limited)
            elif job.reason in _MAY_BECOME_PRIORITY:
                self._behind(record)
        return True

    def _held(self, record: Record, reason: str, usable: Bitmap, blocked: set[int]) -> Bitmap:
        """A limit holds a job: it blocks nobody, unless assoc_limit_stop says so or it requires its nodes by name."""
        shape, limits = record.shape, self.c.limits
        self.c.set_reason(record.job, reason)
        named = shape.required and shape.required.bit_count() >= shape.min_nodes
        if named or (limits is not None and limits.stop):
            return self._block(record, usable, blocked, exempt=True)
        return usable

    def _block(self, record: Record, usable: Bitmap, blocked: set[int], *, exempt: bool) -> Bitmap:
        """Rule B: a job that must wait keeps those behind it off its partition's nodes. Returns what stays usable."""
        job, shape = record.job, record.shape
        if shape.required and shape.required.bit_count() >= shape.min_nodes:
            return usable & ~shape.required
        if exempt:
            since = job.eligible_time
            if self.min_age_reserve and (since is None or self.c.now - since < self.min_age_reserve):
                return usable
            least = (0 if self.c.limits is None else self.c.limits.min_prio(record)) or self.min_prio_reserve
            if record.priority < least:
                return usable
        blocked.add(record.partition.index)
        return usable & ~record.partition.mask

    def _classify(self, record: Record, usable: Bitmap) -> str:
        """Why nothing was found: busy, not available, or impossible (select_nodes' second look)."""
        c, shape = self.c, record.shape
        table = c.table
        group = shape.candidates & usable & table.up
        if shape.required & ~usable:
            return self._not_available(record, usable)
        empty = Supposed.empty(table)
        empty.up = table.up
        if c.selector.place(shape, empty, usable) is not None:
            return Reason.RESOURCES
        if not c.selector.possible(shape):
            return Reason.BAD_CONSTRAINTS
        return Reason.RESOURCES if group & self._in_the_way(shape) else self._not_available(record, usable)

    def _in_the_way(self, shape: Shape) -> Bitmap:
        """Nodes whose jobs keep `shape` off them altogether: exclusive ones, or any if it shares nodes with none.

        With preemption no job does. Cores that are taken do not matter here (_pick_best_nodes, 22.05).
        """
        c = self.c
        if c.cluster.option("PreemptType") != "preempt/none":
            return 0
        if shape.exclusive:
            return c.table.everything & ~c.table.idle
        if self._taken_at != c.generation:
            self._taken_at, self._taken = c.generation, 0
            for _, _, job in (*c.running, *c.suspension.jobs):
                if job.shape.exclusive:
                    self._taken |= job.nodes
        return self._taken

    def show_unavailable(self, job: Job) -> None:
        """sbatch's own test of `job`, now queued: it names the nodes that are down if the others could not serve it.

        Nothing is said about jobs in the way, or of a limit that is named already. Array tasks are not tested.
        """
        c = self.c
        record = max(c.queue.jobs[job.id], key=lambda record: record.partition.tier)
        shape = record.shape
        if c.limit_reason(job, record.partition, shape) is not None or job.reason in LIMIT_REASONS:
            return
        up = c.table.up
        if shape.candidates & ~up and c.selector.possible(shape) and not self._could_run(shape, up):
            c.set_reason(job, self._not_available(record, up))

    def _could_run(self, shape: Shape, up: Bitmap) -> bool:
        """Whether the nodes `up`, were they free, could serve `shape`; remembered until others are."""
        if self._up_then != up:
            self._up_then = up
            self._served.clear()
        known = self._served.get(id(shape))
        if known is None:
            empty = Supposed.empty(self.c.table)
            known = self._served[id(shape)] = self.c.selector.place(shape, empty, up) is not None
        return known

    def _not_available(self, record: Record, usable: Bitmap) -> str:
        c, shape = self.c, record.shape
        missing = record.partition.mask & ~c.table.up
        if shape.required:
            missing &= shape.required
        if not missing:
            return f"{Reason.REQ_NODE_NOT_AVAIL}, May be reserved for other job"
        names = c.state.namer.runs(runs(missing))
        return f"{Reason.REQ_NODE_NOT_AVAIL}, UnavailableNodes:{names}"
