"""``sacct --json`` of Slurm 24.11 and 26.05: data_parser v0.0.42 and v0.0.45, key by key as recorded."""

from __future__ import annotations

import os

from slurmsim.commands.json import frame as dump_frame
from slurmsim.commands.json import openapi_sacct
from slurmsim.commands.json.frame import number
from slurmsim.commands.json.openapi_sacct import NO_STATUS
from slurmsim.commands.json.versions import chosen, served
from slurmsim.commands.sacct.fields import expanded
from slurmsim.commands.text import array_text
from slurmsim.commands.text.values import NO_VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.sacct.words import Asked

    Record = dict[str, Any]
_SIGNALS = ("", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
            "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP")  # fmt: skip


def dump_jobs(jobs: list[Record], asked: Asked, argv: list[str], io: Io) -> int:
    """Print them; the exit code."""
    version = chosen("sacct", asked.parser, asked.release, io)
    as_given = served(asked.release)[0] >= 45  # of files the names a script gave are stored
    entries = [_job(job, version, as_given=as_given) for job in jobs]
    cluster = jobs[0]["cluster"] if jobs else str(io.client.call("accounting_enabled").get("cluster", ""))
    dump_frame.write(io, asked.dump, asked.release, {"jobs": entries}, ["sacct", *argv], cluster,
                     version=version)  # fmt: skip
    return 0


def exit_code(status: int) -> Record:
    """Return a wait status."""
    if status == NO_STATUS:
        return {"status": ["PENDING"], "return_code": number(None), "signal": {"id": number(None), "name": ""}}
    signal, code = status & 0x7F, status >> 8 & 0xFF
    state = "SIGNALED" if signal else "ERROR" if code else "SUCCESS"
    return {
        "status": [state], "return_code": number(None if signal else code),
        "signal": {"id": number(signal or None), "name": _SIGNALS[signal] if signal < len(_SIGNALS) else ""},
    }  # fmt: skip


def _none() -> Record:
    return {"seconds": 0, "microseconds": 0}


def _limit(minutes: int | None) -> Record:
    if minutes is None:
        return number(None, infinite=True)
    return number(minutes if minutes >= 0 else None)


def _streams(job: Record, *, as_given: bool) -> Record:
    """Files of the three streams, as patterns and as they are."""
    folder = job["work_dir"] or ""
    default = "slurm-%A_%a.out" if job["array_job_id"] else "slurm-%j.out"
    script = job["std_out"] is not None or job["batch"]
    out = job["std_out"] or (default if script else "")
    nothing = "/dev/null" if script and job["submit_line"] else ""  # sbatch says so, requests over HTTP do not
    shown = {"stdin": job["std_in"] or nothing, "stdout": out, "stderr": job["std_err"] or ""}
    full = {key: os.path.join(folder, path) if path else "" for key, path in shown.items()}
    found = {f"{key}_expanded": expanded(path, job) for key, path in full.items()}
    told = {key: path if as_given and path == default else full[key] for key, path in shown.items()}
    return {**found, **{key: told[key] for key in ("stdout", "stderr", "stdin")}}


def _mask(tasks: str | None) -> str:
    """Tasks that wait as one record, as slurmdbd keeps them: a bit each."""
    return f"0x{sum(1 << task for task in array_text.tasks_of(tasks)):X}" if tasks else ""


def _planned(job: Record) -> Record:
    if not job["eligible"]:
        return number(0)
    until = job["start"] or job["end"] or job["now"]
    return number(max(0, until - job["eligible"]))


def _job(job: Record, version: int, *, as_given: bool) -> Record:
    task = job["array_task_id"]
    most = job["array_max_tasks"] if job["array_task_str"] else 0  # a task has none
    found: Record = {
        "account": job["account"],
        "comment": {
            "administrator": job["admin_comment"] or "", "job": job["stored_comment"] or "",
            "system": job.get("system_comment") or "",
        },
        "allocation_nodes": job["alloc_nodes"],
        "array": {
            "job_id": job["array_job_id"], "limits": {"max": {"running": {"tasks": most}}},
            "task_id": number(task), "task": _mask(job["array_task_str"]),
        },
        "association": _association(job, version), "block": "", "cluster": job["cluster"],
        "constraints": job["constraints"] or "", "container": job["container"] or "",
    }  # fmt: skip
    if version >= 45:
        found["sluid"] = job["sluid"]
    found |= {"derived_exit_code": exit_code(job["derived_ec"]), "time": _job_times(job)}
    if version >= 45:
        found["exclusive"] = job["exclusive"]
    found |= {
        "exit_code": exit_code(job["exit_code"]), "extra": job["extra"] or "", "failed_node": job["failed_node"],
        "flags": openapi_sacct.flags(job), "group": job["group"],
        "het": {"job_id": 0, "job_offset": number(None)}, "job_id": job["job_id"], "name": job["name"],
        "licenses": job["licenses"] or "", "mcs": {"label": ""}, "nodes": job["nodes"],
    }  # fmt: skip
    if version >= 45:
        found["oversubscribe"] = job["oversubscribe"]
    found |= {
        "partition": job["partition"], "hold": job["priority"] == 0, "priority": number(job["priority"]),
        "qos": job["qos"], "qosreq": job["qos_req"] or "",
        "required": {
            "CPUs": job["req_cpus"], "memory_per_cpu": number(job["mem_cpu"] or None),
            "memory_per_node": number(None if job["mem_cpu"] else job["mem_node"]),
        },
        "kill_request_user": job["killed_by_name"] or "", "restart_cnt": job["restarts"],
        "reservation": {
            "id": job["resv_id"], "name": job["resv_name"] or "", **({"requested": ""} if version >= 43 else {})
        },
        "script": "",
    }  # fmt: skip
    if version >= 43:
        found["segment_size"] = int(job.get("segment_size") or 0)
    if version >= 45:
        found["original_sluid"] = job["original_sluid"]
    return found | _streams(job, as_given=as_given) | {
        "state": {"current": _states(job["state"]), "reason": job["reason"]},
        "steps": [_step(job, step, version) for step in job["steps"]], "submit_line": job["submit_line"] or "",
        "tres": {
            "allocated": openapi_sacct.tres_list(openapi_sacct.with_energy(job, -2), ""),
            "requested": openapi_sacct.tres_list(job["tres_req"], ""),
        },
        "used_gres": "", "user": job["user"], "wckey": {"wckey": job["wckey"] or "", "flags": []},
        "working_directory": job["work_dir"] or "",
    }  # fmt: skip


def _association(job: Record, version: int) -> Record:
    return {
        "account": "" if version >= 45 else job["account"], "cluster": job["cluster"], "partition": "",
        "user": "" if version >= 45 else job["user"], "id": job["assoc_id"],
    }  # fmt: skip


def _states(state: str) -> list[str]:
    """Return a state and its flags: a run that ended in a requeue is one of a job that waits."""
    return ["PENDING", state] if state == "REQUEUED" else [state]


def _job_times(job: Record) -> Record:
    return {
        "elapsed": job["elapsed"], "eligible": job["eligible"] or 0, "end": job["end"], "planned": _planned(job),
        "start": NO_VALUE if job["start"] is None else job["start"], "submission": job["submit"],
        "suspended": job["suspended"], "system": _none(),
        "limit": _limit(job["time_limit"]), "total": _none(), "user": _none(),
    }  # fmt: skip


def _step(job: Record, step: Record, version: int) -> Record:
    named = step["step_id"] < 0
    times = {
        "elapsed": step["elapsed"], "end": number(step["end"]), "start": number(step["start"]),
        "suspended": step["suspended"], "system": _none(),
    }  # fmt: skip
    if version >= 43:
        times["limit"] = _limit(step["time_limit"])
    frequency = number(0 if named else None)
    found: Record = {
        "time": times | {"total": _none(), "user": _none()}, "exit_code": exit_code(step["exit_code"]),
        "nodes": {"count": step["n_nodes"], "range": step["nodes"], "list": step["node_names"]},
        "tasks": {"count": step["n_tasks"]},
    }  # fmt: skip
    if version < 45:
        found["pid"] = ""
    identity = {"id": f"{job['job_id']}.{step['shown_id']}", "name": step["name"]}
    if version >= 43:
        out, error, into = (step[key] or "" for key in ("std_out", "std_err", "std_in"))
        identity |= {
            "stderr": error, "stdin": into, "stdout": out, "stderr_expanded": error, "stdin_expanded": into,
            "stdout_expanded": out,
        }  # fmt: skip
    found |= {
        "CPU": {
            "requested_frequency": {"min": frequency, "max": dict(frequency)}, "governor": "0" if named else "Unknown",
        },
        "kill_request_user": step["killed_by_name"] or "", "state": [step["state"]],
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": number(0)}}, "step": identity,
    }  # fmt: skip
    if version >= 45:
        found["submit_line"] = step["submit_line"] or ""
    return found | {
        "task": {"distribution": step["layout"]},
        "tres": {
            "requested": {"max": [], "min": [], "average": [], "total": []},
            "consumed": {"max": [], "min": [], "average": [], "total": []},
            "allocated": openapi_sacct.tres_list(step["tres"], ""),
        },
    }  # fmt: skip
