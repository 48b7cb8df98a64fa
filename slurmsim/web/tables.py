"""What the page shows of a cluster: rows of plain values, and what is new in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from slurmsim.hostlist import expand

JOB_FIELDS = (
    "job_id", "array_job_id", "array_task_id", "array_task_str", "name", "user_name", "account", "partition", "qos",
    "job_state", "state_flags", "state_reason", "submit_time", "start_time", "end_time", "time_limit", "nodes",
    "sched_nodes", "num_nodes", "num_cpus", "priority", "tres_req_str", "dependency", "work_dir", "comment",
    "restart_cnt",
)  # fmt: skip
"""What is asked of each job."""
SHOWN = (
    "key", "job", "name", "user", "account", "partition", "qos", "state", "reason", "submit", "start", "end", "limit_s",
    "nodes", "cpus", "priority", "on", "places", "tres", "dependency", "folder", "comment", "restarts",
)  # fmt: skip
"""Columns of a job's row; `places` are [first node, how many] and `start` is a plan while it waits."""
NODE_FIELDS = ("name", "state", "state_flags", "cpus", "alloc_cpus", "real_memory", "alloc_memory", "gres", "gres_used",
               "partitions", "reason", "features")  # fmt: skip
PARTITION_FIELDS = ("name", "default", "state_up", "nodes", "total_nodes", "total_cpus", "max_time", "priority_tier")
RESERVATION_FIELDS = ("name", "start_time", "end_time", "node_list", "users", "accounts", "flags")
HISTORY_FIELDS = ("job_id", "array_job_id", "array_task_id", "name", "user_name", "account", "partition", "job_state",
                  "start_time", "end_time", "nodes")  # fmt: skip
_MINUTE = 60


class Nodes:
    """Nodes by their place in the cluster's own order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._at = {name: place for place, name in enumerate(self.names)}
        self.places = lru_cache(1 << 16)(self._places)

    def _places(self, hosts: str | None) -> tuple[tuple[int, int], ...]:
        """Return the runs of neighbours in a hostlist, as (first, how many), without unknown names."""
        found: list[tuple[int, int]] = []
        for at in sorted(self._at[name] for name in expand(hosts or "") if name in self._at):
            if found and sum(found[-1]) == at:
                found[-1] = (found[-1][0], found[-1][1] + 1)
            else:
                found.append((at, 1))
        return tuple(found)


def rows_of(answer: Mapping[str, Any], fields: Iterable[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(answer["columns"][name] for name in fields), strict=True))


def job_rows(answer: Mapping[str, Any], nodes: Nodes) -> dict[int, tuple[Any, ...]]:
    """Rows of `SHOWN` by job id, from an answer of `JOB_FIELDS`."""
    found = {}
    for (job, array, task, tasks, name, user, account, partition, qos, state, flags, reason, submit, start, end, limit,
         on, planned, n_nodes, n_cpus, priority, tres, dependency, folder, comment, restarts) in rows_of(
             answer, JOB_FIELDS):  # fmt: skip
        waits = state == "PENDING"
        hosts = (planned if start else None) if waits else on
        found[job] = (
            job, _label(job, array, task, tasks), name or "", user, account or "", partition, qos or "",
            "+".join([state, *_words(flags)]), reason if reason and reason != "None" else "", submit, start or 0,
            0 if waits else end or 0, None if limit is None else limit * _MINUTE, n_nodes, n_cpus, priority,
            on or "", nodes.places(hosts), tres or "", dependency or "", folder or "", comment or "", restarts,
        )  # fmt: skip
    return found


def _words(flags: Any) -> list[str]:
    return (flags.split("+") if isinstance(flags, str) else list(flags)) if flags else []


def _label(job: int, array: int | None, task: int | None, tasks: str | None) -> str:
    if not array:
        return str(job)
    return f"{array}_{task}" if task is not None else f"{array}_[{tasks}]" if tasks else str(job)


def history_rows(answer: Mapping[str, Any], nodes: Nodes, known: Iterable[int]) -> list[tuple[Any, ...]]:
    """Of jobs that ran and are gone, as `JobPast` in the page's script has them."""
    left = set(known)
    return [
        past(job, _label(job, array, task, None), name, user, account, partition, state, start, end, nodes.places(on))
        for job, array, task, name, user, account, partition, state, start, end, on in rows_of(answer, HISTORY_FIELDS)
        if start and end and on and job not in left
    ]  # fmt: skip


def past(
    job: int, label: str, name: str | None, user: str, account: str | None, partition: str, state: str, start: int,
    end: int, places: tuple[tuple[int, int], ...],
) -> tuple[Any, ...]:  # fmt: skip
    """Return the row of a job that is over and no longer in the queue."""
    return job, label, name or "", user, account or "", partition, state, start, end, places


def gone(row: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the row of the past for a row of `SHOWN` that is in the queue no more; None for one that never ran."""
    one = dict(zip(SHOWN, row, strict=True))
    if not one["start"] or not one["end"] or not one["places"]:
        return None
    return past(one["key"], one["job"], one["name"], one["user"], one["account"], one["partition"], one["state"],
                one["start"], one["end"], one["places"])  # fmt: skip


def news(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what a table has that it had not (``set``), and keys it has no more (``gone``); empty for nothing."""
    changed = [row for key, row in new.items() if old.get(key) != row]
    missing = [key for key in old if key not in new]
    return ({"set": changed} if changed else {}) | ({"gone": missing} if missing else {})
