"""A running job on fewer or more nodes: scontrol update NumNodes, --no-kill, and what a malleable policy decides.

Mirrors job_resize and excise_node_from_job (22.05): a shrinking job keeps its first nodes, gives the others back at
once, and its accounting record ends as RESIZING while a new one begins. Its start, limit and end stay. Growing is not
what scontrol does (Slurm grows a job by merging a second one into it); it is there for policies.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.bitmap import Bitmap, lowest, to_bools
from slurmsim.core.records.allocation import Allocation, Share
from slurmsim.core.records.messages import Resized, ResizeJob
from slurmsim.states import RESIZING, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.occupancy.completing import Completing
    from slurmsim.core.occupancy.node_states import NodeStates
    from slurmsim.core.occupancy.power import PowerSaving
    from slurmsim.core.records.job import Job
    from slurmsim.core.reservations.access import ReservationAccess
    from slurmsim.core.state.controller_state import ControllerState


class Resizes:
    """Carries resizes out."""

    def __init__(
        self, state: ControllerState, completing: Completing, node_states: NodeStates, power: PowerSaving | None,
        access: ReservationAccess,
    ) -> None:  # fmt: skip
        self.state, self._completing, self._node_states, self._power = state, completing, node_states, power
        self._access = access

    def on_resize(self, fact: ResizeJob) -> None:
        """Make a job smaller, as scontrol does; any other change is refused and changes nothing."""
        job = self.state.jobs.get(fact.job_id)
        if job is not None and job.state == JobState.RUNNING and 1 <= fact.n_nodes < job.n_nodes:
            named = self.state.nodes_named(fact.nodes) & job.nodes
            self.keep(job, named or lowest(job.nodes, fact.n_nodes))

    def to(self, job: Job, n_nodes: int, within: Bitmap | None = None) -> bool:
        """Give `job` as many nodes, its first ones or more (out of `within`); False if it cannot be."""
        if job.state != JobState.RUNNING or n_nodes < 1:
            return False
        if n_nodes <= job.n_nodes:
            if n_nodes < job.n_nodes:
                self.keep(job, lowest(job.nodes, n_nodes))
            return True
        return self._grow(job, n_nodes, within)

    def onto(self, job: Job, nodes: Bitmap) -> bool:
        """Give `job` these very nodes, more or fewer than it has; False if it cannot be."""
        alloc = job.alloc
        if job.state != JobState.RUNNING or alloc is None or not nodes:
            return False
        if not nodes & ~job.nodes:
            self.keep(job, nodes)
            return True
        free = self.state.table.idle & self.state.table.up & ~self._completing.nodes
        if not alloc.whole or nodes & ~(free | job.nodes):
            return False
        self._change(job, whole_of(alloc, nodes, job.request.cpus_each, nodes.bit_count()))
        return True

    def keep(self, job: Job, nodes: Bitmap) -> None:
        """Let `job` keep `nodes` of its own and give the others back."""
        assert job.alloc is not None
        self._change(job, part_of(job.alloc, nodes, self.state.table.n))
        self.state.triggers.request_now()

    def _grow(self, job: Job, n_nodes: int, within: Bitmap | None) -> bool:
        """Whole idle nodes like those it has, in table order. Jobs that share nodes do not grow."""
        state, alloc = self.state, job.alloc
        assert alloc is not None and job.end_limit is not None
        free = state.table.idle & state.table.up & job.request.candidates
        free &= ~self._completing.nodes & self._access.left_to(job, job.end_limit)
        if within is not None:
            free &= within
        if not alloc.whole or not job.request.by_count or free.bit_count() < n_nodes - job.n_nodes:
            return False
        mask = alloc.mask | lowest(free, n_nodes - job.n_nodes)
        grown = state.selector.choose_whole(job.request, mask)
        if grown is None or grown.mask & ~mask:
            return False
        self._change(job, whole_of(alloc, mask, job.request.cpus_each, n_nodes))
        return True

    def _change(self, job: Job, new: Allocation) -> None:
        """Exchange the job's allocation, and end the record of its old size."""
        state, old = self.state, job.alloc
        assert old is not None
        run = copy(job)
        run.state, run.reason, run.end_time, run.exit_code = RESIZING, Reason.NONE, state.now, "0:0"
        left, beside = state.table.release(old), bool(state.suspended)  # suspended jobs' nodes count as free
        state.usage.change(job, -1, state.holders.alone(job) if beside else left)
        job.alloc, job.nodes, job.n_nodes, job.n_cpus = new, new.mask, new.n_nodes, new.n_cpus
        taken = state.table.allocate(new)
        state.usage.change(job, +1, state.holders.alone(job) if beside else taken)
        freed = old.mask & ~new.mask & state.table.idle
        for observer in state.observers:
            observer.resized(job, state.now)
        job.held_since = state.now
        if job.state == JobState.RUNNING:
            state.holders.runs_otherwise(job)
        state.record("RESIZE", job, nodes=state.cluster.node_list(new))
        state.actions.append(Resized(run, job))
        state.changed()
        if freed and self._node_states.to_reboot:
            self._node_states.freed(freed)
        if self._power is not None:
            self._power.resized(job, freed)


def part_of(a: Allocation, nodes: Bitmap, n: int) -> Allocation:
    """Return the part of `a` on `nodes`, a subset of its own; `n` nodes are in the table."""
    mask = a.mask & nodes
    inside = to_bools(mask, n)[a.indices()]
    idx = a.indices()[inside]
    cpus = a.cpus if isinstance(a.cpus, int) else a.cpus[inside]
    mem = a.mem if isinstance(a.mem, int) else a.mem[inside]
    gres = tuple((k, count if isinstance(count, int) else count[inside]) for k, count in a.gres)
    n_cpus = cpus * len(idx) if isinstance(cpus, int) else int(cpus.sum())
    part = Allocation(mask, a.whole, len(idx), n_cpus, cpus, mem, gres, idx, quota=a.quota)
    if a.share is not None:
        cores = {node: a.share.cores[node] for node in idx.tolist()}
        part.share = Share(cores, a.share.partition, a.share.sole, a.share.row)
    if a.held is not None:
        part.held = {node: held for node, held in a.held.items() if mask >> node & 1}
    return part


def whole_of(a: Allocation, mask: Bitmap, cpus_each: int, n_nodes: int) -> Allocation:
    """Return whole equal nodes `mask`, each giving what those of `a` give."""

    def each(amount: int | np.ndarray) -> int:
        return amount if isinstance(amount, int) else int(amount[0])

    gres = tuple((k, each(count)) for k, count in a.gres)
    return Allocation(mask, True, n_nodes, n_nodes * cpus_each, cpus_each, each(a.mem), gres)
