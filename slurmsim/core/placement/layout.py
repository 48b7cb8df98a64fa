"""Allocations from layouts: units on the nodes a policy names, if what is free there holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.free_state import FreeState
from slurmsim.core.placement.placer import Placer
from slurmsim.core.placement.units import gres_named
from slurmsim.core.records.allocation import Allocation, IntArray
from slurmsim.core.records.job import Job
from slurmsim.core.records.node_table import NodeTable
from slurmsim.policy.units import Holding, JobUnits, Unit


def malformed(units: JobUnits, layout: Mapping[Any, Any], n_nodes: int) -> str:
    """Return what is wrong with `layout`, which a policy made, whatever is free; "" if nothing is."""
    if units.refusal:
        return f"the job {units.refusal}"
    for node, count in layout.items():
        if type(node) is not int or not 0 <= node < n_nodes:
            return f"there is no node {node!r}"
        if type(count) is not int or count < 1:
            return f"node {node} has {count!r} units"
        if units.per_node and count > units.per_node:
            return f"node {node} has {count} units, the job may have {units.per_node} on one"
    total = sum(layout.values())
    return f"it has {total} units, the job {units.count}" if total != units.count else ""


def lay_out(
    request: CompiledRequest,
    units: JobUnits,
    layout: Mapping[int, int],
    free: FreeState,
    usable: Bitmap,
    placer: Placer,
) -> Allocation | None:
    """Return what the nodes of `layout` (well formed) give the job out of `free`; None if they do not hold it."""
    table = placer.table
    nodes = sorted(layout)
    idx = np.array(nodes, np.int64)
    mask = from_indices(idx)
    open_nodes = (free.idle if request.whole else free.idle | free.mixed) & free.up & usable & units.nodes
    if mask & ~open_nodes:
        return None
    count = np.array([layout[node] for node in nodes], np.int64)
    if request.whole:
        found = placer.whole_nodes(request, mask, len(nodes))
        found.layout = count
        return found
    cpus, memory = count * units.unit.cpus, count * units.unit.mem_mib
    if (cpus > free.free_cpus[idx]).any():
        return None
    if placer.memory_consumable and (memory > free.free_mem[idx]).any():
        return None
    gres = _grant(table, units.unit, free.free_gres, idx, count)
    if gres is None:
        return None
    found = Allocation(mask, False, len(nodes), int(cpus.sum()), cpus, memory, gres, idx)
    found.layout = count
    return found


def _grant(
    table: NodeTable, unit: Unit, free: IntArray, idx: IntArray, count: IntArray
) -> tuple[tuple[int, IntArray], ...] | None:
    """GRES of each kind each node gives; None where one has too few. Nodes have one type of a name (`units_of`)."""
    given: dict[int, IntArray] = {}
    for name, amount in unit.gres:
        missing = count * amount
        if (gres_named(table, free, name)[idx] < missing).any():
            return None
        for kind, (other, _) in enumerate(table.gres_kinds):
            if other == name:
                some = np.minimum(free[kind][idx], missing)
                if some.any():
                    given[kind] = some
                missing = missing - some
    return tuple(sorted(given.items()))


def capacities(table: NodeTable, memory_consumable: bool) -> list[Unit]:
    """Return what jobs may have of each node when it is empty."""
    names = sorted({name for name, _ in table.gres_kinds})
    columns = [gres_named(table, table.gres, name).tolist() for name in names]
    memory = table.mem.tolist() if memory_consumable else [0] * table.n
    found = []
    for node, cpus in enumerate(table.cpus.tolist()):
        gres = tuple([(name, column[node]) for name, column in zip(names, columns, strict=True) if column[node]])
        found.append(Unit(cpus, memory[node], gres))
    return found


def holdings(job: Job, table: NodeTable, memory_consumable: bool) -> list[Holding]:
    """Return what a running job holds, node by node."""
    alloc = job.alloc
    if alloc is None:
        return []
    nodes = alloc.indices().tolist()
    n = len(nodes)
    cpus = [alloc.cpus] * n if isinstance(alloc.cpus, int) else alloc.cpus.tolist()
    memory = [alloc.mem] * n if isinstance(alloc.mem, int) else alloc.mem.tolist()
    counts = [1] * n if alloc.layout is None else alloc.layout.tolist()
    gres: list[dict[str, int]] = [{} for _ in nodes]
    for kind, amount in alloc.gres:
        name = table.gres_kinds[kind][0]
        for k, given in enumerate([amount] * n if isinstance(amount, int) else amount.tolist()):
            if given:
                gres[k][name] = gres[k].get(name, 0) + given
    return [
        Holding(node, counts[k], Unit(cpus[k], memory[k] if memory_consumable else 0, tuple(sorted(gres[k].items()))))
        for k, node in enumerate(nodes)
    ]
