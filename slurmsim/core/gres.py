"""GRES in placement: which nodes have enough, what counts towards totals, what each node gives in the end.

Mirrors select/cons_tres gres_sched.c and gres_select_filter.c (22.05) for devices that are local to no socket: a
request per node (or socket) filters nodes, one per job or task is counted up while nodes are taken, and nodes with
more of the GPUs the job can use come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slurmsim.core.nodes import IntArray, NodeTable
from slurmsim.core.placement import GresNeed
from slurmsim.core.value import Value
from slurmsim.errors import SubmitError
from slurmsim.model.request import ResourceRequest

BAD_GRES = "Invalid generic resource (gres) specification"
NEAR = 255  # the lowest byte of a node's weight, less the GPUs that count


@dataclass(frozen=True, slots=True)
class Demand(Value):
    """One kind of GRES a job asks for: `count` of the table's `kinds` per ``node``, ``job`` or ``task``."""

    kinds: tuple[int, ...]
    count: int
    scope: str
    is_gpu: bool


def demands(request: ResourceRequest, table: NodeTable) -> tuple[Demand, ...] | None:
    """What `request` asks for; None when no node has such a GRES. Raises SubmitError for a request Slurm refuses."""
    found = []
    for g in request.gres:
        kinds = tuple(k for k, (name, kind) in enumerate(table.gres_kinds)
                      if name == g.name and (not g.type or kind == g.type))  # fmt: skip
        if not kinds:
            return None
        scope, count = g.scope, g.count
        if scope == "task" and not (request.n_tasks or request.tasks_per_node):
            raise SubmitError(BAD_GRES)
        if scope == "socket":
            scope, count = "node", count * request.sockets_per_node
        found.append(Demand(kinds, count, scope, g.name == "gpu"))
    return tuple(found)


def usable(wanted: Sequence[Demand], free_gres: IntArray, idx: IntArray, per_gpu: int, free_mem: IntArray) -> IntArray:
    """What each node of `idx` has of each demand; shape (n_demands, len(idx)). Memory per GPU may leave some out."""
    have = np.zeros((len(wanted), len(idx)), np.int64)
    for k, demand in enumerate(wanted):
        have[k] = free_gres[list(demand.kinds)][:, idx].sum(axis=0)
        if per_gpu and demand.is_gpu:
            have[k] = np.minimum(have[k], free_mem // per_gpu)
    return have


def offer(
    wanted: Sequence[Demand], have: IntArray, cpus: IntArray, cpus_per_task: int, most_tasks: int | None
) -> IntArray:
    """CPUs each node can offer a job with GRES: 0 where some kind is short, else no more than its tasks there need.

    Parameters
    ----------
    most_tasks
        Tasks a node may get at most, None when only its CPUs limit them.
    """
    tasks = cpus // cpus_per_task
    if most_tasks is not None:
        tasks = np.minimum(tasks, most_tasks)
    enough = np.ones(len(cpus), np.bool_)
    for k, demand in enumerate(wanted):
        enough &= have[k] >= (demand.count if demand.scope != "job" else 1)
        if demand.scope == "task":
            tasks = np.minimum(tasks, have[k] // demand.count)
    return np.where(enough, np.minimum(cpus, tasks * cpus_per_task), 0)


def preference(wanted: Sequence[Demand], have: IntArray, whole: bool) -> IntArray:
    """What to add to 256 times a node's weight: nodes with more usable GPUs are lighter; shape (n_nodes,)."""
    near = np.zeros(have.shape[1], np.int64)
    for k, demand in enumerate(wanted):
        if demand.is_gpu:
            near += have[k] if whole or demand.scope == "task" else np.minimum(have[k], demand.count)
    return NEAR - np.minimum(near, NEAR)


def totals(wanted: Sequence[Demand], have: IntArray, idx: IntArray, n_tasks: int) -> GresNeed | None:
    """The totals to reach, None when the job asks for GRES per node only."""
    counted = [k for k, demand in enumerate(wanted) if demand.scope != "node"]
    if not counted:
        return None
    counts = tuple(wanted[k].count * (n_tasks if wanted[k].scope == "task" else 1) for k in counted)
    nodes = idx.tolist()
    gpus = sum((have[k] for k, demand in enumerate(wanted) if demand.is_gpu), np.zeros(len(idx), np.int64))
    columns = zip(*(have[k].tolist() for k in counted), strict=True)
    return GresNeed(counts, dict(zip(nodes, columns, strict=True)), dict(zip(nodes, gpus.tolist(), strict=True)))


def grant(
    wanted: Sequence[Demand], free_gres: IntArray, idx: IntArray, tasks: Sequence[int], n_tasks: int
) -> tuple[tuple[int, IntArray], ...]:
    """Per kind how many each node of the allocation gives; the first kind with enough first, spilling into the next.

    A total is filled node after node, each node giving at least one; tasks bring theirs.
    """
    given: dict[int, IntArray] = {}
    for demand in wanted:
        pool = [free_gres[k][idx] - given.get(k, 0) for k in demand.kinds]
        have = np.sum(pool, axis=0)
        if demand.scope == "node":
            missing = np.full(len(idx), demand.count, np.int64)
        elif demand.scope == "task":
            missing = _fill(have, [t * demand.count for t in tasks], n_tasks * demand.count)
        else:
            missing = _fill(have, have.tolist(), demand.count)
        for kind, left in zip(demand.kinds, pool, strict=True):
            give = np.minimum(left, missing)
            if give.any():
                given[kind] = given.get(kind, 0) + give
                missing = missing - give
    return tuple(sorted(given.items()))


def _fill(have: IntArray, most: Sequence[int], total: int) -> IntArray:
    """`total` dealt to the nodes in order, at least one and at most `most` to each."""
    dealt = np.zeros(len(have), np.int64)
    left = total
    for k in range(len(have)):
        after = len(have) - k - 1
        dealt[k] = max(0, min(int(have[k]), max(int(most[k]), 1), max(left - after, 1), left))
        left -= int(dealt[k])
    return dealt
