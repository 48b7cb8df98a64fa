"""Allocations without a script (srun, salloc): asked for, waited for, told of and given back.

A client that waits asks once, and the server answers when the state has changed (`waits`): such calls say ``wait`` in
their answer for as long as there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.core.placement.compiled_request import NOT_AVAILABLE
from slurmsim.core.records.messages import Cancel, JobEnded, StartAtOnce
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.releases import row
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.private_data import looks_after
from slurmsim.slurmctld.base.stepmgr import has_stepmgr
from slurmsim.slurmctld.processes.real_jobs import working_cluster
from slurmsim.slurmctld.processes.script_ends import name_signal
from slurmsim.slurmctld.processes.steps import ALREADY_DONE, PENDING, one
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

CHANGES = frozenset({"complete_job", "client_gone"})
NO_STATUS = 0xFFFFFFFE  # the return code of a client that gave up: its job counts as cancelled
NOT_TOP = "Immediate execution impossible, insufficient priority"
BUSY = "Requested nodes are busy"
DOWN = "Partition in DOWN state"
_TOO_LARGE = {"22.05": False, "24.11": True, "26.05": False}
"""Whether an allocation of more nodes than its partition has is refused."""
_NOT_NOW = "Requested partition configuration not available now"
_LIMITS = (Reason.PARTITION_CONFIG, Reason.PARTITION_NODE_LIMIT, Reason.PARTITION_TIME_LIMIT)
_LIMITS_FIRST = {"22.05": True, "24.11": False}
"""Whether ``--immediate`` names a limit of the partition even if other jobs are ahead."""
_SAID = {
    "PartitionNodeLimit": _NOT_NOW,
    "PartitionTimeLimit": _NOT_NOW,
    "PartitionDown": "Required partition not available (inactive or drain)",
    "PartitionInactive": "Required partition not available (inactive or drain)",
    "JobHeldUser": "Job is held",
    "JobHeldAdmin": "Job is held",
    "QOSUsageThreshold": "QOS usage threshold",
    "ReqNodeNotAvail": "Required node not available (down, drained or reserved)",
}
"""What slurmctld answers about a job that cannot start for such a reason, beside its id."""


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the calls about allocations, and the ones that may take long to answer."""
    return {
        "complete_job": lambda arguments, person: complete(cluster, arguments, person),
        "client_gone": lambda arguments, person: client_gone(cluster, arguments, person),
        "allocation": lambda arguments, person: allocation(cluster, arguments, person),
        "wait_allocation": lambda arguments, person: wait_allocation(cluster, arguments, person),
        "wait_ready": lambda arguments, person: wait_ready(cluster, arguments, person),
        "wait_over": lambda arguments, person: wait_over(cluster, arguments),
        "wait_mail": lambda arguments, person: wait_mail(cluster, arguments, person),
        "wait_until": lambda arguments, person: wait_until(cluster, arguments),
    }


def answer(cluster: LiveCluster, live: LiveJob) -> dict[str, Any]:
    """Return what the submission of an allocation is answered: with ``immediate`` the job may have failed already."""
    core = live.core
    cluster.network.tell(cluster.now, [StartAtOnce(core.id)])
    found: dict[str, Any] = {"job_id": live.id, "granted": core.state == JobState.RUNNING}
    if core.state != JobState.PENDING:
        return found
    keeps_out = cluster.controller.partition_limits.keeps_out  # asked before who is first in line
    kept = [keeps_out(core, p, request) for p, request in zip(core.partitions, core.requests, strict=True)]
    reason = str(kept[0] if kept and all(kept) else core.reason)
    if int(live.asked.get("immediate") or 0) == 1:
        if reason in _LIMITS and row(_LIMITS_FIRST, cluster.release):
            return _fail(cluster, live, found, _NOT_NOW)
        before = [r for records in cluster.controller.state.queue.jobs.values() for r in records if r.job is not core]
        first = any(r.partition is core.partition and r.priority > core.priority for r in before)
        down = reason == Reason.PARTITION_DOWN and _has_nodes(cluster, core)
        return _fail(cluster, live, found, NOT_TOP if first else DOWN if down else BUSY)
    if too_large(cluster, core):
        return _fail(cluster, live, found, NOT_AVAILABLE)
    for name, text in _SAID.items():
        if reason.startswith(name):
            found["note"] = text
    return found


def too_large(cluster: LiveCluster, core: Job) -> bool:
    """Return True if an allocation of more nodes than its partition has is refused, and `core` asks for so many."""
    return core.request.min_nodes > len(core.partition.spec.nodes) and bool(row(_TOO_LARGE, cluster.release))


def _has_nodes(cluster: LiveCluster, core: Job) -> bool:
    """Return True if nodes are free for it, if it might start."""
    controller = cluster.controller
    return any(
        controller.start_test.place_now(record, controller.state.table.up, core.time_limit_s)
        for record in controller.state.queue.jobs.get(core.id, ())
    )


def _fail(cluster: LiveCluster, live: LiveJob, found: dict[str, Any], text: str) -> dict[str, Any]:
    """End a job that cannot be had at once, or ever; it has its id and its record."""
    core = live.core
    cluster.network.tell(cluster.now, [Cancel(core.id)])
    core.state, core.reason, core.exit_code = JobState.FAILED, Reason.BAD_CONSTRAINTS, "1:0"
    core.start_time = cluster.now
    return {**found, "refused": text}


def complete(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Give an allocation back, with the wait status its holder ended with. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if person.uid not in (live.person.uid, cluster.owner):
        raise Refusal("Invalid user id")
    if live.over:
        raise Refusal(ALREADY_DONE, 2021)
    status, core = int(arguments["status"]), live.core
    if status == NO_STATUS or core.state == JobState.PENDING:
        cancel(cluster, live, person.uid)
        return {}
    code, number = status >> 8 & 0xFF, status & 0x7F
    state = JobState.COMPLETED if not code and not number else JobState.FAILED
    cluster.network.tell(cluster.now, [JobEnded(core.id, state, f"{code}:{number}", core.restarts)])
    name_signal(live, number, cluster.release)
    return {}


def client_gone(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Note that the client of a pending allocation went silently: the daemon's own call. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if person.uid != cluster.owner:
        raise Refusal("Invalid user id")
    live.client_gone = True
    if live.core.state != JobState.PENDING:  # it has started meanwhile
        cluster.timers.miss_client(live)
    return {}


def cancel(cluster: LiveCluster, live: LiveJob, by: int) -> None:
    """Cancel one job; a pending one keeps the reason it waited for."""
    core = live.core
    reason, waited = core.reason, core.state == JobState.PENDING
    whole = [part for part in het_jobs.whole(cluster.job_table, [live]) if not part.over]
    for part in whole:
        part.cancelled_by = by
    cluster.network.tell(cluster.now, [Cancel(part.core.id) for part in whole])
    if waited and live.over:
        core.reason = reason


def allocation(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Return what a running job has, as srun and salloc are told. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if not looks_after(cluster, person, live.core.account):
        live = _own(cluster, arguments, person)
    if live.over:
        raise Refusal(ALREADY_DONE, 2021)
    if live.core.state == JobState.PENDING:
        raise Refusal(PENDING)
    return facts(cluster, live)


def _own(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> LiveJob:
    """Return the job a request is about, if it is that user's or one of an operator's wards. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if person.uid != live.person.uid and not cluster.database.is_operator(person):
        raise Refusal(DENIED, 2002)
    return live


def facts(cluster: LiveCluster, live: LiveJob) -> dict[str, Any]:
    """Return the allocation of a running job; for the leader of a heterogeneous job also its ``components``."""
    found = _of_one(cluster, live)
    if live.core.sub.het is not None and het_jobs.leads(live):
        found["components"] = [_component(cluster, live.id, offset) for offset in range(live.core.sub.het[1])]
        found["het_size"] = live.core.sub.het[1]
    return found


def _component(cluster: LiveCluster, leader: int, offset: int) -> dict[str, Any]:
    """One component's allocation, or that it has none any more."""
    part = cluster.job_table.shown(leader + offset)
    if part is None or part.over or part.core.alloc is None:
        return {"job_id": leader + offset, "offset": offset, "over": True}
    return {**_of_one(cluster, part), "offset": offset}


def _of_one(cluster: LiveCluster, live: LiveJob) -> dict[str, Any]:
    core, state, table = live.core, cluster.controller.state.cluster, cluster.controller.state.table
    alloc = core.alloc
    assert alloc is not None
    cpus = cpus_on_nodes(core, cluster)
    return {
        "job_id": live.id, "node_list": state.node_list(alloc), "nodes": [table.names[int(i)] for i in alloc.indices()],
        "cpus": cpus, "partition": _partition(cluster, live), "account": core.account or None, "qos": core.qos or None,
        "resv_name": core.reservation_name or None, "name": live.asked.get("name"),
        "mem_per_cpu": live.asked.get("pn_min_memory") if live.asked.get("mem_per_cpu") else None,
        "mem_per_node": live.asked.get("pn_min_memory") if not live.asked.get("mem_per_cpu") else None,
        "num_tasks": core.sub.request.n_tasks or None, "cpus_per_task": live.asked.get("cpus_per_task"),
        "ntasks_per_node": core.sub.request.tasks_per_node or None, "user": live.person.name, "uid": live.person.uid,
        "gid": live.person.gid, "group": live.person.group, "cluster": cluster.spec.name,
        "conf": cluster.conf_path, "working_cluster": working_cluster(cluster), "restarts": core.restarts,
        "start_time": core.start_time, "end_time": core.end_limit, "licenses": live.asked.get("licenses"),
        "gpus": state.gres_per_node(alloc) or None, "batch": bool(live.asked.get("script")),
        "kill_wait": int(cluster.spec.option("KillWait")), "release": cluster.release,
        "kill_on_bad_exit": int(cluster.spec.options.get("KillOnBadExit") or 0),
        "shared": live.asked.get("shared"), "booting": bool(_booting(cluster, live)),
        "stepmgr": table.names[int(alloc.indices()[0])] if has_stepmgr(cluster, live) else None,
        "sluid": sluid.text(cluster.storage.first(live).db_index),
    }  # fmt: skip


def _partition(cluster: LiveCluster, live: LiveJob) -> str:
    """Return the partition an allocation is told it has: the one it runs in, or all that were asked for."""
    asked = str(live.asked.get("partition") or "")
    return asked if "," in asked and not since(cluster.release, "partition_of_allocation") else live.core.partition.name


def wait_allocation(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Wait until a job is no longer pending, or the instant ``until``; ``timed_out`` then. Raises Refusal."""
    live = _own(cluster, arguments, person)
    if live.over:
        return {"over": True, "state": str(live.core.state)}
    if live.core.state != JobState.PENDING:
        return facts(cluster, live)
    until = arguments.get("until")
    if until is not None and cluster.now >= int(until):
        return {"timed_out": True}
    return {"wait": [live.core.id], "until": until}


def wait_ready(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Wait until the nodes of an allocation have booted; ``failed`` names them if one did not. Raises Refusal."""
    live = _own(cluster, arguments, person)
    if live.over or live.core.state == JobState.PENDING:
        lost = live.core.alloc if live.core.state == JobState.NODE_FAIL else None
        said = next((letter["text"] for letter in live.mail if letter["kind"] == "said"), "")
        return {
            "over": True,
            "said": said,
            "failed": cluster.controller.state.cluster.node_list(lost) if lost is not None else "",
        }
    booting = _booting(cluster, live)
    return {"wait": [part.core.id for part in booting], "until": None} if booting else facts(cluster, live)


def _booting(cluster: LiveCluster, live: LiveJob) -> list[LiveJob]:
    """Return the parts of a job that wait for their nodes to boot, or for PrologSlurmctld."""
    power = cluster.controller.power
    parts = het_jobs.whole(cluster.job_table, [live]) if power is not None or live.programs else []
    return [part for part in parts if part.configures or (power is not None and power.waits(part.core))]


def wait_over(cluster: LiveCluster, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until a job, or every task of an array, is over. Raises Refusal for an unknown job."""
    found = cluster.job_table.find(str(arguments["job_id"]))
    if not found:
        raise Refusal(INVALID_JOB, 2017)
    left = [live.core.id for live in found if not live.over]
    return {"wait": left[:1], "until": None} if left else {"over": True}


def wait_mail(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Wait for messages to the sruns that look after the tasks of a job, from number ``after`` on. Raises Refusal."""
    live = _own(cluster, arguments, person)
    after, step = int(arguments["after"]), arguments.get("step_id")
    mine = [m for m in live.mail[after:] if m["step"] is None or m["step"] == step]
    looked_at = [live] if step is not None else het_jobs.whole(cluster.job_table, [live])
    # a job that is pending again was requeued, which is an end to its sruns, too
    first = next((part for part in looked_at if part.over or part.core.state == JobState.PENDING), None)
    gone = first is not None
    lost = step is not None and not gone and all(s.number != step for s in live.running_steps)
    if mine or (gone and not arguments.get("told")) or lost:
        told = first or live
        return {
            "mail": mine, "after": len(live.mail), "over": gone, "state": str(told.core.state), "now": cluster.now,
            "job_id": told.id,
        }  # fmt: skip
    return {"wait": [part.core.id for part in looked_at], "until": None}


def wait_until(cluster: LiveCluster, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Wait for an instant of the cluster's clock."""
    until = int(arguments["until"])
    return {"now": cluster.now} if cluster.now >= until else {"wait": [], "until": until}
