"""How many nodes a job that asks for a range of them is shown with when it comes."""

from __future__ import annotations

from slurmsim.core.controller.controller import Controller
from slurmsim.core.queue.likely_nodes import expected
from slurmsim.core.records.job import Job
from slurmsim.states import JobState


def guess(controller: Controller, jobs: list[Job]) -> None:
    """Note it on a job, or on the tasks of an array, that just came."""
    job = jobs[0]
    request = job.request
    if job.state != JobState.PENDING or not job.priority or not (request.elastic or request.spread):
        return
    found = expected(controller.state, job, preempts=controller.preemption is not None)
    for job in jobs if found else ():
        job.likely_nodes = found
