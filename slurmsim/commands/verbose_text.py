"""What -v adds: the options as they were understood (22.05's layout)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from slurmsim.release_changes import since

if TYPE_CHECKING:
    from slurmsim.commands import sinfo_options, squeue_options

_RULE = "-" * 29 + "\n"


def squeue_options_text(asked: squeue_options.Asked) -> str:
    """squeue -v, before the table."""
    given = asked.given
    rows = {
        "all         ": asked.all, "array       ": asked.array, "federation  ": "federation" in given,
        "format      ": asked.format, "iterate     ": asked.iterate, "job_flag    ": int(asked.jobs),
        "jobs        ": given.get("j"), "licenses    ": _joined(asked.licenses),
        "local       ": "local" in given or asked.clusters is not None, "names       ": _joined(asked.names),
        "nodes       ": asked.nodes or "", "partitions  ": _joined(asked.partitions), "priority    ": asked.priority,
        "reservation ": asked.reservation, "sibling      ": "sibling" in given, "sort        ": asked.sort,
        "start_flag  ": int(asked.start), "states      ": given.get("t"), "step_flag   ": int(asked.steps),
        "steps       ": given.get("s"), "users       ": given.get("u"), "verbose     ": asked.verbose,
    }  # fmt: skip
    if since(asked.release, "new_options_of_verbose"):
        at = list(rows).index("partitions  ")
        rows = dict([*list(rows.items())[:at], ("only_job_state ", asked.only_state), *list(rows.items())[at:]])
    return f"{_RULE}{_block(rows)}{_RULE}\n\n"


_SINFO_KINDS = (
    ("alloc_mem_flag  ", "alloc_mem"), ("avail_flag      ", "avail"), ("comment_flag    ", "comment"),
    ("cpus_flag       ", "cpus"), ("default_time_flag", "default_time"), ("disk_flag       ", "disk"),
    ("extra_flag      ", "extra"), ("features_flag   ", "features"), ("features_flag_act ", "features_act"),
    ("groups_flag     ", "groups"), ("gres_flag       ", "gres"), ("gres_used_flag  ", "gres_used"),
    ("job_size_flag   ", "job_size"), ("max_time_flag   ", "max_time"), ("memory_flag     ", "memory"),
    ("partition_flag  ", "partition"), ("port_flag       ", "port"),
    ("priority_job_factor_flag   ", "priority_job_factor"), ("priority_tier_flag   ", "priority_tier"),
    ("reason_flag     ", "reason"), ("reason_timestamp_flag ", "timestamp"), ("reason_user_flag ", "reason_user"),
    ("reservation_flag ", "reservation"), ("root_flag       ", "root"), ("oversubscribe_flag      ", "oversubscribe"),
    ("state_flag      ", "state"), ("statecomplete_flag ", "statecomplete"), ("weight_flag     ", "weight"),
)  # fmt: skip


def sinfo_options_text(asked: sinfo_options.Asked, kinds: Iterable[str]) -> str:
    """sinfo -v, before the table; `kinds` are those of the columns."""
    rows = {
        "dead        ": asked.dead, "exact       ": int(asked.exact), "filtering   ": asked.filtering,
        "format      ": asked.format, "iterate     ": asked.iterate, "long        ": asked.long,
        "no_header   ": asked.no_header, "node_field  ": asked.fit_nodes, "node_format ": asked.by_node,
        "nodes       ": _joined(asked.nodes) or "n/a", "part_field  ": asked.fit_partition,
        "partition   ": _joined(asked.partitions) or "n/a", "responding  ": asked.responding,
        "states      ": asked.states_given, "sort        ": asked.sort, "summarize   ": asked.summary,
        "verbose     ": asked.verbose,
    }  # fmt: skip
    present = {*kinds, "reservation"} if asked.reservations else set(kinds)
    kinds_told = list(_SINFO_KINDS)
    if since(asked.release, "new_options_of_verbose"):
        kinds_told.insert([kind for _, kind in kinds_told].index("root"), ("resv_name_flag   ", "resv_name"))
    flags = {name: kind in present for name, kind in kinds_told}
    text = f"{_RULE}{_block(rows)}{_RULE}{_block({'all_flag        ': asked.all, **flags})}{_RULE}\n"
    return text.replace("default_time_flag= ", "default_time_flag =")


def _block(rows: Mapping[str, object]) -> str:
    return "".join(f"{name}= {_word(value)}\n" for name, value in rows.items())


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(null)" if value is None else str(value)


def _joined(words: list[str] | None) -> str | None:
    return None if words is None else ",".join(words)
