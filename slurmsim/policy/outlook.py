"""When a job could start beside plans: what running and planned jobs leave of a cluster, by their expected ends."""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile, NodeSpace
from slurmsim.policy.cluster import JobView, RecordView
from slurmsim.policy.decisions import Start
from slurmsim.policy.pools import Pool, PoolsView

FOREVER: Final = 1 << 62


class Outlook:
    """The cluster from now on, with the running jobs and with those that are planned on it.

    It is a picture of one instant: make a new one in each call of `schedule`. Jobs that are planned in several
    partitions are planned in the one where they start first. Where only counting decides, nodes are not named; else a
    plan has nodes. A power budget is kept. ::

        outlook = Outlook(view)
        for job in view.pending:
            start = outlook.start(job)
            if start is not None and (yield start):
                outlook.started(job)
            elif (time := outlook.plan(job)) is not None:
                yield Plan(job, time)
    """

    def __init__(self, view: PoolsView) -> None:
        self._now = view.now
        self._places: dict[int, list[tuple[PoolOutlook, RecordView]]] = {}
        for pool in view.pools:
            outlook = PoolOutlook(pool, view.now)
            for record in pool.pending:
                self._places.setdefault(record.job.id, []).append((outlook, record))
        self._begun: dict[int, tuple[PoolOutlook, RecordView]] = {}  # by job id: where `start` said it may start

    def earliest_start(self, job: JobView) -> int | None:
        """Return when `job` could start beside all that is planned: now or later; None while nodes are missing.

        `job` waits in the queue; None for another one.
        """
        found = self._earliest(job)
        return None if found is None else found[0]

    def start(self, job: JobView) -> Start | None:
        """Return the decision to start `job` now on what no plan needs while it would run; None if there is none."""
        for outlook, record in self._places.get(job.id, ()):
            decision = outlook.start(record)
            if decision is not None:
                self._begun[job.id] = outlook, record
                return decision
        return None

    def started(self, job: JobView) -> None:
        """Take note that the decision of `start` was carried out. Raises ValueError if there was none."""
        if job.id not in self._begun:
            raise ValueError(f"job {job.id} was not started as this outlook says (expected start(job) first)")
        outlook, record = self._begun.pop(job.id)
        outlook.started(record)

    def plan(self, job: JobView) -> int | None:
        """Plan `job` where it could start first, in the next second at the earliest; return when, None if nowhere."""
        found = self._earliest(job)
        if found is None:
            return None
        time, nodes, outlook, record = found
        time = max(time, self._now + 1)
        outlook.take(record, time, nodes)
        return time

    def _earliest(self, job: JobView) -> tuple[int, Bitmap, PoolOutlook, RecordView] | None:
        best: tuple[int, Bitmap, PoolOutlook, RecordView] | None = None
        for outlook, record in self._places.get(job.id, ()):
            found = outlook.earliest(record)
            if found is not None and (best is None or found[0] < best[0]):
                best = *found, outlook, record
        return best


class PoolOutlook:
    """What is left of one pool: units or nodes, and the watts of a budget."""

    def __init__(self, pool: Pool, now: int) -> None:
        self.pool, self.now = pool, now
        self._free: _Pinned | _Counted = _Counted(pool, now) if pool.alike else _Pinned(pool, now)
        self._watts = pool.watts_left()

    def earliest(self, record: RecordView) -> tuple[int, Bitmap] | None:
        """Return the earliest start from which all that the record's job needs lasts, and its nodes (0: not named)."""
        found = self._free.earliest(record, self.now)
        if self._watts is None:
            return found
        draw, limit = self.pool.watts_of(record), record.job.expected_s
        while found is not None:
            start = self._watts.earliest(draw, limit, found[0])
            if start is None or start == found[0]:
                return None if start is None else found
            found = self._free.earliest(record, start)
        return None

    def take(self, record: RecordView, start: int, nodes: Bitmap) -> None:
        """Plan the record's job from `start` on."""
        self._free.take(record, start, nodes)
        self._draw(record, start)

    def started(self, record: RecordView) -> None:
        """Take note that the record's job has started now."""
        self._free.started(record)
        self._draw(record, self.now)

    def start(self, record: RecordView) -> Start | None:
        """Return a start now that delays no plan; None if there is none."""
        return self._free.start(record) if self._watts is None or self._watts_last(record) else None

    def within(self, record: RecordView) -> Bitmap | None:
        """Return the nodes that no plan needs while the record's job would run now; None where counting decides."""
        return self._free.within(record) if isinstance(self._free, _Pinned) else None

    def _draw(self, record: RecordView, start: int) -> None:
        if self._watts is not None:
            self._watts.add(start, start + record.job.expected_s, -self.pool.watts_of(record))

    def _watts_last(self, record: RecordView) -> bool:
        """Return True if what the record's job draws is free from now until it ends."""
        assert self._watts is not None
        draw = self.pool.watts_of(record)
        return draw <= self._watts.free[0] and self._watts.earliest(draw, record.job.expected_s, self.now) == self.now


class _Pinned:
    """Where plans are pinned to nodes: a node space, and what the core forecasts on its sets."""

    def __init__(self, pool: Pool, now: int) -> None:
        self.pool, self.now = pool, now
        self.space = NodeSpace(now, FOREVER, pool.available())
        for begin, end, nodes in pool.closed():
            self.space.take(begin, end, nodes)

    def earliest(self, record: RecordView, begin: int) -> tuple[int, Bitmap] | None:
        """Return the earliest start from `begin` on, and nodes, given running jobs' expected ends and the plans.

        Nodes busy now are preferred for a start in the future: idle ones stay free for backfill.
        """
        pool, space = self.pool, self.space
        limit = record.job.expected_s
        failed: Bitmap | None = None
        for after, within in space.windows(begin, limit):
            if within == failed:
                continue
            found = pool.future(record, within, exact=True)
            if found is None:
                failed = within
                continue
            start, nodes = max(found.start, after), found.nodes
            if start > self.now:
                busy = pool.future(record, within & pool.busy(), exact=True)
                if busy is not None and busy.start <= start:
                    nodes = busy.nodes
            if start == after or nodes & ~space.free_over(start, start + limit - 1) == 0:
                return start, nodes
        return None

    def take(self, record: RecordView, start: int, nodes: Bitmap) -> None:
        """Plan the record's job."""
        self.space.take(start, start + record.job.expected_s, nodes)

    def started(self, record: RecordView) -> None:
        """Take note that the record's job has started; the core forecasts with it."""

    def start(self, record: RecordView) -> Start | None:
        """Return a start now that delays no plan, or None."""
        within = self.within(record)
        return Start(record, within) if self.pool.fits(record, within) else None

    def within(self, record: RecordView) -> Bitmap:
        """Return the nodes that no plan needs while the record's job would run."""
        return self.space.free_over(self.now, self.now + record.job.expected_s - 1)


class _Counted:
    """Where counting decides but for the watts: units free over time."""

    def __init__(self, pool: Pool, now: int) -> None:
        self.now = now
        ends: dict[int, int] = {}
        for end, _, job in pool.releases():
            end = max(end, now + 1)
            ends[end] = ends.get(end, 0) + pool.returning(job)
        self.profile = CapacityProfile.of_steps(
            [now, *sorted(ends)], [*accumulate((ends[end] for end in sorted(ends)), initial=pool.free_units)]
        )

    def earliest(self, record: RecordView, begin: int) -> tuple[int, Bitmap] | None:
        """Return the earliest start from `begin` on; nodes are not named."""
        start = self.profile.earliest(record.need, record.job.expected_s, begin)
        return None if start is None else (start, 0)

    def take(self, record: RecordView, start: int, nodes: Bitmap) -> None:
        """Plan the record's job."""
        self.profile.add(start, start + record.job.expected_s, -record.need)

    def started(self, record: RecordView) -> None:
        """Take note that the record's job has started."""
        self.take(record, self.now, 0)

    def start(self, record: RecordView) -> Start | None:
        """Return a start now that delays no plan, or None."""
        if record.need > self.profile.free[0] or self.earliest(record, self.now) != (self.now, 0):
            return None
        return Start(record)
