"""Decisions as the journal has them: lists of plain values, the instant and the kind first, then the job and its run.

``[at, "submit", job, 0, name]`` of a job that comes by itself, ``[at, "start", job, restarts, id shown, partition,
nodes, CPUs a node]`` (and, where a policy laid it out, its units on each node), ``[at, "end", job, restarts, state,
exit code]``, ``[at, "requeue", job, restarts, state of the run]``, ``[at, "suspend" or "resume", job, restarts]``,
``[at, "resize", job, restarts, nodes, CPUs a node]``; where watts are known ``[at, "shape", job, restarts, count of
nodes, milliwatts of its cap, seconds it stands still]`` after a start and at each change of these. ``[at, kind, job,
restarts, value]`` is what a policy changed of a job (`slurmsim.core.controller.job_decisions` has the kinds). Jobs are
named by the core's ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.live_job import TASK_BITS

if TYPE_CHECKING:
    from slurmsim.core.placement.cluster_state import ClusterState
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.messages import Decided
    from slurmsim.model.submission import Submission

DECIDED = "decided"  # the call of their entries
Decision = list[Any]


def submitted(now: int, sub: Submission) -> Decision:
    """Return the entry of a job that a stream submits; the name of `sub` says which job of the stream it is."""
    return [now, "submit", sub.job_id, 0, sub.name]


def started(now: int, job: Job, shown: int, state: ClusterState) -> Decision:
    """`job` starts; `shown` is the id users know it by."""
    alloc = job.alloc
    assert alloc is not None
    decision = [now, "start", job.id, job.restarts, shown, job.partition.name, state.node_list(alloc),
                state.cpus_per_node(alloc)]  # fmt: skip
    return decision if alloc.layout is None else [*decision, alloc.layout.tolist()]


def ended(now: int, job: Job) -> Decision:
    return [now, "end", job.id, job.restarts, str(job.state), job.exit_code]


def requeued(now: int, run: Job) -> Decision:
    """Return the entry of a run that is over with its job pending again."""
    return [now, "requeue", run.id, run.restarts, str(run.state)]


def stopped(now: int, kind: str, job: Job) -> Decision:
    """`job` is suspended, or resumed."""
    return [now, kind, job.id, job.restarts]


def resized(now: int, job: Job, state: ClusterState) -> Decision:
    """`job` has other nodes."""
    alloc = job.alloc
    assert alloc is not None
    return [now, "resize", job.id, job.restarts, state.node_list(alloc), state.cpus_per_node(alloc)]


def changed(now: int, what: Decided) -> Decision:
    """Return the entry of a job that a policy changed."""
    return [now, what.kind, what.job_id, what.restarts, what.value]


def shaped(now: int, job: Job, nodes: int, cap_mw: int, lost_s: float) -> Decision:
    """Return the entry of a job with known watts: its nodes, its cap, and the `lost_s` seconds it stands still."""
    return [now, "shape", job.id, job.restarts, nodes, cap_mw, lost_s]


def outcome(before: int, after: int, found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what came of a request that found the last job id to be `before`; `found` is None for a refusal."""
    told: dict[str, Any] = {"refused": 1} if found is None else {}
    if found is not None and "job_id" in found:
        told["job_id"] = found["job_id"]
    if after != before:
        told["last_id"] = after
    return told


def shown_of(decision: Sequence[Any]) -> str:
    """Return the job of a decision for people: ``12`` or ``12_3``."""
    core_id = int(decision[2])
    if core_id >> 2 * TASK_BITS:
        return f"{(core_id >> TASK_BITS) - (1 << TASK_BITS)}_{core_id & (1 << TASK_BITS) - 1}"
    return str(core_id)


def text_of(decision: Sequence[Any] | None) -> str:
    if decision is None:
        return "nothing"
    return f"{decision[1]} of job {shown_of(decision)} at {decision[0]} ({', '.join(map(str, decision[3:]))})"
