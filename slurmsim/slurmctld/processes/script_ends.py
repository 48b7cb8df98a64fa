"""News of a supervisor: a job's script is over, and how."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.releases import row
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.processes import expedited, job_termination, node_programs, steps
from slurmsim.slurmctld.processes.real_jobs import ended
from slurmsim.states import JobState

CHANGES = frozenset({"ended"})
_SIGNALLED = {"22.05": "JobLaunchFailure", "23.02": "RaisedSignal:{number}({name})"}
_KILLED = (JobState.CANCELLED, JobState.TIMEOUT, JobState.NODE_FAIL)


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the request by name."""
    return {"ended": partial(_ended, cluster)}


def _ended(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    live = cluster.jobs.get(int(arguments["core_id"]))
    if live is None:
        if cluster.real is not None:
            cluster.real.executor.kill(int(arguments["core_id"]), int(arguments["restarts"]))
        raise Refusal(INVALID_JOB)
    if person.uid not in (live.person.uid, cluster.owner):
        raise Refusal(DENIED)
    core, run, status = live.core, int(arguments["restarts"]), int(arguments["status"])
    steps.batch_over(live, cluster.now, run, status)
    if status == node_programs.PROLOG_FAILED and core.alloc is not None:
        node_programs.prolog_failed(cluster, live, run, int(core.alloc.indices()[0]))
        job_termination.look(cluster, live, run)
        return {}
    fact, unlaunched = ended(core, run, status)
    running = core.state in (JobState.RUNNING, JobState.SUSPENDED)
    if core.state in _KILLED and run == core.restarts and status:
        core.exit_code = fact.exit_code
    if not expedited.failed(cluster, live, fact):
        cluster.network.tell(cluster.now, [fact])
    if core.restarts > run or core.state not in (JobState.RUNNING, JobState.SUSPENDED):
        job_termination.look(cluster, live, run)
    if running and live.over:
        if unlaunched:
            core.reason = "JobLaunchFailure"
        else:
            name_signal(live, status & 0x7F, cluster.release)
    return {}


def name_signal(live: LiveJob, number: int, release: str) -> None:
    """Note the signal of a job that failed by one, each release in its way."""
    if number and live.core.state == JobState.FAILED:
        name = signal.strsignal(number) or f"Unknown signal {number}"
        live.core.reason = row(_SIGNALLED, release).format(number=number, name=name)
