"""What a cluster shows in a notebook: its nodes by state, its jobs by state, and the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from slurmsim.errors import OutputError
from slurmsim.hostlist import compress
from slurmsim.report.text import duration

MOST = 20
"""Rows of the queue; of what is left the number is said."""
ACTIVE = ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")
_QUEUE = ("job", "name", "user", "state", "nodes or reason", "for", "limit")


def shown(cluster: Any) -> str:
    """Return an HTML fragment about a `slurmsim.Cluster`; a stopped one says so."""
    from slurmsim.report import page

    try:
        now, nodes, jobs = cluster.now, cluster.nodes(), cluster.jobs()
    except OutputError as error:
        return page.snippet("slurmsim cluster", [page.bullets([str(error)])])
    queue = [job for job in jobs if job["state"] in ACTIVE] + [job for job in jobs if job["state"] == "PENDING"]
    ended = Counter(job["state"] for job in jobs) - Counter(job["state"] for job in queue)
    facts = [f"Nodes: {_counted(Counter(_state(node) for node in nodes))}."]
    if ended:
        facts.append(f"Jobs that ended: {_counted(ended)}.")
    if len(queue) > MOST:
        facts.append(f"{len(queue):,} jobs run or wait; the first {MOST} are below.")
    at = datetime.fromtimestamp(now, UTC)
    title = f"slurmsim cluster at {at:%Y-%m-%d %H:%M:%S} UTC"
    return page.snippet(title, [page.bullets(facts), page.table(_QUEUE, _rows(queue[:MOST], now), left=range(5))])


def _state(node: Any) -> str:
    return "+".join([node["state"], *node["state_flags"]]).lower()


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in sorted(found.items()))


def _rows(jobs: Sequence[Any], now: int) -> Iterator[tuple[str, ...]]:
    for job in jobs:
        waits = job["state"] == "PENDING"
        since = (job["eligible_time"] or job["submit_time"]) if waits else job["start_time"]
        where = job["reason"] if waits else compress(job["nodes"])
        limit = "–" if job["time_limit"] is None else duration(60 * job["time_limit"])
        yield (_id(job), job["name"], job["user"], job["state"], where, duration(max(0, now - since)), limit)


def _id(job: Any) -> str:
    task = job["array_task_id"]
    return str(job["job_id"]) if task is None else f"{job['array_job_id']}_{task}"
