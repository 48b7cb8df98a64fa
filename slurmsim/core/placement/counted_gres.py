"""GRES of a job that may have one node only, counted over all nodes tried for it (_get_one_res, 26.05)."""

from __future__ import annotations

from slurmsim.core.placement.best_fit import GresNeed


class CountedGres:
    """What the nodes tried so far bring of each kind; nothing forgets those that were not taken."""

    def __init__(self, need: GresNeed | None) -> None:
        self._need = need
        self._total = [0] * len(need.counts) if need is not None else []

    def add(self, node: int, cpus: int) -> tuple[bool, bool]:
        """Add a node; return whether all counts are reached, and whether the node reaches them alone."""
        if self._need is None:
            return True, True
        brought, _ = self._need.brought(node, cpus)
        alone = True
        for k, (count, own) in enumerate(zip(self._need.counts, brought, strict=True)):
            alone = alone and own >= count
            self._total[k] += max(min(count - self._total[k], own), 1)
        return all(total >= count for total, count in zip(self._total, self._need.counts, strict=True)), alone
