"""A job of a dump as the request that made it, in the fields of a submission."""

from __future__ import annotations

from typing import Any

from slurmsim.numerals import is_number
from slurmsim.slurmctld.base.submit_request import INFINITE
from slurmsim.states import JobState
from slurmsim.twin.jobs import NO_LIMIT, SeenJob

_SHOWN = ("command", "work_dir", "comment", "admin_comment", "submit_line", "extra", "wckey", "std_in")


def request_of(job: SeenJob, run_s: int, exit_code: int = 0) -> dict[str, Any]:
    """Return what `job` asks for; once it runs, it does so for `run_s` seconds."""
    asked: dict[str, Any] = {
        "name": job.name, "partition": job.partition or None, "account": job.account or None, "qos": job.qos or None,
        "time_limit": _limit(job), "work_dir": job.texts.get("work_dir", "/"), "nice": job.nice or None,
        "requeue": int(job.requeue), "licenses": job.licenses or None, "reservation": job.reservation or None,
        "features": job.features or None, "req_nodes": job.wanted_nodes or None,
        "exc_nodes": job.unwanted_nodes or None, "contiguous": job.contiguous or None, "deadline": job.deadline,
        "time_min": job.time_min_min or None, "pn_min_tmp_disk": job.tmp_disk_mib or None,
        "hold": job.priority == 0 or None,
        "script": f"#!/bin/sh\n#SLURMSIM runtime={run_s} exit={exit_code}\n",
    }  # fmt: skip
    asked |= _sizes(job) | _memory(job) | _gres(job)
    asked |= {name: job.texts[name] for name in _SHOWN if name in job.texts}
    asked["shared"] = job.shared or None
    for name in ("std_out", "std_err"):
        if job.texts.get(name) and job.texts[name] != _usual_output(job):
            asked[name] = job.texts[name]
    return {name: value for name, value in asked.items() if value is not None}


def _usual_output(job: SeenJob) -> str:
    """Return where a job's output goes by itself, which is told like a file that was asked for."""
    name = job.id if job.array_id is None else f"{job.array_id}_{job.tasks if is_number(job.tasks) else '%a'}"
    return f"{job.texts.get('work_dir', '/').rstrip('/')}/slurm-{name}.out"


def _limit(job: SeenJob) -> int | None:
    return INFINITE if job.limit_min == NO_LIMIT else job.limit_min


def _sizes(job: SeenJob) -> dict[str, Any]:
    """Nodes, tasks and CPUs; of a running job those that it asked for, as far as its TRES tell."""
    nodes = job.asked_tres.get("node", job.min_nodes)
    cpus = job.asked_tres.get("cpu") or _told_cpus(job)
    found: dict[str, Any] = {"min_cpus": cpus}
    of_tasks = job.max_nodes is not None and job.max_nodes == job.n_tasks != 1 and not job.tasks_per_node
    if (job.max_nodes is not None and not (of_tasks and job.min_nodes == 1)) or nodes > 1:
        found |= {"min_nodes": nodes, "max_nodes": max(nodes, job.max_nodes or nodes)}
    if job.n_tasks:
        found["num_tasks"] = job.n_tasks
    if job.cpus_per_task is not None and job.cpus_per_task > 1:
        found |= {"cpus_per_task": job.cpus_per_task}
    if job.tasks_per_node:
        found["ntasks_per_node"] = job.tasks_per_node
    if job.cpus_per_node > 1:
        found["pn_min_cpus"] = job.cpus_per_node
    return found


def _told_cpus(job: SeenJob) -> int:
    """Return the CPUs it asked for by its tasks, where it was given all of its nodes."""
    if job.shared == "exclusive" and job.n_tasks and job.state != JobState.PENDING:
        return job.n_tasks * (job.cpus_per_task or 1)
    return job.cpus


def plain_request(job: SeenJob, run_s: int, exit_code: int = 0) -> dict[str, Any]:
    """Return a request for as much as `job` has, without what made our rules refuse it; it has its nodes already."""
    asked = request_of(job, run_s, exit_code)
    kept = (
        "name",
        "partition",
        "account",
        "qos",
        "time_limit",
        "work_dir",
        "requeue",
        "script",
        "command",
        "submit_line",
    )
    found = {name: asked[name] for name in kept if name in asked}
    return {**found, "min_nodes": job.min_nodes, "max_nodes": job.min_nodes, "min_cpus": job.min_nodes}


def _memory(job: SeenJob) -> dict[str, Any]:
    if job.mem_per_cpu_mib is not None:
        return {"pn_min_memory": job.mem_per_cpu_mib, "mem_per_cpu": True} if job.mem_per_cpu_mib else {}
    if job.mem_per_node_mib:
        return {"pn_min_memory": job.mem_per_node_mib, "mem_per_cpu": False}
    return {}


def _gres(job: SeenJob) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: text for name, text in job.gres.items() if name.startswith("tres_per_") and "gres" in text
    }
    count = job.gres.get("cpus_per_tres", "").rpartition("gpu:")[2]
    if is_number(count):
        found["cpus_per_gpu"] = int(count)
    memory = job.gres.get("mem_per_tres", "").rpartition("gpu:")[2]
    if is_number(memory):
        found["mem_per_gpu"] = int(memory)
    return found
