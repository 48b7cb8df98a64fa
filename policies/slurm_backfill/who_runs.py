"""Who runs, told to the kernel as it changes."""

from __future__ import annotations

from array import array
from typing import Any

from slurmsim.kernel import load
from slurmsim.policy import WholeNodes

kernel = load("cycle")


class WhoRuns:
    """The jobs that run on whole nodes, of whom a cycle finds nearly all where the one before left them.

    Attributes
    ----------
    columns
        `slurmsim.kernel.cycle.Running`.
    """

    def __init__(self) -> None:
        self.columns: Any = kernel.Running(0)
        self._n_nodes = 0
        self._known: list[Any] = []  # as objects: mypyc would make others of tuples

    def follow(self, nodes: WholeNodes) -> Any:
        """The columns, after the kernel has heard who runs on `nodes` now."""
        if nodes.n != self._n_nodes:
            self.columns, self._n_nodes, self._known = kernel.Running(nodes.n), nodes.n, []
        before = self._known
        now: list[Any] = list(nodes.running)
        n, n_before = len(now), len(before)
        least = min(n, n_before)
        first = 0
        while first < least and before[first] is now[first]:
            first += 1
        least -= first
        rest = 0  # alike at the end
        while rest < least and before[n_before - 1 - rest] is now[n - 1 - rest]:
            rest += 1
        if first + rest < max(n, n_before):
            told: list[int] = []
            for end, job_id, job in now[first : n - rest]:
                runs = nodes.runs_of(job)
                told += (end, job_id, job.n_nodes, len(runs))
                for run in runs:
                    told += run
            self.columns.replace(first, n_before - rest, array("q", told))
            self._known = now
        return self.columns
