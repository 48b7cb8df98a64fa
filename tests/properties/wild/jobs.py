"""The jobs of a wild world: rows of the workload schema (docs/workloads.md)."""

from __future__ import annotations

import random
from typing import Any

from wild.machine import QOS, SOLVING, UNITS_ONLY, USERS, Machine

GAPS = (0, 0, 0, 1, 1, 5, 20, 45, 120)
FLAGS = ("--spread-job", "--use-min-nodes", "--no-kill", "--exclusive=user", "--switches=1@60")
APPLICATIONS = ("LeanMD:parallelism=24:sigma=0.2", "Wave2D:parallelism=8:sigma=0", "LeanMD:parallelism=4:sigma=1")


def draw_jobs(draw: random.Random, machine: Machine, now: int, reservations: tuple[str, ...]) -> list[dict[str, Any]]:
    """Bursts of jobs and arrays in which nearly every column says something for some job."""
    most = 14 if machine.policy_name in SOLVING else draw.choice((8, 20, 40, 60))
    powered = machine.policy_name in ("parm", "equipartition") or draw.random() < 0.04
    found: list[dict[str, Any]] = []
    for number in range(most):
        now += draw.choice(GAPS) if number else 0
        job = _job(draw, machine, now, len(found))
        if powered:
            _application(draw, machine, job)
        if machine.policy_name in UNITS_ONLY:
            _as_units(job)
        if reservations and draw.random() < 0.15:
            job["reservation"] = draw.choice(reservations)
        tasks = draw.choice((2, 3, 5)) if draw.random() < 0.1 else 1
        first, limit = len(found) + 1, draw.choice((-1, 1, 2))
        for k in range(tasks):
            row = {"job_id": first + k, **job}
            if tasks > 1:
                row |= {"array_job_id": first, "array_task_id": k, "array_limit": limit}
                row["run_time"] = draw.choice((int(job["run_time"]), 30, 1))
            found.append(row)
    return found


def _as_units(job: dict[str, Any]) -> None:
    """Without what policies refuse that lay jobs out themselves."""
    for name in ("contiguous", "oversubscribe", "options", "nodes_max", "constraint", "node_list", "exclude"):
        job.pop(name, None)
    if "nodes" not in job:
        for name in ("gres", "gpus", "mem_per_node", "tasks_per_node"):
            job.pop(name, None)


def _job(draw: random.Random, machine: Machine, now: int, before: int) -> dict[str, Any]:
    user = draw.choice(tuple(USERS))
    limit = draw.choice((60, 60, 120, 300, 600, 600, 1200, 3600, -1))
    run = draw.choice((0, 1, 5, 30, 60, 300, 300, 1200, 3000))
    job: dict[str, Any] = {"submit": now, "run_time": run, "time_limit": limit, "user": user, "account": USERS[user],
                           "name": f"x{draw.randint(0, 4)}"}  # fmt: skip
    _size(draw, machine, job)
    _memory(draw, machine, job)
    if machine.gpus and draw.random() < 0.4:
        _gpus(draw, machine, job)
    if draw.random() < 0.5:
        parts = machine.partitions
        job["partition"] = ",".join(draw.sample(parts, len(parts))) if draw.random() < 0.2 else draw.choice(parts)
    if machine.accounted:
        job["qos"] = draw.choice(("", *QOS))
    _times(draw, job, now)
    _rare(draw, machine, job, before)
    return job


def _size(draw: random.Random, machine: Machine, job: dict[str, Any]) -> None:
    total, cpus = len(machine.nodes), machine.cpus
    kind = draw.choice(("nodes", "tasks", "tasks", "range", "both", "per node", "one"))
    low = draw.choice((1, 1, 1, 2, draw.randint(1, total)))
    low = min(low, total)
    if kind in ("nodes", "both", "per node"):
        job["nodes"] = low
    if kind == "range":
        job |= {"nodes": low, "nodes_max": draw.randint(low, total)}
    if kind in ("tasks", "one"):
        job["tasks"] = 1 if kind == "one" else draw.randint(1, max(1, cpus * draw.choice((1, 1, total))))
    if kind == "both":
        job["tasks"] = low * draw.randint(1, max(1, cpus))
    if kind == "per node":
        each = draw.randint(1, max(1, cpus))
        job |= {"tasks_per_node": each} | ({"tasks": low * each} if draw.random() < 0.5 else {})
    if draw.random() < 0.25:
        job["cpus_per_task"] = draw.choice((1, min(2, cpus), min(3, cpus), cpus)) if job.get("tasks", 1) == 1 else 2
    if draw.random() < 0.08:
        job["exclusive"] = 1
    elif draw.random() < 0.15:
        job["oversubscribe"] = 1


def _memory(draw: random.Random, machine: Machine, job: dict[str, Any]) -> None:
    kind = draw.choice(("", "", "", "node", "node", "cpu"))
    if kind == "node":
        job["mem_per_node"] = draw.choice((0, 100, machine.memory // 4, machine.memory // 2, machine.memory))
    elif kind == "cpu":
        job["mem_per_cpu"] = draw.choice((10, 100, machine.memory // max(1, machine.cpus)))


def _gpus(draw: random.Random, machine: Machine, job: dict[str, Any]) -> None:
    kinds = [word.rpartition(":")[0] for word in machine.gpus if word.startswith("gpu")]
    types = [kind.partition(":")[2] for kind in kinds if ":" in kind]
    kind = f"{draw.choice(types)}:" if types and draw.random() < 0.6 else ""
    most = max(int(word.rpartition(":")[2]) for word in machine.gpus)
    count = draw.choice((1, 1, most, most, draw.randint(1, 4)))
    way = draw.choice(("gres", "gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "nic"))
    if way == "gres":
        job["gres"] = f"gpu:{kind}{count}"
    elif way == "gpus":
        job["gpus"] = f"{kind}{count}"
    elif way == "nic":
        job["gres"] = f"gpu:{count}" + (",nic:1" if "nic:2" in machine.gpus else "")
    else:
        words = [f"--{way}={kind}{count}"]
        if way == "gpus-per-socket":
            words.append("--sockets-per-node=1")
        if way == "gpus-per-task":
            job.setdefault("tasks", draw.choice((1, 2, 3)))
        if draw.random() < 0.2 and "mem_per_node" not in job and "mem_per_cpu" not in job:
            words.append("--mem-per-gpu=200")
        job["options"] = " ".join(words)


def _times(draw: random.Random, job: dict[str, Any], now: int) -> None:
    if draw.random() < 0.08:
        job["begin"] = now + draw.choice((10, 100, 600))
    if draw.random() < 0.1:
        job["cancel_at"] = now + draw.choice((0, 10, 300, 1000))
    if draw.random() < 0.06:
        job["deadline"] = now + draw.choice((200, 700, 4000))
    if draw.random() < 0.08 and job["time_limit"] > 60:
        job["time_min"] = draw.choice((60, job["time_limit"] // 2))
    if draw.random() < 0.15:
        job["requeue"] = 0
    if draw.random() < 0.1:
        job |= draw.choice(({"exit_code": 7}, {"exit_code": 8}, {"exit_code": 1}, {"outcome": "OUT_OF_MEMORY"},
                            {"outcome": "NODE_FAIL"}, {"outcome": "FAILED"}, {"exit_signal": 9}))  # fmt: skip


def _rare(draw: random.Random, machine: Machine, job: dict[str, Any], before: int) -> None:
    """Columns that few jobs of real logs fill in."""
    if before and draw.random() < 0.12:
        kind = draw.choice(("afterany", "afterok", "afternotok", "after", "singleton"))
        job["dependency"] = kind if kind == "singleton" else f"{kind}:{draw.randint(1, before)}"
    if machine.licensed and draw.random() < 0.2:
        job["licenses"] = draw.choice(("mat:1", "mat:2", "flu", "mat:3,flu"))
    rare: list[dict[str, Any]] = [
        {"nice": draw.choice((-100, 100))}, {"contiguous": 1}, {"constraint": draw.choice(("a", "b", "a&b", "a|b"))},
        {"node_list": draw.choice(machine.nodes)}, {"exclude": draw.choice(machine.nodes)}, {"hold": 1},
        {"priority": draw.choice((1, 5000))},
        {"options": draw.choice(FLAGS)},
    ]  # fmt: skip
    if draw.random() < 0.2:
        for name, value in draw.choice(rare).items():
            job.setdefault(name, value)


def _application(draw: random.Random, machine: Machine, job: dict[str, Any]) -> None:
    """A size that may be chosen, and what its watts do."""
    low = draw.randint(1, len(machine.nodes))
    size = draw.randint(low, len(machine.nodes))
    for name in ("nodes_max", "tasks", "tasks_per_node", "options", "gpus"):
        job.pop(name, None)
    job |= {"nodes": size, "app": draw.choice(APPLICATIONS)}
    if draw.random() < 0.7:
        job |= {"min_nodes": low, "max_nodes": size, "malleable": draw.choice((0, 1))}
