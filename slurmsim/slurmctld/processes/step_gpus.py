"""The GPUs of a step on each of its nodes: what it asks for, else what its job was given for it.

Mirrors what slurmstepd counts for SLURM_GPUS_ON_NODE (22.05, 26.05): a step of a job that has GPUs of whole nodes and
asked for none has none. A step takes the lowest devices of its job that no step beside it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.gres_counts import BAD_GRES, gres_items
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.fields.gres_ids import gpu_devices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmsim.core.records.job import Job
    from slurmsim.core.records.node_table import NodeTable
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob

_ASKED = ("gpus", "tres_per_node", "tres_per_task", "tres_per_socket", "cpus_per_tres", "mem_per_tres")


def check_gres(core: Job, table: NodeTable, asked: Mapping[str, Any], release: str) -> None:
    """Refuse a step that wants GRES its job has none of; CPUs or memory of each GPU want one, too. Raises Refusal."""
    alloc = core.alloc
    given = [table.gres_kinds[kind] for kind, _ in alloc.gres] if alloc is not None else []
    wanted = [(name, kind) for key in _ASKED for name, kind, *_ in gres_items(str(asked.get(key) or ""), "step")
              if name not in ("cpu", "none")]  # fmt: skip
    why = ""
    if not given:
        why = "Step requested GRES but job doesn't have GRES" if wanted else ""
    for name, kind in wanted if given else ():
        if not any(name == own and kind in ("", of) for own, of in given):
            why = f"Step requested GRES ({name}{kind and ':'}{kind}) not found in the job"
    if why:
        raise Refusal(BAD_GRES if since(release, "missing_gres_not_named") else f"{why}\n{BAD_GRES}", 2072)


def gpus_of_step(
    core: Job, table: NodeTable, asked: Mapping[str, Any], places: Sequence[int], tasks: Sequence[int]
) -> list[int]:
    """Return the GPUs on each node of a step.

    Parameters
    ----------
    asked
        What srun asked for.
    places
        Places of its nodes among those of the allocation.
    tasks
        Its tasks on each.
    """
    if asked.get("no_gres"):
        return [0] * len(places)
    per_task, per_node, total = (_count(asked.get(key)) for key in ("tres_per_task", "tres_per_node", "gpus"))
    if per_task:
        return [per_task * count for count in tasks]
    if per_node:
        return [per_node] * len(places)
    if total and len(places) == 1:
        return [total]
    return _of_job(core, table, places, tasks)


def devices_of_step(
    cluster: LiveCluster, live: LiveJob, nodes: Sequence[int], counts: Sequence[int]
) -> list[list[int]]:
    """Return the numbers of the devices of a new step on each of its `nodes`; fewer where its job has no more free."""
    found = []
    for node, count in zip(nodes, counts, strict=True):
        taken: set[int] = set()
        for step in live.running_steps:
            if step.asked.get("devices") and node in step.nodes and not step.asked.get("overlap"):
                taken.update(step.asked["devices"][step.nodes.index(node)])
        own = gpu_devices(live.core, node, cluster)
        free = [device for device in own if device not in taken]
        found.append((free if len(free) >= count else own)[:count])
    return found


def _count(text: Any) -> int:
    return sum(count for name, _, count, _ in gres_items(str(text or ""), "step") if name == "gpu")


def _of_job(core: Job, table: NodeTable, places: Sequence[int], tasks: Sequence[int]) -> list[int]:
    alloc = core.alloc
    found = [0] * len(places)
    for wish in core.sub.request.gres:
        if wish.name != "gpu" or alloc is None:
            continue
        for k, place in enumerate(places):
            if wish.scope == "task":
                found[k] += wish.count * tasks[k]
            elif wish.scope == "node":
                found[k] += wish.count
            else:
                kinds = [n for n, (name, of) in enumerate(table.gres_kinds) if name == "gpu" and wish.type in ("", of)]
                given = [count for kind, count in alloc.gres if kind in kinds]
                found[k] += sum(count if isinstance(count, int) else int(count[place]) for count in given)
    return found
