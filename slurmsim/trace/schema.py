"""Columns of the trace a run leaves behind, and the version of that schema: the one table of columns there is.

The writer takes names, order and types from here, the reader what it may fill in, the validator what it reads, and
`slurmsim.trace.document` the tables of `docs/trace-schema.md`. A new column is a row here with `since` the next
`SCHEMA_VERSION`, and its value by name where rows are made: `slurmsim.sim.recorder` for jobs, `slurmsim.sim.shares`,
and the core for events and usage.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

SCHEMA_VERSION = 8
OLDEST = 3  # traces of this version are still read


class Column(NamedTuple):
    """One column."""

    # ``int64`` (never null), ``int64?`` (may be null), or ``text``: dictionary-coded UTF-8, empty instead of null
    kind: str
    # ``time`` is an instant in seconds on the workload's clock; ``s``, ``MiB``, ``ppm`` (millionths), ``mW``
    # (milliwatts), ``J``; "" for counts, ids and names
    unit: str
    meaning: str  # for `docs/trace-schema.md`
    since: int = 3  # first schema version that has it. Traces before are read with nulls or empty texts in its place.


Table = Mapping[str, Column]

# fmt: off
# One row a job or array task, in the order jobs reach their final state (the never finished last); and one a refused
# submission, in state REFUSED.
JOBS: Table = {
    "job_id": Column("int64", "", "Job id; of an array task its own id, unique in the table."),
    "array_job_id": Column("int64?", "", "Id of the array the task belongs to; null for a job that is no array task."),
    "array_task_id": Column("int64?", "", "Index within the array; null for a job that is no array task."),
    "name": Column("text", "", "Job name."),
    "user": Column("text", "", "User name."),
    "account": Column("text", "", "Account charged."),
    "partition": Column("text", "",
        "Partition it ran in; of a job that never started the one or ones (comma list) it asked for."),
    "qos": Column("text", "", "QOS."),
    "nodes": Column("int64", "", "Nodes allocated; of a job that never started the minimum it asked for."),
    "cpus": Column("int64", "",
        "CPUs allocated over all nodes (all of a node's when it has the node to itself); of a job that never "
        "started those it asked for."),
    "gpus": Column("int64", "", "GPUs allocated over all nodes; of a job that never started those it asked for."),
    "mem_mib": Column("int64", "MiB",
        "Memory allocated over all nodes, MiB; of a job that never started what it asked for."),
    "cpus_per_node": Column("text", "",
        "CPUs allocated on each node, in the order of `node_list`, run-length coded as Slurm does: `4(x2),2` is 4, "
        "4, 2."),
    "mem_per_node_mib": Column("text", "MiB", "Memory allocated on each node, MiB, coded in the same way."),
    "gres_per_node": Column("text", "",
        "GRES allocated on each node, one text for all: `gpu:a100:2,nvme:1`; where nodes have different counts these "
        "are coded as `cpus_per_node` is: `gpu:2,1(x3)`; empty when none."),
    "req_nodes": Column("int64", "", "Nodes asked for, at least."),
    "req_cpus": Column("int64", "", "CPUs asked for: tasks times CPUs a task."),
    "req_gpus": Column("int64", "", "GPUs asked for."),
    "req_mem_mib": Column("int64?", "MiB",
        "Memory asked for over those nodes or CPUs, MiB; null when no amount was named (a default applies, or "
        "`--mem=0`)."),
    "time_limit_s": Column("int64?", "s", "Time limit in force at the end, seconds; null when unlimited."),
    "submit": Column("int64", "time", "When it was submitted; a requeue does not change it."),
    "last_submit": Column("int64", "time",
        "Submit time of this run's record in Slurm's accounting: that of the last requeue before it, else `submit`."),
    "begin": Column("int64?", "time",
        "Begin time in force: asked for (`--begin`), or set by the last requeue; null when none."),
    "eligible": Column("int64?", "time",
        "When it could first have started on an empty machine (begin time reached, dependencies met, not held); "
        "null when never."),
    "start": Column("int64?", "time", "Last start; null when it never started."),
    "end": Column("int64?", "time",
        "When it ended, or was cancelled while pending; null when it had not ended when the run stopped."),
    "state": Column("text", "",
        "Final state, or the state when the run stopped, by Slurm's name: `COMPLETED`, `TIMEOUT`, …; `REFUSED` is "
        "ours, see above."),
    "exit_code": Column("text", "", "Exit status and signal as Slurm writes them: `0:0`, `1:0`, `0:15`."),
    "node_list": Column("text", "", "Nodes allocated at the last start, as a hostlist expression: `n[01-03,7]`."),
    "reason": Column("text", "", "Reason at the end, in squeue's words; of a refused submission Slurm's message."),
    "priority": Column("int64", "", "Priority when it started, or when the run stopped."),
    "restarts": Column("int64", "", "How often it was requeued after a start."),
    "run_time_s": Column("int64?", "s",
        "`end - start` of the last run, less the time it was suspended, seconds; null unless it has both."),
    "wait_s": Column("int64?", "s", "`start - submit`, seconds; null when it never started."),
    "scheduler": Column("text", "",
        "Who started it: `Main`, `Backfill`, the name of an event-driven policy, or `Reservation` for a job of a "
        "reservation under such a policy; empty when it never started."),
    "held_since": Column("int64?", "time",
        "Since when it had the nodes of this row: its start; earlier where they had to boot first; later where it "
        "was resized. Null when it never started."),
    "reservation": Column("text", "",
        "The reservation it ran in or waits for, as `squeue` shows it: the name or names it asked for, or the "
        "magnetic one it joined."),
    "licenses": Column("text", "", "Licenses it asked for and holds while it runs: `mat:2,flu:1`."),
    "layout": Column("text", "",
        "Units of the job on each node, in the order of `node_list`, coded as `cpus_per_node` is, where a policy laid "
        "it out; every unit has the same demand. Empty where no policy did.", 4),
    "arrived": Column("int64?", "time",
        "When its stream came to it: `submit`, or earlier where it then waited in the stream's buffer. Null for a job "
        "of no stream.", 4),
    "cpus_per_task": Column("int64?", "",
        "CPUs that a task counts for: those asked for (`--cpus-per-task`), or more where its memory or its GPUs bring "
        "them (MaxMemPerCPU, `--cpus-per-gpu`). All threads of a core count where it uses fewer.", 5),
    "threads_per_core": Column("int64?", "",
        "Threads of each core that it uses, where it says so (`--threads-per-core`, `--hint`): it has whole cores, and "
        "`req_cpus` are the threads it uses. Null for all threads.", 6),
}

# Every state change and decision, in time order.
EVENTS: Table = {
    "time": Column("int64", "time", "When."),
    "event": Column("text", "", "What: see below."),
    "job_id": Column("int64?", "", "The job; null for events of nodes and reservations."),
    "state": Column("text", "",
        "State of the job after the event; for `NODE` that of the nodes; for `RESERVATION` what became of it: "
        "`CREATED`, `UPDATED`, `STARTED`, `ENDED`, `DELETED`, `REMOVED` or `REFUSED`."),
    "reason": Column("text", "",
        "Reason of the job, or of the nodes' state, after the event; of a reservation its name, a blank and its "
        "flags (`CORES` for one of parts of nodes), or why it was refused."),
    "partition": Column("text", "", "Partition concerned."),
    "nodes": Column("text", "",
        "Nodes concerned, as a hostlist expression: for `START`, `RESIZE`, `REQUEUE`, `MIGRATE`, `PLAN`, `NODE`, "
        "`POWER` and `RESERVATION`."),
    "value": Column("int64?", "", "A number that belongs to the event: see below."),
    "scheduler": Column("text", "",
        "Who decided: `Main`, `Backfill` or the name of a policy; empty for an event without a decision."),
}

# What column `event` of EVENTS may say: when it is noted, and what `value` holds then.
EVENT_KINDS: Mapping[str, tuple[str, str]] = {
    "SUBMIT": ("the job came into being", ""),
    "REFUSE": ("a submission was refused, with Slurm's message as its reason; it has no other event", ""),
    "ELIGIBLE": ("its begin time and dependencies are met and it is not held", ""),
    "START": ("it got its nodes", "how many jobs ahead of it in the queue stayed pending: the backfill depth"),
    "READY": (
        "its nodes have booted; its processes start and its limit counts from now (only where nodes were powered "
        "down)",
        ""),
    "RESIZE": ("it has fewer or more nodes from now on", ""),
    "END": ("it reached its final state", ""),
    "REQUEUE": ("it lost its nodes and is pending again", ""),
    "SUSPEND": (
        "it stands still, and keeps memory and GRES; `scheduler` is `Gang`, `Budget` for want of watts, a policy, "
        "or empty when an administrator did it",
        ""),
    "RESUME": ("it goes on", ""),
    "PREEMPT": ("it has to make way, at once or after its grace time", "the job it makes way for"),
    "CANCEL": (
        "it was cancelled; by a policy (`scheduler`) at once, or at the end of its grace time",
        "the grace time a policy gave it, seconds"),
    "MIGRATE": ("a policy requeued it, and its next runs have nodes out of `nodes` alone", ""),
    "HOLD": ("it was held", ""),
    "RELEASE": ("it was released", ""),
    "REASON": ("its reason changed", ""),
    "PLAN": (
        "it got a planned start; `sched/backfill` tells the first one it makes, and makes none that no start "
        "depends on",
        "the planned start"),
    "PRIORITY": ("its priority changed", "the new priority"),
    "LIMIT": ("its time limit was changed", "the new limit, seconds"),
    "CAP": ("the cap of its processors changed", "the new cap, milliwatts"),
    "BUDGET": ("the power budget changed; it has no job", "the new budget, milliwatts"),
    "NODE": ("nodes went down, were drained, are reserved or in maintenance, or came back", ""),
    "POWER": (
        "nodes begin to power down (`POWERING_DOWN`), are off (`POWERED_DOWN`), begin to boot (`POWERING_UP`) or "
        "are up (IDLE)",
        ""),
    "RESERVATION": (
        "a reservation was created, updated, deleted or refused; its period has started (a further such row: its "
        "nodes changed) or ended; it is gone: the state says which",
        "the end of its period"),
}

# A step series; a row holds from its time to the next row of the same partition.
USAGE: Table = {
    "time": Column("int64", "time", "When."),
    "partition": Column("text", "", "Partition, or empty for the whole cluster."),
    "alloc_nodes": Column("int64", "", "Nodes with at least one running job."),
    "idle_nodes": Column("int64", "", "Usable nodes without a job, and those powering down or off."),
    "down_nodes": Column("int64", "", "Nodes without a job that are down, drained, failed or in maintenance."),
    "alloc_cpus": Column("int64", "", "CPUs allocated on the partition's nodes, whichever partition's job holds them."),
    "alloc_gpus": Column("int64", "", "GPUs allocated on the partition's nodes."),
    "alloc_mem_mib": Column("int64", "MiB", "Memory allocated on the partition's nodes, MiB."),
    "running_jobs": Column("int64", "", "Jobs running in the partition."),
    "pending_jobs": Column("int64", "",
        "Jobs pending for the partition; one that asks for two partitions counts in both, once in the whole."),
    "off_nodes": Column("int64", "", "Nodes powered down; they count as idle too, or as down."),
    "powering_nodes": Column("int64", "",
        "Nodes powering down, which count as idle, or powering up, most of them for a job that has them already."),
}

# One row an association, at runs of slurmctld's priority thread.
SHARES: Table = {
    "time": Column("int64", "time", "When."),
    "account": Column("text", "", "Account."),
    "user": Column("text", "", "User; empty in the row of the account itself."),
    "partition": Column("text", "", "Partition of an association that is of one partition only; else empty."),
    "used_s": Column("int64", "s", "Billing-seconds used, decayed, cut to whole ones: RawUsage of `sshare`."),
    "used_ppm": Column("int64", "ppm", "Its part of all usage in millionths: NormUsage of `sshare -l`."),
    "fair_share_ppm": Column("int64?", "ppm",
        "Fair-share factor in millionths: FairShare of `sshare`; null for accounts."),
}
# One row a stretch of a job's run in which it had the same nodes, cap and watts, in the order in which they end.
PHASES: Table = {
    "job_id": Column("int64", "", "The job."),
    "start": Column("int64", "time", "Since when."),
    "end": Column("int64?", "time", "Until when; null of a job that still ran when the run stopped."),
    "nodes": Column("int64", "", "Its nodes."),
    "cap_mw": Column("int64", "mW", "What the processors of each may draw."),
    "charged_mw": Column("int64", "mW",
        "What it counts for in the budget: caps and what its nodes draw beside; while its data move the larger of "
        "before and after."),
    "drawn_mw": Column("int64", "mW", "What it draws by the model of its application."),
}
# One row a run that is over, in a run in which jobs make checkpoints, in the order in which they end.
CHECKPOINTS: Table = {
    "job_id": Column("int64", "", "The job."),
    "start": Column("int64", "time", "Start of the run."),
    "end": Column("int64", "time", "Its end: in a requeue, or that of the job."),
    "cpus": Column("int64", "", "CPUs allocated over all nodes."),
    "from_s": Column("int64", "s", "Work that was saved when it began."),
    "work_s": Column("int64", "s", "Work it did."),
    "saved_s": Column("int64", "s",
        "Work that is saved at its end, by its checkpoints; all of a job that has done all its work."),
    "overhead_s": Column("int64", "s", "Time it wrote checkpoints, and read the one it began from."),
}
# One row a job of the workload, kept before the run began: what the run may not change.
INPUTS: Table = {
    "job_id": Column("int64", "", "The job."),
    "submit": Column("int64?", "time", "When it is submitted; null where that follows from another job's end."),
    "user": Column("text", "", "User name."),
    "time_limit_s": Column("int64?", "s",
        "Time limit it asks for, one year for UNLIMITED; null where the partition or the policy decides."),
    "nodes": Column("int64?", "", "Nodes it asks for at least; null for none, or where the policy decides."),
    "cpus": Column("int64?", "", "CPUs it asks for: tasks times CPUs a task; null for none."),
    "run_time_s": Column("int64?", "s", "How long it runs; null where that is unknown, or depends on its shape."),
    "log_start": Column("int64?", "time", "When it started by the log, to compare with; null where unknown.", 7),
    "log_end": Column("int64?", "time", "When it ended by the log; null where unknown.", 7),
}

# Further columns of a run in which power is known.
POWER: Mapping[str, Table] = {
    "jobs": {
        "energy_j": Column("int64", "J", "What it used up in all its runs, by the model, to the nearest joule."),
    },
    "usage": {
        "charged_mw": Column("int64?", "mW",
            "What counts against the budget: jobs, and nodes without one. Null in rows of partitions, as the next "
            "three."),
        "drawn_mw": Column("int64?", "mW", "What nodes with jobs draw by the model."),
        "idle_mw": Column("int64?", "mW", "What nodes without a job draw that are not powered down."),
        "budget_mw": Column("int64?", "mW", "The budget in force; null for none."),
    },
    "inputs": {
        "watts": Column("text", "", "What it was measured to draw, as the workload says it; empty for nothing.", 8),
    },
}
# fmt: on

# A table of the trace is a file NAME.parquet. Rows of `requeued` are runs that ended in a requeue, and (state RESIZING)
# sizes a job had before it got another; `start` is when that run or size began.
TABLES: Mapping[str, Table] = {
    "jobs": JOBS,
    "events": EVENTS,
    "usage": USAGE,
    "requeued": JOBS,
    "shares": SHARES,
    "phases": PHASES,
    "inputs": INPUTS,
    "checkpoints": CHECKPOINTS,
}
# Tables a run has only if it is asked for them, knows of power or checkpoints, or comes from a workload.
OPTIONAL = ("shares", "phases", "inputs", "checkpoints")


def fields(table: str, power: bool) -> Table:
    """Return the columns of a table in a run that knows of power, or in one that does not."""
    return {**TABLES[table], **POWER[table]} if power and table in POWER else TABLES[table]


def readable(version: object) -> TypeGuard[int]:
    """Return True if traces of this schema version can be read."""
    return isinstance(version, int) and OLDEST <= version <= SCHEMA_VERSION


def versions() -> str:
    """Return the readable versions, for messages: ``version 3``, ``version 3 to 5``."""
    return f"version {OLDEST}" if OLDEST == SCHEMA_VERSION else f"version {OLDEST} to {SCHEMA_VERSION}"


SUMMARY_KEYS: tuple[str, ...] = (
    "jobs", "completed", "timeout", "cancelled", "failed", "node_fail", "never_started", "first_submit", "last_end",
    "makespan_s", "utilization", "utilization_central", "mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s",
    "mean_wait_so_far_s", "mean_buffer_s",
    "mean_turnaround_s", "mean_slowdown", "mean_bounded_slowdown", "unfinished",
    "refused", "dropped", "requeues", "requeued_cpu_s", "goodput", "lost_cpu_s", "useful_share",
    "checkpoint_cpu_s", "jain_users", "users_slowdown_spread",
    "gpu_utilization", "gpu_stranded", "energy_j", "co2_kg", "energy_cost", "node_cost", "idle_node_cost",
    "cancelled_waiting", "ended_waiting", "waiting", "stopped",
    "wall_s", "jobs_per_s", "passes",
    "backfilled",
    "peak_rss_bytes", "policy", "seed", "fair_start_jobs", "unfair_share", "mean_unfair_wait_s",
)  # fmt: skip
