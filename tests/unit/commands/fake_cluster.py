"""A daemon made of records, for tests of commands, and the clusters behind the recordings of real Slurm."""

from __future__ import annotations

import io as streams
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from slurmsim.commands.io import Io
from slurmsim.commands.json.openapi_job import FLAGS
from slurmsim.protocol import Refusal

Record = dict[str, Any]


class FakeClient:
    """Serves records column by column as the daemon does; what a record does not say is None."""

    patience_s = 0.0

    def __init__(self, now: int = 0, **tables: list[Record]) -> None:
        self.now, self.tables = now, tables
        self.users: dict[str, int] = {}
        self.uid, self.cluster, self.release = 2001, "oracle", "22.05"
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.extra: dict[str, dict[str, Any]] = {}

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((name, arguments))
        if name == "hello":
            return {
                "now": self.now, "uid": self.uid, "cluster": self.cluster, "slurm_version": self.release,
                "flavour": "debian",
            }  # fmt: skip
        if name == "users":
            return {"uids": [self._uid(text) for text in arguments["names"]]}
        if name in self.extra:
            return self.extra[name]
        rows = self.tables.get(name, [])
        if not arguments.get("show_all") and name in ("jobs", "partitions"):
            rows = [row for row in rows if not row.get("hidden")]
        if arguments.get("job_id") is not None:
            rows = self._one_job(arguments["job_id"])
        if arguments.get("user_id") is not None:
            rows = [row for row in rows if row["user_id"] == arguments["user_id"]]
        columns = {field: [row.get(field) for row in rows] for field in arguments["fields"]}
        return {"now": self.now, "n": len(rows), "columns": columns}

    def _uid(self, text: str) -> int | None:
        if text in self.users:
            return self.users[text]
        return int(text) if text.isdigit() and int(text) in self.users.values() else None

    def _one_job(self, job: int) -> list[Record]:
        """One job; of an array its own record first, then the tasks split off, the newest first."""
        jobs = self.tables["jobs"]
        tasks = [row for row in jobs if row["array_job_id"] == job and row["job_id"] != job]
        found = [row for row in jobs if row["job_id"] == job] + tasks[::-1]
        if not found:
            raise Refusal("Invalid job id specified", 2017)
        return found


def call(run: Any, words: str | list[str], client: Any, **environ: str) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command's `run`."""
    out, err = streams.StringIO(), streams.StringIO()
    argv = shlex.split(words) if isinstance(words, str) else words
    io = Io(client, stdin=streams.StringIO(), stdout=out, stderr=err, environ=environ, cwd="/", now=lambda: 0.0)
    return run(argv, io), out.getvalue(), err.getvalue()


def golden(name: str) -> Any:
    """A recording of real Slurm; the test is skipped where there is none."""
    folder = os.environ.get("SLURMSIM_GOLDEN")
    if not folder:
        pytest.skip("set SLURMSIM_GOLDEN to the folder with the recordings of real Slurm")
    return json.loads((Path(folder) / name).read_text())


def plain(value: Any) -> Any:
    """A number of the later JSON layouts as a plain one: None when not set or infinite."""
    if isinstance(value, dict) and "set" in value:
        return value["number"] if value["set"] and not value["infinite"] else None
    return value


_JOB_NAMES = {
    "array_task_string": "array_task_str", "association_id": "assoc_id", "excluded_nodes": "exc_nodes",
    "last_sched_evaluation": "last_sched_eval", "cpus": "num_cpus", "node_count": "num_nodes", "tasks": "num_tasks",
    "minimum_cpus_per_node": "pn_min_cpus", "minimum_tmp_disk_per_node": "pn_min_tmp_disk",
    "required_nodes": "req_nodes", "standard_error": "std_err", "standard_output": "std_out",
    "standard_input": "std_in", "time_minimum": "time_min", "current_working_directory": "work_dir",
    "derived_exit_code": "derived_ec", "scheduled_nodes": "sched_nodes", "allocating_node": "alloc_node",
    "tasks_per_node": "ntasks_per_node", "tasks_per_core": "ntasks_per_core", "tasks_per_socket": "ntasks_per_socket",
    "tasks_per_board": "ntasks_per_board", "state_description": "state_desc", "memory_per_tres": "mem_per_tres",
    "federation_origin": "fed_origin_str", "federation_siblings_active": "fed_siblings_active_str",
    "federation_siblings_viable": "fed_siblings_viable_str",
}  # fmt: skip


def _resources(told: Record | None) -> list[list[Any]] | None:
    """The rows behind ``job_resources`` of 22.05, on nodes with 64 cores a socket."""
    if not told or "allocated_nodes" not in told:
        return None
    rows = []
    for node in told["allocated_nodes"]:
        ids = [64 * int(s) + int(c) for s, socket in node["sockets"].items() for c in socket["cores"]]
        rows.append([node["nodename"], len(ids), node["memory_allocated"], node["cpus_used"], node["memory_used"],
                     ",".join(map(str, ids)), 2, 64, 1])  # fmt: skip
    return rows


def job_record(entry: Record, release: str) -> Record:
    """The record behind one job of ``squeue --json``."""
    record: Record = {_JOB_NAMES.get(key, key): plain(value) for key, value in entry.items()}
    record = {key: None if value == "" else value for key, value in record.items()}
    newer = {old: new for new, old in FLAGS.items()}
    record["job_flags"] = [newer.get(flag, flag) for flag in entry["flags"]]
    told = entry.get("job_resources") or {}
    record["resources"] = _resources(told)
    record["held_cpus"] = told.get("allocated_cores", told.get("cpus"))
    record["billable"] = plain(entry["billable_tres"])
    per_cpu, per_node = plain(entry["memory_per_cpu"]), plain(entry["memory_per_node"])
    record["pn_min_memory"], record["mem_per_cpu"] = per_cpu or per_node or 0, per_cpu is not None
    states = entry["job_state"] if isinstance(entry["job_state"], list) else [entry["job_state"]]
    record["job_state"], record["state_flags"] = states[0], states[1:]
    shared = entry["shared"]
    shared = shared[0] if isinstance(shared, list) and shared else shared or None
    exclusive = shared == "none" or entry.get("exclusive") in ("true", ["true"], True)
    record["shared"] = "NO" if exclusive else None
    record["oversubscribe"] = "YES" if shared == "oversubscribe" else "NO"
    record["array_job_id"] = record["array_job_id"] or 0
    text, most = record["array_task_str"], plain(entry["array_max_tasks"])
    if text and most and "%" not in text:
        record["array_task_str"] = f"{text}%{most}"
    record["profile"] = "NotSet"
    record["cpus_per_task"] = record.get("cpus_per_task") or (4 if record["name"] == "fastjob" else 1)
    record["nice"] = record.get("nice") or 0
    record["boards_per_node"] = 0
    record["alloc_node"] = "localhost"
    record["thread_spec"] = None
    step = entry.get("step_id")
    record["sluid"] = step.get("sluid") if isinstance(step, dict) else None
    if isinstance(record["exit_code"], dict):
        record["exit_code"] = record["derived_ec"] = 0
    if release != "22.05":
        record["core_spec"] = None  # the document has Slurm's number for none
        record["std_out"] = "/home/alice/nap-%j.out" if record["name"] == "nap" else None
        record["std_err"] = None
    return record


_NODE_NAMES = {
    "architecture": "arch", "free_memory": "free_mem", "active_features": "features_act", "address": "node_addr",
    "hostname": "node_hostname", "operating_system": "os", "temporary_disk": "tmp_disk", "tres": "tres_fmt_str",
    "slurmd_version": "version", "reason_changed_at": "reason_time", "reason_set_by_user": "reason_user",
    "tres_used": "alloc_tres_fmt_str", "cpu_binding": "cpu_bind",
}  # fmt: skip


def node_record(entry: Record) -> Record:
    """The record behind one node of ``sinfo --json`` (22.05)."""
    record = {_NODE_NAMES.get(key, key): None if value == "" else value for key, value in entry.items()}
    record["state"] = entry["state"].upper()
    record["partitions"] = ",".join(entry["partitions"])
    record["reason_uid"] = 0 if entry["reason"] else None
    record["gres_drain"] = None
    record["next_state"] = None
    return record
