"""Ends of jobs that an injected rule asks for: each happens as the controller itself would let it happen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.ending import end
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.faults.node_troubles import NodeTroubles
    from slurmsim.slurmctld.processes.job_timers import Timer

_ALIVE = (JobState.RUNNING, JobState.SUSPENDED)
_CODES = {JobState.OUT_OF_MEMORY: "0:125"}
_ENDED = "0:15"
_LAUNCH_FAILED = "LAUNCH_FAILED"
_MORE_THAN_AN_END = (JobState.NODE_FAIL, _LAUNCH_FAILED)


class JobOutcomes:
    """Instants at which something happens to a job; they lie in the cluster's network."""

    def __init__(self, cluster: LiveCluster, nodes: NodeTroubles) -> None:
        self._cluster, self._nodes = cluster, nodes

    def plan(self, live: LiveJob, state: str, parameters: Mapping[str, Any]) -> None:
        """`live` was just submitted or launched; the outcome comes later, unless it is over or runs anew by then."""
        cluster = self._cluster
        instant = cluster.now + int(parameters["seconds"])
        cluster.network.at(instant, self._befalls, live, live.core.restarts, state, dict(parameters))

    def _befalls(self, timer: Timer) -> None:
        live, run, state, parameters = timer.value
        network = self._cluster.network
        if not _meets(live, run, state):
            return
        if network.followed and state not in _MORE_THAN_AN_END:
            return  # the journal says so itself, and in its order
        if state == JobState.NODE_FAIL:
            self._lose_node(live, int(parameters["down"]))
        else:
            network.act(self._cluster.now, partial(self._ends, live, run, state, parameters))

    def _ends(self, live: LiveJob, run: int, state: str, parameters: Mapping[str, Any]) -> None:
        c, job = self._cluster.controller, live.core
        if not _meets(live, run, state):
            return  # by now: it has ended by itself within the instant
        if state == _LAUNCH_FAILED:
            c.requeues.launch_failed(job)
        elif state == JobState.PREEMPTED and parameters["requeue"] and c.requeues.wanted(job):
            c.life_cycle.requeue(job, JobState.PREEMPTED)
        elif state == JobState.DEADLINE and job.state not in _ALIVE:
            c.life_cycle.finish(job, JobState.DEADLINE, Reason.DEADLINE)
        else:
            end(c, job, state, _CODES.get(state, _ENDED))

    def _lose_node(self, live: LiveJob, down: int) -> None:
        """Let the first node of the job stop responding for a while."""
        cluster, alloc = self._cluster, live.core.alloc
        assert alloc is not None
        name = cluster.controller.state.table.names[int(alloc.indices()[0])]
        self._nodes.take_down((name,))
        self._nodes.resume_later((name,), cluster.now + down)


def _meets(live: LiveJob, run: int, state: str) -> bool:
    """Return True if an outcome that was planned for a run of a job can still befall it."""
    job = live.core
    return not live.over and job.restarts == run and (job.state in _ALIVE or state == JobState.DEADLINE)
