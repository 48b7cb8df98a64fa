"""The order of a job's nodes in its network, in which 26.05 gives them to steps and numbers the tasks of steps.

Mirrors topology_p_get_rank of the topology plugins: blocks one after the other, rings round from where the job begins
on them, tori along a Z-order curve, and flat networks by name where topology.yaml has alpha_step_rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from slurmsim.hostlist import natural_key
from slurmsim.model.block import BlockTopologySpec
from slurmsim.model.topology import Point, RingSpec, TopologySpec, TorusSpec

Rank = tuple[int, int]
"""Which unit of the network a node is in, and its place there."""

NOWHERE: Rank = (0, 0)  # nodes of no unit are counted with the first
_MOST_BITS = 16  # of a place on a Z-order curve


def node_ranks(network: TopologySpec, names: Sequence[str]) -> list[Rank] | None:
    """Return the rank of each of a job's nodes; None where their own order counts."""
    if len(names) < 2:
        return None
    if network.blocks is not None:
        return _by_blocks(network.blocks, names)
    if network.rings:
        return _by_rings(network.rings, names)
    if network.toruses:
        return _by_toruses(network.toruses, names)
    if network.alpha_step_rank:
        order = sorted(names, key=natural_key)
        return [(0, order.index(name)) for name in names]
    return None


def _by_blocks(blocks: BlockTopologySpec, names: Sequence[str]) -> list[Rank]:
    found: dict[str, Rank] = {}
    for i, block in enumerate(blocks.blocks):
        for name in block.nodes:
            found.setdefault(name, (i, 0))
    return [found.get(name, NOWHERE) for name in names]


def _by_rings(rings: Sequence[RingSpec], names: Sequence[str]) -> list[Rank]:
    found: dict[str, Rank] = {}
    for i, ring in enumerate(rings):
        start = _start([node in names for node in ring.nodes])
        for k, name in enumerate(ring.nodes):
            found.setdefault(name, (i, (k - start) % len(ring.nodes)))
    return [found.get(name, NOWHERE) for name in names]


def _start(held: Sequence[bool]) -> int:
    """Return where what a job holds of a ring begins.

    >>> _start([True, False, True, True]), _start([False, True, True, False]), _start([True, True])
    (2, 0, 0)
    """
    if not held or not held[0] or not held[-1] or all(held):
        return 0
    gap = held.index(False)
    return next((k for k in range(gap + 1, len(held)) if held[k]), 0)


def _by_toruses(toruses: Sequence[TorusSpec], names: Sequence[str]) -> list[Rank]:
    found: dict[str, Rank] = {}
    for i, torus in enumerate(toruses):
        at = {name: torus.place_of(cell) for cell, name in enumerate(torus.cells) if name}
        mine = [at[name] for name in names if name in at]
        if not mine:
            continue
        whole = len(mine) == len(at)
        arcs = [_arc({place[k] for place in mine}, torus.dims[k]) for k in range(3)]
        spans = torus.dims if whole else tuple(span for _, span in arcs)
        begin = (0, 0, 0) if whole else tuple(start for start, _ in arcs)
        for name in names:
            if name in at:
                x, y, z = ((at[name][k] - begin[k]) % torus.dims[k] for k in range(3))
                found[name] = (i + 1, _on_curve((x, y, z), spans))
    return [found.get(name, NOWHERE) for name in names]


def _arc(held: set[int], size: int) -> tuple[int, int]:
    """Return the beginning and length of the shortest arc of a circle of `size` places that has all that are held.

    >>> _arc({0, 3}, 4), _arc({1, 2}, 4), _arc({0, 1, 2, 3}, 4)
    ((3, 2), (1, 2), (0, 4))
    """
    places = sorted(held)
    if len(places) == size:
        return 0, size
    start, gap = places[0], size - (places[-1] - places[0] + 1)
    for before, after in pairwise(places):
        if after - before - 1 > gap:
            start, gap = after, after - before - 1
    return start, size - gap


def _on_curve(place: Point, spans: Sequence[int]) -> int:
    """Return a place's number on a Z-order curve, of which the longest sides lose their last bits first.

    >>> [_on_curve((x, y, 0), (2, 2, 1)) for y in (0, 1) for x in (0, 1)]
    [0, 1, 2, 3]
    """
    needed = [(span - 1).bit_length() for span in spans]
    bits = list(needed)
    while sum(bits) > _MOST_BITS:
        bits[max(range(3), key=lambda k: (bits[k], -k))] -= 1
    scaled = [n >> (had - has) for n, had, has in zip(place, needed, bits, strict=True)]
    found, at = 0, 0
    for i in range(max(bits)):
        for k in range(3):
            if i < bits[k]:
                found |= (scaled[k] >> i & 1) << at
                at += 1
    return found
