"""``sbatch --requeue=expedite``: a job that broken nodes ended starts again before all others.

Mirrors _set_job_requeue_exit_value, batch_requeue_fini and kill_running_job_by_node_name (job_mgr.c, 26.05). A job that
fails goes back into the queue. If its epilog failed on a node it is EXPEDITING: it may start at once and goes first. If
all its epilogs were well the failure was its own, and it waits held, shown as REQUEUE_HOLD. A job that loses a node is
EXPEDITING without asking its epilogs. First means here the highest priority there is: a partition of a higher tier is
still before it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slurmsim.core.records.messages import JobEnded, Release, SetPriority
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

WAITS, BROKEN, HELD, EXPEDITING = "waits", "broken", "held", "expediting"
"""Its epilogs run; one of them failed; it is held; it goes first."""
FIRST = 0xFFFFFFFE


def wanted(cluster: LiveCluster, live: LiveJob) -> bool:
    """Return True if a job asked for it, and may be requeued."""
    return bool(live.asked.get("expedited_requeue")) and cluster.controller.requeues.wanted(live.core)


def failed(cluster: LiveCluster, live: LiveJob, fact: JobEnded) -> bool:
    """Requeue a running job that failed by itself, if it asked for that; return True if it did."""
    core = live.core
    code = int(fact.exit_code.partition(":")[0])
    running = core.restarts == fact.restarts and core.state == JobState.RUNNING
    if fact.state != JobState.FAILED or not code or not running or not wanted(cluster, live):
        return False
    cluster.network.act(cluster.now, partial(_requeue, cluster, live, fact.exit_code))
    settle(cluster, live)
    return True


def _requeue(cluster: LiveCluster, live: LiveJob, code: str) -> None:
    c, core = cluster.controller, live.core
    core.exit_code = code
    live.expedited = WAITS
    c.life_cycle.requeue(core, JobState.FAILED, Reason.NON_ZERO_EXIT)
    c.requeues.hold(core, Reason.REQUEUED_HELD)


def epilog_failed(live: LiveJob) -> None:
    """Note that a node of the run that failed is broken."""
    if live.expedited == WAITS:
        live.expedited = BROKEN


def settle(cluster: LiveCluster, live: LiveJob) -> None:
    """Decide what becomes of a job, if no node of its last run is completing any more."""
    core = live.core
    if live.expedited not in (WAITS, BROKEN) or cluster.controller.completing.of(core.id, core.restarts - 1):
        return
    if live.expedited == BROKEN:
        expedite(cluster, live)
    else:
        live.expedited = HELD


def lost_node(cluster: LiveCluster, live: LiveJob, run: Job) -> None:
    """Let a job that was requeued for a lost node go first, at this instant and behind what goes on now."""
    if run.state == JobState.NODE_FAIL and wanted(cluster, live):
        live.expedited = EXPEDITING
        cluster.timers.expedite_later(live)


def expedite(cluster: LiveCluster, live: LiveJob) -> None:
    """Let a pending job start from now on, before all others."""
    core = live.core
    if core.state != JobState.PENDING:
        return
    live.expedited = EXPEDITING
    cluster.network.act(cluster.now, partial(_free, cluster, core))
    cluster.network.tell(cluster.now, [Release(core.id), SetPriority(core.id, FIRST)])


def _free(cluster: LiveCluster, core: Job) -> None:
    """Take away what it waits for: it is held for a moment, since releases alone look at its begin time anew."""
    if core.reason != Reason.REQUEUED_HELD:
        cluster.controller.requeues.hold(core, Reason.REQUEUED_HELD)
    core.begin = None


def launched(live: LiveJob) -> None:
    """Note that it runs again: with its own priority if it is ever requeued."""
    if live.expedited:
        live.expedited, live.core.sub.priority = "", None
