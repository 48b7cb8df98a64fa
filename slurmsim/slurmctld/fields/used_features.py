"""Which features a job got its nodes by: those of its constraint, or those it prefers (--prefer).

Mirrors features_use of a job's details (job_mgr.c, node_scheduler.c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob, Row


def shown_features(row: Row, cluster: LiveCluster) -> str | None:
    """Return the constraint of a job that waits, and what others were placed by."""
    live = row.job
    if row.core.state == JobState.PENDING:
        return live.asked.get("features") or None
    return placed_by(live, cluster)


def shown_preference(row: Row, cluster: LiveCluster) -> str | None:
    """Return what a job that waits prefers; of others it is not told."""
    return (row.job.asked.get("prefer") or None) if row.core.state == JobState.PENDING else None


def placed_by(live: LiveJob, cluster: LiveCluster) -> str | None:
    """Return what the nodes of a job were chosen by last, or are to be."""
    core, features, preferred = live.core, live.asked.get("features") or None, live.asked.get("prefer")
    if not preferred:
        return features
    if core.alloc is not None or core.start_time is not None:
        return preferred if core.request.lead else features
    seen = not core.sub.hold and cluster.controller.main.last_pass > core.submit_time
    return features if seen else preferred  # a submission tries what it prefers, a pass does without in the end
