"""How many nodes slurmctld expects to give a job that asks for a range of them (node_cnt_wag, select_nodes, 22.05)."""

from __future__ import annotations

from slurmsim.core.controller.controller import Controller
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.records.job import Job
from slurmsim.states import JobState


def guess(controller: Controller, jobs: list[Job]) -> None:
    """Note it on a job, or on the tasks of an array, that just came.

    It is what the nodes the job may use now could give it were they empty. For who wants nodes to himself these are
    the idle ones; where there are too few, all that are up.
    """
    job = jobs[0]
    request = job.request
    if job.state != JobState.PENDING or not job.priority or not (request.elastic or request.spread):
        return
    table = controller.state.table
    up = table.up & job.partition.mask
    usable = up & table.idle if request.exclusive and controller.preemption is None else up
    for nodes in (usable, up):
        found = controller.state.selector.place(request, Supposed.empty(table), nodes, rough=True)
        if found is not None:
            for job in jobs:
                job.likely_nodes = found.n_nodes
            return
