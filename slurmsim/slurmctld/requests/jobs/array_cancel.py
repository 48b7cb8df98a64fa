"""Cancelling tasks of an array that were never split off: they get neither records nor ids (job_str_signal, 22.05).

The array's own record loses the tasks that are named, or is cancelled as the one record it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.release_changes import since
from slurmsim.slurmctld.fields.job_fields import last_planned
from slurmsim.slurmctld.requests.jobs.rights import is_stranger

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.base.people import Person


def take_out(cluster: LiveCluster, named: Sequence[LiveJob], whole: bool) -> None:
    """Make ready to cancel `named`: what is left of them beside jobs with ids of their own is one record an array.

    `whole` says that the array was named by its id alone: its own record keeps its tasks then; named task by task it
    has none left once the last one goes.
    """
    wanted = set(named)
    for array in dict.fromkeys(live.array for live in named if live.array is not None and live.own_id is None):
        unsplit = array.unsplit()
        going = [live for live in unsplit if live in wanted]
        kept = going[0] if len(going) == len(unsplit) else None
        for live in going:
            assert live.task is not None
            live.take_id(array.id)
            if live is not kept:
                del array.tasks[live.task]
                _drop(cluster, live)
        if kept is None:
            continue
        kept.order = array.order
        if len(going) == 1:  # the record of one task is the task's once it ends
            cluster.job_table.keep(kept)
            continue
        kept.record_of = tuple(going)
        kept.core.planned_nodes = last_planned(live.core for live in going)
        cluster.job_table.keep(kept)
        if whole:
            array.tasks |= {live.task: kept for live in going if live.task is not None}
        else:
            assert kept.task is not None
            del array.tasks[kept.task]
            array.tasks[-1] = kept
            kept.emptied = True


def is_unheard(cluster: LiveCluster, text: str, found: LiveJob) -> bool:
    """Return True if `text` is a task's own id, which job_str_signal did not look for before 24.11."""
    if since(cluster.release, "task_by_its_own_id") or found.array is None:
        return False
    return text == str(found.own_id) != str(found.array.id)


def is_of_another(cluster: LiveCluster, text: str, person: Person) -> bool:
    """Return True if `text` names tasks after an id that a task of another user's array has taken.

    Who may cancel is asked of the record with that id; that it is no array's own is found out later.
    """
    base, underscore, _ = text.partition("_")
    named = cluster.job_table.find(base) if underscore else []
    return any(live.array is not None and is_stranger(cluster, person, live) for live in named)


def _drop(cluster: LiveCluster, live: LiveJob) -> None:
    """Drop a task that never had a record of its own; no client will see it again."""
    del cluster.jobs[live.core.id]
    cluster.network.live.pop(live.core.id, None)
    cluster.storage.dropped(live)
