"""The end of a job without a rule of scheduling: an end from the journal, or one that an injected fault asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.messages import Kill
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller.controller import Controller
    from slurmsim.core.records.job import Job

_REASONS = {
    JobState.FAILED: Reason.NON_ZERO_EXIT, JobState.TIMEOUT: Reason.TIME_LIMIT, JobState.DEADLINE: Reason.DEADLINE,
    JobState.OUT_OF_MEMORY: Reason.OUT_OF_MEMORY,
}  # fmt: skip


def end(controller: Controller, job: Job, state: str, code: str) -> None:
    """`job` is over with that state and exit code, whatever the rules say; within `LiveNetwork.act`."""
    if job.alloc is not None:
        job.exit_code = code
        if state not in (JobState.COMPLETED, JobState.FAILED):
            controller.state.actions.append(Kill(job))
        controller.life_cycle.finish(job, state, _REASONS.get(state, Reason.NONE))
        return
    reason = _REASONS.get(state, Reason.NONE)
    controller.life_cycle.finish(job, JobState.FAILED, reason)  # no rule lets a pending one end otherwise
    job.state, job.exit_code = state, code
