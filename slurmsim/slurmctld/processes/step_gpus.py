"""The GPUs a job has for a step that asks for none itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.core.records.job import Job
    from slurmsim.core.records.node_table import NodeTable


def gpus_of_job(core: Job, table: NodeTable, places: Sequence[int], tasks: Sequence[int]) -> list[int]:
    """Return GPUs on each node of a step.

    Parameters
    ----------
    places
        Places of its nodes among those of the allocation.
    tasks
        Its tasks on each.
    """
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
