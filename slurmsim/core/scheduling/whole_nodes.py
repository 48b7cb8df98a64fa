"""Who holds which whole nodes: what a plan needs to know where counting equal nodes decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.bitmap import runs

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState

Runs = list[tuple[int, int]]


class WholeNodes:
    """The nodes and the running jobs (slurmsim.policy.WholeNodes).

    Attributes
    ----------
    n
        Nodes of the cluster.
    up, idle
        Those that are neither down nor drained, and those without a job.
    holders
        (end it is planned with, id, nodes, runs of them as (first, length)) of the running jobs, ascending.
    window_linear
        bf_window_linear, seconds.
    """

    __slots__ = ("holders", "idle", "n", "up", "window_linear")

    def __init__(self, state: ControllerState) -> None:
        table = state.table
        self.n, self.up, self.idle = table.n, table.up, table.idle
        self.window_linear = state.selector.window_linear
        self.holders: list[tuple[int, int, int, Runs]] = [
            (end, job_id, job.n_nodes, runs_of(job)) for end, job_id, job in state.releases()
        ]


def runs_of(job: Job) -> Runs:
    """The nodes of a running job as runs; they are remembered."""
    alloc = job.alloc
    assert alloc is not None
    if alloc.runs is None:
        alloc.runs = runs(alloc.mask)
    return alloc.runs


def whole_nodes(state: ControllerState) -> WholeNodes | None:
    """The nodes, where every job has whole ones and a job gets the first run of them that fits; None elsewhere."""
    table = state.table
    if table.mixed or state.suspended or state.exclusive_users is not None or not state.selector.takes_runs:
        return None
    return WholeNodes(state)
