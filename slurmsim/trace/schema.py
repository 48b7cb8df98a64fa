"""Columns of the trace a run leaves behind, and the version of that schema.

Everything that writes or reads a trace uses these tables; `docs/trace-schema.md` explains each column.
Types: int64 unless said; "text" is dictionary-coded UTF-8. Times are int64 seconds on the workload's clock.
"""

from __future__ import annotations

SCHEMA_VERSION = 3

# jobs.parquet: one row a job or array task, in the order jobs reach their final state (the never finished last); and
# one a refused submission, in state REFUSED.
# requeued.parquet, with the same columns: one row a run that ended in a requeue, and one (state RESIZING) a size a job
# had before it got another; `start` is when that run or size began.
JOBS: dict[str, tuple[str, str]] = {
    "job_id": ("int64", "job id"),
    "array_job_id": ("int64?", "id of the array, null when not an array task"),
    "array_task_id": ("int64?", "index in the array"),
    "name": ("text", "job name"),
    "user": ("text", "user"),
    "account": ("text", "account"),
    "partition": ("text", "partition it ran in; while pending the one(s) asked for"),
    "qos": ("text", "QOS"),
    "nodes": ("int64", "nodes allocated; requested minimum when it never started"),
    "cpus": ("int64", "CPUs allocated; requested when it never started"),
    "gpus": ("int64", "GPUs allocated; requested when it never started"),
    "mem_mib": ("int64", "memory allocated over all nodes, MiB; requested when it never started"),
    "cpus_per_node": ("text", "CPUs allocated on each node in node order, run-length as Slurm writes it: 4(x2),2"),
    "mem_per_node_mib": ("text", "memory allocated on each node, MiB, run-length in the same way"),
    "gres_per_node": ("text", "GRES allocated on each node, one for all: gpu:a100:2,nvme:1; empty when none"),
    "req_nodes": ("int64", "nodes asked for, at least"),
    "req_cpus": ("int64", "CPUs asked for"),
    "req_gpus": ("int64", "GPUs asked for"),
    "req_mem_mib": ("int64?", "memory asked for over all those nodes or CPUs, MiB; null when no amount was named"),
    "time_limit_s": ("int64?", "time limit in force at the end, seconds; null when unlimited"),
    "submit": ("int64", "when it was submitted"),
    "last_submit": ("int64", "submit time of this run's record in Slurm's accounting: the last requeue, else submit"),
    "begin": ("int64?", "begin time in force: asked for, or set by a requeue; null when none"),
    "eligible": ("int64?", "eligible time, null when never eligible"),
    "start": ("int64?", "last start, null when it never started"),
    "end": ("int64?", "end, null when it had not ended"),
    "state": ("text", "final state, or the state when the run stopped, or REFUSED"),
    "exit_code": ("text", "code:signal"),
    "node_list": ("text", "allocated nodes as a hostlist expression"),
    "reason": ("text", "reason at the end; of a refused submission Slurm's message"),
    "priority": ("int64", "priority at start, or at the end of the run"),
    "restarts": ("int64", "how often it was requeued"),
    "run_time_s": ("int64?", "end - start, less the time it was suspended"),
    "wait_s": ("int64?", "start - submit"),
    "scheduler": ("text", "Main, Backfill or the policy that started it; Reservation: apart from the policy"),
    "held_since": ("int64?", "since when it had these nodes: its start, the boot before it, or its last resize"),
    "reservation": ("text", "reservation it named, or the one it ran in"),
    "licenses": ("text", "licenses it holds while running: mat:2,flu:1"),
}

# events.parquet: every state change and decision, in time order.
EVENTS: dict[str, tuple[str, str]] = {
    "time": ("int64", "when"),
    "event": (
        "text",
        "SUBMIT REFUSE ELIGIBLE START END REQUEUE CANCEL REASON PLAN PRIORITY NODE LIMIT HOLD RELEASE"
        " READY RESIZE POWER RESERVATION SUSPEND RESUME PREEMPT",
    ),
    "job_id": ("int64?", "job, null for node events and reservations"),
    "state": (
        "text",
        "job state after it; node state for NODE; for RESERVATION CREATED UPDATED STARTED ENDED DELETED "
        "REMOVED REFUSED",
    ),
    "reason": ("text", "reason after it; for RESERVATION its name and flags, or why it was refused"),
    "partition": ("text", "partition concerned"),
    "nodes": ("text", "node list, for START, RESIZE, REQUEUE, PLAN, NODE, POWER and RESERVATION"),
    "value": (
        "int64?",
        "START: jobs it overtook (backfill depth); PLAN: planned start; PRIORITY: new priority; "
        "RESERVATION: end of its period",
    ),
    "scheduler": ("text", "Main, Backfill or the policy, for decisions"),
}

# usage.parquet: a step series; a row holds from its time to the next row of the same partition.
USAGE: dict[str, tuple[str, str]] = {
    "time": ("int64", "when"),
    "partition": ("text", "partition, or empty for the whole cluster"),
    "alloc_nodes": ("int64", "nodes with at least one running job"),
    "idle_nodes": ("int64", "usable nodes without a job, and those powering down or off"),
    "down_nodes": ("int64", "nodes down, drained, failed or in maintenance, without a job"),
    "alloc_cpus": ("int64", "CPUs allocated on the partition's nodes"),
    "alloc_gpus": ("int64", "GPUs allocated on the partition's nodes"),
    "alloc_mem_mib": ("int64", "memory allocated on the partition's nodes, MiB"),
    "running_jobs": ("int64", "jobs running in the partition"),
    "pending_jobs": ("int64", "jobs pending for the partition"),
    "off_nodes": ("int64", "nodes powered down"),
    "powering_nodes": ("int64", "nodes powering down or up"),
}

# shares.parquet, only if asked for: one row an association, at runs of slurmctld's priority thread.
SHARES: dict[str, tuple[str, str]] = {
    "time": ("int64", "when"),
    "account": ("text", "account"),
    "user": ("text", "user, empty for the account itself"),
    "partition": ("text", "partition, if the association is of one only"),
    "used_s": ("int64", "billing-seconds used, decayed, cut to whole ones (sshare's RawUsage)"),
    "used_ppm": ("int64", "millionths of all usage (NormUsage)"),
    "fair_share_ppm": ("int64?", "fair-share factor in millionths, null for accounts (FairShare)"),
}

INSTANTS = ("submit", "last_submit", "begin", "eligible", "start", "end", "held_since", "time")
"""Columns that hold a time of day, and not a length of time: dates where the workload has them."""

SUMMARY_KEYS: tuple[str, ...] = (
    "jobs", "completed", "timeout", "cancelled", "failed", "node_fail", "never_started", "first_submit", "last_end",
    "makespan_s", "utilization", "utilization_central", "mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s",
    "mean_wait_so_far_s",
    "mean_turnaround_s", "mean_slowdown", "mean_bounded_slowdown", "unfinished",
    "refused", "dropped", "requeues", "requeued_cpu_s", "wall_s", "jobs_per_s", "passes",
    "backfilled",
    "peak_rss_bytes", "policy", "seed",
)  # fmt: skip
