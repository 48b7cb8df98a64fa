"""Partitions as data_parser documents have them: ``scontrol show part``, sinfo and ``/slurm/v0.0.4x/partitions``."""

from __future__ import annotations

from slurmsim.commands.json.node import binding
from slurmsim.commands.json.versions import always, count, field, limit, number, placed, text, truth
from slurmsim.records import partition as records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.json.versions import Field, Number
    from slurmsim.records import Field as Row


def _minutes(value: int | None) -> Number:
    return limit(value) if value is None or value >= 0 else number(None)


def _memory(per_cpu: int | None, per_node: int | None) -> int:
    return per_cpu or per_node or 0


def _memory_a_cpu(per_cpu: int | None) -> Number:
    return number(per_cpu or None)


def _memory_a_node(per_cpu: int | None, per_node: int | None) -> Number:
    return number(None if per_cpu else per_node or 0)


def _jobs(kind: str, most: int) -> int:
    """How many jobs may share a resource."""
    return 0 if kind == "EXCLUSIVE" else most if kind in ("YES", "FORCE") else 1


def _jobs_since_45(kind: str, most: int) -> int:
    return 0 if kind == "NO" else _jobs(kind, most)


def _forced(kind: str) -> list[str]:
    return ["force"] if kind == "FORCE" else []


def _states(state: str) -> list[str]:
    return [state]


def _node_sets(names: str) -> str:
    return names


def _exclusive(kind: str, user: bool, topo: bool) -> str:
    return "TOPO" if topo else "NODE" if kind == "EXCLUSIVE" else "USER" if user else "NO"


def _oversubscribe(kind: str, most: int) -> str:
    return "NO" if kind not in ("YES", "FORCE") or (kind == "YES" and most < 2) else f"{kind}:{most}"


def _modes(mode: str, given: bool) -> list[str]:
    if not given:
        return ["CLUSTER_GLOBAL"]
    return ["DISABLED" if word.upper() == "OFF" else word.upper() for word in mode.split(",")]


def _flags(
    default: bool, hidden: bool, root_off: bool, root_only: bool, resv: bool, lln: bool, idle_off: bool
) -> list[str]:  # fmt: skip
    known = {"DEFAULT": default, "HIDDEN": hidden, "NO_ROOT": root_off, "ROOT_ONLY": root_only, "REQ_RESV": resv,
             "LLN": lln, "PDOI": idle_off}  # fmt: skip
    return [word for word, there in known.items() if there]


def _bindings(word: str | None) -> list[str]:
    if not word or binding(word) == 0:
        return []
    name = word.upper().removesuffix("S")
    return ["CPU_BIND_NONE" if name == "NONE" else f"CPU_BIND_TO_{name}S"]


F = field
_DEFAULT, _MOST = ("def_mem_per_cpu", "def_mem_per_node"), ("max_mem_per_cpu", "max_mem_per_node")
_SHARE = ("over_subscribe", "max_share")
_MAKERS = {
    **dict.fromkeys(("text", "names", "node list"), text),
    **dict.fromkeys(("told", "count", "small count", "node count"), count),
    **dict.fromkeys(("limit", "node limit"), limit), **dict.fromkeys(("minutes over", "seconds", "memory"), number),
    "minutes": _minutes, "flag": truth,
}  # fmt: skip
_COMPOSED = {
    "defaults.partition_memory_per_cpu": (
        F("cluster", always("")), F("select_type", always([]), first=41, last=44),
        F("select_type", always(["NONE"]), first=45), F("cpus.task_binding", binding, "cpu_bind", last=44),
        F("cpus.task_binding", _bindings, "cpu_bind", first=45), F("cpus.total", count, "total_cpus"),
        F("defaults.memory_per_cpu", _memory, *_DEFAULT),
        F("defaults.partition_memory_per_cpu", _memory_a_cpu, "def_mem_per_cpu"),
    ),
    "defaults.partition_memory_per_node": (F("defaults.partition_memory_per_node", _memory_a_node, *_DEFAULT),),
    "defaults.job": (F("defaults.job", always("")),),  # the text of scontrol alone has them
    "grace_time": (
        F("flags", _flags, "default", "hidden", "disable_root_jobs", "root_only", "req_resv", "lln",
          "power_down_on_idle", first=45),
        F("partition.exclusive", _exclusive, "over_subscribe", "exclusive_user", "exclusive_topo",
          first=45),
        F("partition.oversubscribe", _oversubscribe, *_SHARE, first=45),
        F("partition.state", _states, "state_up", first=45),
    ),
    "maximums.partition_memory_per_cpu": (
        F("maximums.memory_per_cpu", _memory, *_MOST),
        F("maximums.partition_memory_per_cpu", _memory_a_cpu, "max_mem_per_cpu"),
    ),
    "maximums.partition_memory_per_node": (F("maximums.partition_memory_per_node", _memory_a_node, *_MOST),),
    "maximums.time": (
        F("maximums.shares", _jobs, *_SHARE, last=44), F("maximums.shares", _jobs_since_45, *_SHARE, first=45),
        F("maximums.oversubscribe.jobs", _jobs, *_SHARE, last=44),
        F("maximums.oversubscribe.jobs", _jobs_since_45, *_SHARE, first=45),
        F("maximums.oversubscribe.flags", _forced, "over_subscribe"),
    ),
    "priority.job_factor": (
        F("node_sets", _node_sets, "node_sets"),
        F("preempt_mode", _modes, "preempt_mode", "preempt_mode_given", first=45),
    ),
    "topology": (F("topology", text, "topology", first=43), F("partition.state", _states, "state_up", last=44)),
}  # fmt: skip
"""Place -> what stands before it, or there, and is made of several fields or of none."""


def table(rows: Sequence[Row] = records.PARTITION) -> tuple[Field, ...]:
    """Return the places of a document, how each is made of which of the daemon's fields, and its versions."""
    return placed(rows, _MAKERS, _COMPOSED)


PARTITION = table()  # in the order of the recordings; `slurmsim.commands.json.versions.nested` makes documents of it
