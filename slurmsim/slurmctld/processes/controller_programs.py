"""PrologSlurmctld and EpilogSlurmctld of clusters that run jobs: programs that slurmctld itself runs for each job.

Mirrors prep_slurmctld.c and a recording of 26.05. A job has its nodes and is CONFIGURING while its prolog runs; only
then its script or steps begin. A failed prolog puts a batch job back into the queue and cancels any other job. The
epilog runs once the job has ended or is requeued: its nodes are free, but the job stays COMPLETING. What it exits with
has no effect.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.bitmap import to_indices
from slurmsim.core.records.messages import JobEnded, Requeue
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import CONTROLLER_EPILOG, CONTROLLER_PROLOG, LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.fields.job_details import says_requeue
from slurmsim.slurmctld.fields.sharing import exclusive, oversubscribe
from slurmsim.slurmctld.fields.used_features import placed_by
from slurmsim.slurmctld.processes import node_programs, power_programs, steps
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

CHANGES = frozenset({"program_ended"})
FAILED = "PrologSlurmctld failed, job killed"
"""What srun and salloc say of a job that was cancelled so."""
_CONTEXTS = {CONTROLLER_PROLOG: "prolog_slurmctld", CONTROLLER_EPILOG: "epilog_slurmctld"}
_ALIVE = (JobState.RUNNING, JobState.SUSPENDED)


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the request by name."""
    return {"program_ended": partial(_ended, cluster)}


def launched(cluster: LiveCluster, live: LiveJob) -> None:
    """Begin the prolog of a job that has its nodes, or all else where there is none."""
    live.programs = tuple(one for one in live.programs if one[0] != CONTROLLER_PROLOG)  # of runs before
    if node_programs.has(cluster, live, CONTROLLER_PROLOG):
        node_programs.begin(cluster, live, live.core.restarts, CONTROLLER_PROLOG, [0])
    else:
        _go_on(cluster, live)


def _go_on(cluster: LiveCluster, live: LiveJob) -> None:
    """Begin what a job runs, now that nothing has to be done before it."""
    steps.began(cluster, live)
    node_programs.launched(cluster, live)
    if cluster.real is not None and cluster.runs_jobs and is_real(live.asked):
        cluster.real.launch(live)


def over(cluster: LiveCluster, live: LiveJob, run: int) -> None:
    """Begin the epilog of a run that is over."""
    if node_programs.has(cluster, live, CONTROLLER_EPILOG):
        node_programs.begin(cluster, live, run, CONTROLLER_EPILOG, [0])


def _ended(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """Take the news that a program of a job is over. Raises Refusal for one that is not awaited."""
    kind, run = str(arguments["kind"]), int(arguments["restarts"])
    if kind in power_programs.OPTIONS:
        return cluster.power_programs.ended(arguments)
    if kind not in _CONTEXTS:
        return node_programs.ended(cluster, arguments)
    live, one = cluster.jobs.get(int(arguments["core_id"])), (kind, run, int(arguments["node"]))
    if live is None or one not in live.programs:
        raise Refusal(INVALID_JOB)
    core = live.core
    awaited = kind == CONTROLLER_PROLOG and core.restarts == run and core.state in _ALIVE
    failed = awaited and _failed(cluster, int(arguments["status"]))
    if failed:
        _give_up(cluster, live)  # nothing of it has begun, as its programs still say
    live.programs = tuple(other for other in live.programs if other != one)
    if awaited and not failed:
        _go_on(cluster, live)
    cluster.changed(live)
    return {}


def _failed(cluster: LiveCluster, status: int) -> bool:
    """Return True for an exit code, and for a program that took too long; not for one that another signal ended."""
    late = status == signal.SIGKILL and node_programs.timeout_s(cluster, CONTROLLER_PROLOG) > 0
    return late or (os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0)


def _give_up(cluster: LiveCluster, live: LiveJob) -> None:
    """Put a job with a failed prolog back into the queue, or cancel one that cannot be requeued."""
    core = live.core
    if live.asked.get("script") and core.sub.het is None and says_requeue(cluster, live):
        live.requeued_at, live.ran_with_priority, live.edited_at = cluster.now, core.priority, cluster.now
        cluster.network.tell(cluster.now, [Requeue(core.id)])
        return
    live.cancelled_by = 0
    live.mail.append({"kind": "said", "step": -1, "text": FAILED})
    cluster.network.tell(cluster.now, [JobEnded(core.id, JobState.CANCELLED, "0:0", core.restarts)])


def spec(cluster: LiveCluster, live: LiveJob, kind: str, run: int, node: int) -> dict[str, Any]:
    """Return what a supervisor runs for a job, on a node or beside slurmctld."""
    if kind not in _CONTEXTS:
        return node_programs.spec(cluster, live, kind, run, node)
    return {"programs": node_programs.programs_of(cluster, kind), "timeout": node_programs.timeout_s(cluster, kind),
            "environment": environment(cluster, live, kind, run)}  # fmt: skip


def environment(cluster: LiveCluster, live: LiveJob, kind: str, run: int) -> dict[str, str]:
    """Return the variables of a program: those of 26.05, which has more than earlier releases."""
    core, asked, state = live.core, live.asked, cluster.controller.state.cluster
    nodes = [] if core.alloc is None else to_indices(core.alloc.mask).tolist()
    node_list = state.compress([cluster.controller.state.table.names[i] for i in nodes])
    partition = core.partition.spec
    newest = since(cluster.release, "job_told_to_programs")
    told: dict[str, Any] = {
        "SLURM_CLUSTER_NAME": cluster.spec.name, "SLURM_JOBID": live.id, "SLURM_JOB_ID": live.id,
        "SLURM_JOB_ACCOUNT": core.account or None, "SLURM_JOB_QOS": (core.qos or None) if newest else None,
        "SLURM_JOB_COMMENT": asked.get("comment"), "SLURM_JOB_CONSTRAINTS": placed_by(live, cluster),
        "SLURM_JOB_CPUS_PER_NODE": node_programs.cpus_of(core, cluster), "SLURM_JOB_EXTRA": asked.get("extra"),
        "SLURM_JOB_GID": live.person.gid, "SLURM_JOB_GROUP": live.person.group, "SLURM_JOB_UID": live.person.uid,
        "SLURM_JOB_USER": live.person.name, "SLURM_JOB_LICENSES": asked.get("licenses"),
        "SLURM_JOB_NAME": asked.get("name"), "SLURM_JOB_NODELIST": node_list, "SLURM_JOB_NUM_NODES": len(nodes),
        "SLURM_JOB_PARTITION": core.partition.name, "SLURM_JOB_RESERVATION": core.reservation_name or None,
        "SLURM_JOB_RESTART_COUNT": core.restarts, "SLURM_WCKEY": asked.get("wckey"),
        "SLURM_JOB_SLUID": sluid.text(cluster.storage.first(live).db_index) if newest else None,
        "SLURM_JOB_START_TIME": core.start_time, "SLURM_JOB_END_TIME": core.end_limit,
        "SLURM_JOB_STDERR": asked.get("std_err"), "SLURM_JOB_STDIN": asked.get("std_in"),
        "SLURM_JOB_STDOUT": asked.get("std_out"), "SLURM_JOB_WORK_DIR": asked.get("work_dir"),
        "SLURM_SCRIPT_CONTEXT": _CONTEXTS[kind],
    }  # fmt: skip
    if newest:
        shared, forced = asked.get("shared"), core.forced
        told["SLURM_JOB_OVERSUBSCRIBE"] = oversubscribe(shared, partition, forced=forced, alone=core.request.exclusive)
        told["SLURM_JOB_EXCLUSIVE"] = exclusive(shared, partition, forced=forced, whole=core.request.exclusive)
    if is_real(asked):
        told["SLURM_JOB_STDIN"] = told["SLURM_JOB_STDIN"] or "/dev/null"
    if live.array is not None:
        told |= {"SLURM_ARRAY_JOB_ID": live.array.id, "SLURM_ARRAY_TASK_ID": live.task}
    if core.sub.het is not None:
        told |= {"SLURM_HET_JOB_ID": core.sub.het[0], "SLURM_HET_JOB_OFFSET": live.id - core.sub.het[0]}
    if kind == CONTROLLER_EPILOG:
        told |= _end_of(live, run)
    return {name: str(value) for name, value in told.items() if value is not None}


def _end_of(live: LiveJob, run: int) -> dict[str, Any]:
    """Return what an epilog is told of the end of its run."""
    core = live.core
    code, _, number = str(core.exit_code or "0:0").partition(":")
    ended = core.end_time if core.restarts == run else live.requeued_at
    return {
        "SLURM_JOB_DERIVED_EC": 0, "SLURM_JOB_EXIT_CODE": int(code) << 8 | int(number or 0),
        "SLURM_JOB_EXIT_CODE2": f"{code}:{number or 0}", "SLURM_JOB_END_TIME": ended,
    }  # fmt: skip
