"""Who has to look again: what happened since the last pass, and when the main scheduler's loop was asked for one.

Parts say what happened; when a pass follows is `scheduling.main_scheduler`'s to know, when the policy is called its
host's. Mirrors the requests of job_scheduler.c (schedule, _sched_agent, 22.05).
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmsim.core.records.job_queue import JobQueue
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy


def number(parameters: Mapping[str, str], name: str, default: int) -> int:
    """Integer SchedulerParameters option `name`; the configuration has checked it."""
    return int(parameters.get(name) or default)


class Triggers:
    """Notes of what passes have not seen yet."""

    def __init__(self, spec: ClusterSpec, queue: JobQueue, start_time: int, policy: Policy) -> None:
        parameters = spec.scheduler_parameters
        self.queue, self._start, self._policy = queue, start_time, policy
        self.now = start_time  # the controller's time, seconds
        self.interval = number(parameters, "sched_interval", 60)
        # enabled, delay, defer: whether there are passes at all (sched_interval=-1), batch_sched_delay, and ``defer``
        self.delay = number(parameters, "batch_sched_delay", 3)
        self.defer = "defer" in parameters
        self.enabled = self.interval != -1
        self.epilog = _nodes_clean_up(spec)
        self.dirty = False  # something changed since the last pass that saw the whole queue
        self.ticks = False  # facts of one instant come one after the other: the loop goes round after all of them
        self.late = False  # facts miss the loop's next round: it is on its way
        self.came_since = False  # a job came into the queue during the pass
        self.begun = False
        self.asked_at = start_time
        self.requested = False
        self.since = start_time  # when the loop was first asked since its last pass
        self.at_once = False
        self.last_loop_pass = start_time
        self._changed, self._changed_at = False, start_time

    # -- the policy -----------------------------------------------------------------------------------------------

    @property
    def changed(self) -> bool:
        """True if something happened since the policy was last called."""
        return self._changed

    @changed.setter
    def changed(self, happened: bool) -> None:
        self._changed = happened
        if happened:
            self._changed_at = self.now

    def happened(self) -> None:
        """Something did that the policy has not seen."""
        self.changed = True

    def seen_by_policy(self, *, whole_seconds: bool) -> None:
        """Note a call of the policy; with `whole_seconds` facts of this very second are news to the next call, too."""
        self.changed = self._changed and self._changed_at == self.now and whole_seconds

    # -- the main scheduler ---------------------------------------------------------------------------------------

    def request(self) -> None:
        """Something could have become runnable: a partial pass by the background loop."""
        self.asked_at = self.now
        self.dirty = True
        self._ask_loop()

    def _ask_loop(self) -> None:
        if not self.requested:
            self.since = self.now + self.late
        self.requested = True

    def request_now(self) -> None:
        """Ask for a partial pass at once, as a job's nodes are free again (with ``defer`` by the loop)."""
        self.asked_at = self.now
        self.dirty = True
        if self.defer:
            self._ask_loop()
        else:
            self.at_once = True

    def job_ended(self, *, by_itself: bool) -> None:
        """Take note that a job's nodes are free again.

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
        """Note that a begin time passed. The next pass sees it, or a cycle that runs for another reason."""
        self.dirty = self.begun = True
        if not self.queue.jobs and self.now - self.asked_at > self.delay:
            self.requested = self.at_once = False  # a pass over the empty queue has seen to it
            if self.enabled and self.now - self.asked_at > self.delay + getattr(self._policy, "interval", self.now):
                self.changed = False  # as a cycle of backfill has
        if not self.enabled:
            self.changed = True

    def came(self) -> None:
        """Take note that a job may start from now on; if it comes during a pass it has missed that one."""
        self.dirty = self.came_since = True

    def go_round(self, now: int, *, news: bool = False) -> None:
        """Make up for the rounds of the loop that were due before the facts of `now` and did nothing.

        `news`: a begin time or new priorities are due, which the round of the same second sees.

        A pass over an empty queue, or a full one where nothing changed, does nothing; but the next is not sooner than
        batch_sched_delay after it. Facts of one instant that come one after the other come after the loop's round.
        """
        last = now if self.ticks and not news else now - 1
        idle = not self.queue.jobs
        if idle and self.requested:
            due = max(self.last_loop_pass + self.delay, self.since + self.ticks)
            if due <= last:
                self.last_loop_pass, self.requested = due, False
        if (idle or not self.dirty) and last - self._start >= self.interval > 0:
            full = last - (last - self._start) % self.interval
            if full > self.last_loop_pass:
                self.last_loop_pass, self.requested = full, self.requested and self.since >= full

    def been_round(self, asked_at: int, now: int) -> bool:
        """Return True if the loop, asked at `asked_at`, has passed over an empty queue by `now`."""
        return self.last_loop_pass > asked_at or now >= max(self.last_loop_pass + self.delay, asked_at + 1)


def _nodes_clean_up(spec: ClusterSpec) -> bool:
    """Return True if the nodes of a job that ended by itself have something left to do."""
    flags = {word.casefold() for word in spec.option("PrologFlags")}
    return spec.option("Epilog") not in ("", "(null)") or not flags.isdisjoint(("contain", "x11"))  # X11: Contain
