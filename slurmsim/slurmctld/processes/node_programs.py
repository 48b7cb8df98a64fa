"""Prolog and Epilog of clusters that run jobs: programs that a node runs before a job's processes and after them.

Mirrors slurmd (req.c, run_script.c) and recordings of 26.05. Prolog runs on a batch job's first node before its script,
on other nodes before the first step there, with ``PrologFlags=Alloc`` on all nodes at once. A node on which it fails is
drained; a batch job goes back into the queue and is held, another job is cancelled. Epilog runs on a node when nothing
of the job is left there; until it is over the node is COMPLETING, and a failure drains it. A file that is not there is
passed over, so that the slurm.conf of another machine does not fail all jobs.

What a job waits for is in `LiveJob.programs`: what runs now, and on which nodes of its run the prolog is done. The end
of a program is a request, ``program_ended``, as the end of a script is.
"""

from __future__ import annotations

import os
from functools import partial
from glob import glob
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.messages import JobEnded, NodesDrain, ProcessesGone
from slurmsim.core.records.node_names import run_length
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.live_job import CONTROLLER_EPILOG, CONTROLLER_PROLOG, LiveJob
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.processes import expedited
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

PROLOG, EPILOG, READY = "prolog", "epilog", "ready"
LONGEST_S = 7 * 86_400
"""How long nodes wait for an epilog at most, where `PrologEpilogTimeout` says nothing."""
PROLOG_FAILED = 54
"""Exit status of a job after a failed prolog, as its signal; and what a supervisor tells of its script then."""
_ALIVE = (JobState.RUNNING, JobState.SUSPENDED)
OPTIONS = {
    PROLOG: "Prolog", EPILOG: "Epilog", CONTROLLER_PROLOG: "PrologSlurmctld", CONTROLLER_EPILOG: "EpilogSlurmctld",
}  # fmt: skip
_ERRORS = {PROLOG: "Prolog error", EPILOG: "Epilog error"}


def has(cluster: LiveCluster, live: LiveJob, kind: str) -> bool:
    """Return True if a program of that kind runs for this job."""
    text = str(cluster.spec.options.get(OPTIONS[kind]) or "") if cluster.runs_programs else ""
    return bool(text) and text != "(null)" and cluster.runs_jobs and (is_real(live.asked) or _allocated(live))


def _allocated(live: LiveJob) -> bool:
    return bool(live.asked.get("allocate"))


def programs_of(cluster: LiveCluster, kind: str) -> list[str]:
    """Return the files of a kind that are there: those that a pattern means, by name."""
    text = str(cluster.spec.options.get(OPTIONS[kind]) or "")
    return sorted(path for path in glob(text) if os.access(path, os.X_OK)) if text.startswith("/") else []


def timeout_s(cluster: LiveCluster, kind: str) -> int:
    """Return how long a program may take; 0 for any time."""
    options = cluster.spec.options
    for name in (f"{OPTIONS[kind]}Timeout", "PrologEpilogTimeout"):
        text = str(options.get(name) or "")
        if text.isdecimal() and 0 < int(text) < 0xFFFF:
            return int(text)
    return 0


def lasts(cluster: LiveCluster, live: LiveJob) -> int:
    """Seconds an epilog keeps nodes at most; 0 where there is none."""
    if not has(cluster, live, EPILOG):
        return 0
    limit = timeout_s(cluster, EPILOG)
    return limit + 60 if limit else LONGEST_S


# -- the beginning of a job -------------------------------------------------------------------------------------------


def launched(cluster: LiveCluster, live: LiveJob) -> None:
    """Note on which node the script's own supervisor runs the prolog; with ``Alloc`` begin it on the others."""
    core = live.core
    live.programs = tuple(one for one in live.programs if one[0] not in (PROLOG, READY))  # of runs before
    if core.alloc is None or not has(cluster, live, PROLOG):
        return
    nodes = [int(i) for i in core.alloc.indices()]
    first = nodes[:1] if is_real(live.asked) else []
    live.programs += tuple((READY, core.restarts, node) for node in first)
    if {"alloc", "contain", "x11"} & {word.casefold() for word in cluster.spec.options.get("PrologFlags") or ()}:
        begin(cluster, live, core.restarts, PROLOG, nodes[len(first) :])


def ready(cluster: LiveCluster, live: LiveJob, nodes: tuple[int, ...]) -> bool:
    """Return True if the prolog is done on these nodes of a running job; else begin it where it has not begun."""
    if not has(cluster, live, PROLOG):
        return True
    run = live.core.restarts
    missing = [node for node in nodes if (READY, run, node) not in live.programs]
    begin(cluster, live, run, PROLOG, [node for node in missing if (PROLOG, run, node) not in live.programs])
    return not missing


# -- the end of a job -------------------------------------------------------------------------------------------------


def begin_epilog(cluster: LiveCluster, live: LiveJob, run: int, nodes: Bitmap) -> None:
    """Run the epilog on these nodes of a run, on which nothing of it is left, unless it runs there already."""
    left = cluster.controller.completing.of(live.core.id, run)
    fresh = [int(i) for i in to_indices(nodes & left) if (EPILOG, run, int(i)) not in live.programs]
    begin(cluster, live, run, EPILOG, fresh)


def begin(cluster: LiveCluster, live: LiveJob, run: int, kind: str, nodes: list[int]) -> None:
    """Run a program on these nodes."""
    if not nodes:
        return
    live.programs += tuple((kind, run, node) for node in nodes)
    if cluster.real is not None:
        for node in nodes:
            cluster.real.run_for_job(live, kind, run, node)


# -- what came of it --------------------------------------------------------------------------------------------------


def ended(cluster: LiveCluster, arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the news that a program of a job is over on one node. Raises Refusal for one that is not awaited."""
    live = cluster.jobs.get(int(arguments["core_id"]))
    kind, run, node = str(arguments["kind"]), int(arguments["restarts"]), int(arguments["node"])
    if live is None and kind == EPILOG:  # it is forgotten, and its nodes wait
        cluster.network.tell(cluster.now, [ProcessesGone(int(arguments["core_id"]), run, from_indices([node]))])
        return {}
    if live is None or (kind, run, node) not in live.programs:
        raise Refusal(INVALID_JOB)
    live.programs = tuple(one for one in live.programs if one != (kind, run, node))
    failed = int(arguments["status"]) != 0
    if kind == EPILOG:
        if failed:
            drain(cluster, node, kind)
            expedited.epilog_failed(live)
        cluster.network.tell(cluster.now, [ProcessesGone(live.core.id, run, from_indices([node]))])
        expedited.settle(cluster, live)
    elif failed:
        prolog_failed(cluster, live, run, node)
    else:
        live.programs += ((READY, run, node),)
    cluster.changed(live)
    return {}


def drain(cluster: LiveCluster, node: int, kind: str) -> None:
    """Drain a node on which a program failed."""
    name = cluster.controller.state.table.names[node]
    if cluster.node_reasons.of(node)[0] is None:
        cluster.node_reasons.note(node, _ERRORS[kind], cluster.now, cluster.owner)
    cluster.network.tell(cluster.now, [NodesDrain((name,), _ERRORS[kind])])


def prolog_failed(cluster: LiveCluster, live: LiveJob, run: int, node: int) -> None:
    """Drain the node; a batch job waits held from now on, another job is over."""
    drain(cluster, node, PROLOG)
    core = live.core
    if core.restarts != run or core.state not in _ALIVE:
        return
    if is_real(live.asked):
        cluster.network.act(cluster.now, partial(cluster.controller.requeues.launch_failed, core))
    else:
        cluster.network.tell(cluster.now, [JobEnded(core.id, JobState.CANCELLED, f"0:{PROLOG_FAILED}", run)])


def end_all(cluster: LiveCluster) -> None:
    """Let all programs be over, well: in a copy of a cluster none runs, and none would tell of its end."""
    epilogs = (
        cluster.controller.completing.runs() if cluster.runs_programs and cluster.spec.options.get("Epilog") else []
    )
    for live in cluster.jobs.values():
        live.programs = ()
    cluster.network.tell(cluster.now, [ProcessesGone(job_id, run) for job_id, run in epilogs])
    for live in list(cluster.jobs.values()):
        expedited.settle(cluster, live)


# -- what a program is told -------------------------------------------------------------------------------------------


def environment(cluster: LiveCluster, live: LiveJob, kind: str, run: int, node: int) -> dict[str, str]:
    """Return the variables of a program: those of slurmd of 26.05."""
    core, state = live.core, cluster.controller.state.cluster
    names = cluster.controller.state.table.names
    nodes = core.nodes if core.restarts == run and core.alloc is not None else 0
    mask = nodes or cluster.controller.completing.of(core.id, run) or 1 << node
    node_list = state.compress([names[int(i)] for i in to_indices(mask)])
    ended = kind == EPILOG
    told: dict[str, Any] = {
        "SLURMD_NODENAME": names[node], "SLURM_CLUSTER_NAME": cluster.spec.name, "SLURM_CONF": cluster.conf_path,
        "SLURM_JOBID": live.id, "SLURM_JOB_ID": live.id, "SLURM_JOB_ACCOUNT": core.account or None,
        "SLURM_JOB_CPUS_PER_NODE": cpus_of(core, cluster) if core.restarts == run else None,
        "SLURM_JOB_GID": live.person.gid, "SLURM_JOB_UID": live.person.uid, "SLURM_UID": live.person.uid,
        "SLURM_JOB_NODELIST": node_list, "SLURM_NODELIST": node_list, "SLURM_JOB_NUM_NODES": mask.bit_count(),
        "SLURM_JOB_PARTITION": core.partition.name, "SLURM_JOB_RESTART_COUNT": run,
        "SLURM_JOB_SLUID": sluid.text(cluster.storage.first(live).db_index), "SLURM_JOB_START_TIME": core.start_time,
        "SLURM_JOB_STDIN": live.asked.get("std_in") or None, "SLURM_JOB_STDOUT": live.asked.get("std_out") or None,
        "SLURM_JOB_END_TIME": core.end_time if ended else core.end_limit, "SLURM_JOB_USER": live.person.name,
        "SLURM_JOB_WORK_DIR": live.asked.get("work_dir"), "SLURM_SCRIPT_CONTEXT": f"{kind}_slurmd",
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    }  # fmt: skip
    if ended:
        code, _, number = str(core.exit_code or "0:0").partition(":")
        told |= {"SLURM_JOB_EXIT_CODE": int(code) << 8 | int(number or 0), "SLURM_JOB_EXIT_CODE2": f"{code}:{number}",
                 "SLURM_JOB_DERIVED_EC": 0}  # fmt: skip
    return {name: str(value) for name, value in told.items() if value is not None}


def cpus_of(core: Job, cluster: LiveCluster) -> str | None:
    """Return the CPUs of a job's nodes, run-length coded; None without nodes."""
    if core.alloc is None:
        return None
    return run_length(cpus_on_nodes(core, cluster))


def spec(cluster: LiveCluster, live: LiveJob, kind: str, run: int, node: int) -> dict[str, Any]:
    """Return what a supervisor runs for a job on a node."""
    return {"programs": programs_of(cluster, kind), "timeout": timeout_s(cluster, kind),
            "environment": environment(cluster, live, kind, run, node)}  # fmt: skip
