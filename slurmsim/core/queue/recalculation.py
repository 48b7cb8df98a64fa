"""slurmctld's priority thread: every PriorityCalcPeriod usage decays and grows, fair shares and priorities follow.

Mirrors _decay_thread and fair_tree_decay (priority/multifactor, 22.05). This is the one place where the seconds of a
period are applied to running jobs. A part that counts by the second adds itself to `on_period`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from slurmsim.core.accounting.accrual import Accrual
from slurmsim.core.accounting.fairshare import Classic, FairTree, ShareTree
from slurmsim.core.accounting.usage_decay import UsageBook
from slurmsim.core.accounting.usage_waits import relief_at
from slurmsim.core.queue.columns import QueueColumns
from slurmsim.core.queue.priority import Multifactor
from slurmsim.errors import InvariantError

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.queue.found_cpus import FoundCpus
    from slurmsim.core.queue.priority import Basic
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState

FAR: Final = 2**62


class Recalculation:
    """The thread and what it keeps.

    Notes
    -----
    The first run is at slurmctld's start, the others follow in steps of the period. In a live cluster of 22.05 the
    thread begins 0.3 to 0.6 s after backfill's (measured), and right before the loop of the main scheduler. So a
    cycle of the same second does not know yet what it found; the full pass does. The loop loses up to 0.2 s a minute
    (asked), so that in the long run some full passes come before it, which is not modelled. Since 24.11 the thread
    begins before backfill's (a millisecond, asked), so that a cycle of the same second knows; the main scheduler's
    passes come with the turn of the second, before both.
    """

    def __init__(
        self, state: ControllerState, plugin: Basic | Multifactor, accounting: AccountingParts, found_cpus: FoundCpus
    ) -> None:
        self.state, self._accounting, self._found_cpus = state, accounting, found_cpus
        self.plugin = plugin
        self.period_s = self.plugin.period_s
        # its run of a second comes after the main scheduler's pass and before a cycle of backfill
        self.after_passes = state.rules.recalculates_first
        # it comes after a cycle of backfill and before the main scheduler's pass
        self.between = state.spec.watched and not self.after_passes
        self.next_at = FAR if self.period_s is None else state.start_time  # when it runs next
        self.shares: FairTree | Classic | None = None  # fair-share factors; None where PriorityWeightFairshare is 0
        self.columns: QueueColumns | None = None
        # called in every run, after usage has been added, with the time of the run before and now. Runs without a
        # wake-up are made up for later, in order, before anything else happens. So a listener sees every run, but idle
        # times are one run.
        self.on_period: list[Callable[[int, int], None]] = []
        self.on_shares: list[Callable[[], None]] = []  # called when fair shares have been worked out anew
        self._left: float | None = None  # all amounts of the book after the last run
        self._thresholds = False  # fair shares decide who may start
        if isinstance(self.plugin, Multifactor) and self.period_s is not None:
            self.open(self.plugin)

    def open(self, plugin: Multifactor) -> None:
        """Make what the controller's associations need, also when they have been replaced."""
        state, option, parts = self.state, self.state.spec.option, self._accounting
        tree = state.tree
        if tree is not None:
            flags = {flag.upper() for flag in option("PriorityFlags")}
            parts.book = UsageBook(
                tree, state.billing, half_life_s=option("PriorityDecayHalfLife") or 0,
                reset=option("PriorityUsageResetPeriod"), limits=state.enforce.limits, start_time=state.start_time,
            )  # fmt: skip
            self._thresholds = any("EnforceUsageThreshold" in qos.flags for qos in tree.qos.values())
            shares = ShareTree(tree)
            self.shares = FairTree(shares) if "NO_FAIR_TREE" not in flags else Classic(
                shares, damping=option("FairShareDampeningFactor"), depth_oblivious="DEPTH_OBLIVIOUS" in flags
            )  # fmt: skip
            plugin.use(parts.book, self.shares)
            if state.enforce.limits and plugin.w_age and not plugin.accrue_always:
                plugin.limited_accrual = True
                parts.accrual = Accrual(self._accrues, self._room_to_accrue)
        self.columns = QueueColumns(plugin, state.queue, len(tree.branches) if tree is not None else 0)

    def _accrues(self, job: Job) -> None:
        """Take note that a job in the queue has begun to accrue age."""
        assert self.columns is not None
        self.columns.edited(job)

    def _room_to_accrue(self) -> None:
        self.state.triggers.dirty = True  # the next full pass, which slurmctld makes in any case, is not to be left out

    # -- when -------------------------------------------------------------------------------------------------------

    def catch_up(self, now: int) -> None:
        """Make the runs that were due before `now` and had no wake-up."""
        assert self.period_s is not None
        while self.next_at < now:
            if self._accounting.book is not None and not self._accounting.book.busy:
                self.next_at += (now - 1 - self.next_at) // self.period_s * self.period_s  # idle: one run is enough
            self.state.at(self.next_at)
            self.run(self.next_at, again=self.next_at + self.period_s >= now)

    def is_due(self, now: int) -> bool:
        """Return True if a run is to be made at `now`."""
        return now >= self.next_at

    def run_if_due(self, now: int) -> None:
        """Make the run of this instant."""
        if self.is_due(now):
            self.run(now)

    def wake_at(self, any_has_place: Callable[[], bool]) -> int | None:
        """Return when the controller must be woken for a run, None when it makes no difference before the next fact.

        `any_has_place` says whether a job could start now if it were the first: without one, with nothing running and
        nothing new to look at, another order of the queue starts nothing either. Then only usage that goes down can let
        a job start, and the runs before that make no difference. A policy that goes by the order alone needs no run
        that leaves the order as it is.
        """
        state, limits = self.state, self._accounting.limits
        if self.period_s is None or not state.jobs:
            return None
        news = state.triggers.dirty and not state.event_driven  # such a policy is called at once
        moves = bool(state.queue.jobs) and bool(state.running or state.suspended or news)
        reordered = self._reordered_at() if state.queue.jobs and not moves and any_has_place() else None
        if reordered == self.next_at:
            moves = True
        if moves or not self._only_decays():
            wanted = moves or self.on_shares or (limits is not None and limits.enforcement.wants_periods)
            return max(self.next_at, state.now + 1) if wanted else reordered
        assert self._accounting.book is not None
        relief = relief_at(state.jobs.values(), limits, self._accounting.book, self.period_s)
        if relief is None:
            return reordered
        ahead = max(relief - self.next_at, 0) // self.period_s * self.period_s
        at = max(self.next_at + ahead, state.now + 1)
        return at if reordered is None else min(at, reordered)

    def _reordered_at(self) -> int | None:
        """Return the first run that may change what the policy does while nothing runs; None if no run does."""
        book, accrual = self._accounting.book, self._accounting.accrual
        settled = (book is None or self._only_decays()) and not (accrual is not None and accrual.waits)
        if not (settled and self._ages_alone()):
            return self.next_at
        assert self.columns is not None and self.period_s is not None
        return self.columns.order_changes_at(self.next_at, self.period_s)

    def _ages_alone(self) -> bool:
        """Return True if only the order of the queue counts, and only ages change that by themselves."""
        state, plugin = self.state, self.plugin
        if not state.policy.in_order or state.policy.discipline is not None or not isinstance(plugin, Multifactor):
            return False
        shares = plugin.w_fairshare or self._thresholds or self.on_shares
        return not (shares or plugin.increase_only or state.queue.fifo or state.queue.arrange)

    def _only_decays(self) -> bool:
        """Return True if usage has only gone down since the last run."""
        book = self._accounting.book
        return book is not None and not book.busy and bool(self._left == book.amounts.sum())

    def last_run(self, now: int) -> int:
        """Return when the last run was by `now`, also one that is yet to be made up for."""
        return now - (now - self.next_at) % self.period_s if self.period_s else self.state.start_time

    def restart(self, now: int) -> None:
        """Make a run and count the periods from now on: slurmctld has begun anew."""
        if self.period_s is not None:
            self.next_at = now
            self.run(now)

    # -- one run ----------------------------------------------------------------------------------------------------

    def run(self, now: int, *, again: bool = True) -> None:
        """Usage, then fair shares and priorities; those not if `again` is false, when another run follows at once."""
        assert self.period_s is not None
        before = self.next_at - self.period_s
        self.next_at += self.period_s
        if self._accounting.book is not None and self.shares is not None:
            self.shares.settle(self._accounting.book.used)
            self._accounting.book.period(now)
            self._left = float(self._accounting.book.amounts.sum())
        for listener in self.on_period:
            listener(before, now)
        if again:
            if self._accounting.accrual is not None:
                self._accounting.accrual.look(now)
            self._reprioritise(now)
            for notice in self.on_shares:
                notice()

    def _reprioritise(self, now: int) -> None:
        state, plugin = self.state, self.plugin
        assert isinstance(plugin, Multifactor) and self.columns is not None
        factors = None
        if self._accounting.book is not None and self.shares is not None and (plugin.w_fairshare or self._thresholds):
            self.shares.update(self._accounting.book.used, self.columns.branches)
            factors = self.shares.factors
        if plugin.running_too:
            for _, _, job in state.running:
                value = plugin.of_running(job, now)
                job.priority = max(value, job.priority) if plugin.increase_only else value
        self._found_cpus.news.clear()
        if not state.queue.jobs:
            return
        changed, priorities = self.columns.changes(now, factors)
        if changed:
            waits = not (state.running or state.suspended) and self._ages_alone()
            before = state.queue.snapshot() if waits else None
            state.queue.reprioritise(changed, priorities)
            state.generation += 1
            if self._thresholds:
                state.edits += 1  # what bars a job, which is known of it till the next edit, goes with fair shares
            if before is None or state.queue.snapshot() != before:
                state.triggers.dirty = True
        if changed or not plugin.increase_only:
            state.triggers.changed = True  # a priority that is set is news to backfill, also where it stays the same

    def check(self) -> None:
        """Recount; raises InvariantError on any difference."""
        book, accrual = self._accounting.book, self._accounting.accrual
        if book is not None:
            book.check({entry[1] for entry in (*self.state.running, *self.state.suspended)})
        if accrual is not None and not accrual.recount(iter(self.state.jobs.values())):
            raise InvariantError("jobs that accrue age differ from a recount")
        if self.columns is not None and not self.columns.agrees():
            raise InvariantError("the columns of the queue differ from its records")
