"""What sinfo can show of a group of nodes: one row a column.

Mirrors sinfo 22.05; rows with `since` came later. A column's fields say how a group has them (see `groups`):
``first:`` of its first node, ``low:`` and ``high:`` over all, ``part:`` of its partition, ``n:`` and ``cpu:`` counts,
``list:`` names together. `Column.group` names what is kept apart when the column is asked for.
"""

from __future__ import annotations

from slurmsim.commands.text import node_state_text
from slurmsim.commands.text.clock_text import clock
from slurmsim.commands.text.print_fields import NULL, Column
from slurmsim.commands.text.print_fields import column_of as C
from slurmsim.commands.text.units import quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.text.clock_text import Dates


class Show:
    """What all rows of one printing have in common.

    Parameters
    ----------
    dates
        Formatter of dates.
    convert
        Numbers may be given in larger units.
    digits
        Most characters of a plain number (the buffers of 22.05 are shorter).
    cluster
        The cluster's name if it was asked for by name.
    exclusive
        The word for the sharing of a partition with exclusive nodes.
    mixed_fails
        A node that fails is FAILING also with jobs on a part of it.
    """

    __slots__ = ("cluster", "convert", "dates", "digits", "exclusive", "mixed_fails")

    def __init__(
        self, dates: Dates, *, convert: bool, digits: int, cluster: str | None, exclusive: str, mixed_fails: bool
    ) -> None:
        self.dates, self.convert, self.digits, self.cluster = dates, convert, digits, cluster
        self.exclusive, self.mixed_fails = exclusive, mixed_fails


def _least(show: Show, low: int | None, high: int | None) -> str:
    """``8``, or ``8+`` where nodes differ; in larger units."""
    text = quantity(low or 0, "", convert=show.convert)
    return text if low == high else f"{text}+"


def _least_plain(show: Show, low: int | None, high: int | None) -> str:
    text = str(low or 0)[: show.digits]
    return text if low == high else f"{text}+"


def _load(_: Show, low: int | None, high: int | None) -> str:
    low_text, high_text = ("N/A" if value is None else f"{value / 100:.2f}" for value in (low, high))
    return high_text if low == high else f"{low_text}-{high_text}"


def _range(_: Show, low: int | None, high: int | None) -> str:
    low_text, high_text = ("N/A" if value is None else str(value) for value in (low, high))
    return high_text if low == high else f"{low_text}-{high_text}"


def _counts(_: Show, *counts: int) -> str:
    return "/".join(map(str, counts))


def _or_all(_: Show, text: str | None) -> str:
    return text or "all"


def _time(_: Show, minutes: int | None) -> str:
    return "infinite" if minutes is None else clock(minutes * 60)


def _size(show: Show, low: int | None, high: int | None) -> str:
    low = max(low or 0, 1) if high is None or high > 0 else low or 0
    text = quantity(low, "", convert=show.convert)
    if high is None:
        return f"{text}-infinite"
    return text if low == high else f"{text}-{quantity(high, '', convert=show.convert)}"


def _oversubscribe(show: Show, word: str | None, share: int | None) -> str:
    if word == "EXCLUSIVE" or share == 0:
        return show.exclusive
    if word == "FORCE":
        return f"FORCE:{share or 1}"
    return "NO" if word in (None, "NO") or share == 1 else f"YES:{share}"


def partition_text(name: str | None, default: object, width: int = 0) -> str:
    """Return a partition's name, with a star if it is the default one; a full column gives its last place to the star.

    >>> partition_text("batch", True), partition_text("batch", True, 5), partition_text("batch", False, 5)
    ('batch*', 'batc*', 'batch')
    """
    text = "n/a" if name is None else name
    if not default:
        return text
    return f"{text}*" if width <= 0 or len(text) < width else f"{text[: width - 1]}*"


def _user_long(_: Show, name: str | None, uid: int | None, total: int) -> str:
    if not total:
        return "root(0)"
    return "Unknown" if name is None else f"{name}({uid})"


def _state_compact(show: Show, base: str | None, flags: Sequence[str] | None) -> str:
    return "n/a" if base is None else node_state_text.compact(base, flags or (), mixed_fails=show.mixed_fails).lower()


def _state_long(show: Show, base: str | None, flags: Sequence[str] | None) -> str:
    return "n/a" if base is None else node_state_text.long(base, flags or (), mixed_fails=show.mixed_fails).lower()


def _state_complete(_: Show, base: str | None, flags: Sequence[str] | None) -> str:
    return "n/a" if base is None else node_state_text.complete(base, flags or ()).lower()


def _text(_: Show, value: str | None) -> str:
    return value or ""


def _number(_: Show, value: int | None) -> str:
    return str(value or 0)


_STATE = ("first:state", "first:state_flags")
_SHARE = ("part:over_subscribe", "part:max_share")
_AI = ("n:alloc", "n:idle")
_AIOT = (*_AI, "n:other", "n:total")
_SCT = ("low:sockets", "high:sockets", "low:cores", "high:cores", "low:threads", "high:threads")

COLUMNS: tuple[Column, ...] = (
    C("ALLOCMEM", "last:alloc_memory", render=_number, names=("allocmem",), group="alloc_mem"),
    C("ALLOCNODES", "part:allow_alloc_nodes", render=_or_all, letter="S", names=("allocnodes",)),
    C("AVAIL", "part:state_up", render=lambda _, state: (state or "unknown").lower(), letter="a", names=("available",),
      group="avail"),
    C("CLUSTER", "n:total", render=lambda show, _: show.cluster or "N/A", letter="V", names=("cluster",)),
    C("COMMENT", "first:comment", names=("comment",), group="comment"),
    C("CORES", "low:cores", "high:cores", render=_least, letter="Y", names=("cores",), group="cores"),
    C("CPUS", "low:cpus", "high:cpus", render=_least, letter="c", names=("cpus",), group="cpus"),
    C("CPU_LOAD", "low:cpu_load", "high:cpu_load", render=_load, letter="O", names=("cpusload",), group="cpu_load"),
    C("CPUS(A/I/O/T)", "cpu:alloc", "cpu:idle", "cpu:other", "cpu:total", render=_counts, letter="C",
      names=("cpusstate",), group="cpus"),
    C("DEFAULTTIME", "part:default_time",
      render=lambda _, minutes: "n/a" if minutes is not None and minutes < 0 else _time(_, minutes), letter="L",
      names=("defaulttime",),
      group="default_time"),
    C("TMP_DISK", "low:tmp_disk", "high:tmp_disk", render=_least_plain, letter="d", names=("disk",), group="disk"),
    C("EXTRA", "first:extra", names=("extra",), group="extra"),
    C("AVAIL_FEATURES", "first:features", letter="f", names=("features",), group="features"),
    C("ACTIVE_FEATURES", "first:features_act", letter="b", names=("features_act",), group="features_act"),
    C("FREE_MEM", "low:free_mem", "high:free_mem", render=_range, letter="e", names=("freemem",), group="free_mem"),
    C("GRES", "first:gres", letter="G", names=("gres",), group="gres"),
    C("GRES_USED", "first:gres_used", names=("gresused",), group="gres_used"),
    C("GROUPS", "part:allow_groups", render=_or_all, letter="g", names=("groups",), group="groups"),
    C("MAX_CPUS_PER_NODE", "part:max_cpus_per_node",
      render=lambda _, count: "UNLIMITED" if count is None else str(count), letter="B", names=("maxcpuspernode",),
      group="max_cpus_per_node"),
    C("MEMORY", "low:real_memory", "high:real_memory",
      render=lambda _, low, high: str(low or 0) if low == high else f"{low}+", letter="m", names=("memory",),
      group="memory"),
    C("NODE_ADDR", "list:node_addr", render=_text, letter="o", names=("nodeaddr",), header_uncut=True,
      group="node_addr"),
    C("NODES(A/I)", *_AI, render=_counts, letter="A", names=("nodeai",)),
    C("NODES(A/I/O/T)", *_AIOT, render=_counts, letter="F", names=("nodeaiot",)),
    C("HOSTNAMES", "list:node_hostname", render=_text, letter="n", names=("nodehost",), header_uncut=True,
      group="hostnames"),
    C("NODELIST", "list:name", render=_text, letter="N", names=("nodelist",), header_uncut=True),
    C("NODES", "n:total", letter="D", names=("nodes",)),
    C("OVERSUBSCRIBE", *_SHARE, render=_oversubscribe, letter="h", names=("oversubscribe", "share"),
      group="oversubscribe", until="24.05"),
    C("OVERSUBSCRIBE", *_SHARE, render=_oversubscribe, letter="h", names=("oversubscribe",), since="24.05"),
    C("OVERSUBSCRIBE", *_SHARE, render=_oversubscribe, names=("share",), group="oversubscribe", since="24.05"),
    C("PARTITION", "part:name", "part:default", render=lambda _, name, default: partition_text(name, default),
      letter="P", names=("partition",),
      group="partition"),
    C("PARTITION", "part:name", letter="R", names=("partitionname",), group="partition"),
    C("PORT", "first:port", render=_number, names=("port",), group="port"),
    C("PREEMPT_MODE", "part:preempt_mode", letter="M", names=("preemptmode",), group="preempt_mode"),
    C("PRIO_JOB_FACTOR", "part:priority_job_factor", render=_number, letter="I", names=("priorityjobfactor",),
      group="priority_job_factor"),
    C("PRIO_TIER", "part:priority_tier", render=_number, letter="p", names=("prioritytier",), group="priority_tier"),
    C("REASON", "first:reason", render=lambda _, reason: "none" if not reason or reason.startswith(NULL) else reason,
      letter="E", names=("reason",), group="reason"),
    C("RESERVATION", "first:resv_name", render=_text, letter="i", names=("reservation",), group="resv_name",
      since="23.02"),
    C("ROOT", "part:root_only", render=lambda _, value: "yes" if value else "no", letter="r", names=("root",),
      group="root"),
    C("JOB_SIZE", "part:min_nodes", "part:max_nodes", render=_size, letter="s", names=("size",), group="job_size"),
    C("SOCKETS", "low:sockets", "high:sockets", render=_least, letter="X", names=("sockets",), group="sockets"),
    C("S:C:T", *_SCT, render=lambda show, *ranges: ":".join(_least(show, ranges[i], ranges[i + 1]) for i in (0, 2, 4)),
      letter="z", names=("socketcorethread",), group="sct"),
    C("STATE", *_STATE, render=_state_compact, letter="t", names=("statecompact",), group="state"),
    C("STATECOMPLETE", *_STATE, render=_state_complete, names=("statecomplete",), group="statecomplete"),
    C("STATE", *_STATE, render=_state_long, letter="T", names=("statelong",), group="state"),
    C("THREADS", "low:threads", "high:threads", render=_least, letter="Z", names=("threads",), group="threads"),
    C("TIMELIMIT", "part:max_time", render=_time, letter="l", names=("time",), group="max_time"),
    C("TIMESTAMP", "first:reason_time", render=lambda show, when: show.dates(when) if when else "Unknown", letter="H",
      names=("timestamp",), group="timestamp"),
    C("USER", "first:reason_user", "n:total", render=lambda _, name, total: name or ("Unknown" if total else "root"),
      letter="u", names=("user",), group="reason_user"),
    C("USER", "first:reason_user", "first:reason_uid", "n:total", render=_user_long, letter="U", names=("userlong",),
      group="reason_user"),
    C("VERSION", "first:version", render=lambda _, value: value or "N/A", letter="v", names=("version",),
      group="version"),
    C("WEIGHT", "low:weight", "high:weight", render=_least_plain, letter="w", names=("weight",), group="weight"),
)  # fmt: skip
