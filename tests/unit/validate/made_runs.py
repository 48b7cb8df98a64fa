"""Small runs written down job by job, with all tables worked out naively, second by second."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slurmsim.hostlist import expand
from slurmsim.trace import schema

CLUSTER: dict[str, Any] = {
    "nodes": [["n[1-4]", 4, 8000, {}], ["g[1-2]", 8, 16000, {"gpu:a100": 2, "nvme": 1}]],
    "partitions": {
        "batch": {"nodes": "n[1-4]", "max_time_s": 1000},
        "gpu": {"nodes": "g[1-2]", "max_time_s": None},
        "all": {"nodes": "n[1-4],g[1-2]"},
    },
}


@dataclass
class Made:
    """One job that ran once. `cpus`, `mem` and `gpus` are per node."""

    job_id: int
    submit: int
    start: int
    end: int
    nodes: str
    cpus: int = 1
    mem: int = 100
    gpus: int = 0
    limit: int = 500
    partition: str = "batch"
    state: str = "COMPLETED"


@dataclass
class Tables:
    """A run as columns, to be damaged by tests."""

    jobs: dict[str, list[Any]]
    events: dict[str, list[Any]]
    usage: dict[str, list[Any]]
    summary: dict[str, Any]
    requeued: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in schema.JOBS})
    manifest: dict[str, Any] = field(default_factory=dict)

    def row(self, job_id: int) -> int:
        return self.jobs["job_id"].index(job_id)

    def set(self, job_id: int, **values: Any) -> None:
        """Overwrite cells of a job's row, nothing else."""
        for name, value in values.items():
            self.jobs[name][self.row(job_id)] = value

    def add_requeued(self, job_id: int, start: int, end: int, nodes: str, **values: Any) -> None:
        """A run of a job before the one of its row, which it is like but for `values`."""
        n, row = len(expand(nodes)), self.row(job_id)
        like = {name: column[row] for name, column in self.jobs.items()}
        cpus, mem = like["cpus"] // like["nodes"], like["mem_mib"] // like["nodes"]
        times = f"(x{n})" if n > 1 else ""
        like |= {
            "nodes": n, "cpus": n * cpus, "mem_mib": n * mem, "cpus_per_node": f"{cpus}{times}", "req_nodes": n,
            "mem_per_node_mib": f"{mem}{times}", "last_submit": like["submit"], "eligible": like["submit"],
            "start": start, "end": end, "state": "REQUEUED", "node_list": nodes, "restarts": 0, "begin": None,
            "run_time_s": end - start, "wait_s": start - like["submit"], "held_since": start, **values,
        }  # fmt: skip
        for name, column in self.requeued.items():
            column.append(like[name])

    def event(self, job_id: int | None, event: str, nth: int = 0) -> int:
        """Row of a job's event."""
        rows = [i for i, e in enumerate(self.events["event"]) if e == event and self.events["job_id"][i] == job_id]
        return rows[nth]

    def add_event(self, time: int, event: str, job_id: int | None, state: str = "", **more: Any) -> None:
        """Put an event behind all others of its time."""
        at = sum(t <= time for t in self.events["time"])
        row = {"time": time, "event": event, "job_id": job_id, "state": state, "reason": "", "partition": "",
               "nodes": "", "value": None, "scheduler": "", **more}  # fmt: skip
        for name, column in self.events.items():
            column.insert(at, row[name])

    def drop_event(self, row: int) -> None:
        for column in self.events.values():
            del column[row]

    def write(self, folder: Path) -> Path:
        """As files, without using the trace writer."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(exist_ok=True)
        fields = {"jobs": schema.JOBS, "requeued": schema.JOBS, "events": schema.EVENTS, "usage": schema.USAGE}
        for name in fields:
            columns: dict[str, list[Any]] = getattr(self, name)
            arrays = {
                column: pa.array(values, pa.string()).dictionary_encode()
                if column in fields[name] and fields[name][column].kind == "text"
                else pa.array(values, pa.int64())
                for column, values in columns.items()
            }
            pq.write_table(pa.table(arrays), folder / f"{name}.parquet")
        (folder / "summary.json").write_text(json.dumps(self.summary))
        (folder / "run.json").write_text(json.dumps(self.manifest))
        return folder


def made(jobs: list[Made], cluster: dict[str, Any] | None = None) -> Tables:
    """All tables of a faultless run of `jobs`."""
    cluster = cluster or CLUSTER
    rows = [_row(job) for job in jobs]
    columns = {name: [row[name] for row in rows] for name in schema.JOBS}
    events = [e for job in jobs for e in _events(job)]
    order = {"END": 0, "SUBMIT": 1, "START": 2}
    events.sort(key=lambda e: (e["time"], order[e["event"]]))
    return Tables(
        columns,
        {name: [e[name] for e in events] for name in schema.EVENTS},
        _usage(jobs, cluster),
        _summary(jobs, cluster),
        manifest={"trace_schema": schema.SCHEMA_VERSION, "cluster": cluster, "limit_allowance_s": 0},
    )


def _row(job: Made) -> dict[str, Any]:
    n = len(expand(job.nodes))
    times = f"(x{n})" if n > 1 else ""
    return {
        "job_id": job.job_id, "array_job_id": None, "array_task_id": None, "name": "j", "user": "u", "account": "a",
        "partition": job.partition, "qos": "normal", "nodes": n, "cpus": n * job.cpus, "gpus": n * job.gpus,
        "mem_mib": n * job.mem, "cpus_per_node": f"{job.cpus}{times}", "mem_per_node_mib": f"{job.mem}{times}",
        "gres_per_node": f"gpu:a100:{job.gpus}" if job.gpus else "", "time_limit_s": job.limit, "submit": job.submit,
        "req_nodes": n, "req_cpus": n * job.cpus, "req_gpus": n * job.gpus, "req_mem_mib": n * job.mem,
        "last_submit": job.submit, "begin": None,
        "eligible": job.submit, "start": job.start, "end": job.end, "state": job.state, "exit_code": "0:0",
        "node_list": job.nodes, "reason": "None", "priority": 1, "restarts": 0, "run_time_s": job.end - job.start,
        "wait_s": job.start - job.submit, "scheduler": "Main", "held_since": job.start, "reservation": "",
        "licenses": "",
        "layout": "", "arrived": None, "cpus_per_task": 1, "threads_per_core": None,
    }  # fmt: skip


def _events(job: Made) -> list[dict[str, Any]]:
    base = {"job_id": job.job_id, "reason": "None", "partition": job.partition, "value": None, "scheduler": ""}
    return [
        {**base, "time": job.submit, "event": "SUBMIT", "state": "PENDING", "nodes": ""},
        {**base, "time": job.start, "event": "START", "state": "RUNNING", "nodes": job.nodes},
        {**base, "time": job.end, "event": "END", "state": job.state, "nodes": ""},
    ]


def _usage(jobs: list[Made], cluster: dict[str, Any]) -> dict[str, list[Any]]:
    every = [node for run in cluster["nodes"] for node in expand(run[0])]
    parts = {"": every, **{name: expand(p["nodes"]) for name, p in cluster["partitions"].items()}}
    table: dict[str, list[Any]] = {name: [] for name in schema.USAGE}
    for t in sorted({t for job in jobs for t in (job.submit, job.start, job.end)}):
        running = [job for job in jobs if job.start <= t < job.end]
        for name, nodes in parts.items():
            held = [(node, job) for job in running for node in expand(job.nodes) if node in nodes]
            busy = len({node for node, _ in held})
            own = [job for job in jobs if name in ("", job.partition)]
            row = {
                "time": t, "partition": name, "alloc_nodes": busy, "idle_nodes": len(nodes) - busy, "down_nodes": 0,
                "alloc_cpus": sum(job.cpus for _, job in held), "alloc_gpus": sum(job.gpus for _, job in held),
                "alloc_mem_mib": sum(job.mem for _, job in held),
                "running_jobs": sum(job.start <= t < job.end for job in own),
                "pending_jobs": sum(job.submit <= t < job.start for job in own),
                "off_nodes": 0,
                "powering_nodes": 0,
            }  # fmt: skip
            for column, value in row.items():
                table[column].append(value)
    return table


def _summary(jobs: list[Made], cluster: dict[str, Any]) -> dict[str, Any]:
    waits = sorted(job.start - job.submit for job in jobs)
    turnaround = [job.end - job.submit for job in jobs]
    runs = [job.end - job.start for job in jobs]
    first, last = min(job.submit for job in jobs), max(job.end for job in jobs)
    cpus = sum(len(expand(run[0])) * run[1] for run in cluster["nodes"])
    busy = sum(job.cpus * len(expand(job.nodes)) * (job.end - job.start) for job in jobs)
    counts = {
        s: sum(job.state == s.upper() for job in jobs) for s in ("completed", "timeout", "cancelled", "node_fail")
    }
    p95 = 0.95 * (len(waits) - 1)
    k = int(p95)
    return {
        "jobs": len(jobs), **counts, "failed": len(jobs) - sum(counts.values()), "never_started": 0,
        "refused": 0, "requeues": 0, "requeued_cpu_s": 0,
        "first_submit": first, "last_end": last, "makespan_s": last - first,
        "utilization": busy / (cpus * (last - first)), "mean_wait_s": statistics.fmean(waits),
        "median_wait_s": statistics.median(waits),
        "p95_wait_s": waits[k] + (p95 - k) * (waits[min(k + 1, len(waits) - 1)] - waits[k]), "max_wait_s": waits[-1],
        "mean_turnaround_s": statistics.fmean(turnaround),
        "mean_slowdown": statistics.fmean(t / r for t, r in zip(turnaround, runs, strict=True)),
        "mean_bounded_slowdown": statistics.fmean(
            max(1.0, t / max(r, 10)) for t, r in zip(turnaround, runs, strict=True)
        ),
    }  # fmt: skip


def sound() -> Tables:
    """A faultless run: shared nodes, memory, GPUs, two partitions, a node used again the second it is free."""
    return made([
        Made(1, 0, 0, 100, "n[1-2]", cpus=4, mem=8000),                    # fills n1 and n2
        Made(2, 0, 0, 50, "n3", cpus=2, mem=4000),
        Made(3, 10, 10, 110, "n[3-4]", cpus=2, mem=4000),                  # fills n3 beside 2
        Made(4, 20, 100, 600, "n[1-4]", cpus=2, mem=2000, limit=500, state="TIMEOUT"),
        Made(5, 30, 40, 90, "g1", cpus=8, mem=100, gpus=2, partition="gpu", limit=2000),
        Made(6, 30, 90, 95, "g[1-2]", cpus=1, gpus=2, partition="gpu"),    # g1 is free in this second
        Made(7, 40, 600, 700, "n4,g1", cpus=4, mem=1, partition="all", state="FAILED"),
    ])  # fmt: skip
