"""Suspended jobs: what they keep, when they are resumed, and the facts Suspend and Resume.

Two kinds, as in slurmctld (job_mgr.c _job_suspend_op, cons_common.c select_p_job_suspend, 22.05):

- By an administrator. Priority 0; the CPUs are free for anybody at once, memory and GRES stay taken. A resume looks at
  nothing: the nodes may then have more jobs than CPUs. With priority/basic the job gets a new lowest priority.
- By the gang scheduler. The node table does not change: the job that made it stop stands on the same CPUs beside it.

In both cases run time stands still, and the end by the limit is moved only when the job is resumed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import merge
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.bitmap import Bitmap, from_bools, to_bools
from slurmsim.core.free_state import Supposed
from slurmsim.core.gres import usable
from slurmsim.core.job import Job
from slurmsim.core.messages import Continue, Pause, Resume, Suspend
from slurmsim.core.nodes import Allocation
from slurmsim.errors import InvariantError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.shape import Shape

Entry = tuple[int, int, Job]
GANG = "Gang"


class Suspension:
    """The suspended jobs of one controller.

    Attributes
    ----------
    jobs
        (end by limit, id, job) of the suspended ones, ascending, as `Controller.running` has the running ones.
    """

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        self.jobs: list[Entry] = []
        # what jobs suspended by an administrator still hold in the node table, None for nothing
        self._parked: dict[int, Allocation | None] = {}
        self._unchecked: set[int] = set()  # jobs whose CPUs nobody has looked at: others may have them, too

    # -- facts ------------------------------------------------------------------------------------------------------

    def on_suspend(self, fact: Suspend) -> None:
        """scontrol suspend. A job the gang scheduler stopped stays stopped: its priority becomes 0."""
        c = self.c
        job = c.jobs.get(fact.job_id)
        if job is None or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return
        job.priority = 0
        if job.state == JobState.RUNNING:
            c.host.count_no_more(job)
            self._stop(job, "")
            self._park(job)
            if c.gang is not None:
                c.gang.ended(job)
        self._edited()

    def on_resume(self, fact: Resume) -> None:
        """scontrol resume. A job the gang scheduler stopped is left to it, and gets its priority back."""
        c = self.c
        job = c.jobs.get(fact.job_id)
        if job is None or job.state != JobState.SUSPENDED:
            return
        if job.priority == 0:
            job.priority = min(c.priority.submit(job, c.now))
        if job.id in self._parked:
            self._unpark(job)
            self._go_on(job, "")
            if c.gang is not None:
                c.gang.started(job)
        elif c.gang is not None:
            c.gang.look_again()
        self._edited()

    # -- the gang scheduler -----------------------------------------------------------------------------------------

    def stop(self, job: Job) -> None:
        """The gang scheduler suspends `job`."""
        self._stop(job, GANG)
        self._changed()

    def go_on(self, job: Job) -> None:
        """The gang scheduler resumes `job`."""
        self._go_on(job, GANG)
        self._changed()

    def _edited(self) -> None:
        self._changed()
        self.c.edits += 1
        self.c.main.request()

    def _changed(self) -> None:
        c = self.c
        c.selector.forget_future()
        c.generation += 1
        c.host.changed = True

    # -- bookkeeping ------------------------------------------------------------------------------------------------

    def _stop(self, job: Job, by: str) -> None:
        c = self.c
        c.usage.change(job, -1, self.alone(job), cpus_only=True)
        entry = _remove(c.running, job)
        insort(self.jobs, entry)
        job.move(JobState.SUSPENDED)
        job.suspended_at = c.now
        c.record("SUSPEND", job, scheduler=by)
        if c.power is None or not c.power.waits(job):
            c.actions.append(Pause(job))

    def _go_on(self, job: Job, by: str) -> None:
        c = self.c
        _remove(self.jobs, job)
        assert job.suspended_at is not None and job.end_limit is not None
        away = c.now - job.suspended_at
        job.suspended_s += away
        job.suspended_at = None
        if job.preempt_time is None:
            job.end_limit += away
        job.move(JobState.RUNNING)
        insort(c.running, (job.end_limit, job.id, job))
        c.usage.change(job, +1, self.alone(job), cpus_only=True)
        c.record("RESUME", job, scheduler=by)
        if c.power is not None and c.power.waits(job):
            c.power.launched(job)
        else:
            c.actions.append(Continue(job))

    def _park(self, job: Job) -> None:
        """Give the CPUs of `job` away; memory and GRES stay."""
        a, table = job.alloc, self.c.table
        assert a is not None
        table.release(a)
        rest = None
        if a.gres or np.any(a.mem):
            rest = Allocation(a.mask, False, a.n_nodes, 0, 0, a.mem, a.gres, a.indices())
            table.allocate(rest)
        self._parked[job.id] = rest

    def _unpark(self, job: Job) -> None:
        """Take the CPUs back, free or not."""
        a, table = job.alloc, self.c.table
        assert a is not None
        rest = self._parked.pop(job.id)
        if rest is not None:
            table.release(rest)
        if a.mask & ~table.idle:
            job.alloc = a = table.counted(a)
            for _, _, other in self.c.running:
                if other.nodes & a.mask:
                    self.share(other)
            self._unchecked.add(job.id)
        table.allocate(a, crowd=True)

    def may_crowd(self, job: Job) -> None:
        """`job` is started on CPUs of jobs that go on running."""
        self._unchecked.add(job.id)

    def share(self, job: Job) -> None:
        """Keep what a job with whole nodes holds as counts from now on: it has to share them."""
        assert job.alloc is not None
        if job.alloc.whole:
            table = self.c.table
            table.release(job.alloc)
            job.alloc = table.counted(job.alloc)
            table.allocate(job.alloc)

    def leave(self, job: Job) -> Bitmap:
        """Suspended `job` ends or is requeued: it gives back what it still holds. Which of its nodes are idle then."""
        c = self.c
        _remove(self.jobs, job)
        held = self.held(job)
        if held is not None:
            c.table.release(held)
        self._parked.pop(job.id, None)
        self._unchecked.discard(job.id)
        job.suspended_s = self.seconds(job)
        job.suspended_at = None
        c.usage.change(job, +1, 0, cpus_only=True)  # its CPUs were counted out already
        c.usage.change(job, -1, 0)
        return job.nodes & c.table.idle

    def ended(self, job: Job) -> None:
        """Running `job` gave its nodes back."""
        self._unchecked.discard(job.id)

    # -- placing beside suspended jobs ------------------------------------------------------------------------------

    def place(self, shape: Shape, state: Supposed, within: Bitmap | None) -> Allocation | None:
        """Place in `state`, where a node counts as idle when nobody has CPUs of it, whatever memory is in use."""
        if shape.whole:
            table = self.c.table
            empty = to_bools(state.mixed, table.n) & (state.free_cpus == table.cpus)
            if shape.mem_all:
                empty &= state.free_mem == table.mem
            else:
                empty &= state.free_mem >= (shape.mem_cpu * table.cpus if shape.mem_cpu else shape.mem_node)
            if shape.gres:
                have = usable(shape.gres, state.free_gres, np.arange(table.n), shape.mem_gpu, state.free_mem)
                empty &= self.c.selector.offer(shape, np.arange(table.n), have, table.cpus)[0] > 0
            state.idle |= from_bools(empty)
        return self.c.selector.place(shape, state, within)

    def beside(self, shape: Shape, within: Bitmap | None) -> Allocation | None:
        """Whole nodes on which nothing runs, but somebody is suspended who keeps memory; None if none will do."""
        if not shape.whole or not any(self._parked.values()):
            return None
        alloc = self.place(shape, Supposed(self.c.table), within)
        if alloc is None:
            return None
        return self.c.table.counted(alloc) if alloc.mask & ~self.c.table.idle else alloc

    # -- questions --------------------------------------------------------------------------------------------------

    def seconds(self, job: Job) -> int:
        """How long the present run of `job` has been suspended so far."""
        return job.suspended_s + (self.c.now - job.suspended_at if job.suspended_at is not None else 0)

    def held(self, job: Job) -> Allocation | None:
        """What `job`, running or suspended, holds in the node table."""
        return self._parked.get(job.id, job.alloc)

    def occupants(self) -> Sequence[Entry]:
        """All that holds something, running or suspended, by the end of its limit."""
        if not self.jobs:
            return self.c.running
        return list(merge(self.c.running, [e for e in map(self._entry, self.jobs) if e is not None]))

    def _entry(self, entry: Entry) -> Any:
        """A suspended job as the future test may take it away: with what it holds; None when that is nothing."""
        end, job_id, job = entry
        if job_id not in self._parked:
            return entry
        rest = self._parked[job_id]
        if rest is None:
            return None
        rest_of_it = SimpleNamespace(
            alloc=rest, nodes=job.nodes, n_nodes=job.n_nodes, partition=job.partition, reservation=job.reservation
        )
        return end, job_id, rest_of_it

    def alone(self, job: Job) -> Bitmap:
        """The nodes on which no other job runs than `job`."""
        others = 0
        for _, _, other in self.c.running:
            if other is not job:
                others |= other.nodes
        return job.nodes & ~others

    @property
    def nodes(self) -> Bitmap:
        """Nodes with a suspended job."""
        mask = 0
        for _, _, job in self.jobs:
            mask |= job.nodes
        return mask

    @property
    def crowded(self) -> Bitmap:
        """Nodes whose jobs may hold more CPUs than there are."""
        if not self.jobs and not self._unchecked:
            return 0
        mask = 0
        for _, _, job in self.jobs:
            if job.id not in self._parked:
                mask |= job.nodes
        for _, _, job in self.c.running:
            if job.id in self._unchecked:
                mask |= job.nodes
        return mask

    def check(self) -> list[Any]:
        """What the suspended jobs hold in the node table; raises InvariantError if they are not what they should be."""
        c = self.c
        ids = [entry[1] for entry in self.jobs]
        states = [job.id for job in c.jobs.values() if job.state == JobState.SUSPENDED]
        if sorted(ids) != sorted(states) or not set(self._parked) <= set(ids):
            raise InvariantError("suspended jobs differ from a recount")
        held = [(job, self.held(job)) for _, _, job in self.jobs]
        holders = [SimpleNamespace(id=job.id, alloc=a) for job, a in held if a is not None]
        if c.table.cores is not None:
            return holders  # the table knows which cores each has
        unchecked = 0
        used = np.zeros(c.table.n, np.int64)
        for _, _, job in c.running:
            assert job.alloc is not None
            used[job.alloc.indices()] += job.alloc.cpus
            if job.id in self._unchecked:
                unchecked |= job.nodes
        if any(used[i] > c.table.cpus[i] and not unchecked >> i & 1 for i in range(c.table.n)):
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
