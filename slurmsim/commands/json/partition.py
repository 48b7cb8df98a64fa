"""Partitions as data_parser documents have them: ``scontrol show part``, sinfo and ``/slurm/v0.0.4x/partitions``."""

from __future__ import annotations

from slurmsim.commands.json.versions import always, count, field, limit, number, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.json.versions import Number, Record


def _nodes(allocating: str | None, nodes: str | None, total: int) -> Record:
    return {"allowed_allocation": text(allocating), "configured": text(nodes), "total": total}


def _allowed(allowed: str | None, deny: str | None) -> Record:
    return {"allowed": text(allowed), "deny": text(deny)}


def _groups(allowed: str | None) -> Record:
    return {"allowed": text(allowed)}


def _qos(allowed: str | None, deny: str | None, own: str | None) -> Record:
    return {"allowed": text(allowed), "deny": text(deny), "assigned": text(own)}


def _tres(weights: str | None, configured: str | None) -> Record:
    return {"billing_weights": text(weights), "configured": text(configured)}


def _cpus(binding: Any) -> Any:
    return lambda total: {"task_binding": [] if binding == [] else binding, "total": total}


def _minutes(value: int | None) -> Number:
    return limit(value) if value is None or value >= 0 else number(None)


def _memory(per_cpu: int | None, per_node: int | None) -> Record:
    return {
        "memory_per_cpu": per_cpu or per_node or 0, "partition_memory_per_cpu": number(per_cpu or None),
        "partition_memory_per_node": number(None if per_cpu else per_node or 0),
    }  # fmt: skip


def _defaults(per_cpu: int | None, per_node: int | None, time: int | None, job: str | None) -> Record:
    return {**_memory(per_cpu, per_node), "time": _minutes(time), "job": text(job)}


def _share(kind: str, most: int, new: bool) -> tuple[int, list[str]]:
    """How many jobs may share a resource, and whether they are forced to."""
    if kind == "EXCLUSIVE":
        return 0, []
    jobs = most if kind in ("YES", "FORCE") else 0 if new else 1
    return jobs, ["force"] if kind == "FORCE" else []


def _maximums(new: bool) -> Any:
    def make(
        cpus: int | None, per_cpu: int | None, per_node: int | None, nodes: int | None, kind: str, most: int,
        time: int | None, over: int | None,
    ) -> Record:  # fmt: skip
        jobs, flags = _share(kind, most, new)
        return {
            "cpus_per_node": limit(cpus), "cpus_per_socket": limit(None), **_memory(per_cpu, per_node),
            "nodes": limit(nodes), "shares": jobs, "oversubscribe": {"jobs": jobs, "flags": flags},
            "time": _minutes(time), "over_time_limit": number(over),
        }  # fmt: skip

    return make


def _priority(factor: int, tier: int) -> Record:
    return {"job_factor": factor, "tier": tier}


def _timeouts(resume: int | None, suspend: int | None) -> Record:
    return {"resume": number(resume), "suspend": number(suspend)}


def _state(state: str) -> Record:
    return {"state": [state]}


def _states(state: str, kind: str, user: bool) -> Record:
    exclusive = "NODE" if kind == "EXCLUSIVE" else "USER" if user else "NO"
    return {"exclusive": exclusive, "oversubscribe": "NO" if kind == "EXCLUSIVE" else kind, "state": [state]}


def _flags(
    default: bool, hidden: bool, root_off: bool, root_only: bool, resv: bool, lln: bool, user: bool
) -> list[str]:  # fmt: skip
    known = {"DEFAULT": default, "HIDDEN": hidden, "NO_ROOT": root_off, "ROOT_ONLY": root_only, "REQ_RESV": resv,
             "LLN": lln, "EXCLUSIVE_USER": user}  # fmt: skip
    return [word for word, there in known.items() if there]


F = field
_MOST = ("max_cpus_per_node", "max_mem_per_cpu", "max_mem_per_node", "max_nodes", "over_subscribe", "max_share",
         "max_time", "over_time_limit")  # fmt: skip
PARTITION = (
    F("nodes", _nodes, "allow_alloc_nodes", "nodes", "total_nodes"),
    F("accounts", _allowed, "allow_accounts", "deny_accounts"), F("groups", _groups, "allow_groups"),
    F("qos", _qos, "allow_qos", "deny_qos", "qos"), F("alternate", text),
    F("tres", _tres, "billing_weights", "tres_fmt_str"), F("cluster", always("")),
    F("select_type", always([]), first=41, last=44), F("select_type", always(["NONE"]), first=45),
    F("cpus", _cpus(0), "total_cpus", last=44), F("cpus", _cpus([]), "total_cpus", first=45),
    F("defaults", _defaults, "def_mem_per_cpu", "def_mem_per_node", "default_time", "job_defaults"),
    F("flags", _flags, "default", "hidden", "disable_root_jobs", "root_only", "req_resv", "lln", "exclusive_user",
      first=45),
    F("partition", _states, "state_up", "over_subscribe", "exclusive_user", first=45),
    F("grace_time", count), F("maximums", _maximums(False), *_MOST, last=44),
    F("maximums", _maximums(True), *_MOST, first=45),
    F("minimums", lambda nodes: {"nodes": nodes or 0}, "min_nodes"), F("name", text), F("node_sets", always("")),
    F("preempt_mode", lambda mode, given: [word.upper() for word in mode.split(",")] if given else ["CLUSTER_GLOBAL"],
      "preempt_mode", "preempt_mode_given", first=45),
    F("priority", _priority, "priority_job_factor", "priority_tier"),
    F("timeouts", _timeouts, "resume_timeout", "suspend_timeout"), F("topology", always(""), first=43),
    F("partition", _state, "state_up", last=44), F("suspend_time", number),
)  # fmt: skip
"""Key, how it is made of which of the daemon's fields, and its versions; in the order of the recordings."""
