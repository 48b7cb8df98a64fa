"""Who runs, told to the kernel as it changes."""

from __future__ import annotations

from array import array
from typing import Any, Final

from slurmsim.kernel import load
from slurmsim.policy import WholeNodes

kernel = load("running")
alike = load("arrays").alike


_WIDE: Final = 1 << 64
_ABOVE: Final = 1 << 62


def in_order(job_id: int) -> int:
    """Return a number of 64 bits for an id, in the order of ids: those of a live cluster's array tasks are wider.

    >>> in_order(7), in_order((1 << 64) + (7 << 32) + 1) > in_order((1 << 64) + (7 << 32)) > in_order(1 << 31)
    (7, True)
    """
    return job_id if job_id < _WIDE else job_id - _WIDE + _ABOVE


class WhoRuns:
    """The jobs that run on whole nodes. A cycle finds nearly all of them where the one before left them."""

    def __init__(self) -> None:
        self.columns: Any = kernel.Running(0)  # `slurmsim.kernel.running.Running`
        self._n_nodes = 0
        self._known: list[Any] = []

    def follow(self, nodes: WholeNodes) -> Any:
        """Tell the kernel which jobs run on `nodes` now, and return the columns."""
        if nodes.n != self._n_nodes:
            self.columns, self._n_nodes, self._known = kernel.Running(nodes.n), nodes.n, []
        now: list[Any] = list(nodes.running)
        first: int
        rest: int
        first, rest = alike(self._known, now)
        n, n_before = len(now) - rest, len(self._known) - rest
        if first < max(n, n_before):
            told: list[int] = []
            for end, job_id, job in now[first:n]:
                runs = nodes.runs_of(job)
                told += (end, in_order(job_id), job.n_nodes, len(runs))
                for run in runs:
                    told += run
            self.columns.replace(first, n_before, array("q", told))
            self._known = now
        return self.columns
