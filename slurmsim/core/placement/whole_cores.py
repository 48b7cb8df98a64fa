"""Jobs that use fewer CPUs of a core than it has threads: --hint=nomultithread, --threads-per-core, --ntasks-per-core.

A node gives whole cores, and all their threads are the job's: with 128 cores of two threads each it has 256 CPUs. So
such a job is placed with the CPUs it is charged, which are more than those it uses. Mirrors job_test.c and
dist_tasks.c (cons_tres, 22.05), where CPUs are counted by thread used until they are charged. So do we where the cores
of a partition's nodes differ in their threads (`Fitted.by_thread`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.node_table import NodeTable
from slurmsim.model.request import ResourceRequest

MANY: Final = 1 << 15  # more than the threads of any core


def threads_of(table: NodeTable, nodes: Bitmap) -> int:
    """Return the threads of a core of `nodes`; 1 where they differ, or where less than a core is given."""
    if table.unit != "core" or not nodes:
        return 1
    found = {int(table.grain[i]) for i in to_indices(nodes)}
    return found.pop() if len(found) == 1 else 1


def charge(asked: ResourceRequest, table: NodeTable, nodes: Bitmap) -> int:
    """Return how many CPUs of `nodes` the job is charged for each thread it uses."""
    return _times(asked.threads_per_core, threads_of(table, nodes)) if asked.threads_per_core else 1


def placed(request: ResourceRequest, asked: ResourceRequest, table: NodeTable, nodes: Bitmap) -> ResourceRequest:
    """Return `request` as it is placed on `nodes`: with the CPUs it is charged."""
    if not (asked.threads_per_core or asked.tasks_per_core):
        return request
    threads = threads_of(table, nodes)
    used = min(most_used(asked, request.cpus_per_task), threads)
    times = _times(used, threads)
    if times > 1:
        return replace(
            request, cpus_per_task=request.cpus_per_task * times, cpus=request.min_cpus * times,
            min_cpus_per_node=request.min_cpus_per_node * times, cpus_per_gpu=request.cpus_per_gpu * times,
        )  # fmt: skip
    whole = -(-request.cpus_per_task // threads) * threads
    if asked.tasks_per_core != 1 or whole == request.cpus_per_task:
        return request
    cpus = None if request.cpus is None else max(request.cpus, request.tasks * whole)
    return replace(request, cpus_per_task=whole, cpus=cpus)


def times_charged(asked: ResourceRequest, per_task: int, table: NodeTable, nodes: Bitmap) -> int:
    """Return how many CPUs of `nodes` the job is charged for each one that its GPUs bring."""
    if not (asked.threads_per_core or asked.tasks_per_core):
        return 1
    threads = threads_of(table, nodes)
    return _times(min(most_used(asked, per_task), threads), threads)


def most_used(asked: ResourceRequest, per_task: int) -> int:
    """Return how many CPUs the job uses of a core at most, if it has as many."""
    return min(asked.threads_per_core or MANY, asked.tasks_per_core * per_task or MANY)


def differ(asked: ResourceRequest, table: NodeTable, nodes: Bitmap) -> bool:
    """Return True if the job is charged other CPUs for those it uses from node to node."""
    if table.unit != "core" or not (asked.threads_per_core or asked.tasks_per_core):
        return False
    return len({int(table.grain[i]) for i in to_indices(nodes)}) > 1


def _times(used: int, threads: int) -> int:
    return threads // used if used < threads and threads % used == 0 else 1
