"""The end of a run: nothing can start any more unless something outside happens.

A run ends when every job has ended. It also ends when the rest can never start, and this module is the one place that
knows when that is. The rule has two parts:

1. Nothing goes on (`_goes_on`). No job runs or is completing. No arrival, cancel, node event, boot or stream is due. No
   begin time, deadline or core timer is to come, and no reservation that does not repeat. No job waits for usage to
   decay that could start without usage.
2. It has been so for long enough that each periodic work has been done twice: full passes, cycles of backfill, turns
   of a gang, runs of the priority thread. Reservations that repeat have had `IDLE_ROUNDS` of the longest cycle, for a
   month at most. Ages must also have reached PriorityMaxAge, if any job could have started meanwhile if it were the
   first: ages decide the order, and no order starts a job that has no place alone. Then the controller is where it was
   a period before, and stays there.

A solver's answer is awaited, but it is nothing that goes on: if it starts no job, the time above is not begun anew.

Two things never come to rest by themselves, so they get a month (`STUCK_S`). One is failures that are drawn without an
end, unless all nodes are up and have been so for the time above. The other is a policy that asks for calls at times of
its own, or asks a solver again as soon as it has an answer.
Runs that are undone again and again go on for ever, too: failures hit a long job, or nodes boot for longer than
ResumeTimeout, or a job makes others go for nodes that a limit then forbids it. Such a run ends when all jobs that ran
or were to begin for the time above have been requeued `TRIES` times since a job ended last, or something came from
outside. A job that needs more tries is as likely as not to need a million. Three things are waited for, each for a
month at most: ages, if another job waits that could start with nothing running; deadlines to come; and reservations to
come, of which one that repeats has had its `IDLE_ROUNDS`. A run with work that a checkpoint saved is not undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.accounting.usage_waits import relief_at
from slurmsim.core.reservations.book import IDLE_ROUNDS

if TYPE_CHECKING:
    from slurmsim.core.controller.controller import Controller

STUCK_S = 30 * 86400
TRIES = 100


class EndOfRun:
    """Says when nothing can start any more.

    Parameters
    ----------
    controller
        Who decides.
    due
        SimPy's queue: (when, priority, number, event).
    own, follow
        Callbacks that do not count as something outside: the controller's wake-up and a solver's answer to it; what
        follows from its decisions, as ends of jobs and boots.
    """

    def __init__(
        self, controller: Controller, due: list[Any], own: tuple[Callable[[Any], None], ...],
        follow: tuple[Callable[[Any], None], ...],
    ) -> None:  # fmt: skip
        self._controller, self._due, self._own, self._follow = controller, due, own, follow
        self.drawn: Any = None
        """The process that draws failures without an end."""
        self._last_end = controller.state.now  # when a job ended last, or something was to come from outside
        self._undone: Counter[int] = Counter()  # how often each job has been requeued since
        self._worn: set[int] = set()  # jobs that were often enough
        self._hoped = self._last_end  # when a job ran, or was to begin, that was not, or something was `_to_come`
        self._order_counts = False  # whether since then a waiting job that was not could have started if nothing ran
        self._since: int | None = None  # when what went on was over
        self._up_since: int | None = None  # the same, with all nodes up
        self._placed = False  # whether since then a waiting job could have started if it were the first
        self._period_s, self._ages_s = _period_s(controller), _ages_s(controller)

    def turned(self, now: int) -> None:
        """Take note that the controller has had its turn."""
        if self._goes_on(now):
            self._since = self._up_since = None
            self._placed = False
            return
        if self._since is None:
            self._since = now
        if self._ages_s and not self._placed:
            self._placed = self._controller.host.any_has_place()
        if self._controller.node_states.down:
            self._up_since = None
        elif self._up_since is None:
            self._up_since = now

    def advanced(self, now: int) -> None:
        """Take note that a requeued job will go on from a later checkpoint than before: it comes nearer to its end."""
        self.job_ended(now)

    def job_ended(self, now: int) -> None:
        """Take note that a job has reached its final state."""
        self._last_end = now
        self._undone.clear()
        self._worn.clear()
        self._order_counts = False

    def undone(self, job_id: int) -> None:
        """Take note that a job was requeued: its run came to nothing."""
        self._undone[job_id] += 1
        if self._undone[job_id] == TRIES:
            self._worn.add(job_id)
            self._hoped = self._controller.state.now
            self._order_counts = False

    def _in_vain(self, now: int) -> bool:
        """Return True if all that runs has been undone too often."""
        if not self._worn:
            return False
        self._look_for_hope(now)
        settled_s = self._period_s + (min(self._ages_s, STUCK_S) if self._order_counts else 0)
        if now - max(self._last_end, self._hoped) <= settled_s:
            return False
        if self._outside(but_for=self._follow):
            self.job_ended(now)
            return False
        return now - self._last_end > STUCK_S or not self._frees()

    def _look_for_hope(self, now: int) -> None:
        """Note what may end otherwise than the runs that are undone."""
        c = self._controller
        going = {job.id for _, _, job in (*c.state.running, *c.state.suspended)}
        going |= {job_id for _, job_id in c.begin_times.heap if job_id in c.state.jobs}
        if going - self._worn or (now - self._last_end <= STUCK_S and self._to_come(now)):
            self._hoped, self._order_counts = now, False
        elif self._ages_s and not self._order_counts:
            self._order_counts = c.host.any_could_start_alone(but=self._worn)

    def _to_come(self, now: int) -> bool:
        """Return True if a deadline is to come, or a reservation is to begin or to end that has not often enough."""
        c = self._controller
        if c.deadlines.next_time() is not None:
            return True
        if self._once_reserved():
            return now - self._last_end <= STUCK_S
        return now - self._last_end < self._rounds_s()

    def _once_reserved(self) -> bool:
        """Return True if there is a reservation that does not repeat."""
        return any(not reservation.repeats for reservation in self._controller.state.reserved.all)

    def _rounds_s(self) -> int:
        """Seconds in which reservations that repeat have done so often enough, 0 without any."""
        cycles = [reservation.cycle_s for reservation in self._controller.state.reserved.all]
        return min(IDLE_ROUNDS * max(cycles, default=0), STUCK_S)

    def reached(self, now: int) -> bool:
        """Return True if the end is there when the controller's turn comes at `now`, before anything happens in it."""
        if self._in_vain(now):
            return True
        if self._since is None:
            return False
        if now - self._since > STUCK_S:
            return True
        since = self._since if self.drawn is None else self._up_since
        if since is None:
            return False
        settled_s = max(self._period_s, self._rounds_s()) + (self._ages_s if self._placed else 0)
        return now - since > settled_s and not self._calls_itself(now, settled_s)

    def _calls_itself(self, now: int, settled_s: int) -> bool:
        """Return True if the policy awaits an answer, or asks to be called later than in `settled_s` seconds."""
        host = self._controller.host
        at = host.next_time(now)
        return host.solves.request is not None or (at is not None and at > now + settled_s)

    def _goes_on(self, now: int) -> bool:
        c = self._controller
        state = c.state
        if state.running or c.completing.nodes or self._outside():
            return True
        if state.timers.heap or any(job_id in state.jobs for _, job_id in c.begin_times.heap):
            return True
        return c.deadlines.next_time() is not None or self._once_reserved() or self._frees()

    def _outside(self, but_for: tuple[Callable[[Any], None], ...] = ()) -> bool:
        """Return True if anything is due but the controller's own wake-up, a drawn failure, or `but_for`."""
        drawn = self.drawn
        for _, _, _, event in self._due:
            for call in event.callbacks or ():
                if call in self._own or call in but_for:
                    continue
                if drawn is None or getattr(call, "__self__", None) is not drawn:
                    return True
        return False

    def _frees(self) -> bool:
        """Return True if usage that holds a job goes down."""
        jobs, parts = self._controller.state.jobs.values(), self._controller.accounting
        period_s = self._controller.recalculation.period_s
        if parts.book is None or period_s is None:
            return False
        return relief_at(jobs, parts.limits, parts.book, period_s) is not None


def _period_s(controller: Controller) -> int:
    """Seconds in which each periodic work of an unchanged cluster has been done twice."""
    main, policy = controller.main, controller.state.policy
    interval = getattr(policy, "interval", 0)
    turn = controller.gang.slice_s if controller.gang is not None else 0
    return 2 * max(main.interval, main.delay, int(interval or 0), controller.recalculation.period_s or 0, turn)


def _ages_s(controller: Controller) -> int:
    """Seconds after which the ages of waiting jobs change no priority any more."""
    plugin = controller.priority
    return int(getattr(plugin, "max_age", 0)) if getattr(plugin, "w_age", 0) else 0
