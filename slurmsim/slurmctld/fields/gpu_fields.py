"""What a job tells of the CPUs and memory its GPUs bring: by option from the start, by default once it was looked at.

slurmctld applies DefCpuPerGPU and DefMemPerGPU when it first tests whether a job fits (_set_gpu_defaults), which it
does not for a job that is submitted held, and forgets other defaults of memory then (_verify_node_state, 22.05).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim import gres_words
from slurmsim.release_changes import since
from slurmsim.states import JobState, is_held

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import Row


def looked_at(row: Row) -> bool:
    """Whether slurmctld has tested where the job fits."""
    return bool(row.core.state != JobState.PENDING or not is_held(row.core.reason))


def cpus_per_tres(row: Row, cluster: LiveCluster) -> str | None:
    told = row.job.asked.get("cpus_per_tres")
    if told is None and row.job.asked.get("cpus_per_gpu"):
        told = f"gres:gpu:{row.job.asked['cpus_per_gpu']}"
    each = row.core.request.per_gpu
    return gres_words.told(told, cluster.release) or (f"gpu:{each.cpus}" if each.cpus and looked_at(row) else None)


def mem_per_tres(row: Row, cluster: LiveCluster) -> str | None:
    told = row.job.asked.get("mem_per_tres")
    if told is None and row.job.asked.get("mem_per_gpu"):
        told = f"gres:gpu:{row.job.asked['mem_per_gpu']}"
    each = row.core.request.per_gpu
    return gres_words.told(told, cluster.release) or (f"gpu:{each.memory}" if each.memory and looked_at(row) else None)


def cpus_per_task(row: Row, cluster: LiveCluster) -> int:
    """CPUs a task, with those its GPUs bring."""
    request = row.core.request
    own = int(request.memory.cpus_per_task)
    if not request.per_gpu.cpus:
        return own
    return max(own, int(request.cpus_per_task)) if request.per_gpu.reserved or looked_at(row) else own


def pn_min_cpus(row: Row, cluster: LiveCluster) -> int:
    """CPUs each node has to give at least; once an update has touched them, what it left."""
    request, settled = row.core.request, row.job.asked.get("pn_min_cpus_settled")
    if settled is not None:
        return int(settled)
    brought = int(request.cpus_per_task) if request.per_gpu.reserved else 0
    if brought > request.memory.cpus_per_task:
        brought *= max(request.tasks_per_node, 1)
    return max(int(row.job.asked.get("pn_min_cpus") or 0), int(request.memory.least_cpus), brought)


def memory(row: Row, cluster: LiveCluster) -> tuple[int, bool]:
    """MiB and whether they are for each CPU, otherwise for each node; 0 where GPUs bring it.

    Since 24.11 those of MemPerTres, if there is any.
    """
    request = row.core.request
    if since(cluster.release, "memory_per_tres"):
        each = row.job.asked.get("mem_per_gpu") or (request.per_gpu.memory if looked_at(row) else 0)
        if each:
            return int(each), False
    if request.mem_gpu and request.per_gpu.charged and not looked_at(row):
        default = cluster.controller.state.cluster.memory_default(request.partition)
        return int(default.per_cpu or default.per_node or 0), bool(default.per_cpu)
    if request.least_memory:  # asked for, though none is given out
        return request.untracked(request.asked, cluster.controller.state.cluster.memory_default(request.partition))
    return int(request.told_mem_cpu or request.mem_node or 0), bool(request.told_mem_cpu)


def _gres(name: str) -> Callable[[Row, LiveCluster], str | None]:
    return lambda row, cluster: gres_words.told(row.job.asked.get(name), cluster.release)


def _binding(row: Row, cluster: LiveCluster) -> str | None:
    """TresBind, as it was asked for or set by an update."""
    asked = row.job.asked
    if asked.get("tres_bind"):
        return str(asked["tres_bind"])
    return gres_words.told_binding(asked.get("gpu_bind"), asked.get("tres_per_task"), cluster.release)


def _frequency(row: Row, cluster: LiveCluster) -> str | None:
    """TresFreq, as it was asked for or set by an update."""
    asked = row.job.asked
    return asked.get("tres_freq") or (f"gpu:{asked['gpu_freq']}" if asked.get("gpu_freq") else None)


FIELDS: dict[str, Any] = {
    **{name: _gres(name) for name in ("tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket")},
    "tres_bind": _binding,
    "tres_freq": _frequency,
    "cpus_per_task": cpus_per_task,
    "pn_min_cpus": pn_min_cpus,
    "pn_min_memory": lambda r, c: memory(r, c)[0],
    "mem_per_cpu": lambda r, c: memory(r, c)[1],
    "cpus_per_tres": cpus_per_tres,
    "mem_per_tres": mem_per_tres,
}
