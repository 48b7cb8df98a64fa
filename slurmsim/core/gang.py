"""The gang scheduler: jobs that hold the same CPUs, of which some are suspended while the others run.

With PreemptMode=…,GANG a job may be placed beside jobs of lower tiers, or in another row of a partition with
OverSubscribe=FORCE:n. Each partition has a list of its jobs; its *active row* is what runs: first the jobs of higher
tiers (their *shadows*), then its own in the order of the list as far as they fit. Who does not fit is suspended until
there is room; and every SchedulerTimeSlice the jobs that ran go to the end of their list.

Mirrors src/slurmctld/gang.c and steps 2 to 4 of select/cons_common job_test.c (22.05).

Deviation: CPUs are counted on each node, not told apart by core. So of several small jobs on a node the last of the
list is suspended, where slurmctld suspends the one whose very cores were given away.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.bitmap import Bitmap, from_bools, to_bools
from slurmsim.core.free_state import Supposed
from slurmsim.core.job import Job
from slurmsim.core.nodes import Allocation, IntArray
from slurmsim.core.partitions import Partition
from slurmsim.core.shape import Shape
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job_queue import Record
    from slurmsim.model.cluster import ClusterSpec

# where a job stands: not in the active row; put there by its turn; put there because there was room
_OUT, _ACTIVE, _FILLER = range(3)
# how a job takes its nodes (select's node states): for itself, on CPUs of its own, on CPUs it may share
_ALONE, _OWN, _SHARED = range(3)


def _sharing(partition: Partition, shape: Shape) -> int:
    kind = partition.spec.oversubscribe
    if kind == "EXCLUSIVE" or (shape.request.exclusive and kind != "FORCE"):
        return _ALONE
    return _SHARED if kind == "FORCE" else _OWN


def takes_turns(cluster: ClusterSpec) -> bool:
    """Whether the configuration has a gang scheduler: PreemptMode with GANG, and not select/linear."""
    return "GANG" in cluster.option("PreemptMode") and cluster.option("SelectType") != "select/linear"


class Gang:
    """Active rows of all partitions."""

    def __init__(self, controller: Controller) -> None:
        c = self.c = controller
        self.slice_s: int = c.cluster.option("SchedulerTimeSlice")
        self._by_partition = c.cluster.option("PreemptType") == "preempt/partition_prio"
        self._lists: list[list[Job]] = [[] for _ in c.partitions]
        self._order = sorted(c.partitions, key=lambda p: -p.tier)  # equal tiers as in the file
        self._place: dict[int, int] = {}  # job id -> where it stands
        self._home: dict[int, int] = {}  # job id -> partition of its list
        self._row: dict[int, int] = {}  # job id -> row of its partition
        self._stopped: set[int] = set()
        self._sliced_at = c.start_time

    # -- the active rows --------------------------------------------------------------------------------------------

    def started(self, job: Job) -> None:
        """`job` started or was resumed by an administrator: it runs if it fits in, and others may have to stop."""
        c = self.c
        a = job.alloc
        assert a is not None
        if job.id in self._home:
            return  # never left the list
        index = job.partition.index
        self._row[job.id] = self._first_row(job)
        self._lists[index].append(job)
        self._home[job.id] = index
        self._place[job.id] = _OUT
        if a.whole or not (c.table.free_cpus[a.indices()] < 0).any():
            self._place[job.id] = _FILLER
            return
        used = self._shadows(job.partition)
        for other in self._lists[index]:
            if self._place[other.id] != _OUT:
                self._add(used, other)
        if self._fits(used, job):
            self._place[job.id] = _FILLER
            self._update()
        elif self._make_stop(job, bool(self._casting(job.partition))):
            self._kill([job])

    def ended(self, job: Job) -> None:
        """`job` gave its CPUs back."""
        index = self._home.pop(job.id, None)
        if index is None:
            return
        self._lists[index].remove(job)
        del self._place[job.id], self._row[job.id]
        self._stopped.discard(job.id)
        if self._stopped:
            self._update()

    def _casting(self, partition: Partition) -> list[Job]:
        """The jobs that run in partitions of higher tiers."""
        higher = [p for p in self._order if p.tier > partition.tier]
        return [job for p in higher for job in self._lists[p.index] if self._place[job.id] != _OUT]

    def _shadows(self, partition: Partition) -> IntArray:
        """CPUs of each node that jobs of higher tiers use, no more than there are."""
        used = np.zeros(self.c.table.n, np.int64)
        for job in self._casting(partition):
            self._add(used, job)
        return np.minimum(used, self.c.table.cpus)

    @staticmethod
    def _add(used: IntArray, job: Job) -> None:
        assert job.alloc is not None
        used[job.alloc.indices()] += job.alloc.cpus

    def _fits(self, used: IntArray, job: Job) -> bool:
        assert job.alloc is not None
        idx = job.alloc.indices()
        return bool((used[idx] + job.alloc.cpus <= self.c.table.cpus[idx]).all())

    def _update(self) -> None:
        """Build all active rows anew, who runs before who does not; higher tiers first."""
        killed: list[Job] = []
        for partition in self._order:
            jobs = self._lists[partition.index]
            if not jobs:
                continue
            used = self._shadows(partition)
            shadowed = bool(used.any())
            for wanted in (_ACTIVE, _FILLER):
                for job in jobs:
                    if self._place[job.id] != wanted:
                        continue
                    if self._fits(used, job):
                        self._add(used, job)
                        continue
                    self._place[job.id] = _OUT
                    if self._make_stop(job, shadowed):
                        killed.append(job)
            for job in jobs:
                if self._place[job.id] == _OUT and job.priority and job not in killed and self._fits(used, job):
                    self._add(used, job)
                    self._place[job.id] = _FILLER
                    self._make_go(job)
        self._kill(killed)

    def _make_stop(self, job: Job, shadowed: bool) -> bool:
        """Suspend `job` if it runs; True if its mode says to kill it instead."""
        if job.state != JobState.RUNNING:
            return False
        c = self.c
        if shadowed and c.preemption is not None and c.preemption.mode(job) in ("CANCEL", "REQUEUE"):
            return True
        self._stopped.add(job.id)
        c.suspension.stop(job)
        return False

    def _make_go(self, job: Job) -> None:
        if job.id in self._stopped:
            self._stopped.discard(job.id)
            self.c.suspension.go_on(job)

    def _kill(self, jobs: list[Job]) -> None:
        for job in jobs:
            assert self.c.preemption is not None
            self.c.preemption.end(job)

    # -- time slices ------------------------------------------------------------------------------------------------

    def next_time(self, now: int) -> int | None:
        """The next turn, None while nobody waits for one."""
        if not self._stopped:
            return None
        return now + self.slice_s - (now - self.c.start_time) % self.slice_s

    def timers(self, now: int) -> None:
        """At the end of a slice the jobs of each partition take turns."""
        if not self._stopped or (now - self.c.start_time) % self.slice_s or self._sliced_at == now:
            return
        self._sliced_at = now
        for partition in self._order:
            if any(self._place[job.id] == _OUT for job in self._lists[partition.index]):
                self._turn(partition)

    def _turn(self, partition: Partition) -> None:
        """Who ran by turn goes to the end of the list; then whoever fits runs, in the order of the list."""
        place = self._place
        jobs = self._lists[partition.index]
        jobs.sort(key=lambda job: place[job.id] == _ACTIVE)
        used = self._shadows(partition)
        shadowed = bool(used.any())
        for job in jobs:
            place[job.id] = _OUT
            if job.priority and self._fits(used, job):
                self._add(used, job)
                place[job.id] = _ACTIVE
        killed = [job for job in jobs if place[job.id] == _OUT and self._make_stop(job, shadowed)]
        for job in jobs:
            if place[job.id] == _ACTIVE:
                self._make_go(job)
        self._kill(killed)

    # -- placing beside others --------------------------------------------------------------------------------------

    def place(self, record: Record, within: Bitmap, gone: Collection[int] = ()) -> Allocation | None:
        """Nodes and shares for `record`'s job on CPUs that others hold, whom it would make stop; None if none will do.

        `gone`: ids of jobs to suppose ended.
        """
        c, shape, partition = self.c, record.shape, record.partition
        sharing = _sharing(partition, shape)
        if sharing == _ALONE:
            return None
        lower: dict[int, list[Job]] = {}
        same: list[Job] = []
        own: list[Job] = []
        leaving: list[Job] = []
        reach = within & shape.candidates
        for jobs in (c.running, c.suspension.jobs):
            for _, _, job in jobs:
                if not job.nodes & reach or c.suspension.held(job) is not job.alloc:
                    continue
                if job.id in gone:
                    leaving.append(job)
                    continue
                theirs = job.partition
                how = _sharing(theirs, job.shape)
                rows = theirs.spec.oversubscribe_max
                others_rows = how == _SHARED and rows > 1 and theirs is not partition
                if how == _ALONE or (sharing == _SHARED and how == _OWN) or (sharing == _OWN and others_rows):
                    within &= ~job.nodes
                elif self._hard(theirs, partition):
                    continue
                elif theirs is partition:
                    own.append(job)
                elif theirs.tier == partition.tier:
                    same.append(job)
                else:
                    lower.setdefault(theirs.index, []).append(job)
        base = Supposed(c.table)
        for job in leaving:
            assert job.alloc is not None
            base.release(job.alloc)
        below = [job for jobs in lower.values() for job in jobs]
        if not below and not own and not same:
            return None
        if self._try(base, [*below, *own, *same], shape, within) is None:
            return None
        found = self._try(base, below, shape, within)
        if found is not None:
            for p in self._order:  # spare the higher of the lower tiers as far as possible
                if p.index in lower:
                    spared = [job for job in below if job.partition.index != p.index]
                    better = self._try(base, spared, shape, within)
                    if better is None:
                        break
                    found, below = better, spared
            return found
        rows = partition.spec.oversubscribe_max if sharing == _SHARED else 1
        for row in range(rows):
            others = [job for job in own if self._row[job.id] != row]
            found = self._try(base, [*below, *others, *same], shape, within)
            if found is not None:
                return found
        return None

    def _hard(self, theirs: Partition, mine: Partition) -> bool:
        """Whether jobs of partition `theirs` keep their CPUs from those of `mine`."""
        if not self._by_partition:
            return theirs is not mine
        assert self.c.preemption is not None
        return theirs.tier > mine.tier or self.c.preemption.protected(theirs.index)

    def _try(self, base: Supposed, stopped: list[Job], shape: Shape, within: Bitmap) -> Allocation | None:
        """Place where the CPUs of the jobs `stopped` are free, but not their memory and GRES."""
        state = base.copy()
        for job in stopped:
            assert job.alloc is not None
            state.release_cpus(job.alloc)
        if shape.whole:
            state.idle |= self._empty_nodes(state, shape)
        return self.c.selector.place(shape, state, within)

    def _empty_nodes(self, state: Supposed, shape: Shape) -> Bitmap:
        """Nodes all of whose CPUs are free, with memory enough for a job that takes them whole."""
        table = self.c.table
        free = to_bools(state.mixed, table.n) & (state.free_cpus == table.cpus)
        if shape.mem_all:
            free &= state.free_mem == table.mem
        else:
            free &= state.free_mem >= (shape.mem_cpu * table.cpus if shape.mem_cpu else shape.mem_node)
        return from_bools(free)

    def commit(self, alloc: Allocation) -> Allocation:
        """What `place` found, as the node table takes it: nobody has those nodes to himself any more."""
        c = self.c
        for jobs in (c.running, c.suspension.jobs):
            for _, _, job in jobs:
                if job.nodes & alloc.mask and c.suspension.held(job) is job.alloc:
                    c.suspension.share(job)
        return c.table.counted(alloc) if alloc.mask & ~c.table.idle else alloc

    def _first_row(self, job: Job) -> int:
        """The row of its partition that `job` goes into: the first where its CPUs are free (job_res_add_job)."""
        jobs = self._lists[job.partition.index]
        rows = job.partition.spec.oversubscribe_max
        for row in range(rows - 1):
            used = np.zeros(self.c.table.n, np.int64)
            for other in jobs:
                if self._row[other.id] == row:
                    self._add(used, other)
            if self._fits(used, job):
                return row
        return rows - 1
