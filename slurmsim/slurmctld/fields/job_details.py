"""Fields of a job that ``scontrol show job`` alone prints (see `job_fields`)."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.core.accounting.partition_access import NOT_IN_GROUP
from slurmsim.core.queue.likely_nodes import FORGOTTEN
from slurmsim.core.queue.partition_limits import over_max_time
from slurmsim.gres_words import told_per_task
from slurmsim.hostlist import compress
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.step import lost_script
from slurmsim.slurmctld.base.stepmgr import has_stepmgr
from slurmsim.slurmctld.fields import sharing
from slurmsim.slurmctld.fields.core_ids import cpu_ids
from slurmsim.slurmctld.fields.gres_ids import gres_of, gres_totals
from slurmsim.slurmctld.fields.last_sched_eval import looks
from slurmsim.slurmctld.fields.output_files import shown_file
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.job_record import JobRecord
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob, Row

_RAN = (JobState.RUNNING, JobState.SUSPENDED)


def says_requeue(cluster: LiveCluster, live: LiveJob) -> bool:
    """Return what scontrol tells of Requeue; a job of srun or salloc may say so, and never is requeued."""
    if not live.asked.get("allocate"):
        return live.core.sub.requeue
    wanted = live.asked.get("requeue")
    return bool(cluster.spec.option("JobRequeue") if wanted is None else wanted)


def _preemptable(row: Row, cluster: LiveCluster) -> int:
    """Return since when the job may be preempted, on a cluster with preemption."""
    core = row.core
    if "OFF" in str(cluster.spec.option("PreemptType")).upper() or "none" in str(cluster.spec.option("PreemptType")):
        return 0
    preemption = cluster.controller.preemption
    if core.state == JobState.PENDING or (preemption is not None and preemption.modes.mode(core) == "OFF"):
        return 0
    if core.start_time is None:
        return int(core.end_time or 0)
    qos = core.qos_spec
    exempt = qos.preempt_exempt_time_s if qos is not None else None
    if exempt is None:
        exempt = cluster.spec.option("PreemptExemptTime") or 0
    return int(core.start_time) + max(int(exempt), 0)


def node_count(row: Row, cluster: LiveCluster) -> int:
    """Nodes it has; of one that never ran how many a pass found for it, or its CPUs and tasks need (node_cnt_wag)."""
    core = row.core
    found: int = core.n_nodes
    if core.start_time is not None and core.state != JobState.PENDING:
        return found
    if len(core.partitions) > 1:
        found = min(found, _nodes_there(core))
    likely: int = core.likely_nodes
    if likely > 0 and not _over_walls(core, cluster):
        return likely
    if untried(row, cluster):
        return max(found, _nodes_for_tasks(row, cluster))
    asked = core.sub.request
    if asked.max_nodes and not asked.use_min_nodes:
        return found
    cpus: int = core.request.told_cpus
    if cpus > found:
        found = max(found, -(-cpus // _most_of_nodes(core, cluster)[0]))
    return max(found, -(-asked.n_tasks // asked.tasks_per_node)) if asked.tasks_per_node else found


def _nodes_there(core: Job) -> int:
    """Nodes it gets in the partition its submission found them in, else the least it gets in one of several."""
    there = (r.min_nodes for p, r in zip(core.partitions, core.requests, strict=True) if p.index == core.foremost)
    return int(next(there, core.nodes_asked))


def _most_of_nodes(core: Job, cluster: LiveCluster) -> tuple[int, int]:
    """Return the CPUs and the cores of the largest nodes of its partition, at least 1."""
    spec = core.partition.spec
    known = cluster.most_cpus.get(spec.name)
    if known is None or known[0] is not spec.nodes:
        table = cluster.controller.state.table
        nodes = [table.index[name] for name in spec.nodes]
        cpus = max((int(table.cpus[i]) for i in nodes), default=1)
        cores = max((cluster.spec.nodes[i].sockets * cluster.spec.nodes[i].cores_per_socket for i in nodes), default=1)
        known = cluster.most_cpus[spec.name] = (spec.nodes, (max(cpus, 1), max(cores, 1)))
    return known[1]


def _nodes_for_tasks(row: Row, cluster: LiveCluster) -> int:
    """Nodes the tasks of a job need that was never tried (_pack_pending_job_details); what is left of a division goes.

    CPUs an update asked for beside the tasks do not count.
    """
    core, asked = row.core, row.core.sub.request
    most_cpus, most_cores = _most_of_nodes(core, cluster)
    tasks, per_task = asked.n_tasks, _cpus_of_task(core)
    if asked.tasks_per_node:
        return tasks // asked.tasks_per_node
    if per_task > 1:
        per_node = max(most_cpus // per_task, 1)
        if since(cluster.release, "nodes_of_whole_tasks"):
            return tasks // per_node
        return max(tasks // per_node, int(core.n_nodes)) + bool(tasks % per_node)
    if asked.tasks_per_core:
        tasks, most_cpus = -(-tasks // asked.tasks_per_core), most_cores
    return -(-tasks // most_cpus)


def read_anew(row: Row) -> bool:
    """Return True if slurmctld has read a job from its state since its last run."""
    return bool(row.job.asked.get("read_again") == row.core.restarts)


def count_alone(row: Row, cluster: LiveCluster) -> bool:
    """Return True if only the number of a waiting job's nodes is told, and not the most it may have (total_nodes).

    In 22.05 the number of its last run stays. Since 24.11 `scontrol reconfigure` reads the job anew, with the number of
    nodes that were found for it.
    """
    core = row.core
    if core.restarts and not since(cluster.release, "nodes_of_last_run_forgotten"):
        return True
    return read_anew(row) and not untried(row, cluster)


def most_nodes(row: Row, cluster: LiveCluster) -> int:
    """Return the most nodes a waiting job may have, as scontrol and documents tell it; 0 for no limit."""
    core = row.core
    if count_alone(row, cluster):
        return 0
    most = int(core.sub.request.max_nodes or 0)
    pending = core.alloc is None
    named = row.job.asked.get("req_nodes") and not row.job.asked.get("max_nodes")
    if pending and (named or not most) and since(cluster.release, "tasks_limit_nodes"):
        most = nodes_of_tasks(row)
    request = core.sub.request
    tasks = request.n_tasks or request.tasks_per_node * request.min_nodes
    if request.spread and not most and tasks:
        return min(int(cluster.controller.state.table.n), tasks)
    if (
        pending
        and since(cluster.release, "most_nodes_of_held_jobs")
        and _by_tasks_alone(core)
        and untried(row, cluster)
    ):
        return max(most, node_count(row, cluster))
    if named and not (pending and since(cluster.release, "most_nodes_beside_names")):
        return 0  # as many as it names, and maybe more
    if core.restarts and pending and not since(cluster.release, "most_nodes_after_requeue"):
        return 0  # the number of the run before is known
    return most


def nodes_of_tasks(row: Row) -> int:
    """No job has more nodes than tasks; 0 where it says nothing of tasks."""
    per_node, tasks = row.core.sub.request.tasks_per_node, int(row.job.asked.get("num_tasks") or 0)
    return -(-(tasks or per_node) // per_node) if per_node else tasks


_WALLS = (
    "AssocGrpWallLimit", "QOSGrpWallLimit", "AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit",
)  # fmt: skip


_NEVER_FIT = (
    Reason.BAD_CONSTRAINTS, Reason.PARTITION_CONFIG, Reason.PARTITION_NODE_LIMIT,
)  # fmt: skip


def untried(row: Row, cluster: LiveCluster) -> bool:
    """Return True if no pass has looked for nodes (node_cnt_wag), so that only tasks say how many there will be.

    A pass does not look for nodes if the job came held or has a reservation that has not begun. Nor does it if the job
    is over a limit of jobs or of wall time (acct_policy_job_runnable_pre_select). Nor does it if no partition lets its
    user in, or if it came with an account or QOS that no partition takes, or asks for what no nodes have, or for more
    than each of its partitions allows. What was found is forgotten with an update of what the job asks for.
    """
    core = row.core
    held = core.sub.hold and not core.priority
    shut_out = core.reason.startswith(NOT_IN_GROUP)
    early = bool(core.reservations) and all(one.start > cluster.now for one in core.reservations)
    came_barred = core.bars is not None and row.job.entered_after == looks(cluster.controller) and all(
        p.index in core.bars and core.bars[p.index].text for p in core.partitions
    )  # fmt: skip
    never = held or shut_out or early or came_barred or "Jobs" in core.reason
    never = never or core.reason in _NEVER_FIT
    never = never or _over_walls(core, cluster)
    return never or (core.likely_nodes == FORGOTTEN and not core.restarts)


def _over_walls(core: Job, cluster: LiveCluster) -> bool:
    """Return True if no nodes are looked for because the job is too long, not even when it comes."""
    if core.reason in _WALLS:
        return True
    return not since(cluster.release, "long_jobs_tried") and (
        core.reason == Reason.PARTITION_TIME_LIMIT or _over_max_time(core)
    )


def _over_max_time(core: Job) -> bool:
    """Return True if the job is longer than each of its partitions allows; one that is down is asked for nothing."""
    pairs = zip(core.partitions, core.requests, strict=True)
    return all(partition.state == "UP" and over_max_time(core, request) for partition, request in pairs)


def _by_tasks_alone(core: Job) -> bool:
    """Return True if only the number of tasks says how many nodes a job needs that was never tried."""
    asked = core.sub.request
    return not (asked.tasks_per_node or asked.tasks_per_core) and asked.cpus_per_task == 1 and _cpus_of_task(core) == 1


def _cpus_of_task(core: Job) -> int:
    """Return the CPUs of a task, with those that --cpus-per-gpu brings its GPUs."""
    request = core.request
    own = int(request.memory.cpus_per_task)
    return max(own, int(request.cpus_per_task)) if request.per_gpu.reserved else own


def tasks_unknown(row: Row, cluster: LiveCluster) -> bool:
    """Return True if a job never ran and gave no number of tasks: its tasks are then unknown (pack_job).

    While it waits it is shown with one task a node.
    """
    told = row.job.asked.get("num_tasks") or row.core.sub.request.tasks_per_node
    return not told and never_ran(row.core)


def never_ran(core: Job) -> bool:
    """Whether the job ended while it waited."""
    return core.state != JobState.PENDING and core.start_time is None


def _placed(row: Row, cluster: LiveCluster) -> list[list[Any]]:
    """Nodes with the CPUs and memory it has, or had until it ended, on them, equal ones together."""
    core = row.core
    if core.alloc is None:
        return []
    table = cluster.controller.state.table
    mem, no_gres = core.alloc.mem, "(null)" if core.alloc.gres and core.state in _RAN else ""
    groups: list[tuple[list[str], tuple[str, int, str]]] = []
    for k, i in enumerate(core.alloc.indices().tolist()):
        own = mem if isinstance(mem, int) else int(mem[k])
        key = (cpu_ids(core, i, cluster), own, gres_of(core, i, cluster) or no_gres)
        if groups and groups[-1][1] == key:
            groups[-1][0].append(table.names[i])
        else:
            groups.append(([table.names[i]], key))
    return [[compress(names), *key] for names, key in groups]


def _exclusive(row: Row, cluster: LiveCluster) -> str:
    core = row.core
    asked, spec = row.job.asked.get("shared"), core.partition.spec
    return sharing.exclusive(asked, spec, forced=core.forced, whole=core.request.exclusive)


def _licenses_given(row: Row, cluster: LiveCluster) -> str | None:
    if row.core.state not in _RAN:
        return None
    if not since(cluster.release, "licenses_allocated"):
        return row.job.asked.get("licenses") or None
    return ";".join(f"{name}:{count}" for name, count in row.core.licenses) or None


def _error_file(row: Row, cluster: LiveCluster) -> str | None:
    if since(cluster.release, "error_file_as_asked") and row.job.asked.get("std_err") is None:
        return ""
    return shown_file(row, "std_err", cluster)


def _per_task(row: Row, cluster: LiveCluster) -> str | None:
    """Return what each task is given, the --cpus-per-task it came with among it where the release says so."""
    asked = row.job.asked
    count = None if asked.get("crontab_spec") else asked.get("cpus_per_task_before", asked.get("cpus_per_task"))
    return told_per_task(asked.get("tres_per_task"), cluster.release, count)


_GRES_FLAGS = {"disable-binding": "GRES_DISABLE_BIND", "enforce-binding": "GRES_ENFORCE_BIND"}


_BIT_FLAGS = {
    "spread_job": "SPREAD_JOB", "spread_segments": "SPREAD_SEGMENTS", "consolidate_segments": "CONSOLIDATE_SEGMENTS",
    "expedited_requeue": "EXPEDITED_REQUEUE",
}  # fmt: skip


def _bit_flags(row: Row, cluster: LiveCluster) -> list[str]:
    asked = row.job.asked
    found = list(asked.get("bitflags") or [])
    kill = asked.get("kill_on_invalid_dep")
    if kill is not None:
        found.append("KILL_INV_DEP" if kill else "NO_KILL_INV_DEP")
    words = (asked.get("gres_flags") or "").split(",")
    found += [flag for word, flag in _GRES_FLAGS.items() if word in words]
    found += [flag for key, flag in _BIT_FLAGS.items() if asked.get(key)]
    return [*found, "STEPMGR_ENABLED"] if has_stepmgr(cluster, row.job) else found


def _submit_line(row: Row, cluster: LiveCluster) -> str | None:
    line = row.job.asked.get("submit_line")
    if line is None:
        return None
    return line if isinstance(line, str) else shlex.join(line)


DETAILS: dict[str, Callable[[Row, LiveCluster], Any]] = {
    "sluid": lambda row, cluster: sluid.text(cluster.storage.first(row.job).db_index),
    "track_wckey": lambda r, c: bool(c.spec.options.get("TrackWCKey")),
    "failed_node": lambda r, c: None,
    "resize_time": lambda r, c: r.job.resized_at,
    "preemptable_time": _preemptable,
    "max_nodes_asked": most_nodes,
    "tasks_unknown": tasks_unknown,
    "cpu_ids": _placed,
    "gres_total": lambda r, c: gres_totals(r.core, c) or None,
    "exclusive": _exclusive,
    "licenses_alloc": _licenses_given,
    "argv_text": lambda row, cluster: " ".join(row.job.asked.get("argv") or []) or None,
    "submit_line": _submit_line,
    "system_comment": lambda r, c: None,
    "shown_err": _error_file,
    "bitflags": _bit_flags,
    "tres_per_task_shown": _per_task,
}  # fmt: skip
"""Field -> its value for a row."""


def lost_run(row: Row, cluster: LiveCluster) -> JobRecord | None:
    """Return the last run of a job that waits again because the node of its script was lost; else None.

    Its last step was over when slurmctld had lost the node: the TRES of that run were counted, and stay.
    """
    restarts = row.core.restarts
    if row.core.alloc is not None or not restarts:
        return None
    record = next((run for run in reversed(cluster.storage.runs(row)) if run.restarts == restarts - 1), None)
    return record if record is not None and lost_script(record.steps) is not None else None


def never_launched(core: Job) -> bool:
    """Return True if a job was cancelled while its nodes still booted: no process of it was told to go."""
    return core.state == JobState.CANCELLED and core.exit_code == "0:0"


def allocated_at_once(r: Row) -> bool:
    """Whether it is an allocation that was granted before any pass looked at it."""
    return bool(r.job.asked.get("allocate")) and r.core.start_time == r.core.submit_time
