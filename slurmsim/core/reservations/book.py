"""The book of advance reservations: facts about them, their begins and ends, and the jobs that name them.

Mirrors reservation.c and the periodic work of controller.c (22.05). A test every 5 s notices begins and asks for a
pass. The 30 s scan notices ends: it ends the jobs that overran ResvOverRun, then removes the reservation and holds the
jobs that still wait for it. Under event-driven policies both are exact to the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from slurmsim.bitmap import Bitmap, runs, to_indices
from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import (
    CreateReservation,
    DeleteReservation,
    Maintain,
    ReservationRefused,
    UpdateReservation,
)
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations import nodes as nodes_of
from slurmsim.core.reservations.access import ReservationAccess
from slurmsim.core.reservations.jobs import ReservationJobs, uses
from slurmsim.core.reservations.update import update
from slurmsim.errors import SubmitError
from slurmsim.model.reservation import ReservationSpec
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.reservations.licenses import Licenses
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay, RunWay

LOOK_S: Final = 5
IDLE_ROUNDS: Final = 8  # repeating reservations ask for no wake-up after so many of their longest cycle without changes
IN_USE: Final = "Requested reservation is in use"
DUPLICATE: Final = "Duplicate reservation name"


class Reservations:
    def __init__(
        self, state: ControllerState, ways: tuple[QueueWay, RunWay], licenses: Licenses, jobs: ReservationJobs
    ) -> None:
        # access, jobs: what a job may use in view of them; the jobs that name them
        self.state, self._licenses, self.jobs = state, licenses, jobs
        self._queue_way, self._runs = ways
        self.access = ReservationAccess(state, licenses, jobs.privileged)
        over = state.spec.option("ResvOverRun")
        self.over_run = ONE_YEAR_S if over is None else over
        self._created = 0
        self._next: int | None = None
        self._seen: tuple[int, ...] = ()  # the `_sign` at the last repetition
        self._quiet_since = state.now
        self._revise = False  # nodes of a reservation were lost
        self._missed: object = None  # what there was when others were looked for in vain; no snapshot needs it
        self._lingering = False  # an ended one waits for its last job

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """Return the handler of each kind of fact."""
        return {
            CreateReservation: self._create, UpdateReservation: self._update, DeleteReservation: self._delete,
            Maintain: self._maintain,
        }  # fmt: skip

    # -- facts ----------------------------------------------------------------------------------------------------

    def _maintain(self, fact: Maintain) -> None:
        flags = frozenset({"MAINT", "IGNORE_JOBS"})
        spec = ReservationSpec(
            fact.name, max(fact.start, self.state.now), fact.end, fact.nodes, users=("root",), flags=flags
        )
        self._create(CreateReservation(spec))

    def _create(self, fact: CreateReservation) -> None:
        try:
            self.create(fact.spec, restored=fact.restored)
        except SubmitError as error:
            self._refuse(fact.spec.name, error.text)

    def _refuse(self, name: str, text: str) -> None:
        self._note("REFUSED", f"{name}: {text}" if name else text, 0, None)
        self.state.actions.append(ReservationRefused(name, text))

    def create(self, spec: ReservationSpec, *, restored: bool = False) -> Reservation:
        """Take a reservation in. Raises SubmitError with Slurm's text, changing nothing."""
        nodes, cores, flags, partition = nodes_of.choose(self.state, spec, restored=restored)
        name = spec.name
        if name and self.state.reserved.find(name) is not None:
            raise SubmitError(DUPLICATE)
        self._created += 1
        while not name or (not spec.name and self.state.reserved.find(name) is not None):
            owner = next(iter((*spec.accounts, *spec.users)), "resv").removeprefix("-")
            name = f"{owner}_{self._created}"
            if self.state.reserved.find(name) is not None:
                self._created += 1
        r = Reservation(spec, name, self._created, nodes, cores, flags, partition)
        if cores:
            r.core_bits = nodes_of.core_bits(self.state, spec, flags, cores)
        while r.end <= self.state.now and (following := r.next_period(r.end)) is not None:
            r.start, r.end = following
        self.state.reserved.all.append(r)
        self._changed(r, "CREATED")
        return r

    def _update(self, fact: UpdateReservation) -> None:
        r = self.state.reserved.find(fact.name)
        try:
            if r is None:
                raise SubmitError(nodes_of.INVALID)
            if fact.skip and any(uses(job, r) for job in self.state.jobs.values()):
                raise SubmitError(IN_USE)
            update(self.state, r, fact, self.jobs.loser)
        except SubmitError as error:
            self._refuse(fact.name, error.text)
            return
        if fact.skip:
            self._skip(r)
        if r.end > self.state.now and (r.over or self.state.now < r.start):
            r.opened = r.began = r.over = False
        self._changed(r, "UPDATED")
        if r.began:
            self._show(r, "STARTED")

    def _skip(self, r: Reservation) -> None:
        """Go on to the next period of a recurring reservation that no job uses."""
        following = r.next_period(self.state.now)
        if following is not None:
            self._close(r)
            r.start, r.end = following
            r.opened = False

    def _delete(self, fact: DeleteReservation) -> None:
        r = self.state.reserved.find(fact.name)
        if r is None:
            self._refuse(fact.name, nodes_of.INVALID)
        elif any(uses(job, r) for job in self.state.jobs.values()):
            self._refuse(fact.name, IN_USE)
        else:
            self._close(r)
            self._remove(r, "DELETED")
            self.state.triggers.request()

    def _changed(self, r: Reservation, what: str) -> None:
        """Take note that `r` came or was edited: everything is tested again."""
        self._note(what, r.describe(), r.nodes, r.end)
        self._sort_out("MAGNETIC" in r.flags)
        self._revise |= "REPLACE" in r.flags
        self.state.look_again()
        self.turn(self.state.now, True)

    def _sort_out(self, rebuild: bool) -> None:
        """Find the special ones again; `rebuild` when a magnetic one was edited."""
        self.state.reserved.partial = [x for x in self.state.reserved.all if x.cores is not None]
        magnetic = [x for x in self.state.reserved.all if "MAGNETIC" in x.flags]
        if rebuild or magnetic != self.state.reserved.magnetic:
            self.state.reserved.magnetic = magnetic
            self.jobs.rebuild()

    def _stir(self) -> None:
        """Note that usable nodes changed: for backfill when it is due, for the main scheduler in the next full pass."""
        self.state.changed()
        self.state.triggers.dirty = True
        if self._licenses.lacking:
            self._licenses.retry()

    def _note(self, state: str, reason: str, nodes: Bitmap, value: int | None) -> None:
        listed = self.state.cluster.namer.runs(runs(nodes)) if nodes else ""
        self.state.events.append((self.state.now, "RESERVATION", None, state, reason, "", listed, value, ""))

    # -- what others ask ------------------------------------------------------------------------------------------

    def closed(self) -> list[tuple[int, int, Bitmap]]:
        """(start, end, nodes) of everything jobs outside may not use, for policies that plan."""
        return [(r.start, r.end, r.nodes) for r in self.state.reserved.all if r.full and r.nodes and not r.over]

    def open_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Return those of `nodes` `record`'s job may use from now to its limit."""
        return self.access.examine(record, self.state.now, record.job.time_limit_s).nodes & nodes

    def next_end(self, when: int) -> int:
        """Return the first end of any reservation at or after `when`, 0 for none (find_resv_end)."""
        return min((r.end for r in self.state.reserved.all if r.end >= when), default=0)

    def set_up(self) -> None:
        """Which nodes can take jobs, and which count as down."""
        state, table = self.state, self.state.table
        table.up, table.down = table.kept(table.everything & ~state.unusable), state.unusable
        if self.state.reserved.all:
            table.down |= state.reserved.active(state.now, maintenance=True)
            if state.event_driven:  # the policy has the rest
                table.up &= ~state.reserved.active(state.now)

    # -- time -----------------------------------------------------------------------------------------------------

    def _grid(self, at: int, period: int) -> int:
        """First of slurmctld's periodic looks at or after `at`; policies that are event-driven look at once."""
        return at if self.state.event_driven else at + (self.state.start_time - at) % period

    def _scans(self, now: int) -> bool:
        return self.state.time_limits.scan_after(now) == now

    def next_time(self) -> int | None:
        """Return when `turn` must be called, None if nothing is to come that could matter.

        Repetitions to come do not matter where nothing else has changed for `IDLE_ROUNDS` of them; `turn` makes up for
        them. The end of a period in force matters: what has no place before it may have one then.
        """
        now, following = self.state.now, self._next
        idle = following is not None and not self.state.running
        if idle and now - self._quiet_since > self._rounds_s() and self._seen == self._sign():
            awaited = [r for r in self.state.reserved.all if not r.repeats or r.start <= now]
            following = min((t for r in awaited for t in self._times(r, now) if t > now), default=None)
        if not (self._revise and (self.state.running or self._missed != self._there())):
            return following  # no scan replaces lost nodes: nothing has changed since the last one
        scan = self.state.time_limits.scan_after(now + 1)
        return scan if following is None else min(scan, following)

    def _rounds_s(self) -> int:
        """Seconds of `IDLE_ROUNDS` of the longest cycle, and those in which ages change the order of the queue."""
        option = self.state.spec.option
        ages = option("PriorityType") == "priority/multifactor" and option("PriorityWeightAge")
        rounds_s = IDLE_ROUNDS * max((r.cycle_s for r in self.state.reserved.all), default=0)
        return rounds_s + (int(option("PriorityMaxAge")) if ages else 0)

    def _sign(self) -> tuple[int, ...]:
        """Return what decides if a repetition matters: jobs, usable nodes, and how far the other reservations are."""
        state = self.state
        once = [r.opened + r.over for r in state.reserved.all if not r.repeats]
        return state.created, len(state.jobs), len(state.queue), state.unusable, len(once), sum(once)

    def _there(self) -> tuple[Bitmap, tuple[tuple[int, int, Bitmap], ...]]:
        """Return what a search for nodes sees while no job runs."""
        return self.state.unusable, tuple((r.start, r.end, r.nodes) for r in self.state.reserved.all)

    def turn(self, now: int, always: bool = False) -> None:
        """Begins and ends that are due at `now`."""
        scans = self._revise and self._scans(now)
        if not (always or scans or self._lingering or (self._next is not None and now >= self._next)):
            return
        for r in list(self.state.reserved.all):
            if not r.opened and r.start <= now < r.end:
                self._open(r)
            # jobs may use it to the second, but the 5 s look alone marks its nodes and asks for a pass
            if r.opened and not (r.began or r.over) and self._grid(r.start, LOOK_S) <= now:
                self._begin(r)
            if r.end <= now and not r.over:
                self._end(r, now)
            if r.over and (self.state.event_driven or (self._scans(now) and now > r.end)):
                self._scan(r, now)
            elif r.opened and "PURGE_COMP" in r.flags and self._scans(now):
                self._purge_idle(r, now)
        if scans:
            self._replace_down()
        self.set_up()
        self._plan_next(now)

    def _plan_next(self, now: int) -> None:
        """Work out when `turn` is due again."""
        self._lingering = self.state.event_driven and any(r.over for r in self.state.reserved.all)
        self._revise = self._revise and bool(self.state.reserved.all)
        times = [t for r in self.state.reserved.all for t in self._times(r, now) if t > now]
        self._next = min(times, default=None)

    def _times(self, r: Reservation, now: int) -> Iterable[int]:
        """Instants at which something may change."""
        if not r.opened:
            yield r.start
        if not (r.began or r.over):
            yield self._grid(max(r.start, now + 1), LOOK_S)
        yield r.end
        if r.over and self.state.event_driven:
            yield r.end + self.over_run
        elif r.over or ("PURGE_COMP" in r.flags and r.opened):
            yield self.state.time_limits.scan_after(now + 1)

    def _open(self, r: Reservation) -> None:
        """Open the reservation: its jobs may use it from this second on, and start in the next pass."""
        r.opened = True
        self.jobs.let_in(r)
        self._stir()

    def _begin(self, r: Reservation) -> None:
        """Notice the begin, and ask for a pass."""
        r.began = True
        self._show(r, "STARTED")
        self.state.look_again()

    def _show(self, r: Reservation, what: str) -> None:
        """Note the begin of `r` (or new nodes) and mark them."""
        self._note(what, r.describe(), r.nodes, r.end)
        if "MAINT" in r.flags:
            self._mark(r.nodes, "MAINT")
        else:
            self._mark(r.nodes & ~self.state.reserved.active(self.state.now, maintenance=True), "RESERVED")

    def _mark(self, nodes: Bitmap, state: str) -> None:
        """Show a state on those of `nodes` that are neither down nor drained."""
        nodes &= ~self.state.unusable
        if nodes:
            self.state.usage.touch_all()
            listed = self.state.cluster.namer.runs(runs(nodes))
            self.state.events.append((self.state.now, "NODE", None, state, "", "", listed, None, ""))

    def resumed(self, nodes: Bitmap) -> None:
        """Nodes are usable again that may be in maintenance."""
        self._mark(nodes & self.state.reserved.active(self.state.now, maintenance=True), "MAINT")

    def nodes_lost(self, *, down: bool = False) -> None:
        """Nodes went down or were drained: reservations Slurm chose the nodes of get others at the next scan.

        For nodes that are `down` slurmctld looks in its next second (validate_all_reservations).
        """
        if any(nodes_of.replaceable(self.state, r) for r in self.state.reserved.all):
            self._revise = True
            if down and not self.state.event_driven:
                self.state.timers.set(self.state.now + 1, self.look_for_others)
            self.turn(self.state.now, True)

    def look_for_others(self) -> None:
        """Replace lost nodes now, if there still are some."""
        if self._revise:
            self._replace_down()
            self.set_up()
            self._plan_next(self.state.now)

    def _replace_down(self) -> None:
        """Other nodes for those that cannot be used, where Slurm chose them (_validate_node_choice)."""
        missing = 0
        for r in self.state.reserved.all:
            lost = 0 if r.over else nodes_of.lost(self.state, r)
            if not lost:
                continue
            found = nodes_of.replacements(self.state, r, lost)
            missing += found.bit_count() < lost.bit_count()
            if not found:
                continue
            for node in to_indices(lost & ~self.state.unusable)[: lost.bit_count() - found.bit_count()]:
                lost &= ~(1 << int(node))  # there are too few others: it keeps nodes that are in use
            r.nodes = (r.nodes & ~lost) | found
            self._note("UPDATED", r.describe(), r.nodes, r.end)
            if r.began:
                self._show(r, "STARTED")
            self.state.look_again()
        following = any("REPLACE" in r.flags for r in self.state.reserved.all)
        self._revise, self._missed = bool(missing) or following, self._there()  # the others at a later scan

    def _end(self, r: Reservation, now: int) -> None:
        """Its period is over: the jobs in it lose their place, the next period of a repeating one is set."""
        self._close(r)
        following = r.next_period(now)
        if following is None:
            r.over = True
        else:
            while following[1] <= now:
                r.start, r.end = following
                following = r.next_period(now) or following
            r.start, r.end = following
            r.opened = r.began = False
            if (sign := self._sign()) != self._seen or self.state.running:
                self._seen, self._quiet_since = sign, now
            if r.start < now:  # its begin has been slept through
                self._open(r)
        self.jobs.turn_out(r)
        self._stir()

    def _close(self, r: Reservation) -> None:
        """Its nodes are no longer marked, but as other reservations have them."""
        if not r.began:
            return
        r.began = False
        self._note("ENDED", r.describe(), r.nodes, r.end)
        rest, now = r.nodes, self.state.now
        for other in self.state.reserved.all:
            if other is not r and other.began and other.covers(now, now + 1) and other.nodes & rest:
                if "MAINT" in r.flags and "MAINT" not in other.flags:
                    self._mark(other.nodes & rest, "RESERVED")
                rest &= ~other.nodes
        self._mark(rest, "IDLE")

    def _scan(self, r: Reservation, now: int) -> None:
        """Make the time-limit scan after its end: end the jobs that overran it, then remove it."""
        flex = "FLEX" in r.flags
        running = [job for _, _, job in self.state.running if job.reservation is r]
        overrun = r.end + self.over_run + (0 if self.state.event_driven else 1) <= now
        if running and not flex and self.state.time_limits.enforced and overrun:
            self._runs.time_out(running)
            running = []
        if not running or flex:
            self._remove(r, "REMOVED")

    def _purge_idle(self, r: Reservation, now: int) -> None:
        """End the reservation early (PURGE_COMP) if no job has used or named it for so long."""
        if any(uses(job, r) for job in self.state.jobs.values()):
            r.idle_since = None
            return
        if r.idle_since is None:
            r.idle_since = now
        if now - r.idle_since >= r.purge_comp_s and r.end > now:
            r.idle_since = None
            if r.repeats:
                self._end(r, now)
            else:
                self._close(r)
                self._remove(r, "REMOVED")

    def _remove(self, r: Reservation, what: str) -> None:
        """Take note that `r` is gone: its jobs are held, or wait as any other with NO_HOLD_JOBS_AFTER."""
        self.state.reserved.all.remove(r)
        self._note(what, r.describe(), r.nodes, None)
        for job in [job for job in self.state.jobs.values() if uses(job, r)]:
            left = tuple(x for x in job.reservations if x is not r)
            job.reservations = left
            if job.state != JobState.PENDING:
                job.reservation = None
            elif not left:
                self.jobs.orphan(job, r)
            elif job.queued:
                self._queue_way.enqueue(job, self._queue_way.set_aside(job))
        if "MAINT" in r.flags:
            text = f"{Reason.REQ_NODE_NOT_AVAIL}, Reserved for maintenance"
            for job in self.state.jobs.values():
                if job.reason == text:
                    self.state.set_reason(job, Reason.NONE)
        self._sort_out(False)
        self._stir()
        self.set_up()
        self._plan_next(self.state.now)
