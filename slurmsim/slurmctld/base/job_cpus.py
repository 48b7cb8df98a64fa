"""How many CPUs a job has of each of its nodes, which may be others than it is charged for (--core-spec)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.job import Job

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


def cpus_on_nodes(core: Job, cluster: LiveCluster) -> list[int]:
    """Return the CPUs a job has of its nodes, in their order; with the other threads of its cores."""
    alloc, request = core.alloc, core.request
    assert alloc is not None
    if request.own_cpus is not None:
        return [int(n) for n in request.cpus_of_its_own(alloc.indices(), cluster.controller.state.table)]
    return [alloc.cpus] * alloc.n_nodes if isinstance(alloc.cpus, int) else [int(n) for n in alloc.cpus]
