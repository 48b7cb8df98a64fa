"""Puts a schedule that is only in memory before the independent validator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.core.records.node_names import run_length
from slurmsim.replaying.manifest import cluster_facts
from slurmsim.trace.schema import EVENTS
from slurmsim.validate import validate_schedule

SCAN_S = 30  # how late sched/backfill and sched/builtin may find a job over its limit


def approve(
    controller: Controller,
    ended: Sequence[Job],
    events: Sequence[tuple[Any, ...]],
    runs: Sequence[Job] | None = None,
) -> None:
    """Fail unless the validator has nothing to say against the run `controller` made.

    `ended` are the jobs with a final state, `events` all events of the run; the other jobs `controller` knows. `runs`:
    records of the runs that ended in a requeue or a resize, None to judge without them.
    """
    columns = _columns(controller, [*ended, *controller.state.jobs.values()])
    of_jobs = [event for event in events if event[1] != "REFUSE"]  # what was refused has no record to judge
    told = {name: [event[k] for event in of_jobs] for k, name in enumerate(EVENTS)}
    again = None if runs is None else _columns(controller, runs)
    allowance = 0 if controller.state.event_driven else SCAN_S + _over_limit(controller)
    facts = cluster_facts(controller.state.spec)
    report = validate_schedule(columns, facts, events=told, requeued=again, limit_allowance_s=allowance)
    assert report.valid, report.to_text()


def _over_limit(controller: Controller) -> int:
    """The longest time by which some job may exceed its limit."""
    own = [p.over_time_limit_s for p in controller.state.spec.partitions]
    return max(controller.state.spec.option("OverTimeLimit") or 0, *[seconds or 0 for seconds in own])


def _columns(controller: Controller, jobs: Sequence[Job]) -> dict[str, list[Any]]:
    """The columns of ``jobs.parquet`` for `jobs`."""
    state = controller.state.cluster
    held = [job.alloc for job in jobs]
    return {
        "job_id": [j.id for j in jobs], "submit": [j.first_submit for j in jobs],
        "last_submit": [j.submit_time for j in jobs], "begin": [j.begin for j in jobs],
        "req_nodes": [j.sub.request.min_nodes for j in jobs], "req_cpus": [j.sub.request.min_cpus for j in jobs],
        "eligible": [j.eligible_time for j in jobs], "start": [j.start_time for j in jobs],
        "end": [j.end_time for j in jobs], "state": [j.state for j in jobs], "restarts": [j.restarts for j in jobs],
        "partition": [j.partition.name if j.alloc else ",".join(p.name for p in j.partitions) for j in jobs],
        "nodes": [j.n_nodes for j in jobs], "cpus": [j.n_cpus for j in jobs],
        "held_since": [j.held_since if j.alloc else None for j in jobs],
        "time_limit_s": [j.time_limit_s for j in jobs],
        "node_list": [state.node_list(a) if a else "" for a in held],
        "layout": [run_length(a.layout.tolist()) if a and a.layout is not None else "" for a in held],
        "cpus_per_node": [state.cpus_per_node(a) if a else "" for a in held],
        "mem_per_node_mib": [state.mem_per_node(a) if a else "" for a in held],
        "gres_per_node": [state.gres_per_node(a) if a else "" for a in held],
        "reservation": [j.reservation_name for j in jobs],
        "licenses": [",".join(f"{name}:{count}" for name, count in j.licenses) for j in jobs],
    }  # fmt: skip
