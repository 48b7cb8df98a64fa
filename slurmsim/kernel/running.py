"""The running jobs as columns, where all is whole nodes: what a backfill cycle (`cycle`) begins with."""

from __future__ import annotations

from array import array

from slurmsim.kernel.arrays import wider, zeros


class Running:
    """Who runs on which whole nodes, by the end it is planned with, as columns that live from cycle to cycle."""

    def __init__(self, n_nodes: int) -> None:
        # n, ends, ids, sizes: the jobs in order of (end, id): how many, and how many nodes each has
        self.n = 0
        self.room = self.runs_room = 64
        self.ends, self.ids, self.sizes = zeros(self.room), zeros(self.room), zeros(self.room)
        # first, begins, lengths: their runs of nodes one behind the other; those of job k are from ``first[k]`` to
        # before ``first[k + 1]``
        self.first = zeros(self.room + 1)
        self.begins, self.lengths = zeros(self.runs_room), zeros(self.runs_room)
        self.cuts_room = 64
        # cuts, uses, n_cuts: where runs begin or end, ascending from 0 to the number of nodes, and how many of them
        # each
        self.cuts, self.uses = zeros(self.cuts_room), zeros(self.cuts_room)
        self.n_cuts = 0
        self._cut(0)
        self._cut(n_nodes)

    def replace(self, first: int, last: int, told: array[int]) -> None:
        """In place of the jobs from `first` to before `last` there are those of `told`.

        Of each in turn: end, id, how many nodes, how many runs, and of each run its first node and how many.
        """
        n_new = runs_new = i = 0
        while i < len(told):  # the cuts of new ones first: most are there
            n_runs = told[i + 3]
            n_new += 1
            runs_new += n_runs
            i += 4
            for _ in range(n_runs):
                self._cut(told[i])
                self._cut(told[i] + told[i + 1])
                i += 2
        run, run_last = self.first[first], self.first[last]
        for k in range(run, run_last):
            self._uncut(self.begins[k])
            self._uncut(self.begins[k] + self.lengths[k])
        shift, run_shift = n_new - (last - first), runs_new - (run_last - run)
        self._make_room(self.n + shift, self.first[self.n] + run_shift)
        self._shift(last, shift, run_last, run_shift)
        i = 0
        for k in range(first, first + n_new):
            self.ends[k], self.ids[k], self.sizes[k], n_runs = told[i], told[i + 1], told[i + 2], told[i + 3]
            self.first[k] = run
            i += 4
            for _ in range(n_runs):
                self.begins[run], self.lengths[run] = told[i], told[i + 1]
                run += 1
                i += 2

    def insert(
        self, end: int, number: int, size: int, begins: array[int], sizes: array[int], at: int, n_runs: int
    ) -> None:  # fmt: skip
        """Take in a job: its end, id and size, and its `n_runs` runs from `at` on in `begins` and `sizes`."""
        k = self._place(end, number)
        run = self.first[k]
        for i in range(at, at + n_runs):
            self._cut(begins[i])
            self._cut(begins[i] + sizes[i])
        self._make_room(self.n + 1, self.first[self.n] + n_runs)
        self._shift(k, 1, run, n_runs)
        self.ends[k], self.ids[k], self.sizes[k], self.first[k] = end, number, size, run
        for i in range(n_runs):
            self.begins[run + i], self.lengths[run + i] = begins[at + i], sizes[at + i]

    def delete(self, end: int, number: int) -> None:
        """Take out the job with that end and id."""
        k = self._place(end, number)
        run, last = self.first[k], self.first[k + 1]
        for i in range(run, last):
            self._uncut(self.begins[i])
            self._uncut(self.begins[i] + self.lengths[i])
        self._shift(k + 1, -1, last, run - last)

    def _place(self, end: int, number: int) -> int:
        """Return how many jobs are before one with that end and id."""
        low, high = 0, self.n
        while low < high:
            middle = (low + high) >> 1
            if self.ends[middle] < end or (self.ends[middle] == end and self.ids[middle] < number):
                low = middle + 1
            else:
                high = middle
        return low

    def _shift(self, last: int, shift: int, run_last: int, run_shift: int) -> None:
        """Jobs from `last` on are so many places further, and their runs, from `run_last` on, so many of theirs."""
        n, runs = self.n, self.first[self.n]
        if shift > 0:
            for k in range(n - last):
                self._move(n - 1 - k, n - 1 - k + shift)
        elif shift < 0:
            for k in range(last, n):
                self._move(k, k + shift)
        if run_shift > 0:
            for k in range(runs - run_last):
                at = runs - 1 - k
                self.begins[at + run_shift], self.lengths[at + run_shift] = self.begins[at], self.lengths[at]
        elif run_shift < 0:
            for at in range(run_last, runs):
                self.begins[at + run_shift], self.lengths[at + run_shift] = self.begins[at], self.lengths[at]
        self.n = n + shift
        self.first[self.n] = runs
        for k in range(last + shift, self.n + 1):
            self.first[k] += run_shift

    def _move(self, k: int, to: int) -> None:
        self.ends[to], self.ids[to], self.sizes[to] = self.ends[k], self.ids[k], self.sizes[k]
        self.first[to] = self.first[k]

    def _make_room(self, n: int, runs: int) -> None:
        """For `n` jobs and as many runs."""
        if n > self.room:
            while self.room < n:
                self.room *= 2
            room = self.room
            self.ends, self.ids, self.sizes = wider(self.ends, room), wider(self.ids, room), wider(self.sizes, room)
            self.first = wider(self.first, room + 1)
        if runs > self.runs_room:
            while self.runs_room < runs:
                self.runs_room *= 2
            self.begins, self.lengths = wider(self.begins, self.runs_room), wider(self.lengths, self.runs_room)

    def _first_from(self, at: int) -> int:
        """Return the first cut that is at `at` or beyond it."""
        low, high = 0, self.n_cuts
        while low < high:
            middle = (low + high) >> 1
            if self.cuts[middle] < at:
                low = middle + 1
            else:
                high = middle
        return low

    def _cut(self, at: int) -> None:
        """Cut at `at`, where a run begins or ends."""
        i = self._first_from(at)
        if i < self.n_cuts and self.cuts[i] == at:
            self.uses[i] += 1
            return
        if self.n_cuts == self.cuts_room:
            self.cuts_room *= 2
            self.cuts, self.uses = wider(self.cuts, self.cuts_room), wider(self.uses, self.cuts_room)
        k = self.n_cuts
        while k > i:
            self.cuts[k], self.uses[k] = self.cuts[k - 1], self.uses[k - 1]
            k -= 1
        self.cuts[i], self.uses[i] = at, 1
        self.n_cuts += 1

    def _uncut(self, at: int) -> None:
        """One of the runs that begin or end at `at` is gone."""
        i = self._first_from(at)
        self.uses[i] -= 1
        if self.uses[i]:
            return
        self.n_cuts -= 1
        for k in range(i, self.n_cuts):
            self.cuts[k], self.uses[k] = self.cuts[k + 1], self.uses[k + 1]
