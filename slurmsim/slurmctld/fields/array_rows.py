"""Which rows of arrays are shown as lists of tasks, and which as one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.release_changes import since

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import Row


def is_list(row: Row, cluster: LiveCluster) -> bool:
    """Return True if it is shown as a list of tasks: before 26.05 the last one left of several is shown as itself."""
    if len(row.tasks) == 1 and since(cluster.release, "last_task_in_brackets") and row.job.own_id is None:
        return True
    array = row.job.array
    return len(row.tasks) > 1 or bool(row.tasks and array is not None and len(array.tasks) + array.gone == 1)
