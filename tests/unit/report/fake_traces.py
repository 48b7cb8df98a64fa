"""A made-up but plausible trace of any size: daily arrivals, powers of two, first fit with overtaking."""

from __future__ import annotations

import heapq
from pathlib import Path

import numpy as np

from slurmsim.hostlist import compress
from slurmsim.metrics.summary import summarize_trace
from slurmsim.trace import schema
from slurmsim.trace.reader import read_trace
from slurmsim.trace.writer import TraceWriter

EPOCH = 1_300_000_000


def job_row(**given: object) -> tuple:
    """A jobs row with defaults for what is not given; wait and run time follow from the times."""
    row: dict[str, object] = {
        name: None if column.kind == "int64?" else 0 if column.kind == "int64" else ""
        for name, column in schema.JOBS.items()
    }
    row |= {"nodes": 1, "cpus": 1, "state": "COMPLETED", "exit_code": "0:0", "partition": "batch", "user": "ann"}
    row |= given
    if row["start"] is not None:
        row["wait_s"] = row["start"] - row["submit"]  # type: ignore[operator]
        if row["end"] is not None:
            row["run_time_s"] = row["end"] - row["start"]  # type: ignore[operator]
    return tuple(row.values())


def event_row(**given: object) -> tuple:
    """An events row with nulls and empty texts for what is not given."""
    row = {
        name: None if column.kind == "int64?" else 0 if column.kind == "int64" else ""
        for name, column in schema.EVENTS.items()
    }
    return tuple((row | given).values())


def usage_row(**given: object) -> tuple:
    """A usage row, zeros for what is not given."""
    row = {name: "" if column.kind == "text" else 0 for name, column in schema.USAGE.items()}
    return tuple((row | given).values())


def write_trace(
    path: Path, *, jobs: list = (), events: list = (), usage: list = (), requeued: list = (),  # type: ignore[assignment]
    **manifest: object,
) -> Path:  # fmt: skip
    """A trace of the given rows."""
    with TraceWriter(path) as writer:
        for row in jobs:
            writer.jobs.append(row)
        for row in events:
            writer.events.append(row)
        for row in usage:
            writer.usage.append(row)
        for row in requeued:
            writer.requeued.append(row)
        writer.write_json("run.json", manifest)
    return path


def make_trace(
    path: Path,
    *,
    n_jobs: int = 300,
    n_nodes: int = 10,
    cpus_per_node: int = 16,
    seed: int = 1,
    load: float = 0.85,
    max_power: int | None = None,
    median_run_s: float = 3_000.0,
    partitions: tuple[str, ...] = ("batch", "debug"),
    epoch: int = EPOCH,
    down: bool = True,
) -> Path:
    """Write a trace of `n_jobs` whole-node jobs on ``n1`` to ``n{n_nodes}`` into `path`, with a full manifest."""
    rng = np.random.default_rng(seed)
    most = int(np.log2(n_nodes)) - 1 if max_power is None else max_power
    nodes = 2 ** np.minimum(rng.geometric(0.45, n_jobs) - 1, max(most, 0))
    run = np.maximum(rng.lognormal(np.log(median_run_s), 1.4, n_jobs), 1).astype(int)
    limit = (run * rng.uniform(1.05, 6, n_jobs)).astype(int) // 60 * 60 + 60
    gap = float((nodes * run).mean()) / n_nodes / load
    day = 1 + 0.8 * np.sin(np.linspace(0, 2 * np.pi * n_jobs * gap / 86_400, n_jobs))
    submit = np.cumsum(rng.exponential(gap, n_jobs) / day * day.mean()).astype(int)
    user = rng.zipf(1.7, n_jobs) % 40
    part = (rng.random(n_jobs) < 0.2).astype(int) % len(partitions)
    state = rng.choice(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"], n_jobs, p=[0.86, 0.07, 0.04, 0.03])

    writer = TraceWriter(path)
    names = [f"n{i + 1}" for i in range(n_nodes)]
    free = np.ones(n_nodes, bool)
    n_free, running, now, i = n_nodes, 0, 0, 0
    queue: list[int] = []
    ends: list[tuple[int, int]] = []
    held: dict[int, tuple[np.ndarray, int]] = {}
    last = (-1, -1)
    lost = 0
    if down and n_nodes > 4:
        # One node breaks for a while in the middle of the run; it is the last one, kept out of use all along.
        free[-1], n_free, lost = False, n_free - 1, 1
        broken = (int(submit[-1]) // 3, int(submit[-1]) // 2)
    while i < n_jobs or queue or ends:
        now = min(int(submit[i]) if i < n_jobs else 1 << 60, ends[0][0] if ends else 1 << 60)
        while ends and ends[0][0] <= now:
            _, j = heapq.heappop(ends)
            where, began = held.pop(j)
            free[where] = True
            n_free += len(where)
            running -= 1
            expr = compress(names[k] for k in where.tolist())
            writer.jobs.append(
                job_row(
                    job_id=j + 1, name=f"job{j % 7}", user=f"user{user[j]}", account=f"acct{user[j] % 4}",
                    partition=partitions[part[j]], qos="normal", nodes=len(where), cpus=len(where) * cpus_per_node,
                    time_limit_s=int(limit[j]), submit=int(submit[j]), eligible=int(submit[j]), start=began, end=now,
                    state=str(state[j]), node_list=expr, reason="None", priority=n_jobs - j,
                    cpus_per_node=f"{cpus_per_node}(x{len(where)})", scheduler="Backfill" if j % 3 else "Main",
                )
            )  # fmt: skip
            writer.events.append(event_row(time=now, event="END", job_id=j + 1, state=str(state[j])))
        while i < n_jobs and submit[i] <= now:
            writer.events.append(event_row(time=now, event="SUBMIT", job_id=i + 1, state="PENDING"))
            queue.append(i)
            i += 1
        started = []
        for place, j in enumerate(queue[:60]):
            if nodes[j] <= n_free:
                where = np.flatnonzero(free)[: nodes[j]]
                free[where] = False
                n_free -= len(where)
                running += 1
                held[j] = where, now
                heapq.heappush(ends, (now + int(run[j]), j))
                expr = compress(names[k] for k in where.tolist())
                writer.events.append(
                    event_row(time=now, event="START", job_id=j + 1, state="RUNNING", nodes=expr,
                              value=place - len(started), scheduler="Main")
                )  # fmt: skip
                started.append(place)
        for place in reversed(started):
            queue.pop(place)
        if (running, len(queue)) != last:
            last = running, len(queue)
            busy = n_nodes - lost - n_free
            for name in ("", *partitions[:1]):
                writer.usage.append(
                    usage_row(time=now, partition=name, alloc_nodes=busy, idle_nodes=n_free, down_nodes=lost,
                              alloc_cpus=busy * cpus_per_node, running_jobs=running, pending_jobs=len(queue))
                )  # fmt: skip
        writer.flush_if_full()
    if lost:
        for when, what in zip(broken, ("DOWN", "IDLE"), strict=True):
            writer.events.append(event_row(time=when, event="NODE", state=what, nodes=names[-1]))
    cpus = n_nodes * cpus_per_node
    writer.write_json(
        "run.json",
        {
            "slurmsim": "0.1.0",
            "policy": "easy",
            "seed": seed,
            "options": {"policy": "easy", "seed": seed},
            "workload_sha256": "cd" * 32,
            "conf_sha256": "ab" * 32,
            "workload": {
                "file": "made-up.swf", "format": "swf", "epoch": epoch, "records": n_jobs + 5, "jobs": n_jobs,
                "repaired": {"run time longer than requested": 12}, "dropped": {"size is zero": 5},
                "examples": {"size is zero": ["line 17: job 12"]},
            },
            "cluster": {
                "name": "fake", "nodes": [[f"n[1-{n_nodes}]", cpus_per_node, 1024, {}]],
                "partitions": {name: {"nodes": f"n[1-{n_nodes}]"} for name in partitions},
            },
            "findings": [
                {"severity": "warning", "file": "slurm.conf", "line": 7, "key": "PreemptType",
                 "value": "preempt/qos", "message": "preemption is not modelled"},
            ],
        },
    )  # fmt: skip
    summary = summarize_trace(read_trace(writer.seal()), cpus=cpus)
    summary |= {"wall_s": 1.5, "jobs_per_s": n_jobs / 1.5, "passes": 2 * n_jobs, "backfilled": n_jobs // 5}
    summary |= {"peak_rss_bytes": 200 << 20, "policy": "easy", "seed": seed}  # type: ignore[dict-item]
    writer.write_json("summary.json", summary)
    writer.close()
    return path
