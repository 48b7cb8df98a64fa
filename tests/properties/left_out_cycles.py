"""Backfill's cycles that were left out, made after all: they must find nothing to start."""

from __future__ import annotations

import copy
from typing import Any

from slurmsim.core.controller.controller import Controller
from slurmsim.policy import Start


def left_out_cycles(controller: Controller, until: int) -> None:
    """Make some of the full cycles that are due before `until`, when the controller wants to be called next.

    The policy is `backfill`, or one whose `base` it is; what it remembers is put back.
    """
    policy: Any = controller.state.policy
    backfill = getattr(policy, "base", policy)
    if controller.state.triggers.changed or backfill._started:
        return  # a cycle is coming
    if any(records[0].job.eligible_time > backfill._last_cycle for records in controller.state.queue.jobs.values()):
        return  # a begin time has passed, which slurmctld does not take for a change
    now, soonest = controller.state.now, backfill._last_cycle + backfill.interval
    for moment in sorted({controller.state.now + 1, (controller.state.now + until) // 2, until - 1}):
        if moment < soonest:
            continue  # a cycle is not due yet
        kept = [(one, {key: _own(value) for key, value in vars(one).items()}) for one in {policy, backfill}]
        controller.state.at(moment)
        backfill.plan_all = True
        refuse = None
        decisions = iter(policy.schedule(controller.host.view, moment))
        try:
            decision = next(decisions)
            while True:
                if isinstance(decision, Start):
                    record: Any = decision.job
                    limited = controller.partition_limits.limit_reason(record.job, record.partition, record.request)
                    within = controller.state.table.everything if decision.within is None else decision.within
                    found = controller.state.selector.place(record.request, controller.state.table, within)
                    assert limited or found is None, f"job {record.job.id} could start at {moment}"
                    refuse = False
                decision = decisions.send(refuse)
        except StopIteration:
            pass
        for one, values in kept:
            vars(one).update(values)
    controller.state.at(now)


def _own(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, set | list | dict) else value
