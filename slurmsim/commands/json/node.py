"""Nodes as data_parser documents have them: ``scontrol show node`` and ``/slurm/v0.0.4x/nodes``."""

from __future__ import annotations

from slurmsim.commands.json.versions import (
    always,
    at_least_zero,
    count,
    field,
    limit,
    number,
    text,
    words,
)  # fmt: skip
from slurmsim.commands.text.node_state_text import BASES, listed_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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


F = field
NODE = (
    F("architecture", text, "arch"), F("burstbuffer_network_address", always("")), F("boards", count),
    F("boot_time", at_least_zero), F("tls_cert_last_renewal", always(number(0)), first=43),
    F("cluster_name", always("")), F("cores", count), F("specialized_cores", count, "core_spec_cnt"),
    F("cpu_binding", always(0)), F("cpu_load", count), F("free_mem", number), F("cpus", count),
    F("effective_cpus", count, "cpus_efctv"), F("specialized_cpus", text, "cpu_spec_list"),
    F("energy", _energy, "current_watts"), F("external_sensors", always({}), last=44), F("extra", text),
    F("power", always({}), last=44), F("features", words), F("active_features", words, "features_act"),
    F("cert_flags", always([]), first=43), F("gpu_spec", always(""), first=41), F("gres", text),
    F("gres_drained", _na, "gres_drain"), F("gres_used", text), F("instance_id", always("")),
    F("instance_type", always("")), F("last_busy", at_least_zero), F("mcs_label", text),
    F("specialized_memory", count, "mem_spec_limit"), F("name", text),
    F("next_state_after_reboot", _next, "next_state"), F("address", text, "node_addr"),
    F("hostname", text, "node_hostname"), F("state", states, "state", "state_flags"),
    F("operating_system", text, "os"), F("owner", text), F("partitions", words), F("port", count),
    F("real_memory", count), F("res_cores_per_gpu", always(0), first=41), F("comment", text), F("reason", text),
    F("reason_changed_at", at_least_zero, "reason_time"),
    F("reason_set_by_user", _user, "reason", "reason_user"), F("resume_after", at_least_zero),
    F("reservation", text, "resv_name"), F("alloc_memory", count), F("alloc_cpus", count),
    F("alloc_idle_cpus", _idle, "cpus_efctv", "alloc_cpus"), F("suspend_time", limit, first=45),
    F("tres_used", text, "alloc_tres_fmt_str"), F("tres_weighted", float, "alloc_cpus", last=44),
    F("slurmd_start_time", at_least_zero), F("sockets", count), F("threads", count),
    F("temporary_disk", count, "tmp_disk"), F("weight", count), F("topology", always(""), first=43),
    F("tres", text, "tres_fmt_str"), F("version", text),
)  # fmt: skip
"""Key, how it is made of which of the daemon's fields, and its versions; in the order of the recordings."""
