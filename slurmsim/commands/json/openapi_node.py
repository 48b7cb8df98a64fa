"""``sinfo --json`` of Slurm 22.05 (OpenAPI v0.0.38): every node with every field, whatever else was asked."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, Io, text_of
from slurmsim.commands.json import versions
from slurmsim.commands.json.openapi_job import frame, same, text, write
from slurmsim.commands.json.versions import count, field, words
from slurmsim.commands.text.node_state_text import BASES, listed_flags
from slurmsim.records import FIRST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def dump_nodes(form: str, io: Io, release: str) -> int:
    """Print all nodes; the exit code."""
    fields = versions.needed(ROWS)
    try:
        answer = io.client.call("nodes", fields=fields, show_all=True)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_node: {text_of(error)}")
        return 1
    entries = [versions.record(ROWS, row, FIRST) for row in versions.rows(answer, fields)]
    write(io, form, frame(release, "nodes", entries))
    return 0


def _base(state: str | None) -> str:
    return (state if state in BASES else "invalid").lower() if state else "invalid"


def _flags(state: str | None, flags: Sequence[str] | None) -> list[str]:
    return listed_flags(flags or ()) if state in BASES else []


def _nothing(value: str | None) -> str | None:
    return value or None


R = field
ROWS = (
    R("architecture", text, "arch"), R("burstbuffer_network_address", text, "bcast_address"), R("boards", count),
    R("boot_time", count), R("comment", text), R("cores", count), R("cpu_binding", count, "cpu_bind"),
    R("cpu_load", count), R("extra", text), R("free_memory", count, "free_mem"), R("cpus", count),
    R("last_busy", count), R("features", text), R("active_features", text, "features_act"), R("gres", text),
    R("gres_drained", lambda gres: gres or "N/A", "gres_drain"), R("gres_used", text), R("mcs_label", text),
    R("name", text), R("next_state_after_reboot", _base, "next_state"), R("address", text, "node_addr"),
    R("hostname", text, "node_hostname"), R("state", _base), R("state_flags", _flags, "state", "state_flags"),
    R("next_state_after_reboot_flags", versions.always([])), R("operating_system", text, "os"), R("owner", same),
    R("partitions", words), R("port", count), R("real_memory", count), R("reason", text),
    R("reason_changed_at", count, "reason_time"), R("reason_set_by_user", _nothing, "reason_user"),
    R("slurmd_start_time", count), R("sockets", count), R("threads", count), R("temporary_disk", count, "tmp_disk"),
    R("weight", count), R("tres", text, "tres_fmt_str"), R("slurmd_version", text, "version"), R("alloc_memory", count),
    R("alloc_cpus", count), R("idle_cpus", lambda cpus, used: (cpus or 0) - (used or 0), "cpus", "alloc_cpus"),
    R("tres_used", _nothing, "alloc_tres_fmt_str"),
    R("tres_weighted", lambda told, used: float(used or 0 if told is None else told), "tres_weighted", "alloc_cpus"),
)  # fmt: skip
"""Key, record fields, and how the value is made, in the order of the document."""
