"""Whether a cluster would go on by itself: what ``until-idle`` and a fast clock wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.fields.job_fields import says_so_later
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.engine import Engine

QUIET_S = 600
"""Who could start and has not for so long, with nothing running, will not: some limit or node is in the way."""


def is_idle(engine: Engine) -> bool:
    """Return True if no job runs, no stream will submit, and no pending job will start without a request."""
    if engine.controller.state.running or engine.controller.solves.awaited is not None:
        return False
    streams = engine.network.streams
    if streams is not None and streams.sources.armed:
        return False
    last, may_start = engine.last_end, False
    for live in engine.jobs.values():
        core = live.core
        if live.over:
            continue
        last = max(last, core.submit_time)
        if core.state != JobState.PENDING:
            return False
        if core.priority and not engine.controller.eligibility.depends(core):
            may_start = True
            last = max(last, core.begin or 0)
    return not may_start or engine.now > last + QUIET_S


def awaits_a_pass(engine: Engine) -> bool:
    """Return True if the reason of a job that waits is another one in the next second, once a pass has looked."""
    waiting = (live.core for live in engine.jobs.values() if not live.over)
    return any(says_so_later(core, engine) for core in waiting)


def runs_something_real(engine: Engine) -> bool:
    """Return True if a process on this machine ends a running job, or a user who holds an allocation."""
    for _, core_id, _ in engine.controller.state.running:
        live = engine.jobs.get(core_id)
        if live is not None and (live.asked.get("allocate") or (engine.runs_jobs and is_real(live.asked))):
            return True
    return False
