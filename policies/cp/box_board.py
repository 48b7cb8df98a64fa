"""The board of the box model: a unit needs neighbouring positions of its node in every resource.

Running units keep their node, not their positions; those that end last lie at the bottom, so that what becomes free is
in one piece. New units take the largest position they can (PCP'20's "best fit").
"""

from __future__ import annotations

from collections.abc import Iterable

from slurmsim_policies.cp.allocators import last_position
from slurmsim_policies.cp.boards import CapacityBoard, Slot
from slurmsim_policies.cp.instance_data import Amounts, Job
from slurmsim_policies.cp.plan import Box
from slurmsim_policies.cp.problem import Instance

Lying = tuple[int, int, Amounts, Amounts]  # start, end (s), first positions, sizes


class BoxBoard:
    """Boxes on nodes, in all resources at once.

    Parameters
    ----------
    loads
        Those of another board of the same instance, which need not be laid out again.
    """

    def __init__(self, instance: Instance, loads: list[Amounts] | None = None) -> None:
        self._instance = instance
        self._capacity = CapacityBoard(instance, last_position)
        self._lying: dict[int, list[Lying]] = {}
        self.loads = _stacked(instance) if loads is None else loads  # first positions of each of `Instance.loads`
        for load, offsets in zip(instance.loads, self.loads, strict=True):
            self._lying.setdefault(load.node, []).append((load.start, load.end, offsets, load.amounts))

    def slot(self, job: Job, earliest: int) -> Slot:
        """Return the earliest start at which all units find room, the largest positions first."""
        for start, fit, _ in self._capacity.timeline.windows(job, earliest):
            boxes: list[Box] = []
            for node in range(self._instance.n_nodes - 1, -1, -1):
                most = min(int(fit[node]), job.units - len(boxes))
                if most > 0:
                    boxes += self._units(job, start, node, most)
                    if len(boxes) == job.units:
                        layout = {k: sum(1 for node, _ in boxes if node == k) for k, _ in boxes}
                        return Slot(start, layout, tuple(boxes))
        raise AssertionError(f"job {job.id} fits an empty machine, or the instance had been refused")

    def take(self, job: Job, slot: Slot) -> None:
        self._capacity.take(job, slot)
        for node, offsets in slot.boxes:
            self._lying.setdefault(node, []).append((slot.start, slot.start + job.duration, offsets, job.demand))

    def _units(self, job: Job, start: int, node: int, most: int) -> list[Box]:
        beside = [(low, sizes) for begin, end, low, sizes in self._lying.get(node, ())
                  if begin < start + job.duration and start < end]  # fmt: skip
        found: list[list[int]] = []
        for r, size in enumerate(job.demand):
            if size:
                busy = ((low[r], low[r] + sizes[r]) for low, sizes in beside if sizes[r])
                found.append(_rooms(int(self._instance.capacity[node, r]), busy, size, most))
                most = min(most, len(found[-1]))
            else:
                found.append([0] * most)
        return [(node, tuple(column[unit] for column in found)) for unit in range(most)]


def _stacked(instance: Instance) -> list[Amounts]:
    """First positions of what runs and is reserved, on each node one upon the other, those that end last below."""
    loads = instance.loads
    lying: dict[int, list[tuple[int, int, Amounts]]] = {}
    found: list[Amounts] = [()] * len(loads)
    for index in sorted(range(len(loads)), key=lambda n: (loads[n].job < 0, -loads[n].end, n)):
        load = loads[index]
        below = [sizes for start, end, sizes in lying.get(load.node, ()) if start < load.end and load.start < end]
        found[index] = tuple(map(sum, zip(*below, strict=True))) or (0,) * len(load.amounts)
        lying.setdefault(load.node, []).append((load.start, load.end, load.amounts))
    return found


def _rooms(top: int, busy: Iterable[tuple[int, int]], size: int, most: int) -> list[int]:
    """First positions of up to `most` pieces of `size`, the largest ones below `top` that are not `busy`."""
    found: list[int] = []
    for low, high in [*sorted(busy, key=lambda piece: -piece[1]), (0, 0)]:  # below are only those that end lower
        while top - high >= size and len(found) < most:
            top -= size
            found.append(top)
        top = min(top, low)
    return found
