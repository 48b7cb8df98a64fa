"""GRES in placement: which nodes have enough, what counts towards totals, what each node gives in the end.

Mirrors select/cons_tres gres_sched.c and gres_select_filter.c (22.05) for devices that are local to no socket. A
request per node (or socket) filters nodes; one per job or task is counted up while nodes are taken. Nodes with more of
the GPUs the job can use come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from slurmsim.core.placement.best_fit import GresNeed
from slurmsim.core.records.allocation import IntArray
from slurmsim.core.records.local_cores import SHARED
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import SubmitError
from slurmsim.gres_counts import BAD_GRES, Counts, Disagreement, agree
from slurmsim.model.request import GresRequest, ResourceRequest

NEAR: Final = 255  # the lowest byte of a node's weight, less the GPUs that count


@dataclass(frozen=True, slots=True)
class Demand(Value):
    """One kind of GRES a job asks for: `count` of the table's `kinds` per ``node``, ``job`` or ``task``.

    Each of a job's GPUs brings `cpus` CPUs; those of an option are `reserved` (gres_sched_add), those of a default are
    not. `total`: of a count per task, what all tasks take together; -1 of a count per socket, of which a node may have
    any number. `task_cpus`: CPUs of the tasks that each makes (``--ntasks-per-gpu``).
    """

    kinds: tuple[int, ...]
    count: int
    scope: str
    is_gpu: bool
    cpus: int = 0
    reserved: bool = False
    total: int = 0
    task_cpus: int = 0

    @property
    def most(self) -> int:
        """So many of one node are of use at most, 0 for any number (_set_max_node_gres)."""
        return max(self.total, 0) if self.total or self.scope == "task" else self.count


@dataclass(frozen=True, slots=True)
class PerGpu(Value):
    """What GPUs bring beside themselves: CPUs and MiB each, 0 for nothing.

    `reserved`: the CPUs were asked for by ``--cpus-per-gpu``. `charged`: the memory is what the job gets; memory asked
    for otherwise is, but a default a GPU still limits which nodes have enough.
    """

    cpus: int = 0
    memory: int = 0
    reserved: bool = False
    charged: bool = False


@dataclass(frozen=True, slots=True)
class GpuDefaults(Value):
    """``DefCpuPerGPU`` and ``DefMemPerGPU``; None where they are not set, and 0 for nothing at all."""

    cpus: int | None = None
    memory: int | None = None

    @classmethod
    def chosen(cls, own: GpuDefaults, others: GpuDefaults) -> GpuDefaults:
        """Return a partition's `own` defaults, each for itself, or the cluster's."""
        return cls(others.cpus if own.cpus is None else own.cpus, others.memory if own.memory is None else own.memory)

    def charged(self, times: int) -> GpuDefaults:
        """Return the defaults of a job that is charged several CPUs for each that it uses."""
        return self if times == 1 or not self.cpus else replace(self, cpus=self.cpus * times)

    def of_task(self, request: ResourceRequest) -> int:
        """Return the CPUs of a task, with those its own GPUs bring by default."""
        own = max((g.count for g in request.gres if g.name == "gpu" and g.scope == "task"), default=0)
        return max(request.cpus_per_task, own * (self.cpus or 0))

    def complete(self, request: ResourceRequest) -> PerGpu:
        """Return what each GPU of `request` brings (_set_gpu_defaults): default CPUs only if ``-c`` is not given."""
        cpus = request.cpus_per_gpu or (0 if request.cpus_given else self.cpus or 0)
        memory = request.mem_per_gpu_mib or self.memory or 0
        asked = request.mem_per_node_mib is not None or request.mem_per_cpu_mib is not None
        if not any(g.name == "gpu" for g in request.gres):
            return PerGpu()
        return PerGpu(cpus, memory, bool(request.cpus_per_gpu), bool(memory) and not asked)


def gpu_cpus(wanted: Sequence[Demand], nodes: int | None) -> int:
    """CPUs the GPUs of a job bring: on `nodes` nodes together, or on each of them at least where that is None.

    Mirrors gres_select_util_job_min_cpus and gres_select_util_job_min_cpu_node.
    """
    found = 0
    for scope in ("job", "node", "task"):
        count = sum(d.most if scope == "task" else d.count for d in wanted if d.cpus and d.scope == scope)
        if not count:
            continue
        cpus = max(d.cpus for d in wanted if d.scope == scope)
        if scope == "node":
            found = max(found, count * cpus * (1 if nodes is None else nodes))
        elif nodes is None:
            found = max(found, cpus if scope == "job" else 0)
        else:
            found = max(found, count * cpus)
    return found


def beside_tasks(
    wanted: Sequence[Demand], given: list[int], most: list[int], tasks_per_node: int, *, by_node: bool
) -> list[int]:
    """CPUs `given` for the tasks of each node, with those its GPUs bring beside, `most` at the highest.

    Before 24.11 (not `by_node`) GPUs of the job count as if its nodes had equally many of them.
    """
    if not (wanted and tasks_per_node):
        return given
    least = gpu_cpus([demand for demand in wanted if demand.scope == "node"], None)
    if not by_node:
        nodes = len(given)
        of_job = ((-(-d.count // nodes)) * d.cpus for d in wanted if d.scope == "job")
        least = max(least, *of_job, 0)
    return [max(own, min(least, at_most)) for own, at_most in zip(given, most, strict=True)]


def demands(request: ResourceRequest, table: NodeTable, each: PerGpu, *, by_node: bool) -> tuple[Demand, ...] | None:
    """Return the demands of `request`; None if no node has such a GRES. Raises SubmitError as Slurm refuses it.

    Of a type that no node has they are those of any type: no node serves them (`all_known`). Where GPUs make tasks
    they bring no default CPUs. Since 24.11 (`by_node`) any other GRES is said to make as many.
    """
    found, cpus, task_cpus = [], each.cpus, 0
    if request.tasks_per_gpu and not each.reserved:
        cpus, task_cpus = 0, request.tasks_per_gpu * request.cpus_per_task
    for g in request.gres:
        kinds = _kinds(g, table) or _kinds(replace(g, type=""), table)
        if not kinds:
            return None
        scope, count = g.scope, g.count
        if scope == "task" and not (request.n_tasks or request.tasks_per_node):
            raise SubmitError(BAD_GRES)
        if scope == "socket":
            scope, count = "node", count * request.sockets_per_node
        is_gpu = g.name == "gpu"
        total = count * request.tasks if scope == "task" else -int(g.scope == "socket")
        made = task_cpus if is_gpu or by_node else 0
        found.append(Demand(kinds, count, scope, is_gpu, cpus if is_gpu else 0, each.reserved and is_gpu, total, made))
    return tuple(found)


def _kinds(asked: GresRequest, table: NodeTable) -> tuple[int, ...]:
    wanted = asked.name, asked.type
    return tuple([k for k, (name, kind) in enumerate(table.gres_kinds) if wanted in ((name, ""), (name, kind))])


def all_known(request: ResourceRequest, table: NodeTable) -> bool:
    """Return True if some node has GRES of each type that is asked for. A job on hold may ask for others."""
    return all(_kinds(asked, table) for asked in request.gres)


def guessed(wanted: tuple[Demand, ...], n_tasks: int, cpus_per_task: int) -> tuple[Demand, ...]:
    """Return `wanted` with CPUs for GRES of a job, as many for each as its tasks make if they are spread evenly.

    Nothing where they cannot be (_estimate_cpus_per_gres). Nodes are tried so first.
    """
    found = tuple([replace(d, cpus=each, reserved=True) if (each := _even(d, n_tasks, cpus_per_task)) else d
                   for d in wanted])  # fmt: skip
    return () if found == wanted else found


def _even(demand: Demand, n_tasks: int, cpus_per_task: int) -> int:
    """Return the CPUs of the tasks of each device, 0 where they are no whole number of them."""
    count = demand.count
    if demand.scope != "job" or demand.cpus or demand.task_cpus or not n_tasks or not count:
        return 0
    if not n_tasks % count:
        return n_tasks // count * cpus_per_task
    each = count // n_tasks
    return 0 if count % n_tasks or cpus_per_task % each else cpus_per_task // each


def agreed(request: ResourceRequest) -> ResourceRequest:
    """`request` with what follows from its GRES (`slurmsim.gres_counts`). Raises SubmitError where they contradict."""
    if not (request.gres or request.mem_per_gpu_mib or request.cpus_per_gpu or request.tasks_per_gpu):
        return request
    counts = Counts(
        request.n_tasks or None, request.min_nodes if request.max_nodes else None, request.max_nodes or None,
        request.tasks_per_node or None, request.sockets_per_node,
        request.cpus_per_task if request.cpus_given else None, request.cpus_per_gpu, request.mem_per_gpu_mib or 0,
        request.tasks_per_gpu, [(g.name, g.type, g.count, g.scope) for g in request.gres],
    )  # fmt: skip
    try:
        agree(counts)
    except Disagreement as wrong:
        raise SubmitError(wrong.refusal) from None
    gres = _one_each(tuple([GresRequest(*each) for each in counts.gres]))
    if request.cpus_per_gpu and not any(g.name == "gpu" for g in gres):
        gres = (*gres, GresRequest("gpu", "", 0))  # it gets none, but a node that has some
    return replace(
        request, gres=gres, n_tasks=counts.tasks or 0, min_nodes=counts.min_nodes or request.min_nodes,
        max_nodes=counts.max_nodes or 0, tasks_per_node=counts.tasks_per_node or 0,
    )  # fmt: skip


def evenly(request: ResourceRequest, *, by_node: bool) -> ResourceRequest:
    """Return `request` with as many tasks on each node as its nodes and GPUs make (``--ntasks-per-gpu``).

    Without a number of nodes each has to have CPUs for all tasks, unless nodes give CPUs `by_node` (24.11).
    """
    other = not request.tasks_per_gpu or request.tasks_per_node or request.cpus_per_gpu
    if other or (by_node and request.min_nodes <= 1):
        return request
    return replace(request, tasks_per_node=request.n_tasks // max(request.min_nodes, 1))


def _one_each(gres: tuple[GresRequest, ...]) -> tuple[GresRequest, ...]:
    """Of each kind the narrowest count, from which the others follow once they agree (gres_select_filter.c)."""
    order = ("node", "socket", "task", "job")
    best: dict[tuple[str, str], int] = {}
    for g in gres:
        best[g.name, g.type] = min(best.get((g.name, g.type), len(order)), order.index(g.scope))
    return tuple([g for g in gres if order.index(g.scope) == best[g.name, g.type]])


def usable(wanted: Sequence[Demand], free_gres: IntArray, idx: IntArray, per_gpu: int, free_mem: IntArray) -> IntArray:
    """Return what each node of `idx` has of each demand, (n_demands, len(idx)); memory per GPU may exclude some."""
    have = np.zeros((len(wanted), len(idx)), np.int64)
    for k, demand in enumerate(wanted):
        have[k] = free_gres[list(demand.kinds)][:, idx].sum(axis=0)
        if per_gpu and demand.is_gpu:
            have[k] = np.minimum(have[k], free_mem // per_gpu)
    return have


def offer(
    wanted: Sequence[Demand], have: IntArray, cpus: IntArray, cpus_per_task: int, most_tasks: int | None,
    grain: IntArray | int = 1, whole: bool = False, others: int | None = None, sure_tasks: int = 0,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """CPUs each node can offer a job with GRES, and what it has of each then.

    No CPUs where some kind is short, else no more than the tasks there need, or the GPUs there bring.
    Mirrors gres_select_filter_sock_core.

    Parameters
    ----------
    most_tasks
        Tasks a node may get at most, None when only its CPUs limit them.
    grain
        CPUs of the smallest share of a node.
    others
        Nodes the job needs at least beside one, if GPUs that bring CPUs leave a node no others (24.11).
    sure_tasks
        Tasks every node of the job gets for sure; it gives the CPUs they need (min_tasks_this_node).
    """
    tasks = cpus // cpus_per_task
    if most_tasks is not None:
        tasks = np.minimum(tasks, most_tasks)
    enough = np.ones(len(cpus), np.bool_)
    bring = False
    for k, demand in enumerate(wanted):
        least = max(demand.count, 1) if demand.scope != "job" else 1
        usable = have[k]
        if demand.cpus:
            usable = np.minimum(usable, cpus // demand.cpus)
            if demand.most and not whole:
                usable = np.minimum(usable, demand.most - (others or 0) * (demand.scope != "node"))
        elif demand.task_cpus and not whole:
            usable = np.minimum(usable, tasks * cpus_per_task // demand.task_cpus)
            if others is not None:
                usable = np.minimum(usable, demand.most - others * (demand.scope != "node"))
                tasks = np.minimum(tasks, usable * demand.task_cpus // cpus_per_task)
            have[k] = usable
        enough &= usable >= least
        if demand.scope == "task":
            tasks = np.minimum(tasks, usable // demand.count)
        if demand.cpus:
            bring = True
            gpus = usable if demand.scope == "job" else demand.count * (tasks if demand.scope == "task" else 1)
            need = gpus * demand.cpus
            needed = tasks if others is None or whole else sure_tasks
            need = np.maximum(needed * cpus_per_task, need)
            need = -(-need // grain) * grain
            enough &= (need <= cpus) & (tasks > 0)
            cpus = np.minimum(cpus, need)
            have[k] = np.minimum(have[k], cpus // demand.cpus)
            enough &= have[k] >= least
    return np.where(enough, cpus if bring else np.minimum(cpus, tasks * cpus_per_task), 0), have


def preference(wanted: Sequence[Demand], have: IntArray, cpus: IntArray, whole: bool) -> IntArray:
    """Return what to add to 256 times a node's weight, (n_nodes,): nodes with more usable GPUs are lighter.

    `whole`: those beyond what the job asks for count, too, if it asks for any.
    """
    near = np.zeros(have.shape[1], np.int64)
    for k, demand in enumerate(wanted):
        if demand.is_gpu and (demand.count or not whole):
            count = have[k] if whole or not demand.most else np.minimum(have[k], demand.most)
            near += np.minimum(count, cpus // demand.cpus) if demand.cpus else count
    return NEAR - np.minimum(near, NEAR)


def totals(wanted: Sequence[Demand], have: IntArray, idx: IntArray) -> GresNeed | None:
    """Return the totals to reach, None when the job asks for GRES per node only."""
    counted = [k for k, demand in enumerate(wanted) if demand.scope != "node"]
    if not counted:
        return None
    counts = tuple(wanted[k].most for k in counted)
    reserved = tuple(wanted[k].cpus if wanted[k].reserved else 0 for k in counted)
    nodes = idx.tolist()
    gpus = sum((have[k] for k, demand in enumerate(wanted) if demand.is_gpu), np.zeros(len(idx), np.int64))
    columns = zip(*(have[k].tolist() for k in counted), strict=True)
    return GresNeed(
        counts, dict(zip(nodes, columns, strict=True)), dict(zip(nodes, gpus.tolist(), strict=True)), reserved
    )


def grant(
    wanted: Sequence[Demand], free_gres: IntArray, idx: IntArray, tasks: Sequence[int], cpus: IntArray,
    most_gpus: IntArray | None = None, table: NodeTable | None = None,
) -> tuple[tuple[int, IntArray], ...]:  # fmt: skip
    """Per kind how many each node of the allocation gives; the first kind with enough first, spilling into the next.

    A total is filled node after node: each leaves one for every node behind it, and gives as many as its CPUs are
    reserved for; what is missing then comes from any node that has some. Tasks bring their own. `most_gpus`: the GPUs
    that the memory of each node suffices for. 22.05 reads that only when it chooses nodes, and so may promise more than
    there is.
    """
    given: dict[int, IntArray] = {}
    unconsumed = table.unconsumed if table is not None else frozenset()
    for demand in wanted:
        if unconsumed and not unconsumed.isdisjoint(demand.kinds):  # it is there, and none of it is taken
            given |= {kind: np.zeros(len(idx), np.int64) for kind in demand.kinds}
            continue
        pool = [free_gres[k][idx] - given.get(k, 0) for k in demand.kinds]
        have = np.sum(pool, axis=0)
        if demand.is_gpu and most_gpus is not None:
            have = np.minimum(have, most_gpus)
        if demand.scope == "node":
            missing = np.full(len(idx), demand.count, np.int64)
        elif demand.scope == "task":
            missing = _fill(have, [t * demand.count for t in tasks], demand.most)
        else:
            each = demand.cpus if demand.reserved else demand.task_cpus
            most = np.minimum(have, cpus // each) if each else have
            missing = _fill(have, most.tolist(), demand.count, 0, int(_has_no_files(demand, table)))
            if missing.sum() < demand.count:
                rest = np.minimum(np.cumsum(have - missing), demand.count - missing.sum())
                missing += np.diff(rest, prepend=0)
        for kind, left in zip(demand.kinds, pool, strict=True):
            give = np.minimum(left, missing)
            if give.any():
                given[kind] = given.get(kind, 0) + give
                missing = missing - give
    return tuple(sorted(given.items()))


def cpus_of_tasks(wanted: Sequence[Demand], given: Sequence[tuple[int, IntArray]], cpus: IntArray) -> IntArray:
    """Return the CPUs of the tasks that the `given` GPUs of each node make; `cpus` where they make none."""
    made = next((d for d in wanted if d.is_gpu and d.task_cpus and d.scope == "job"), None)
    counts = [count for kind, count in given if made is not None and kind in made.kinds]
    return cpus if made is None or not counts else np.sum(counts, axis=0) * made.task_cpus


def untouched(table: NodeTable, free_gres: IntArray, idx: IntArray) -> npt.NDArray[np.bool_]:
    """Return which nodes of `idx` have all their GRES free, shape (len(idx),).

    A job that takes nodes whole takes all their GRES, whatever it asked for. So it starts on no others, also beside
    suspended jobs, which keep theirs (_verify_node_state, job_test.c).
    """
    found: npt.NDArray[np.bool_] = (free_gres[:, idx] == table.gres[:, idx]).all(axis=0)
    return found


def all_of(table: NodeTable, idx: IntArray, wanted: Sequence[Demand] = ()) -> tuple[tuple[int, IntArray], ...]:
    """Return the GRES of the nodes of an exclusive job (gres_ctld_job_alloc_whole_node).

    It gets all of them, GPUs whole unless it asked for shares of them; of explicit ones what it asks for, and none of
    those that no job uses up.
    """
    unwanted = ("gpu",) if wants_shares(wanted, table) else SHARED
    mixed = table.local is not None and any(layout.shared for layout in table.local.layouts.values())
    found = [(kind, row[idx]) for kind, row in enumerate(table.gres)
             if row[idx].any() and not (mixed and table.gres_kinds[kind][0] in unwanted)]  # fmt: skip
    if table.unconsumed:
        found = [(kind, row * 0 if kind in table.unconsumed else row) for kind, row in found]
    if table.explicit:
        asked = [demand for demand in wanted if not table.explicit.isdisjoint(demand.kinds)]
        each = np.ones(len(idx), np.int64)
        found = [(kind, row) for kind, row in found if kind not in table.explicit]
        found += grant(asked, table.gres, idx, each.tolist(), each, table=table)
    return tuple(sorted(found, key=itemgetter(0)))


def has_devices(wanted: Sequence[Demand], table: NodeTable, node: int) -> bool:
    """Return True if `node` knows some of the devices wanted one by one: by type, or by the cores beside them."""
    names = {table.gres_kinds[demand.kinds[0]][0] for demand in wanted}
    return any(g.name in names and bool(g.type or g.near) for g in table.specs[node].gres)


def wants_shares(wanted: Sequence[Demand], table: NodeTable) -> bool:
    """Return True if shares of GPUs are wanted (shard, mps)."""
    return any(table.gres_kinds[demand.kinds[0]][0] in SHARED for demand in wanted)


def _has_no_files(demand: Demand, table: NodeTable | None) -> bool:
    """Return True for GRES without device files, of which each node of a job gives one as long as there are any."""
    if table is None:
        return False
    name = table.gres_kinds[demand.kinds[0]][0]
    return next((one.counted for spec in table.specs for one in spec.gres if one.name == name), False)


def _fill(have: IntArray, most: Sequence[int], total: int, least: int = 1, first: int = 1) -> IntArray:
    """Return `total` dealt to the nodes in order, at least `least` and at most `most` to each, one left for the others.

    `first`: what a node may take though fewer are left than nodes behind it.
    """
    dealt = np.zeros(len(have), np.int64)
    left = total
    for k in range(len(have)):
        after = len(have) - k - 1
        dealt[k] = max(0, min(int(have[k]), max(int(most[k]), least), max(left - after, first), left))
        left -= int(dealt[k])
    return dealt
