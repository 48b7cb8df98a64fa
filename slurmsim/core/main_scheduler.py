"""slurmctld's main scheduler: when its passes run. The walk over the queue is `slurmsim.core.main_pass`.

Mirrors the background loop of src/slurmctld/controller.c and job_scheduler.c (22.05). Wall-clock stops
(max_sched_time, max_rpc_cnt) are never reached in virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slurmsim.core.main_pass import MainPass
from slurmsim.core.obstacles import Obstacles
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.model.cluster import ClusterSpec


def number(parameters: Mapping[str, str], name: str, default: int) -> int:
    """Integer SchedulerParameters option `name`; the configuration has checked it."""
    return int(parameters.get(name) or default)


def _nodes_clean_up(cluster: ClusterSpec) -> bool:
    """Whether the nodes of a job that ended by itself have something left to do."""
    flags = {word.casefold() for word in cluster.option("PrologFlags")}
    return cluster.option("Epilog") not in ("", "(null)") or not flags.isdisjoint(("contain", "x11"))  # X11: Contain


class MainScheduler:
    """Triggers of passes.

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
        self._came = False  # somebody came into the queue during the pass
        self.passes = 0
        self.last_pass = 0  # when the last walk over the queue was
        self._last_pass = controller.start_time - self.min_gap
        self._full_due = False
        self._begun = False
        self._asked_at = controller.start_time
        self._requested = False
        self._since = controller.start_time  # when the loop was first asked since its last pass
        self.ticks = False  # facts of one instant come one after the other: the loop goes round after all of them
        self._now = False
        self._last_loop_pass = controller.start_time
        self.obstacles = Obstacles(controller)

    # -- triggers -------------------------------------------------------------------------------------------------

    def request(self) -> None:
        """Something could have become runnable: a partial pass by the background loop."""
        self._asked_at = self.c.now
        self.dirty = True
        self._ask_loop()

    def _ask_loop(self) -> None:
        if not self._requested:
            self._since = self.c.now
        self._requested = True

    def request_now(self) -> None:
        """A job's nodes are free again: a partial pass at once (with ``defer`` by the loop)."""
        self._asked_at = self.c.now
        self.dirty = True
        if self.defer:
            self._ask_loop()
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
        """A begin time passed: nobody notices before the next pass, or a cycle that has other news."""
        self.dirty = self._begun = True
        if not self.c.queue.jobs and self.c.now - self._asked_at > self.delay:
            self._requested = self._now = False  # a pass over the empty queue has seen to it
            if self.enabled and self.c.now - self._asked_at > self.delay + getattr(
                self.c.policy, "interval", self.c.now
            ):
                self.c.host.changed = False  # as a cycle of backfill has
        if not self.enabled:
            self.c.host.changed = True

    def go_round(self, now: int) -> None:
        """The loop's rounds before the facts of `now` that nobody was woken for.

        A pass over an empty queue, or a full one where nothing changed, does nothing; but the next is not sooner than
        batch_sched_delay after it. Facts of one instant that come one after the other come after the loop's round.
        """
        last = now if self.ticks else now - 1
        idle = not self.c.queue.jobs
        if idle and self._requested:
            due = max(self._last_loop_pass + self.delay, self._since + self.ticks)
            if due <= last:
                self._last_loop_pass, self._requested = due, False
        if (idle or not self.dirty) and last - self.c.start_time >= self.interval > 0:
            full = last - (last - self.c.start_time) % self.interval
            if full > self._last_loop_pass:
                self._last_loop_pass, self._requested = full, self._requested and self._since >= full

    def been_round(self, asked_at: int, now: int) -> bool:
        """Whether the loop, asked at `asked_at`, has passed over an empty queue by `now`."""
        return self._last_loop_pass > asked_at or now >= max(self._last_loop_pass + self.delay, asked_at + 1)

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
        full = self._full_due or (self._next_full(now) == now and not (self.ticks and self._last_loop_pass == now))
        if now - self._last_pass < self.min_gap:
            self._full_due = full
            return
        loop = self._requested and now - self._last_loop_pass >= self.delay
        loop = loop and not (self.ticks and now == self._since)
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

    def run(self, full: bool) -> None:
        """Walk over the queue once, to its end or as far as a partial pass goes."""
        c = self.c
        if c.completing is not None and c.completing.held_until() > c.now:
            return  # the next request or the next full pass will see to it
        self.last_pass = c.now
        if c.accrual is not None:
            c.accrual.look(c.now)
        if c.queue.unasked:
            self._independent_now()
        self.obstacles.show_hidden()
        self._came = False
        if MainPass(self, full).walk():
            self.dirty = self._requested or self._came

    def came(self) -> None:
        """A job may start from now on; one that comes while a pass is under way has missed it."""
        self.dirty = self._came = True

    def _independent_now(self) -> None:
        """The queue is built: who waits for no time and no job any more says so (job_independent)."""
        c = self.c
        for job in list(c.queue.unasked.values()):
            if job.reason in (Reason.BEGIN_TIME, Reason.DEPENDENCY):
                c.set_reason(job, Reason.NONE)
            elif job.never_asked and c.now - job.submit_time <= self.delay:
                job.eligible_time = c.now
                if c.recalculation.columns is not None:
                    c.recalculation.columns.edited(job)
        c.queue.unasked.clear()
