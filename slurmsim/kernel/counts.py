"""EASY where a job is a row and all that counts is how many equal units are free: a run instant by instant.

It decides what `slurmsim_policies.easy` decides around the core, or `fcfs` or `spf`, and keeps a log of it. Nothing
else is known of a job than when it is submitted, how many units it needs, its limit, and how long it runs. A run of KTH
takes 0.02 s of CPU here and 2.1 s by way of the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.kernel.arrays import zeros
from slurmsim.kernel.constants import (
    BY_POLICY,
    EASY_SHORTEST,
    FCFS,
    LOG_END,
    LOG_PLAN,
    LOG_START,
    LOG_SUBMIT,
    NO_TIME,
    SAYS_NONE,
    SHORTEST,
)

if TYPE_CHECKING:
    from slurmsim.kernel import happenings


class Counts:
    """Jobs, the queue, what runs, and the log.

    Parameters
    ----------
    happens
        The jobs, and what happens to them.
    policy
        `EASY`, `EASY_SHORTEST`, `FCFS` or `SHORTEST`.
    """

    def __init__(self, happens: happenings.Happenings, policy: int) -> None:
        self.policy = policy
        n, free = happens.n, happens.nodes.free
        self.ids, self.submit, self.need = happens.ids, happens.submit, happens.need
        self.limit, self.run = happens.limit, happens.run
        self.log, self.ends, self.nodes = happens.log, happens.ends, happens.nodes
        self.n, self.free = n, free
        self.passes = self.done = self.arrived = 0
        # queue, new: who waits, in order, and who of them came since the last pass
        self.queue, self.new, self.fitting = zeros(n + 1), zeros(n + 1), zeros(n + 1)
        self.n_queue = self.n_new = 0
        # run_end, run_row: who runs, by the end of its limit and its number; each has a node
        self.run_end, self.run_row = zeros(free + 1), zeros(free + 1)
        self.n_running = 0
        # head: the first job that waits, if the last pass found so; shadow and extra are of it where they are known;
        # planned: of each job the instant it was last planned at, and one more
        self.head = -1
        self.known = self.fresh = False
        self.shadow = self.extra = 0
        self.planned = zeros(n + 1)

    def next_time(self) -> int:
        """Return when something happens next, `NO_TIME` if nothing does."""
        at = NO_TIME
        if self.ends.n > 0:
            at = self.ends.times[0]
        if self.arrived < self.n and self.submit[self.arrived] < at:
            at = self.submit[self.arrived]
        return at

    def turn(self, now: int) -> None:
        """Let happen what is due at `now`: ends, submissions, and a pass."""
        while self.ends.n > 0 and self.ends.times[0] == now:
            self._end(now)
        while self.arrived < self.n and self.submit[self.arrived] == now:
            row = self.arrived
            self.arrived += 1
            self.queue[self.n_queue] = row
            self.n_queue += 1
            self.new[self.n_new] = row
            self.n_new += 1
            self.log.note(LOG_SUBMIT, SAYS_NONE, row, now, 0, 0)
        self.passes += 1
        self._pass(now)
        self.n_new = 0

    def _pass(self, now: int) -> None:
        """Start jobs from the head while they fit, then of the others those that do not delay it.

        If only jobs came since the last pass, only they can start.
        """
        if self.policy == SHORTEST:
            self._start_shortest(now)
            return
        if self.n_queue == 0:
            self.head = -1
            self.known = self.fresh = False
            return
        if self.head >= 0 and self.fresh and self.queue[0] == self.head:
            self._backfill(now, only_new=True)
            return
        self.head = -1
        self.known = False
        while self.n_queue > 0:
            row = self.queue[0]
            if self.need[row] > self.free:
                if self.policy != FCFS:
                    self.head = row
                    self._backfill(now, only_new=False)
                break
            self._start(now, row)
        self.fresh = True

    def _start_shortest(self, now: int) -> None:
        """Start the jobs with the shortest limit, of equal ones the first, up to one that does not fit."""
        while self.n_queue > 0:
            best = self.queue[0]
            for k in range(1, self.n_queue):
                if self.limit[self.queue[k]] < self.limit[best]:
                    best = self.queue[k]
            if self.need[best] > self.free:
                return
            self._start(now, best)

    def _backfill(self, now: int, only_new: bool) -> None:
        """Start of the jobs that fit, new ones or all, those that end before the head's shadow or leave it enough."""
        n = 0
        for k in range(self.n_new if only_new else self.n_queue):
            row = self.new[k] if only_new else self.queue[k]
            if self.need[row] <= self.free and row != self.head:
                self.fitting[n] = row
                n += 1
        if n == 0 or self.free == 0:
            return
        if not self.known:
            self._find_shadow()
            if self.planned[self.head] != self.shadow + 1:
                self.planned[self.head] = self.shadow + 1
                self.log.note(LOG_PLAN, SAYS_NONE, self.head, now, self.shadow, 0)
        if self.policy == EASY_SHORTEST:
            self._sort_fitting(n)
        for k in range(n):
            row = self.fitting[k]
            need = self.need[row]
            if need > self.free:
                continue
            if now + self.limit[row] <= self.shadow:
                self._start(now, row)
            elif need <= self.extra:
                self._start(now, row)
                self.extra -= need

    def _sort_fitting(self, n: int) -> None:
        """Put the first `n` that fit in order of their limits; those with equal ones stay in order."""
        for i in range(1, n):
            row, k = self.fitting[i], i
            while k > 0 and self.limit[self.fitting[k - 1]] > self.limit[row]:
                self.fitting[k] = self.fitting[k - 1]
                k -= 1
            self.fitting[k] = row

    def _find_shadow(self) -> None:
        """Find the earliest end by limit at which the head fits; all that ends in that second counts."""
        free, need = self.free, self.need[self.head]
        at = -1
        for k in range(self.n_running):
            if free >= need and self.run_end[k] != at:
                break
            at = self.run_end[k]
            free += self.need[self.run_row[k]]
        self.known = True
        self.shadow, self.extra = at, free - need

    def _start(self, now: int, row: int) -> None:
        """Start a job that waits."""
        position = 0
        while self.queue[position] != row:
            position += 1
        self.n_queue -= 1
        for k in range(position, self.n_queue):
            self.queue[k] = self.queue[k + 1]
        self.free -= self.need[row]
        end = now + self.limit[row]
        at = self._place(end, row)
        for k in range(self.n_running, at, -1):
            self.run_end[k] = self.run_end[k - 1]
            self.run_row[k] = self.run_row[k - 1]
        self.run_end[at] = end
        self.run_row[at] = row
        self.n_running += 1
        self.ends.push(now + self.run[row], row)
        self.log.note(LOG_START, BY_POLICY, row, now, position, self.nodes.give(row, self.need[row]))

    def _end(self, now: int) -> None:
        """End the job that ends next."""
        row = self.ends.pop()
        self.nodes.take_back(row)
        self.free += self.need[row]
        self.n_running -= 1
        for k in range(self._place(now - self.run[row] + self.limit[row], row), self.n_running):
            self.run_end[k] = self.run_end[k + 1]
            self.run_row[k] = self.run_row[k + 1]
        self.log.note(LOG_END, SAYS_NONE, row, now, 0, 0)
        self.done += 1
        self.fresh = False

    def _place(self, end: int, row: int) -> int:
        """Return the place of a job among those that run."""
        low, high, number = 0, self.n_running, self.ids[row]
        while low < high:
            middle = (low + high) // 2
            other = self.run_end[middle]
            if other < end or (other == end and self.ids[self.run_row[middle]] < number):
                low = middle + 1
            else:
                high = middle
        return low
