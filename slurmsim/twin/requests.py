"""A job of a dump as the request that made it, in the fields of a submission."""

from __future__ import annotations

import re
from typing import Any

from slurmsim.slurmctld.base.submit_request import INFINITE
from slurmsim.states import JobState
from slurmsim.twin.jobs import NO_LIMIT, SeenJob

_SHOWN = ("command", "work_dir", "comment", "admin_comment", "submit_line", "extra", "wckey", "std_in")
_ASKED_PER_GPU = re.compile(r"gres[:/]gpu:(\d{1,9})", re.ASCII)  # without "gres" it is the partition's default
_NO_TASK = "4294967294"  # what 22.05 writes for %a of tasks that are not split off


def request_of(job: SeenJob, run_s: int, exit_code: int = 0) -> dict[str, Any]:
    """Return what `job` asks for; once it runs, it does so for `run_s` seconds."""
    asked: dict[str, Any] = {
        "name": job.name, "partition": job.partition or None, "account": job.account or None, "qos": job.qos or None,
        "time_limit": _limit(job), "work_dir": job.texts.get("work_dir", "/"), "nice": job.nice or None,
        "requeue": int(job.requeue), "licenses": job.licenses or None, "reservation": job.reservation or None,
        "features": job.features or None, "req_nodes": job.wanted_nodes or None,
        "exc_nodes": job.unwanted_nodes or None, "contiguous": job.contiguous or None, "deadline": job.deadline,
        "time_min": job.time_min_min or None, "pn_min_tmp_disk": job.tmp_disk_mib or None,
        "hold": (job.priority == 0 and not job.restarts) or None,
        "script": f"#!/bin/sh\n#SLURMSIM runtime={run_s} exit={exit_code}\n",
    }  # fmt: skip
    asked |= _sizes(job) | _memory(job) | _gres(job)
    asked |= {name: job.texts[name] for name in _SHOWN if name in job.texts}
    asked["shared"] = job.shared or None
    asked["req_switch"], asked["wait4switch"] = job.switches or (None, None)
    asked["kill_on_invalid_dep"] = job.kills_invalid
    asked |= _outputs(job)
    return {name: value for name, value in asked.items() if value is not None}


def _outputs(job: SeenJob) -> dict[str, str]:
    """Return the files of output that were asked for; those that are so by themselves are told like them."""
    home = f"{job.texts.get('work_dir', '/').rstrip('/')}/"
    usual = f"{home}slurm-{job.id if job.array_id is None else '%A_%a'}.out"
    out, errors = (_pattern(job, job.texts.get(name, ""), home) for name in ("std_out", "std_err"))
    found = {"std_out": out} if out not in ("", usual) else {}
    return found | ({"std_err": errors} if errors not in ("", usual, out) else {})


def _pattern(job: SeenJob, told: str, home: str) -> str:
    """Return the name of a file as it may have been asked for: all tasks of an array have it, each with its numbers.

    >>> from types import SimpleNamespace
    >>> _pattern(SimpleNamespace(array_id=10, tasks="3"), "/home/a/10_3.out", "/home/a/")
    '/home/a/%A_%a.out'
    """
    if job.array_id is None:
        return told
    numbers = {str(job.array_id): "%A", job.tasks: "%a", _NO_TASK: "%a"}
    kept = home if told.startswith(home) else ""
    return kept + re.sub(r"\d+", lambda found: numbers.get(found[0], found[0]), told.removeprefix(kept))


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
    if job.n_tasks and (job.n_tasks > 1 or nodes > 1 or job.tasks_per_node or job.max_nodes is not None):
        found["num_tasks"] = job.n_tasks  # one is what a job has that asked for none
    if job.cpus_per_task is not None and (job.cpus_per_task > 1 or _says_cpus(job)) and not _brought_by_gpus(job):
        found |= {"cpus_per_task": job.cpus_per_task}
    if job.threads_per_core:
        found["threads_per_core"] = job.threads_per_core
    if job.tasks_per_node:
        found["ntasks_per_node"] = job.tasks_per_node
    if job.cpus_per_node > 1:
        found["pn_min_cpus"] = job.cpus_per_node
    return found


def _says_cpus(job: SeenJob) -> bool:
    return "cpu=" in job.gres.get("tres_per_task", "")


def _brought_by_gpus(job: SeenJob) -> bool:
    """Return True if a task has its CPUs by its GPUs, and none were asked for."""
    per_gpu = re.search(r"gpu:(\d{1,9})\Z", job.gres.get("cpus_per_tres", ""), re.ASCII)
    per_task = re.search(r"gpu\S{0,64}?[:=](\d{1,9})\Z", job.gres.get("tres_per_task", ""), re.ASCII)
    if per_gpu is None or per_task is None or _says_cpus(job):
        return False
    return int(per_gpu[1]) * int(per_task[1]) == job.cpus_per_task


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
    for ours, theirs in (("cpus_per_gpu", "cpus_per_tres"), ("mem_per_gpu", "mem_per_tres")):
        asked = _ASKED_PER_GPU.fullmatch(job.gres.get(theirs, ""))
        if asked:
            found[ours] = int(asked[1])
    return found
