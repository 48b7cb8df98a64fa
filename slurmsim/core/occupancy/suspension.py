"""Suspended jobs: what they keep, when they are resumed, and the facts Suspend and Resume.

Two kinds, as in slurmctld (job_mgr.c _job_suspend_op, cons_common.c select_p_job_suspend, 22.05):

- By an administrator. Priority 0; the CPUs are free for anybody at once, memory and GRES stay taken. A resume looks at
  nothing: the nodes may then have more jobs than CPUs. With priority/basic the job gets a new lowest priority.
- By the gang scheduler. The node table does not change: the job that made it stop stands on the same CPUs beside it.

In both cases run time stands still, and the end by the limit is moved only when the job is resumed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy
from typing import TYPE_CHECKING, Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_bools, to_bools
from slurmsim.core.placement.free_state import FreeState, Supposed
from slurmsim.core.placement.gres import untouched, usable
from slurmsim.core.records.allocation import Allocation, Hold
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Continue, Pause
from slurmsim.errors import InvariantError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.power import PowerSaving
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.holders import Entry

GANG: Final = "Gang"


class Suspension:
    """Takes CPUs from jobs and gives them back."""

    def __init__(self, state: ControllerState, power: PowerSaving | None) -> None:
        self.state, self._power = state, power
        self._unchecked: set[int] = set()  # jobs with CPUs that were not checked: other jobs may have them, too

    # -- stop and go on -----------------------------------------------------------------------------------------

    def park(self, job: Job) -> None:
        """Suspend the running `job` for an administrator: any job may take its CPUs."""
        self._stop(job, "")
        self._park(job)

    def unpark(self, job: Job) -> None:
        """Resume `job` for an administrator, even if other jobs have its CPUs."""
        self._unpark(job)
        self._go_on(job, "")

    def stop(self, job: Job, by: str = GANG) -> None:
        """Suspend `job` for the gang scheduler, or for another part (`by`) that keeps its CPUs for it."""
        self._stop(job, by)
        self._changed()

    def go_on(self, job: Job, by: str = GANG) -> None:
        """Who suspended `job` by `stop` resumes it."""
        self._go_on(job, by)
        self._changed()

    def _changed(self) -> None:
        self.state.selector.forget_future()
        self.state.generation += 1
        self.state.triggers.changed = True

    # -- bookkeeping ------------------------------------------------------------------------------------------------

    def _stop(self, job: Job, by: str) -> None:
        self.state.usage.change(job, -1, self.state.holders.alone(job), cpus_only=True)
        entry = _remove(self.state.running, job)
        insort(self.state.suspended, entry)
        job.move(JobState.SUSPENDED)
        job.suspended_at = self.state.now
        self.state.record("SUSPEND", job, scheduler=by)
        if self.state.watts is not None:
            self.state.watts.pause(job)
        if self._power is None or not self._power.waits(job):
            self.state.actions.append(Pause(job))

    def _go_on(self, job: Job, by: str) -> None:
        _remove(self.state.suspended, job)
        assert job.suspended_at is not None and job.end_limit is not None
        away = self.state.now - job.suspended_at
        job.suspended_s += away
        job.suspended_at = None
        if job.preempt_time is None:
            job.end_limit += away
        job.move(JobState.RUNNING)
        insort(self.state.running, (job.end_limit, job.id, job))
        self.state.usage.change(job, +1, self.state.holders.alone(job), cpus_only=True)
        self.state.record("RESUME", job, scheduler=by)
        if self.state.watts is not None:
            self.state.watts.go_on(job)
        if self._power is not None and self._power.waits(job):
            self._power.launched(job)
        else:
            self.state.actions.append(Continue(job))

    def _park(self, job: Job) -> None:
        """Give the CPUs of `job` away; memory and GRES stay."""
        a, table = job.alloc, self.state.table
        assert a is not None
        table.release(a)
        rest = None
        if a.gres or np.any(a.mem):
            rest = Allocation(a.mask, False, a.n_nodes, 0, 0, a.mem, a.gres, a.indices())
            if a.held is not None:
                rest.held = {node: Hold(0, held.devices) for node, held in a.held.items()}
            table.allocate(rest)
        self.state.holders.parked[job.id] = rest

    def _unpark(self, job: Job) -> None:
        """Take the CPUs back, free or not."""
        a, table = job.alloc, self.state.table
        assert a is not None
        rest = self.state.holders.parked.pop(job.id)
        if rest is not None:
            table.release(rest)
        if a.mask & ~table.idle:
            job.alloc = a = table.counted(a)
            for _, other_id, other in (*self.state.running, *self.state.suspended):
                if other.nodes & a.mask and other_id not in self.state.holders.parked:
                    self.share(other)
            self._unchecked.add(job.id)
        table.allocate(a, crowd=True)

    def may_crowd(self, job: Job) -> None:
        """Take note that `job` is started on CPUs of jobs that go on running."""
        self._unchecked.add(job.id)

    def share(self, job: Job) -> None:
        """Keep what a job with whole nodes holds as counts from now on: it has to share them."""
        assert job.alloc is not None
        if job.alloc.whole:
            table = self.state.table
            table.release(job.alloc)
            job.alloc = table.counted(job.alloc)
            table.allocate(job.alloc)

    def leave(self, job: Job) -> Bitmap:
        """Suspended `job` ends or is requeued: it gives back what it still holds. Which of its nodes are idle then."""
        _remove(self.state.suspended, job)
        held = self.state.holders.held(job)
        if held is not None:
            self.state.table.release(held)
        self.state.holders.parked.pop(job.id, None)
        self._unchecked.discard(job.id)
        job.suspended_s = job.stood_still_s(self.state.now)
        job.suspended_at = None
        self.state.usage.change(job, +1, 0, cpus_only=True)  # its CPUs were counted out already
        self.state.usage.change(job, -1, 0)
        return job.nodes & self.state.table.idle

    def ended(self, job: Job) -> None:
        """Take note that the running `job` gave its nodes back."""
        self._unchecked.discard(job.id)

    # -- placing beside suspended jobs ------------------------------------------------------------------------------

    def place(self, request: CompiledRequest, state: Supposed, within: Bitmap | None) -> Allocation | None:
        """Place in `state`, where a node without CPUs in use counts as idle, whatever memory is in use."""
        if request.whole:
            self._let_in(request, state)
        return self.state.selector.place(request, state, within)

    def _let_in(self, request: CompiledRequest, state: Supposed) -> None:
        """Make nodes of `state` without CPUs in use idle for a request of whole nodes, if what is left suffices."""
        table = self.state.table
        empty = to_bools(state.mixed, table.n) & (state.free_cpus == table.cpus)
        if request.mem_all:
            empty &= state.free_mem == table.mem
        else:
            empty &= state.free_mem >= (request.mem_cpu * table.cpus if request.mem_cpu else request.mem_node)
        if request.exclusive:
            empty &= untouched(table, state.free_gres, np.arange(table.n))
        if request.gres:
            have = usable(request.gres, state.free_gres, np.arange(table.n), request.mem_gpu, state.free_mem)
            empty &= self.state.selector.offer(request, np.arange(table.n), have, table.cpus)[0] > 0
        state.idle |= from_bools(empty)

    def keeps_from(self, request: CompiledRequest) -> bool:
        """Return True if `request` wants whole nodes and suspended jobs keep memory of some."""
        return request.whole and any(self.state.holders.parked.values())

    def let_in(self, request: CompiledRequest, free: FreeState) -> FreeState:
        """Return `free` as `request`, for whole nodes, may use it beside those who are suspended."""
        state = free.copy() if isinstance(free, Supposed) else Supposed(self.state.table)
        self._let_in(request, state)
        return state

    def beside(self, request: CompiledRequest, within: Bitmap | None) -> Allocation | None:
        """Place on whole nodes where no job runs, but suspended jobs keep memory; None if none will do."""
        if not self.keeps_from(request):
            return None
        alloc = self.place(request, Supposed(self.state.table), within)
        if alloc is None:
            return None
        return self.state.table.counted(alloc) if alloc.mask & ~self.state.table.idle else alloc

    # -- questions --------------------------------------------------------------------------------------------------

    @property
    def crowded(self) -> Bitmap:
        """The nodes that may have more CPUs in use than there are."""
        if not self.state.suspended and not self._unchecked:
            return 0
        mask = 0
        for _, _, job in self.state.suspended:
            if job.id not in self.state.holders.parked:
                mask |= job.nodes
        for _, _, job in self.state.running:
            if job.id in self._unchecked:
                mask |= job.nodes
        return mask

    def check(self) -> list[Job]:
        """Return what the suspended jobs hold in the node table. Raises InvariantError if their lists disagree."""
        ids = [entry[1] for entry in self.state.suspended]
        states = [job.id for job in self.state.jobs.values() if job.state == JobState.SUSPENDED]
        if sorted(ids) != sorted(states) or not set(self.state.holders.parked) <= set(ids):
            raise InvariantError("suspended jobs differ from a recount")
        holders = []
        for _, _, job in self.state.suspended:
            if (held := self.state.holders.held(job)) is not None:
                holder = copy(job)
                holder.alloc = held
                holders.append(holder)
        if self.state.table.cores is not None or not (ids or self._unchecked):
            return holders  # the table knows which cores each has; or its own recount finds all that there is
        unchecked = 0
        used = np.zeros(self.state.table.n, np.int64)
        for _, _, job in self.state.running:
            assert job.alloc is not None
            used[job.alloc.indices()] += job.alloc.cpus
            if job.id in self._unchecked:
                unchecked |= job.nodes
        if ((used > self.state.table.cpus) & ~to_bools(unchecked, self.state.table.n)).any():
            raise InvariantError("jobs that run at once share CPUs")
        return holders


def _remove(entries: list[Entry], job: Job) -> Entry:
    """Take the entry of `job` out of a list sorted by end and id."""
    assert job.end_limit is not None
    entry = (job.end_limit, job.id, job)
    at = bisect_left(entries, entry)
    if at == len(entries) or entries[at][2] is not job:
        raise InvariantError(f"job {job.id} is not where its end says")
    del entries[at]
    return entry
