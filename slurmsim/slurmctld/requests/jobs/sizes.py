"""What an update of a job makes of numbers of nodes, CPUs and tasks (see `jobs.update`)."""

from slurmsim.core.queue.likely_nodes import FORGOTTEN
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import Row
from slurmsim.slurmctld.fields.gpu_fields import pn_min_cpus
from slurmsim.slurmctld.fields.job_details import node_count, untried
from slurmsim.slurmctld.fields.job_fields import tres_asked
from slurmsim.slurmctld.requests.jobs.change import ALL_NODES, BAD_NODE_COUNT, Update

_COUNTED = frozenset({
    "min_nodes", "max_nodes", "min_cpus", "max_cpus", "pn_min_cpus", "num_tasks", "cpus_per_task", "pn_min_memory",
    "shared", "ntasks_per_node",
})  # fmt: skip


def counts(u: Update) -> None:
    """Adapt numbers of nodes, CPUs and tasks to each other after an update; what is not named stays as it is."""
    if not u.pending or _COUNTED.isdisjoint(u.asked):
        return
    core, request = u.core, u.core.request
    asked = core.sub.request
    before = tres_asked(u.live, u.cluster)
    tres = dict(before)
    memory = u.get("pn_min_memory")
    per_cpu = bool(u.get("mem_per_cpu"))
    nodes, least = u.get("min_nodes"), u.get("pn_min_cpus")
    _tasks_reach_cpus(u)
    if nodes is not None and nodes != ALL_NODES:
        tasks = u.get("num_tasks") or asked.n_tasks
        if tasks and tasks < nodes:
            u.asked["num_tasks"] = nodes
        cpus = max(tasks, nodes) * (u.get("cpus_per_task") or asked.cpus_per_task)
        cpus = max(cpus, nodes * (least or max(int(u.present("pn_min_cpus") or 1), request.memory.least_cpus)))
        if cpus > (u.get("min_cpus") or before["cpu"]):
            u.asked["min_cpus"] = cpus
            # with more CPUs memory for each comes to more, so slurmctld takes it for asked anew
            if memory is None:
                memory, per_cpu = request.told_mem_cpu or request.mem_node, bool(request.told_mem_cpu)
        tres["node"] = nodes
    if u.get("min_cpus") is None and least:
        u.asked["min_cpus"] = least * (core.n_nodes if nodes is None else nodes)
    if u.get("min_cpus") is not None:
        tres["cpu"] = int(u.get("min_cpus"))
    if memory:
        tres["mem"] = memory * tres["cpu" if per_cpu else "node"]
    if tres != before:
        del tres["billing"]  # counted anew
    elif "billing" not in (u.live.asked.get("tres_settled") or {}):
        del tres["billing"], before["billing"]
    u.new |= {"min_cpus": asked.min_cpus, "cpus_settled": True, "tres_settled": tres}
    u.tres_changed, u.tres_before = tres != before, before


def _tasks_reach_cpus(u: Update) -> None:
    """Ask for as many CPUs as there are tasks now, whatever a task has."""
    if u.get("min_cpus") is None and u.get("num_tasks") and since(u.cluster.release, "updated_tasks_reach_cpus"):
        u.asked["min_cpus"] = u.get("num_tasks")


def sizes(u: Update) -> None:
    """Note the numbers asked for.

    What was found for the job before goes on to be shown, unless its TRES change.
    """
    core = u.core
    if u.pending and not core.likely_nodes and not _COUNTED.isdisjoint(u.asked) and not untried(Row(u.live), u.cluster):
        core.likely_nodes = node_count(Row(u.live), u.cluster)
    for name in ("min_cpus", "max_cpus", "pn_min_cpus", "cpus_per_task"):
        if u.get(name) is not None:
            u.need_pending()
    if u.get("min_cpus") is not None and int(u.get("min_cpus")) < 1:
        raise Refusal("CPU count specification invalid")
    if u.get("min_cpus") is not None:
        u.new["min_cpus"] = int(u.get("min_cpus"))
    most = u.get("max_cpus")
    if most and most < u.new.get("min_cpus", u.core.request.min_cpus):
        u.new.pop("min_cpus", None)
        raise Refusal("CPU count specification invalid")
    if u.get("cpus_per_task") is not None:  # TresPerTask goes on telling of what it came with
        u.new["cpus_per_task_before"] = u.live.asked.get("cpus_per_task_before", u.live.asked.get("cpus_per_task"))
    u.set("pn_min_cpus", "max_cpus", "cpus_per_task")
    if u.get("pn_min_cpus") or u.get("cpus_per_task") is not None:
        keep_cpus_a_node(u)
    _node_counts(u)
    if u.get("num_tasks") is not None:
        u.need_pending()
        reach = since(u.cluster.release, "updated_tasks_reach_nodes")
        least = int(u.new.get("min_nodes", u.core.request.min_nodes)) if reach else 1
        if int(u.get("num_tasks")) < max(least, 1):
            raise Refusal("Task count specification invalid")
        u.set("num_tasks")


def keep_cpus_a_node(u: Update) -> None:
    """Keep MinCPUsNode as asked for now, or as it was: an update does not work it out anew."""
    u.new["pn_min_cpus_settled"] = int(u.get("pn_min_cpus") or 0) or pn_min_cpus(Row(u.live), u.cluster)


def tasks_per_node(u: Update) -> None:
    """Other tasks a node leave the number of tasks as it is, and how many nodes were found for it.

    So they did the CPUs a node has to give; since 24.11 these are as many as its tasks at least.
    """
    u.set("ntasks_per_node")
    keep_cpus_a_node(u)
    if since(u.cluster.release, "tasks_raise_cpus_a_node"):
        u.new["pn_min_cpus_settled"] = max(u.new["pn_min_cpus_settled"], int(u.get("ntasks_per_node")))
    if u.pending and u.core.likely_nodes != FORGOTTEN:
        u.core.likely_nodes = node_count(Row(u.live), u.cluster)
    if u.get("num_tasks") is None:
        request = u.core.sub.request
        u.new["num_tasks"] = request.n_tasks or request.tasks


def _node_counts(u: Update) -> None:
    least, most = u.get("min_nodes"), u.get("max_nodes")
    if least is not None and not u.runs:
        u.need_pending()
        if least < 1:
            raise Refusal(BAD_NODE_COUNT)
    if most is not None:
        u.need_pending()
    if u.pending and (least is not None or most is not None):
        request = u.core.sub.request
        if most is None and since(u.cluster.release, "one_node_count"):
            most = least
        lower = request.min_nodes if least is None else least
        upper = request.max_nodes if most is None else most
        if upper and upper < lower:
            raise Refusal(BAD_NODE_COUNT)
        u.new["min_nodes"], u.new["max_nodes"] = lower, upper
