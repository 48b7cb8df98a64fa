"""What each pending reason means, in one sentence: which rule of Slurm's keeps the job waiting.

Sources: the controller's reasons as real Slurm 22.05 shows them (job_scheduler.c, acct_policy.c, backfill.c).
"""

from __future__ import annotations

from slurmsim.metrics.timelines import BOOTING, RUNNING
from slurmsim.states import NO_UNIT_OF_SEGMENTS_TEXT, NO_UNIT_TEXT, NODES_REQUIRED_TEXT, RESOURCES_TEXTS, Reason

FIRST_IN_LINE = (Reason.RESOURCES, *RESOURCES_TEXTS)
"""Reasons of a job that waits for nodes, with no job before it in its line."""
IN_LINE = (Reason.NONE, Reason.PRIORITY, *FIRST_IN_LINE)  # what jobs show that stand in line

_RULES: dict[str, str] = {
    RUNNING: "it had nodes, and was requeued",
    BOOTING: "it has its nodes; some were powered down and come up",
    Reason.NONE: "not looked at yet: the next scheduling pass decides",
    Reason.PRIORITY: "others are before it in its partition and wait for nodes; only backfill may let it pass",
    Reason.RESOURCES: "first in line of its partition: the nodes it needs are busy",
    NODES_REQUIRED_TEXT: "the nodes it needs are down, drained, or kept for waiting jobs of higher priority in "
    "partitions that share them",
    NO_UNIT_TEXT: "first in line of its partition: enough nodes are idle, but they do not lie together as its network "
    "wants it",
    NO_UNIT_OF_SEGMENTS_TEXT: "first in line of its partition: enough nodes are idle, but no unit of its network has "
    "room for its segments",
    Reason.DEPENDENCY: "a job it depends on has not ended yet",
    Reason.DEPENDENCY_NEVER: "a job it depends on ended in a way that can never fulfil the dependency",
    Reason.BEGIN_TIME: "its begin time had not come (asked for, or the delay of a requeue)",
    Reason.ARRAY_TASK_LIMIT: "as many tasks of its array were running as the array's %N allows (shown until the task "
    "is tried again: with jobs before it that block its partition that may be long)",
    Reason.HELD_USER: "held by its user",
    Reason.HELD_ADMIN: "held by an administrator",
    Reason.HOLD_MAX_REQUEUE: "held after too many automatic requeues",
    Reason.REQUEUED_HELD: "requeued by an administrator to wait held (requeuehold)",
    Reason.LAUNCH_FAILED: "requeued because it could not be launched, to wait held",
    Reason.LICENSES: "a license it asks for was in use",
    Reason.RESERVATION: "the reservation it names was not active, or full",
    Reason.PARTITION_DOWN: "its partition was down",
    Reason.PARTITION_INACTIVE: "its partition was inactive",
    Reason.PARTITION_NODE_LIMIT: "it asks for more or fewer nodes than its partition allows",
    Reason.PARTITION_TIME_LIMIT: "its time limit is above the partition's MaxTime",
    Reason.PARTITION_CONFIG: "its partition is not configured for what it asks",
    Reason.BAD_CONSTRAINTS: "no node could ever serve it; held",
    Reason.MAX_MEM_PER_LIMIT: "it asks for more memory a CPU or node than is allowed",
    "InvalidAccount": "its account or association is not valid",
    "InvalidQOS": "its QOS is not valid",
    "QOSNotAllowed": "its QOS may not use the partition",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSUsageThreshold": "its fair-share factor is below the QOS UsageThreshold",
}


def is_limit(reason: str) -> bool:
    family = reason.startswith(("Assoc", "QOS", "Max")) or reason.endswith("PerAccount")
    return family and reason not in _RULES


def rule(reason: str) -> str:
    """Return the sentence for `reason`; families of reasons (limits, unavailable nodes) by how they begin."""
    known = _RULES.get(reason)
    if known is not None:
        return known
    if reason.startswith("ReqNodeNotAvail, Reserved for maintenance"):
        return "a maintenance reservation on its nodes begins before it would end"
    if reason.startswith("ReqNodeNotAvail, May be reserved"):
        return "the nodes it could use are reserved before it would end"
    if reason.startswith(Reason.REQ_NODE_NOT_AVAIL):
        return "nodes it needs are down, drained or reserved"
    if reason.startswith("Reservation "):
        return "the reservation it named is gone; held"
    if reason.startswith("Assoc"):
        return "a limit of its association or of an account above it was reached"
    if is_limit(reason):
        return "a limit of its QOS, or of the partition's, was reached"
    return ""
