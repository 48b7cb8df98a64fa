"""Jobs as units: what `Start(job, layout=…)` distributes, worked out from a compiled request.

`-n` tasks with CPUs, memory per CPU and GRES per task are units of one task each. Where something is asked for per
node, or the count of nodes is bounded, a unit is what one node gives, and no node gives two: nothing else says the
same. What units cannot say is refused by name, and never left out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slurmsim.bitmap import to_indices
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.records.allocation import IntArray
from slurmsim.core.records.node_table import NodeTable
from slurmsim.policy.units import JobUnits, Unit

NO_UNIT: Final = Unit(0)


def units_of(request: CompiledRequest, table: NodeTable) -> JobUnits:
    """Return the request as units; worked out once."""
    found: JobUnits | None = request.job_units
    if found is None:
        found = request.job_units = _units_of(request, table)
    return found


def _units_of(request: CompiledRequest, table: NodeTable) -> JobUnits:
    why = _refusal(request, table)
    if not why and not request.candidates:
        why = "fits on no node"
    if why:
        return _refused(request, why)
    idx = to_indices(request.candidates)
    if request.whole:
        return _whole_nodes(request, table, idx)
    if _is_per_node(request):
        return _shares_of_nodes(request, table, idx)
    return _tasks(request, table, idx)


def _refused(request: CompiledRequest, why: str) -> JobUnits:
    return JobUnits(0, NO_UNIT, request.candidates, refusal=why)


def _refusal(request: CompiledRequest, table: NodeTable) -> str:
    """Return the part of the request that no layout can describe, or ""."""
    given = request.asked
    for held, what in (
        (given.overcommit, "shares CPUs among its tasks (--overcommit)"),
        (given.tasks_per_socket > 0, "asks for tasks of each socket (--ntasks-per-socket)"),
        (given.tasks_per_core > 1, "asks for tasks of each core (--ntasks-per-core)"),
        (request.contiguous, "asks for nodes side by side (--contiguous)"),
        (request.spread, "asks for as many nodes as there are (--spread-job)"),
        (bool(request.switches), "asks for few switches (--switches)"),
        (bool(request.kinds), "asks for nodes that are alike ([a|b])"),
        (bool(request.counted), "asks for counts of nodes with features (a*2)"),
        (request.sharing == "row" or table.cores is not None, "may share cores with others (OverSubscribe)"),
        (request.own_cpus is not None, "keeps cores from itself (--core-spec)"),
        (request.max_cpus_per_node is not None, "is in a partition with MaxCPUsPerNode"),
        (request.memory.over, "asks for more memory than its partition allows"),
    ):
        if held:
            return what
    for demand in request.gres:
        kinds = _kinds_named(table, demand.kinds)
        if len(kinds) > 1 and ((table.gres[kinds] > 0).sum(axis=0)[to_indices(request.candidates)] > 1).any():
            return f"asks for {table.gres_kinds[kinds[0]][0]}, of which nodes have several types"
    return ""


def _kinds_named(table: NodeTable, kinds: tuple[int, ...]) -> list[int]:
    """Return all kinds with the name of `kinds`, which have one name."""
    name = table.gres_kinds[kinds[0]][0]
    return [k for k, (other, _) in enumerate(table.gres_kinds) if other == name]


def _is_per_node(request: CompiledRequest) -> bool:
    """Return True if a unit is a node's share: something is asked for per node, or nodes are counted."""
    if request.mem_node or request.mem_all or any(demand.scope == "node" for demand in request.gres):
        return True
    return request.min_nodes > 1 or request.max_nodes < _n_tasks(request)


def _n_tasks(request: CompiledRequest) -> int:
    return request.asked.n_tasks or max(request.min_nodes, 1) * max(request.tasks_per_node, 1)


def _whole_nodes(request: CompiledRequest, table: NodeTable, idx: IntArray) -> JobUnits:
    """Return the units of a job with whole nodes: a unit is a node, and all its CPUs are taken."""
    cpus = table.cpus[idx]
    if (cpus != cpus[0]).any():
        return _refused(request, "takes whole nodes, which are of different sizes")
    if any(demand.scope != "node" for demand in request.gres):
        return _refused(request, "takes whole nodes and asks for GRES by job or task")
    each = int(cpus[0])
    count = max(request.min_nodes, -(-request.min_cpus // each))
    if request.tasks_per_node and request.n_tasks:
        count = max(count, -(-request.n_tasks // request.tasks_per_node))
    if count > request.max_nodes:
        return _refused(request, f"needs {count} whole nodes and may have {request.max_nodes}")
    if request.required and request.required.bit_count() != count:
        return _refused(request, "names some of its nodes (--nodelist)")
    memory = request.mem_node or request.mem_cpu * each
    gres = tuple((table.gres_kinds[d.kinds[0]][0], d.count) for d in request.gres)
    return JobUnits(count, Unit(each, memory, gres), request.required or request.candidates, 1, True)


def _shares_of_nodes(request: CompiledRequest, table: NodeTable, idx: IntArray) -> JobUnits:
    """Equal shares of a number of nodes: a unit is what one of them gives."""
    tasks, least, most = _n_tasks(request), request.min_nodes, min(request.max_nodes, _n_tasks(request))
    if request.tasks_per_node:
        least = max(least, -(-tasks // request.tasks_per_node))
    per_node = request.mem_node or request.mem_all or any(demand.scope == "node" for demand in request.gres)
    if per_node and least != most:
        return _refused(request, "asks for something per node and leaves open how many nodes")
    if request.required:
        if not least <= request.required.bit_count() <= most:
            return _refused(request, "names some of its nodes (--nodelist)")
        least = most = request.required.bit_count()
    counts = [n for n in range(least, most + 1) if tasks % n == 0]
    if not counts:
        return _refused(request, f"has {tasks} tasks, which {_range(least, most)} nodes cannot share evenly")
    found = _refused(request, "fits on no node")
    for count in counts:
        found = _units(request, table, idx, count, tasks // count, 1)
        if found.refusal == "":
            return found
    return found


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _tasks(request: CompiledRequest, table: NodeTable, idx: IntArray) -> JobUnits:
    """Tasks, as many on a node as fit, or as --ntasks-per-node allows."""
    tasks = _n_tasks(request)
    if request.required and (tasks > 1 or request.required.bit_count() > 1):
        return _refused(request, "names some of its nodes (--nodelist)")
    return _units(request, table, idx, tasks, 1, request.tasks_per_node)


def _units(
    request: CompiledRequest, table: NodeTable, idx: IntArray, count: int, tasks: int, per_node: int
) -> JobUnits:
    """Return `count` units of `tasks` tasks each."""
    gres: dict[str, int] = {}
    brought = gpus = 0
    for demand in request.gres:
        amount = demand.count
        if demand.scope == "task":
            amount *= tasks
        elif demand.scope == "job":
            if amount % count:
                return _refused(request, f"asks for {amount} GRES, which {count} equal parts of it cannot share")
            amount //= count
        name = table.gres_kinds[demand.kinds[0]][0]
        gres[name] = gres.get(name, 0) + amount
        brought = max(brought, amount * demand.cpus)
        gpus += amount if demand.is_gpu else 0
    grain = int(table.grain[idx].max())
    least = request.least_cpus if per_node == 1 else request.cpus_per_task
    cpus = -(-max(tasks * request.cpus_per_task, least, brought) // grain) * grain
    # a unit says what its tasks need: CPUs beyond that would be lost
    if count * cpus < request.min_cpus:
        return _refused(request, "asks for a number of CPUs beside its tasks and nodes")
    nodes = request.required or request.candidates
    memory = request.mem_node or request.mem_cpu * cpus
    if request.per_gpu.charged:
        memory = gpus * request.mem_gpu
    elif request.mem_all:
        sizes = table.mem[idx]
        if (sizes != sizes[0]).any():
            return _refused(request, "takes all memory of its nodes, which are of different sizes")
        memory = int(sizes[0])
    unit = Unit(cpus, memory, tuple(sorted((name, n) for name, n in gres.items() if n)))
    enough = (table.cpus[idx] >= cpus) & (table.mem[idx] >= memory)
    for name, amount in unit.gres:
        enough &= gres_named(table, table.gres, name)[idx] >= amount
    if not enough.any():
        return _refused(request, "has units larger than any node")
    return JobUnits(count, unit, nodes, per_node)


def gres_named(table: NodeTable, gres: IntArray, name: str) -> IntArray:
    """Of `gres`, a row a kind, the sum over the kinds of that name; request (n_nodes,)."""
    rows = [k for k, (other, _) in enumerate(table.gres_kinds) if other == name]
    total: IntArray = gres[rows].sum(axis=0, dtype=np.int64)
    return total
