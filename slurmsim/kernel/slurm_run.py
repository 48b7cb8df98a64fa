"""Slurm's main scheduler and backfill where a job is a row: a whole run on equal whole nodes, instant by instant.

One partition, priorities by age and size (`Priorities`) or all the same, and jobs that ask for nothing but a number of
nodes: passes and cycles come when the core's come (`Rounds`, `Cadence`), and decide what those decide. Plans are made
by `cycle`, which the policy has, too. A run of KTH takes 0.2 s of CPU here and 5.8 s by way of the core.

Source: `slurmsim.core.scheduling.main_scheduler`, `main_pass`, `slurmsim.core.state.triggers`,
`slurmsim.core.queue.recalculation`, `priority`, `found_cpus`, and `slurmsim_policies.slurm_backfill.cycle`, which name
those of Slurm.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from slurmsim.kernel.arrays import wider, zeros
from slurmsim.kernel.constants import (
    BY_MAIN,
    BY_POLICY,
    LOG_END,
    LOG_PLAN,
    LOG_REASON,
    LOG_START,
    LOG_SUBMIT,
    NO_TIME,
    PLANNED,
    SAYS_NONE,
    SAYS_PRIORITY,
    SAYS_RESOURCES,
    SEEN,
    START,
    UNLIMITED,
    UNSEEN,
)

if TYPE_CHECKING:
    from slurmsim.kernel import cycle, happenings, queue, running


STARTED = -1  # in place of the reason a job shows
MOST = 4294967295.0  # what a priority can be


def phase(time: int, period: int) -> int:
    """Return how long it is from `time`, 0 or more, to a multiple of `period`."""
    return (period - time % period) % period


class Rounds:
    """When the main scheduler makes a pass (`MainScheduler`, `Triggers`).

    Parameters
    ----------
    start, interval, delay
        When slurmctld started, sched_interval and batch_sched_delay, seconds.
    depth
        default_queue_depth.
    """

    def __init__(self, start: int, interval: int, delay: int, depth: int) -> None:
        self.start, self.interval, self.delay, self.depth = start, interval, delay, depth
        self.dirty = self.requested = self.at_once = False
        self.since = self.last = start

    def request(self, now: int) -> None:
        """Ask the loop for a pass."""
        self.dirty = True
        if not self.requested:
            self.since = now
        self.requested = True

    def catch_up(self, now: int, idle: bool) -> None:
        """Make up for the rounds before `now` that did nothing; `idle` if no job waits."""
        last = now - 1
        if idle and self.requested:
            due = max(self.last + self.delay, self.since)
            if due <= last:
                self.last = due
                self.requested = False
        if (idle or not self.dirty) and last - self.start >= self.interval:
            full = last - (last - self.start) % self.interval
            if full > self.last:
                self.last = full
                self.requested = self.requested and self.since >= full

    def is_full(self, now: int) -> bool:
        """Return True if a pass at `now` goes through the whole queue."""
        return now > self.start and (now - self.start) % self.interval == 0

    def is_due(self, now: int) -> bool:
        """Return True if a pass is due at `now`, of which note is taken."""
        if not self.dirty:
            return False
        loop = self.is_full(now) or (self.requested and now - self.last >= self.delay)
        if not (loop or self.at_once):
            return False
        if loop:
            self.last = now
            self.requested = False
        self.at_once = False
        return True

    def next_time(self, now: int) -> int:
        """Return when the next pass is due, where jobs wait."""
        if not self.dirty:
            return NO_TIME
        if self.at_once:
            return now + 1
        at = now + 1 + phase(now + 1 - self.start, self.interval)
        if self.requested:
            at = min(at, max(self.last + self.delay, now + 1))
        return at


class Cadence:
    """When backfill makes a cycle (`SlurmBackfill.next_time`).

    Parameters
    ----------
    start, interval, full_pass
        When slurmctld started, bf_interval, and sched_interval, seconds.
    """

    def __init__(self, start: int, interval: int, full_pass: int) -> None:
        self.start, self.interval, self.full_pass = start, interval, full_pass
        self.last = start  # the last cycle
        # changed, changed_at: something happened since, and when
        self.changed = False
        self.changed_at = start
        self.started = self.cut = self.left_waiting = self.left_idle = False  # of the last cycle

    def change(self, now: int) -> None:
        """Something happened."""
        self.changed = True
        self.changed_at = now

    def begin(self, now: int) -> None:
        """Take note that a cycle begins: what happened in this very second is news to the next one, too."""
        self.changed = self.changed and self.changed_at == now
        self.last = now
        self.started = self.cut = False

    def next_time(self, now: int, n_waiting: int, limit: int) -> int:
        """Return when the next cycle is due; `limit` is when the next running job reaches its limit, or `NO_TIME`."""
        soonest = self.last + self.interval
        if n_waiting == 0:
            return max(now, soonest) if self.changed or self.started else NO_TIME
        if self.started:
            return max(now, soonest)
        if self.changed:
            return max(soonest, self._after_quiet(now))
        if limit == NO_TIME:
            return NO_TIME
        if self.cut:
            return max(now, self._next_quiet(soonest))
        return max(soonest, self._after_quiet(limit))

    def _is_steady(self) -> bool:
        return self.left_idle or self.interval >= self.full_pass

    def _after_quiet(self, now: int) -> int:
        """Return the first cycle at or after `now`, counting those that were left out."""
        elapsed = now - self.last
        if not self.left_waiting or elapsed <= self.interval:
            return now
        if self._is_steady():
            return now + phase(elapsed, self.interval)
        first = self._next_quiet(self.last + self.interval)
        if first >= now:
            return now
        return max(now, now - 1 - (now - 1 - first) % self.full_pass + self.interval)

    def _next_quiet(self, soonest: int) -> int:
        """Return when the next cycle comes if nothing happens: at once, or with a full pass."""
        if self._is_steady():
            return soonest
        return soonest + phase(soonest - self.start, self.full_pass)


class Priorities:
    """Priorities by age and size, and when they are worked out anew (`Multifactor`, `Recalculation`).

    Parameters
    ----------
    start, period
        When slurmctld started, and PriorityCalcPeriod, seconds; 0 if they are never worked out anew.
    w_age, max_age
        PriorityWeightAge and PriorityMaxAge.
    asked, tried
        Weighted sizes by shape: by the CPUs a job asks for, and by those a cycle has found for it.
    """

    def __init__(
        self, start: int, period: int, w_age: float, max_age: float, asked: array[float], tried: array[float]
    ) -> None:
        self.period, self.w_age, self.max_age, self.asked, self.tried = period, w_age, max_age, asked, tried
        self.next_at = start

    def missed(self, now: int) -> int:
        """Return the last time before `now` at which they were to be worked out, and take note of it; -1 for none."""
        if self.period == 0 or self.next_at >= now:
            return -1
        at = now - 1 - (now - 1 - self.next_at) % self.period
        self.next_at = at + self.period
        return at

    def is_due(self, now: int) -> bool:
        """Return True if they are to be worked out at `now`, of which note is taken."""
        if self.period == 0 or self.next_at > now:
            return False
        self.next_at += self.period
        return True

    def of(self, shape: int, was_tried: bool, waited: int) -> int:
        """Return the priority of a job that has waited so many seconds; sums are made in slurmctld's order."""
        value = 0.0
        if self.w_age > 0:
            age = waited / self.max_age
            value = self.w_age * (age if age < 1.0 else 1.0)
        value += self.tried[shape] if was_tried else self.asked[shape]
        return int(1.0 if value < 1.0 else MOST if value > MOST else value)


class SlurmRun:
    """Jobs, the queue, who runs, and the log.

    Parameters
    ----------
    happens
        The jobs, and what happens to them.
    shapes, clean
        Of each job, the number by which `cycle` knows what it needs, and whether it ends by itself.
    cycle, who
        Makes the plans; and the jobs that run as it wants to hear of them.
    rounds, cadence, priorities
        When passes and cycles come, and in which order jobs wait.
    linear, too_late
        As `cycle.restart` has them; the former is negative under select/linear.
    """

    def __init__(
        self, happens: happenings.Happenings, shapes: array[int], clean: array[int], cycle: cycle.Cycle,
        who: running.Running, rounds: Rounds, cadence: Cadence, priorities: Priorities, linear: int, too_late: int,
    ) -> None:  # fmt: skip
        self.ids, self.submit, self.need = happens.ids, happens.submit, happens.need
        self.limit, self.run = happens.limit, happens.run
        self.log, self.ends, self.nodes = happens.log, happens.ends, happens.nodes
        self.shapes, self.clean, self.cycle, self.who = shapes, clean, cycle, who
        self.rounds, self.cadence, self.priorities = rounds, cadence, priorities
        self.linear, self.too_late = linear, too_late
        self.n, self.n_nodes = happens.n, happens.nodes.free
        self.up = [(0, happens.nodes.free)]
        self.main_passes = self.passes = self.done = self.arrived = 0
        self.wake = NO_TIME  # when passes or cycles are due, whatever happens
        # queue: who waits, in order, by a slot; rows, says, plans, ranks, tried: of each slot its job, the reason it
        # shows, the start it is planned for (-1: none), its priority, and whether a cycle has looked at it
        self.queue: queue.Queue = cycle.queue
        self.room, self.n_spare, self.n_slots = 64, 0, 0
        self.rows, self.says, self.plans = zeros(self.room), zeros(self.room), zeros(self.room)
        self.ranks, self.tried = zeros(self.room), zeros(self.room)
        self.spare = zeros(self.room)  # slots that no job has
        self.n_other = self.n_untried = 0  # so many in the queue show another reason than Priority; are not tried
        self.priority = zeros(self.n)  # of each job that has started
        self.nothing = zeros(0)

    def next_time(self) -> int:
        """Return when something happens next, `NO_TIME` if nothing does."""
        at = self.wake
        if self.ends.n > 0 and self.ends.times[0] < at:
            at = self.ends.times[0]
        if self.arrived < self.n and self.submit[self.arrived] < at:
            at = self.submit[self.arrived]
        return at

    def turn(self, now: int) -> None:
        """Let happen what is due at `now`: ends, submissions, new priorities, a pass and a cycle."""
        missed = self.priorities.missed(now)
        if missed >= 0:
            self._rank_anew(missed)
        self.rounds.catch_up(now, self.queue.n == 0)
        while self.ends.n > 0 and self.ends.times[0] == now:
            self._end(now)
        while self.arrived < self.n and self.submit[self.arrived] == now:
            self._arrive(now)
        if self.priorities.is_due(now):
            self._rank_anew(now)
        if self.rounds.is_due(now):
            self.main_passes += 1
            self._pass(now, self.rounds.is_full(now))
        if self._next_cycle(now) <= now:
            self.passes += 1
            self.cadence.begin(now)
            self._walk(now)
            self._all_tried()
            self.cadence.left_waiting = self.queue.n > 0
            self.cadence.left_idle = self.nodes.free > 0
        self.wake = self._next_cycle(now)
        if self.queue.n > 0:
            self.wake = min(self.wake, self.rounds.next_time(now))
            if self.priorities.period > 0:
                self.wake = min(self.wake, max(self.priorities.next_at, now + 1))

    def _next_cycle(self, now: int) -> int:
        return self.cadence.next_time(now, self.queue.n, self.who.ends[0] if self.who.n > 0 else NO_TIME)

    # -- who comes and goes -------------------------------------------------------------------------------------------

    def _arrive(self, now: int) -> None:
        """Put the next job into the queue."""
        row = self.arrived
        self.arrived += 1
        slot = self._new_slot()
        self.rows[slot], self.says[slot], self.plans[slot], self.tried[slot] = row, SAYS_NONE, -1, 0
        self.ranks[slot] = self.priorities.of(self.shapes[row], False, 0)
        self.n_other += 1
        self.n_untried += 1
        self.queue.tell(slot, self.shapes[row], self.limit[row], UNSEEN, UNLIMITED, 0)
        self.queue.insert(self._place(self.ranks[slot]), slot)
        self.log.note(LOG_SUBMIT, SAYS_NONE, row, now, 0, 0)
        if self.ranks[self.queue.order[0]] > self.ranks[slot]:
            self._say(slot, SAYS_PRIORITY, now)
        self.rounds.request(now)
        self.cadence.change(now)

    def _place(self, rank: int) -> int:
        """Return where a new job of that priority stands in the queue: behind those that have it, too."""
        low, high = 0, self.queue.n
        while low < high:
            middle = (low + high) >> 1
            if self.ranks[self.queue.order[middle]] >= rank:
                low = middle + 1
            else:
                high = middle
        return low

    def _new_slot(self) -> int:
        if self.n_spare > 0:
            self.n_spare -= 1
            return self.spare[self.n_spare]
        if self.n_slots == self.room:
            self.room *= 2
            self.rows, self.says = wider(self.rows, self.room), wider(self.says, self.room)
            self.plans, self.spare = wider(self.plans, self.room), wider(self.spare, self.room)
            self.ranks, self.tried = wider(self.ranks, self.room), wider(self.tried, self.room)
        self.n_slots += 1
        return self.n_slots - 1

    def _start(self, slot: int, now: int, by: int, ahead: int, n_runs: int) -> None:
        """Take note that a job runs on the last `n_runs` runs of the log; its slot is spare once out of the order."""
        row = self.rows[slot]
        self.n_other -= self.says[slot] != SAYS_PRIORITY
        self.n_untried -= self.tried[slot] == 0
        self.spare[self.n_spare] = slot
        self.n_spare += 1
        self.priority[row] = self.ranks[slot]
        end = now + self.limit[row]
        self.who.insert(end, self.ids[row], self.need[row], self.log.begins, self.log.sizes, self.log.n_runs - n_runs,
                        n_runs)  # fmt: skip
        self.ends.push(now + self.run[row], row)
        self.log.note(LOG_START, by, row, now, ahead, n_runs)
        self.cadence.change(now)

    def _end(self, now: int) -> None:
        """End the job that ends next."""
        row = self.ends.pop()
        self.who.delete(now - self.run[row] + self.limit[row], self.ids[row])
        self.nodes.take_back(row)
        self.log.note(LOG_END, SAYS_NONE, row, now, 0, 0)
        self.done += 1
        if self.clean[row]:
            self.rounds.request(now)
        else:  # its nodes clean up, and the last of them asks at once
            self.rounds.dirty = self.rounds.at_once = True
        self.cadence.change(now)

    def _say(self, slot: int, reason: int, now: int) -> None:
        if self.says[slot] != reason:
            self.n_other += (reason != SAYS_PRIORITY) - (self.says[slot] != SAYS_PRIORITY)
            self.says[slot] = reason
            self.log.note(LOG_REASON, reason, self.rows[slot], now, 0, 0)

    # -- the main scheduler -------------------------------------------------------------------------------------------

    def _pass(self, now: int, full: bool) -> None:
        """Start jobs from the head while they fit; the next one waits for nodes, and those behind it for their turn."""
        n, started = self.queue.n, 0
        while started < n and (full or started <= self.rounds.depth):
            slot = self.queue.order[0]
            row = self.rows[slot]
            if self.need[row] > self.nodes.free:
                self._say(slot, SAYS_RESOURCES, now)
                # so many of the jobs that were there are looked at
                self._say_behind((n if full else min(n, self.rounds.depth + 1)) - started, now)
                break
            self.queue.drop(0)
            self._start(slot, now, BY_MAIN, 0, self.nodes.give(row, self.need[row]))
            started += 1
        if full or n <= self.rounds.depth:
            self.rounds.dirty = self.rounds.requested

    def _say_behind(self, n: int, now: int) -> None:
        """Say of those behind the head, among the first `n`, that they wait for their turn."""
        at = 1
        while at < n and self.n_other > 1:  # the head says something else
            self._say(self.queue.order[at], SAYS_PRIORITY, now)
            at += 1

    # -- priorities ---------------------------------------------------------------------------------------------------

    def _rank_anew(self, now: int) -> None:
        """Work out all priorities anew; where some are others, the order may be one, which is news to all."""
        if self.queue.n == 0:
            return
        changed = False
        for at in range(self.queue.n):
            slot = self.queue.order[at]
            row = self.rows[slot]
            rank = self.priorities.of(self.shapes[row], self.tried[slot] != 0, now - self.submit[row])
            if rank != self.ranks[slot]:
                self.ranks[slot] = rank
                changed = True
        if changed:
            self._put_in_order()
            self.rounds.dirty = True
        self.cadence.change(now)

    def _put_in_order(self) -> None:
        """Sort the queue, in which most stand where they stood, by priority and number."""
        order = self.queue.order
        for at in range(1, self.queue.n):
            slot, k = order[at], at
            while k > 0 and self._is_before(slot, order[k - 1]):
                order[k] = order[k - 1]
                k -= 1
            order[k] = slot

    def _is_before(self, a: int, b: int) -> bool:
        if self.ranks[a] != self.ranks[b]:
            return self.ranks[a] > self.ranks[b]
        return self.rows[a] < self.rows[b]

    def _all_tried(self) -> None:
        """Take note that a cycle knows the CPUs of all jobs in the queue."""
        if self.n_untried > 0:
            for at in range(self.queue.n):
                self.tried[self.queue.order[at]] = 1
            self.n_untried = 0

    # -- backfill -----------------------------------------------------------------------------------------------------

    def _last_fitting(self) -> int:
        """Return the last job in the queue that fits into what is free, -1 for none."""
        at = self.queue.n - 1
        while at >= 0 and self.need[self.rows[self.queue.order[at]]] > self.nodes.free:
            at -= 1
        return at

    def _walk(self, now: int) -> None:
        """Make a cycle: plan the jobs in order, and start those that can start now."""
        last = self._last_fitting()
        if last < 0:
            return
        cycle, who, queue = self.cycle, self.who, self.queue
        begin = now // cycle.resolution * cycle.resolution
        end = (now + cycle.window) // cycle.resolution * cycle.resolution
        cycle.atoms.restart(who.cuts, who.n_cuts - 1)
        idle = cycle.hold(who, self.nodes.free)
        cycle.restart(self.up, idle, now, begin, end, self.linear, self.too_late, None, self.n_nodes, True)
        cycle.watch(queue, self.nothing, self.nothing, self.nothing, self.plans[queue.order[0]])
        cycle.tests = 0
        at = -1
        n_started = 0
        while at < last:
            at = cycle.walk(at + 1, last)
            last = cycle.end_of_walk
            if at > last:
                break
            if cycle.tests >= cycle.stop_at or cycle.n >= cycle.segments:
                self.cadence.cut = True
                break
            cycle.tests += 1
            slot = queue.order[at]
            if cycle.kind == START:
                self._backfill(slot, now, begin, at - n_started)
                self.says[slot] = STARTED
                n_started += 1
            elif cycle.kind == PLANNED:
                self._plan(slot, now)
                last = cycle.last_startable(at, last)
            else:
                self.plans[slot] = -1
                queue.flags[slot] = UNSEEN
        if n_started > 0:
            self.cadence.started = True
            self._leave_started()

    def _backfill(self, slot: int, now: int, begin: int, ahead: int) -> None:
        """Start the job for which the cycle has found a start now."""
        cycle, atoms, row = self.cycle, self.cycle.atoms, self.rows[slot]
        need = self.need[row]
        atoms.both(cycle.some, cycle.here, cycle.idle)
        chosen = atoms.new_set()
        atoms.pick(chosen, cycle.some, need, need)
        self.nodes.begin(row)
        n_runs = atoms.find_runs(chosen)
        for i in range(n_runs):
            self.nodes.give_run(row, atoms.run_begins[i], atoms.run_sizes[i])
        self._start(slot, now, BY_POLICY, ahead, n_runs)
        cycle.started(now + self.limit[row], self.ids[row], chosen)
        if self.linear >= 0:  # select/linear does not keep its nodes from plans
            until = (now + self.limit[row]) // cycle.resolution * cycle.resolution
            cycle.take(begin, max(until, begin + cycle.resolution), chosen)

    def _plan(self, slot: int, now: int) -> None:
        """Keep the plan that the cycle has found for a job."""
        cycle, atoms = self.cycle, self.cycle.atoms
        if self.plans[slot] < 0:
            n_runs = atoms.find_runs(cycle.chosen)
            for i in range(n_runs):
                self.log.add_run(atoms.run_begins[i], atoms.run_sizes[i])
            self.log.note(LOG_PLAN, self.says[slot], self.rows[slot], now, cycle.start, n_runs)
        self.plans[slot] = cycle.start
        self.queue.flags[slot] = SEEN
        cycle.take(cycle.first, cycle.last, cycle.chosen)

    def _leave_started(self) -> None:
        """Take those that the cycle has started out of the queue."""
        order, n = self.queue.order, 0
        for at in range(self.queue.n):
            if self.says[order[at]] != STARTED:
                order[n] = order[at]
                n += 1
        self.queue.n = n
