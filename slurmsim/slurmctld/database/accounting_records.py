"""One row of accounting: a run of a job and its steps, as slurmdbd keeps them.

A row is made from the job itself when a client asks. It is kept for good when slurmctld forgets the job, when a run
ends in a requeue, or when the job is resized. Mirrors as_mysql_job.c (job start and completion, 22.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.release_changes import since
from slurmsim.releases import row as of_release
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.base.live_job import task_list
from slurmsim.slurmctld.base.step import BATCH, ENDED, EXTERN, NAMES, NO_STATUS, WAITED, Step, derived_code, lost_script
from slurmsim.slurmctld.fields.used_features import placed_by
from slurmsim.states import FINAL_STATES, JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob, Row

# what the script's own end says; after any other its processes were killed
_OWN_END = (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY, JobState.DEADLINE)
_LOST_CODE = {"22.05": 0, "24.11": 1}  # exit code of a run that lost a node
_BRIEF_REASONS = ("", Reason.NONE, Reason.PRIORITY, Reason.RESOURCES)


def record_of(cluster: LiveCluster, row: Row, run: Job | None = None) -> JobRecord:
    """Return the accounting row of a job (or the unsplit tasks of an array) now, or of `run` when that is over."""
    live, core = row.job, run if run is not None else row.job.core
    storage = cluster.storage
    first = storage.first(live)
    alloc = core.alloc if core.start_time is not None else None
    started = alloc is not None
    state = str(core.state)
    array = live.array
    end = int(core.end_time or 0)
    steps = [step for step in live.steps if step.run == core.restarts] if started else []
    over_at = core.end_time if state in ENDED else None
    told_cpu, told_node = _memory(cluster, core)
    submit, eligible, start = _begun(core, storage.resized(core.id), started=started)
    return JobRecord(
        db_index=first.db_index, original_index=first.original or first.db_index,
        job_id=live.id, array_job_id=array.id if array is not None else 0,
        array_task_id=None if row.tasks else live.task, array_task_str=_tasks(row),
        array_max_tasks=core.array_limit or 0, assoc_id=_assoc_id(cluster, core), account=core.account or "",
        user=live.person.name, uid=live.person.uid, gid=live.person.gid, group=live.person.group,
        partition=_partition(core, started),
        qos=core.qos or "", name=live.asked.get("name") or "allocation", state=state,
        exit_code=exit_code(core, cluster.release) if state in FINAL_STATES else 0,
        derived_ec=derived_code(steps, core.restarts, over_at),
        killed_by=live.cancelled_by if state == JobState.CANCELLED else None,
        submit=submit, eligible=eligible, start=start, end=end,
        suspended=_suspended(cluster, core, run is not None), time_limit=_limit(core, started),
        nodes=cluster.controller.state.cluster.node_list(alloc) if alloc is not None else "None assigned",
        alloc_nodes=core.n_nodes if started else 0, req_cpus=int(core.request.told_cpus),
        mem_cpu=told_cpu, mem_node=told_node, tres_req=_asked_tres(cluster, core),
        tres_alloc=_given_tres(cluster, core) | _energy(cluster, core, over=end > 0) if started else {},
        priority=first.priority, flags=_flags(live, core, started),
        reason=_reason(cluster, live, core),
        constraints=placed_by(live, cluster) or "",
        resv_name=_resv_name(core), resv_id=_resv_id(cluster, core),
        restarts=core.restarts, asked=live.asked, admin_comment=_asked(live, "admin_comment"),
        comment=_asked(live, "comment"), first_cpus=cpus_on_nodes(core, cluster)[0] if alloc else 0,
        first_mem=_first(alloc.mem if alloc else 0), steps=steps, het=het_jobs.place(core),
        first_gres=_gres_of_first(cluster, alloc),
    )  # fmt: skip


def _begun(core: Job, resized: int | None, *, started: bool) -> tuple[int, int | None, int]:
    """Return when a row was submitted, eligible and started: all at once where it is of a job's further size."""
    if resized is not None:
        return resized, resized, resized
    return int(core.submit_time), _eligible(core), int(core.start_time or 0) if started else 0


def _assoc_id(cluster: LiveCluster, core: Job) -> int:
    """Return the number of a job's association; 0 without one."""
    return 0 if core.branch is None else cluster.database.id_of(core.branch.spec)


def _first(share: Any) -> int:
    """Return the share on the first node."""
    return int(share) if isinstance(share, int) else int(share[0])


def _gres_of_first(cluster: LiveCluster, alloc: Allocation | None) -> dict[str, int] | None:
    """Return the GRES on the first node of a job that has more of them on some nodes than on others."""
    if alloc is None or all(isinstance(count, int) for _, count in alloc.gres):
        return None
    return cluster.controller.state.billing.gres_of_first_node(alloc)


def _asked(live: LiveJob, name: str) -> str | None:
    """Return a text of the request; None if it has none or an empty one."""
    return live.asked.get(name) or None


def _resv_name(core: Job) -> str | None:
    """Return the reservation it runs in, else the one it asked for."""
    return core.reservation_name or core.sub.reservation or None


def _tasks(row: Row) -> str | None:
    if not row.tasks:
        return None
    return task_list([t.task for t in row.tasks if t.task is not None], row.core.array_limit, 0)


def exit_code(core: Job, release: str) -> int:
    """Return the wait status slurmctld had when it told slurmdbd of the end: of a job it ended itself it had none.

    A status of 1 is taken for an exit code, not for a signal (as_mysql_job_complete).
    """
    if core.state not in _OWN_END:
        return int(of_release(_LOST_CODE, release)) << 8 if core.state == JobState.NODE_FAIL else 0
    code, _, signal = str(core.exit_code).partition(":")
    status = int(code) << 8 | int(signal or 0)
    return 256 if status == 1 else status


def _partition(core: Job, started: bool) -> str:
    """Where it started, or was tried last if it was refused; else all it waits in."""
    refused = core.state == JobState.FAILED
    return core.partition.name if started or refused else ",".join(p.name for p in core.partitions)


def _eligible(core: Job) -> int | None:
    if core.start_time is None and core.reason == Reason.ARRAY_TASK_LIMIT:
        return None
    return int(core.eligible_time or core.begin or 0)


def _suspended(cluster: LiveCluster, core: Job, over: bool) -> int:
    return int(core.suspended_s if over else core.stood_still_s(cluster.now))


def _limit(core: Job, started: bool) -> int | None:
    if not started and not core.limit_fixed:
        return -1
    return None if core.time_limit_s == ONE_YEAR_S else int(core.time_limit_s // 60)


def _billed(cluster: LiveCluster, core: Job, counts: dict[str, int]) -> dict[str, int]:
    counts["billing"] = int(cluster.controller.state.billing.bill(counts, core.partition.spec.tres_billing_weights))
    if not counts.get("mem"):
        counts.pop("mem", None)
    return counts


def _memory(cluster: LiveCluster, core: Job) -> tuple[int, int]:
    """Return the MiB asked for each CPU and for each node, also where memory is not consumable."""
    request = core.request
    if not request.least_memory:
        return int(request.told_mem_cpu), int(request.mem_node)
    each, by_cpu = request.untracked(request.asked, cluster.controller.state.cluster.memory_default(request.partition))
    return (each, 0) if by_cpu else (0, each)


def _asked_tres(cluster: LiveCluster, core: Job) -> dict[str, int]:
    counts = cluster.controller.state.billing.requested(core, core.request)
    counts["cpu"] = int(core.request.told_cpus)
    return _billed(cluster, core, counts) | cluster.controller.state.billing.of_licenses(core.licenses)


def _given_tres(cluster: LiveCluster, core: Job) -> dict[str, int]:
    assert core.alloc is not None
    return _billed(
        cluster, core, cluster.controller.state.billing.allocated(core.alloc)
    ) | cluster.controller.state.billing.of_licenses(core.licenses)


def _energy(cluster: LiveCluster, core: Job, *, over: bool) -> dict[str, int]:
    """Joules of a run that is over, as slurmctld tells slurmdbd at its end."""
    joules = cluster.storage.joules(core.id) if over else None
    return {} if joules is None else {"energy": joules}


def _flags(live: LiveJob, core: Job, started: bool) -> tuple[str, ...]:
    if not started:
        return ("StartRecieved",)
    if not live.asked.get("script") and core.start_time == core.submit_time:
        return ("SchedSubmit", "StartRecieved")  # who waits for an allocation is tried at once
    return ("SchedBackfill" if str(core.scheduler).lower() == "backfill" else "SchedMain", "StartRecieved")


def _reason(cluster: LiveCluster, live: LiveJob, core: Job) -> str:
    """Return what a job waited for last, beside its turn and nodes, as slurmdbd knows it (state_reason_prev_db)."""
    if core.start_time is None and since(cluster.release, "reason_told_with_start"):
        return Reason.NONE if is_held(core.reason) else live.held_with or Reason.NONE  # a release tells of it, too
    described = str(core.reason).startswith("Nodes required")  # Resources, in more words
    if core.state == JobState.PENDING and core.reason not in _BRIEF_REASONS and not described:
        return str(core.reason).partition(",")[0]
    if _kept_by_its_array(live, core):
        return Reason.ARRAY_TASK_LIMIT
    if live.held_with or core.sub.hold:
        return live.held_with or Reason.HELD_USER
    if core.sub.dependency and (core.eligible_time or 0) > core.submit_time:  # else it was met before any pass looked
        return Reason.DEPENDENCY
    if core.sub.begin is not None or core.restarts:
        return Reason.BEGIN_TIME
    return Reason.NONE


def _kept_by_its_array(live: LiveJob, core: Job) -> bool:
    """Whether the task, which began, had before it as many as its array lets run."""
    if live.array is None or not core.array_limit or core.start_time is None or core.restarts:
        return False
    before = sum(index < (live.task or 0) for index in live.array.tasks) + live.array.gone  # they begin in their order
    return before >= core.array_limit


def _resv_id(cluster: LiveCluster, core: Job) -> int:
    return int(getattr(core.reservation, "id", 0) or 0) if core.reservation is not None else 0


def step_row(cluster: LiveCluster, record: JobRecord, step: Step) -> dict[str, Any]:
    """Return the row of a step as slurmdbd shows it; a step without a known end ended with its job."""
    over = step.end is not None
    state = str(step.state) if over or not record.end else record.state
    if not over and record.state == JobState.SUSPENDED:
        state = JobState.SUSPENDED
    named = step.number in NAMES
    return {
        "step_id": step.number - (1 << 32) if named else step.number, "shown_id": step.text, "name": step.name,
        "start": 0 if step.asked.get(WAITED) else step.start,
        "end": step.end if over else record.end, "over": over, "state": state, "exit_code": step.exit_code,
        "killed_by": step.cancelled_by, "nodes": step.node_list(cluster.controller.state.table.names),
        "killed_by_name": None if step.cancelled_by is None else cluster.people.by_uid(step.cancelled_by).name,
        "node_names": [cluster.controller.state.table.names[at] for at in step.nodes], "n_nodes": len(step.nodes),
        "n_tasks": sum(step.tasks), "layout": "Unknown" if named else _layout(step), "tres": step_tres(cluster, record,
        step),
        "submit_line": step.asked.get("submit_line"), "cwd": step.asked.get("cwd"),
        "std_in": step.asked.get("std_in"), "std_out": step.asked.get("std_out"), "std_err": step.asked.get("std_err"),
        "time_limit": step.asked.get("time_limit"),
    }  # fmt: skip


def failed_node(cluster: LiveCluster, record: JobRecord) -> str:
    """Return the lost node that ended a run, and cannot tell how its script ended; empty for other runs."""
    step = lost_script(record.steps)
    return "" if step is None else step.node_list(cluster.controller.state.table.names)


def derived_told(cluster: LiveCluster, record: JobRecord) -> int:
    """Return the highest wait status of a run's steps; since 24.11 slurmdbd counts that of a lost script, too."""
    lost = lost_script(record.steps) is not None and since(cluster.release, "lost_script_counts")
    return NO_STATUS if lost else record.derived_ec


def _layout(step: Step) -> str:
    """How its tasks are spread, as slurm_step_layout_type_name has it."""
    asked = str(step.asked.get("task_dist") or step.asked.get("distribution") or "")
    words = [word.capitalize() for word in asked.split(":")[0].split(",")[0].split("=")[0].split() if word]
    if words and words[0].lower() != "unknown":
        return words[0]
    return "Block" if sum(step.tasks) > len(step.nodes) else "Cyclic"


def step_tres(cluster: LiveCluster, record: JobRecord, step: Step) -> dict[str, int]:
    """Return what a step has, by name: a batch script the first node's share of the job, the outer step all."""
    if step.number == EXTERN:
        return {name: count for name, count in record.tres_alloc.items() if name != "energy"}
    if step.number == BATCH:
        tres = {"cpu": record.first_cpus, "mem": record.first_mem, "node": 1}
        more = {name: count for name, count in record.tres_alloc.items() if name.startswith("gres/")}
        even = {name: count // max(record.alloc_nodes, 1) for name, count in more.items()}
        tres |= even if record.first_gres is None else record.first_gres
    else:
        tres = {"cpu": sum(step.cpus), "mem": sum(step.memory), "node": len(step.nodes)}
        tres |= step.asked.get("tres") or {}
    return tres
