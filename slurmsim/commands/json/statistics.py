"""``sdiag --json`` of Slurm 24.11 and 26.05; counters that are not kept are 0."""

from __future__ import annotations

from slurmsim.commands.json import frame as dump_frame
from slurmsim.commands.json.frame import number
from slurmsim.commands.json.versions import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.io import Io


_ORDER = [
    "parts_packed",
    "req_time",
    "req_time_start",
    "server_thread_count",
    "agent_queue_size",
    "agent_count",
    "agent_thread_count",
    "dbd_agent_queue_size",
    "gettimeofday_latency",
    "schedule_cycle_max",
    "schedule_cycle_last",
    "schedule_cycle_sum",
    "schedule_cycle_total",
    "schedule_cycle_mean",
    "schedule_cycle_mean_depth",
    "schedule_cycle_per_minute",
    "schedule_cycle_depth",
    "schedule_exit",
    "schedule_queue_length",
    "jobs_submitted",
    "jobs_started",
    "jobs_completed",
    "jobs_canceled",
    "jobs_failed",
    "jobs_pending",
    "jobs_running",
    "job_states_ts",
    "bf_backfilled_jobs",
    "bf_last_backfilled_jobs",
    "bf_backfilled_het_jobs",
    "bf_cycle_counter",
    "bf_cycle_mean",
    "bf_depth_mean",
    "bf_depth_mean_try",
    "bf_cycle_sum",
    "bf_cycle_last",
    "bf_cycle_max",
    "bf_exit",
    "bf_last_depth",
    "bf_last_depth_try",
    "bf_depth_sum",
    "bf_depth_try_sum",
    "bf_queue_len",
    "bf_queue_len_mean",
    "bf_queue_len_sum",
    "bf_table_size",
    "bf_table_size_sum",
    "bf_table_size_mean",
    "bf_when_last_cycle",
    "bf_active",
    "rpcs_by_message_type",
    "rpcs_by_user",
    "pending_rpcs",
    "pending_rpcs_by_hostlist",
]
_MAIN_EXIT = ("end_job_queue", "default_queue_depth", "max_job_start", "max_rpc_cnt", "max_sched_time", "licenses")
_BF_EXIT = (
    "end_job_queue",
    "bf_max_job_start",
    "bf_max_job_test",
    "bf_max_time",
    "bf_node_space_size",
    "state_changed",
)


_SINCE_41 = frozenset({"schedule_cycle_sum", "schedule_cycle_depth", "bf_cycle_max", "bf_table_size_sum",
                       "pending_rpcs", "pending_rpcs_by_hostlist"})  # fmt: skip


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return the requests of a kind or a user as v0.0.40 counts them."""
    later = ("queued", "dropped", "cycle_last", "cycle_max")
    return {key: value["number"] if key == "average_time" else value for key, value in row.items() if key not in later}


def _exits(names: Sequence[str], cycles: int) -> dict[str, int]:
    """Why cycles ended: each at the end of the queue, which is all that is counted."""
    return {name: cycles if at == 0 else 0 for at, name in enumerate(names)}


def dump_statistics(s: dict[str, Any], form: str, io: Io, release: str, argv: list[str], parser: str = "") -> int:
    """Print them; the exit code."""
    known: dict[str, Any] = dict.fromkeys(_ORDER, 0)
    known |= {f"jobs_{name}": s[name] for name in ("submitted", "started", "completed", "canceled", "failed")}
    known |= {
        "parts_packed": 1, "req_time": number(s["now"]), "req_time_start": number(s["since"]), "server_thread_count": 1,
        "schedule_cycle_total": s["main_cycles"], "schedule_exit": _exits(_MAIN_EXIT, s["main_cycles"]),
        "schedule_queue_length": s["queue_length"], "jobs_pending": s["pending"], "jobs_running": s["running"],
        "job_states_ts": number(s["states_at"]), "bf_backfilled_jobs": s["backfilled"],
        "bf_last_backfilled_jobs": s["backfilled"], "bf_backfilled_het_jobs": s["backfilled_het"],
        "bf_cycle_counter": s["bf_cycles"],
        "bf_exit": _exits(_BF_EXIT, s["bf_cycles"]), "bf_when_last_cycle": number(s["bf_last"]), "bf_active": False,
        "rpcs_by_message_type": [
            {"type_id": kind, "message_type": name, "count": count, "queued": 0, "dropped": 0, "cycle_last": 0,
             "cycle_max": 0, "total_time": 0, "average_time": number(0)}
            for name, kind, count in s["rpcs"]
        ],
        "rpcs_by_user": [
            {"user_id": uid, "user": name, "count": count, "total_time": 0, "average_time": number(0)}
            for name, uid, count in s["users"]
        ],
        "pending_rpcs": [], "pending_rpcs_by_hostlist": [],
    }  # fmt: skip
    version = chosen("sdiag", parser, release, io)
    left_out = {"parts_packed"} if version >= 45 else _SINCE_41 if version < 41 else frozenset()
    if version < 41:
        for kind in ("rpcs_by_message_type", "rpcs_by_user"):
            known[kind] = [_plain(row) for row in known[kind]]
    entries = {"statistics": {name: value for name, value in known.items() if name not in left_out}}
    cluster = str(io.client.call("hello").get("cluster") or "")
    dump_frame.write(io, form, release, entries, ["sdiag", *argv], cluster, version=version)
    return 0
