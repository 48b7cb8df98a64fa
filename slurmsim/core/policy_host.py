"""Runs a policy: each of its decisions is checked and carried out as it is yielded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from slurmsim.bitmap import runs
from slurmsim.core.job import Job
from slurmsim.core.job_queue import Record
from slurmsim.core.policy_view import View
from slurmsim.errors import PolicyError, SlurmSimError
from slurmsim.policy import Plan, Policy, Reject, Resize, SlurmView, Start, Tested, WakeAt
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller


class PolicyHost:
    """Calls the policy when it is due and carries out what it decides.

    An event-driven policy is due whenever something happened; another one only at the times it asked for, first at
    the controller's start.
    """

    def __init__(self, controller: Controller, policy: Policy) -> None:
        self.c = controller
        self.policy = policy
        self.view = View(controller)
        self._given = cast("SlurmView", self.view)  # whose records and jobs are ours
        self.passes = 0
        self._changed, self._changed_at = False, controller.start_time
        self.wake: int | None = None
        self._label = policy.label or policy.name
        policy.watched = controller.cluster.watched
        policy.configure(controller.cluster.scheduler_parameters, controller.start_time)

    @property
    def changed(self) -> bool:
        """Whether something happened since the policy was last called."""
        return self._changed

    @changed.setter
    def changed(self, happened: bool) -> None:
        self._changed = happened
        if happened:
            self._changed_at = self.c.now

    def count_no_more(self, job: Job) -> None:
        """`job` is suspended: from now on counting units does not tell what its pool can do."""
        self.view.pools[job.partition.pool].units = None

    def next_time(self, now: int) -> int | None:
        """When the policy must be called next, None if only a new event can matter."""
        if self.wake is not None:
            return max(self.wake, now)
        return self.policy.next_time(self._given, now, self.changed) if not self.policy.event_driven else None

    def is_due(self, now: int) -> bool:
        """Whether the policy is to be called at `now`, whatever else happens then."""
        at = self.next_time(now)
        return at is not None and at <= now

    def run_if_due(self, now: int) -> None:
        """Call the policy if something happened (event-driven) or its time has come."""
        due = self.wake is not None and self.wake <= now
        if self.c.event_driven:
            if not self.changed and not due:
                return
        else:
            at = self.policy.next_time(self._given, now, self.changed)
            if not due and (at is None or at > now):
                return
        completing = self.c.completing
        if completing is not None and (held := completing.held_until()) > now:
            self.wake = held
            return
        self.wake = None
        if self.c.deadlines.jobs:
            self.c.deadlines.sweep()
        while True:
            if self.policy.event_driven and self.c.limits is not None:
                self.c.limits.sweep()
            # slurmctld compares whole seconds: what happened in the second of a cycle is news to the next one too
            self.changed = self._changed and self._changed_at == self.c.now and not self.c.event_driven
            self.passes += 1
            self.run()
            if self.policy.event_driven and self.c.limits is not None:
                self.c.limits.sweep()
            if not (self.changed and self.c.event_driven):
                return  # else a job started that had also waited in another pool

    def run(self) -> None:
        """One call of the policy, to its end. What the policy itself raises comes out as a PolicyError."""
        if self.c.preemption is not None:
            self.c.preemption.in_progress.clear()
        try:
            decisions = self.policy.schedule(self._given, self.c.now)
            if type(decisions) is tuple and not decisions:
                return
            decisions = iter(decisions)
        except Exception as error:
            raise self._broken(error) from error
        send: Any = getattr(decisions, "send", None) or (lambda _: next(decisions))
        outcome: Any = None
        while True:
            try:
                decision = send(outcome)
            except StopIteration:
                return
            except Exception as error:
                raise self._broken(error) from error
            outcome = self._start(decision) if type(decision) is Start else self._carry_out(decision)

    def in_order(self, records: list[Record]) -> list[Record]:
        """`records` as the policy wants the main scheduler to walk them; the very list if as they are."""
        try:
            wanted: Any = self.policy.order(self._given, cast("list[Any]", records), self.c.now)
        except Exception as error:
            raise self._broken(error) from error
        if wanted is records:
            return records
        if len(wanted) != len(records) or set(wanted) != set(records):
            raise PolicyError(self.policy.name, "gave an order that has not the same jobs")
        return list(wanted)

    def _forbidden(self, job: Job, target: Any, reason: str) -> None:
        """A limit forbids the start of `target`. A policy that is the scheduler does not see it until it may."""
        if self.policy.event_driven and self.c.limits is not None:
            self.c.limits.refuse(job, reason, target.partition if isinstance(target, Record) else None)
        else:
            self.c.set_reason(job, reason)

    def _broken(self, error: Exception) -> SlurmSimError:
        """`error`, raised by the policy's code, as one line that says where."""
        if isinstance(error, SlurmSimError):
            return error
        at = error.__traceback__
        where = ""
        while at is not None:
            where = f" ({at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno})"
            at = at.tb_next
        return PolicyError(self.policy.name, f"{type(error).__name__}: {error}{where}")

    def _carry_out(self, decision: Any) -> Any:
        kind = type(decision)
        if kind is Start:
            return self._start(decision)
        if kind is Plan:
            job = decision.job
            if isinstance(job, Record):
                job = job.job
            if decision.start is None:
                job.planned_start, job.planned_nodes = None, 0
                return None
            self._check_time(decision, decision.start, self.c.now)
            if job.planned_start != decision.start:
                first = job.planned_start is None
                job.planned_start, job.planned_nodes = decision.start, decision.nodes
                if not (first or decision.promise):
                    return None
                nodes = self.c.state.namer.runs(runs(decision.nodes)) if decision.nodes else ""
                self.c.record("PLAN", job, nodes=nodes, value=decision.start, scheduler=self._label)
            return None
        if kind is Reject:
            job = decision.job.job if isinstance(decision.job, Record) else decision.job
            self.c.set_reason(job, decision.reason)
            return None
        if kind is Tested:
            if decision.record is None:
                self.c.tried.cycle()
            else:
                self.c.tried.test(decision.record)
            return None
        if kind is Resize:
            if not isinstance(decision.job, Job):
                raise PolicyError(self.policy.name, f"resized {decision.job!r}, which is no job of the view")
            return self.c.resizes.to(decision.job, decision.n_nodes, decision.within)
        if kind is WakeAt:
            self._check_time(decision, decision.time, self.c.now + 1)
            self.wake = decision.time if self.wake is None else min(self.wake, decision.time)
            return None
        raise PolicyError(self.policy.name, f"yielded {decision!r}, which is no decision")

    def _check_time(self, decision: Any, time: Any, earliest: int) -> None:
        """Times are whole seconds (a float would spread through the core) that are still to come."""
        if not isinstance(time, int) or time < earliest:
            text = f"yielded {type(decision).__name__} for {time!r} (expected whole seconds, at least {earliest})"
            raise PolicyError(self.policy.name, text)

    def _start(self, decision: Start) -> bool | None:
        """Start the job if it fits; False if it does not, None if a limit forbids it."""
        target = decision.job
        c = self.c
        records: Sequence[Record]
        if isinstance(target, Record):
            records, job = (target,), target.job
        elif isinstance(target, Job):
            records, job = c.queue.jobs.get(target.id, ()), target
        else:
            raise PolicyError(self.policy.name, f"started {target!r}, which is no job of the view")
        if decision.partition is not None:
            records = [record for record in records if record.partition is decision.partition]
        if c.limits is not None and job.id in c.limits.waiting:
            return None  # refused in this very pass
        if job.state != JobState.PENDING or not job.queued:
            raise PolicyError(self.policy.name, f"started job {job.id}, which is not waiting in the queue")
        held: str | None = None
        for record in records:
            if c.keeps_out(job, record.partition, record.shape, shortened=True) is not None:
                continue
            limit = decision.time_limit_s
            if job.claims:
                if job.licenses and not c.event_driven and not c.licenses.free(job, record.reservation):
                    continue
                if c.deadlines.missed(job):  # it came into the queue while the policy was at work
                    return False
                if limit is None and job.deadline is not None:
                    limit = c.deadlines.limit(job, c.time_limit(job, record.partition))
            limits = c.limits
            if limits is not None and (held := limits.early(record)) is not None:
                continue
            within = c.table.everything if decision.within is None else decision.within
            seconds = c.time_limit(job, record.partition) if limit is None else limit
            alloc = c.place_now(record, within, seconds)
            asked = limits is not None and (alloc is not None or c.preemption is not None)
            if asked and limits is not None and (held := limits.after(record, alloc)) is not None:
                if alloc is not None:
                    job.likely_nodes = alloc.n_nodes
                    c.tried.found(job, alloc.n_cpus)
                continue
            if alloc is None and c.preemption is not None:
                alloc = c.preemption.make_room(record, c.reach(record, within, seconds))
            if alloc is not None:
                c.start(record, alloc, self._label, limit)
                return True
        if held is not None:
            self._forbidden(job, target, held)
            return None
        return False
