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
from slurmsim.core.messages import Resized, ResizeJob
from slurmsim.core.nodes import Allocation, Share
from slurmsim.states import RESIZING, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job


class Resizes:
    """Carries resizes out."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller

    def on_resize(self, fact: ResizeJob) -> None:
        """The fact: only smaller, as scontrol; anything else is refused and changes nothing."""
        job = self.c.jobs.get(fact.job_id)
        if job is not None and job.state == JobState.RUNNING and 1 <= fact.n_nodes < job.n_nodes:
            named = self.c._mask(fact.nodes) & job.nodes
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

    def keep(self, job: Job, nodes: Bitmap) -> None:
        """`job` keeps `nodes` of its own and gives the others back."""
        assert job.alloc is not None
        self._change(job, part_of(job.alloc, nodes, self.c.table.n))
        self.c.main.request_now()

    def _grow(self, job: Job, n_nodes: int, within: Bitmap | None) -> bool:
        """Whole idle nodes like those it has, in table order. Jobs that share nodes do not grow."""
        c, alloc = self.c, job.alloc
        assert alloc is not None
        free = c.table.idle & c.table.up & job.shape.candidates
        if c.completing is not None:
            free &= ~c.completing.nodes
        if within is not None:
            free &= within
        if not alloc.whole or not job.shape.by_count or free.bit_count() < n_nodes - job.n_nodes:
            return False
        mask = alloc.mask | lowest(free, n_nodes - job.n_nodes)
        grown = c.selector.choose_whole(job.shape, mask)
        if grown is None or grown.mask & ~mask:
            return False
        self._change(job, whole_of(alloc, mask, job.shape.cpus_each, n_nodes))
        return True

    def _change(self, job: Job, new: Allocation) -> None:
        """Exchange the job's allocation, and end the record of its old size."""
        c, old = self.c, job.alloc
        assert old is not None
        run = copy(job)
        run.state, run.reason, run.end_time, run.exit_code = RESIZING, Reason.NONE, c.now, "0:0"
        if c.book is not None:
            c.book.ended(job, c.now)
        left, beside = c.table.release(old), bool(c.suspension.jobs)  # suspended jobs' nodes count as free
        c.usage.change(job, -1, c.suspension.alone(job) if beside else left)
        job.alloc, job.nodes, job.n_nodes, job.n_cpus = new, new.mask, new.n_nodes, new.n_cpus
        taken = c.table.allocate(new)
        c.usage.change(job, +1, c.suspension.alone(job) if beside else taken)
        freed = old.mask & ~new.mask & c.table.idle
        if c.book is not None:
            c.book.started(job, c.now)
        if c.limits is not None:
            c.limits.resized(job)
        if c.owners is not None:
            c.owners.add(job)
        if c.gang is not None:
            c.gang.resized(job)
        job.held_since = c.now
        c.record("RESIZE", job, nodes=c.state.node_list(new))
        c.actions.append(Resized(run, job))
        c.changed()
        if freed and c.node_states.to_reboot:
            c.node_states.freed(freed)
        if c.power is not None:
            c.power.resized(job, freed)


def part_of(a: Allocation, nodes: Bitmap, n: int) -> Allocation:
    """The part of `a` on `nodes`, a subset of its own; `n` nodes are in the table."""
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
    return part


def whole_of(a: Allocation, mask: Bitmap, cpus_each: int, n_nodes: int) -> Allocation:
    """Whole equal nodes `mask`, each giving what those of `a` give."""

    def each(amount: int | np.ndarray) -> int:
        return amount if isinstance(amount, int) else int(amount[0])

    gres = tuple((k, each(count)) for k, count in a.gres)
    return Allocation(mask, True, n_nodes, n_nodes * cpus_each, cpus_each, each(a.mem), gres)
