"""Job steps: made, ended, signalled and told of. Beside srun's steps every batch script is one.

Mirrors step_mgr.c (22.05). What a client is to know while its step runs (signals, that its job is over) is put into the
job's `mail`. The mail is not kept: a client that asks again after a restart sees from the state what it has missed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.core.records.job import Job
from slurmsim.gres_words import told_per_task
from slurmsim.hostlist import expand
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.private_data import ACCESS_DENIED, job_filter, may_measure, sees_job
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.base.step import BATCH, EXTERN, NO_STATUS, WAITED, Step
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.network_address import network_addresses
from slurmsim.slurmctld.processes import async_steps, job_termination, node_programs, step_ports
from slurmsim.slurmctld.processes.step_gpus import (
    check_gres,
    devices_of_step,
    gres_of_step,
    shares_of_step,
    short_of_gres,
    tres_of_step,
    variables_of,
)
from slurmsim.slurmctld.processes.step_places import BUSY, Place, Room, give_cpus_of_gpus, place_step, task_ids
from slurmsim.slurmctld.processes.step_turns import TURN, ranks_of, turn_of
from slurmsim.states import JobState
from slurmsim.task_licenses import BAD_TRES, licenses_of_task
from slurmsim.tres import format_tres

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

ALREADY_DONE = "Job/step already completing or completed"
PENDING = "Job is pending execution"
PROLOG_RUNS = "PrologSlurmctld is still running"
DISABLED = "Requested operation is presently disabled"
STEP_LIMIT = "Step limit reached for this job"
CHANGES = frozenset({"step_create", "step_end"})
ALIVE = (JobState.RUNNING, JobState.SUSPENDED)
TERMINATED = int(signal.SIGTERM)
UNLIMITED = 0xFFFFFFFE
_PORTS_AGAIN_S = 30  # seconds after which a step that waits for ports of other jobs is tried again
MAX_TASKS_PER_NODE = 512  # slurm.conf's default


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the calls about steps."""
    return {
        "step_create": lambda a, person: create(cluster, a["step"], person, wait=bool(a.get("wait"))),
        "step_end": lambda arguments, person: end(cluster, arguments, person),
        "step_layout": lambda arguments, person: layout(cluster, arguments, person),
        "step_begun": lambda arguments, person: begun(cluster, arguments, person),
        "steps_drained": lambda arguments, person: async_steps.drained_since(
            one(cluster, arguments["job_id"]), arguments
        ),
        "steps": lambda arguments, person: listed(cluster, arguments, person),
    }


def one(cluster: LiveCluster, job_id: Any) -> LiveJob:
    """Return the job with that id of its own. Raises Refusal."""
    live = cluster.job_table.shown(int(job_id))
    if live is None:
        raise Refusal(INVALID_JOB, 2017)
    return live


def create(cluster: LiveCluster, asked: Mapping[str, Any], person: Person, *, wait: bool) -> dict[str, Any]:
    """Make a step of a running job, or wait for room or a prolog. Raises Refusal; `BUSY` and `DISABLED` pass."""
    live = one(cluster, asked["job_id"])
    core = live.core
    members = _members(cluster, live, person)
    if asked.get("async"):
        async_steps.check(cluster, live)
    names = [cluster.controller.state.table.names[i] for i in members]
    wanted = _with_places(asked, names)
    threads = core.sub.request.threads_per_core
    if threads and int(asked.get("threads_per_core") or 0) > threads:
        raise Refusal("Cannot request more threads per core than the job allocation", 2132)
    number = _number(cluster, live, asked)
    _check_task_tres(cluster, asked)
    check_gres(core, cluster.controller.state.table, asked, cluster.release)
    step = async_steps.queued(number, cluster.now, members, core.restarts, asked)
    try:
        _place(cluster, live, step, _placed(cluster, live, asked, wanted))
    except Refusal as refusal:
        ports = refusal.text == step_ports.PORTS_BUSY
        if not (asked.get("async") and (ports or refusal.text == BUSY)):
            if wait and (ports or refusal.text in (BUSY, PROLOG_RUNS)):
                return {"wait": [core.id], "until": cluster.now + _PORTS_AGAIN_S if ports else None}
            raise
        step.asked = {**step.asked, WAITED: True}
    _counter(cluster, live).next_step = max(_counter(cluster, live).next_step, number + 1)
    live.steps.append(step)
    return {"step_id": step.number} if asked.get("async") else _launch_facts(cluster, live, step)


def begun(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Wait for an asynchronous step to get its place: what its tasks need, or that it will not run. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if person.uid != live.person.uid:
        raise Refusal(DENIED, 2002)
    number = int(arguments["step_id"])
    step = next((s for s in live.running_steps if s.number == number and s.run == live.core.restarts), None)
    if step is None:
        return {"over": True}
    if step.waits:
        return {"wait": [live.core.id], "until": None}
    return _launch_facts(cluster, live, step)


def _place(cluster: LiveCluster, live: LiveJob, step: Step, place: Place) -> None:
    """Let a step run from now on, with what it has at its place. Raises Refusal where ports are short."""
    core, asked = live.core, step.asked
    assert core.alloc is not None
    members = core.alloc.indices()
    ports = step_ports.reserved(cluster, asked, [int(members[i]) for i in place.nodes], place.tasks)
    step.nodes, step.start, step.state = tuple(int(members[i]) for i in place.nodes), cluster.now, JobState.RUNNING
    step.tasks, step.cpus, step.memory = tuple(place.tasks), tuple(place.cpus), tuple(place.memory)
    counts = gres_of_step(core, cluster.controller.state.table, asked, place.nodes, place.tasks, "gpu")
    devices = devices_of_step(cluster, live, step.nodes, counts)
    if any(devices):
        step.asked = {**step.asked, "devices": devices}
    tres = tres_of_step(cluster, core, asked, place.nodes, place.tasks)
    if tres:
        step.asked = {**step.asked, "tres": tres}
    if ports:
        step.asked = {**step.asked, "ports": list(ports)}
    if place.turn is not None:
        step.asked = {**step.asked, TURN: place.turn}
    _limit(cluster, live, step)


def _wake(cluster: LiveCluster, live: LiveJob) -> None:
    """Start the asynchronous steps for which there is room now, in order; one that can never run is over."""
    for step in live.running_steps:
        if not step.waits or live.core.state != JobState.RUNNING or step.run != live.core.restarts:
            continue
        assert live.core.alloc is not None
        names = [cluster.controller.state.table.names[i] for i in live.core.alloc.indices().tolist()]
        try:
            _place(cluster, live, step, _placed(cluster, live, step.asked, _with_places(step.asked, names)))
        except Refusal as refusal:
            if refusal.text not in (BUSY, PROLOG_RUNS, step_ports.PORTS_BUSY):
                step.finish(cluster.now, NO_STATUS)


def _launch_facts(cluster: LiveCluster, live: LiveJob, step: Step) -> dict[str, Any]:
    """Return what is needed to run the tasks of a step that has its place."""
    core, asked, table = live.core, step.asked, cluster.controller.state.table
    assert core.alloc is not None
    members = core.alloc.indices().tolist()
    places, tasks = [members.index(node) for node in step.nodes], list(step.tasks)
    ids = _task_ids(cluster, live, step)
    if asked.get("task_nodes"):
        arbitrary = _with_places(asked, [table.names[i] for i in members])["arbitrary"]
        ids = [[k for k, i in enumerate(arbitrary) if i == place] for place in places]
    names = [table.names[i] for i in step.nodes]
    gpus = gres_of_step(core, table, asked, places, tasks, "gpu")
    devices = asked.get("devices") or [[] for _ in step.nodes]
    shares = shares_of_step(cluster, core, asked, step.nodes, places, tasks)
    return {
        "step_id": step.number, "nodes": names, "tasks": tasks, "task_ids": ids,
        "cpus": list(step.cpus), "memory": list(step.memory), "node_list": step.node_list(table.names),
        "after": len(live.mail), "resv_ports": step_ports.shown(asked.get("ports") or ()),
        "task_programs": [_program(cluster, name) for name in ("TaskProlog", "TaskEpilog")],
        "network": network_addresses(cluster.spec, names),
        "gpus": [count or len(own) for count, (own, _) in zip(gpus, shares, strict=True)],
        "devices": [one or own for one, (own, _) in zip(devices, shares, strict=True)],
        "gpu_variables": [
            variables_of(cluster.spec.nodes[i].gpu_variables, told)
            for i, (_, told) in zip(step.nodes, shares, strict=True)
        ],
        "share_variables": [told for _, told in shares],
        "gpu_uuids": [cluster.spec.nodes[i].gpu_uuids for i in step.nodes],
    }  # fmt: skip


def _task_ids(cluster: LiveCluster, live: LiveJob, step: Step) -> list[list[int]]:
    """Return the numbers of a step's tasks on each of its nodes."""
    assert live.core.alloc is not None
    members = live.core.alloc.indices().tolist()
    table = cluster.controller.state.table
    ranks = ranks_of(cluster, live, [table.names[i] for i in members])
    mine = None if ranks is None else [ranks[members.index(node)] for node in step.nodes]
    distribution, plane = str(step.asked.get("distribution") or "block"), int(step.asked.get("plane_size") or 0)
    return task_ids(step.tasks, distribution, plane, mine)


def _with_places(asked: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Return what is asked for with the places of the nodes it names among those of the allocation. Raises Refusal.

    A node outside the allocation gets a place outside: refused if asked for, harmless if excluded.
    """
    wanted = dict(asked)
    for key, text in (("nodes", "node_list"), ("excluded", "exc_nodes"), ("arbitrary", "task_nodes")):
        if asked.get(text):
            wanted[key] = [names.index(n) if n in names else len(names) for n in _names(str(asked[text]))]
    return wanted


def _placed(cluster: LiveCluster, live: LiveJob, asked: Mapping[str, Any], wanted: Mapping[str, Any]) -> Place:
    """Return where a step goes; its GRES are free and the prolog is done there. Raises Refusal."""
    free, core = rooms(live, cluster), live.core
    wanted = {
        **wanted, "job_threads": core.sub.request.threads_per_core,
        "threads_counted": since(cluster.release, "step_threads_counted"),
    }  # fmt: skip
    tasks, most = int(asked["num_tasks"]), int(cluster.spec.options.get("MaxTasksPerNode") or MAX_TASKS_PER_NODE)
    place = place_step({**wanted, "num_tasks": min(tasks, most * len(free))}, free, turn_of(cluster, live))
    if tasks > most * len(place.nodes):
        raise Refusal("Task count specification invalid", 2025)
    while short := short_of_gres(cluster, live, asked, place.nodes, place.tasks):
        for k in short:  # another node may do
            free[k].used, free[k].steps = free[k].cpus, free[k].steps + 1
        place = place_step(wanted, free, turn_of(cluster, live))
    if live.configures:
        raise Refusal(PROLOG_RUNS, 2061)
    assert core.alloc is not None
    by_gpu = asked.get("cpus_per_tres") and not asked.get("cpus_per_task")
    if by_gpu and since(cluster.release, "steps_have_cpus_of_gpus"):
        counts = gres_of_step(core, cluster.controller.state.table, asked, place.nodes, place.tasks, "gpu")
        give_cpus_of_gpus(place, wanted, free, counts)
    members = core.alloc.indices()
    if not node_programs.ready(cluster, live, tuple(int(members[i]) for i in place.nodes)):
        raise Refusal(PROLOG_RUNS, 2061)
    return place


def _program(cluster: LiveCluster, name: str) -> str | None:
    """Return a program of slurm.conf that runs beside tasks; None for none, and for a file that is not there."""
    path = str(cluster.spec.options.get(name) or "") if cluster.runs_programs else ""
    return path if path.startswith("/") and os.access(path, os.X_OK) else None


def _check_task_tres(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Refuse TRES of tasks that cannot be read, or licenses there are none of. Raises Refusal."""
    try:
        found = licenses_of_task(str(asked.get("tres_per_task") or ""))
    except ValueError:
        raise Refusal(BAD_TRES, 2115) from None
    if any(name not in cluster.controller.state.license_totals for name, _ in found):
        raise Refusal(BAD_TRES, 2115)


def _members(cluster: LiveCluster, live: LiveJob, person: Person) -> list[int]:
    """Return the nodes of a job that may have another step now. Raises Refusal."""
    core = live.core
    if person.uid != live.person.uid:
        raise Refusal(DENIED, 2002)
    if core.state == JobState.SUSPENDED:
        raise Refusal(DISABLED)
    if core.state == JobState.PENDING:
        raise Refusal(PENDING)
    if core.state != JobState.RUNNING or core.alloc is None:
        raise Refusal(ALREADY_DONE, 2021)
    if _counter(cluster, live).next_step >= int(cluster.spec.options.get("MaxStepCount") or 40_000):
        raise Refusal(STEP_LIMIT)
    return [int(i) for i in core.alloc.indices()]


def _counter(cluster: LiveCluster, live: LiveJob) -> LiveJob:
    """Who counts its steps: itself, or the leader of its heterogeneous job."""
    het = live.core.sub.het
    return live if het is None else cluster.job_table.shown(het[0]) or live


def _number(cluster: LiveCluster, live: LiveJob, asked: Mapping[str, Any]) -> int:
    """Return the number of a new step: the next one, or what it has in another component already. Raises Refusal."""
    number, het = asked.get("step_id"), live.core.sub.het
    if number is None:
        return _counter(cluster, live).next_step
    others = [live] if het is None else [cluster.job_table.shown(het[0] + k) for k in range(het[1])]
    known = any(step.number == number for other in others if other is not None for step in other.running_steps)
    if not known or any(step.number == number and step.het_comp == asked.get("het_comp") for step in live.steps):
        raise Refusal("Invalid argument")
    return int(number)


def _names(text: str) -> list[str]:
    try:
        return list(expand(text, MOST_NAMES))
    except ValueError:
        raise Refusal("Invalid node name specified") from None


def rooms(live: LiveJob, cluster: LiveCluster) -> list[Room]:
    """Return what the nodes of a running job have, and what its steps use of it."""
    alloc, grain = live.core.alloc, cluster.controller.state.table.grain.tolist()
    assert alloc is not None
    count, cpus = alloc.n_nodes, cpus_on_nodes(live.core, cluster)
    memory = [alloc.mem] * count if isinstance(alloc.mem, int) else [int(n) for n in alloc.mem]
    nodes = [int(i) for i in alloc.indices()]
    found = [Room(c, m, grain[i]) for c, m, i in zip(cpus, memory, nodes, strict=True)]
    place = {i: k for k, i in enumerate(nodes)}
    for step in live.placed_steps:
        if not step.asked:
            continue
        for node, used, taken in zip(step.nodes, step.cpus, step.memory, strict=True):
            if node not in place:
                continue
            room = found[place[node]]
            room.steps += 1
            if not step.asked.get("overlap"):
                room.used += used
                room.memory_used += taken if step.asked.get("mem_per_cpu") or step.asked.get("mem_per_node") else 0
    return found


def set_limit(cluster: LiveCluster, live: LiveJob, number: int | None, minutes: int) -> None:
    """Give the running step with that number another time limit, or all of them; `UNLIMITED` and more are none."""
    for step in live.placed_steps:
        if step.asked and number in (None, step.number):
            step.asked = {**step.asked, "time_limit": minutes}
            _limit(cluster, live, step)
    cluster.changed(live)


def _limit(cluster: LiveCluster, live: LiveJob, step: Step) -> None:
    """Stop a step with a time limit of its own at the first scan after it."""
    limit = step.asked.get("time_limit")
    if not limit or int(limit) >= UNLIMITED:
        return
    cluster.timers.limit_step(live, step)


def end(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """End a step: its tasks are over."""
    live = one(cluster, arguments["job_id"])
    if person.uid not in (live.person.uid, cluster.owner):
        raise Refusal(DENIED, 2002)
    for step in live.steps:
        if step.het_comp != arguments.get("het_comp"):
            continue
        if step.number == int(arguments["step_id"]) and (step.end is None or step.supposed):
            step.finish(cluster.now, int(arguments["status"]))
            if live.over or live.core.restarts > step.run:
                job_termination.look(cluster, live, step.run)
    async_steps.note_drained(live)
    _wake(cluster, live)
    cluster.changed(live)
    return {}


# -- what jobs do to their steps ------------------------------------------------------------------------------------


def began(cluster: LiveCluster, live: LiveJob) -> None:
    """Make the steps of a launched job: its script, if it has one; ``PrologFlags=contain`` makes another."""
    core = live.core
    assert core.alloc is not None
    members = tuple(int(i) for i in core.alloc.indices())
    live.next_step = 0
    if "contain" in str(cluster.spec.options.get("PrologFlags") or "").lower():
        live.steps.append(
            Step(EXTERN, "extern", cluster.now, members, (1,) * len(members), (0,) * len(members), (0,) * len(members),
                 core.restarts, {})
        )  # fmt: skip
    if live.asked.get("script") and not live.asked.get("het_offset"):
        live.steps.append(Step(BATCH, "batch", cluster.now, members[:1], (1,), (0,), (0,), core.restarts, {}))


def over(cluster: LiveCluster, live: LiveJob, run: Job) -> None:
    """End the steps of an ended run. A script that really runs reports for itself, and srun for its tasks."""
    code, _, number = str(run.exit_code).partition(":")
    status = int(code) << 8 | int(number or 0)
    ended_by_itself = run.state in (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY)
    for step in live.running_steps:
        if step.run != run.restarts:
            continue
        if step.waits:
            step.finish(cluster.now, NO_STATUS)
        elif step.number == BATCH:
            if ended_by_itself:
                step.finish(cluster.now, status)
                if run.state == JobState.OUT_OF_MEMORY:
                    step.state = JobState.OUT_OF_MEMORY
            elif run.state == JobState.NODE_FAIL and cluster.controller.node_states.down >> step.nodes[0] & 1:
                step.finish(cluster.now, NO_STATUS)  # the node is gone and cannot tell how it ended
            elif not (cluster.runs_jobs and is_real(live.asked)):
                step.finish(cluster.now, TERMINATED)
        elif step.number == EXTERN:
            step.finish(cluster.now, 0)
        elif run.state == JobState.OUT_OF_MEMORY:
            step.finish(cluster.now, status)
            step.state, step.supposed = JobState.OUT_OF_MEMORY, True
        elif run.state == JobState.NODE_FAIL or not cluster.dies_slowly:
            # a signal that ended the script went to its steps, too
            step.finish(cluster.now, int(number or 0) or int(signal.SIGKILL) if ended_by_itself else TERMINATED)
            step.supposed = True  # its srun may know better
    post(cluster, live, {"kind": "over", "step": None, "why": str(run.state), "run": run.restarts})
    cluster.timers.kill_tasks_later(live, None)


def killed(cluster: LiveCluster, live: LiveJob) -> list[int]:
    """End the steps of ended runs by KILL, now that KillWait is over; return these runs. A message may still come."""
    found = [step for step in live.running_steps if step.asked and (live.over or live.core.restarts > step.run)]
    for step in found:
        step.finish(cluster.now, int(signal.SIGKILL))
        step.supposed = True
    return sorted({step.run for step in found})


def batch_over(live: LiveJob, now: int, run: int, status: int) -> None:
    """End the step of the script of that run."""
    for step in live.steps:
        if step.number == BATCH and step.run == run:
            step.finish(now, status)


def cancel(cluster: LiveCluster, jobs: Sequence[LiveJob], number: int, asked: int | None, by: int) -> bool:
    """Cancel one step: end it, or signal its tasks; return True if there is such a step."""
    found = False
    for live in jobs:
        for step in live.running_steps:
            if step.number != number or not step.asked:
                continue
            found = True
            if step.waits:  # any signal is its end
                step.finish(cluster.now, NO_STATUS)
                async_steps.note_drained(live)
                cluster.changed(live)
            elif asked in (None, signal.SIGKILL):
                step.cancelled_by = by
                post(cluster, live, {"kind": "end", "step": number, "why": "CANCELLED"})
            else:
                post(cluster, live, {"kind": "signal", "step": number, "signal": int(asked)})
    return found


def send(cluster: LiveCluster, live: LiveJob, number: int) -> None:
    """Pass a signal on to the tasks of all steps that are srun's."""
    if any(step.asked for step in live.running_steps):
        post(cluster, live, {"kind": "signal", "step": None, "signal": number})


def post(cluster: LiveCluster, live: LiveJob, message: dict[str, Any]) -> None:
    """Leave a message for the sruns that look after tasks of this job."""
    live.mail.append(message)
    cluster.changed(live)


def layout(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Nodes and tasks of one running step. Raises Refusal."""
    live = one(cluster, arguments["job_id"])
    if not sees_job(cluster, person, live):
        raise Refusal(DENIED, ACCESS_DENIED)
    if live.over:
        raise Refusal(ALREADY_DONE, 2021)
    for step in live.running_steps:
        if step.number == int(arguments["step_id"]):
            names = cluster.controller.state.table.names
            return {
                "nodes": [names[i] for i in step.nodes], "node_list": step.node_list(names),
                "task_ids": _task_ids(cluster, live, step),
            }  # fmt: skip
    raise Refusal(INVALID_JOB, 2017)


# -- looking --------------------------------------------------------------------------------------------------------


def _tres(cluster: LiveCluster, step: Step) -> str | None:
    if not step.asked or step.waits:
        return None
    more = step.asked.get("tres") or {}
    return format_tres({"cpu": sum(step.cpus), "mem": sum(step.memory), "node": len(step.nodes), **more})


def _run_time(cluster: LiveCluster, live: LiveJob, step: Step) -> int:
    if step.waits:
        return 0
    since = cluster.now if step.end is None else step.end
    return max(since - step.start, 0)


Pair = tuple[LiveJob, Step]


def _asked(name: str, default: Any = None) -> Callable[[LiveCluster, LiveJob, Step], Any]:
    return lambda cluster, live, step: step.asked.get(name, default)


def _per_task(cluster: LiveCluster, live: LiveJob, step: Step) -> str | None:
    """TresPerTask: the job's, if the step asked for no GRES of its own; none of a step that srun did not make."""
    if not step.asked:
        return None
    own = step.asked.get("tres_per_task")
    if not since(cluster.release, "gres_with_slash") or any("gres" in str(step.asked.get(name)) for name in _OF_STEP):
        return own
    asked = live.asked
    return told_per_task(asked.get("tres_per_task"), cluster.release, asked.get("cpus_per_task")) or own


_OF_STEP = ("tres_per_task", "tres_per_node", "tres_per_socket", "gpus")


def _time_limit(cluster: LiveCluster, live: LiveJob, step: Step) -> int | None:
    limit = step.asked.get("time_limit")
    return None if not limit or int(limit) >= UNLIMITED else int(limit)


FIELDS: dict[str, Callable[[LiveCluster, LiveJob, Step], Any]] = {
    "cluster": lambda c, j, s: c.spec.name,
    "job_id": lambda c, j, s: j.id,
    "step_id": lambda c, j, s: s.number,
    "step_het_comp": lambda c, j, s: s.het_comp,
    "array_job_id": lambda c, j, s: j.array.id if j.array is not None else 0,
    "array_task_id": lambda c, j, s: j.task,
    "name": lambda c, j, s: s.name,
    "user_id": lambda c, j, s: j.person.uid,
    "user_name": lambda c, j, s: j.person.name,
    "sluid": lambda c, j, s: sluid.text(c.storage.first(j).db_index),
    "partition": lambda c, j, s: j.core.partition.name,
    "nodes": lambda c, j, s: s.node_list(c.controller.state.table.names),
    "num_nodes": lambda c, j, s: len(s.nodes),
    "num_tasks": lambda c, j, s: sum(s.tasks),
    "num_cpus": lambda c, j, s: sum(s.cpus),
    "state": lambda c, j, s: JobState.RUNNING if s.end is None and not s.waits else str(s.state),
    "start_time": lambda c, j, s: None if s.waits else s.start,
    "run_time": _run_time,
    "time_limit": _time_limit,
    "container": lambda c, j, s: None,
    "network": _asked("network"),
    "std_in": _asked("std_in"),
    "std_err": _asked("std_err"),
    "std_out": _asked("std_out"),
    "cwd": _asked("cwd"),
    "first_node": lambda c, j, s: c.controller.state.table.names[s.nodes[0]] if s.nodes else None,
    "resv_ports": lambda c, j, s: step_ports.shown(s.asked.get("ports") or ()),
    "task_dist": lambda c, j, s: "Unknown" if s.waits else s.asked.get("task_dist") if s.asked else None,
    "tres_alloc_str": lambda c, j, s: _tres(c, s),
    "srun_host": _asked("srun_host"),
    "srun_pid": _asked("srun_pid", 0),
    "submit_line": _asked("submit_line"),
    "tres_per_step": _asked("tres_per_step"),
    "tres_per_node": _asked("tres_per_node"),
    "tres_per_task": _per_task,
    "tres_per_socket": _asked("tres_per_socket"),
    "cpus_per_tres": _asked("cpus_per_tres"),
    "mem_per_tres": _asked("mem_per_tres"),
    "tres_bind": _asked("tres_bind"),
    "tres_freq": _asked("tres_freq"),
    "cpu_freq_min": _asked("cpu_freq_min"),
    "cpu_freq_max": _asked("cpu_freq_max"),
    "cpu_freq_gov": _asked("cpu_freq_gov"),
}
"""Field of job_step_info_t -> its value."""


def listed(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """Columns of the asked fields of all running steps, also of jobs that take time to end.

    With ``job_id`` (and ``step_id``) those of one job.

    Raises Refusal for an unknown job.
    """
    jobs: Sequence[LiveJob] = list(cluster.jobs.values())
    if arguments.get("job_id") is not None:
        jobs = cluster.job_table.find(str(arguments["job_id"]))
        if not jobs:
            raise Refusal(INVALID_JOB, 2017)
    sees = job_filter(cluster, person)
    jobs = sorted(jobs, key=lambda live: live.order)
    if sees is not None:
        jobs = [live for live in jobs if sees(live.person.uid, live.core.account)]
    pairs = [(live, step) for live in jobs for step in live.running_steps]
    if arguments.get("step_id") is not None:
        pairs = [(live, step) for live, step in pairs if step.number == int(arguments["step_id"])]
    columns = {}
    for name in arguments["fields"]:
        get = FIELDS.get(name)
        columns[name] = [None if get is None else get(cluster, live, step) for live, step in pairs]
    answer = {"now": cluster.now, "n": len(pairs), "columns": columns}
    if any(not may_measure(cluster, person, live) for live, _ in pairs):
        answer["measuring_denied"] = True
    return answer
