"""How many nodes slurmctld expects a waiting job to get (node_cnt_wag, select_nodes, job_mgr.c, 22.05)."""

from __future__ import annotations

from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.records.job import Job
from slurmsim.core.state.controller_state import ControllerState

FORGOTTEN = -1
"""`Job.likely_nodes` once an update has changed what the job asks for: the next pass that tries it finds it anew."""


def expected(state: ControllerState, job: Job, *, preempts: bool) -> int:
    """How many nodes `job` would get were they empty; 0: none could serve it.

    Of those it may use now: for who wants nodes to himself the idle ones, unless somebody would make way (`preempts`),
    for others those nobody has to himself (share_node_bitmap). Where these are too few, of all that are up.
    """
    table, request = state.table, job.request
    up = usable = table.up & job.partition.mask
    if not request.exclusive:
        for _, _, other in state.running:
            if other.request.exclusive:
                usable &= ~other.nodes
    elif not preempts:
        usable &= table.idle
    for nodes in (usable, up):
        found = state.selector.place(request, Supposed.empty(table), nodes, rough=True)
        if found is not None:
            return int(found.n_nodes)
    return 0
