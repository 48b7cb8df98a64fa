"""Signals to the processes of jobs, real ones and those that only seem to run."""

import signal
from collections.abc import Sequence

from slurmsim.core.records.messages import Fact, JobEnded
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.processes import steps
from slurmsim.slurmctld.processes.script_ends import name_signal
from slurmsim.states import JobState


def signal_jobs(cluster: LiveCluster, jobs: Sequence[LiveJob], number: int, batch: bool, full: bool) -> None:
    """Pass a signal on to the processes of running jobs; what only seems to run dies of a KILL to its script."""
    facts: list[Fact] = []
    dead: list[LiveJob] = []
    for live in jobs:
        core = live.core
        if core.state != JobState.RUNNING and (core.state != JobState.SUSPENDED or number == signal.SIGKILL):
            continue
        if number in (signal.SIGSTOP, signal.SIGCONT):
            live.stopped = number == signal.SIGSTOP
        if not batch:
            steps.send(cluster, live, number)
        if cluster.real is not None and is_real(live.asked):
            if batch or full:  # else it is for steps alone
                cluster.real.tell(live, number, script_only=batch)
        elif number == signal.SIGKILL:
            facts.append(JobEnded(core.id, JobState.FAILED, f"0:{number}", core.restarts))
            dead.append(live)
    if facts:
        cluster.network.tell(cluster.now, facts)
        for live in dead:
            name_signal(live, number, cluster.release)
