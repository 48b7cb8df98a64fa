"""The gang scheduler: jobs that hold the same CPUs, of which some are suspended while the others run.

With PreemptMode=…,GANG a job may be placed beside jobs of lower tiers, or in another row of a partition with
OverSubscribe=FORCE:n. Each partition has a list of its jobs; its *active row* is what runs: first the jobs of higher
tiers (their *shadows*), then its own in the order of the list as far as they fit. Who does not fit is suspended until
there is room; and every SchedulerTimeSlice the jobs that ran go to the end of their list.

Mirrors src/slurmctld/gang.c and steps 2 to 4 of select/cons_common job_test.c (22.05).

The CPUs that a job has on a node decide which jobs have to stop for it, so each CPU is known here. A job takes the
lowest CPUs that are free to it. Deviation: slurmctld deals tasks out over the sockets of a node, which may take others.

As in slurmctld, jobs run at once on the same CPUs in three cases (all seen with 22.05.8 and 24.11.5):

- They are of equal tiers in different partitions and there is no room elsewhere; the manual advises against those.
- One is a component of a heterogeneous job: components take no turns, do not stop, and make no job stop.
- A partition is left out at the end of a slice. Its row is built anew if it had fewer jobs than the partition has now,
  shadows included. So if one job of a higher tier takes turns with one that has more CPUs, both run until something
  starts or ends.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.placement.sharing import preempts_by_tier
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.observer import Observer
from slurmsim.core.records.partition import Partition
from slurmsim.errors import InvariantError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.preempt_modes import PreemptModes
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.state.controller_state import ControllerState

# where a job stands: not in the active row; put there by its turn; put there because there was room
_OUT: Final = 0
_ACTIVE: Final = 1
_FILLER: Final = 2
# how a job takes its nodes (select's node states): for itself, on CPUs of its own, on CPUs it may share
_ALONE: Final = 0
_OWN: Final = 1
_SHARED: Final = 2
Cores = dict[int, int]  # node -> its CPUs as bits


class Gang(Observer):
    """Active rows of all partitions.

    Attributes
    ----------
    finds
        Per partition, by index: True if its jobs may be given CPUs that other jobs have.
    """

    def __init__(self, state: ControllerState, suspension: Suspension, modes: PreemptModes) -> None:
        self.state, self._suspension, self._modes = state, suspension, modes
        self.slice_s: int = state.spec.option("SchedulerTimeSlice")
        self._by_partition = preempts_by_tier(state.spec)
        self._lists: list[list[Job]] = [[] for _ in state.partitions]
        self._order = sorted(state.partitions, key=lambda p: -p.tier)  # equal tiers as in the file
        self._find_partners()
        self._place: dict[int, int] = {}  # job id -> where it stands
        self._home: dict[int, int] = {}  # job id -> partition of its list
        self._row: dict[int, int] = {}  # job id -> row of its partition
        self._cores: dict[int, Cores] = {}  # job id -> CPUs it has
        self._all: list[int] = [(1 << n) - 1 for n in state.table.cpus.tolist()]
        self._stopped: set[int] = set()
        self._beside: set[int] = set()  # jobs with CPUs that the next job to start was given
        # jobs and shadows of each active row as it was built last; None where all are as they would be built now
        self._built: list[int] | None = None
        self._sliced_at = state.start_time

    # -- the active rows --------------------------------------------------------------------------------------------

    def _find_partners(self) -> None:
        partitions = self.state.partitions
        self.finds = [
            _rows(p) > 1 or any(q is not p and q.mask & p.mask and not self._hard(q, p) for q in partitions)
            for p in partitions
        ]

    def partition_added(self, partition: Partition) -> None:
        """Take in a partition that was made while the cluster runs."""
        self._lists.append([])

    def partitions_changed(self) -> None:
        """Build all rows by what partitions are now; jobs that run stay, as far as they fit (gs_reconfig)."""
        self._order = sorted(self.state.partitions, key=lambda p: -p.tier)
        self._find_partners()
        for job_id, place in self._place.items():
            if place == _ACTIVE:
                self._place[job_id] = _FILLER
        self._update()

    def started(self, job: Job, now: int) -> None:
        """`job` started or was resumed by an administrator: it runs if it fits in, and others may have to stop."""
        if job.id in self._home:
            return  # never left the list
        index = job.partition.index
        beside, self._beside = self._beside, set()
        crowded = self._assign(job, beside)
        self._row[job.id] = self._first_row(job)
        self._home[job.id] = index
        if job.sub.het is not None:
            return
        self._lists[index].append(job)
        self._place[job.id] = _OUT
        if not crowded:
            self._place[job.id] = _FILLER
            self._changed()
            return
        used = self._shadows(job.partition)
        for other in self._lists[index]:
            if self._place[other.id] != _OUT:
                self._add(used, other.id)
        if self._fits(used, job):
            self._place[job.id] = _FILLER
            self._update()
        elif self._make_stop(job, bool(self._casting(job.partition))):
            self._kill([job])

    def _assign(self, job: Job, beside: set[int]) -> bool:
        """Give `job` the lowest CPUs of its nodes, but not those of jobs outside `beside`; return True if shared."""
        a = job.alloc
        assert a is not None
        on: dict[int, list[int]] = {}
        for other_id, cores in self._cores.items():
            for node in cores:
                if a.mask >> node & 1:
                    on.setdefault(node, []).append(other_id)
        counts = [a.cpus] * a.n_nodes if isinstance(a.cpus, int) else a.cpus.tolist()
        mine: Cores = {}
        crowded = False
        for node, count in zip(a.indices().tolist(), counts, strict=True):
            taken = kept = 0
            for other_id in on.get(node, ()):
                bits = self._cores[other_id][node]
                taken |= bits
                if other_id not in beside:
                    kept |= bits
            mine[node] = _lowest_bits(self._all[node], kept, count)
            crowded = crowded or mine[node] & taken != 0
        self._cores[job.id] = mine
        return crowded

    def look_again(self) -> None:
        """Let suspended jobs run again if there is room."""
        self._update()

    def resized(self, job: Job, now: int) -> None:
        self._cores[job.id] = {node: bits for node, bits in self._cores[job.id].items() if job.nodes >> node & 1}
        self._changed()

    def gone(self, job: Job) -> None:
        self.ended(job)

    def requeued(self, job: Job) -> None:
        self.ended(job)

    def ended(self, job: Job) -> None:
        """Take note that `job` gave its CPUs back."""
        index = self._home.pop(job.id, None)
        if index is None:
            return
        del self._row[job.id], self._cores[job.id]
        if self._place.pop(job.id, None) is None:
            return
        self._lists[index].remove(job)
        self._stopped.discard(job.id)
        self._changed()

    def _changed(self) -> None:
        """Build the rows anew after jobs came or went.

        No row changes while no job is suspended, but after a slice: rows that it left out may overlap others.
        """
        if self._stopped or self._built is not None:
            self._update()

    def _casting(self, partition: Partition) -> list[Job]:
        """Return the jobs that run in partitions of higher tiers."""
        higher = [p for p in self._order if p.tier > partition.tier]
        return [job for p in higher for job in self._lists[p.index] if self._place[job.id] != _OUT]

    def _shadows(self, partition: Partition) -> Cores:
        """CPUs that running jobs of higher tiers have."""
        used: Cores = {}
        for job in self._casting(partition):
            self._add(used, job.id)
        return used

    def _add(self, used: Cores, job_id: int) -> None:
        for node, bits in self._cores[job_id].items():
            used[node] = used.get(node, 0) | bits

    def _fits(self, used: Cores, job: Job) -> bool:
        return not any(used.get(node, 0) & bits for node, bits in self._cores[job.id].items())

    def _update(self) -> None:
        """Build all active rows anew, who runs before who does not; higher tiers first."""
        killed: list[Job] = []
        for partition in self._order:
            jobs = self._lists[partition.index]
            if not jobs:
                continue
            used = self._shadows(partition)
            shadowed = bool(used)
            for wanted in (_ACTIVE, _FILLER):
                for job in jobs:
                    if self._place[job.id] != wanted:
                        continue
                    if self._fits(used, job):
                        self._add(used, job.id)
                        continue
                    self._place[job.id] = _OUT
                    if self._make_stop(job, shadowed):
                        killed.append(job)
            for job in jobs:
                if self._place[job.id] == _OUT and job.priority and job not in killed and self._fits(used, job):
                    self._add(used, job.id)
                    self._place[job.id] = _FILLER
                    self._make_go(job)
        self._built = None
        self._kill(killed)

    def _make_stop(self, job: Job, shadowed: bool) -> bool:
        """Suspend `job` if it runs; True if its mode says to kill it instead."""
        if job.state != JobState.RUNNING:
            return False
        if shadowed and self._modes.mode(job) in ("CANCEL", "REQUEUE"):
            return True
        self._stopped.add(job.id)
        self._suspension.stop(job)
        return False

    def _make_go(self, job: Job) -> None:
        if job.id in self._stopped:
            self._stopped.discard(job.id)
            self._suspension.go_on(job)

    def _kill(self, jobs: list[Job]) -> None:
        for job in jobs:
            self._modes.end(job)

    def has_turn(self, job: Job) -> bool:
        """Return True if `job` is in the row that runs now, or takes no turns."""
        return self._place.get(job.id, _ACTIVE) != _OUT

    # -- time slices ------------------------------------------------------------------------------------------------

    def next_time(self, now: int) -> int | None:
        """Return the time of the next turn, None while no job waits for one."""
        if not self._stopped:
            return None
        return now + self.slice_s - (now - self.state.start_time) % self.slice_s

    def timers(self, now: int) -> None:
        """At the end of a slice the jobs of each partition take turns."""
        if not self._stopped or (now - self.state.start_time) % self.slice_s or self._sliced_at == now:
            return
        self._sliced_at = now
        killed: list[Job] = []
        built = self._built or [self._in_row(p) for p in self.state.partitions]
        for partition in self._order:
            index = partition.index
            if built[index] < len(self._lists[index]) + len(self._casting(partition)):
                killed += self._turn(partition)
                built[index] = self._in_row(partition)
        self._built = built
        self._kill(killed)

    def _in_row(self, partition: Partition) -> int:
        """Return jobs in the active row of `partition` as it would be built now, shadows included."""
        own = sum(self._place[job.id] != _OUT for job in self._lists[partition.index])
        return len(self._casting(partition)) + own

    def _turn(self, partition: Partition) -> list[Job]:
        """Move the jobs that ran by turn to the end of the list; then run the jobs that fit, in the list's order.

        Returns the jobs that have to end instead of being suspended.
        """
        place = self._place
        jobs = self._lists[partition.index]
        jobs.sort(key=lambda job: place[job.id] == _ACTIVE)
        used = self._shadows(partition)
        shadowed = bool(used)
        for job in jobs:
            place[job.id] = _OUT
            if job.priority and self._fits(used, job):
                self._add(used, job.id)
                place[job.id] = _ACTIVE
        killed = [job for job in jobs if place[job.id] == _OUT and self._make_stop(job, shadowed)]
        for job in jobs:
            if place[job.id] == _ACTIVE:
                self._make_go(job)
        return killed

    # -- placing beside others --------------------------------------------------------------------------------------

    def place(self, record: Record, within: Bitmap, gone: Collection[int] = ()) -> Allocation | None:
        """Return nodes and shares for `record`'s job on CPUs that others hold; None if none will do.

        `gone`: ids of jobs to suppose ended.
        """
        found = self._search(record, within, gone)
        return None if found is None else found[0]

    def take(self, record: Record, within: Bitmap) -> Allocation | None:
        """Place as `place` does, for a start that follows at once: from now on no job has those nodes to itself."""
        found = self._search(record, within, ())
        if found is None:
            return None
        alloc, beside = found
        suspension = self._suspension
        for _, _, job in self._occupants(alloc.mask):
            suspension.share(job)
        suspension.may_crowd(record.job)
        self._beside = {job.id for job in beside}
        return self.state.table.counted(alloc) if alloc.mask & ~self.state.table.idle else alloc

    def _occupants(self, mask: Bitmap) -> list[tuple[int, int, Job]]:
        """Return jobs with CPUs on nodes of `mask`; not those an administrator suspended."""
        return [
            entry
            for entry in (*self.state.running, *self.state.suspended)
            if entry[2].nodes & mask and self.state.holders.held(entry[2]) is entry[2].alloc
        ]

    def _search(self, record: Record, within: Bitmap, gone: Collection[int]) -> tuple[Allocation, list[Job]] | None:
        """Return the allocation found and the jobs with CPUs that it may share, or None."""
        request, partition = record.request, record.partition
        if not self.finds[partition.index] or _sharing(record.job, partition) == _ALONE:
            return None
        lower: dict[int, list[Job]] = {}
        same: list[Job] = []
        own: list[Job] = []
        base = Supposed(self.state.table)
        for _, _, job in self._occupants(within & request.candidates):
            assert job.alloc is not None
            theirs = job.partition
            if job.id in gone:
                base.release(job.alloc)
            elif self._closes(job, record):
                within &= ~job.nodes
            elif self._hard(theirs, partition) or self._modes.shares_later(job):
                continue
            elif theirs is partition:
                own.append(job)
            elif theirs.tier == partition.tier:
                same.append(job)
            else:
                lower.setdefault(theirs.index, []).append(job)
        below = [job for jobs in lower.values() for job in jobs]
        # step 1, on idle CPUs, was the placer's: without jobs to share with there is nothing more to find
        if not below and not own and not same:
            return None
        # step 2: if this fails, the job has to wait for jobs that it may not share with
        if self._try(base, [*below, *own, *same], request, within) is None:
            return None
        found = self._try(base, below, request, within)
        if found is not None:
            return self._sparing(base, record, within, below, found)
        for row in range(_rows(partition)):
            # step 4 avoids rows of this partition only, so jobs of others of its tier may run on the same CPUs at once
            free = [*below, *[job for job in own if self._row[job.id] != row], *same]
            found = self._try(base, free, request, within)
            if found is not None:
                return found, free
        return None

    def _sparing(
        self, base: Supposed, record: Record, within: Bitmap, below: list[Job], found: Allocation
    ) -> tuple[Allocation, list[Job]]:
        """Spare the jobs of the higher of the lower tiers as far as possible."""
        for p in self._order:
            spared = [job for job in below if job.partition.index != p.index]
            if len(spared) < len(below) and p.tier < record.partition.tier:
                better = self._try(base, spared, record.request, within)
                if better is None:
                    break
                found, below = better, spared
        return found, below

    def _closes(self, job: Job, record: Record) -> bool:
        """Return True if `record`'s job may not enter the nodes of `job` (_verify_node_state, share_node_bitmap)."""
        mine, theirs = record.partition, job.partition
        wish, how = _sharing(record.job, mine), _sharing(job, theirs)
        if how == _ALONE or (wish == _SHARED and how == _OWN):
            return True
        if wish == _OWN and _rows(theirs) > 1 and theirs is not mine:
            return True
        preempted = self._by_partition and theirs.tier < mine.tier
        return job.request.exclusive and not preempted

    def _hard(self, theirs: Partition, mine: Partition) -> bool:
        """Return True if jobs of partition `theirs` keep their CPUs from those of `mine`."""
        return self._by_partition and (theirs.tier > mine.tier or self._modes.protected(theirs.index))

    def _try(self, base: Supposed, stopped: list[Job], request: CompiledRequest, within: Bitmap) -> Allocation | None:
        """Place where the CPUs of the jobs `stopped` are free, but not their memory and GRES."""
        state = base.copy()
        for job in stopped:
            assert job.alloc is not None
            state.release_cpus(job.alloc)
        return self._suspension.place(request, state, within)

    def _first_row(self, job: Job) -> int:
        """Return the row of its partition that `job` goes into: the first where its CPUs are free (job_res_add_job)."""
        index, last = job.partition.index, _rows(job.partition) - 1
        for row in range(last):
            used: Cores = {}
            for other_id, home in self._home.items():
                if home == index and self._row[other_id] == row:
                    self._add(used, other_id)
            if self._fits(used, job):
                return row
        return last

    def check(self) -> None:
        """Raise InvariantError if two jobs of one active row have a CPU of a node."""
        for jobs in self._lists:
            used: Cores = {}
            for job in jobs:
                if self._place[job.id] == _OUT:
                    continue
                if not self._fits(used, job):
                    raise InvariantError(f"job {job.id} runs on CPUs of its active row")
                self._add(used, job.id)


def _rows(partition: Partition) -> int:
    """Return how many rows of jobs `partition` may have."""
    spec = partition.spec
    return spec.oversubscribe_max if spec.oversubscribe in ("YES", "FORCE") else 1


def _sharing(job: Job, partition: Partition) -> int:
    """Return how `job` takes nodes of `partition`; --exclusive makes no difference (_get_job_node_req)."""
    share = partition.spec.oversubscribe
    if share == "EXCLUSIVE":
        return _ALONE
    wishes = share == "YES" and _rows(partition) > 1 and job.sub.request.oversubscribe
    return _SHARED if share == "FORCE" or wishes else _OWN


def _lowest_bits(available: int, kept: int, count: int) -> int:
    """Return the lowest `count` bits of `available` that are not in `kept`; where those do not suffice, of all."""
    found = 0
    for choice in (available & ~kept, available):
        while choice and found.bit_count() < count:
            low = choice & -choice
            found |= low
            choice ^= low
    return found
