"""When running jobs give their nodes back if each runs to its limit, and the moments at which backfill looks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.job import Job

ONE_BY_ONE: Final = -1  # in place of bf_window_linear: select/linear supposes one job gone after the other


class NodeReleaseTimes:
    """A snapshot of the running jobs in the order of their ends.

    Parameters
    ----------
    running
        (end by limit, id, job), ascending; ends may lie in the past.
    idle
        Nodes without a job.
    """

    __slots__ = ("_free", "_nodes", "ends", "most_free")

    def __init__(self, running: Sequence[tuple[int, int, Job]], idle: Bitmap) -> None:
        self.ends = [end for end, _, _ in running]  # end of each job by its limit, seconds
        self._nodes = [job.nodes for _, _, job in running]
        # ``most_free[p]``: nodes free once the first `p` jobs are gone, at most (exact where every job has whole nodes)
        self.most_free = list(accumulate((job.n_nodes for _, _, job in running), initial=idle.bit_count()))
        self._free = [idle]

    def free_after(self, p: int) -> Bitmap:
        """Return nodes free once the first `p` jobs are gone, where jobs hold whole nodes."""
        free = self._free
        for k in range(len(free) - 1, p):
            free.append(free[k] | self._nodes[k])
        return free[p]

    def at_ends(self, reach: Bitmap) -> Iterator[int]:
        """After every distinct end of jobs on the nodes of `reach`: how many jobs are gone once the last of them is."""
        ends, nodes = self.ends, self._nodes
        last = -1
        for k in range(len(ends)):
            if not nodes[k] & reach:
                continue
            if last >= 0 and ends[k] != ends[last]:
                yield last + 1
            last = k
        if last >= 0:
            yield last + 1

    def last_end(self, first: int, gone: int, nodes: Bitmap) -> int:
        """Return the last end of the jobs from `first` up to `gone` on one of `nodes`; that of the last if none was."""
        held = (k for k in range(gone - 1, first - 1, -1) if self._nodes[k] & nodes)
        return self.ends[next(held, gone - 1)]

    def in_batches(self, reach: Bitmap, linear: int, first: int = 0, until: int | None = None) -> Iterator[int]:
        """Return how many jobs are gone at each test of Slurm's future test (select/cons_tres _will_run_test, 22.05).

        Only jobs on the nodes of `reach` count. The first end rounded up to the next multiple of 30 s is the origin;
        the first batch reaches 30 s beyond it, later ones 60, 120, … (with bf_window_linear: 30 + `linear`,
        30 + 2 `linear`, …). A batch is tested after its last job if that one counts, else after the next that does.
        The `first` jobs do not count, nor those that end after `until`. `ONE_BY_ONE` there is a test after each job
        that counts (_will_run_test of select/linear).
        """
        ends, nodes = self.ends, self._nodes
        n = len(ends) if until is None else bisect_right(ends, until)
        if linear == ONE_BY_ONE:
            yield from (k + 1 for k in range(first, n) if nodes[k] & reach)
            return
        at = self._next(first, reach)
        if at >= n:
            return
        origin, window = ends[at] + 30 - ends[at] % 30, 30
        while at < n:
            p = bisect_right(ends, origin + window, at, n)
            if p < n and (p == at or not nodes[p - 1] & reach):  # a batch that ends without a test joins the next
                p = self._next(p, reach) + 1
            if p >= n:  # nothing follows
                last = n - 1
                while not nodes[last] & reach:
                    last -= 1
                yield last + 1
                return
            yield p
            window = window + linear if linear else window * 2
            while ends[p] > origin + window:
                window = window + linear if linear else window * 2
            at = p if nodes[p] & reach else self._next(p + 1, reach)

    def _next(self, at: int, reach: Bitmap) -> int:
        """Return the first job from `at` on with a node of `reach`."""
        nodes = self._nodes
        n = len(nodes)
        while at < n and not nodes[at] & reach:
            at += 1
        return at

    def earliest(self, need: int) -> int | None:
        """No sooner than this end can `need` nodes be free; None if they never are, or are without any end."""
        p = bisect_left(self.most_free, need)
        return self.ends[p - 1] if 0 < p <= len(self.ends) else None

    def first_with(self, need: int, mask: Bitmap, linear: int, exact: bool) -> int | None:
        """Return how many jobs must be gone for `need` nodes of `mask` to be free, None if that is never so.

        Counts what `free_after` says, at the moments of `in_batches`, or after every end when `exact`.
        """
        p = self._fewest_gone(need, mask)
        if p is None:
            return None
        if exact:
            return bisect_right(self.ends, self.ends[p - 1]) if p else 0  # jobs of one end go together
        if not p:
            p = self._next(0, mask) + 1
        return self._batch_with(p, mask, linear) if p <= len(self.ends) else None

    def _fewest_gone(self, need: int, mask: Bitmap) -> int | None:
        """Return the fewest jobs after which `need` nodes of `mask` are free; None if there are never that many.

        No fewer than those with which all nodes together are enough; and what is then still missing takes at least as
        many more as give that much back.
        """
        most = self.most_free
        p = bisect_left(most, need)
        while p < len(most):
            missing = need - (self.free_after(p) & mask).bit_count()
            if missing <= 0:
                return p
            p = bisect_left(most, most[p] + missing)
        return None

    def _batch_with(self, p: int, reach: Bitmap, linear: int) -> int:
        """Return the first moment of `in_batches` with the first `p` jobs gone; the last of them is on `reach`.

        Whether the future test was made after the job that counted before or not, its window then just reaches the job
        after that one; so nothing else of what came before matters.
        """
        if linear == ONE_BY_ONE:
            return p
        ends, nodes, n = self.ends, self._nodes, len(self.ends)
        first = ends[self._next(0, reach)]
        origin, window = first + 30 - first % 30, 30
        before = self._last(p - 1, reach)
        if before >= 0 and (beyond := ends[before + 1] - origin - 30) > 0:
            window += -(-beyond // linear) * linear if linear else (30 << (-(-beyond // 30)).bit_length()) - 30
        batch = bisect_right(ends, origin + window)
        if batch <= p:
            return p
        if nodes[batch - 1] & reach:
            return batch
        following = self._next(batch, reach)
        return (following if following < n else self._last(batch, reach)) + 1

    def _last(self, at: int, reach: Bitmap) -> int:
        """Return the last job before `at` with a node of `reach`, -1 if there is none."""
        nodes = self._nodes
        at -= 1
        while at >= 0 and not nodes[at] & reach:
            at -= 1
        return at
