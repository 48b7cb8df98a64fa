"""What the daemon tells of a job: a table of the fields of Slurm's job_info_t, functions of a row and the cluster.

A row is a job, or all tasks of an array that have not been split off. Values are raw: seconds since the epoch (0: not
set), minutes, MiB, a wait status; None stands for NULL or "not set".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import to_indices
from slurmsim.core.accounting.partition_access import NOT_IN_GROUP
from slurmsim.core.occupancy.completing import BY_THEMSELVES
from slurmsim.core.queue.priority import Basic, Multifactor
from slurmsim.core.records.job import AS_ASKED, ONE_YEAR_S
from slurmsim.hostlist import compress
from slurmsim.records.job import CARRIED
from slurmsim.records.request import REQUEST
from slurmsim.release_changes import since
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import Array, LiveJob, Row, task_list
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.base.step import ENDED, derived_code
from slurmsim.slurmctld.fields import sharing
from slurmsim.slurmctld.fields.array_rows import is_list
from slurmsim.slurmctld.fields.data_parser_fields import FIELDS as DATA_PARSER_FIELDS
from slurmsim.slurmctld.fields.data_parser_fields import job_flags
from slurmsim.slurmctld.fields.dependencies import dependency_text
from slurmsim.slurmctld.fields.gpu_fields import FIELDS as GPU_FIELDS
from slurmsim.slurmctld.fields.gres_ids import gres_details
from slurmsim.slurmctld.fields.job_details import (
    DETAILS,
    allocated_at_once,
    count_alone,
    lost_run,
    never_launched,
    never_ran,
    node_count,
    nodes_of_tasks,
    read_anew,
    says_requeue,
    tasks_unknown,
)
from slurmsim.slurmctld.fields.last_sched_eval import begins_to_accrue, last_evaluated, looked_last, looks
from slurmsim.slurmctld.fields.output_files import shown_file
from slurmsim.slurmctld.fields.used_features import shown_features, shown_preference
from slurmsim.states import NO_UNIT_TEXT, JobState, Reason, is_held
from slurmsim.tres import format_tres

if TYPE_CHECKING:
    from slurmsim.bitmap import Bitmap
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.partition import Partition
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NOT_SET = -1
_NO_VAL = 0xFFFFFFFE
_RAN = (JobState.RUNNING, JobState.SUSPENDED)
# reasons that slurmctld keeps as a description beside the code
_LONG = {
    "Nodes required": Reason.RESOURCES,
    NO_UNIT_TEXT: Reason.RESOURCES,
    Reason.REQ_NODE_NOT_AVAIL: Reason.REQ_NODE_NOT_AVAIL,
    "job requeued": Reason.HELD_USER,
    "Reservation ": "ReservationDeleted",
    "Job's ": Reason.PARTITION_CONFIG,  # account or QOS is not one the partition takes
    NOT_IN_GROUP: Reason.PARTITION_CONFIG,  # nor is a group of its user
    "RaisedSignal:": "RaisedSignal",
}


Getter = Callable[[Row, "LiveCluster"], Any]


def _asked(name: str, default: Any = None) -> Getter:
    def get(row: Row, cluster: LiveCluster) -> Any:
        value = row.job.asked.get(name)
        return default if value is None else value

    return get


def _text(name: str) -> Getter:
    def get(row: Row, cluster: LiveCluster) -> str | None:
        return row.job.asked.get(name) or None

    return get


def _start(row: Row, cluster: LiveCluster) -> int:
    """When it started or is to; its end asks for that, too."""
    if row.start is None:
        row.start = _shown_start(row, cluster)
    return row.start


def _shown_start(row: Row, cluster: LiveCluster) -> int:
    core = row.core
    if core.start_time is not None:
        return int(core.start_time)
    if core.end_time is not None:
        return int(core.end_time)
    before_hold = row.job.planned_before_hold if is_held(core.reason) else None
    forgotten = before_hold is not None and cluster.now >= next_backfill(cluster, before_hold[1])
    planned = _planned_start(row, cluster)
    if planned is not None and not forgotten:
        return planned
    if not since(cluster.release, "held_job_loses_its_start") and before_hold is not None and not forgotten:
        return before_hold[0]
    return int(core.begin) if core.begin is not None and core.begin > cluster.now else 0


def _planned_start(row: Row, cluster: LiveCluster) -> int | None:
    """Return the planned start; of an array in 22.05 that of its last planned task, since all write to one record."""
    if row.tasks and not since(cluster.release, "arrays_start_with_their_first"):
        found = (task.core.planned_start for task in reversed(row.tasks) if task.core.planned_start is not None)
        return next((int(start) for start in found), None)
    return None if row.core.planned_start is None else int(row.core.planned_start)


def next_backfill(cluster: LiveCluster, after: int) -> int:
    """When backfill looks at the queue next after `after`."""
    policy = cluster.controller.host.policy
    interval = max(int(getattr(policy, "interval", 0)), 1)
    last = int(getattr(policy, "last_cycle", 0)) or cluster.network.start_time
    return after + interval - (after - last) % interval if last <= after else last


def _eligible(r: Row, cluster: LiveCluster) -> int:
    """Since when it may start; a pass has to have asked, but for a job that could when it came."""
    if r.core.id in cluster.controller.state.queue.unasked and r.core.never_asked:
        return 0
    if r.job.entered_after == looks(cluster.controller) and (r.core.eligible_time or 0) > r.core.submit_time:
        return 0  # what kept it out is over, and no pass has asked yet
    if r.core.reason == Reason.DEPENDENCY and (r.core.begin or 0) < cluster.now and r.core.eligible_time is None:
        return 0  # its begin time passed while it waited for others (job_independent)
    return r.core.eligible_time or eligible_behind(r) or r.core.begin or 0


def eligible_behind(row: Row) -> int:
    """Return since when an array's record may start if a task with its own record will take the last place; else 0.

    Until that task runs a pass finds room for both (job_array_start_test counts what runs).
    """
    array, core = row.job.array, row.core
    if not row.tasks or array is None or core.reason != Reason.ARRAY_TASK_LIMIT or core.state != JobState.PENDING:
        return 0
    tasks = [task.core for task in array.tasks.values()]
    if sum(task.state in _RAN for task in tasks) >= (core.array_limit or 0):
        return 0
    return min((task.eligible_time or 0 for task in tasks if task.queued), default=0)


def _accrue(r: Row, cluster: LiveCluster) -> int:
    """Since when it accrues age: from the first pass that looks at it on."""
    began = r.core.start_time is not None
    if allocated_at_once(r) or (not began and (r.core.state == JobState.FAILED or begins_to_accrue(r, cluster))):
        return 0
    first_pass = r.job.array is not None and r.core.start_time == r.core.eligible_time
    by_backfill = r.core.scheduler == "Backfill" and not r.core.array_limit
    if first_pass and (by_backfill or isinstance(cluster.controller.priority, Basic)):
        return 0  # of an array the pass that starts it finds it eligible, too late to note it
    if cluster.controller.accounting.accrual is not None:
        return r.core.accrue_time or 0
    return (
        r.core.accrue_time or r.core.eligible_time or (r.core.begin or 0 if r.core.restarts else 0)
    )  # a requeued job's is to come


def _last_of_its_array(row: Row) -> int:
    """When the last task of an array that has as many as may run began; 0 for other rows.

    No pass looks at the array's record until one of them is over.
    """
    array = row.job.array
    if not row.tasks or array is None or row.core.reason != Reason.ARRAY_TASK_LIMIT:
        return 0
    return max((int(task.core.start_time or 0) for task in array.tasks.values() if task.own_id is not None), default=0)


def _pattern(row: Row, which: str) -> str | None:
    """Return a file of the job as it was asked for, patterns and all; None for the default."""
    asked = row.job.asked
    text = asked.get(which)
    return None if text is None else os.path.join(str(asked.get("work_dir") or "/"), str(text))


def _end(row: Row, cluster: LiveCluster) -> int:
    core = row.core
    if core.end_time is not None:
        return int(core.end_time)
    if core.state in _RAN:
        return int(core.start_time or 0) + ONE_YEAR_S if core.time_limit_s == ONE_YEAR_S else int(core.end_limit or 0)
    start = _start(row, cluster)
    return start + int(core.time_limit_s) if start and core.time_limit_s != ONE_YEAR_S else 0


def _limit(row: Row, cluster: LiveCluster) -> int | None:
    """Minutes; None for UNLIMITED, NOT_SET while the partition's holds."""
    core = row.core
    if not core.limit_fixed and core.state == JobState.PENDING:
        maximum = core.partition.spec.max_time_s
        return None if maximum is None else int(maximum // 60)
    return None if core.time_limit_s == ONE_YEAR_S else int(core.time_limit_s // 60)


def _reason(row: Row, cluster: LiveCluster) -> str:
    if row.core.state == JobState.PENDING and _dying(row, cluster):
        return Reason.NONE
    return _code_of(_current(row, cluster))


@lru_cache(1024)
def _code_of(reason: str) -> str:
    """Return the code of a reason, of which slurmctld keeps a description beside it where the two differ."""
    return next((code for start, code in _LONG.items() if reason.startswith(start)), reason)


def _current(row: Row, cluster: LiveCluster) -> str:
    """Return the reason, which an update clears until a scheduler looks again; two fields of each row ask for it."""
    if row.reason is None:
        row.reason = _shown_reason(row, cluster)
    return row.reason


_OF_ITS_OWN = (Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER, Reason.BEGIN_TIME)


def _shown_reason(row: Row, cluster: LiveCluster) -> str:
    core = row.core
    main = cluster.controller.main
    edited = row.job.edited_at
    unseen = edited > main.last_pass or edited == cluster.now  # what asked for the pass is told before its pass
    if (
        unseen
        and not cluster.controller.state.queue.jobs
        and cluster.controller.state.triggers.been_round(edited, cluster.now)
    ):
        unseen = False  # passes over an empty queue are not made, but slurmctld makes them
    if unseen and core.state == JobState.PENDING:
        return str(core.reason) if is_held(core.reason) else str(Reason.NONE)
    # job_allocate asks no array
    unasked = row.job.array is not None and row.job.entered_after == looks(cluster.controller)
    if unasked and core.reason in _OF_ITS_OWN and core.state == JobState.PENDING:
        return str(Reason.NONE)
    return waits_for(row.job, cluster)


def waits_for(live: LiveJob, cluster: LiveCluster) -> str:
    """Return what slurmctld says the job waits for, or waited for when it ended."""
    core = live.core
    if core.reason == Reason.ARRAY_TASK_LIMIT and live.array is not None and core.state == JobState.PENDING:
        return _task_limit(live.array, core)
    if says_so_later(core, cluster):
        return Reason.DEPENDENCY
    return str(core.reason)


def says_so_later(core: Any, cluster: LiveCluster) -> bool:
    """Whether a job can never start since this very second: no pass has looked, so the job does not say so yet."""
    if core.reason != Reason.DEPENDENCY_NEVER:
        return False
    named = [cluster.jobs.get(job_id) for job_id in cluster.controller.eligibility.named_by(core)]
    return bool(named) and all(one is not None and one.core.end_time == cluster.now for one in named)


def _task_limit(array: Array, core: Any) -> str:
    """Return the reason of the last tasks: the array's limit once so many run, until then that of earlier tasks."""
    active = [task.core for task in array.tasks.values() if task.core.state in _RAN]
    if len(active) >= (core.array_limit or 0):
        return str(core.reason)
    waiting = (task.core for task in array.tasks.values() if task.core.queued)
    return next((str(one.reason) for one in waiting), str(core.reason))


def _description(row: Row, cluster: LiveCluster) -> str | None:
    reason = _current(row, cluster)
    return reason if _code_of(reason) != reason else None


def _max_nodes(row: Row, cluster: LiveCluster) -> int:
    if row.core.start_time is not None or count_alone(row, cluster):
        return 0
    most = int(row.core.sub.request.max_nodes or 0)
    return most or (nodes_of_tasks(row) if since(cluster.release, "tasks_limit_nodes") else 0)


def _derived(row: Row, cluster: LiveCluster) -> int:
    core = row.core
    return derived_code(row.job.steps, core.restarts, core.end_time if core.state in ENDED else None)


def _dying(row: Row, cluster: LiveCluster) -> Bitmap:
    """Nodes on which processes of its last run were told to go, and are not gone."""
    completing = cluster.controller.completing
    if not completing.nodes:  # three fields of each row ask
        return 0
    core = row.core
    run = core.restarts - (core.state == JobState.PENDING)
    return completing.of(core.id, run) if core.state not in _RAN else 0


def _exit_code(row: Row, cluster: LiveCluster) -> int:
    core = row.core
    told_to_go = core.state not in BY_THEMSELVES and _dying(row, cluster)
    text = "0:0" if told_to_go else str(core.exit_code)
    simulated = not (cluster.runs_jobs and is_real(row.job.asked))
    if simulated and core.state in (JobState.TIMEOUT, JobState.NODE_FAIL) and text == "0:0":
        text = "0:15"  # its processes were told to go
    code, _, signal = text.partition(":")
    return int(code) << 8 | int(signal or 0)


def _nodes(row: Row, cluster: LiveCluster) -> str:
    alloc = row.core.alloc
    if dying := _dying(row, cluster):  # those that are clean are not named any more
        table = cluster.controller.state.table
        return compress([table.names[i] for i in to_indices(dying).tolist()])
    if row.job.cleans_up and row.core.state not in _RAN:
        return ""
    return cluster.controller.state.cluster.node_list(alloc) if alloc is not None else ""


def _num_cpus(row: Row, cluster: LiveCluster) -> int:
    """CPUs it has or asks for; of one that ended before it ran those found for it (job_ptr->total_cpus)."""
    found = row.core.tried_cpus if never_ran(row.core) else 0
    return int(found or row.core.n_cpus)


def _planned_nodes(row: Row, cluster: LiveCluster) -> str:
    """Where it was last planned, of an array the last of its tasks; one that never starts keeps that."""
    core = row.core
    planned = last_planned(task.core for task in row.tasks) if row.tasks else core.planned_nodes
    if core.alloc is not None or not planned:
        return ""
    table = cluster.controller.state.table
    return compress([table.names[i] for i in range(table.n) if planned >> i & 1])


def last_planned(tasks: Iterable[Job]) -> Bitmap:
    """Return the nodes of the last plan for the tasks of one record."""
    return next((task.planned_nodes for task in reversed([*tasks]) if task.planned_nodes), 0)


def _batch_host(row: Row, cluster: LiveCluster) -> str | None:
    alloc, power = row.core.alloc, cluster.controller.power
    if alloc is None:
        return None
    waits = never_launched(row.core) or (power is not None and power.waits(row.core))
    if waits and since(cluster.release, "batch_host_when_launched"):
        return None
    return str(cluster.controller.state.table.names[int(alloc.indices()[0])])


def _tres_asked(row: Row, cluster: LiveCluster) -> str:
    core = row.core
    if row.job.resized_at and core.alloc is not None:
        return tres_given(row, cluster) or ""
    counts = tres_asked(row.job, cluster)
    if not counts.get("mem"):
        counts.pop("mem", None)
    return format_tres(counts)


def tres_asked(live: LiveJob, cluster: LiveCluster) -> dict[str, int]:
    """Return what a job asks for (tres_req_cnt): of some TRES what updates left there, not the request's amount."""
    core, billing = live.core, cluster.controller.state.billing
    counts = billing.requested(core, core.request)
    if len(core.partitions) > 1:  # settled at its submission, by the first of them
        counts["mem"] = billing.requested(core, core.requests[0])["mem"]
    counts |= {"cpu": int(core.request.told_cpus), "node": core.nodes_asked, **(live.asked.get("tres_settled") or {})}
    counts.setdefault("billing", int(billing.bill(counts, core.partition.spec.tres_billing_weights)))
    return counts | billing.of_licenses(core.licenses)


def tres_given(row: Row, cluster: LiveCluster) -> str | None:
    core = row.core
    if core.alloc is None:
        restarts, left = row.job.asked.get("tres_left") or (0, None)
        lost = lost_run(row, cluster)
        if lost is not None:
            return format_tres({name: n for name, n in lost.tres_alloc.items() if n and name != "energy"})
        return left if restarts == core.restarts else None
    counts = cluster.controller.state.billing.allocated(core.alloc)
    if not counts.get("mem"):
        counts.pop("mem", None)
    counts["billing"] = int(billed(row.job, cluster))
    return format_tres(counts | cluster.controller.state.billing.of_licenses(core.licenses))


def billed(live: LiveJob, cluster: LiveCluster) -> float:
    """Return what a job with an allocation is billed: by the weights its partition had when it started."""
    core, billing = live.core, cluster.controller.state.billing
    assert core.alloc is not None
    start, value = live.asked.get("billed") or (None, 0)
    if start is not None and start == core.start_time and not live.resized_at:
        return float(value)
    return billing.bill(billing.allocated(core.alloc), core.partition.spec.tres_billing_weights)


def _billable(row: Row, cluster: LiveCluster) -> float | None:
    """Return what a job is billed for, one that waits again for its last run; None before the first.

    Of one that ended without a start it is 0 once slurmctld has read it from its state.
    """
    if row.core.alloc is not None:
        return billed(row.job, cluster)
    if not row.core.restarts:
        return 0 if row.core.start_time is None and row.core.end_time and read_anew(row) else None
    runs = [run.tres_alloc.get("billing") for run in cluster.storage.runs(row)]
    return next((value for value in reversed(runs) if value is not None), None)


def _flags(row: Row, cluster: LiveCluster) -> list[str]:
    core, flags = row.core, []
    if _dying(row, cluster) or (core.state not in _RAN and row.job.cleans_up):
        flags.append("COMPLETING")
    if core.state == JobState.PENDING:
        if core.special:
            flags.append("SPECIAL_EXIT")
        if row.job.expedited and (shown := row.job.expedited_flag):
            flags.append(shown)
        if not flags and row.job.requeued_at >= 0 and row.job.requeued_at == cluster.now:
            flags.append("COMPLETING")
        if core.reason.endswith(" was deleted"):
            flags.append("RESV_DEL_HOLD")
    elif core.state == JobState.RUNNING and cluster.controller.power is not None:
        power = cluster.controller.power
        if core.nodes & (power.nodes.off | power.nodes.coming):
            flags += ["CONFIGURING", "POWER_UP_NODE"]
    if core.state == JobState.RUNNING and row.job.configures and "CONFIGURING" not in flags:
        flags.append("CONFIGURING")
    if row.job.stopped and core.state == JobState.RUNNING:
        flags.append("STOPPED")
    return flags


def _task_text(row: Row, cluster: LiveCluster) -> str | None:
    if not is_list(row, cluster):
        return None
    return task_list([t.task for t in row.tasks if t.task is not None], row.core.array_limit, 0)


def _qos(row: Row, cluster: LiveCluster) -> str | None:
    """Its QOS; where there are none newer releases keep the name that was asked for."""
    return row.core.qos or row.job.asked.get("qos_told")


def _group(row: Row, cluster: LiveCluster) -> tuple[int, str]:
    """Its group: that of its user, or what root gave it (--gid)."""
    person, asked = row.job.person, row.job.asked.get("group_id")
    if asked is None or int(asked) == person.gid:
        return person.gid, person.group
    return int(asked), cluster.people.group_name(int(asked))


def _partition_names(row: Row, cluster: LiveCluster) -> str:
    """Where it may start, or started; named once each after a look for nodes (rebuild_job_part_list)."""
    core = row.core
    if core.start_time is not None or core.state == JobState.FAILED:
        return str(core.partition.name)
    if len(core.partitions) == 1:
        return str(core.partitions[0].name)
    names = [p.name for p in _partitions_in_order(core, cluster)]
    if core.restarts and core.state != JobState.PENDING:  # cancelled before it ran again
        return str(names[0])
    waits = core.reason == Reason.BEGIN_TIME or (core.sub.dependency and core.sub.array_task_id is None)
    asked = core.eligible_time is not None or waits
    barred = core.bars is not None and all(p.index in core.bars for p in core.partitions)
    looked = bool(core.priority) and asked and core.partition.state == "UP" and not barred
    return ",".join(dict.fromkeys(names) if looked and since(cluster.release, "partitions_once") else names)


def _partitions_in_order(core: Job, cluster: LiveCluster) -> list[Partition]:
    """Return the partitions: first the one with nodes at submission, or since 24.11 that of the highest tier.

    Where the submission found none they are in the order asked for (rebuild_job_part_list, which is not reached then).
    That of a requeued job's last run comes first.
    """
    if core.restarts and core.foremost not in (None, AS_ASKED):
        return sorted(core.partitions, key=lambda p: p.index != core.foremost)
    if core.foremost == AS_ASKED or any(p.state != "UP" for p in core.partitions):
        return list(core.partitions)
    if core.foremost is None or since(cluster.release, "partitions_by_tier"):
        return sorted(core.partitions, key=lambda p: -p.tier)
    return sorted(core.partitions, key=lambda p: p.index != core.foremost)


def _priority(row: Row, cluster: LiveCluster) -> int:
    """Its priority; of a job that waits outside the queue, too, as of the last calculation (_decay_thread).

    Of several partitions that of the first, and after a pass that of the record looked at last.
    """
    core, plugin = row.core, cluster.controller.priority
    if core.state == JobState.PENDING and core.priority and row.job.requeued_at == cluster.now:
        # worked out anew only when the last node is clean (batch_requeue_fini)
        return row.job.ran_with_priority
    if core.queued and len(core.partitions) > 1:
        records = cluster.controller.state.queue.jobs[core.id]
        first = _partitions_in_order(core, cluster)[0]
        if row.job.entered_after == looks(cluster.controller):
            return int(next((record.priority for record in records if record.partition is first), core.priority))
        kept_out = cluster.controller.partition_limits.limit_reason
        walked = [one for one in records if kept_out(core, one.partition, one.request) is None]
        return int(max(walked or records, key=lambda record: record.key).priority)
    if core.state != JobState.PENDING or core.queued or not core.priority or not isinstance(plugin, Multifactor):
        return int(core.priority)
    return min(cluster.controller.waiting.priorities(core))


def _tasks(row: Row, cluster: LiveCluster) -> int:
    """Its tasks, named or so many a node; else one on each node it asks for, and once it has nodes on each of those.

    NO_VAL where they are not known any more.
    """
    if tasks_unknown(row, cluster):
        return _NO_VAL
    request = row.core.sub.request
    counted = request.n_tasks or request.tasks_per_node
    began = row.core.start_time is not None
    if (row.job.resized_at or began) and not counted:
        return int(row.core.n_nodes)
    if began and request.tasks_per_node and not since(cluster.release, "tasks_as_asked"):
        return int(row.core.n_nodes) * request.tasks_per_node
    return int(request.n_tasks or request.tasks)


def _shared(row: Row, cluster: LiveCluster) -> str:
    """Whether it shares, as all releases tell it (_resolve_shared_status, get_job_share_value).

    What a start made of it stays. A try of a job that waits leaves nothing behind since 24.11.
    """
    core = row.core
    shared, spec = row.job.asked.get("shared"), core.partition.spec
    if core.forced:
        return "YES"
    if spec.oversubscribe == "EXCLUSIVE" or (shared == "none" and core.start_time is None):
        return "NO"
    if spec.all_share and core.state == JobState.PENDING and not since(cluster.release, "shares_once_started"):
        return "YES"
    if shared in ("exclusive", "none") or (core.request.whole and (shared != "ok" or spec.oversubscribe == "NO")):
        return "NO"
    if shared == "ok":
        return "YES"
    if shared == "user" or spec.exclusive_user:
        return "USER"
    return "YES" if spec.all_share else "OK"


def _oversubscribe(row: Row, cluster: LiveCluster) -> str:
    core = row.core
    asked, spec = row.job.asked.get("shared"), core.partition.spec
    return sharing.oversubscribe(asked, spec, forced=core.forced, alone=core.request.exclusive)


def _scheduler(row: Row, cluster: LiveCluster) -> str:
    """Who started it, or looked at it last while it waits; the star: in backfill's last cycle."""
    core = row.core
    if core.state != JobState.PENDING:
        return core.scheduler or "Main"
    looked = looked_last(row.job, cluster)
    return f"{looked}:*" if looked == "Backfill" else looked


_TOLD = (*(row for row in REQUEST if row.shown), *CARRIED)
FIELDS: dict[str, Getter] = {
    **{row.name: _text(row.name) if row.kind in ("text", "nodes") else _asked(row.name) for row in _TOLD},
    **{row.name: _asked(row.name, 0) for row in _TOLD if row.kind == "amount"},
    "features": shown_features,
    "prefer": shown_preference,
    "job_id": lambda r, c: r.job.id,
    "array_job_id": lambda r, c: r.job.array.id if r.job.array is not None else 0,
    "array_task_id": lambda r, c: None if is_list(r, c) or r.job.emptied else r.job.task,
    "array_task_str": _task_text,
    "array_max_tasks": lambda r, c: r.core.array_limit or 0,
    "name": lambda r, c: r.job.asked.get("name"),
    "user_id": lambda r, c: r.job.person.uid,
    "user_name": lambda r, c: r.job.person.name,
    "group_id": lambda r, c: _group(r, c)[0],
    "group_name": lambda r, c: _group(r, c)[1],
    "account": lambda r, c: r.core.account or None,
    "partition": _partition_names,
    "qos": _qos,
    "job_state": lambda r, c: str(r.core.state),
    "state_flags": _flags,
    "state_reason": _reason,
    "state_desc": _description,
    "submit_time": lambda r, c: r.core.submit_time,
    "eligible_time": _eligible,
    "accrue_time": lambda r, c: _accrue(r, c),
    "billable": _billable,
    "start_time": _start,
    "end_time": _end,
    "time_limit": _limit,
    "time_min": lambda r, c: (r.core.time_min_s or 0) // 60,
    "deadline": lambda r, c: r.core.deadline or 0,
    "pre_sus_time": lambda r, c: r.job.ran_before_suspension,
    "suspend_time": lambda r, c: r.job.suspended_or_resumed,
    "suspended_s": lambda r, c: r.core.stood_still_s(c.now),
    "last_sched_eval": lambda r, c: r.core.start_time or _last_of_its_array(r) or last_evaluated(r.job, c),
    "scheduler": _scheduler,
    "nodes": _nodes,
    "sched_nodes": _planned_nodes,
    "batch_host": _batch_host,
    "batch_flag": lambda r, c: 1 if r.job.asked.get("script") else 0,
    "num_nodes": node_count,
    # once it has nodes their number alone is told
    "max_nodes": _max_nodes,
    "num_cpus": _num_cpus,
    "max_cpus": lambda r, c: int(r.job.asked.get("max_cpus") or 0) if r.core.state == JobState.PENDING else 0,
    "num_tasks": _tasks,
    "ntasks_per_node": lambda r, c: r.core.sub.request.tasks_per_node,
    "tres_req_str": _tres_asked,
    "tres_alloc_str": tres_given,
    "priority": _priority,
    "nice": lambda r, c: r.core.sub.nice,
    "dependency": lambda row, cluster: dependency_text(cluster, row.job) or None,
    "std_out": lambda r, c: _pattern(r, "std_out"),
    "std_err": lambda r, c: _pattern(r, "std_err"),
    "shown_out": lambda r, c: shown_file(r, "std_out", c),
    "std_in": lambda r, c: shown_file(r, "std_in", c),
    "crontab_spec": _text("crontab_spec"),
    "cron_job": lambda r, c: bool(r.core.sub.cron),
    "exit_code": _exit_code,
    "derived_ec": _derived,
    "requeue": lambda r, c: int(says_requeue(c, r.job)),
    "restart_cnt": lambda r, c: r.core.restarts,
    "shared": _shared,
    "oversubscribe": _oversubscribe,
    "contiguous": lambda r, c: 1 if r.core.sub.request.contiguous else 0,
    "resv_name": lambda r, c: r.core.reservation_name or r.core.sub.reservation or None,
    "resv_used": lambda r, c: r.core.reservation.name if r.core.reservation is not None else None,
    "alloc_node": _asked("alloc_node", "localhost"),
    "core_spec": _asked("core_spec"),
    "mail_user": lambda r, c: (
        r.job.asked.get("mail_user") or (r.job.person.name if r.job.asked.get("mail_type") else None)
    ),
    "delay_boot": _asked("delay_boot", 0),
    "preempt_time": lambda r, c: r.core.preempt_time or 0,
    "power_flags": lambda r, c: "LEVEL" if "level" in str(r.job.asked.get("power") or "").lower().split(",") else "",
    "reboot": _asked("reboot", 0),
    "cluster": lambda r, c: c.spec.name,
    "het_job_id": lambda r, c: 0 if r.core.sub.het is None else r.core.sub.het[0],
    "het_job_offset": lambda r, c: None if r.core.sub.het is None else r.core.id - r.core.sub.het[0],
    "het_job_id_set": lambda r, c: het_jobs.id_set(r.core),
    "assoc_id": lambda r, c: 0 if r.core.branch is None else c.database.id_of(r.core.branch.spec),
    "cpus_per_node": lambda r, c: (
        c.controller.state.cluster.cpus_per_node(r.core.alloc) if r.core.alloc is not None else None
    ),
    "gres_detail": lambda r, c: gres_details(r.core, c),
    **GPU_FIELDS,
    **DETAILS,
    **DATA_PARSER_FIELDS,
    "job_flags": lambda r, c: job_flags(r, c, _scheduler(r, c), DETAILS["bitflags"](r, c)),
}
"""Field -> its value for a row."""
