"""Jobs as units: what `Start(job, layout=…)` distributes, worked out from a compiled request.

`-n` tasks with CPUs, memory per CPU and GRES per task are units of one task each. Where something is asked for per
node, or the count of nodes is bounded, a unit is what one node gives, and no node gives two: nothing else says the
same. What units cannot say is refused by name, and never left out.
"""

from __future__ import annotations

import numpy as np

from slurmsim.bitmap import to_indices
from slurmsim.core.placement.compiled_request import Shape
from slurmsim.core.records.node_table import IntArray, NodeTable
from slurmsim.policy.units import JobUnits, Unit

NO_UNIT = Unit(0)


def units_of(shape: Shape, table: NodeTable) -> JobUnits:
    """The request as units; worked out once."""
    found: JobUnits | None = shape.job_units
    if found is None:
        found = shape.job_units = _units_of(shape, table)
    return found


def _units_of(shape: Shape, table: NodeTable) -> JobUnits:
    why = _refusal(shape, table)
    if not why and not shape.candidates:
        why = "fits on no node"
    if why:
        return _refused(shape, why)
    idx = to_indices(shape.candidates)
    if shape.whole:
        return _whole_nodes(shape, table, idx)
    if _is_per_node(shape):
        return _shares_of_nodes(shape, table, idx)
    return _tasks(shape, table, idx)


def _refused(shape: Shape, why: str) -> JobUnits:
    return JobUnits(0, NO_UNIT, shape.candidates, refusal=why)


def _refusal(shape: Shape, table: NodeTable) -> str:
    """What is asked for that no layout can say, "" for nothing."""
    request = shape.request
    for asked, what in (
        (request.overcommit, "shares CPUs among its tasks (--overcommit)"),
        (shape.contiguous, "asks for nodes side by side (--contiguous)"),
        (shape.spread, "asks for as many nodes as there are (--spread-job)"),
        (bool(shape.switches), "asks for few switches (--switches)"),
        (bool(shape.kinds), "asks for nodes that are alike ([a|b])"),
        (bool(shape.counted), "asks for counts of nodes with features (a*2)"),
        (shape.sharing == "row" or table.cores is not None, "may share cores with others (OverSubscribe)"),
        (shape.max_cpus_per_node is not None, "is in a partition with MaxCPUsPerNode"),
        (shape.memory.over, "asks for more memory than its partition allows"),
    ):
        if asked:
            return what
    for demand in shape.gres:
        kinds = _kinds_named(table, demand.kinds)
        if len(kinds) > 1 and ((table.gres[kinds] > 0).sum(axis=0)[to_indices(shape.candidates)] > 1).any():
            return f"asks for {table.gres_kinds[kinds[0]][0]}, of which nodes have several types"
    return ""


def _kinds_named(table: NodeTable, kinds: tuple[int, ...]) -> list[int]:
    """All kinds with the name of these, which are of one name."""
    name = table.gres_kinds[kinds[0]][0]
    return [k for k, (other, _) in enumerate(table.gres_kinds) if other == name]


def _is_per_node(shape: Shape) -> bool:
    """Whether a unit is a node's share: something is asked for per node, or nodes are counted."""
    if shape.mem_node or shape.mem_all or any(demand.scope == "node" for demand in shape.gres):
        return True
    return shape.min_nodes > 1 or shape.max_nodes < _n_tasks(shape)


def _n_tasks(shape: Shape) -> int:
    return shape.request.n_tasks or max(shape.min_nodes, 1) * max(shape.tasks_per_node, 1)


def _whole_nodes(shape: Shape, table: NodeTable, idx: IntArray) -> JobUnits:
    """Nodes to itself: a unit is a node, and all its CPUs are taken."""
    cpus = table.cpus[idx]
    if (cpus != cpus[0]).any():
        return _refused(shape, "takes whole nodes, which are of different sizes")
    if any(demand.scope != "node" for demand in shape.gres):
        return _refused(shape, "takes whole nodes and asks for GRES by job or task")
    each = int(cpus[0])
    count = max(shape.min_nodes, -(-shape.min_cpus // each))
    if shape.tasks_per_node and shape.n_tasks:
        count = max(count, -(-shape.n_tasks // shape.tasks_per_node))
    if count > shape.max_nodes:
        return _refused(shape, f"needs {count} whole nodes and may have {shape.max_nodes}")
    if shape.required and shape.required.bit_count() != count:
        return _refused(shape, "names some of its nodes (--nodelist)")
    memory = shape.mem_node or shape.mem_cpu * each
    gres = tuple((table.gres_kinds[d.kinds[0]][0], d.count) for d in shape.gres)
    return JobUnits(count, Unit(each, memory, gres), shape.required or shape.candidates, 1, True)


def _shares_of_nodes(shape: Shape, table: NodeTable, idx: IntArray) -> JobUnits:
    """Equal shares of a number of nodes: a unit is what one of them gives."""
    tasks, least, most = _n_tasks(shape), shape.min_nodes, min(shape.max_nodes, _n_tasks(shape))
    if shape.tasks_per_node:
        least = max(least, -(-tasks // shape.tasks_per_node))
    per_node = shape.mem_node or shape.mem_all or any(demand.scope == "node" for demand in shape.gres)
    if per_node and least != most:
        return _refused(shape, "asks for something per node and leaves open how many nodes")
    if shape.required:
        if not least <= shape.required.bit_count() <= most:
            return _refused(shape, "names some of its nodes (--nodelist)")
        least = most = shape.required.bit_count()
    counts = [n for n in range(least, most + 1) if tasks % n == 0]
    if not counts:
        return _refused(shape, f"has {tasks} tasks, which {_range(least, most)} nodes cannot share evenly")
    found = _refused(shape, "fits on no node")
    for count in counts:
        found = _units(shape, table, idx, count, tasks // count, 1)
        if found.refusal == "":
            return found
    return found


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _tasks(shape: Shape, table: NodeTable, idx: IntArray) -> JobUnits:
    """Tasks, as many on a node as fit, or as --ntasks-per-node allows."""
    tasks = _n_tasks(shape)
    if shape.required and (tasks > 1 or shape.required.bit_count() > 1):
        return _refused(shape, "names some of its nodes (--nodelist)")
    return _units(shape, table, idx, tasks, 1, shape.tasks_per_node)


def _units(shape: Shape, table: NodeTable, idx: IntArray, count: int, tasks: int, per_node: int) -> JobUnits:
    """`count` units of `tasks` tasks each."""
    gres: dict[str, int] = {}
    brought = gpus = 0
    for demand in shape.gres:
        amount = demand.count
        if demand.scope == "task":
            amount *= tasks
        elif demand.scope == "job":
            if amount % count:
                return _refused(shape, f"asks for {amount} GRES, which {count} equal parts of it cannot share")
            amount //= count
        name = table.gres_kinds[demand.kinds[0]][0]
        gres[name] = gres.get(name, 0) + amount
        brought = max(brought, amount * demand.cpus)
        gpus += amount if demand.is_gpu else 0
    grain = int(table.grain[idx].max())
    least = shape.least_cpus if per_node == 1 else shape.cpus_per_task
    cpus = -(-max(tasks * shape.cpus_per_task, least, brought) // grain) * grain
    if count * cpus < shape.min_cpus:
        return _refused(shape, "asks for a number of CPUs beside its tasks and nodes")
    nodes = shape.required or shape.candidates
    memory = shape.mem_node or shape.mem_cpu * cpus
    if shape.per_gpu.charged:
        memory = gpus * shape.mem_gpu
    elif shape.mem_all:
        sizes = table.mem[idx]
        if (sizes != sizes[0]).any():
            return _refused(shape, "takes all memory of its nodes, which are of different sizes")
        memory = int(sizes[0])
    unit = Unit(cpus, memory, tuple(sorted((name, n) for name, n in gres.items() if n)))
    enough = (table.cpus[idx] >= cpus) & (table.mem[idx] >= memory)
    for name, amount in unit.gres:
        enough &= gres_named(table, table.gres, name)[idx] >= amount
    if not enough.any():
        return _refused(shape, "has units larger than any node")
    return JobUnits(count, unit, nodes, per_node)


def gres_named(table: NodeTable, gres: IntArray, name: str) -> IntArray:
    """Of `gres`, a row a kind, the sum over the kinds of that name; shape (n_nodes,)."""
    rows = [k for k, (other, _) in enumerate(table.gres_kinds) if other == name]
    total: IntArray = gres[rows].sum(axis=0, dtype=np.int64)
    return total
