"""What ``scontrol show assoc_mgr`` tells of each QOS: its limits, and what its jobs use at the moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.live_job import LiveJob
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.model.accounting import Qos
    from slurmsim.slurmctld.engine import Engine

Counts = dict[str, int]
_RAN = (JobState.RUNNING, JobState.SUSPENDED)


def qos_records(engine: Engine) -> list[dict[str, Any]]:
    """One record a QOS, by id."""
    database = engine.database
    if not database.exists:
        return []
    specs = {qos.name: qos for qos in database.accounting().qos}
    alive = [live for live in engine.jobs.values() if not live.over]
    found = []
    for name, number in sorted(database.qos_ids.items(), key=lambda item: item[1]):
        spec = specs.get(name)
        if spec is not None:
            found.append(_record(engine, spec, number, [live for live in alive if live.core.qos == name]))
    return found


def _record(engine: Engine, spec: Qos, number: int, jobs: list[LiveJob]) -> dict[str, Any]:
    limits = spec.limits
    accounts = list(dict.fromkeys(live.core.account for live in jobs))
    users = list(dict.fromkeys((live.person.name, live.person.uid) for live in jobs))
    return {
        "name": spec.name, "id": number, "priority": spec.priority, "usage": use(engine, jobs),
        "preempt_mode": spec.preempt_mode or "OFF", "max_wall": _minutes(limits.max_wall_s),
        "grp_wall": _minutes(limits.grp_wall_s), "min_prio_thresh": limits.min_prio_thresh,
        "grp": [limits.grp_jobs, limits.grp_jobs_accrue, limits.grp_submit_jobs],
        "grp_tres": limits.grp_tres, "grp_tres_mins": limits.grp_tres_mins,
        "grp_tres_run_mins": limits.grp_tres_run_mins, "max_tres": limits.max_tres,
        "max_tres_per_node": limits.max_tres_per_node, "max_tres_mins": limits.max_tres_mins,
        "min_tres": spec.min_tres,
        "per_account": [spec.max_jobs_pa, spec.max_jobs_accrue_pa, spec.max_submit_pa],
        "max_tres_pa": spec.max_tres_pa, "max_tres_run_mins_pa": spec.max_tres_run_mins_pa,
        "per_user": [spec.max_jobs_pu, spec.max_jobs_accrue_pu, spec.max_submit_pu],
        "max_tres_pu": spec.max_tres_pu, "max_tres_run_mins_pu": spec.max_tres_run_mins_pu,
        "accounts": [[name, use(engine, [j for j in jobs if j.core.account == name])] for name in accounts],
        "users": [[name, uid, use(engine, [j for j in jobs if j.person.uid == uid])] for name, uid in users],
    }  # fmt: skip


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else seconds // 60


def use(engine: Engine, jobs: Iterable[LiveJob]) -> dict[str, Any]:
    """Jobs running, accruing and submitted, their TRES, and TRES times the minutes they may still run."""
    billing = engine.controller.billing
    running = accruing = submitted = 0
    tres: Counts = {}
    left: Counts = {}
    for live in jobs:
        core = live.core
        submitted += 1
        accruing += core.state == JobState.PENDING and bool(core.accrue_time) and bool(core.priority)
        if core.state not in _RAN or core.alloc is None:
            continue
        running += 1
        counts = billing.allocated(core.alloc)
        counts["billing"] = int(billing.bill(counts, core.partition.spec.tres_billing_weights))
        minutes = (core.time_limit_s - (engine.now - (core.start_time or engine.now)) // 60 * 60) // 60
        for name, count in counts.items():
            tres[name] = tres.get(name, 0) + int(count)
            left[name] = left.get(name, 0) + int(count) * max(minutes, 0)
    return {"jobs": running, "accrue": accruing, "submit": submitted, "tres": tres, "run_mins": left}
