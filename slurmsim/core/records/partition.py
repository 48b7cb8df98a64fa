"""Partitions at run time, and pools: groups of partitions that share nodes."""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.node_columns import NodeColumns
from slurmsim.model.accounting import Qos
from slurmsim.model.partition import PartitionSpec


class Partition:
    """A partition's limits, its nodes as a mask, and its present state."""

    __slots__ = ("index", "mask", "name", "pool", "qos", "spec", "state", "tier", "total_cpus", "total_nodes")

    def __init__(self, spec: PartitionSpec, index: int, table: NodeColumns) -> None:
        self.spec, self.name, self.index = spec, spec.name, index
        self.mask: Bitmap = table.kept(from_indices(sorted(table.index[n] for n in spec.nodes)))
        self.total_nodes = self.mask.bit_count()
        # with the cores that nodes keep from jobs (build_part_bitmap, partition_mgr.c)
        self.total_cpus: int = sum([table.specs[i].cpus for i in to_indices(self.mask)])
        self.tier = spec.priority_tier
        self.state = spec.state
        self.pool = index
        self.qos: Qos | None = None  # the partition QOS, when there are accounting data

    @property
    def max_time_s(self) -> int | None:
        """MaxTime in seconds, None for none."""
        return self.spec.max_time_s

    def __repr__(self) -> str:
        return f"<Partition {self.name}>"


def assign_pools(partitions: Sequence[Partition], *, together: bool = False) -> int:
    """Set ``partition.pool`` to the number of its component of overlapping partitions; return how many there are.

    With `together` all are in one, as nodes that come later may be in any.
    """
    if together:
        for p in partitions:
            p.pool = 0
        return 1
    pools: list[tuple[Bitmap, list[Partition]]] = []
    for p in partitions:
        mask, members = p.mask, [p]
        rest = []
        for other_mask, other in pools:
            if other_mask & mask:
                mask |= other_mask
                members = other + members
            else:
                rest.append((other_mask, other))
        pools = [*rest, (mask, members)]
    pools.sort(key=lambda item: min(p.index for p in item[1]))
    for number, (_, members) in enumerate(pools):
        for p in members:
            p.pool = number
    return len(pools)
