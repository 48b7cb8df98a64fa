"""What changes something that is there: updates, signals, deletions."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

from slurmsim.commands.json.versions import number
from slurmsim.protocol import DENIED, Refusal
from slurmsim.rest import job_description
from slurmsim.rest.controller_writing import NODE_REFUSED, NODE_TEXTS
from slurmsim.rest.messages import BAD_QUERY, NOT_MODELLED, Found, Rejected
from slurmsim.rest.submitting import description, fields, refused

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

_FULL = {"FULL_JOB": "full", "BATCH_JOB": "batch"}


def update_job(call: Call) -> Found:
    """POST job/{job_id}: change what the body names."""
    job_id = _job_id(call, "op_handler_job")
    job, warnings = description(call, call.body, "slurm_update_job2()")
    hold = job.pop("hold", None)
    failed = "Job update requested failed"
    try:
        if hold is not None:
            call.client.call("hold_job", job_id=job_id, kind="hold" if hold else "release")
        if job:
            call.client.call("update_job", job_id=job_id, job=job)
    except Refusal as refusal:
        raise refused(call, refusal, failed, "slurm_update_job2()", results=None) from None
    entries: dict[str, Any] = {"results": [] if call.version < 41 else None}
    if call.version < 42:
        entries |= {"job_id": "", "step_id": "", "job_submit_user_msg": ""}
    return Found(entries, warnings=warnings)


def _job_id(call: Call, source: str) -> str:
    text = call.parts["job_id"]
    if not re.fullmatch(r"[0-9]{1,10}(?:_(?:[0-9]{1,10}|\[[0-9,\-]{1,1000}\]))?", text):
        raise call.rejected_parameters(source)
    return text


def _signal(call: Call, told: Any, source: str) -> int:
    """Return a signal's number by name or number. Raises Rejected."""
    text = str(told).upper().removeprefix("SIG")
    if text.isdecimal() and len(text) < 4 and 0 < int(text) < 128:
        return int(text)
    try:
        return int(signal.Signals[f"SIG{text}"])
    except KeyError:
        raise call.rejected_parameters(source) from None


def _kill(call: Call, job_id: str, number_: int | None, flags: list[str]) -> dict[str, Any] | None:
    """Signal one job; what is told of it when that fails."""
    asked: dict[str, Any] = {"signal": number_} if number_ is not None else {}
    asked |= {_FULL[flag]: True for flag in flags if flag in _FULL}
    if number_ is not None and "batch" not in asked:
        asked["full"] = True  # unlike scancel's, a signal is for the script, too
    base = job_id.partition("_")[0]
    try:
        call.client.call("kill", job_id=job_id, **asked)
    except Refusal as refusal:
        text = refusal.text.rsplit("\n", 1)[-1]
        known = call.number_of(refusal) != 2017
        return {
            "error": {"string": text, "code": call.number_of(refusal), "message": text}, "step_id": job_id,
            "job_id": number(int(base) if known else None), "federation": {"sibling": ""},
        }  # fmt: skip
    return None


def _flags(call: Call, told: Any, source: str) -> list[str]:
    words = told if isinstance(told, list) else str(told or "").split(",")
    found = [str(word).upper() for word in words if word]
    known = {*_FULL, "NO_SIBLING_JOBS", "ARRAY_TASK", "FEDERATION_REQUEUE", "CRON_JOBS", "WARN_USER", "HURRY",
             "OUT_OF_MEMORY", "VERBOSE", "STEPS_ONLY", "NO_STEPS"}  # fmt: skip
    if not set(found) <= known:
        raise call.rejected_parameters(source)
    refused = set(found) - _FULL.keys() - {"NO_SIBLING_JOBS", "FEDERATION_REQUEUE", "ARRAY_TASK"}
    if refused:
        raise Rejected(f"flags {', '.join(sorted(refused))}: not modelled by slurmsim", *NOT_MODELLED, source)
    return found


def kill_job(call: Call) -> Found:
    """DELETE job/{job_id}."""
    job_id = _job_id(call, "op_handler_job")
    told = call.query.get("signal")
    number_ = None if told is None else _signal(call, told, "op_handler_job")
    problem = _kill(call, job_id, number_, _flags(call, call.query.get("flags"), "op_handler_job"))
    if call.version < 42:  # it tells nothing of it
        return Found({})
    return Found({"status": [] if problem is None else [problem]})


_KILL_FIELDS = frozenset(
    ("account", "flags", "job_name", "jobs", "partition", "qos", "reservation", "signal", "job_state", "user_id",
     "user_name", "nodes", "wckey")
)  # fmt: skip


def kill_jobs(call: Call) -> Found:
    """DELETE jobs: those named, or all that all of the filters fit."""
    source = "op_handler_jobs"
    body = fields(call, call.body if call.body is not None else {}, source)
    unknown = sorted(set(body) - _KILL_FIELDS)
    told = body.get("signal")
    number_ = None if told in (None, "") else _signal(call, told, source)
    flags = _flags(call, body.get("flags"), source)
    ids = body.get("jobs") or []
    if not isinstance(ids, list) or not all(isinstance(one, (str, int)) for one in ids):
        raise call.rejected_parameters(source)
    wanted = [str(one) for one in ids]
    filters = {key: str(body[key]) for key in _FILTERS if body.get(key)}
    refused = [key for key in ("nodes", "user_id") if body.get(key)]
    if refused:
        raise Rejected(f"{', '.join(refused)}: not modelled by slurmsim", *NOT_MODELLED, source)
    if filters:
        wanted = _fitting(call, filters, wanted)
    problems = [one for job_id in wanted if (one := _kill(call, job_id, number_, flags)) is not None]
    warnings = [{"description": f'Ignoring unknown field "{name}"', "source": f"#/{name}/"} for name in unknown]
    return Found({"status": problems}, warnings=warnings)


_FILTERS = {"account": "account", "job_name": "name", "job_state": "job_state", "partition": "partition", "qos": "qos",
            "reservation": "resv_name", "user_name": "user_name", "wckey": "wckey"}  # fmt: skip


def _fitting(call: Call, filters: dict[str, str], among: list[str]) -> list[str]:
    fields = sorted({"job_id", "job_state", *(_FILTERS[key] for key in filters)})
    answer = call.client.call("jobs", fields=fields, show_all=True)
    columns = answer["columns"]
    found = []
    for k in range(answer["n"]):
        name = str(columns["job_id"][k])
        if columns["job_state"][k] not in ("PENDING", "RUNNING", "SUSPENDED") or (among and name not in among):
            continue
        if all(str(columns[_FILTERS[key]][k] or "").lower() == text.lower() for key, text in filters.items()):
            found.append(name)
    return found


def _asked(call: Call, failed: str, source: str, request: str, **arguments: Any) -> Found:
    """Ask the daemon, which tells nothing. Raises Rejected."""
    try:
        call.client.call(request, **arguments)
    except Refusal as refusal:
        raise refused(call, refusal, failed, source) from None
    return Found({})


def requeue(call: Call) -> Found:
    """GET job/{job_id}/requeue."""
    job_id = _job_id(call, "op_handler_job")
    return _asked(call, "Job requeue failed", "slurm_requeue()", "requeue_job", job_id=job_id)


def update_node(call: Call) -> Found:
    """POST node/{node_name}: state, reason, comment, features, weight."""
    source = "slurm_update_node()"
    body = fields(call, call.body, source)
    asked: dict[str, Any] = {}
    warnings = []
    for key, value in body.items():
        if value is None:
            continue
        if key == "name" or key in NODE_REFUSED:
            raise Rejected(f"{key}: not modelled by slurmsim", *NOT_MODELLED, source)
        try:
            if key == "state":
                words = value if isinstance(value, list) else [value]
                asked["state"] = "+".join(job_description.text(word) for word in words).upper()
            elif key == "weight":
                asked["weight"] = job_description.number(value)
            elif key in NODE_TEXTS:
                asked[key] = job_description.csv(value)
            else:
                text = f'Ignoring unknown field "{key}" in DATA_PARSER_UPDATE_NODE_MSG'
                warnings.append({"description": text, "source": f"#/{key}/"})
        except job_description.Wrong:
            raise Rejected(f'Unable to parse field "{key}"', *BAD_QUERY, source, 400) from None
    _asked(call, "Failure to update node", source, "update_node", names=call.parts["node_name"], **asked)
    return Found({}, warnings=warnings)


def delete_node(call: Call) -> Found:
    name = call.parts["node_name"]
    return _asked(call, "Failure to delete node", "slurm_delete_node()", "delete_node", target=name)


def delete_partition(call: Call) -> Found:
    name = call.parts["partition_name"]
    return _asked(call, "Failure to delete partition", "slurm_delete_partition()", "delete_partition", target=name)


def delete_reservation(call: Call) -> Found:
    """DELETE reservation/{reservation_name}."""
    name = call.parts["reservation_name"]
    failed = f"Error deleting reservation {name}"
    return _asked(call, failed, "slurm_delete_reservation", "delete_reservation", target=name)


def reconfigure(call: Call) -> Found:
    """GET reconfigure, which administrators may ask for."""
    if not call.client.call("hello")["operator"]:
        raise Rejected("slurm_reconfigure() failed", 2002, DENIED, "slurm_reconfigure()")
    return _asked(call, "slurm_reconfigure() failed", "slurm_reconfigure()", "reconfigure")
