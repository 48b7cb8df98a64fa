"""The error at the end of every update of a job that its partition would not take now (job_limits_check, 22.05)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NOT_NOW = "Requested partition configuration not available now"


def partition_takes(cluster: LiveCluster, live: LiveJob, min_cpus: int | None = None) -> None:
    """Raise Refusal if the partition is inactive, closed to the job's user, or has not as many CPUs.

    `min_cpus` are those an update asks for.

    That it is down, or that the job asks for too many nodes or too much time, may change: nothing is said of it.
    """
    core = live.core
    partition = core.partition
    closed = cluster.controller.access.shuts_out(live.person.name, partition, bool(core.sub.reservation))
    too_many = partition.state in ("UP", "DRAIN") and (min_cpus or core.sub.request.min_cpus) > partition.total_cpus
    if closed or too_many or partition.state == "INACTIVE":
        raise Refusal(NOT_NOW)


def reasons_go(cluster: LiveCluster, jobs: Iterable[LiveJob]) -> None:
    """Clear the reasons of jobs at the end of an update, until a pass looks at them; partition limits stay."""
    limits = cluster.controller.partition_limits
    for live in jobs:
        if limits.limit_reason(live.core, live.core.partition, live.core.request) is None:
            live.edited_at = cluster.now
