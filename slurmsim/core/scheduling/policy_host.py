"""Runs a policy: each of its decisions is checked and carried out as it is yielded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from slurmsim.bitmap import runs
from slurmsim.core.placement.layout import malformed
from slurmsim.core.placement.units import units_of
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.scheduling.alone import any_could_start_alone
from slurmsim.core.scheduling.malleable_decisions import MalleableDecisions
from slurmsim.core.scheduling.may_start import BACKFILL, BAR, DEADLINE, LIMITS, LOOK, MAY, POLICY, StartTest, mute
from slurmsim.core.scheduling.outside import guard_of
from slurmsim.core.scheduling.policy_view import View
from slurmsim.core.scheduling.solves import Solves
from slurmsim.core.scheduling.together import Refusal, Wanted, find_all
from slurmsim.errors import PassTooLong, PolicyError, SlurmSimError
from slurmsim.policy import (
    Change,
    Plan,
    Reconfigure,
    Reject,
    Resize,
    SlurmView,
    Solve,
    Start,
    StartTogether,
    Tested,
    WakeAt,
)
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.occupancy.resize import Resizes
    from slurmsim.core.scheduling.pending_reason import PendingReasons
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay


_WAITS: Final = frozenset({Reason.NONE, Reason.RESOURCES, Reason.PRIORITY})
_OVER: Final = object()
_AT_ONCE: Final = 256  # decisions of a policy from outside that are counted together
SHOWN: Final = ("last_cycle", "last_walk")  # what commands go on to tell of a policy that begins anew


def _nothing() -> None:
    """Do nothing."""


class PolicyHost:
    """Calls the policy when it is due and carries out what it decides.

    An event-driven policy is due whenever something happened; another one only at the times it asked for, first at
    the controller's start.
    """

    def __init__(
        self, state: ControllerState, view: View, test: StartTest, runs: RunWay, resizes: Resizes, solves: Solves,
        malleable: MalleableDecisions | None = None, reasons: PendingReasons | None = None,
    ) -> None:  # fmt: skip
        self.state, self.policy, self.view = state, state.policy, view
        self._test, self._runs, self._resizes = test, runs, resizes
        self._malleable = malleable or MalleableDecisions(state, None, None)
        self._reasons = None if state.event_driven else reasons
        self._by = POLICY if state.event_driven else BACKFILL
        self.solves = solves
        # carries out what is decided about one job (`core.controller.job_decisions`); set once all parts are there
        self.of_one_job: Callable[[Any, str, bool], bool | None] | None = None
        self._late = False  # the policy acts on an answer that may name jobs that no longer wait
        self._guard = guard_of(self.policy)
        shown: Any = self.view if self._guard is None else self._guard.shown(self.view)
        self._given: SlurmView = shown
        # within it a pass of a policy from outside runs, which ends by `PassTooLong`: of the driver, who has a clock
        self.watch: AbstractContextManager[None] | None = None
        self.passes = 0
        self.wake: int | None = None
        self.planned = self.planned_busy = 0
        # called where a cycle plans nodes that have jobs
        self.busy_planned: Callable[[], None] = _nothing
        self._label = self.policy.label or self.policy.name
        self.policy.watched = self._watched = state.spec.watched
        self._configure(state.start_time)

    def _configure(self, now: int) -> None:
        """Tell the policy of SchedulerParameters."""
        try:
            self.policy.configure(self.state.spec.scheduler_parameters, now)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error

    @property
    def from_outside(self) -> bool:
        """Return True if the policy is not one that is distributed with slurmsim."""
        return self._guard is not None

    def count_no_more(self, job: Job) -> None:
        """Take note that `job` is suspended: from now on counting units does not tell what its pool can do."""
        self.view.pools[job.partition.pool].units = None

    def begin_anew(self, now: int) -> None:
        """Count cycles from now on, with no node marked for a planned job: slurmctld is a new process."""
        if self.state.event_driven:
            return
        shown = {name: getattr(self.policy, name) for name in SHOWN if hasattr(self.policy, name)}
        self._configure(now)
        for name, value in shown.items():
            setattr(self.policy, name, value)
        self.planned = self.planned_busy = 0
        for job in self.state.jobs.values():
            if job.state == JobState.PENDING:
                job.planned_nodes = 0
        self.state.triggers.changed = True

    def keep_time(self, other: PolicyHost) -> None:
        """Take the time of the last call over from `other`, the host of a copy: the next time follows from it."""
        self.passes, self.wake = other.passes, other.wake
        for name in self.policy.STATE:
            setattr(self.policy, name, getattr(other.policy, name))

    def next_time(self, now: int) -> int | None:
        """Return when the policy must be called next, None if only a new event can matter."""
        if self.solves.answered:
            return now
        if self.wake is not None:
            return max(self.wake, now)
        return None if self.state.event_driven else self._asked_for(now)

    def _asked_for(self, now: int) -> int | None:
        """Return when a policy that is not event-driven wants to be called."""
        try:
            at = self.policy.next_time(self._given, now, self.state.triggers.changed)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        if at is not None and type(at) is not int:
            raise PolicyError(self.policy.name, f"wants to be called at {at!r} (expected whole seconds, or None)")
        return at

    def any_has_place(self) -> bool:
        """Return True if any job in the queue could start now if it were the first.

        Time limits and reservations to come are left out: it may be True although no job could start, never the
        other way round.
        """
        test = self._test
        return any(test.looked_at(record) and self._has_place(record) for record in self.view.records())

    def _has_place(self, record: Record) -> bool:
        """Return True if nodes are free for the record's job, and no limit forbids it those."""
        limits = self._test.accounting.limits
        if (limits is not None and limits.after(record, None) is not None) or not self.view.fits(record.job):
            return False
        if limits is None or self.state.event_driven:  # such a policy may choose other nodes
            return True
        return self._test.find(record, record.partition.mask, 1, LOOK)[1] is None

    def any_could_start_alone(self, but: Collection[int] = ()) -> bool:
        """Return True if any waiting job, of those not in `but`, could start if nothing ran."""
        return any_could_start_alone((job for job in self.state.jobs.values() if job.id not in but), self._test)

    def is_due(self, now: int) -> bool:
        """Return True if the policy is to be called at `now`, whatever else happens then."""
        at = self.next_time(now)
        return at is not None and at <= now

    def run_if_due(self, now: int) -> None:
        """Call the policy if something happened (event-driven) or its time has come."""
        if self.solves.answered and self._test.completing.held_until() <= now:
            self._tell_answer()
            self._say_why()
        due = self.wake is not None and self.wake <= now
        if self.state.event_driven:
            if not self.state.triggers.changed and not due:
                return
        else:
            at = self._asked_for(now)
            if not due and (at is None or at > now):
                return
        test, triggers, limits = self._test, self.state.triggers, self._test.accounting.limits
        if (held := test.completing.held_until()) > now:
            self.wake = held
            return
        self.wake = None
        if self._reasons is not None:
            self._reasons.show_hidden()  # a cycle makes its queue as a pass does
        if test.deadlines.jobs:
            test.deadlines.sweep()
        while True:
            if self.state.event_driven and limits is not None:
                limits.sweep()
            # slurmctld compares whole seconds: what happened in the second of a cycle is news to the next one too
            triggers.seen_by_policy(whole_seconds=not self.state.event_driven)
            self.passes += 1
            self.run()
            if self.state.event_driven and limits is not None:
                limits.sweep()
            if not (triggers.changed and self.state.event_driven):
                self._say_why()
                return  # else a job started that had also waited in another pool

    def _say_why(self) -> None:
        """Where users look, who waits under a policy that is the scheduler waits for nodes or for who is before him.

        slurmctld's main scheduler says the same of a queue it walks; that policy has no reasons of its own.
        """
        if not (self.state.event_driven and self._watched):
            return
        queue, state = self.state.queue, self.state
        first = {pool.records[0].job.id: pool.records[0].job for pool in queue.pools if pool.records}
        for job in first.values():
            if job.reason in _WAITS:
                state.set_reason(job, Reason.RESOURCES)
        for job in [job for job_id, job in queue.fresh.items() if job_id not in first]:
            if job.reason in _WAITS:
                state.set_reason(job, Reason.PRIORITY)
            queue.fresh.pop(job.id, None)

    def _tell_answer(self) -> None:
        """Tell the policy what the solver found."""
        limits = self._test.accounting.limits if self.state.event_driven else None
        if limits is not None:
            limits.sweep()
        self._late = True
        try:
            self.run(self.solves.taken())
        finally:
            self._late = False
        if limits is not None:
            limits.sweep()

    def run(self, solved: tuple[Any, Any] | None = None) -> None:
        """One call of the policy, to its end: to schedule, or to take in the answer to a request in `solved`.

        What the policy itself raises comes out as a PolicyError, and so does a pass of one from outside that takes too
        long.
        """
        if self.watch is None:
            self._run(solved)
            return
        try:
            with self.watch:
                self._run(solved)
        except PassTooLong as error:
            raise self._broken(error) from error

    def _run(self, solved: tuple[Any, Any] | None) -> None:
        if self._test.preemption is not None:
            self._test.preemption.in_progress.clear()
        policy, now, guard = self.policy, self.state.now, self._guard
        try:
            decisions: Any
            if solved is None:
                decisions = policy.schedule(self._given, now)
            else:
                decisions = policy.solved(self._given, now, solved[0], solved[1])
            if type(decisions) is tuple and not decisions:
                self._mark()
                return
            if decisions is None:
                raise PolicyError(policy.name, "returned None (expected decisions that are yielded, or a list of them)")
            decisions = iter(decisions)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        send: Any = getattr(decisions, "send", None) or (lambda _: next(decisions))
        outcome: Any = None
        last: Any = None
        n_decided = 0
        while True:
            try:
                # as `send` alone, but for its StopIteration: caught in compiled code, one costs more than most passes
                decision = next(decisions, _OVER) if outcome is None else next(map(send, (outcome,)), _OVER)
            except (Exception, SystemExit) as error:
                raise self._broken(error) from error
            if guard is not None and (decision is _OVER or n_decided == _AT_ONCE):
                if not guard.passes_on(now, n_decided, self.state.queue):
                    raise PolicyError(policy.name, f"goes on deciding at {now}: its last decision was {last!r}")
                n_decided = 0
            if decision is _OVER:
                self._mark()
                return
            n_decided, last = n_decided + 1, decision
            try:
                if type(decision) is not Start:
                    outcome = self._carry_out(decision if guard is None else guard.decided(decision))
                elif guard is None:
                    outcome = self._start(decision, decision.job, decision.partition)
                else:  # most decisions are starts: no second one is made
                    outcome = self._start(decision, guard.behind(decision.job), guard.behind(decision.partition))
            except PolicyError as error:
                raise PolicyError(error.policy, f"{error.message}{_line_of(decisions)}") from error

    def tested(self) -> None:
        """A cycle has tried all it looks at: the CPUs it found for them count from now on."""
        self._test.found_cpus.cycle(self._test.looked_at)

    def explain(self, job: Job) -> str:
        """Return what the policy says of a pending job. Raises PolicyError for what the policy raises."""
        try:
            shown: Any = job if self._guard is None else self._guard.shown(job)
            return str(self.policy.explain(self._given, shown, self.state.now))
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error

    def _mark(self) -> None:
        """Mark the nodes that a cycle of backfill keeps for planned jobs, until the next cycle.

        Pending jobs outside the queue lose their planned nodes and planned start, unless the queue is empty. Mirrors
        `_handle_planned` and `_clear_job_estimates` (backfill.c).
        """
        if self._watched and getattr(self.policy, "last_cycle", None) == self.state.now:
            if self.mark_planned():
                self.busy_planned()
            for job in self.state.jobs.values() if self.state.queue.jobs else ():
                if job.state == JobState.PENDING and not job.queued:
                    job.planned_start, job.planned_nodes = None, 0
            for records in self.state.queue.jobs.values():
                alike = records[0].partition is records[-1].partition and not records[0].job.reservations
                if not alike and records[0].job.state == JobState.PENDING:
                    said = self._test.partition_limits.listed(records[0].job, shortened=True)
                    if said is not None:
                        self.state.set_reason(records[0].job, said)

    def mark_planned(self) -> bool:
        """Mark what is kept now; of nodes with jobs only those with idle CPUs. Return True if some have jobs."""
        mask = 0
        for records in self.state.queue.jobs.values():
            job = records[0].job
            open_ = any(record.partition.state in ("UP", "DRAIN") for record in records)  # else no cycle plans it
            if open_ and job.planned_start is not None:
                mask |= job.planned_nodes
        table = self.state.table
        self.planned, self.planned_busy = mask & table.idle, mask & table.mixed & table.with_free_cpus()
        return bool(mask & ~table.idle)

    def in_order(self, records: list[Record]) -> list[Record]:
        """Return `records` in the order in which the policy wants the main scheduler to walk them."""
        shown: Any = records if self._guard is None else self._guard.shown(records)
        try:
            wanted: Sequence[Any] = self.policy.order(self._given, shown, self.state.now)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        if self._guard is not None:
            wanted = self._guard.real(list(wanted))
        if wanted is records:
            return records
        if len(wanted) != len(records) or set(wanted) != set(records):
            raise PolicyError(self.policy.name, "gave an order that has not the same jobs")
        return list(wanted)

    def _forbidden(self, job: Job, target: Any, reason: str) -> None:
        """Note that a limit forbids the start of `target`; an event-driven policy does not see it until it may."""
        limits = self._test.accounting.limits
        if self.state.event_driven and limits is not None:
            limits.refuse(job, reason, target.partition if isinstance(target, Record) else None)
        else:
            self.state.set_reason(job, reason)

    def _broken(self, error: BaseException) -> SlurmSimError:
        """`error`, raised by the policy's code, as one line that says where."""
        if isinstance(error, SlurmSimError):
            return error
        if isinstance(error, PassTooLong):
            return PolicyError(self.policy.name, f"a pass takes more than {self.watch}{self._line_of(error)}")
        return PolicyError(
            self.policy.name, f"{type(error).__name__}: {' '.join(str(error).split())}{self._line_of(error)}"
        )

    def _line_of(self, error: BaseException) -> str:
        """Return `` (FILE:LINE)`` of the policy's package in a traceback, else the innermost line."""
        at = error.__traceback__
        where = own = ""
        package = type(self.policy).__module__.partition(".")[0]
        while at is not None:
            where = f" ({at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno})"
            if at.tb_frame.f_globals.get("__name__", "").partition(".")[0] == package:
                own = where
            at = at.tb_next
        return own or where

    def decide(self, decision: Any) -> Any:
        """Carry out a decision of a driver that decides in place of the policy; return its outcome."""
        if type(decision) is Start:
            return self._start(decision, decision.job, decision.partition)
        return self._carry_out(decision)

    def _carry_out(self, decision: Any) -> Any:
        """Carry out a decision that is no `Start`; return its outcome. Raises PolicyError for what is none."""
        kind = type(decision)
        if kind is Plan:
            job = decision.job
            if isinstance(job, Record):
                job = job.job
            if job.state != JobState.PENDING:
                return None  # it began or ended meanwhile, also by being tried (DEADLINE): there is nothing to plan
            if decision.start is None:
                job.planned_start, job.planned_nodes = None, decision.nodes
                return None
            self._check_time(decision, decision.start, self.state.now)
            before, job.planned_start, job.planned_nodes = job.planned_start, decision.start, decision.nodes
            if before != decision.start:
                # mere estimates move at every pass, and would fill the trace
                if not (before is None or decision.promise):
                    return None
                nodes = self.state.cluster.namer.runs(runs(decision.nodes)) if decision.nodes else ""
                self.state.record("PLAN", job, nodes=nodes, value=decision.start, scheduler=self._label)
            return None
        if kind is Reject:
            job = decision.job.job if isinstance(decision.job, Record) else decision.job
            self.state.set_reason(job, decision.reason)
            return None
        if kind is Tested:
            if decision.record is None:
                self.tested()
            else:
                self._test.found_cpus.test(decision.record)
            return None
        if kind is StartTogether:
            self._check_all(decision.starts, Start)
            return self._start_together(decision)
        if kind is Resize:
            if not isinstance(decision.job, Job):
                raise PolicyError(self.policy.name, f"resized {decision.job!r}, which is no job of the view")
            if self._malleable.watts is not None:
                return self._malleable.resize(decision)
            return self._resizes.to(decision.job, decision.n_nodes, decision.within)
        if kind is Reconfigure:
            self._check_all(decision.changes, Change)
            return self._malleable.reconfigure(decision)
        if kind is WakeAt:
            self._check_time(decision, decision.time, self.state.now + 1)
            self.wake = decision.time if self.wake is None else min(self.wake, decision.time)
            return None
        if kind is Solve:
            return self.solves.ask(decision, self.policy.name)
        if self.of_one_job is not None:
            done = self.of_one_job(decision, self._label, self._late)
            if done is not None:
                return done
        raise PolicyError(self.policy.name, f"yielded {decision!r}, which is no decision")

    def _check_all(self, inner: Any, kind: type) -> None:
        """Raise PolicyError unless `inner` is a sequence of such decisions."""
        if not isinstance(inner, Sequence) or not all(type(one) is kind for one in inner):
            raise PolicyError(self.policy.name, f"yielded {inner!r} (expected a sequence of {kind.__name__})")

    def _check_time(self, decision: Any, time: Any, earliest: int) -> None:
        """Raise PolicyError unless `time` is a whole second, as a float would spread through the core, and not past."""
        if not isinstance(time, int) or time < earliest:
            text = f"yielded {type(decision).__name__} for {time!r} (expected whole seconds, at least {earliest})"
            raise PolicyError(self.policy.name, text)

    def _start(self, decision: Start, target: Any, partition: Any) -> bool | None:
        """Start the job of `target` if it fits; False if it does not, None if a limit forbids it.

        `target` and `partition` are those that the decision names, as the core has them.
        """
        state, test = self.state, self._test
        limits = test.accounting.limits
        job, records = self._target(target, partition)
        if limits is not None and job.id in limits.waiting:
            return None  # refused in this very pass
        if job.state != JobState.PENDING or not job.queued:
            if self._late:
                return False
            raise PolicyError(self.policy.name, f"started job {job.id}, which is not waiting in the queue")
        if decision.layout is not None:
            records = self._laid_out(decision, job, records)
        if self._malleable.watts is not None or decision.nodes is not None or decision.cap is not None:
            records = self._malleable.start(decision, job, records)
        held: str | None = None
        for record in records:
            rule, text = test.refusal(record, self._by)
            if rule == DEADLINE:  # it came into the queue while the policy was at work
                return False
            if rule != MAY:
                held = text if rule == LIMITS else held
                if rule == BAR and self._by is BACKFILL and not mute(record):  # as a pass does (select_nodes)
                    state.set_reason(job, text)
                continue
            limit = test.granted(record, self._by) if decision.time_limit_s is None else decision.time_limit_s
            within = state.table.everything if decision.within is None else decision.within
            alloc, held = test.find(record, within, limit, self._by, decision.layout)
            if alloc is not None:
                if decision.longer is not None:
                    limit = decision.longer(alloc.mask)
                self._runs.start(record, alloc, self._label, limit)
                return True
        if held is not None:
            self._forbidden(job, target, held)
            return None
        return False

    def _target(self, target: Any, partition: Any) -> tuple[Job, Sequence[Record]]:
        """Return the job that a policy means, and its records that may be started. Raises PolicyError."""
        records: Sequence[Record]
        if isinstance(target, Record):
            records, job = (target,), target.job
        elif isinstance(target, Job):
            records, job = self.state.queue.jobs.get(target.id, ()), target
        else:
            raise PolicyError(self.policy.name, f"started {target!r}, which is no job of the view")
        if partition is not None:
            records = [record for record in records if record.partition is partition]
        return job, records

    def _start_together(self, decision: StartTogether) -> bool | None:
        """Start all, or none: False where one finds no nodes, None where a limit forbids one."""
        wanted: list[Wanted] = []
        for start in decision.starts:
            record = start.job
            if not isinstance(record, Record) or record.job.state != JobState.PENDING or not record.job.queued:
                raise PolicyError(self.policy.name, f"started {record!r}, which is not waiting in the queue")
            within = self.state.table.everything if start.within is None else start.within
            wanted.append(Wanted(record, within, start.time_limit_s))
        found = find_all(self._test, wanted)
        if isinstance(found, Refusal):
            if found.reason is None:
                return False
            self._forbidden(found.record.job, found.record, found.reason)
            return None
        for (record, _, limit), alloc in zip(wanted, found, strict=True):
            seconds = self._test.granted(record, self._by) if limit is None else limit
            self._runs.start(record, alloc, self._label, seconds)
        return True

    def _laid_out(self, decision: Start, job: Job, records: Sequence[Record]) -> list[Record]:
        """Those of `records` for which the layout is one, whatever is free. Raises PolicyError if it is for none."""
        table, problem = self.state.table, ""
        assert decision.layout is not None
        found = []
        for record in records:
            wrong = malformed(units_of(record.request, table), decision.layout, table.n)
            problem = problem or wrong
            if not wrong:
                found.append(record)
        if records and not found and not self._late:
            raise PolicyError(self.policy.name, f"started job {job.id} on a layout that cannot be: {problem}")
        return found


def _line_of(decisions: Any) -> str:
    """Return `` (FILE:LINE)`` where a generator of decisions stands; empty for what has no lines, as a list."""
    inner = decisions
    while getattr(inner, "gi_yieldfrom", None) is not None:
        decisions = inner = inner.gi_yieldfrom
    frame = getattr(decisions, "gi_frame", None)
    return "" if frame is None else f" ({frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
