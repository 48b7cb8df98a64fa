"""Job states, pending reasons and node states with Slurm's names and squeue's short codes.

Mirrors the tables of Slurm's job state documentation (22.05). All are
plain strings grouped in classes: traces, commands and the core compare and hash them millions of times.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class JobState:
    """Base states of a job, as squeue's %T prints them; `COMPACT` has %t."""

    PENDING: Final = "PENDING"
    RUNNING: Final = "RUNNING"
    SUSPENDED: Final = "SUSPENDED"
    COMPLETED: Final = "COMPLETED"
    CANCELLED: Final = "CANCELLED"
    FAILED: Final = "FAILED"
    TIMEOUT: Final = "TIMEOUT"
    NODE_FAIL: Final = "NODE_FAIL"
    PREEMPTED: Final = "PREEMPTED"
    BOOT_FAIL: Final = "BOOT_FAIL"
    DEADLINE: Final = "DEADLINE"
    OUT_OF_MEMORY: Final = "OUT_OF_MEMORY"


COMPACT: dict[str, str] = {
    "PENDING": "PD", "RUNNING": "R", "SUSPENDED": "S", "COMPLETED": "CD", "CANCELLED": "CA", "FAILED": "F",
    "TIMEOUT": "TO", "NODE_FAIL": "NF", "PREEMPTED": "PR", "BOOT_FAIL": "BF", "DEADLINE": "DL",
    "OUT_OF_MEMORY": "OOM",
}  # fmt: skip
"""State -> squeue's %t, in the order of Slurm's numbers for states, which begin at 0."""
# Words of records, never of a job the controller knows: of a run that ended in a requeue, as Slurm's accounting calls
# it; and of a submission that was refused, of which Slurm keeps no record at all.
REQUEUED: Final = "REQUEUED"
# What squeue shows for a pending job that was held because its reservation ended or was deleted.
RESV_DEL_HOLD: Final = "RESV_DEL_HOLD"
REFUSED: Final = "REFUSED"
RESIZING: Final = "RESIZING"  # the record of a size a job had before it got another
SPECIAL_EXIT: Final = "SPECIAL_EXIT"  # how a job is shown that was requeued into that hold; it is pending

_LIVE = frozenset({JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED})
# the states no job leaves except by being requeued
FINAL_STATES = frozenset(COMPACT) - _LIVE

# The one table of legal moves (job life cycle, section 1). Anything else raises and changes nothing.
TRANSITIONS: dict[str, frozenset[str]] = {
    JobState.PENDING: frozenset(
        {JobState.RUNNING, JobState.CANCELLED, JobState.DEADLINE, JobState.FAILED, JobState.BOOT_FAIL}
    ),
    JobState.RUNNING: frozenset(FINAL_STATES | {JobState.SUSPENDED, JobState.PENDING}),
    JobState.SUSPENDED: frozenset(FINAL_STATES | {JobState.RUNNING, JobState.PENDING}),
    **{s: frozenset({JobState.PENDING}) for s in FINAL_STATES},
}


class Reason:
    """Why a job waits or ended, as squeue %r prints it. Texts with a node list are built where they arise."""

    NONE: Final = "None"
    PRIORITY: Final = "Priority"
    RESOURCES: Final = "Resources"
    DEPENDENCY: Final = "Dependency"
    DEPENDENCY_NEVER: Final = "DependencyNeverSatisfied"
    BEGIN_TIME: Final = "BeginTime"
    ARRAY_TASK_LIMIT: Final = "JobArrayTaskLimit"
    HELD_USER: Final = "JobHeldUser"
    HELD_ADMIN: Final = "JobHeldAdmin"
    HOLD_MAX_REQUEUE: Final = "JobHoldMaxRequeue"
    REQUEUED_HELD: Final = "job requeued in held state"
    LAUNCH_FAILED: Final = "launch failed requeued held"
    LICENSES: Final = "Licenses"
    RESERVATION: Final = "Reservation"
    REQ_NODE_NOT_AVAIL: Final = "ReqNodeNotAvail"
    PARTITION_DOWN: Final = "PartitionDown"
    PARTITION_INACTIVE: Final = "PartitionInactive"
    PARTITION_NODE_LIMIT: Final = "PartitionNodeLimit"
    PARTITION_TIME_LIMIT: Final = "PartitionTimeLimit"
    PARTITION_CONFIG: Final = "PartitionConfig"
    BAD_CONSTRAINTS: Final = "BadConstraints"
    QOS_USAGE_THRESHOLD: Final = "QOSUsageThreshold"
    MAX_MEM_PER_LIMIT: Final = "MaxMemPerLimit"
    NON_ZERO_EXIT: Final = "NonZeroExitCode"
    TIME_LIMIT: Final = "TimeLimit"
    NODE_DOWN: Final = "NodeDown"
    DEADLINE: Final = "DeadLine"
    OUT_OF_MEMORY: Final = "OutOfMemory"
    LAUNCH_FAILURE: Final = "JobLaunchFailure"


# reasons of jobs that wait for their release
HELD_REASONS = frozenset({
    Reason.HELD_USER, Reason.HELD_ADMIN, Reason.HOLD_MAX_REQUEUE, Reason.REQUEUED_HELD, Reason.LAUNCH_FAILED,
})  # fmt: skip
# what a partition holds against a job until the partition or the job changes
PARTITION_REASONS = frozenset({
    Reason.PARTITION_NODE_LIMIT, Reason.PARTITION_TIME_LIMIT, Reason.PARTITION_CONFIG, Reason.PARTITION_DOWN,
    Reason.PARTITION_INACTIVE,
})  # fmt: skip
# squeue %r prints this description instead of the code (main scheduler, fewer usable nodes than needed).
NODES_REQUIRED_TEXT = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
# as many nodes are idle as the job needs, but no block, ring or box of a torus has them (26.05)
NO_UNIT_TEXT = "No suitable topology unit found"
NO_UNIT_OF_SEGMENTS_TEXT = "No suitable topology unit found for segment"
RESOURCES_TEXTS = (NODES_REQUIRED_TEXT, NO_UNIT_TEXT, NO_UNIT_OF_SEGMENTS_TEXT)
"""What jobs say in place of Resources."""


def deleted_reservation(name: str) -> str:
    """Return the reason of a job after its reservation was deleted."""
    return f"Reservation {name} was deleted"


def is_held(reason: str) -> bool:
    """Return True if a job with this reason waits for its release."""
    return reason in HELD_REASONS or reason[-12:] == " was deleted"


def shown_state(state: str, reason: str) -> str:
    """Return the state squeue prints for a job in `state` with `reason`.

    >>> shown_state("PENDING", "Reservation r1 was deleted"), shown_state("RUNNING", "None")
    ('RESV_DEL_HOLD', 'RUNNING')
    """
    return RESV_DEL_HOLD if state == JobState.PENDING and reason.endswith(" was deleted") else state
