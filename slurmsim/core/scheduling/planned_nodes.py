"""What plans on atoms need to know of nodes and their jobs: where all is whole nodes, or shares of them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import runs
from slurmsim.core.reservations.access import effect_on

if TYPE_CHECKING:
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState

Runs = list[tuple[int, int]]


class WholeNodes:
    """The nodes and the running jobs (slurmsim.policy.WholeNodes)."""

    __slots__ = ("asleep", "idle", "n", "running", "up", "window_linear")

    def __init__(self, state: ControllerState) -> None:
        table = state.table
        # n: nodes of the cluster
        # up, idle, asleep: those that are neither down nor drained, those without a job, and those that are powered
        # down
        self.n, self.up, self.idle, self.asleep = table.n, table.up, table.idle, state.selector.asleep
        self.window_linear = state.selector.window_linear  # bf_window_linear, seconds
        # (end it is planned with, id, job) of the running jobs, ascending; the same object as long as it runs so
        self.running = state.holders.releases()

    def runs_of(self, job: Job) -> Runs:
        """Return the nodes of a running job as runs (first, length); they are remembered."""
        alloc = job.alloc
        assert alloc is not None
        if alloc.runs is None:
            alloc.runs = runs(alloc.mask)
        return alloc.runs


def whole_nodes(state: ControllerState) -> WholeNodes | None:
    """Return the nodes if every job has whole ones and gets the first run of them that fits; else None."""
    table = state.table
    if table.mixed or state.suspended or state.exclusive_users is not None or not state.selector.takes_runs:
        return None
    return WholeNodes(state)


class ReservedNodes:
    """Reservations of whole nodes, as those who are in none see them (slurmsim.policy.ReservedNodes)."""

    __slots__ = ("effects", "ends", "periods")

    def __init__(self, state: ControllerState) -> None:
        there = [r for r in state.reserved.all if r.nodes]
        self.periods = [(r.start, r.end, r.nodes) for r in there]  # (start, end, nodes) of those that have nodes
        # what each does to jobs of each partition (`effect_on`): of the first partition all, then of the second, …
        self.effects = array("q", [effect_on(p, r) for p in state.cluster.partitions for r in there])
        self.ends = array("q", [r.end for r in state.reserved.all])  # when reservations end, of nodes or not


class SharedNodes:
    """The nodes where jobs have shares of them (slurmsim.policy.SharedNodes)."""

    __slots__ = ("_state", "n", "up", "window_linear")

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        # n, up, window_linear: as `WholeNodes` has them
        self.n, self.up, self.window_linear = state.table.n, state.table.up, state.selector.window_linear

    def placement(self) -> Any:
        """`slurmsim.kernel.placement.Nodes` as things are now."""
        selector = self._state.selector
        nodes = selector.shares.up_to_date(selector)
        return selector.shares.with_jobs(self._state.holders.occupants(), selector) if nodes is None else nodes

    def serves(self, request: CompiledRequest) -> bool:
        """Return True if it can say where a request goes."""
        return self._state.selector.shares.serves(request, self._state.selector)


def shared_nodes(state: ControllerState) -> SharedNodes | None:
    """Return the nodes if the kernel places shares; else None."""
    if state.exclusive_users is not None or not state.selector.shares.serves_somebody(state.selector):
        return None
    return SharedNodes(state)
