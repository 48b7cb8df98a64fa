"""The scheduler that looked at a pending job last, when it did, and what a job shows only after that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.states import is_held

if TYPE_CHECKING:
    from slurmsim.core.controller.controller import Controller
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob, Row


def last_cycle(controller: Controller) -> int:
    """Return when backfill came last; 0: never."""
    return int(getattr(controller.host.policy, "last_cycle", 0))


def last_walk(controller: Controller) -> int:
    """Return when backfill last found jobs that wait; 0: never."""
    return int(getattr(controller.host.policy, "last_walk", 0))


def looks(controller: Controller) -> tuple[int, int]:
    """Return the passes of the main scheduler so far, and when backfill came last: who has seen the jobs there are."""
    return controller.main.passes, last_cycle(controller)


def looked_last(live: LiveJob, cluster: LiveCluster) -> str:
    """Which scheduler was the last to look at the job, which waits."""
    core, cycle, controller = live.core, last_cycle(cluster.controller), cluster.controller
    seen = _seen_by_backfill(live, cycle) and live.entered_after != looks(cluster.controller)
    seen = seen and max(controller.main.last_pass, core.submit_time) < cycle
    if seen and _kept_out(live, cluster):
        seen = False
    return "Backfill" if seen else "Main"


def _kept_out(live: LiveJob, cluster: LiveCluster) -> bool:
    """Return True if a limit of its partition keeps the job out: it is on the list of no scheduler."""
    core, limits = live.core, cluster.controller.partition_limits
    return limits.limit_reason(core, core.partition, core.request, shortened=True) is not None


def last_evaluated(live: LiveJob, cluster: LiveCluster) -> int:
    """When a scheduler last looked at the job, which waits, as far as is kept."""
    core = live.core
    if not core.queued and core.eligible_time is None:  # no scheduler has had it on its list since
        return cluster.storage.started_before(live) or core.submit_time
    if core.queued and len(core.partitions) == 1 and _kept_out(live, cluster):
        return core.submit_time
    cycle = last_cycle(cluster.controller)
    by_backfill = cycle if _seen_by_backfill(live, cycle) else 0
    found = max(cluster.controller.main.last_pass, live.core.submit_time, by_backfill)
    return min(found, core.end_time or core.submit_time) if live.over else found


def begins_to_accrue(row: Row, cluster: LiveCluster) -> bool:
    """Whether it may start since its submission, its release or an update, and no pass has looked since."""
    core, live = row.core, row.job
    if cluster.controller.accounting.accrual is None and core.accrue_time is not None:
        return False  # it goes on as before
    if live.entered_after == looks(cluster.controller):
        return True
    looked = max(cluster.controller.main.last_pass, last_cycle(cluster.controller))
    return core.eligible_time == live.edited_at > max(core.submit_time, looked)


def _seen_by_backfill(live: LiveJob, cycle: int) -> bool:
    """Whether the `cycle` of backfill saw it: it is in the queue, or was held or changed later and had a plan."""
    core, held = live.core, live.planned_before_hold
    left = max(live.edited_at, held[1] if held is not None and is_held(core.reason) else 0)
    return core.queued or (core.planned_start is not None and left >= cycle)
