"""slurmctld's main scheduler: when its passes run. The walk over the queue is `slurmsim.core.scheduling.main_pass`.

Mirrors the background loop of src/slurmctld/controller.c and job_scheduler.c (22.05). Wall-clock stops
(max_sched_time, max_rpc_cnt) are never reached in virtual time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.scheduling.main_pass import MainPass, WalkParts
from slurmsim.core.state.triggers import number
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job


class MainScheduler:
    """Triggers of passes.

    A pass is *full* (whole queue, every sched_interval) or *partial* (stops after default_queue_depth + 1 candidates).
    Partial passes come from the background loop, once a second, no sooner than batch_sched_delay after the previous
    one, when one was requested (`Triggers.request`); and at once when a job's epilog is done (`Triggers.request_now`).
    """

    def __init__(self, walk: WalkParts) -> None:
        state = walk.state
        self.state, self.triggers, self.test, self.walk = state, state.triggers, walk.test, walk
        self.interval, self.delay = self.triggers.interval, self.triggers.delay
        self.min_gap = (
            number(state.spec.scheduler_parameters, "sched_min_interval", 2) // 1_000_000
        )  # whole seconds of virtual time
        self.passes = 0
        self.last_pass = 0  # when the last walk over the queue was
        self._last_pass = state.start_time - self.min_gap
        self._full_due = False

    def _next_full(self, now: int) -> int:
        """First full pass at or after `now`; they keep the phase of slurmctld's start."""
        since = now - self.state.start_time
        return now if since and since % self.interval == 0 else now + self.interval - since % self.interval

    def next_time(self, now: int) -> int | None:
        """Return when the next pass is due, None when nothing waits for one."""
        triggers = self.triggers
        if not triggers.enabled or not triggers.dirty or not self.state.queue.jobs:
            return None
        at = self._next_full(now + 1)
        if triggers.requested:
            at = min(at, max(triggers.last_loop_pass + self.delay, now + 1))
        if triggers.at_once or self._full_due:  # sched_min_interval put it off
            at = now + 1
        return max(at, self._last_pass + self.min_gap)

    def run_if_due(self, now: int) -> None:
        """Make the pass that is due at `now`, if any."""
        triggers = self.triggers
        if not triggers.enabled or not triggers.dirty:
            return
        full = self._full_due or (
            self._next_full(now) == now and not (triggers.ticks and triggers.last_loop_pass == now)
        )
        if now - self._last_pass < self.min_gap:
            # sched_min_interval puts the pass off; a full one stays full
            self._full_due = full
            return
        loop = triggers.requested and now - triggers.last_loop_pass >= self.delay
        # with ticks the loop went round before the fact of this second that asks for it
        loop = loop and not (triggers.ticks and now <= triggers.since)
        if not (full or loop or triggers.at_once):
            return
        if loop or full:
            triggers.last_loop_pass = now
            triggers.requested = False
        triggers.at_once = self._full_due = False
        self._last_pass = now
        self.passes += 1
        self.run(full)
        # a begin time that passed is news to backfill only once a pass has noticed it
        if triggers.begun:
            triggers.begun = False
            triggers.changed = True
        if self.test.preemption is not None:
            self.follow_up()

    def follow_up(self) -> None:
        """Victims are gone within the instant: the pass their last epilog asks for."""
        preemption, triggers = self.test.preemption, self.triggers
        assert preemption is not None
        while preemption.freed:
            preemption.freed = False
            if triggers.at_once and triggers.enabled:
                triggers.at_once = False
                self.passes += 1
                self.run(full=False)

    def run(self, full: bool) -> None:
        """Walk over the queue once, to its end or as far as a partial pass goes."""
        state, triggers = self.state, self.triggers
        if self.test.completing.held_until() > state.now:
            return  # the next request or the next full pass will see to it
        self.last_pass = state.now
        accrual = self.test.accounting.accrual
        if accrual is not None:
            accrual.look(state.now)
        if state.queue.unasked:
            self._independent_now()
        self.walk.pending_reasons.show_hidden()
        triggers.came_since = False
        walk, waited = MainPass(self.walk, full), len(state.queue.jobs)
        # a full pass that is cut short, and after which the same jobs wait, would only repeat itself
        if walk.walk() or (full and not walk.started and len(state.queue.jobs) == waited):
            triggers.dirty = triggers.requested or triggers.came_since
        if state.queue.jobs and state.spec.watched and not state.event_driven:
            triggers.changed = True  # who was looked at and has to wait is news to backfill, whatever was said of him

    def _independent_now(self) -> None:
        """Clear the reason of jobs that no longer wait for a time or a job, as the queue is built (job_independent)."""
        state = self.state
        throttled: dict[int, Job] = {}
        for job in list(state.queue.unasked.values()):
            if job.reason in (Reason.BEGIN_TIME, Reason.DEPENDENCY):
                state.set_reason(job, Reason.NONE)
            elif job.never_asked and state.now - job.submit_time <= self.delay:
                job.eligible_time = state.now
                if job.accrue_time is not None:
                    job.accrue_time = state.now
                if job.array_limit:
                    throttled[job.array_key] = job
                state.queue.edited(job)
        for job in throttled.values():
            self.walk.arrays.accrue_with(job)
        state.queue.unasked.clear()
