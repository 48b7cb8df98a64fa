"""The controller: a deterministic state machine told facts with their time, answering with actions.

It never asks what time it is, never sleeps, reads, writes or starts anything. `step` is the only way in: apply the
facts of one instant in the fixed order of `messages`, let due timers happen, then schedule once. `wake_at` says when
it wants to be called next even if nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from slurmsim.core.accounting.accounts import Accounts
from slurmsim.core.accounting.controller_accounting import AccountingParts, UsageObserver
from slurmsim.core.accounting.limits import Limits
from slurmsim.core.accounting.partition_access import PartitionAccess
from slurmsim.core.accounting.relative_limits import RELATIVE, as_set, count_relative
from slurmsim.core.controller.accounting_change import replace_accounting
from slurmsim.core.controller.admission import Admission
from slurmsim.core.controller.cluster_updates import ClusterUpdates
from slurmsim.core.controller.job_alterations import JobAlterations
from slurmsim.core.controller.job_decisions import JobDecisions
from slurmsim.core.controller.job_updates import JobUpdates
from slurmsim.core.controller.life_cycle import LifeCycle
from slurmsim.core.controller.requeues import Requeues
from slurmsim.core.controller.waiting import Waiting
from slurmsim.core.occupancy.completing import Completing
from slurmsim.core.occupancy.gang import Gang
from slurmsim.core.occupancy.node_states import NodeStates
from slurmsim.core.occupancy.power import Launcher, make_power
from slurmsim.core.occupancy.preempt_modes import PreemptModes
from slurmsim.core.occupancy.preemption import Preemption
from slurmsim.core.occupancy.reshaping import Reshaping
from slurmsim.core.occupancy.resize import Resizes
from slurmsim.core.occupancy.shortage import Shortage
from slurmsim.core.occupancy.suspend_facts import SuspendFacts
from slurmsim.core.occupancy.suspension import Suspension
from slurmsim.core.occupancy.watts import Watts
from slurmsim.core.placement.sharing import takes_turns
from slurmsim.core.queue.buffers import Buffers
from slurmsim.core.queue.deadlines import Deadlines
from slurmsim.core.queue.eligibility import Eligibility
from slurmsim.core.queue.found_cpus import FoundCpus
from slurmsim.core.queue.partition_limits import PartitionLimits
from slurmsim.core.queue.predictions import Predictions
from slurmsim.core.queue.priority import make_priority
from slurmsim.core.queue.qos_flags import QosFlags
from slurmsim.core.queue.recalculation import Recalculation
from slurmsim.core.queue.switch_wait import SwitchWait
from slurmsim.core.records.associations import AssociationTree
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    ORDER,
    Action,
    AlterJob,
    AlterPartition,
    Cancel,
    Fact,
    Hold,
    JobEnded,
    LaunchFailed,
    NodesBooted,
    NodesPower,
    NodesRegister,
    ProcessesGone,
    Release,
    ReplaceAccounting,
    Requeue,
    RequeueHold,
    ResizeJob,
    Resume,
    SetPartitionState,
    Solved,
    StartAtOnce,
    Submit,
    Suspend,
)  # fmt: skip
from slurmsim.core.reservations.book import Reservations
from slurmsim.core.reservations.jobs import ReservationJobs
from slurmsim.core.reservations.licenses import Licenses
from slurmsim.core.scheduling.at_submit import AtSubmit
from slurmsim.core.scheduling.main_pass import WalkParts
from slurmsim.core.scheduling.main_scheduler import MainScheduler
from slurmsim.core.scheduling.malleable_decisions import MalleableDecisions
from slurmsim.core.scheduling.may_start import StartTest
from slurmsim.core.scheduling.outside import shown_to
from slurmsim.core.scheduling.pending_reason import PendingReasons
from slurmsim.core.scheduling.policy_host import PolicyHost
from slurmsim.core.scheduling.policy_view import View
from slurmsim.core.scheduling.reserved_jobs import ReservedJobs
from slurmsim.core.scheduling.solves import Solves
from slurmsim.core.state.controller_state import ControllerState
from slurmsim.errors import InvariantError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.states import JobState

NEVER: Final = 2**60


def _place(fact: Fact) -> int:
    """Return its place among those of its instant."""
    return ORDER[type(fact)]


class Controller:
    """All of slurmctld that decides.

    Parameters
    ----------
    start_time
        When slurmctld starts; the phase of every periodic work.
    accounting
        Associations and QOS; None as without slurmdbd: any account and QOS is taken and only shown.
    enforce_limits
        False leaves ending jobs at their limit to the driver (replays of recorded elapsed times).
    epilog_s, term_s
        Seconds an epilog takes, and processes that are told to end (`completing`).
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        policy: Policy,
        start_time: int,
        *,
        accounting: Accounting | None = None,
        enforce_limits: bool = True,
        epilog_s: int = 0,
        term_s: int = 0,
    ) -> None:
        tree = AssociationTree(accounting) if accounting is not None else None
        self.state = state = ControllerState(cluster, policy, start_time, tree, enforce_limits)
        self.priority = plugin = make_priority(
            cluster, state.partitions, state.table.total_cpus, state.billing, state.rules.recalculates_always
        )
        self.accounting = parts = AccountingParts()
        if tree is not None:
            count_relative(tree, state)
            parts.accounts = Accounts(tree, state.enforce, state.partitions)
        self.access = PartitionAccess(state, parts)
        self.found_cpus = FoundCpus(state, parts, plugin)
        self.waiting = Waiting(state, plugin, parts, self.found_cpus)
        self.life_cycle = LifeCycle(state, self.waiting)
        self._make_queue(cluster)
        self._make_occupancy(cluster, epilog_s, term_s)
        self._make_scheduling()
        if state.enforce.limits:
            parts.limits = Limits(state, self.waiting, self.life_cycle)
            self.recalculation.on_period.append(parts.limits.period)
        self.listen()
        self._handlers: dict[type, Callable[[Any], None]] = {
            Submit: self.admission.on_submit, JobEnded: self.life_cycle.on_ended, Cancel: self.life_cycle.on_cancel,
            Requeue: self.requeues.on_requeue,
            RequeueHold: self.requeues.on_requeue_hold, LaunchFailed: self.requeues.on_launch_failed,
            ResizeJob: self.resizes.on_resize, **self.node_states.handlers(),
            NodesBooted: self._nodes_booted, NodesRegister: self._nodes_register,
            NodesPower: self._nodes_power, Hold: self.waiting.hold, Release: self.waiting.release,
            **self.job_updates.handlers(), AlterJob: self.job_alterations.job,
            **self.cluster_updates.handlers(),
            SetPartitionState: self._set_partition_state, **self.reservations.handlers(),
            Suspend: self.suspend_facts.on_suspend, Resume: self.suspend_facts.on_resume,
            StartAtOnce: AtSubmit(state, self.start_test, self.life_cycle).on_start_at_once,
            AlterPartition: self._on_alter_partition,
            ReplaceAccounting: self._on_replace_accounting, Solved: self.solves.on_solved,
            ProcessesGone: self.completing.on_gone,
        }  # fmt: skip

    def _make_queue(self, cluster: ClusterSpec) -> None:
        """Make the parts that decide which jobs wait, for what and in which order."""
        state, waiting, runs = self.state, self.waiting, self.life_cycle
        predictor = state.policy.predictor
        self.predictions = waiting.predictions = (
            Predictions(state, predictor, shown_to(predictor)) if predictor is not None else None
        )
        discipline = state.policy.discipline
        self.buffers = waiting.buffers = Buffers(state, discipline, waiting) if discipline is not None else None
        if discipline is not None:
            discipline.check(len(cluster.nodes))
        self.recalculation = waiting.recalculation = Recalculation(
            state, self.priority, self.accounting, self.found_cpus
        )
        self.qos_flags = QosFlags(state, self.recalculation, waiting)
        self.partition_limits = PartitionLimits(state, self.qos_flags)
        kill_invalid = "kill_invalid_depend" in cluster.option("DependencyParameters")
        self.eligibility = Eligibility(
            state, (waiting, runs), self.accounting, min_job_age=cluster.option("MinJobAge"), kill_invalid=kill_invalid
        )
        self.begin_times = self.eligibility.begin_times
        self.found_cpus.record_of = self.eligibility.arrays.record_of
        self.licenses = Licenses(state, waiting)
        self.deadlines = Deadlines(state, runs)
        self.switch_wait = SwitchWait(state, self.accounting)
        reserved_jobs = ReservationJobs(state, waiting, self.accounting, self.priority, self.access)
        self.reservations = Reservations(state, (waiting, runs), self.licenses, reserved_jobs)
        waiting.eligibility = runs.eligibility = self.eligibility
        waiting.licenses = runs.licenses = self.licenses
        waiting.deadlines = runs.deadlines = self.deadlines
        waiting.partition_limits = runs.partition_limits = self.partition_limits
        waiting.reserved_jobs, runs.access = reserved_jobs, self.access

    def _make_occupancy(self, cluster: ClusterSpec, epilog_s: int, term_s: int) -> None:
        """Make the parts that follow nodes, and the jobs on them."""
        state, runs, access = self.state, self.life_cycle, self.reservations.access
        self.completing = Completing(state, epilog_s, term_s)
        self.completing.cleaned = runs.cleaned
        self.node_states = NodeStates(state, runs, self.reservations)
        self.power = make_power(state, runs, self.node_states)
        self.resizes = Resizes(state, self.completing, self.node_states, self.power, access)
        self.requeues = Requeues(state, self.waiting, runs, self.eligibility)
        self.suspension = Suspension(state, self.power)
        self.watts: Watts | None = None
        self.reshaping: Reshaping | None = None
        self.shortage: Shortage | None = None
        if cluster.power is not None:
            self.watts = state.watts = watts = Watts(state, cluster.power, runs)
            self.reshaping = Reshaping(state, watts, self.resizes, self.completing, self.power, access)
            gives_back = not state.policy.reshapes
            self.shortage = Shortage(state, watts, self.resizes, self.suspension, gives_back)
        turns = takes_turns(cluster) and not state.event_driven
        preempts = cluster.option("PreemptType") != "preempt/none" and not state.event_driven
        self.modes = modes = PreemptModes(state, runs) if preempts or turns else None
        self.gang = Gang(state, self.suspension, modes) if modes is not None and turns else None
        if self.shortage is not None:
            self.shortage.gang = self.gang
        self.preemption = None if modes is None else Preemption(state, runs, modes, self.gang, access)
        runs.completing, runs.node_states, runs.power = self.completing, self.node_states, self.power
        runs.resizes, runs.requeues, runs.suspension = self.resizes, self.requeues, self.suspension

    def _make_scheduling(self) -> None:
        """Make the parts that let jobs in and start them."""
        state, waiting, runs = self.state, self.waiting, self.life_cycle
        self.start_test = test = StartTest(
            state, partition_limits=self.partition_limits, accounting=self.accounting, licenses=self.licenses,
            deadlines=self.deadlines, reservations=self.reservations, completing=self.completing,
            suspension=self.suspension, preemption=self.preemption, switch_wait=self.switch_wait,
            found_cpus=self.found_cpus,
        )  # fmt: skip
        self.solves = solves = Solves(state)
        self.view = View(state, test, self.eligibility.arrays, solves, self.watts)
        self.view.waits_for = self.eligibility.waits_for
        self.view.predictions = self.predictions
        malleable = MalleableDecisions(state, self.watts, self.reshaping)
        pending_reasons = PendingReasons(state, self.partition_limits, self.node_states, self.reservations.access)
        self.host = PolicyHost(state, self.view, test, runs, self.resizes, solves, malleable, pending_reasons)
        self.main = MainScheduler(
            WalkParts(state, test, runs, pending_reasons, waiting.dequeue, self.host.in_order, self.eligibility.arrays)
        )
        self._reserved_jobs = ReservedJobs(state, waiting.reserved_jobs, test, runs)
        self.admission = Admission(
            state, waiting, self.accounting, self.priority, self.access, self.qos_flags, self.eligibility,
            pending_reasons,
        )  # fmt: skip
        self.job_updates = JobUpdates(
            state, waiting, runs, self.accounting, self.priority, self.eligibility, self.found_cpus
        )
        self.job_alterations = JobAlterations(
            state, self.admission, waiting, self.accounting, self.job_updates, self.found_cpus
        )
        self.cluster_updates = ClusterUpdates(
            state, waiting, self.accounting, self.priority, self.access, self.view, self.modes, self.gang
        )
        self.suspend_facts = SuspendFacts(state, self.suspension, self.gang, self.priority, self.host.count_no_more)
        self.job_decisions = JobDecisions(
            state, waiting, runs, self.suspend_facts, self.requeues, self.job_updates, self.job_alterations, self.power
        )
        self.host.of_one_job = self.job_decisions.carry_out

    def listen(self) -> None:
        """Who hears of starts and ends, in which order; called again when one of them has been replaced."""
        state, parts = self.state, self.accounting
        book = UsageObserver(parts.book) if parts.book is not None else None
        launcher = Launcher(state, self.power)
        # the gang scheduler comes last: it may suspend the job at once, which the others have to know by then
        heard_by = (state.exclusive_users, book, parts.accrual, parts.limits, self.licenses, launcher,
                    self.predictions, self.buffers, self.watts, self.preemption, self.gang)  # fmt: skip
        state.observers[:] = [one for one in heard_by if one is not None]

    def step(self, now: int, facts: list[Fact]) -> list[Action]:
        """Everything of the instant `now`: facts, timers, one scheduling pass. Returns the actions, in order."""
        state = self.state
        state.actions = []
        apart = bool(facts) and state.triggers.ticks and not state.event_driven
        # facts that come one after the other come after the cycle of their second, if it was due without them
        if apart and now > state.now and self.host.is_due(now):
            self._note(now, [])
            self._recalculate_and_plan(now)
        self._note(now, facts)
        if self.recalculation.between and self.recalculation.is_due(now):
            self._recalculate_and_plan(now)
        if not state.event_driven:
            self.main.run_if_due(now)
            if self.node_states.registering:
                self.node_states.registered(now)
        elif state.reserved.all:
            self._reserved_jobs.serve()
        self.recalculation.run_if_due(now)
        if not apart:
            self.host.run_if_due(now)
        if self.preemption is not None:
            self.main.follow_up()
        if self.shortage is not None and self.gang is not None:
            self.shortage.take()
        return state.actions

    def _recalculate_and_plan(self, now: int) -> None:
        """Make the due run of the priority thread and the due cycle of backfill, in the order of this release."""
        parts = (self.recalculation.run_if_due, self.host.run_if_due)
        for run in reversed(parts) if self.recalculation.between else parts:
            run(now)

    def note(self, now: int, facts: list[Fact]) -> list[Action]:
        """Facts and timers of `now` without scheduling: for a driver that has its own idea of when passes come."""
        self.state.actions = []
        self._note(now, facts)
        return self.state.actions

    def _note(self, now: int, facts: list[Fact]) -> None:
        """Add the actions of facts and timers to those of this turn."""
        state, limits = self.state, self.accounting.limits
        if now < state.now:
            raise InvariantError(f"time runs backwards: {now} after {state.now}")
        if self.recalculation.next_at < now:
            self.recalculation.catch_up(now)
        state.at(now)
        if not state.event_driven:
            heap = self.begin_times.heap
            recalculates = self.recalculation.between and self.recalculation.is_due(now)
            state.triggers.go_round(now, news=recalculates or (bool(heap) and heap[0][0] <= now))
        if len(facts) > 1:
            facts.sort(key=_place)
        if limits is not None:
            limits.announce(facts)
        handlers = self._handlers
        for fact in facts:
            handlers[type(fact)](fact)
        if self.power is not None:
            self.power.told(facts)
        self._timers(now)

    def run_pass(self, now: int, *, backfill: bool) -> list[Action]:
        """One scheduling pass at `now` whether it is due or not: the policy's (`backfill`) or a full main pass."""
        self.note(now, [])
        if backfill:
            self.recalculation.run_if_due(now)
            self.host.run()
        else:
            self.main.run(full=True)
        return self.state.actions

    def quiet_cycle(self, now: int) -> None:
        """Apply a cycle of backfill at `now` that is known to start no job; keep what it finds."""
        self.note(now, [])
        self.recalculation.run_if_due(now)
        self.host.tested()

    def wake_at(self) -> int | None:
        """Return when `step` wants to be called at the latest, None if only a new fact can matter."""
        at = self._wake_at()
        if self.predictions is None or (due := self.predictions.next_time()) is None:
            return at
        due = max(due, self.state.now + 1)
        return due if at is None or due < at else at

    def _wake_at(self) -> int | None:
        state, limits = self.state, self.accounting.limits
        if state.event_driven and limits is None and self._is_quiet():
            return self._quiet_wake_at()
        soonest = NEVER
        if state.running and state.time_limits.enforced:
            soonest = state.time_limits.next_time(state.running)
        if heap := self.begin_times.heap:
            soonest = min(soonest, heap[0][0])
        if state.timers.heap:
            soonest = min(soonest, state.timers.heap[0][0])
        if (due := self.reservations.next_time()) is not None:
            soonest = min(soonest, due)
        if (due := self.deadlines.next_time()) is not None:
            soonest = min(soonest, due)
        again = self.recalculation
        if again.period_s is not None and (due := again.wake_at(self.host.any_has_place)) is not None:
            soonest = min(soonest, due)
        if limits is not None and state.running and (due := limits.enforcement.next_scan) is not None:
            soonest = min(soonest, due)
        if not state.event_driven and (due := self.main.next_time(state.now)) is not None:
            soonest = min(soonest, due)
        if self.preemption is not None and (due := self.preemption.next_time(state.now)) is not None:
            soonest = min(soonest, due)
        if self.gang is not None and (due := self.gang.next_time(state.now)) is not None:
            soonest = min(soonest, due)
        if (due := self.host.next_time(state.now)) is not None:
            soonest = min(soonest, max(due, state.now + 1) if state.triggers.ticks else due)
        return None if soonest == NEVER else soonest

    def _is_quiet(self) -> bool:
        """Return True if only running jobs and the policy wait for a time."""
        state = self.state
        waits = self.begin_times.heap or state.timers.heap or state.reserved.all or self.deadlines.jobs
        return not (waits or self.priority.period_s)

    def _quiet_wake_at(self) -> int | None:
        """Return the same if only the policy and the ends of running jobs count."""
        state, at = self.state, self.host.wake
        if at is not None and at < state.now:
            at = state.now
        if state.running and state.time_limits.enforced:
            end = state.running[0][0]
            return end if at is None or end < at else at
        return at

    # -- what has no end of its own -----------------------------------------------------------------------------------

    def forgotten(self, job: Job, now: int, *, last: bool) -> None:
        """Forget `job`, which ended MinJobAge ago, as slurmctld does; `last`: it is the last task of its array."""
        self.eligibility.forgotten(job, now, last=last)

    def keep_requests(self) -> None:
        """Forget what was compiled from requests of jobs that are gone."""
        self.state.cluster.keep_requests(self.state.jobs.values())
        if self.accounting.limits is not None:
            self.accounting.limits.forget_standings()

    def _set_partition_state(self, fact: SetPartitionState) -> None:
        partition = self.state.cluster.by_name[fact.partition]
        partition.state = fact.state
        for request in self.state.cluster.requests.values():
            request.limits_met.clear()
        self.waiting.edited()

    def _nodes_booted(self, fact: NodesBooted) -> None:
        if self.power is not None:
            self.power.booted(self.state.nodes_named(fact.nodes))
        self.node_states.booted(fact)

    def _nodes_register(self, fact: NodesRegister) -> None:
        if self.power is not None:
            self.power.registered(self.state.nodes_named(fact.nodes))
        self.node_states.register(fact)

    def _nodes_power(self, fact: NodesPower) -> None:
        if self.power is not None:
            self.power.on_request(fact)

    def _on_alter_partition(self, fact: AlterPartition) -> None:
        self.cluster_updates.partition(fact)
        tree = self.state.tree
        if tree is not None and any(RELATIVE in qos.flags for qos in tree.qos.values()):
            self.replace_accounting(as_set(tree, self.state), counts_anew=True)

    def _on_replace_accounting(self, fact: ReplaceAccounting) -> None:
        self.replace_accounting(fact.accounting)

    def replace_accounting(self, accounting: Accounting, *, counts_anew: bool = False) -> None:
        """Obey `accounting` from now on. Raises ConfigError, changing nothing."""
        parts, recalculation, ways = self.accounting, self.recalculation, (self.waiting, self.life_cycle)
        replace_accounting(accounting, self.state, parts, recalculation, ways, counts_anew=counts_anew)
        self.listen()

    def _timers(self, now: int) -> None:
        state, limits = self.state, self.accounting.limits
        if state.reserved.all:
            self.reservations.turn(now)
        if self.deadlines.jobs:
            self.deadlines.turn(now)
        if state.timers.heap:
            state.timers.ring(now)
        if (heap := self.begin_times.heap) and heap[0][0] <= now:
            self._begin(now)
        if self.preemption is not None:
            self.preemption.timers(now)
        if self.gang is not None:
            self.gang.timers(now)
            if self.preemption is not None:
                self.preemption.timers(now)  # a slice may let a job go on after its grace time
        running, time_limits = state.running, state.time_limits
        if time_limits.enforced and running and running[0][0] <= now:  # no job is over its limit before this end
            while over := time_limits.overdue(running, now):
                self.life_cycle.time_out(over)
        if limits is not None:
            limits.enforcement.scan(now)
        if self.predictions is not None:
            self.predictions.correct(now)
        if self.shortage is not None:
            self.shortage.settle()
        if not (self.recalculation.after_passes or self.recalculation.between):
            self.recalculation.run_if_due(now)

    def _begin(self, now: int) -> None:
        """Consider the jobs that may begin by now."""
        state = self.state
        for job in self.begin_times.begun(now):
            if job.state == JobState.PENDING and not job.queued:
                if state.event_driven:
                    state.triggers.changed = True
                else:
                    state.triggers.time_came()
                self.waiting.consider(job)

    # -- checks -------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Recount everything; raises InvariantError on any difference. For tests and debugging."""
        state = self.state
        running = [entry[2] for entry in state.running]
        state.table.check([*running, *self.suspension.check()], self.suspension.crowded)
        if self.gang is not None:
            self.gang.check()
        if any(job.state != JobState.RUNNING for job in running):
            raise InvariantError("a job among the running is not running")
        if any(job.bars is not None and job.partition.index in job.bars for job in running):
            raise InvariantError("a job runs in a partition that does not take its account or QOS")
        if sum(j.state == JobState.RUNNING for j in state.jobs.values()) != len(running):
            raise InvariantError("running jobs differ from a recount")
        busy, cpus, count = state.usage.recount(running)
        whole = state.usage.whole
        pending = sum(j.state == JobState.PENDING for j in state.jobs.values())
        if (whole.nodes, whole.cpus, whole.running, whole.pending) != (busy, cpus, count, pending):
            raise InvariantError("usage totals differ from a recount")
        self.recalculation.check()
        if self.accounting.limits is not None:
            self.accounting.limits.check()
        self.licenses.check(list(state.jobs.values()))
        if self.watts is not None:
            self.watts.check()
