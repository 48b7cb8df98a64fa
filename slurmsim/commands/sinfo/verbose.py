"""What sinfo -v adds: the options as they were understood (22.05's layout)."""

from __future__ import annotations

from slurmsim.commands.sinfo.options import Asked
from slurmsim.commands.text.verbose_text import RULE, block, joined
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_KINDS = (
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


def options_text(asked: Asked, kinds: Iterable[str]) -> str:
    """Return the lines before the table; `kinds` are those of the columns."""
    rows = {
        "dead        ": asked.dead, "exact       ": int(asked.exact), "filtering   ": asked.filtering,
        "format      ": asked.format, "iterate     ": asked.iterate, "long        ": asked.long,
        "no_header   ": asked.no_header, "node_field  ": asked.fit_nodes, "node_format ": asked.by_node,
        "nodes       ": joined(asked.nodes) or "n/a", "part_field  ": asked.fit_partition,
        "partition   ": joined(asked.partitions) or "n/a", "responding  ": asked.responding,
        "states      ": asked.states_given, "sort        ": asked.sort, "summarize   ": asked.summary,
        "verbose     ": asked.verbose,
    }  # fmt: skip
    present = {*kinds, "reservation"} if asked.reservations else set(kinds)
    kinds_told = list(_KINDS)
    if since(asked.release, "new_options_of_verbose"):
        kinds_told.insert([kind for _, kind in kinds_told].index("root"), ("resv_name_flag   ", "resv_name"))
    flags = {name: kind in present for name, kind in kinds_told}
    text = f"{RULE}{block(rows)}{RULE}{block({'all_flag        ': asked.all, **flags})}{RULE}\n"
    return text.replace("default_time_flag= ", "default_time_flag =")
