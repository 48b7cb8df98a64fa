"""Where: in which order nodes are filled. The scheduler decides when, and any allocator goes with any of them.

An allocator is a function: given what is free on each node, it ranks nodes, and the first ones are filled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.plan import Layout
from slurmsim_policies.cp.problem import Instance

Allocator = Callable[[Instance, Job, NDArray[np.int64]], NDArray[np.intp]]
"""(instance, job, free (n_nodes, n_resources)) -> all node indices, the best first."""


def fewest_free_cores(instance: Instance, job: Job, free: NDArray[np.int64]) -> NDArray[np.intp]:
    """Nodes without an accelerator the job does not need, then those with the least of the first resource left."""
    unneeded = np.array([amount == 0 for amount in job.demand])
    spare = (instance.capacity[:, unneeded] > 0).sum(axis=1)
    return np.lexsort((free[:, 0], spare))


def least_total_free(instance: Instance, job: Job, free: NDArray[np.int64]) -> NDArray[np.intp]:
    """HCP'19: the node with the least free of all resources added up first (KB and cores alike, as in the code)."""
    return np.argsort(free.sum(axis=1), kind="stable")


def last_position(instance: Instance, job: Job, free: NDArray[np.int64]) -> NDArray[np.intp]:
    """PCP'20's "best fit": the largest position, so the last node first."""
    return np.arange(instance.n_nodes)[::-1]


ALLOCATORS: dict[str, Allocator] = {
    "fewest_free_cores": fewest_free_cores,
    "least_total_free": least_total_free,
    "last_position": last_position,
}


def fill(job: Job, fit: NDArray[np.int64], ranked: NDArray[np.intp]) -> Layout | None:
    """All units of `job` on the first of the `ranked` nodes that hold some, `fit` (n_nodes,) each; None: no room."""
    held = fit[ranked]
    until = int(np.searchsorted(np.cumsum(held), job.units))
    if until == len(held):
        return None
    layout = {int(node): int(units) for node, units in zip(ranked[:until], held[:until], strict=True) if units}
    rest = job.units - sum(layout.values())
    layout[int(ranked[until])] = rest
    return layout
