"""``sacct --json`` and ``--yaml``: the jobs chosen, with everything slurmdbd keeps of them and of their steps.

Keys, order and oddities are those of the recordings: OpenAPI v0.0.38 here (22.05), the later data_parser documents in
`sacct`.
"""

from __future__ import annotations

import signal

from slurmsim.commands.json.data_text import as_json, as_yaml
from slurmsim.commands.json.openapi_job import frame
from slurmsim.commands.text import array_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.sacct.words import Asked

    Record = dict[str, Any]
NO_STATUS = 0xFFFFFFFE  # the wait status of a step with an unknown end
TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
GOVERNORS = ["Conservative", "Performance", "PowerSave", "OnDemand", "UserSpace"]
_FLAGS = {"SchedMain": "STARTED_ON_SCHEDULE", "SchedBackfill": "STARTED_ON_BACKFILL",
          "SchedSubmit": "STARTED_ON_SUBMIT", "StartRecieved": "START_RECEIVED"}  # fmt: skip
_NO_TIME = {"seconds": 0, "microseconds": 0}


def dump_jobs(jobs: list[Record], asked: Asked, io: Io) -> int:
    """Print them; the exit code."""
    document = frame(asked.release, "jobs", [_job(job) for job in jobs])
    document["meta"]["plugin"] = {"type": "openapi/dbv0.0.38", "name": "Slurm OpenAPI DB v0.0.38"}
    io.out(as_json(document) if asked.dump == "json" else as_yaml(document))
    return 0


def tres_list(counts: dict[str, int | None], none: Any) -> list[Record]:
    """TRES by their ids; `none` is the name of those without one."""
    found = []
    for name, count in counts.items():
        kind, _, label = name.partition("/") if name not in TRES else (name, "", "")
        number = TRES.index(name) + 1 if name in TRES else 1001
        found.append({"type": kind, "name": label or none, "id": number, "count": count})
    return sorted(found, key=lambda one: int(one["id"]))


def with_energy(job: Record, unknown: int | None) -> dict[str, int | None]:
    """Return the TRES a job has, with energy also where it was not measured."""
    counts: dict[str, int | None] = dict(job["tres_alloc"])
    return {**counts, "energy": counts.get("energy", unknown)} if counts else {}


def flags(job: Record) -> list[str]:
    """How it was started."""
    return [_FLAGS[flag] for flag in job["flags"] if flag in _FLAGS]


def _name(number: int) -> str:
    """Return what strsignal says of a signal, also of one that there is not: OUT_OF_MEMORY ends jobs with 125."""
    try:
        return signal.strsignal(number) or ""
    except ValueError:
        return f"Unknown signal {number}"


def _exit(status: int) -> Record:
    if status == NO_STATUS:
        return {"status": "PENDING", "return_code": None}
    number = status & 0x7F
    if number:
        return {"status": "SIGNALED", "return_code": None,
                "signal": {"signal_id": number, "name": _name(number)}}  # fmt: skip
    return {"status": "SUCCESS", "return_code": 0}


def _times(record: Record, more: Record | None = None) -> Record:
    return {"suspended": record["suspended"], "system": dict(_NO_TIME), **(more or {}), "total": dict(_NO_TIME),
            "user": dict(_NO_TIME)}  # fmt: skip


def _job(job: Record) -> Record:
    array = job["array_job_id"]
    limit = job["time_limit"]
    return {
        "account": job["account"],
        "comment": {
            "administrator": job["admin_comment"], "job": job["stored_comment"], "system": job.get("system_comment"),
        },
        "allocation_nodes": job["alloc_nodes"],
        "array": {
            "job_id": array,
            "limits": {"max": {"running": {"tasks": job["array_max_tasks"] if job["array_task_str"] else 0}}},
            "task": job["array_task_str"] and array_text.shown(job["array_task_str"], array_text.DEFAULT_LENGTH),
            "task_id": job["array_task_id"],
        },
        "association": {
            "account": job["account"], "cluster": job["cluster"], "partition": None, "user": job["user"],
        },
        "cluster": job["cluster"], "constraints": job["constraints"] or "", "container": None,
        "derived_exit_code": _exit(job["derived_ec"]),
        "time": {
            "elapsed": job["elapsed"], "eligible": job["eligible"], "end": job["end"], "start": job["start"] or 0,
            "submission": job["submit"],
            **_times(job, {"limit": None if limit is None or limit < 0 else limit}),
        },
        "exit_code": _exit(job["exit_code"]),
        "flags": ["CLEAR_SCHEDULING",
        *(flag for flag in flags(job) if flag != "START_RECEIVED")] if job["start"] else [],
        "group": job["group"], "het": {"job_id": 0, "job_offset": None}, "job_id": job["job_id"], "name": job["name"],
        "mcs": {"label": ""}, "nodes": job["nodes"], "partition": job["partition"], "priority": job["priority"],
        "qos": job["qos"],
        "required": {"CPUs": job["req_cpus"], "memory": job["mem_cpu"] or job["mem_node"] or 0},
        "kill_request_user": job["killed_by_name"],
        "reservation": {"id": job["resv_id"], "name": job["resv_name"] or 0},
        "state": {"current": job["state"], "reason": job["reason"]},
        "steps": [_step(job, step) for step in job["steps"]],
        "tres": {"allocated": tres_list(with_energy(job, None), None), "requested": tres_list(job["tres_req"], None)},
        "user": job["user"], "wckey": {"wckey": "", "flags": []}, "working_directory": job["work_dir"],
    }  # fmt: skip


def _step(job: Record, step: Record) -> Record:
    named = step["step_id"] < 0
    frequency = 0 if named else None
    return {
        "nodes": {"list": step["node_names"], "count": step["n_nodes"], "range": step["nodes"]},
        "tres": {
            "requested": {"max": [], "min": [], "average": [], "total": []},
            "consumed": {"max": [], "min": [], "average": [], "total": []},
            "allocated": tres_list(step["tres"], None),
        },
        "time": {
            "elapsed": step["elapsed"], "end": step["end"], "start": step["start"], **_times(step),
        },
        "exit_code": _exit(step["exit_code"]), "tasks": {"count": step["n_tasks"]}, "pid": None,
        "CPU": {
            "requested_frequency": {"min": frequency, "max": frequency}, "governor": [] if named else list(GOVERNORS),
        },
        "kill_request_user": step["killed_by_name"], "state": step["state"],
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": 0}},
        "step": {
            "job_id": job["job_id"], "het": {"component": None},
            "id": step["shown_id"] if named else step["step_id"], "name": step["name"],
        },
        "task": {"distribution": step["layout"]},
    }  # fmt: skip
