"""Fields of a job that data_parser documents alone have (see `job_fields`): its flags and what it has core by core."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.cluster_state import allocation_unit
from slurmsim.core.placement.gres import gpu_cpus
from slurmsim.core.queue.priority import Basic, Multifactor
from slurmsim.core.records.job import NO_PRIORITY
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.step import NAMES
from slurmsim.slurmctld.fields.core_ids import cpu_ids
from slurmsim.slurmctld.fields.job_details import (
    allocated_at_once,
    lost_run,
    never_launched,
    node_count,
    read_anew,
    tasks_unknown,
)
from slurmsim.slurmctld.fields.node_fields import spec
from slurmsim.slurmctld.fields.output_files import shown_file
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import Row

_RAN = (JobState.RUNNING, JobState.SUSPENDED)
_ASKED = ("account", "partition", "qos", "wckey")
_DEFAULTS = {name: f"USING_DEFAULT_{name.upper()}" for name in _ASKED}
_NAMES = {
    "KILL_INV_DEP": "KILL_INVALID_DEPENDENCY", "NO_KILL_INV_DEP": "NO_KILL_INVALID_DEPENDENCY",
    "GRES_DISABLE_BIND": "GRES_BINDING_DISABLED", "GRES_ENFORCE_BIND": "GRES_BINDING_ENFORCED",
}  # fmt: skip


def job_flags(row: Row, cluster: LiveCluster, scheduler: str, told: list[str]) -> list[str]:
    """JOB_FLAGS by data_parser's words, in the order of their bits.

    `scheduler` is who started it or looked at it last, as squeue tells it; `told` are flags that scontrol shows.
    """
    core, asked = row.core, row.job.asked
    pending = core.state == JobState.PENDING
    backfilled = scheduler.startswith("Backfill")
    default = {flag for name, flag in _DEFAULTS.items() if not asked.get(name)}
    words = {
        "SKIP_TRES_STRING_ACCOUNTING": _counted(row, cluster) or lost_run(row, cluster) is not None,
        "EXACT_TASK_COUNT_REQUESTED": bool(asked.get("num_tasks")),
        "EXACT_CPU_COUNT_REQUESTED": bool(asked.get("cpus_per_task")) and not asked.get("crontab_spec"),
        "CRON_JOB": bool(core.sub.cron),
        "ACCRUE_COUNT_CLEARED": cluster.database.exists and core.start_time is not None
        and not allocated_at_once(row),
        "JOB_WAS_RUNNING": core.state in _RAN,
        "EXACT_MEMORY_REQUESTED": asked.get("pn_min_memory") is not None,
        **{flag: flag in default for flag in _DEFAULTS.values()},
        "DEPENDENT": (pending or core.priority == NO_PRIORITY) and (bool(asked.get("dependency")) or core.sub.hold),
        "PARTITION_ASSIGNED": "USING_DEFAULT_PARTITION" in default,
        "BACKFILL_ATTEMPTED": backfilled,
        "SCHEDULING_ATTEMPTED": pending and backfilled,
        "JOB_IMPLICIT_MAX_NODES": since(cluster.release, "tasks_limit_nodes") and bool(asked.get("num_tasks"))
        and not asked.get("max_nodes") and not asked.get("min_nodes"),
    }  # fmt: skip
    return [_NAMES.get(flag, flag) for flag in told] + [word for word, there in words.items() if there]


def _counted(row: Row, cluster: LiveCluster) -> bool:
    """Return True if slurmctld wrote down the TRES of a job for good with its last step (_internal_step_complete).

    Without a database those are jobs with a script that ran. Else it ended by itself, and srun told what one of its
    steps had used; from 24.11 on not in the second the job began.
    """
    core = row.core
    if core.start_time is None or core.end_time is None:
        return False
    if not cluster.database.exists:  # the step of the script is over after its job
        return bool(row.job.asked.get("script")) and not never_launched(core)
    if core.state not in (JobState.COMPLETED, JobState.FAILED):
        return False
    if not any(step.number not in NAMES for live in row.tasks or (row.job,) for step in live.steps):
        return False
    return core.end_time != core.start_time or not since(cluster.release, "data_parsers")


def resources(row: Row, cluster: LiveCluster) -> list[list[Any]] | None:
    """Return what a job has on each of its nodes; None where it has no nodes.

    For each node: its name, CPUs, MiB, CPUs and MiB the steps use, numbers of the CPUs, sockets, cores a socket,
    threads a core. The numbers stay known when the job is over.
    """
    core = row.core
    alloc = core.alloc
    if alloc is None:
        return None
    table = cluster.controller.state.table
    alive = core.state in _RAN
    used: Counter[int] = Counter()
    for step in row.job.placed_steps if alive else ():
        if step.asked:  # batch and extern steps use nothing
            used.update(dict(zip(step.nodes, step.cpus, strict=True)))
    found, all_cpus = [], cpus_on_nodes(core, cluster)
    for k, i in enumerate(alloc.indices().tolist()):
        machine, cpus = spec(i, cluster), all_cpus[k]
        mem = alloc.mem if isinstance(alloc.mem, int) else int(alloc.mem[k])
        by_steps = min(used[i], cpus)
        found.append([
            table.names[i], cpus, mem, by_steps, mem * by_steps // cpus if cpus else 0,
            cpu_ids(core, i, cluster), machine.sockets, machine.cores_per_socket, machine.threads_per_core,
        ])  # fmt: skip
    return found


def _held_cpus(row: Row, cluster: LiveCluster) -> int:
    """Return the CPUs a job was sure to need on its nodes (ncpus of job_resources): not all of nodes of its own."""
    core = row.core
    if core.alloc is None:
        return 0
    request, n_nodes = core.request, core.n_nodes
    least = n_nodes * max(request.tasks_per_node, request.asked.min_cpus_per_node, 1)
    return int(max(least, request.told_cpus, gpu_cpus(request.gres, n_nodes)))


def _select_kinds(row: Row, cluster: LiveCluster) -> list[str]:
    """Return what is consumable, and what else may use the nodes of the job (_get_job_node_req, cons_tres)."""
    unit, memory = allocation_unit(cluster.spec)
    consumable = f"CR_{'LINEAR' if unit == 'node' else unit.upper()}{'_MEMORY' if memory else ''}"
    spec = row.core.partition.spec
    if spec.oversubscribe == "EXCLUSIVE":
        return [consumable, "RESERVED"]
    shared = spec.oversubscribe == "FORCE" or (spec.oversubscribe == "YES" and row.job.asked.get("shared") == "ok")
    return [consumable, "AVAILABLE" if shared else "ONE_ROW"]


def _by_partition(row: Row, cluster: LiveCluster) -> list[list[Any]]:
    """Of a job with several partitions its priority in each; priority/basic keeps none."""
    core = row.core
    names = [p.name for p in core.partitions]
    plugin = cluster.controller.priority
    if len(names) < 2 or isinstance(plugin, Basic):
        return []
    if isinstance(plugin, Multifactor) and core.state == JobState.PENDING:
        values = plugin.recalculate(core, cluster.now)
        if len(values) == len(names):
            return [[name, int(value)] for name, value in zip(names, values, strict=True)]
    return [[name, int(core.priority)] for name in names]


def _tasks(row: Row, cluster: LiveCluster) -> int | None:
    """Its tasks: those it asks for, or --ntasks-per-node on each of its nodes; None where they are not known any more.

    What slurmctld reads anew when it is reconfigured has none.
    """
    request, core = row.core.sub.request, row.core
    if tasks_unknown(row, cluster):
        return 0 if read_anew(row) else None
    if request.n_tasks:
        return int(request.n_tasks)
    nodes = int(core.n_nodes) if core.start_time is not None else node_count(row, cluster)
    return (
        nodes * max(int(request.tasks_per_node), 1)
        if request.tasks_per_node or core.start_time
        else max(int(request.tasks), nodes)
    )


def _told(row: Row, cluster: LiveCluster, which: str) -> str:
    """Return a file as its job tells it: with its pattern since 26.05, and the default without a folder."""
    if not since(cluster.release, "error_file_as_asked"):
        return shown_file(row, which, cluster) or ""
    path = row.job.asked.get(which)
    if path is not None:
        return os.path.join(str(row.job.asked.get("work_dir") or "/"), str(path))
    if which == "std_err" or not row.job.asked.get("script"):
        return ""
    return "slurm-%A_%a.out" if row.job.array is not None else "slurm-%j.out"


def _told_in(row: Row, cluster: LiveCluster) -> str:
    """Where it reads from: nothing is told since 26.05 of a job that no command submitted."""
    asked = row.job.asked
    if since(cluster.release, "error_file_as_asked") and not (asked.get("std_in") or asked.get("submit_line")):
        return ""
    return shown_file(row, "std_in", cluster) or ""


FIELDS: dict[str, Callable[[Row, LiveCluster], Any]] = {
    "held_cpus": _held_cpus,
    "resources": resources,
    "select_kinds": _select_kinds,
    "priority_by_partition": _by_partition,
    "shown_tasks": _tasks,
    "told_out": lambda r, c: _told(r, c, "std_out"),
    "told_err": lambda r, c: _told(r, c, "std_err"),
    "told_in": _told_in,
}
"""Field -> its value for a row."""
