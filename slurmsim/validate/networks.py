"""Are jobs where their network has them? Blocks, rings and boxes of a torus, by the manifest's facts alone.

A job of a partition with blocks is within the smallest block that may hold the nodes it asked for, and so is each of
its segments. On rings it has neighbours of one ring, its segments one run each. In a torus it has boxes of the shapes
the file lists. Jobs with no node in any unit are free, and jobs that were resized are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.validate.columns import NULL, BoolArray, Table
from slurmsim.validate.report import ValidationReport

MOST_TRIED = 10_000  # boxes that are looked at for the segments of one job


def check_networks(
    report: ValidationReport, jobs: Table, networks: Mapping[str, Any] | None, segments: Any, resized: BoolArray
) -> None:
    """Judge every job that ran in a partition of `networks`.

    Parameters
    ----------
    networks
        The manifest's ``cluster.networks``: partitions' names, each with its kind and units.
    segments
        The manifest's ``segments``: a list of ``[size, spread, [first id, last id, …]]``.
    """
    if not networks:
        return
    if not jobs.has("partition", "req_nodes"):
        report.skip("network_kept", "no columns partition, req_nodes")
        return
    judges = {name: _judge(name, facts) for name, facts in networks.items()}
    asked = dict(_asked(segments))
    rows = [k for k in np.flatnonzero((jobs.ints["start"] != NULL) & ~resized[: jobs.n]).tolist()
            if jobs.texts["partition"][k] in judges and jobs.texts["node_list"][k]]  # fmt: skip
    check = report.new("network_kept", len(rows))
    for k in rows:
        number = int(jobs.ints["job_id"][k])
        size, spread = asked.get(number, (0, False))
        names = expand(jobs.texts["node_list"][k])
        least = int(jobs.ints["req_nodes"][k])
        wrong = judges[jobs.texts["partition"][k]].wrong(names, min(max(least, 1), len(names)), size, spread)
        if wrong:
            check.add(f"job {number}: {wrong}")


def _asked(segments: Any) -> Iterator[tuple[int, tuple[int, bool]]]:
    for size, spread, ids in segments or ():
        for first, last in zip(ids[::2], ids[1::2], strict=True):
            for number in range(first, last + 1):
                yield number, (int(size), bool(spread))


def _judge(name: str, facts: Any) -> _Network:
    try:
        units = [list(expand(text)) if isinstance(text, str) else [str(one) for one in text] for text in facts["units"]]
        made: dict[str, type[_Network]] = {"block": _Blocks, "ring": _Rings, "torus": _Tori}
        return made[str(facts["kind"])](units, facts)
    except (KeyError, TypeError, ValueError, HostlistError):
        raise WorkloadError(f"{facts!r}", field=f"cluster.networks.{name}", expected="kind and units") from None


class _Network:
    """The units of a partition's network: lists of nodes."""

    def __init__(self, units: Sequence[list[str]], facts: Mapping[str, Any]) -> None:
        self.units, self.facts = units, facts
        self.unit_of = {node: k for k, unit in reversed(list(enumerate(units))) for node in unit if node}

    def wrong(self, names: list[str], least: int, size: int, spread: bool) -> str:
        """Return what is wrong with the nodes of a job that asked for `least`, in segments of `size`; else ""."""
        outside = [name for name in names if name not in self.unit_of]
        if len(outside) == len(names):
            return ""
        if outside:
            return f"{outside[0]} is in no unit of its network, other nodes are"
        segment = size if 0 < size <= least else 0
        if segment and least % segment:
            return f"{least} nodes are not whole segments of {segment}"
        return self.placed(names, least, segment, spread)

    def placed(self, names: list[str], least: int, segment: int, spread: bool) -> str:
        """Return what is wrong with nodes that are all in units; "" for nothing."""
        raise NotImplementedError


class _Blocks(_Network):
    def placed(self, names: list[str], least: int, segment: int, spread: bool) -> str:
        """Return "" if every segment is within one block of the size that its nodes need."""
        width = self._width(segment or least)
        counts: dict[int, int] = {}
        for name in names:
            counts[self.unit_of[name] // width] = counts.get(self.unit_of[name] // width, 0) + 1
        if not segment:
            return f"it is on {len(counts)} blocks, one of {width} base blocks may hold it" if len(counts) > 1 else ""
        if any(count % segment for count in counts.values()):
            return f"segments of {segment} lie across blocks of {width} base blocks"
        bases = [self.unit_of[name] for name in names]
        most = max(bases.count(base) for base in set(bases))
        return f"{most} nodes of one base block, with segments of {segment} apart" if spread and most > segment else ""

    def _width(self, nodes: int) -> int:
        """Return how many base blocks the smallest block has that may hold so many nodes."""
        needed = -(-nodes // int(self.facts["base"]))
        return next((width for width in sorted(map(int, self.facts["widths"])) if width >= needed), len(self.units))


class _Rings(_Network):
    def placed(self, names: list[str], least: int, segment: int, spread: bool) -> str:
        """Return "" if the nodes on each ring are neighbours, and as many as a segment has."""
        for ring in self.units:
            mine = {ring.index(name) for name in names if name in ring}
            ends = sum(1 for at in mine if (at + 1) % len(ring) not in mine)
            if ends > 1:
                return f"its nodes on {ring[0]}'s ring are no neighbours"
            if mine and len(mine) != (segment or len(names)):
                return f"{len(mine)} nodes on {ring[0]}'s ring"
        return ""


class _Tori(_Network):
    def placed(self, names: list[str], least: int, segment: int, spread: bool) -> str:
        """Return "" if the nodes are boxes of the shapes that the file lists."""
        size = segment or len(names)
        boxes = [box for unit, torus in zip(self.units, self.facts["tori"], strict=True)
                 for box in _boxes(unit, torus, size) if box <= set(names)]  # fmt: skip
        return "" if _covers(boxes, set(names), [MOST_TRIED]) else f"its nodes are no boxes of {size}"


def _boxes(cells: list[str], torus: Mapping[str, Any], size: int) -> Iterator[frozenset[str]]:
    """Yield the boxes of `size` nodes that are full."""
    sides = [int(side) for side in torus["dims"]]
    for shape in torus["shapes"]:
        dims, seed, step = ([int(n) for n in part] for part in shape)
        if dims[0] * dims[1] * dims[2] != size:
            continue
        starts = [sorted({(seed[a] + k * step[a]) % sides[a] for k in range(sides[a])}) for a in range(3)]
        for x, y, z in product(*starts):
            spans = [[(begin + k) % side for k in range(length)]
                     for begin, length, side in zip((x, y, z), dims, sides, strict=True)]  # fmt: skip
            box = {cells[a + sides[0] * (b + sides[1] * c)] for a, b, c in product(*spans)}
            if "" not in box and len(box) == size:
                yield frozenset(box)


def _covers(boxes: Sequence[frozenset[str]], names: set[str], left: list[int]) -> bool:
    """Return True if some boxes have all of `names` once; too many tries count as yes."""
    if not names:
        return True
    first = min(names)
    for box in boxes:
        if first in box and box <= names:
            left[0] -= 1
            if left[0] < 0 or _covers(boxes, names - box, left):
                return True
    return False
