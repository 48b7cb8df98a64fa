"""The blocks of topology/block as ``scontrol show topology`` has them."""

from itertools import pairwise
from typing import Any

from slurmsim.hostlist import compress
from slurmsim.model.block import BlockTopologySpec


def block_rows(spec: BlockTopologySpec) -> list[dict[str, Any]]:
    """Return base blocks in their order, then those of each higher level, numbered as they begin (block_record.c).

    Blocks at the end that a lower level holds already are left out.
    """
    blocks = spec.blocks
    rows = [_row(0, i, [block.name], block.nodes, spec.base, aggregated=False) for i, block in enumerate(blocks)]
    sizes = [1 << level for level in spec.levels]
    index, joined = len(blocks), []
    for first in range(len(blocks)):
        for level, (below, size) in enumerate(pairwise(sizes), 1):
            rest = len(blocks) - first
            if first % size or below >= rest < size:
                continue
            mine = blocks[first : first + size]
            nodes = tuple(node for block in mine for node in block.nodes)
            joined.append(_row(level, index, [one.name for one in mine], nodes, size * spec.base, aggregated=True))
            index += 1
    return [*rows, *sorted(joined, key=lambda row: int(row["level"]))]


def _row(
    level: int, index: int, names: list[str], nodes: tuple[str, ...], size: int, *, aggregated: bool
) -> dict[str, Any]:
    return {"name": compress(names), "index": index, "level": level, "nodes": compress(list(nodes)),
            "block_size": size, "aggregated": aggregated}  # fmt: skip
