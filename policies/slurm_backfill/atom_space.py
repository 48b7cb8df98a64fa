"""Sets of atoms for those who have sets of nodes: what the kernel's node space holds, asked as any is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slurmsim.bitmap import Bitmap, runs, span


class Nodes:
    """Sets of nodes, and the same as sets of atoms."""

    def __init__(self, atoms: Any) -> None:
        self._atoms = atoms
        self._made: dict[Bitmap, int] = {}

    def make(self, nodes: Bitmap) -> int:
        """Return a new set of atoms."""
        return int(self._atoms.make(runs(nodes)))

    def made(self, nodes: Bitmap) -> int:
        """Return a set of atoms that must not be changed: the same one for the same nodes."""
        found = self._made.get(nodes)
        if found is None:
            found = self._made[nodes] = self.make(nodes)
        return found

    def of(self, made: int) -> Bitmap:
        """Return the nodes of a set of atoms."""
        mask = 0
        for first, length in self._atoms.runs(made):
            mask |= span(first, length)
        return mask


class AtomSpace:
    """The kernel's node space, as a search asks for it (`slurmsim.capacity.NodeSpace`)."""

    def __init__(self, cycle: Any, nodes: Nodes) -> None:
        self._cycle, self._nodes = cycle, nodes

    @property
    def end(self) -> int:
        """Where it ends, seconds."""
        return int(self._cycle.end)

    def free_over(self, begin: int, end: int) -> Bitmap:
        """Return nodes free in every segment that ends after `begin` and begins no later than `end`; beyond it, all."""
        return -1 if begin >= self._cycle.end else self._nodes.of(self._cycle.free_over(begin, end))

    def openings(
        self, base: Bitmap, begin: int, length: int, need: int, not_before: int, *, goes_on: bool = False
    ) -> Iterator[tuple[int, int, Bitmap]]:
        """As `NodeSpace.openings`; the map never `goes_on` here."""
        cycle, made, at = self._cycle, self._nodes.made(base), begin
        while at and cycle.opening(made, at, length, need, not_before):
            yield cycle.tried, cycle.following, self._nodes.of(cycle.here)
            at = cycle.following
