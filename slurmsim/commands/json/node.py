"""Nodes as data_parser documents have them: ``scontrol show node`` and ``/slurm/v0.0.4x/nodes``."""

from __future__ import annotations

from slurmsim.commands.json.versions import always, at_least_zero, count, field, limit, number, placed, text, words
from slurmsim.commands.text.node_state_text import BASES, listed_flags
from slurmsim.records import node as records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmsim.commands.json.versions import Record


def states(state: str | None, flags: Sequence[str] | None) -> list[str]:
    """Return the base state, then its flags."""
    return [state, *listed_flags(flags or ())] if state in BASES else ["INVALID"]


def _next(state: str | None) -> list[str]:
    return [state] if state else ["INVALID"]


def _energy(watts: int | None) -> Record:
    return {
        "average_watts": 0, "base_consumed_energy": 0, "consumed_energy": 0, "current_watts": number(watts or 0),
        "previous_consumed_energy": 0, "last_collected": 0,
    }  # fmt: skip


def _idle(cpus: int, used: int) -> int:
    return cpus - used


def _na(value: str | None) -> str:
    return value or "N/A"


def _user(reason: str | None, user: str | None) -> str:
    return user or "" if reason else ""


CPU_BINDINGS = {"thread": 2, "core": 4, "socket": 8, "ldom": 16, "none": 32}


def binding(word: str | None) -> int:
    """CpuBind as the number of its flag."""
    return CPU_BINDINGS.get((word or "").removesuffix("s"), 0)


F = field
_KINDS: dict[str, Callable[..., Any]] = {
    "text": text, "words": words, "count": count, "number": number, "limit": limit,
    **dict.fromkeys(("time", "delay"), at_least_zero),
}  # fmt: skip
_COMPOSED = {
    "boards": (F("burstbuffer_network_address", always("")),),
    "cores": (F("tls_cert_last_renewal", always(number(0)), first=43), F("cluster_name", always(""))),
    "cpu_binding": (F("cpu_binding", binding, "cpu_bind"),),
    "energy": (F("energy", _energy, "current_watts"), F("external_sensors", always({}), last=44)),
    "features": (F("power", always({}), last=44),),
    "gres": (F("cert_flags", always([]), first=43), F("gpu_spec", always(""), first=41)),
    "gres_used": (F("gres_drained", _na, "gres_drain"),),
    "next_state_after_reboot": (F("next_state_after_reboot", _next, "next_state"),),
    "state": (F("state", states, "state", "state_flags"),),
    "comment": (F("res_cores_per_gpu", always(0), first=41),),
    "reason_set_by_user": (F("reason_set_by_user", _user, "reason", "reason_user"),),
    "suspend_time": (F("alloc_idle_cpus", _idle, "cpus_efctv", "alloc_cpus"),),
    "slurmd_start_time": (F("tres_weighted", float, "weighted_cpus", last=44),),
    "topology": (F("topology", always(""), first=43),),
}  # fmt: skip
"""Place -> what stands before it, or there, and is made of several fields or of none."""
NODE = placed(records.NODE, _KINDS, _COMPOSED)  # in the order of the recordings
