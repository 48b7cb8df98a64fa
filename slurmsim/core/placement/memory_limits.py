"""MaxMemPerCPU and MaxMemPerNode: what they make of a request, or that they keep it out.

Mirrors _valid_pn_min_mem (job_mgr.c, 22.05). A job with more memory a CPU than the limit gets more CPUs a task. A job
with more memory a node than the limit on a CPU allows gets more CPUs a node. A job beyond a limit on a node waits as
MaxMemPerLimit. The limit counts whether or not memory is a consumable resource, and a job without any memory asks for a
whole node's.
"""

from __future__ import annotations

from typing import Final

from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, replace
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.request import ResourceRequest

REFUSED: Final = "Memory required by task is not available"
REFUSED_BY_DEFAULT: Final = "Requested partition configuration not available now"


@dataclass(frozen=True, slots=True)
class MemoryBounds(Value):
    """A default or a limit: MiB a CPU or a node; at most one is set, and 0 is none at all."""

    per_cpu: int | None = None
    per_node: int | None = None

    @classmethod
    def chosen(cls, own: MemoryBounds, others: MemoryBounds) -> MemoryBounds:
        """Return a partition's `own`, of either kind, or the cluster's."""
        return own if own.per_cpu is not None or own.per_node is not None else others


@dataclass(frozen=True, slots=True)
class Fitted(Value):
    """A request inside the limits of a partition."""

    request: ResourceRequest  # what is asked for then
    least_cpus: int  # CPUs every node has to give (pn_min_cpus)
    over: bool  # the limit keeps the job out
    cpus_per_task: int  # what scontrol shows as CPUs/Task
    # charge, mem_cpu: CPUs the job is charged for each it uses, and MiB of each it uses where those are more than one
    charge: int = 1
    mem_cpu: int = 0
    # what it is charged differs from node to node: its CPUs are counted as used until it has its nodes
    by_thread: bool = False

    @property
    def refusal(self) -> str:
        """What EnforcePartLimits says where it is over."""
        asked = self.request
        given = asked.mem_per_node_mib is not None or asked.mem_per_cpu_mib is not None
        return REFUSED if given else REFUSED_BY_DEFAULT


def fit_memory(
    request: ResourceRequest, partition: Partition, table: NodeTable, default: MemoryBounds, limit: MemoryBounds
) -> Fitted:
    """Return `request` as the memory limit of `partition` leaves it. Memory asked for per GPU is not limited."""
    least = request.cpus_per_task * request.tasks_apart
    as_it_is = Fitted(request, least, False, request.cpus_per_task)
    if not (limit.per_cpu or limit.per_node) or request.mem_per_gpu_mib is not None or not partition.mask:
        return as_it_is
    first = (partition.mask & -partition.mask).bit_length() - 1  # what its first node has stands for all
    per_cpu, per_node = _asked(request, default)
    if per_cpu and limit.per_cpu:
        return _more_a_task(request, per_cpu, limit.per_cpu, as_it_is)
    if not per_cpu and not per_node:
        per_node = int(table.mem[first])
    if per_cpu:
        assert limit.per_node
        over = per_cpu * _cpus_a_node(request, partition.spec, int(table.cpus[first]), least) > limit.per_node
        return replace(as_it_is, over=over)
    if limit.per_node:
        return replace(as_it_is, over=per_node > limit.per_node)
    assert limit.per_cpu
    needed = -(-per_node // limit.per_cpu)
    if needed <= least:
        cpus = _cpus_a_node(request, partition.spec, int(table.cpus[first]), least)
        return replace(as_it_is, over=per_node > limit.per_cpu * cpus)
    each = -(-needed // request.tasks_per_node) if request.tasks_per_node else request.cpus_per_task
    return Fitted(request, needed, False, each)


def _asked(request: ResourceRequest, default: MemoryBounds) -> tuple[int, int]:
    """MiB a CPU and MiB a node, at most one of them not 0: as asked for, else the default."""
    if request.mem_per_node_mib is not None:
        return 0, request.mem_per_node_mib
    if request.mem_per_cpu_mib is not None:
        return request.mem_per_cpu_mib, 0
    return (default.per_cpu, 0) if default.per_cpu else (0, default.per_node or 0)


def _more_a_task(request: ResourceRequest, memory: int, limit: int, as_it_is: Fitted) -> Fitted:
    times = -(-memory // limit)
    if times <= 1:
        return as_it_is
    cpus = request.cpus_per_task * times
    said = None if request.cpus is None else request.cpus * times
    fitted = replace(request, cpus_per_task=cpus, cpus=said, mem_per_cpu_mib=-(-memory // times))
    if request.n_tasks or request.tasks_per_node:
        return Fitted(fitted, as_it_is.least_cpus, False, cpus)
    return Fitted(fitted, cpus, False, cpus)


def _cpus_a_node(request: ResourceRequest, spec: PartitionSpec, whole: int, least: int) -> int:
    """CPUs the job is taken to have on a node, `whole` being all of them."""
    if spec.oversubscribe == "EXCLUSIVE" or request.exclusive:
        return whole
    tasks = max(request.tasks_per_node, 1)
    if request.n_tasks and request.max_nodes:
        tasks = max(tasks, -(-request.n_tasks // request.max_nodes))
    return max(tasks * request.cpus_per_task, least)
