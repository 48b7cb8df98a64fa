"""What jobs do in the copy of a cluster that really ran its scripts: nothing runs in the copy, so it is modelled.

A script of nothing but sleeps and an exit lasts as long as it says, from when it began. Any other script lasts to its
time limit, which is all the scheduler knows of it as well, and succeeds. An allocation has no client to give it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.simulated import behaviour, is_real
from slurmsim.slurmctld.processes import node_programs, steps
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

_RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED})


def stand_in(cluster: LiveCluster) -> int:
    """Have every job of `cluster` simulated from now on; return how many of them have processes elsewhere."""
    n = 0
    for live in cluster.jobs.values():
        if live.over or not live.is_known:
            continue
        if live.asked.get("allocate"):
            live.asked = {**live.asked, "held": False}  # its client is not missed here
            n += live.core.state in _RUNS
        elif is_real(live.asked):
            _stand_in(cluster, live)
            n += live.core.state in _RUNS
    for live in cluster.jobs.values():
        if live.is_known and live.core.state in _RUNS and live.configures:
            steps.began(cluster, live)
    node_programs.end_all(cluster)
    cluster.power_programs.end_all()
    cluster.runs_jobs = cluster.runs_programs = False
    return n


def _stand_in(cluster: LiveCluster, live: LiveJob) -> None:
    core = live.core
    asked = live.asked if live.task is None else {**live.asked, "array_task_id": live.task}
    ran = 0
    if core.state in _RUNS:
        since = cluster.now if core.state == JobState.SUSPENDED else live.suspended_or_resumed or core.start_time or 0
        ran = live.ran_before_suspension + cluster.now - since
    cluster.network.stand_in(core, behaviour(asked, core.time_limit_s), ran)
