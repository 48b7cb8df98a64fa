"""How many nodes a job is shown with when it comes, if it asks for a range of them, or for GPUs of several nodes."""

from slurmsim.core.controller.controller import Controller
from slurmsim.core.queue.likely_nodes import FORGOTTEN, expected
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.states import JobState


def guess(controller: Controller, jobs: list[Job]) -> None:
    """Note the likely number of nodes on a job, or on the tasks of an array, that just came.

    Slurm does not look for nodes if the job names nodes that are down or reserved for others (_pick_best_nodes).
    """
    job = jobs[0]
    request = job.request
    ranges = request.elastic or request.spread or bool(request.gres)
    if job.state != JobState.PENDING or not job.priority or not (ranges or request.required):
        return
    state, own = controller.state, job.reservations[0] if job.reservations else None
    record = Record(job, job.partition, request, job.priority, False, own)
    open_to = controller.start_test.reach(record, state.table.everything, job.time_limit_s)
    found = 0
    if request.required & ~(open_to & state.table.up):
        found = FORGOTTEN
    elif ranges:
        found = expected(state, job, open_to, preempts=controller.preemption is not None)
    for job in jobs if found else ():
        job.likely_nodes = found
