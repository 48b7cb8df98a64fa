"""Submissions refused once they had a job id: slurmctld keeps them as FAILED jobs with the reason BadConstraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.job import Job
from slurmsim.errors import SubmitError
from slurmsim.slurmctld.live_job import LiveJob
from slurmsim.slurmctld.submit_request import submission
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine import Engine
    from slurmsim.slurmctld.people import Person


def keep_rejected(engine: Engine, shown: int, asked: Mapping[str, Any], person: Person, order: int) -> LiveJob | None:
    """The record of a job no node could ever run; None where not even that can be made."""
    c = engine.controller
    try:
        sub = submission(shown, asked, person.name, engine.now, bool(engine.cluster.option("JobRequeue")))
        sub.dependency = ""
        sub.request = replace(sub.request, exclude=(), node_list=(), constraint="")
        try:
            partitions, shapes = c.state.compiled(sub)
        except SubmitError:  # of a type of GRES no node has
            sub.request = replace(sub.request, gres=())
            partitions, shapes = c.state.compiled(sub)
        core = Job(sub, partitions, shapes, engine.now)
        if c.accounts is not None:
            c.accounts.admit(core)
        c.set_time_limit(core)
    except SubmitError:
        return None
    core.priority = min(c.priority.submit(core, engine.now))
    core.state, core.reason, core.exit_code = JobState.FAILED, Reason.BAD_CONSTRAINTS, "0:1"
    core.eligible_time = core.end_time = engine.now
    live = LiveJob(asked, shown, person, order)
    live.core = core
    return live
