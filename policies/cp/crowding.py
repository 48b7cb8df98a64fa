"""How many nodes a class has for units that cannot share one: what pools do not know.

Units of two kinds that do not fit into one node together take nodes from each other, however much is free in all. For a
set of kinds of which no two fit together, a node holds one kind at a time, of kind a at most P_a units: a unit of it
takes 1 / P_a of a node. Running units make nodes smaller until they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass, replace
from slurmsim_policies.cp.boards import Timeline
from slurmsim_policies.cp.problem import Instance

_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class Crowd:
    """Jobs with units that take nodes of one class from each other."""

    parts: dict[int, int]  # what one unit of each job takes, by index of the job, in parts of a node
    capacity: int  # of all nodes of the class together, in these parts
    taken: tuple[tuple[int, int, int], ...]  # what running units take: (start, end, parts)


def crowds(instance: Instance, jobs: Sequence[int], nodes: NDArray[np.intp], line: Timeline) -> list[Crowd]:
    """Return the crowds among the waiting `jobs`, by index, on the `nodes` of one class.

    Parameters
    ----------
    line
        What is free on each node when nothing else starts.
    """
    kinds: dict[tuple[tuple[int, ...], int | None], list[int]] = {}
    for i in jobs:
        kinds.setdefault((instance.jobs[i].demand, instance.jobs[i].per_node), []).append(i)
    capacity = instance.capacity[nodes[0]]
    names = list(kinds)
    found: dict[frozenset[int], None] = {}
    for first in range(len(names)):
        together = [first]
        for other in range(len(names)):
            if other != first and all(_apart(names[other][0], names[one][0], capacity) for one in together):
                together.append(other)
        found[frozenset(together)] = None
    return [_crowd(instance, [kinds[names[n]] for n in sorted(kind)], nodes, line) for kind in found]


def _apart(a: tuple[int, ...], b: tuple[int, ...], capacity: NDArray[np.int64]) -> bool:
    """Return True if a unit of `a` and one of `b` never fit into one node."""
    return bool(((np.array(a) + np.array(b)) > capacity).any())


def _crowd(instance: Instance, kinds: list[list[int]], nodes: NDArray[np.intp], line: Timeline) -> Crowd:
    places, free = [], []
    for members in kinds:
        kind = replace(instance.jobs[members[0]], units=_MANY, within=None)
        places.append(int(instance.places(kind)[nodes[0]]))
        free.append(line.fits(kind)[:, nodes])
    whole = lcm(*places)
    left = np.max([fit * (whole // most) for fit, most in zip(free, places, strict=True)], axis=0).sum(axis=1)
    capacity = whole * len(nodes)
    times = [*line.times, line.times[-1] + 1]
    taken = tuple(
        (start, end, int(capacity - here))
        for start, end, here in zip(times, times[1:], left.tolist(), strict=False)
        if here < capacity
    )
    parts = {i: whole // most for members, most in zip(kinds, places, strict=True) for i in members}
    return Crowd(parts, capacity, taken)
