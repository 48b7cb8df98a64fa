"""EASY where a job is a row and all that counts is how many equal nodes are free: a whole run, instant by instant.

It decides what `slurmsim_policies.easy` decides around the core, and keeps a log of it; nothing else is known of a job
than when it is submitted, how many nodes it needs, its limit, and how long it runs. Which nodes it gets follows from
the log (`slurmsim.sim.counted`). A run of KTH takes 0.02 s of CPU here and 2.1 s by way of the core.
"""

from __future__ import annotations

from array import array

from slurmsim.kernel.arrays import wider, zeros
from slurmsim.kernel.constants import LOG_END, LOG_PLAN, LOG_START, LOG_SUBMIT, NO_TIME


class Counts:
    """Jobs, the queue, what runs, and the log.

    Parameters
    ----------
    ids, submit, need, limit, run
        Of each job, by submit time: its number, the seconds it is submitted at, its limit and its run time, which is at
        least 1 and at most the limit; and how many nodes it needs.
    free
        Nodes there are.
    """

    def __init__(
        self, ids: array[int], submit: array[int], need: array[int], limit: array[int], run: array[int], free: int
    ) -> None:  # fmt: skip
        n = len(ids)
        self.ids, self.submit, self.need, self.limit, self.run = ids, submit, need, limit, run
        self.n, self.free = n, free
        # n_log, kinds, rows, times, values: what happened, in order; the value of a start is how many were before it
        # in the queue, that of a plan is when
        self.n_log = 0
        self.room = 3 * n + n // 8 + 8
        self.kinds, self.rows, self.times, self.values = (
            zeros(self.room), zeros(self.room), zeros(self.room), zeros(self.room)
        )  # fmt: skip
        self.passes = self.started = self.done = self.arrived = 0
        # queue, new: who waits, in order, and who of them came since the last pass
        self.queue, self.new, self.fitting = zeros(n + 1), zeros(n + 1), zeros(n + 1)
        self.n_queue = self.n_new = 0
        # run_end, run_row: who runs, by the end of its limit and its number; each has a node
        self.run_end, self.run_row = zeros(free + 1), zeros(free + 1)
        self.n_running = 0
        # heap_time, heap_row: a heap of ends, of one second by the order of their starts (serial)
        self.heap_time, self.heap_row, self.serial = zeros(free + 1), zeros(free + 1), zeros(n + 1)
        self.n_heap = 0
        # head: the first job that waits, if the last pass found so; shadow and extra are of it where they are known;
        # planned: of each job the instant it was last planned at, and one more
        self.head = -1
        self.known = self.fresh = False
        self.shadow = self.extra = 0
        self.planned = zeros(n + 1)

    def next_time(self) -> int:
        """Return when something happens next, `NO_TIME` if nothing does."""
        at = NO_TIME
        if self.n_heap > 0:
            at = self.heap_time[0]
        if self.arrived < self.n and self.submit[self.arrived] < at:
            at = self.submit[self.arrived]
        return at

    def turn(self, now: int) -> None:
        """Let happen what is due at `now`: ends, submissions, and a pass."""
        while self.n_heap > 0 and self.heap_time[0] == now:
            self._end(now)
        while self.arrived < self.n and self.submit[self.arrived] == now:
            row = self.arrived
            self.arrived += 1
            self.queue[self.n_queue] = row
            self.n_queue += 1
            self.new[self.n_new] = row
            self.n_new += 1
            self._note(LOG_SUBMIT, row, now, 0)
        self.passes += 1
        self._pass(now)
        self.n_new = 0

    def _pass(self, now: int) -> None:
        """Start jobs from the head while they fit, then of the others those that do not delay it.

        If only jobs came since the last pass, only they can start.
        """
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
                self.head = row
                self._backfill(now, only_new=False)
                break
            self._start(now, row)
        self.fresh = True

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
                self._note(LOG_PLAN, self.head, now, self.shadow)
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
        self.serial[row] = self.started
        self.started += 1
        self._push(now + self.run[row], row)
        self._note(LOG_START, row, now, position)

    def _end(self, now: int) -> None:
        """End the job that ends next."""
        row = self.heap_row[0]
        self._pop()
        self.free += self.need[row]
        self.n_running -= 1
        for k in range(self._place(now - self.run[row] + self.limit[row], row), self.n_running):
            self.run_end[k] = self.run_end[k + 1]
            self.run_row[k] = self.run_row[k + 1]
        self._note(LOG_END, row, now, 0)
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

    def _note(self, kind: int, row: int, time: int, value: int) -> None:
        if self.n_log == self.room:
            self.room *= 2
            self.kinds, self.rows = wider(self.kinds, self.room), wider(self.rows, self.room)
            self.times, self.values = wider(self.times, self.room), wider(self.values, self.room)
        self.kinds[self.n_log] = kind
        self.rows[self.n_log] = row
        self.times[self.n_log] = time
        self.values[self.n_log] = value
        self.n_log += 1

    def _is_sooner(self, a: int, b: int) -> bool:
        if self.heap_time[a] != self.heap_time[b]:
            return self.heap_time[a] < self.heap_time[b]
        return self.serial[self.heap_row[a]] < self.serial[self.heap_row[b]]

    def _swap(self, a: int, b: int) -> None:
        time, row = self.heap_time[a], self.heap_row[a]
        self.heap_time[a], self.heap_row[a] = self.heap_time[b], self.heap_row[b]
        self.heap_time[b], self.heap_row[b] = time, row

    def _push(self, time: int, row: int) -> None:
        at = self.n_heap
        self.heap_time[at], self.heap_row[at] = time, row
        self.n_heap += 1
        while at > 0 and self._is_sooner(at, (at - 1) // 2):
            self._swap(at, (at - 1) // 2)
            at = (at - 1) // 2

    def _pop(self) -> None:
        """Take the first off the heap."""
        self.n_heap -= 1
        self._swap(0, self.n_heap)
        at = 0
        while True:
            least, child = at, 2 * at + 1
            if child < self.n_heap and self._is_sooner(child, least):
                least = child
            if child + 1 < self.n_heap and self._is_sooner(child + 1, least):
                least = child + 1
            if least == at:
                return
            self._swap(at, least)
            at = least
