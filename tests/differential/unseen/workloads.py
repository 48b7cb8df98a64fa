"""Random workloads, in the form the oracle kit replays."""

from __future__ import annotations

import random
from typing import Any

from unseen.clusters import USERS, Cluster, draw

KINDS = {"plain": 6, "priority": 6, "accounts": 8}
"""How many of twenty workloads go to which kind of cluster."""
WEIGHTS = {  # share of the jobs that have it
    "partition": 0.40, "qos": 0.40, "nice": 0.06, "constraint": 0.10, "mem": 0.10, "mem_per_cpu": 0.08,
    "dependency": 0.10, "begin": 0.04, "exit_code": 0.05, "array": 0.06, "exceeds its limit": 0.04,
}  # fmt: skip
SHAPES = {"whole nodes": 0.45, "tasks": 0.35, "tasks with CPUs": 0.20}
JOBS = (45, 75)
LOAD = (1.0, 1.6)  # work offered over capacity
GAP_S = 7
LONGEST_S = 300
CPUS = 8


def kind_of(index: int) -> str:
    """The kind of the `index`-th workload: twenty in a row have the shares of KINDS."""
    row = [kind for kind, count in KINDS.items() for _ in range(count)]
    return row[index * 7 % len(row)]


def draw_workload(seed: int, index: int) -> tuple[Cluster, dict[str, Any]]:
    """A cluster and jobs for it, none of which waits for ever: the kit would never end."""
    rng = random.Random(f"workload {seed} {index}")
    cluster = draw(rng, kind_of(index), for_sessions=False)
    jobs: list[dict[str, Any]] = []
    sizes: list[float] = []
    submit, wanted = 0, rng.randint(*JOBS)
    for number in range(1, wanted + 1):
        submit += int(rng.expovariate(1 / GAP_S))
        job, size = _job(rng, cluster, f"j{number:03}", submit)
        jobs.append(job)
        sizes.append(size)
    scale = (
        rng.uniform(*LOAD) * cluster.nodes * submit / sum(s * j["runtime"] for s, j in zip(sizes, jobs, strict=True))
    )
    for job in jobs:
        job["runtime"] = min(LONGEST_S, max(10, int(job["runtime"] * min(scale, 1.5))))
        _limit(rng, job)
    for number, job in enumerate(jobs):
        _depend(rng, job, jobs[max(0, number - 5) : number])
    for job, size in zip(jobs, sizes, strict=True):
        _charge(rng, cluster, job, size)
    return cluster, {"name": f"seed {seed}, {index}", "nodes": cluster.nodes, "cpus_per_node": CPUS, "jobs": jobs}


def _has(rng: random.Random, what: str) -> bool:
    return rng.random() < WEIGHTS[what]


def _job(rng: random.Random, cluster: Cluster, name: str, submit: int) -> tuple[dict[str, Any], float]:
    """One job, and how many nodes' worth it takes."""
    job: dict[str, Any] = {"id": name, "submit": submit, "user": rng.choice(USERS)}
    width, least = cluster.nodes, 1
    if _has(rng, "partition"):
        job["partition"] = rng.choice(sorted(cluster.partitions))
        first, last = cluster.partitions[job["partition"]]
        width = last - first + 1 if job["partition"] != "debug" else 2
        least = 2 if job["partition"] == "big" else 1
    shape = rng.choices(list(SHAPES), list(SHAPES.values()))[0]
    if shape == "whole nodes":
        job.update(nodes=min(width, max(least, int(rng.lognormvariate(1.0, 0.9)))), exclusive=True)
        size = float(job["nodes"])
    else:
        cpus = rng.choice((2, 3, 4)) if shape == "tasks with CPUs" else 1
        job["ntasks"] = max(least, min(rng.choice((1, 2, 4, 6, 8, 12, 16, 24, 40)), width * (CPUS // cpus)))
        if cpus > 1:
            job["cpus_per_task"] = cpus
        if least > 1:
            job["nodes"] = least
            job["ntasks"] = min(job["ntasks"], least * (CPUS // cpus))
        size = job["ntasks"] * cpus / CPUS
    if _has(rng, "constraint") and size <= 2 and job.get("partition", "batch") in ("batch", "scav", "big"):
        job["constraint"] = rng.choice(("std", "bigmem", "fast"))
    if _has(rng, "mem"):
        job["mem"] = rng.choice((1000, 4000, 15000))
    elif _has(rng, "mem_per_cpu"):
        job["mem_per_cpu"] = rng.choice((200, 500, 1500))
    if _has(rng, "nice"):
        job["nice"] = rng.choice((10, 100, 1000))
    if _has(rng, "begin"):
        job["begin"] = f"now+{rng.choice((20, 45, 90))}"
    if _has(rng, "exit_code"):
        job["exit_code"] = rng.choice((1, 2))
    if _has(rng, "array") and size <= 2:
        job["array"] = rng.choice(("1-3", "0-5", "1-6%2"))
        size *= 3
    job["runtime"] = min(400, max(15, int(rng.lognormvariate(4.0, 0.8))))
    return job, size


def _limit(rng: random.Random, job: dict[str, Any]) -> None:
    """Its time limit: more than it needs, but for a few."""
    if _has(rng, "exceeds its limit"):
        job["time_limit"], job["runtime"] = 1, 130
        return
    job["time_limit"] = max(1, int(job["runtime"] * rng.choice((1.2, 1.5, 2, 3, 5)) / 60 + 0.5))
    if job["time_limit"] * 60 < job["runtime"] + 15:
        job["time_limit"] += 1
    job["time_limit"] = min(job["time_limit"], 30)


def _depend(rng: random.Random, job: dict[str, Any], before: list[dict[str, Any]]) -> None:
    """Let it wait for one of the jobs submitted before it."""
    if before and "array" not in job and _has(rng, "dependency"):
        other = rng.choice(before)
        sound = "exit_code" not in other and other["time_limit"] * 60 > other["runtime"]
        kind = rng.choice(("afterok", "afterany", "after") if sound else ("afternotok", "afterany", "after"))
        job["dependency"] = f"{kind}:{other['id']}"


def _charge(rng: random.Random, cluster: Cluster, job: dict[str, Any], size: float) -> None:
    """Its QOS, and a user whose limits allow it at all."""
    if not cluster.accounts:
        return
    if size > 4 and cluster.accounts[job["user"]] == "chem":  # its GrpTRES may be that small
        job["user"] = "alice"
    if job["user"] != "dave" and _has(rng, "qos"):
        allowed = ["high"]
        if job["time_limit"] <= 20:
            allowed.append("low")
        if job.get("nodes", 1) * CPUS <= 12 and size <= 1:
            allowed.append("limited")
        job["qos"] = rng.choice(allowed)
