"""How many nodes slurmctld expects a waiting job to get (node_cnt_wag, select_nodes, job_mgr.c, 22.05)."""

from __future__ import annotations

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.records.job import Job
from slurmsim.core.state.controller_state import ControllerState

FORGOTTEN = -1
"""`Job.likely_nodes` once an update has changed what the job asks for: the next pass that tries it finds it anew."""


def expected(state: ControllerState, job: Job, open_to: Bitmap, *, preempts: bool) -> int:
    """How many nodes `job` would get were they empty; 0: none could serve it.

    Of those it may use now: that are up and that reservations leave it (`open_to`); for who wants nodes to himself the
    idle ones, unless somebody would make way (`preempts`), for others those nobody has to himself
    (share_node_bitmap). Where enough of these do not serve it, of all that are up and open to it; where that fails, or
    they are too few, of all its partition, or the reservation it names, has (_pick_best_nodes).
    """
    table, request = state.table, job.request
    every = job.partition.mask & open_to if job.reservations else job.partition.mask
    usable = up = table.up & every & open_to
    if not request.exclusive:
        for _, _, other in state.running:
            if other.request.exclusive:
                usable &= ~other.nodes
    elif not preempts:
        usable &= table.idle
    enough = usable.bit_count() >= request.min_nodes
    for nodes in (usable, up, every) if enough else (usable, every):
        found = state.selector.place(request, Supposed.empty(table), nodes, rough=True)
        if found is not None:
            return int(found.n_nodes)
    return 0
