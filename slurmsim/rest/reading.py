"""GET below ``/slurm``: what the controller has."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from slurmsim.commands.json import documents, frame, versions
from slurmsim.commands.json.versions import number, rows_of_job
from slurmsim.commands.text.array_text import tasks_of
from slurmsim.protocol import INVALID_JOB, Refusal, Unreachable
from slurmsim.release_changes import since
from slurmsim.rest.commands import found_by
from slurmsim.rest.messages import BAD_QUERY, Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

_JOB_ID = re.compile(r"([0-9]{1,10})(?:[_+]([0-9]{1,10}))?")


def _unless_old(
    call: Call, entries: dict[str, Any], source: str, warnings: list[dict[str, str]] | None = None
) -> Found:
    """304 where nothing is newer than what who asks has already; a change in the same second may be (proc_req.c)."""
    seen = call.number_in_query("update_time", source)
    if seen is not None and entries["last_update"]["number"] <= seen - 1:
        return Found({}, status=304)
    return Found(entries, warnings=warnings or [])


def ping(call: Call) -> Found:
    """Return the controller, and how long its answer took."""
    begin = time.monotonic()
    hello: dict[str, Any] | None = None
    if call.person.valid:
        try:
            hello = call.client.call("ping")
        except Unreachable:
            hello = None
    latency = int((time.monotonic() - begin) * 1e6)
    problem = "Protocol authentication error" if not call.person.valid else ""
    return Found(documents.ping(hello, call.version, latency, call.host, problem))


def diag(call: Call) -> Found:
    return found_by(call, ["sdiag"])


def shares(call: Call) -> Found:
    words = ["sshare", "-a"]
    for name, option in (("accounts", "-A"), ("users", "-u")):
        if call.query.get(name):
            words += [option, call.query[name]]
    return found_by(call, words)


def licenses(call: Call) -> Found:
    found = documents.licenses(call.client, call.version)
    none = [{"description": "Zero licenses to dump", "source": ""}]
    return Found(found, warnings=[] if found["licenses"] else none)


def jobs(call: Call) -> Found:
    return _unless_old(call, documents.jobs(call.client, call.version, show_all=True), "_handle_jobs_get")


def job(call: Call) -> Found:
    """One job: by its id, of an array all of it or one task."""
    wanted = _JOB_ID.fullmatch(call.parts["job_id"])
    if wanted is None:
        raise call.rejected_parameters("op_handler_job")
    try:
        found = documents.jobs(call.client, call.version, show_all=True, job_id=wanted[1])
    except Refusal:
        found = {"jobs": []}
    found["jobs"] = rows_of_job(found["jobs"], wanted[2] or "")
    if not found["jobs"]:
        empty = {"jobs": [], "last_backfill": number(0), "last_update": number(0)}
        raise Rejected(
            f"Unable to query JobId={call.parts['job_id']}", 2017, INVALID_JOB, "_handle_job_get", 404, empty
        )
    return Found(found)


def job_states(call: Call) -> Found:
    """Id and state of each job, an array's waiting tasks one by one."""
    fields = ["job_id", "array_job_id", "array_task_id", "array_task_str", "job_state", "state_flags"]
    rows = versions.rows(call.client.call("jobs", fields=fields, show_all=True), fields)
    wanted = set((call.query.get("job_id") or "").split(",")) - {""}
    found = []
    for row in rows:
        tasks = sorted(tasks_of(row["array_task_str"])) if row["array_task_str"] else [row["array_task_id"]]
        for task in tasks:
            name = f"{row['job_id']}" + ("" if task is None else f"_{task}")
            mine = {name, str(row["job_id"]), str(row["array_job_id"]), f"{row['array_job_id']}_{task}"}
            if not wanted or wanted & mine:
                found.append({"job_id": name, "state": [row["job_state"], *row["state_flags"]]})
    return Found({"jobs": found})


def nodes(call: Call) -> Found:
    return _unless_old(call, documents.nodes(call.client, call.version, show_all=True), "_dump_nodes")


def node(call: Call) -> Found:
    """One node; of one there is not only that it is not there is said, without a status of its own."""
    name = call.parts["node_name"]
    found = documents.nodes(call.client, call.version, [name], show_all=True)
    if not found["nodes"]:
        error = {"description": f"Failure to query node {name}", "error_number": 0, "error": "No error",
                 "source": "_dump_nodes"}  # fmt: skip
        return Found({}, [error])
    return Found(found)


def partitions(call: Call) -> Found:
    found = documents.partitions(call.client, call.version, show_all=False)
    return _unless_old(call, found, "op_handler_partitions", frame.no_tres(call.client.call("hello")))


def partition(call: Call) -> Found:
    name = call.parts["partition_name"]
    found = documents.partitions(call.client, call.version, name, show_all=True)
    if found["partitions"]:
        return _unless_old(call, found, "op_handler_partition", frame.no_tres(call.client.call("hello")))
    text = f"Unable to find partition {name}"
    if since(call.release, "unknown_partition_is_a_warning"):
        return Found({}, warnings=[{"description": text, "source": "_partition_get"}])
    raise Rejected(text, *BAD_QUERY, "op_handler_partition", 422)


def reservations(call: Call) -> Found:
    return _unless_old(call, documents.reservations(call.client, call.version), "op_handler_reservations")


def reservation(call: Call) -> Found:
    name = call.parts["reservation_name"]
    found = documents.reservations(call.client, call.version, name)
    if not found["reservations"]:
        error = {"description": "Unable to query reservations", "error_number": 0, "error": "No error",
                 "source": "slurm_load_reservations()"}  # fmt: skip
        return Found({}, [error])
    return _unless_old(call, found, "op_handler_reservation")


def resources(call: Call) -> Found:
    """Return what a job has on each of its nodes."""
    wanted = _JOB_ID.fullmatch(call.parts["job_id"])
    if wanted is None:
        raise call.rejected_parameters("op_handler_resources")
    answer = call.client.call("jobs", fields=["resources"], show_all=True, job_id=wanted[1])
    found = []
    for name, _, mem, _, _, cpus, sockets, cores, threads in (answer["columns"]["resources"] or [None])[0] or ():
        mask = 0
        for part in filter(None, cpus.split(",")):
            low, _, high = part.partition("-")
            for cpu in range(int(low), int(high or low) + 1):
                mask |= 1 << cpu // threads
        digits = max(2, -(-sockets * cores // 4))
        found.append({
            "node": name, "sockets_per_node": sockets, "cores_per_socket": cores, "mem_alloc": mem,
            "core_bitmap": f"0x{mask:0{digits}X}", "channel": number(None), "gres": [],
        })  # fmt: skip
    return Found({"nodes": found})


def conf(call: Call) -> Found:
    """Return slurm.conf; nothing, and a warning, to a request that knows it as of now.

    A cluster may have got other files since it began, so no earlier time tells that nothing has changed.
    """
    source = "_op_handler_conf"
    seen = call.number_in_query("update_time", source)
    if seen is not None and call.client.call("hello")["now"] <= seen - 1:
        return Found({}, warnings=[{"description": "The configuration has not changed since then.", "source": source}])
    return found_by(call, ["scontrol", "show", "config"], source)
