"""What runs on rows have in common: the log of what happened, the jobs that run by their ends, and free nodes by runs.

A run on rows is one of `counts` or `slurm_run`. Plain Python as its siblings.
"""

from __future__ import annotations

from array import array

from slurmsim.kernel.arrays import wider, zeros
from slurmsim.kernel.constants import LOG_KINDS, LOG_NOTES


class Log:
    """What happened, in order, and the nodes it was about as runs (begin, size)."""

    def __init__(self, n_jobs: int) -> None:
        # n, whats, rows, times, values: the entries. What happened is a kind, a note and how many runs of nodes it is
        # about (`note`); the value of a start is how many were before it in the queue, that of a plan is when
        self.n = 0
        self.room = 3 * n_jobs + n_jobs // 8 + 8
        self.whats, self.rows, self.times, self.values = (
            zeros(self.room), zeros(self.room), zeros(self.room), zeros(self.room)
        )  # fmt: skip
        # n_runs, begins, sizes: the runs of nodes of all entries, one entry behind the other
        self.n_runs = 0
        self.runs_room = n_jobs + n_jobs // 4 + 8
        self.begins, self.sizes = zeros(self.runs_room), zeros(self.runs_room)

    def note(self, kind: int, note: int, row: int, time: int, value: int, n_runs: int) -> None:
        """Add an entry, about the last `n_runs` of the runs."""
        if self.n == self.room:
            self.room += self.room // 4  # they are many
            self.whats, self.rows = wider(self.whats, self.room), wider(self.rows, self.room)
            self.times, self.values = wider(self.times, self.room), wider(self.values, self.room)
        self.whats[self.n] = (n_runs * LOG_NOTES + note) * LOG_KINDS + kind
        self.rows[self.n] = row
        self.times[self.n] = time
        self.values[self.n] = value
        self.n += 1

    def add_run(self, begin: int, size: int) -> None:
        """Add a run of nodes; `note` says what about."""
        if self.n_runs == self.runs_room:
            self.runs_room += self.runs_room // 4
            self.begins, self.sizes = wider(self.begins, self.runs_room), wider(self.sizes, self.runs_room)
        self.begins[self.n_runs] = begin
        self.sizes[self.n_runs] = size
        self.n_runs += 1


class Ends:
    """The jobs that run as a heap of their ends, those of one second in the order of their starts."""

    def __init__(self, n_jobs: int, most: int) -> None:
        self.n = self.started = 0
        self.times, self.rows = zeros(most + 1), zeros(most + 1)
        self.serial = zeros(n_jobs + 1)  # of each job, how many started before it

    def push(self, time: int, row: int) -> None:
        """Take in a job that has started."""
        self.serial[row] = self.started
        self.started += 1
        at = self.n
        self.times[at], self.rows[at] = time, row
        self.n += 1
        while at > 0 and self._is_sooner(at, (at - 1) // 2):
            self._swap(at, (at - 1) // 2)
            at = (at - 1) // 2

    def pop(self) -> int:
        """Take out the job that ends next, and return its row."""
        row = self.rows[0]
        self.n -= 1
        self._swap(0, self.n)
        at = 0
        while True:
            least, child = at, 2 * at + 1
            if child < self.n and self._is_sooner(child, least):
                least = child
            if child + 1 < self.n and self._is_sooner(child + 1, least):
                least = child + 1
            if least == at:
                return row
            self._swap(at, least)
            at = least

    def _is_sooner(self, a: int, b: int) -> bool:
        if self.times[a] != self.times[b]:
            return self.times[a] < self.times[b]
        return self.serial[self.rows[a]] < self.serial[self.rows[b]]

    def _swap(self, a: int, b: int) -> None:
        time, row = self.times[a], self.rows[a]
        self.times[a], self.rows[a] = self.times[b], self.rows[b]
        self.times[b], self.rows[b] = time, row


class FreeNodes:
    """Free nodes, all equal, as ascending runs that do not touch; and which runs each job has.

    It chooses the nodes that the core's placement chooses (`slurmsim.core.placement.best_fit.pick_equal`).

    Parameters
    ----------
    log
        Where the runs of each job are.
    chooses
        Whether it does; else it only counts, and jobs get no runs.
    """

    def __init__(self, log: Log, n_jobs: int, n_nodes: int, chooses: bool) -> None:
        self.log, self.chooses = log, chooses
        self.free = n_nodes
        # n, begins, sizes: the runs
        self.n, self.room = 1, 64
        self.begins, self.sizes = zeros(self.room), zeros(self.room)
        self.sizes[0] = n_nodes
        # first, many: of each job that has started, where its runs are in the log, and how many
        self.first, self.many = zeros(n_jobs + 1), zeros(n_jobs + 1)

    def give(self, row: int, need: int) -> int:
        """Give a job `need` nodes, of which so many are free; return how many runs they are, the last of the log.

        The tightest run that holds all that is missing, the first of such; while none does, the longest whole.
        """
        if not self.chooses:
            return 0
        first = self.log.n_runs
        while need > 0:
            best = longest = 0
            for i in range(self.n):
                size = self.sizes[i]
                if size >= need and (self.sizes[best] < need or size < self.sizes[best]):
                    best = i
                if size > self.sizes[longest]:
                    longest = i
            if self.sizes[best] < need:
                best = longest
            size = need if self.sizes[best] > need else self.sizes[best]
            self.log.add_run(self.begins[best], size)
            self._take(best, size)
            need -= size
        self._order(first)
        self.first[row] = first
        self.many[row] = self.log.n_runs - first
        return self.many[row]

    def begin(self, row: int) -> None:
        """Let the job get the runs that `give_run` gives it from now on."""
        self.first[row] = self.log.n_runs
        self.many[row] = 0

    def give_run(self, row: int, begin: int, size: int) -> None:
        """Give a job that run as well; they come in ascending order."""
        i = self._place(begin)
        skipped = begin - self.begins[i]
        if skipped:
            self._insert(i + 1, begin, self.sizes[i] - skipped)
            self.sizes[i] = skipped
            i += 1
        self._take(i, size)
        self.log.add_run(begin, size)
        self.many[row] += 1

    def take_back(self, row: int) -> None:
        """Take back the nodes of a job."""
        for k in range(self.first[row], self.first[row] + self.many[row]):
            self._put(self.log.begins[k], self.log.sizes[k])

    def _take(self, i: int, size: int) -> None:
        """Take the first nodes of run `i` out."""
        self.free -= size
        self.begins[i] += size
        self.sizes[i] -= size
        if self.sizes[i] == 0:
            self._delete(i)

    def _put(self, begin: int, size: int) -> None:
        """Let the nodes of that run be free again."""
        self.free += size
        i = self._place(begin)
        after = i + 1 < self.n and self.begins[i + 1] == begin + size
        if i >= 0 and self.begins[i] + self.sizes[i] == begin:
            self.sizes[i] += size
            if after:
                self.sizes[i] += self.sizes[i + 1]
                self._delete(i + 1)
        elif after:
            self.begins[i + 1] = begin
            self.sizes[i + 1] += size
        else:
            self._insert(i + 1, begin, size)

    def _place(self, node: int) -> int:
        """Return the last run that begins at `node` or before, -1 for none."""
        low, high = 0, self.n
        while low < high:
            middle = (low + high) // 2
            if self.begins[middle] <= node:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _insert(self, i: int, begin: int, size: int) -> None:
        if self.n == self.room:
            self.room *= 2
            self.begins, self.sizes = wider(self.begins, self.room), wider(self.sizes, self.room)
        for k in range(self.n, i, -1):
            self.begins[k], self.sizes[k] = self.begins[k - 1], self.sizes[k - 1]
        self.begins[i], self.sizes[i] = begin, size
        self.n += 1

    def _delete(self, i: int) -> None:
        self.n -= 1
        for k in range(i, self.n):
            self.begins[k], self.sizes[k] = self.begins[k + 1], self.sizes[k + 1]

    def _order(self, first: int) -> None:
        """Put the runs of the log from `first` on in ascending order."""
        log = self.log
        for i in range(first + 1, log.n_runs):
            begin, size, k = log.begins[i], log.sizes[i], i
            while k > first and log.begins[k - 1] > begin:
                log.begins[k], log.sizes[k] = log.begins[k - 1], log.sizes[k - 1]
                k -= 1
            log.begins[k], log.sizes[k] = begin, size


class Happenings:
    """The jobs as columns, and what happens to them.

    Parameters
    ----------
    ids, submit, need, limit, run
        Of each job, by submit time: its number, the seconds it is submitted at, its limit and its run time, which is at
        least 1 and at most the limit; and how many nodes it needs.
    n_nodes
        Nodes there are, or CPUs.
    chooses
        Whether it matters which of them a job gets.
    """

    def __init__(
        self, ids: array[int], submit: array[int], need: array[int], limit: array[int], run: array[int], n_nodes: int,
        chooses: bool,
    ) -> None:  # fmt: skip
        self.ids, self.submit, self.need, self.limit, self.run = ids, submit, need, limit, run
        self.n = len(ids)
        self.log = Log(self.n)
        self.ends = Ends(self.n, n_nodes)
        self.nodes = FreeNodes(self.log, self.n, n_nodes, chooses)
