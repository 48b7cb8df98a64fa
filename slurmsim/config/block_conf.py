"""topology.conf under topology/block: base blocks of nodes, and the sizes of blocks (24.11, 26.05)."""

from collections.abc import Iterable

from slurmsim.config.attributes import read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import BLOCK_KEYS
from slurmsim.config.nodes import NodeTable
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.config.topology_conf import nodes_of
from slurmsim.hostlist import natural_key
from slurmsim.model.block import BlockSpec, BlockTopologySpec

MOST_LEVELS = 16
DEFAULT_LEVELS = (0, 1, 2, 3, 4)  # where the file has no BlockSizes


def read_blocks(lines: Iterable[ConfLine], table: NodeTable, report: Report, shown: str) -> BlockTopologySpec | None:
    """Return the blocks in the order of the file; what contradicts itself becomes an error in `report`."""
    found: dict[str, BlockSpec] = {}
    sizes: ConfLine | None = None
    for line in lines:
        key = line.pairs[0].key.lower()
        if key == "blocksizes" and len(line.pairs) == 1:
            sizes = line
        elif key == "blockname":
            name = line.pairs[0].value
            if name in found:
                report.error(line.place, "BlockName", name, "this block is defined twice",
                             log=(f"fatal: Block ({name}) has already been defined",))  # fmt: skip
            found[name] = BlockSpec(name, nodes_of(read_attributes(line, BLOCK_KEYS, report), table, report))
        else:
            report.error(line.place, line.pairs[0].key, line.pairs[0].value, "opens no line here",
                         "BlockName=… Nodes=…, or BlockSizes=…")  # fmt: skip
    if not found:
        report.error(Place(shown), "TopologyPlugin", "", "topology/block needs a topology.conf with BlockName lines")
        return None
    text, place = (sizes.pairs[0].value, sizes.place) if sizes is not None else ("", Place(shown))
    return block_topology(found, text, place, table, report, ())


def block_topology(
    found: dict[str, BlockSpec], sizes: str, place: Place, table: NodeTable, report: Report, log: tuple[str, ...]
) -> BlockTopologySpec | None:
    """Return base blocks in their order with the sizes of blocks, a comma list or ""; wrong ones become errors.

    `log` is what slurmctld logs of a wrong size, () where that is not known.
    """
    base, levels = _levels(sizes, place, report, log)
    base = base or next((len(block.nodes) for block in found.values() if block.nodes), 0)
    if not base:
        report.error(place, "BlockName", "", "no block has a node, and there are no BlockSizes")
        return None
    _note_others(found, table, report, place)
    kept = [level for level in levels if 1 << level < len(found)]
    more = next((level for level in levels if 1 << level >= len(found)), None)
    written = tuple(int(word) for word in sizes.split(",")) if sizes and levels else ()
    return BlockTopologySpec(tuple(found.values()), base, tuple(kept if more is None else [*kept, more]), written)


def _levels(text: str, place: Place, report: Report, log: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the nodes a base block counts with, 0 where the file does not say, and which powers of two are blocks."""
    if not text:
        return 0, DEFAULT_LEVELS
    base, levels = 0, set()
    for word in text.split(","):
        n = int(word) if word.isdecimal() and len(word) < 10 else 0
        base = base or n
        times = n // base if n and n % base == 0 else 0
        if not times or times & (times - 1) or times.bit_length() > MOST_LEVELS:
            report.error(place, "BlockSizes", text, f"{word!r} is no size of a block",
                         "the first size, and its products with 2, 4, 8 …", log)  # fmt: skip
            return 0, ()
        levels.add(times.bit_length() - 1)
    return base, tuple(sorted(levels))


def _note_others(found: dict[str, BlockSpec], table: NodeTable, report: Report, place: Place) -> None:
    joined = {node for block in found.values() for node in block.nodes}
    loose = sorted(set(table.nodes) - joined, key=natural_key)
    if loose:
        file = Place(place.file)
        report.warning(file, "BlockName", "", f"{len(loose)} nodes are in no block (the first is {loose[0]}): "
                       "jobs get them only where no node of a block is free for them, as in Slurm")  # fmt: skip
