"""One backfill engine; a policy is its reservation depth: 1 is EASY, all (None) is conservative.

Where jobs of a pool need interchangeable units (`Pool.counts`), counting decides: EASY from one shadow time, and
conservative from a profile of planned starts. Elsewhere (mixed shares of nodes, memory, GRES, features, overlapping
partitions) plans are pinned to nodes in a node space, exactly as far as the expected ends of running jobs tell. Under a
power budget jobs are planned anew at each pass, by counting if that decides but for the watts (`planned_pass`).

A job is planned with `expected_s` seconds: its limit, or what a predictor says (option ``predictor``). Then one that
runs may exceed what it was planned with. The core corrects its expected end and changes `Pool.edits`, so everything is
planned anew, and starts that were planned may move back.

`_arrivals_only` is the one shortcut: if nothing but arrivals happened since the last pass, only the new jobs can
start. It changes no decision: free units, shadow time and extra units depend on running jobs alone, and a job that
could not be backfilled at an earlier instant cannot later (now + its expected time only grows).

Who is looked at next is the pool's to say (`Pool.turns`): the queue's order, unless a policy that uses this engine
has put another one before it (`cpu_hours`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import ClassVar, Final

from slurmsim.capacity import CapacityProfile
from slurmsim.duration import format_duration
from slurmsim.policy import (
    Decision,
    Decisions,
    JobView,
    Plan,
    Policy,
    Pool,
    PoolOutlook,
    PoolsView,
    RecordView,
    Start,
    WakeAt,
)

FOREVER: Final = 1 << 62
SHORTEST: Final = "shortest"


class ReservationBackfill(Policy):
    """Backfill around the planned starts of the first `depth` blocked jobs (None: of all)."""

    depth: ClassVar[int | None] = 1
    anew = False  # of conservative: `PlannedStarts.anew`

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._shortest_first = self.options.get("order") == SHORTEST
        self._pools: dict[str, Shadow | PlannedStarts] = {}

    def schedule(self, view: PoolsView, now: int) -> Iterable[Decision]:
        pools = view.pools
        return self._pool(pools[0], now) if len(pools) == 1 else self._each(pools, now)

    def explain(self, view: PoolsView, job: JobView, now: int) -> str:
        if self.depth is None:
            return "Every waiting job keeps a planned start, which those behind it may not delay."
        pool = next((p for p in view.pools if any(record.job.id == job.id for record in p.pending)), None)
        if pool is None:
            return ""
        head = pool.pending[0].job
        start = view.earliest_start(head)
        planned = "is not planned yet" if start is None else f"is planned in {format_duration(max(start - now, 0))}"
        if head.id == job.id:
            return f"It is at the head of its queue: its start {planned}, and no other job may delay it."
        return (
            f"The job at the head of its queue {planned}: a job that starts before it has to end by then, or "
            "to need no more than what is left beside it."
        )

    def _each(self, pools: Sequence[Pool], now: int) -> Decisions:
        for pool in pools:
            yield from self._pool(pool, now)

    def _pool(self, pool: Pool, now: int) -> Iterable[Decision]:
        """Make the pass over one pool; do nothing if no job waits."""
        if not pool.pending:
            if pool.gone or pool.new:
                self._pools.pop(pool.name, None)
                pool.seen()
            return ()
        if not pool.counts:
            self._pools.pop(pool.name, None)
            return planned_pass(pool, now, self.depth, self._shortest_first)
        state = self._pools.get(pool.name)
        if state is None:
            state = self._pools[pool.name] = (
                Shadow(self._shortest_first) if self.depth == 1 else PlannedStarts(self.anew)
            )
        return state.run(pool, now)


class Shadow:
    """EASY on counts; remembers the head's shadow time and extra units as long as they hold."""

    def __init__(self, shortest_first: bool = False) -> None:
        self.shortest_first = shortest_first
        self.generation: Hashable = -1
        self.head: RecordView | None = None
        self.shadow = 0
        self.extra = 0
        self.known = False  # whether shadow and extra have been worked out for this head

    def run(self, pool: Pool, now: int) -> Iterable[Decision]:
        """One pass over `pool`."""
        if not self._arrivals_only(pool):
            return self._pass(pool, now)
        free, head = pool.free_units, self.head
        fitting = [record for record in pool.new if record.need <= free and record is not head] if free else ()
        if fitting:
            return self._backfill(pool, now, free, fitting)
        pool.seen()
        return ()

    def _pass(self, pool: Pool, now: int) -> Decisions:
        """Start from the head of the queue while it fits, then backfill the rest."""
        queue, free = pool.pending, pool.free_units
        self.head, self.known = None, False
        while queue and self.head is None:  # a start may let others into the queue, which then have their turn too
            for record in pool.turns(list(queue)):
                if not record.job.queued:  # it started in another of its partitions
                    continue
                if record.need > free or not (yield Start(record)):
                    if not record.job.queued:  # a limit of its account forbids it
                        continue
                    self.head = record
                    break
                free -= record.need
        head = self.head
        fitting = pool.fitting(free) if free else []
        if head is not None and head.need <= free:  # a limit keeps it where it is
            fitting = [record for record in fitting if record is not head]
        if fitting:
            yield from self._backfill(pool, now, free, fitting)
        else:
            self.generation = pool.generation
            pool.seen()

    def _backfill(self, pool: Pool, now: int, free: int, fitting: Sequence[RecordView]) -> Decisions:
        """Start of the `fitting` records those that do not delay the head."""
        pool.seen()  # jobs that a start lets in from here on are news
        if not self.known and self.head is not None:  # before the jobs behind it are tried
            self._find_shadow(pool, free, self.head.need)
            yield Plan(self.head, self.shadow)
        if self.shortest_first:
            fitting = sorted(fitting, key=_expected)
        for record in pool.turns(fitting):
            need = record.need
            if need > free or not (job := record.job).queued:  # it may have started in another of its partitions
                continue
            if now + job.expected_s <= self.shadow:
                if (yield Start(record)):
                    free -= need
            elif need <= self.extra and (yield Start(record)):
                free -= need
                self.extra -= need
        self.generation = pool.generation

    def _arrivals_only(self, pool: Pool) -> bool:
        return (
            self.head is not None
            and pool.generation == self.generation
            and bool(pool.pending)
            and pool.pending[0] is self.head
        )

    def _find_shadow(self, pool: Pool, free: int, need: int) -> None:
        """Earliest expected end at which the head fits; everything that ends in that very second counts."""
        returning = pool.returning
        self.known = True
        self.shadow, self.extra = FOREVER, 0  # a head that fits no more (nodes went down) blocks no other job
        at = -1
        for end, _, job in pool.releases():
            if free >= need and end != at:
                break
            at = end
            free += returning(job)
        if free >= need:
            self.shadow, self.extra = at, free - need


class PlannedStarts:
    """Conservative backfill on counts: a profile of everything running and planned.

    Parameters
    ----------
    anew
        Where a job leaves a hole, plan everything anew in queue order, which may put a planned start off, instead of
        moving plans forward.
    """

    def __init__(self, anew: bool = False) -> None:
        self.anew = anew
        self.edits: Hashable = -1
        self.profile = CapacityProfile(0, 0)
        # job id -> (planned start, order of planning, record planned: a job is planned in one of its partitions)
        self.plans: dict[int, tuple[int, int, RecordView]] = {}
        self.soonest: list[tuple[int, int, RecordView]] = []  # heap of the same entries; stale ones are skipped
        self.count = 0
        # what the moves of the last compression opened up, seen then only by jobs behind: earliest instant, level
        self.opened: tuple[int, int] = (FOREVER, 0)

    def run(self, pool: Pool, now: int) -> Decisions:
        """One pass over `pool`."""
        while True:
            if pool.edits != self.edits:
                yield from self._replan(pool, now)
            else:
                self.profile.advance(now)
                holes = [hole for job, end in pool.gone if (hole := self._leave(pool, job, end, now)) is not None]
                if holes and self.anew:
                    yield from self._replan(pool, now)
                elif holes:
                    yield from self._compress(pool, now, holes)
                for record in pool.turns(list(pool.new)):
                    if record.job.queued and record.job.id not in self.plans:
                        yield from self._plan(record, now)
            pool.seen()
            yield from self._start_due(now)
            if not (pool.new or pool.gone) and pool.edits == self.edits:
                return  # else a start has let others in

    def _replan(self, pool: Pool, now: int) -> Decisions:
        """Node events and edits: plan everything anew, in queue order."""
        self.edits = pool.edits
        self.plans.clear()
        self.soonest.clear()
        self.opened = (FOREVER, 0)
        self.profile = CapacityProfile(now, pool.free_units)
        for end, _, job in pool.releases():
            self.profile.add(max(end, now + 1), None, pool.returning(job))
        for record in pool.turns(list(pool.pending)):
            if record.job.id not in self.plans:
                yield from self._plan(record, now)

    def _plan(self, record: RecordView, now: int) -> Decisions:
        job, need = record.job, record.need
        start = self.profile.earliest(need, job.expected_s, now)
        if start is not None:  # else it needs more than is up: planned again when nodes come back
            self.profile.add(start, start + job.expected_s, -need)
            self._note(record, start)
            yield Plan(record, start)

    def _note(self, record: RecordView, start: int) -> None:
        self.count += 1
        entry = self.plans[record.job.id] = (start, self.count, record)
        heappush(self.soonest, entry)

    def _leave(self, pool: Pool, job: JobView, end: int | None, now: int) -> tuple[int, int] | None:
        """Give back what a job that left still holds in the profile; the hole it leaves, None if there is none.

        `end` is its expected end if it was running, None if it left the queue.
        """
        begin, need = now, pool.need_of(job)
        if end is None:
            planned = self.plans.pop(job.id, None)
            if planned is None:
                return None
            begin, end = planned[0], planned[0] + job.expected_s
            need = planned[2].need
        if end <= begin:
            return None
        self.profile.add(begin, end, need)
        return begin, end

    def _compress(self, pool: Pool, now: int, holes: list[tuple[int, int]]) -> Decisions:
        """Move plans forward into the holes, in queue order.

        A job can only gain where some instant before its planned start has come to hold its need since the job was
        last looked at. So jobs larger than the highest level of any hole, or planned before all of them, are passed
        over; holes are also what the moves of this pass leave, and for jobs ahead of them those of the pass before.
        """
        profile = self.profile
        first = min(self.opened[0], *[begin for begin, _ in holes])
        peak = max(self.opened[1], *[self._peak(*hole) for hole in holes])
        self.opened = (FOREVER, 0)
        for record in pool.turns(list(pool.pending)):
            job = record.job
            planned = self.plans.get(job.id)
            need = record.need
            if planned is None or planned[2] is not record or need > peak or planned[0] <= first:
                continue
            start, limit = planned[0], job.expected_s
            profile.add(start, start + limit, need)
            earlier = profile.earliest(need, limit, now)
            if earlier is None or earlier >= start:
                profile.add(start, start + limit, -need)
                continue
            profile.add(earlier, earlier + limit, -need)
            self._note(record, earlier)
            level = self._peak(start, start + limit)
            first, peak = min(first, start), max(peak, level)
            self.opened = (min(self.opened[0], start), max(self.opened[1], level))
            yield Plan(record, earlier)

    def _peak(self, begin: int, end: int) -> int:
        return self.profile.most(begin, end)

    def _start_due(self, now: int) -> Decisions:
        heap = self.soonest
        while heap and heap[0][0] <= now:
            entry = heappop(heap)
            record = entry[2]
            if self.plans.get(record.job.id) == entry:
                yield Start(record)
                del self.plans[record.job.id]
        # A compression may leave a plan at an instant at which nothing ends any more.
        while heap and self.plans.get(heap[0][2].job.id) != heap[0]:
            heappop(heap)
        if heap:
            yield WakeAt(heap[0][0])


def _expected(record: RecordView) -> int:
    return record.job.expected_s


def planned_pass(pool: Pool, now: int, depth: int | None, shortest_first: bool = False) -> Decisions:
    """One pass that plans everything anew: where nodes have to be named, or a power budget is kept beside units.

    Jobs beyond the reservation depth start only where no planned job needs what they take before they end. Plans take
    watts of a budget as they take nodes, so no later job delays one that waits for watts.
    """
    room = PoolOutlook(pool, now)
    planned = 0
    behind: list[RecordView] = []  # jobs beyond the depth, where they do not go in queue order
    for record in pool.turns(list(pool.pending)):
        if not record.job.queued:
            continue
        if depth is not None and planned >= depth:
            if shortest_first:
                behind.append(record)
            else:
                yield from _fill_in(room, record)
            continue
        found = room.earliest(record)
        if found is None:
            continue
        start, nodes = found
        if start <= now:
            outcome = yield Start(record, room.within(record))
            if outcome:
                room.started(record)
                continue
            if outcome is False and not record.job.queued:
                continue  # it could not keep its deadline, which ended it
            start = now + 1
        room.take(record, start, nodes)
        planned += 1
        yield Plan(record, start, nodes, promise=False)
    for record in sorted(behind, key=_expected):
        if record.job.queued:
            yield from _fill_in(room, record)
    pool.seen()


def _fill_in(room: PoolOutlook, record: RecordView) -> Decisions:
    """Start the record's job if no plan is in its way."""
    decision = room.start(record)
    if decision is not None and (yield decision):
        room.started(record)
