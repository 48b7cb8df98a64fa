"""How many nodes slurmctld expects a waiting job to get (node_cnt_wag, select_nodes, job_mgr.c, 22.05)."""

from __future__ import annotations

from typing import Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.records.job import Job
from slurmsim.core.state.controller_state import ControllerState

FORGOTTEN: Final = -1
"""`Job.likely_nodes` once an update has changed what the job asks for: the next pass that tries it finds it anew."""


def expected(state: ControllerState, job: Job, open_to: Bitmap, *, preempts: bool) -> int:
    """Return how many nodes `job` would get if they were empty; 0: none could serve it.

    Nodes are taken from those it may use now: usable nodes that reservations leave it (`open_to`). An exclusive job
    may use only the idle ones, unless it can preempt jobs (`preempts`); other jobs may not use nodes with an exclusive
    job (share_node_bitmap). If these are many enough but do not serve it, all usable nodes open to it are tried. If
    that fails, or they are too few, all nodes of its partition or reservation are tried (_pick_best_nodes).
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
