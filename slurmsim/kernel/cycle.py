"""A backfill cycle over atoms: where plans go when whole, equal nodes decide, in integers a C compiler understands.

Sets of nodes are sets of `atoms`, the records that wait are columns of a `queue`, and those that run are `running`.
This is plain Python and runs as such (the tests do); `cycle.pxd` gives it the types with which Cython compiles it.

Source: Slurm src/plugins/sched/backfill/backfill.c (_attempt_backfill) and its future test in select/cons_tres
(_will_run_test), 22.05.8; `slurmsim.capacity.NodeSpace`, `NodeReleaseTimes` and `Search` say the same of sets of nodes.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.kernel.arrays import wider, zeros
from slurmsim.kernel.constants import (
    ASKS,
    BARRED,
    CLOSED,
    ESTIMATE,
    FOREIGN,
    NOTHING,
    PLANNED,
    REFUSED,
    SEEN,
    START,
    UNKNOWN,
    UNSEEN,
    UNTOUCHED,
)

if TYPE_CHECKING:
    from slurmsim.kernel import atoms, limits, placement, queue, running

NEVER = 1 << 60

MOST_MOVES = 11  # starts that reservations are asked about, one behind the other (`ReservationAccess`)


def first_from(values: array[int], low: int, n: int, x: int) -> int:
    """Return the first of ``values[low:n]``, ascending, that is `x` or more."""
    high = n
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def first_beyond(values: array[int], low: int, n: int, x: int) -> int:
    """Return the first of ``values[low:n]``, ascending, that is more than `x`."""
    high = n
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


def width_of(x: int) -> int:
    """Return how many bits `x` has."""
    n = 0
    while x:
        x >>= 1
        n += 1
    return n


class Cycle:
    """The node space of a cycle, the running jobs, and the search for where a job goes (`Search`, `NodeSpace`).

    One object serves one cycle after another: `hold`, where nodes are whole, and `restart`. What requests ask of which
    nodes (`learn_set`, `learn`) it knows until it is told to `forget`.

    Attributes
    ----------
    up, idle, asleep
        Sets of nodes: those that are up, those without a job, and those powered down, -1 if there are none.
    now, end
        Seconds; what the node space covers ends with `end`.
    resolution, window, linear
        bf_resolution, bf_window, bf_window_linear, seconds; the last is negative where jobs go one by one.
    too_late
        How long a job over its limit may take to go.
    kind, start, first, last
        What the last search found: `NOTHING`, or when the job would start, and what a plan takes of the node space.
    here, chosen
        Sets: the nodes a start was found on, and those a plan takes.
    at_once
        For such a start enough of them are free; else who has them is to go this very second.
    put_behind
        A plan had to begin later than the future test says, because of another plan.
    tests, stop_at, segments
        Of a `walk`: jobs tried so far, how many may be, and how many segments the node space may have.
    planned, most_planned, rejected
        Plans made for tasks of each array, how many may be, and the array of the last task that got none, or -1.
    expected
        When the first record is known to be planned for; -1: that is not known.
    end_of_walk, unsure
        The last record that could still start beside what is planned; whether the caller has to tell if it could.
    tried, following
        The moment of an `opening`, and the one to try next (0: none); the nodes are `here`.
    covered, covers
        The set `opening` was last asked about, and whether it has all nodes that are up.
    segment, stop, least, next
        The segments from that moment on end before `stop`, `least` has the fewest nodes of them; `next` begins with the
        moment to try next.
    n_reserved, periods, effects
        Reservations that keep nodes from jobs; (start, end, set) of each, one after the other; what each does to each
        partition.
    gap, gap_base
        The longest gap between moments a search on the set `gap_base` tries (`_longest_gap`); -1: it is to be found.
    rules, refusing
        The limits, where some are enforced; whether one that forbids a start has nothing else to ask first.
    searched
        Whether the walk ended with a search for the record it ended at, which holds as long as nothing changes.
    """

    def __init__(
        self,
        atoms: atoms.Atoms,
        queue: queue.Queue,
        resolution: int,
        window: int,
        segments: int,
        stop_at: int,
        most_planned: int,
    ) -> None:
        self.atoms, self.queue = atoms, queue
        self.resolution, self.window = resolution, window
        self.segments, self.stop_at, self.most_planned = segments, stop_at, most_planned
        self.room = 64
        self.times, self.sets, self.counts = zeros(self.room), zeros(self.room), zeros(self.room)
        self.gained, self.spare = zeros(self.room), zeros(self.room)
        self.n = self.n_spare = 0
        self.more = 64
        self.n_running = 0
        self.ends, self.ids = zeros(self.more), zeros(self.more)
        self.held, self.holds = zeros(self.more), zeros(self.more)
        self.most, self.after = zeros(self.more + 1), zeros(self.more + 1)
        self.n_after = self.n_after_sets = 0
        self.limits, self.free = zeros(64), zeros(64)
        self.n_limits = 0
        self.serial = 0  # of the cycle
        # sets that are known, as runs, and the sets of this cycle made of them
        self.known_runs: list[Sequence[tuple[int, int]]] = []
        self.made = zeros(64)
        self.asked: list[array[int]] = []
        self.shapes_room = 64
        self.shape_bases, self.shape_reaches, self.shape_needs = zeros(64), zeros(64), zeros(64)
        self.shape_mosts, self.shape_bounds, self.shape_bounded = zeros(64), zeros(64), zeros(64)
        self.shape_parts = zeros(64)
        self.more_flags = self.groups = self.planned = zeros(1)
        self.grouped = False  # some are tasks of arrays
        self.nodes: placement.Nodes | None = None  # who places shares of nodes
        self.rules: limits.Limits | None = None
        self.reach_nodes = zeros(64)
        self.put_behind = self.ragged = self.searched = self.refusing = self.at_once = False
        self.tests = self.end_of_walk = 0
        self.rejected = self.expected = self.gap_base = -1
        self.gap = self.tried = self.following = self.n_reserved = 0
        self.segment = self.stop = self.least = self.next = 0
        self.covered, self.covers = -1, False
        self.periods, self.effects, self.reserved_ends = zeros(1), zeros(1), zeros(1)
        self.unsure = False

    def restart(
        self, up: Sequence[tuple[int, int]], idle: int, now: int, begin: int, end: int, linear: int, too_late: int,
        nodes: placement.Nodes | None, n_nodes: int, refusing: bool,
    ) -> None:  # fmt: skip
        """Begin a cycle with the runs of nodes that are `up`; `hold` or `nodes` know the running jobs."""
        atoms = self.atoms
        self.nodes = nodes
        self.serial += 1
        for number in range(len(self.known_runs)):
            self.made[number] = -1
        if n_nodes > len(self.reach_nodes):
            self.reach_nodes = zeros(n_nodes)
        self.up, self.idle, self.now, self.end = atoms.make(up), idle, now, end
        self.linear, self.too_late, self.rules, self.refusing = linear, too_late, None, refusing
        self.n = 1
        self.n_spare = 0
        self.times[0], self.sets[0] = begin, atoms.new_set()
        atoms.copy(self.sets[0], self.up)
        self.counts[0] = atoms.count(self.up)
        self.gained[0] = 0
        self.n_after_sets = self.n_limits = 0
        self.gap_base = self.covered = -1
        self._releases()
        self.here, self.chosen, self.some = atoms.new_set(), atoms.new_set(), atoms.new_set()
        self.allowed = atoms.new_set()
        self.n_reserved, self.asleep = 0, -1
        self.kind = self.start = self.first = self.last = self.again = self.shape = 0
        self.put_behind = self.ragged = False

    def hold(self, running: running.Running, n_idle: int) -> int:
        """Take over the running jobs; return the set of the `n_idle` nodes that no job holds, -1 if that is not so."""
        atoms, n = self.atoms, running.n
        while self.more < n:
            self._more_running()
        self.n_running = n
        idle = atoms.full()
        for k in range(n):
            s = atoms.new_set()
            for i in range(running.first[k], running.first[k + 1]):
                atoms.put_run(s, running.begins[i], running.lengths[i])
            atoms.remove(idle, s)
            self.ends[k], self.ids[k] = running.ends[k], running.ids[k]
            self.holds[k], self.held[k] = running.sizes[k], s
        return idle if atoms.count(idle) == n_idle else -1

    def renew(self, idle: int, asleep: int) -> None:
        """Other jobs run than before, told anew (`hold`); `idle` and `asleep` as they are now."""
        self.idle, self.asleep = idle, asleep
        self._releases()

    def reserve(self, periods: array[int], effects: array[int], ends: array[int]) -> None:
        """Reservations, of whole nodes, keep jobs that are not in them from nodes.

        Parameters
        ----------
        periods
            (start, end, set) of each, one after the other.
        effects
            What each does to jobs of the partitions: `UNTOUCHED`, `TOUCHED` or `CLOSED`, by partition and reservation.
        ends
            When reservations end, also those that keep no nodes.
        """
        self.n_reserved = len(periods) // 3
        self.periods, self.effects, self.reserved_ends = periods, effects, ends

    def forget(self) -> None:
        """No set and no shape is known."""
        self.known_runs = []
        self.asked = []

    def learn_set(self, runs: Sequence[tuple[int, int]]) -> None:
        """One more set is known, of these runs: the next in number from 0."""
        number = len(self.known_runs)
        if number == len(self.made):
            self.made = wider(self.made, 2 * number)
        self.known_runs.append(runs)
        self.made[number] = -1

    def learn(self, part: int, base: int, reach: int, need: int, most: int, asked: array[int]) -> None:
        """One more shape is known: the next in number from 0.

        Parameters
        ----------
        part
            Number of its partition.
        base, reach
            Numbers of known sets: the nodes of the partition, and those of them that could serve it.
        need, most
            Nodes it takes where it has whole ones, as `find` has it.
        asked
            What it asks of each node, as `placement` has it; nothing where that serves it not.
        """
        shape = len(self.asked)
        if shape == self.shapes_room:
            self._more_shapes()
        self.shape_bases[shape], self.shape_reaches[shape] = base, reach
        self.shape_needs[shape], self.shape_mosts[shape], self.shape_parts[shape] = need, most, part
        self.shape_bounded[shape] = 0
        self.asked.append(asked)

    def _set_of(self, number: int) -> int:
        """Return the known set of that number, without nodes that are not up."""
        s = self.made[number]
        if s < 0:
            s = self.atoms.make(self.known_runs[number])
            self.atoms.keep(s, self.up)
            self.made[number] = s
        return s

    def _soonest(self, shape: int, reach: int) -> int:
        """Return an instant before which no share of the set `reach` can be had, as counting tells."""
        assert self.nodes is not None
        if self.shape_bounded[shape] != self.serial:
            gone = self.nodes.enough_after(self.reach_nodes[: self._nodes_of(reach)], self.asked[shape])
            bound = self.now
            if gone < 0:
                bound = NEVER
            elif gone:
                bound = self.nodes.ends[gone - 1]
            self.shape_bounds[shape] = bound
            self.shape_bounded[shape] = self.serial
        return self.shape_bounds[shape]

    def _nodes_of(self, s: int) -> int:
        """Write the nodes of set `s` to `reach_nodes`; return how many."""
        atoms = self.atoms
        n = 0
        for place in range(atoms.n):
            a = atoms.order[place]
            if atoms.bits[s * atoms.words + atoms.word[a]] & atoms.bit[a]:
                for node in range(atoms.begins[a], atoms.begins[a] + atoms.sizes[a]):
                    self.reach_nodes[n] = node
                    n += 1
        return n

    def _more_shapes(self) -> None:
        self.shapes_room *= 2
        n = self.shapes_room
        self.shape_bases, self.shape_reaches = wider(self.shape_bases, n), wider(self.shape_reaches, n)
        self.shape_needs, self.shape_mosts = wider(self.shape_needs, n), wider(self.shape_mosts, n)
        self.shape_bounds, self.shape_bounded = wider(self.shape_bounds, n), wider(self.shape_bounded, n)
        self.shape_parts = wider(self.shape_parts, n)

    # -- the node space ---------------------------------------------------------------------------------------------

    def _cut(self, at: int) -> int:
        """Make `at` a boundary; the index of the segment that begins there."""
        i = first_from(self.times, 0, self.n, at)
        if i < self.n and self.times[i] == at:
            return i
        if self.n == self.room:
            self._more_room()
        k = self.n
        while k > i:
            self.times[k], self.sets[k] = self.times[k - 1], self.sets[k - 1]
            self.counts[k], self.gained[k] = self.counts[k - 1], self.gained[k - 1]
            k -= 1
        if self.n_spare:
            self.n_spare -= 1
            s = self.spare[self.n_spare]
        else:
            s = self.atoms.new_set()
        self.atoms.copy(s, self.sets[i - 1])
        self.times[i], self.sets[i], self.counts[i], self.gained[i] = at, s, self.counts[i - 1], 0
        self.n += 1
        return i

    def _more_room(self) -> None:
        self.room *= 2
        n = self.room
        self.times, self.sets, self.counts = wider(self.times, n), wider(self.sets, n), wider(self.counts, n)
        self.gained, self.spare = wider(self.gained, n), wider(self.spare, n)

    def take(self, begin: int, end: int, nodes: int) -> None:
        """Remove the set `nodes` over ``[begin, end)``, then merge at most one pair of equal neighbours, as Slurm does.

        What is free now until a limit (`free_for`) is kept up to date.
        """
        if begin >= self.end:
            return
        atoms = self.atoms
        self.gap_base = -1
        i = self._cut(begin if begin > self.times[0] else self.times[0])
        j = self.n if end >= self.end else self._cut(end)
        size = atoms.count(nodes)
        for k in range(i, j):
            s = self.sets[k]
            if atoms.within(nodes, s):
                self.counts[k] -= size
            else:
                self.counts[k] -= atoms.common(nodes, s)
            atoms.remove(s, nodes)
            if self.gained[k]:
                self.gained[k] = not atoms.within(s, self.sets[k - 1])
        if 0 < j < self.n and not self.gained[j]:
            self.gained[j] = not atoms.within(self.sets[j], self.sets[j - 1])
        self._merge(0 if self.ragged or i == 0 else i - 1, self.n - 1 if self.ragged or j > self.n - 1 else j)
        if end > self.now:
            for k in range(self.n_limits):
                if begin <= self.now + self.limits[k]:
                    atoms.remove(self.free[k], nodes)

    def _merge(self, low: int, high: int) -> None:
        """Merge the first pair of equal neighbours among the segments from `low` on; `ragged` if there is another."""
        merged = -1
        for k in range(low, high):
            if self.counts[k] == self.counts[k + 1] and self.atoms.equal(self.sets[k], self.sets[k + 1]):
                if merged >= 0:
                    self.ragged = True
                    break
                merged = k + 1
        if merged < 0:
            return
        self.spare[self.n_spare] = self.sets[merged]
        self.n_spare += 1
        self.n -= 1
        for k in range(merged, self.n):
            self.times[k], self.sets[k] = self.times[k + 1], self.sets[k + 1]
            self.counts[k], self.gained[k] = self.counts[k + 1], self.gained[k + 1]

    def _free_over(self, begin: int, end: int, s: int) -> None:
        """Make set `s` what is free in every segment that ends after `begin` and begins no later than `end`."""
        i = first_beyond(self.times, 0, self.n, begin) - 1
        if i < 0:
            i = 0
        j = first_beyond(self.times, i, self.n, end)
        self.atoms.copy(s, self.sets[i])
        for k in range(i + 1, j):
            self.atoms.keep(s, self.sets[k])

    def free_for(self, limit: int) -> int:
        """Return the set of usable nodes no plan needs before now + `limit`, busy or not."""
        for k in range(self.n_limits):
            if self.limits[k] == limit:
                return self.free[k]
        if self.n_limits == len(self.limits):
            self.limits, self.free = wider(self.limits, 2 * self.n_limits), wider(self.free, 2 * self.n_limits)
        s = self.atoms.new_set()
        if self.now < self.end:
            self._free_over(self.now, self.now + limit, s)
        else:
            self.atoms.copy(s, self.up)
        self.limits[self.n_limits], self.free[self.n_limits] = limit, s
        self.n_limits += 1
        return s

    def could_start(self, shape: int, limit: int) -> bool:
        """Return True if the nodes a job of that shape needs are idle and in no plan's way for `limit` seconds."""
        reach = self._set_of(self.shape_reaches[shape])
        if self.nodes is not None:
            self.atoms.both(self.some, self.free_for(limit), reach)
            return self.nodes.fits(self.reach_nodes[: self._nodes_of(self.some)], self.asked[shape])
        need = self.shape_needs[shape]
        if need < 0 or need > self.most[0]:
            return False
        self.atoms.both(self.some, self.free_for(limit), self.idle)
        return self.atoms.common(self.some, reach) >= need

    # -- the running jobs -------------------------------------------------------------------------------------------

    def _releases(self) -> None:
        """Count what is free once the first jobs are gone; the sets are made when they are read."""
        self.most[0] = self.atoms.count(self.idle)
        for k in range(self.n_running):
            self.most[k + 1] = self.most[k] + self.holds[k]
        self.n_after = 0

    def _after(self, p: int) -> int:
        """Return the set of nodes free once the first `p` jobs are gone."""
        atoms = self.atoms
        while self.n_after <= p:
            k = self.n_after
            if k == self.n_after_sets:
                self.after[k] = atoms.new_set()
                self.n_after_sets += 1
            if k:
                atoms.copy(self.after[k], self.after[k - 1])
                atoms.add(self.after[k], self.held[k - 1])
            else:
                atoms.copy(self.after[0], self.idle)
            self.n_after += 1
        return self.after[p]

    def started(self, end: int, job_id: int, nodes: int) -> None:
        """Take note that the job `job_id` runs on the set `nodes` until `end`, by its limit."""
        atoms = self.atoms
        atoms.remove(self.idle, nodes)
        if self.n_running == self.more:
            self._more_running()
        k = self.n_running
        while k > 0 and (self.ends[k - 1] > end or (self.ends[k - 1] == end and self.ids[k - 1] > job_id)):
            self.ends[k], self.ids[k] = self.ends[k - 1], self.ids[k - 1]
            self.held[k], self.holds[k] = self.held[k - 1], self.holds[k - 1]
            k -= 1
        s = atoms.new_set()
        atoms.copy(s, nodes)
        self.ends[k], self.ids[k], self.held[k], self.holds[k] = end, job_id, s, atoms.count(nodes)
        self.n_running += 1
        self._releases()

    def _more_running(self) -> None:
        self.more *= 2
        n = self.more
        self.ends, self.ids = wider(self.ends, n), wider(self.ids, n)
        self.held, self.holds = wider(self.held, n), wider(self.holds, n)
        self.most, self.after = zeros(n + 1), wider(self.after, n + 1)

    def _too_few(self, within: int, need: int, time: int) -> bool:
        """Return True if counting tells that the future test on the set `within` would end after `time`."""
        p = first_beyond(self.ends, 0, self.n_running, time)
        return self.most[p] < need or self.atoms.common(within, self._after(p)) < need

    def _next(self, at: int, reach: int) -> int:
        """Return the first job from `at` on with a node of the set `reach`."""
        while at < self.n_running and not self.atoms.meets(self.held[at], reach):
            at += 1
        return at

    def _before(self, at: int, reach: int) -> int:
        """Return the last job before `at` with a node of the set `reach`, -1 if there is none."""
        at -= 1
        while at >= 0 and not self.atoms.meets(self.held[at], reach):
            at -= 1
        return at

    def _first_with(self, need: int, mask: int) -> int:
        """Return how many jobs must be gone for `need` nodes of the set `mask` to be free, -1 if that is never so.

        At the moments at which Slurm's future test looks (`NodeReleaseTimes.in_batches`).
        """
        n = self.n_running
        p = first_from(self.most, 0, n + 1, need)
        if p > n:
            return -1
        have = self.atoms.common(self._after(p), mask)
        if have < need:
            low, p = first_from(self.most, p, n + 1, self.most[p] + need - have), n
            if low > n or self.atoms.common(self._after(n), mask) < need:
                return -1
            while low < p:
                middle = (low + p) >> 1
                have = self.atoms.common(self._after(middle), mask)
                if have < need:  # so many more must be gone, wherever they are
                    low = first_from(self.most, middle, n + 1, self.most[middle] + need - have)
                else:
                    p = middle
        if p == 0:
            p = self._next(0, mask) + 1
            if p > n:
                return -1
        return self._batch_with(p, mask)

    def _batch_with(self, p: int, reach: int) -> int:
        """Return the first such moment with the first `p` jobs gone, the last of which is on the set `reach`."""
        if self.linear < 0:
            return p
        n = self.n_running
        first = self.ends[self._next(0, reach)]
        origin = first + 30 - first % 30
        window = 30
        before = self._before(p - 1, reach)
        if before >= 0:
            beyond = self.ends[before + 1] - origin - 30
            if beyond > 0 and self.linear:
                window += (beyond + self.linear - 1) // self.linear * self.linear
            elif beyond > 0:
                window = 30 << width_of((beyond + 29) // 30)
        batch = first_beyond(self.ends, 0, n, origin + window)
        if batch <= p:
            return p
        if self.atoms.meets(self.held[batch - 1], reach):
            return batch
        following = self._next(batch, reach)
        if following < n:
            return following + 1
        return self._before(batch, reach) + 1

    # -- the search -------------------------------------------------------------------------------------------------

    def find(self, shape: int, limit: int, begin: int, now_only: bool, put_off: int) -> int:
        """Return where a job of that shape goes beside what the node space holds; how the search ends.

        Parameters
        ----------
        limit
            Seconds it runs.
        begin, now_only, put_off
            As `Search.find` has them; `put_off` is -1 where no start was tried.
        """
        base, reach = self._set_of(self.shape_bases[shape]), self._set_of(self.shape_reaches[shape])
        need, most = self.shape_needs[shape], self.shape_mosts[shape]
        if self.nodes is not None:
            need = self.asked[shape][0]
        self.kind = NOTHING
        if need < 0:
            return NOTHING
        trying = begin if begin > self.now else self.now
        bound = self.now
        if self.nodes is not None and not now_only:
            bound = self._soonest(shape, reach)
        elif not now_only:
            p = first_from(self.most, 0, self.n_running + 1, need)
            if 0 < p <= self.n_running:
                bound = self.ends[p - 1]
        self.shape = shape
        while trying:
            trying = self._find_from(trying, base, reach, need, most, limit, bound, now_only, put_off)
        return self.kind

    def _find_from(
        self, at: int, base: int, reach: int, need: int, most: int, limit: int, bound: int, now_only: bool,
        put_off: int,
    ) -> int:  # fmt: skip
        """Make the tries from `at` on; return the instant to try again from, 0 for none."""
        counts = self.nodes is None and not now_only
        self.segment, self.stop, self.least, p = -1, 0, -1, 0
        while at:
            if self.n_reserved:
                if not self._admitted(base, at, limit):
                    return 0
            elif not self._moment(base, at, limit, need, bound):
                return 0
            else:
                if counts and self.following:
                    p = first_beyond(self.ends, p, self.n_running, self.following)
                    if self.atoms.common(self.sets[self.least], self._after(p)) < need:
                        at, self.segment = self.following, self.next  # one segment tells, whatever others have
                        continue
                self._meet(base)
            if self._try(self.tried, self.following, reach, need, most, limit, now_only, put_off):
                return self.again
            at, self.segment = self.following, self.next
        return 0

    def opening(self, base: int, at: int, limit: int, need: int, bound: int) -> bool:
        """Find the first moment from `at` on for a job of `limit` seconds on `need` nodes of `base`.

        As `NodeSpace.openings` has it: `tried`, `following` and `here`, the nodes; False where there is none.
        """
        self.segment, self.stop, self.least = -1, 0, -1
        if not self._moment(base, at, limit, need, bound):
            return False
        self._meet(base)
        return True

    def _moment(self, base: int, at: int, limit: int, need: int, bound: int) -> bool:
        """Find that moment, the segments from then on and, of them, the one with the fewest nodes.

        It goes on from an earlier one that asked for the same: `at` is the beginning of `segment`, if that is not -1,
        and the segments up to before `stop` have enough nodes, `least` the fewest.
        """
        atoms, n = self.atoms, self.n
        self.tried, self.following = at, 0
        if at >= self.end:
            self.segment = self.stop = n
            return True
        k, seen = self.segment, self.stop
        if k < 0:
            k = first_beyond(self.times, 0, n, at) - 1
            if k < 0:
                k = 0
        if base != self.covered:
            self.covered, self.covers = base, atoms.within(self.up, base)
        covers = self.covers  # then whatever a segment gains is of `base`
        while True:
            while True:  # pass over what is followed too early
                g = k + 1
                while g < n and not (self.gained[g] and (covers or atoms.gains(base, self.sets[g], self.sets[g - 1]))):
                    g += 1
                if g == n or self.times[g] >= bound or (g > k + 2 and self.times[g - 2] > at + limit):
                    break
                at, k = self.times[g], g
            stop = first_beyond(self.times, k + 1 if k >= seen else seen, n, at + limit)
            i = stop - 1
            first, least = (seen, self.least) if self.least >= k else (k, i)
            while i >= first and self.counts[i] >= need:
                if self.counts[i] < self.counts[least]:
                    least = i
                i -= 1
            if i < first:
                break
            # segment i has too few, also for whatever begins before its end: go on from the last moment in question
            while i > k and not (self.gained[i] and (covers or atoms.gains(base, self.sets[i], self.sets[i - 1]))):
                i -= 1
            if i == k:
                if g == n or g >= stop + 2:
                    return False
                i = g
            at, k = self.times[i], i
        self.tried = at
        if g < n and g < stop + 2:
            self.following, self.next = self.times[g], g
        self.least, self.segment, self.stop = least, k, stop
        return True

    def _meet(self, base: int) -> None:
        """Set `here` to the nodes of `base` that are free in all segments from that moment on."""
        if self.segment == self.stop:
            self.atoms.copy(self.here, base)
            return
        self.atoms.both(self.here, base, self.sets[self.segment])
        for i in range(self.segment + 1, self.stop):
            self.atoms.keep(self.here, self.sets[i])

    def _admitted(self, base: int, at: int, limit: int) -> bool:
        """Find the same for a job of the searched shape outside reservations; return False if there is no such moment.

        Source: `Search._tries_reserved` and `ReservationAccess`.
        """
        row, later, touched = self.shape_parts[self.shape] * self.n_reserved, at, False
        for _ in range(MOST_MOVES):
            at, later, touched = later, 0, False
            self.atoms.copy(self.allowed, base)
            self.covered = -1
            for r in range(self.n_reserved):
                effect, end = self.effects[row + r], self.periods[3 * r + 1]
                if effect == UNTOUCHED or self.periods[3 * r] >= at + limit or end <= at:
                    continue
                if effect == CLOSED:
                    later = end
                    break
                self.atoms.remove(self.allowed, self.periods[3 * r + 2])
                touched = True
            if not later:
                break
        if later:
            return False
        self.opening(self.allowed, at, limit, 0, 0)
        if touched:
            self._come_back(at)
        return True

    def _come_back(self, at: int) -> None:
        """Try the first end of a reservation after `at` next, if that comes before (find_resv_end)."""
        first = 0
        for i in range(len(self.reserved_ends)):
            end = self.reserved_ends[i]
            if end >= at and (not first or end < first):
                first = end
        if first:
            first = (first + self.resolution - 1) // self.resolution * self.resolution + 1
            if first < self.now + self.window and (not self.following or first < self.following):
                self.following = first

    def free_over(self, begin: int, end: int) -> int:
        """Return the set of nodes free in every segment that ends after `begin` and begins no later than `end`.

        The next question overwrites it.
        """
        self._free_over(begin, end, self.some)
        return self.some

    def _try(
        self, at: int, following: int, reach: int, need: int, most: int, limit: int, now_only: bool, put_off: int
    ) -> bool:
        """One try on the set `here`: whether the search ends with it, or goes on from `again`."""
        atoms, now = self.atoms, self.now
        self.again = 0
        if now_only and at > now:
            return True
        atoms.both(self.some, self.here, reach)
        gone = -1
        if self.nodes is not None:
            gone = self._share()
            if gone < 0:
                return not following or now_only
            expected = self._over_by(self.nodes.ends[gone - 1]) if gone else now
        elif following and not now_only and self._too_few(self.some, need, following):
            return False
        elif self.most[0] >= need and atoms.common(self.some, self.idle) >= need:
            expected = now
            gone = 0
        else:
            gone = self._first_with(need, self.some)
            if gone < 0:
                return not following or now_only
            expected = self._over_by(self.ends[gone - 1])
        start = at if at > expected else expected
        if at > expected and at > now:
            self.put_behind = True
        self.start = start
        if start <= now:
            if put_off < 0:
                self.at_once = gone == 0
                self.kind = START
                return True
            if put_off:
                start = self.start = following if following else now + put_off
            following = 0
        elif now_only:
            self.kind = ESTIMATE
            return True
        if following and start > following:
            return False
        if start > now + self.window:
            self.kind = ESTIMATE
            return True
        self.first = start // self.resolution * self.resolution
        self.last = (start + limit) // self.resolution * self.resolution
        if self.last < self.first + self.resolution:
            self.last = self.first + self.resolution
        if self.nodes is None:
            atoms.keep(self.some, self._after(gone))
            size, least = atoms.count(self.some), need
            if most > need:
                need = most if most < size else (need if need > size else size)
            atoms.clear(self.chosen)
            self._pick(need, least)
        else:
            atoms.clear(self.chosen)
            for i in range(self.nodes.n_chosen):
                atoms.put_run(self.chosen, self.nodes.chosen[i], 1)
        if start > now and not self._is_open(self.chosen):
            self.again = start
            return True
        self.kind = PLANNED
        return True

    def _pick(self, need: int, least: int) -> None:
        """Put into the empty set `chosen` the nodes of `some` that a job gets, those that are powered down last."""
        atoms, first, n = self.atoms, self.some, 0
        if self.asleep >= 0 and atoms.meets(self.some, self.asleep):
            first = self.allowed
            atoms.copy(first, self.some)
            atoms.remove(first, self.asleep)
            n = atoms.count(first)
            if n < need:
                atoms.copy(self.chosen, first)
                atoms.both(first, self.some, self.asleep)
            else:
                n = 0
        atoms.pick(self.chosen, first, need - n, least - n)

    def _over_by(self, end: int) -> int:
        """Return when a job that is to end by then is gone: one that is over its limit once it has been killed."""
        if self.linear < 0:  # (`Selector.begin`)
            return end if end > self.now else self.now + 1
        if end >= self.now:
            return end
        end += self.too_late
        return end if end > self.now else self.now + 1

    def _share(self) -> int:
        """Return how many jobs must be gone for the shape searched for to fit on the set `some`, -1: it never does."""
        assert self.nodes is not None
        reach = self.reach_nodes[: self._nodes_of(self.some)]
        return self.nodes.future(reach, self.asked[self.shape], self.linear, False)

    def _is_open(self, nodes: int) -> bool:
        """Return True if no earlier plan needs one of the set `nodes` while one from `first` to `last` would."""
        if self.first >= self.end:
            return True
        i = first_beyond(self.times, 0, self.n, self.first) - 1
        if i < 0:
            i = 0
        j = first_beyond(self.times, i + 1, self.n, self.last - 1)
        for k in range(i, j):
            if not self.atoms.within(nodes, self.sets[k]):
                return False
        return True

    # -- the walk ---------------------------------------------------------------------------------------------------

    def watch(
        self, queue: queue.Queue, groups: array[int], more_flags: array[int], planned: array[int], expected: int
    ) -> None:
        """Set the records to walk.

        Parameters
        ----------
        queue
            The records.
        groups, more_flags
            Their arrays by number, -1 for a record of none, and flags beyond those of the queue; both empty without
            arrays.
        planned
            How many plans each array has.
        expected
            When the first record is known to be planned for, -1 if that is not known.
        """
        self.queue, self.groups, self.more_flags, self.planned = queue, groups, more_flags, planned
        self.grouped = len(groups) > 0
        self.rejected, self.expected = -1, expected

    def walk(self, at: int, last: int) -> int:
        """Plan the records from `at` to `last` in order; return where it ends: at a record that the caller decides.

        The caller decides a record with `ASKS`, one that would start, and one with a new plan that is shown. After each
        plan the records at the end that can no longer start are left out; `end_of_walk` is then before `last`. No plan
        is kept of a record that a limit holds; the caller is told if that limit is not the one it shows. If the kernel
        does not know the record at the end, the walk ends and is `unsure`: the caller tells which record is the last.
        """
        self.searched = self.unsure = False
        while at <= last:
            slot, group = self.queue.order[at], -1
            flags = self.queue.flags[slot]
            if self.grouped:
                flags, group = flags | self.more_flags[at], self.groups[at]
            if at == 0 and flags & SEEN and not flags & ASKS:
                flags |= UNSEEN  # the plan of the first in line is shown whenever it is another
            if self.tests >= self.stop_at or self.n >= self.segments:
                break
            # tasks stand for each other: after one without a plan the others are not tried
            spent = group >= 0 and (group == self.rejected or self.planned[group] >= self.most_planned)
            if not spent:
                if flags & ASKS:
                    break
                if not flags & BARRED:
                    passed = self._pass(at, slot, flags)
                    if passed == ASKS:
                        break
                    if passed == PLANNED:
                        self.take(self.first, self.last, self.chosen)
                        if group >= 0:
                            self.planned[group] += 1
                        last = self.last_startable(at, last)
                        if self.unsure:
                            at += 1
                            break
                    elif passed != BARRED and group >= 0:
                        self.rejected = group
            at += 1
        self.end_of_walk = last
        return at

    def _pass(self, at: int, slot: int, flags: int) -> int:
        """Look for a place for record `at`: `PLANNED`, `NOTHING`, `BARRED` if it is not looked for, or `ASKS`."""
        seen, shown, held = flags & SEEN != 0, 0, 0
        if self.rules is not None:
            number = self.queue.limited[slot]
            if number == UNKNOWN:
                return ASKS
            shown = self.queue.shown[slot]
            if number >= 0:
                held = self.rules.before(number)
                if held:
                    return ASKS if held != shown or seen else BARRED
                held = self.rules.too_many_nodes(number)
                if held:
                    if held != shown or seen:
                        return ASKS
                    self.tests += 1
                    return NOTHING
                held = self.rules.planned(number)
        shape, lasting = self.queue.shapes[slot], self.queue.lasting[slot]
        if held and held == shown and not self._is_news(shape, lasting, flags):
            self.tests += 1
            return NOTHING
        kind = self.find(shape, lasting, 0, False, -1)
        if kind == START:
            sure = flags & REFUSED != 0 and self.refusing and self.at_once
            news = not held or held != shown or seen or not sure
        elif kind == PLANNED:
            news = held != shown or (flags & UNSEEN != 0 and not (at == 0 and self.start == self.expected))
        else:
            news = shown != 0 or (kind == NOTHING and seen)
        if news:
            self.searched = True
            return ASKS
        self.tests += 1
        return NOTHING if held else (PLANNED if kind == PLANNED else NOTHING)

    def _is_news(self, shape: int, lasting: int, flags: int) -> bool:
        """Return True if a search for a job that shows the limit that holds it might end otherwise than is known."""
        if self.could_start(shape, lasting):  # and would be refused again
            return flags & REFUSED == 0 or not self.refusing or flags & SEEN != 0
        return flags & UNSEEN != 0 or not self._gets_a_plan(shape, lasting)  # its nodes are not shown

    def _gets_a_plan(self, shape: int, limit: int) -> bool:
        """Return True if counting tells that a search for a shape that cannot start now ends with a plan.

        The last segment goes on for ever, and begins within the window. All jobs are gone within the window, too. If
        what the last segment has free is enough then, the search ends with a plan at the last moment it tries, if not
        before: nothing changes after that, so it finds free what the last segment has.
        """
        horizon, n, atoms = self.now + self.window, self.n_running, self.atoms
        if self.nodes is not None or self.n_reserved:
            return False
        if self.now + self.too_late >= horizon or (n and self.ends[n - 1] > horizon):
            return False
        at = first_from(self.ends, 0, n, self.now)
        if at < n and self.ends[at] == self.now:  # on its nodes a start may be tried
            return False
        base, reach = self._set_of(self.shape_bases[shape]), self._set_of(self.shape_reaches[shape])
        if limit < self._longest_gap(base):
            return False
        atoms.both(self.some, base, self.sets[self.n - 1])
        atoms.keep(self.some, reach)
        need = self.shape_needs[shape]
        return need >= 0 and atoms.common(self.some, self._after(n)) >= need

    def _longest_gap(self, base: int) -> int:
        """How long a job on `base` must be, or its search may end for want of a moment to try next (`opening`)."""
        if self.gap_base != base:
            k, self.gap, self.gap_base = 0, 0, base
            for g in range(1, self.n):
                if self.gained[g] and self.atoms.gains(base, self.sets[g], self.sets[g - 1]):
                    if g > k + 2 and self.times[g - 2] - self.times[k] > self.gap:
                        self.gap = self.times[g - 2] - self.times[k]
                    k = g
        return self.gap

    def last_startable(self, at: int, last: int) -> int:
        """Return the last record after `at` that could still start now, as far as nodes and limits tell; `at` for none.

        `unsure` if the kernel cannot tell whether that one could.
        """
        queue = self.queue
        while last > at:
            slot = queue.order[last]
            if queue.flags[slot] & FOREIGN:
                self.unsure = True
                break
            barred = self.rules is not None and queue.limited[slot] >= 0 and self.rules.bars(queue.limited[slot])
            if not barred and self.could_start(queue.shapes[slot], queue.lasting[slot]):
                break
            last -= 1
        return last
