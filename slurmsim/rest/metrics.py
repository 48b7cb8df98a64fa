"""Metrics for Prometheus: 26.05's own names below ``/metrics/``, and at ``/metrics`` those of an exporter.

Names, order and labels are those of recordings of slurmctld 26.05 (MetricsType=metrics/openmetrics). Values are in the
units it prints, MiB where it says bytes. What is not counted here is 0, as in sdiag. The exporter is vpenso's
prometheus-slurm-exporter: dashboards know its names, and every release has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from slurmsim.protocol import Client
from slurmsim.rest.messages import TEXT, Answer, plain

Lines = list[str]
_STATES = [
    "bootfail", "cancelled", "completed", "completing", "configuring", "cpus_alloc", "deadline", "expediting",
    "failed", "fed_requeued", "finished", "gpus_alloc", "hold"
]  # fmt: skip
_MORE = [
    "memory_alloc", "node_failed", "nodes_alloc", "outofmemory", "pending", "powerup_node", "preempted",
    "requeued", "resizing", "revoked", "running", "signaling", "stageout", "started", "suspended", "timeout"
]  # fmt: skip
_OF_STATE = {
    "bootfail": "BOOT_FAIL", "cancelled": "CANCELLED", "completed": "COMPLETED", "deadline": "DEADLINE",
    "failed": "FAILED", "node_failed": "NODE_FAIL", "outofmemory": "OUT_OF_MEMORY", "pending": "PENDING",
    "preempted": "PREEMPTED", "running": "RUNNING", "suspended": "SUSPENDED", "timeout": "TIMEOUT",
}  # fmt: skip
_LIVE = frozenset(("PENDING", "RUNNING", "SUSPENDED"))
_MEASURED = {"cpus_alloc": "cpus", "gpus_alloc": "gpus", "memory_alloc": "memory", "started": "started"}
_PARTITION_JOBS = [
    "bootfail", "cancelled", "completed", "completing", "configuring", "cpus_alloc", "gpus_alloc", "deadline",
    "expediting", "failed", "fed_requeued", "finished", "hold", "max_job_nodes", "max_job_nodes_nohold",
    "memory_alloc", "min_job_nodes", "min_job_nodes_nohold", "node_failed", "outofmemory", "pending",
    "powerup_node", "preempted", "requeued", "resizing", "revoked", "running", "signaling", "stageout", "started",
    "suspended", "timeout", "wait_part_node_limit"
]  # fmt: skip
_NODE_COUNTS = [
    "alloc", "blocked", "completing", "cloud", "down", "drain", "drained", "draining", "dyn_future", "dyn_normal",
    "external", "fail", "future", "idle", "invalid_reg", "maint", "mixed", "noresp", "planned", "power_down",
    "power_up", "powered_down", "powering_up", "reboot_issued", "reboot_req", "resv", "unknown"
]  # fmt: skip
_PARTITION_NODES = [
    "alloc", "blocked", "cg", "cloud", "cpus_efctv", "cpus_idle", "cpus_alloc", "down", "drain", "drained",
    "draining", "dyn_future", "dyn_normal", "external", "fail", "future", "idle", "invalid_reg", "maint",
    "mem_alloc", "mem_avail", "mem_free", "mem_tot", "mixed", "no_resp", "planned", "power_down", "power_up",
    "powered_down", "powering_down", "powering_up", "reboot_issued", "reboot_requested", "resv", "unknown"
]  # fmt: skip
_SCHEDULER = [
    "agent_cnt", "agent_queue_size", "agent_thread_cnt", "bf_depth_mean", "bf_mean_cycle", "bf_mean_table_sz",
    "bf_queue_len_mean", "bf_try_depth_mean", "backfilled_het_jobs", "backfilled_jobs", "bf_active",
    "bf_cycle_cnt", "bf_cycle_last", "bf_cycle_max", "bf_cycle_tot", "bf_depth_tot", "bf_depth_try_tot",
    "bf_last_depth", "bf_last_depth_try", "bf_queue_len", "bf_queue_len_tot", "bf_table_size",
    "bf_table_size_tot", "bf_when_last_cycle", "sdiag_jobs_canceled", "sdiag_jobs_completed", "sdiag_jobs_failed",
    "sdiag_jobs_pending", "sdiag_jobs_running", "sdiag_jobs_started", "sdiag_jobs_submitted",
    "sdiag_job_states_ts", "last_backfilled_jobs", "sdiag_latency", "schedule_cycle_cnt", "schedule_cycle_depth",
    "schedule_cycle_last", "schedule_cycle_max", "schedule_cycle_tot", "schedule_queue_len", "sched_exit_end",
    "sched_exit_max_depth", "sched_exit_max_job_start", "sched_exit_lic", "sched_exit_rpc_cnt",
    "sched_exit_timeout", "bf_exit_end", "bf_exit_max_job_start", "bf_exit_max_job_test", "bf_exit_state_changed",
    "bf_exit_table_limit", "bf_exit_timeout", "sched_mean_cycle", "sched_mean_depth_cycle", "server_thread_cnt",
    "slurmdbd_queue_size", "last_proc_req_start", "sched_stats_timestamp"
]  # fmt: skip
_COUNTED = {
    "backfilled_jobs": "backfilled", "last_backfilled_jobs": "backfilled", "bf_cycle_cnt": "bf_cycles",
    "bf_when_last_cycle": "bf_last", "sdiag_jobs_canceled": "canceled", "sdiag_jobs_completed": "completed",
    "sdiag_jobs_failed": "failed", "sdiag_jobs_pending": "pending", "sdiag_jobs_running": "running",
    "sdiag_jobs_started": "started", "sdiag_jobs_submitted": "submitted", "sdiag_job_states_ts": "states_at",
    "schedule_cycle_cnt": "main_cycles", "schedule_queue_len": "queue_length", "last_proc_req_start": "since",
    "sched_stats_timestamp": "now",
}  # fmt: skip
_FLAG = {
    "completing": "COMPLETING", "cg": "COMPLETING", "drain": "DRAIN", "fail": "FAIL", "maint": "MAINTENANCE",
    "noresp": "NOT_RESPONDING", "no_resp": "NOT_RESPONDING", "planned": "PLANNED", "powered_down": "POWERED_DOWN",
    "powering_up": "POWERING_UP", "powering_down": "POWERING_DOWN", "reboot_issued": "REBOOT_ISSUED",
    "reboot_req": "REBOOT_REQUESTED", "reboot_requested": "REBOOT_REQUESTED", "resv": "RESERVED",
}  # fmt: skip
_BASE = {"alloc": "ALLOCATED", "down": "DOWN", "idle": "IDLE", "mixed": "MIXED"}
_NODE_FIELDS = ("name", "state", "state_flags", "cpus", "cpus_efctv", "alloc_cpus", "real_memory", "mem_spec_limit",
                "alloc_memory", "free_mem", "gres", "gres_used")  # fmt: skip
_PARTITION_FIELDS = ("name", "node_names", "total_cpus", "total_nodes")


class Jobs:
    """Counts of jobs by what they have in common."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._rows = [
            (dict(zip(("state", "flag", "user", "account", "partition", "kind"), row[:6], strict=True)),
             dict(zip(("jobs", "records", "started", "cpus", "memory", "gpus"), row[6:], strict=True)))
            for row in answer["groups"]
        ]  # fmt: skip
        self._nodes = {(kind, name): count for kind, name, count in answer["nodes"]}
        self.waiting_nodes = {name: (low, high) for name, low, high in answer["waiting_nodes"]}

    def names(self, what: str) -> list[str]:
        """Users, accounts or partitions that have jobs, in the order in which they came."""
        return list(dict.fromkeys(key[what] for key, _ in self._rows))

    def sums(self, what: str = "", name: str = "") -> Counter[str]:
        """Every count of those of one user, account or partition, or of all."""
        found: Counter[str] = Counter()
        for key, values in self._rows:
            if what and key[what] != name:
                continue
            jobs = values["jobs"]
            found[key["state"]] += jobs
            found["jobs"] += jobs
            found["records"] += values["records"]
            found["live_records"] += values["records"] if key["state"] in _LIVE else 0
            found["finished"] += jobs if key["state"] not in _LIVE else 0
            found["hold"] += jobs if key["kind"] == "held" else 0
            found["dependency"] += jobs if key["kind"] == "dependency" else 0
            for measure in ("started", "cpus", "memory", "gpus"):
                found[measure] += values[measure]
            found["requeued"] += jobs if key["flag"] == "REQUEUED" else 0
        found["nodes_alloc"] = self._nodes.get((what or "all", name), 0)
        return found


def _job_value(counts: Counter[str], name: str) -> int:
    return counts[_OF_STATE.get(name) or _MEASURED.get(name) or name]


def _family(lines: Lines, name: str, samples: Iterable[tuple[str, float]], told: str = "", kind: str = "gauge") -> None:
    """One metric with its samples: the labels in braces, or nothing, and the value."""
    lines.append(f"# HELP {name} {told or name.removeprefix('slurm_').replace('_', ' ')}")
    lines.append(f"# TYPE {name} {kind}")
    lines += [f"{name}{label} {value:g}" if isinstance(value, float) else f"{name}{label} {value}"
              for label, value in samples]  # fmt: skip


def _label(name: str, value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{{name}="{text}"}}'


def _jobs(prefix: str, groups: list[tuple[str, Counter[str]]], lines: Lines) -> None:
    total = "records" if prefix != "slurm_jobs" else "jobs"
    for name in (*_STATES, "", *_MORE):
        full = f"{prefix}_{name}" if name else prefix
        _family(lines, full, [(label, _job_value(counts, name or total)) for label, counts in groups])


class Metrics:
    """Answers below ``/metrics``, of what the daemon tells `client`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pages: dict[str, Callable[[], Lines]] = {
            "/metrics": self.exporter, "/metrics/jobs": self.jobs, "/metrics/nodes": self.nodes,
            "/metrics/partitions": self.partitions, "/metrics/scheduler": self.scheduler,
            "/metrics/jobs-users-accts": self.users,
        }  # fmt: skip

    def answer(self, path: str, release: str) -> Answer | None:
        """Return the page; None where the path is another's."""
        page = self.pages.get(path)
        if page is None:
            return None if not path.startswith("/metrics") else plain(404, f"Invalid or unknown URL path: {path}\n")
        return Answer(200, ("\n".join(page()) + "\n").encode(), TEXT)

    def _counted(self) -> Jobs:
        return Jobs(self.client.call("job_counts"))

    def _rows(self, call: str, fields: tuple[str, ...]) -> list[dict[str, Any]]:
        answer = self.client.call(call, fields=list(fields), show_all=True)
        return [{name: answer["columns"][name][k] for name in fields} for k in range(answer["n"])]

    def jobs(self) -> Lines:
        lines: Lines = []
        _jobs("slurm_jobs", [("", self._counted().sums())], lines)
        return lines

    def users(self) -> Lines:
        """Jobs of each user, then of each account."""
        lines: Lines = []
        jobs = self._counted()
        for what, label in (("user", "username"), ("account", "account")):
            groups = [(_label(label, name), jobs.sums(what, name)) for name in jobs.names(what) if name]
            _jobs(f"slurm_{what}_jobs", groups, lines)
        return lines

    def nodes(self) -> Lines:
        """Return what each node has, and how many are in which state."""
        lines: Lines = []
        rows = self._rows("nodes", _NODE_FIELDS)
        each: tuple[tuple[str, Callable[[dict[str, Any]], int]], ...] = (
            ("cpus", lambda r: r["cpus"]), ("cpus_alloc", lambda r: r["alloc_cpus"]),
            ("cpus_effective", lambda r: r["cpus_efctv"]), ("cpus_idle", lambda r: r["cpus_efctv"] - r["alloc_cpus"]),
            ("gpus", lambda r: _gpus(r["gres"])), ("gpus_alloc", lambda r: _gpus(r["gres_used"])),
            ("memory_alloc_bytes", lambda r: r["alloc_memory"]),
            ("memory_effective_bytes", lambda r: r["real_memory"] - r["mem_spec_limit"]),
            ("memory_free_bytes", lambda r: r["free_mem"]), ("memory_bytes", lambda r: r["real_memory"]),
        )  # fmt: skip
        for name, value in each:
            _family(lines, f"slurm_node_{name}", [(_label("node", r["name"]), value(r)) for r in rows])
        counts = _node_counts(rows)
        _family(lines, "slurm_nodes", [("", len(rows))])
        for name in _NODE_COUNTS:
            _family(lines, f"slurm_nodes_{name}", [("", counts[name])])
        return lines

    def partitions(self) -> Lines:
        """Jobs and nodes of each partition."""
        lines: Lines = []
        jobs = self._counted()
        parts = self._rows("partitions", _PARTITION_FIELDS)
        by_name = {row["name"]: row for row in self._rows("nodes", _NODE_FIELDS)}
        counts = {one["name"]: jobs.sums("partition", one["name"]) for one in parts}
        for name, sums in counts.items():
            low, high = jobs.waiting_nodes.get(name, (0, 0))
            for end in ("", "_nohold"):
                sums[f"max_job_nodes{end}"], sums[f"min_job_nodes{end}"] = high, low
        members = {one["name"]: [by_name[n] for n in one["node_names"] if n in by_name] for one in parts}
        nodes = {name: _node_counts(rows) for name, rows in members.items()}
        labels = {one["name"]: _label("partition", one["name"]) for one in parts}
        _family(lines, "slurm_partitions", [("", len(parts))])
        _family(lines, "slurm_partition_jobs", [(labels[n], c["live_records"]) for n, c in counts.items()])
        for name in _PARTITION_JOBS:
            _family(lines, f"slurm_partition_jobs_{name}", [(labels[n], _job_value(c, name))
                                                           for n, c in counts.items()])  # fmt: skip
        for name in _PARTITION_NODES:
            _family(lines, f"slurm_partition_nodes_{name}", [(labels[n], c[name]) for n, c in nodes.items()])
        _family(lines, "slurm_partition_cpus", [(labels[one["name"]], one["total_cpus"]) for one in parts])
        _family(lines, "slurm_partition_gpus", [(labels[n], sum(_gpus(r["gres"]) for r in rows))
                                                for n, rows in members.items()])  # fmt: skip
        _family(lines, "slurm_partition_nodes", [(labels[one["name"]], one["total_nodes"]) for one in parts])
        return lines

    def scheduler(self) -> Lines:
        """Return what sdiag tells."""
        told = self.client.call("statistics")
        lines: Lines = []
        for name in _SCHEDULER:
            _family(lines, f"slurm_{name}", [("", told.get(_COUNTED.get(name, ""), 0))])
        return lines

    def exporter(self) -> Lines:
        """Return the names of prometheus-slurm-exporter: CPUs, nodes, queue, scheduler, accounts, users, partitions."""
        lines: Lines = []
        rows = self._rows("nodes", _NODE_FIELDS)
        jobs = self._counted()
        cpus = _cpu_counts(rows)
        for name in ("alloc", "idle", "other", "total"):
            _family(lines, f"slurm_cpus_{name}", [("", cpus[name])])
        nodes = _exporter_nodes(rows)
        for name in ("alloc", "comp", "down", "drain", "err", "fail", "idle", "maint", "mix", "resv"):
            _family(lines, f"slurm_nodes_{name}", [("", nodes[name])])
        queue = jobs.sums()
        _family(lines, "slurm_queue_pending", [("", queue["PENDING"])])
        _family(lines, "slurm_queue_pending_dependency", [("", queue["dependency"])])
        for name, state in (("running", "RUNNING"), ("suspended", "SUSPENDED"), ("cancelled", "CANCELLED"),
                            ("completing", "COMPLETING"), ("completed", "COMPLETED"), ("configuring", "CONFIGURING"),
                            ("failed", "FAILED"), ("timeout", "TIMEOUT"), ("preempted", "PREEMPTED"),
                            ("node_fail", "NODE_FAIL")):  # fmt: skip
            _family(lines, f"slurm_queue_{name}", [("", queue[state])])
        self._exporter_scheduler(lines)
        for what in ("account", "user"):
            groups = [(_label(what, name), jobs.sums(what, name)) for name in jobs.names(what) if name]
            for name, key in (("jobs_pending", "PENDING"), ("jobs_running", "RUNNING"), ("cpus_running", "cpus"),
                              ("jobs_suspended", "SUSPENDED")):  # fmt: skip
                _family(lines, f"slurm_{what}_{name}", [(label, counts[key]) for label, counts in groups])
        self._exporter_partitions(lines, rows, jobs)
        return lines

    def _exporter_scheduler(self, lines: Lines) -> None:
        told = self.client.call("statistics")
        known = {"backfilled_jobs_since_start_total": told["backfilled"], "threads": 1,
                 "backfilled_jobs_since_cycle_total": told["backfilled"]}  # fmt: skip
        for name in ("threads", "queue_size", "dbd_queue_size", "last_cycle", "mean_cycle", "cycle_per_minute",
                     "backfill_last_cycle", "backfill_mean_cycle", "backfill_depth_mean",
                     "backfilled_jobs_since_start_total", "backfilled_jobs_since_cycle_total",
                     "backfilled_heterogeneous_total"):  # fmt: skip
            _family(lines, f"slurm_scheduler_{name}", [("", known.get(name, 0))])

    def _exporter_partitions(self, lines: Lines, rows: list[dict[str, Any]], jobs: Jobs) -> None:
        by_name = {row["name"]: row for row in rows}
        parts = self._rows("partitions", _PARTITION_FIELDS)
        counts = {one["name"]: _cpu_counts([by_name[n] for n in one["node_names"] if n in by_name]) for one in parts}
        for name, key in (("allocated", "alloc"), ("idle", "idle"), ("other", "other"), ("total", "total")):
            _family(lines, f"slurm_partition_cpus_{name}", [(_label("partition", n), c[key])
                                                           for n, c in counts.items()])  # fmt: skip
        pending = [(_label("partition", n), jobs.sums("partition", n)["PENDING"]) for n in counts]
        _family(lines, "slurm_partition_jobs_pending", pending)


def _gpus(gres: str | None) -> int:
    """GPUs of ``gpu:a100:4(IDX:0-1)`` and the like."""
    found = 0
    for word in (gres or "").split(","):
        head = word.partition("(")[0].split(":")
        if head[0] == "gpu":
            found += int(head[-1]) if head[-1].isdecimal() else 1
    return found


def _unusable(row: dict[str, Any]) -> bool:
    return row["state"] == "DOWN" or "DRAIN" in row["state_flags"]


def _cpu_counts(rows: list[dict[str, Any]]) -> Counter[str]:
    """CPUs as ``sinfo -o %C`` counts them."""
    found: Counter[str] = Counter()
    for row in rows:
        found["alloc"] += row["alloc_cpus"]
        found["total"] += row["cpus"]
        found["other" if _unusable(row) else "idle"] += row["cpus"] - row["alloc_cpus"]
    return found


def _exporter_nodes(rows: list[dict[str, Any]]) -> Counter[str]:
    """Nodes by the state that sinfo would call them, one each."""
    found: Counter[str] = Counter()
    for row in rows:
        flags = row["state_flags"]
        for name, there in (
            ("maint", "MAINTENANCE" in flags), ("resv", "RESERVED" in flags), ("drain", "DRAIN" in flags),
            ("fail", "FAIL" in flags), ("comp", "COMPLETING" in flags), ("down", row["state"] == "DOWN"),
            ("mix", row["state"] == "MIXED"), ("alloc", row["state"] == "ALLOCATED"), ("idle", True),
        ):  # fmt: skip
            if there:
                found[name] += 1
                break
    return found


def _node_counts(rows: list[dict[str, Any]]) -> Counter[str]:
    """Nodes by base state and by flag, as slurmctld counts them: a node counts for each."""
    found: Counter[str] = Counter()
    for row in rows:
        flags, used = row["state_flags"], bool(row["alloc_cpus"])
        for name, base in _BASE.items():
            found[name] += row["state"] == base
        for name, flag in _FLAG.items():
            found[name] += flag in flags
        found["drained"] += "DRAIN" in flags and not used
        found["draining"] += "DRAIN" in flags and used
        found["cpus_efctv"] += row["cpus_efctv"]
        found["cpus_alloc"] += row["alloc_cpus"]
        found["cpus_idle"] += row["cpus_efctv"] - row["alloc_cpus"]
        found["mem_alloc"] += row["alloc_memory"]
        found["mem_tot"] += row["real_memory"]
        found["mem_avail"] += row["real_memory"] - row["mem_spec_limit"]
        found["mem_free"] += row["free_mem"]
    return found
