"""What running and pending jobs use of one association, of one QOS, or of one user or account within a QOS.

Mirrors the counters of assoc_mgr (22.05): jobs, submitted jobs, TRES in use, distinct nodes, and the TRES-seconds
running jobs may still use up to their limits, which shrink only when the priority thread runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from slurmsim.bitmap import Bitmap

# slurmctld's order of the built-in TRES: the first violated one in this order names the reason
_ORDER: Final = {
    name: i for i, name in enumerate(("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"))
}


class TrackedTres:
    """The TRES some limit speaks of, in Slurm's order; amounts are lists of ints in that order.

    Parameters
    ----------
    names
        TRES by lower-cased name, in any order.
    """

    __slots__ = ("billing", "index", "names", "node")

    def __init__(self, names: Iterable[str]) -> None:
        found = sorted(set(names), key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
        self.names = tuple(found)
        self.index = {name: i for i, name in enumerate(found)}
        self.node = self.index.get("node", -1)
        self.billing = self.index.get("billing", -1)

    def __len__(self) -> int:
        return len(self.names)


class UsageCounters:
    """Counters of one ledger."""

    __slots__ = ("_more", "jobs", "nodes", "owed_s", "submitted", "tres", "tres_node")

    def __init__(self, tracked: TrackedTres) -> None:
        # jobs, submitted: running jobs; pending and running jobs
        self.jobs = self.submitted = 0
        self.tres = [0] * len(tracked)  # in use by running jobs; of ``node`` the distinct nodes
        self.owed_s = [0.0] * len(tracked)  # TRES-seconds running jobs may still use, times the usage factor
        self.tres_node = tracked.node
        self.nodes: Bitmap = 0  # the nodes in use, if a limit counts them
        self._more: list[Bitmap] = []  # those in use by two jobs at least, by three, …; most nodes have one

    def begin(self, tres: Sequence[int], mask: Bitmap) -> None:
        """Count a job that starts with these amounts on the nodes of `mask`."""
        self.jobs += 1
        mine = self.tres
        for i, amount in enumerate(tres):
            mine[i] += amount
        if self.tres_node >= 0:
            again = self.nodes & mask
            self.nodes |= mask
            if again:  # else they have been added with the rest
                mine[self.tres_node] = self.nodes.bit_count()
            level = 0
            while again:
                if level == len(self._more):
                    self._more.append(0)
                here = self._more[level]
                self._more[level] = here | again
                again &= here
                level += 1

    def end(self, tres: Sequence[int], mask: Bitmap) -> None:
        """Take back what `begin` counted."""
        self.jobs -= 1
        mine = self.tres
        for i, amount in enumerate(tres):
            mine[i] -= amount
        if self.tres_node < 0:
            return
        if not self._more:  # no other job had its nodes
            self.nodes ^= self.nodes & mask
            return
        left = mask
        for level in range(len(self._more) - 1, -1, -1):
            here = self._more[level]
            gone = here & left
            if gone:
                self._more[level] = here ^ gone
                left ^= gone
        self.nodes ^= self.nodes & left
        while self._more and not self._more[-1]:
            self._more.pop()
        mine[self.tres_node] = self.nodes.bit_count()

    def owe(self, owed_s: Sequence[float], sign: int) -> None:
        """Add (+1) or take away (-1) what a job may still use."""
        mine = self.owed_s
        for i, amount in enumerate(owed_s):
            mine[i] += sign * amount

    def counts(self) -> tuple[int, int, list[int], Bitmap]:
        """Jobs, submitted jobs, TRES in use and nodes, to compare with a recount."""
        return self.jobs, self.submitted, self.tres, self.nodes
