"""slurmctld's priority thread: every PriorityCalcPeriod usage decays and grows, fair shares and priorities follow.

Mirrors _decay_thread and fair_tree_decay (priority/multifactor, 22.05). This is the one place where the seconds of a
period are applied to what runs; whoever counts something by the second adds itself to `on_period`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slurmsim.core.accrual import Accrual
from slurmsim.core.decay import UsageBook
from slurmsim.core.fairshare import Classic, FairTree, ShareTree
from slurmsim.core.priority import Multifactor
from slurmsim.core.queue_columns import QueueColumns
from slurmsim.errors import InvariantError

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job

FAR = 2**62


class Recalculation:
    """The thread and what it keeps.

    Attributes
    ----------
    next_at
        When it runs next.
    book
        Usage of associations and QOS; None where neither fair share nor limits need it.
    shares
        Fair-share factors; None where PriorityWeightFairshare is 0.
    accrual
        Who accrues age; None unless limits are enforced and age counts.
    on_period
        Called in every run, after usage has been added, with the time of the run before and now. Runs nobody waits
        for are made up for later, in order, before anything else happens; so a listener sees every one of them
        (but for idle times, which are one run).
    on_shares
        Called when fair shares have been worked out anew.
    wanted
        Wake the controller for every run, also while nothing is pending.

    Notes
    -----
    The first run is at slurmctld's start, the others follow in steps of the period.
    """

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        self.plugin = controller.priority
        self.period_s = self.plugin.period_s
        self.next_at = FAR if self.period_s is None else controller.start_time
        self.book: UsageBook | None = None
        self.shares: FairTree | Classic | None = None
        self.columns: QueueColumns | None = None
        self.accrual: Accrual | None = None
        self.on_period: list[Callable[[int, int], None]] = []
        self.on_shares: list[Callable[[], None]] = []
        self.wanted = False
        self._thresholds = False  # fair shares decide who may start
        if isinstance(self.plugin, Multifactor) and self.period_s is not None:
            self.open(self.plugin)

    def open(self, plugin: Multifactor) -> None:
        """Make what the controller's associations need, also when they have been replaced."""
        c, option = self.c, self.c.cluster.option
        tree = c.tree
        if tree is not None:
            flags = {flag.upper() for flag in option("PriorityFlags")}
            self.book = UsageBook(
                tree, c.billing, half_life_s=option("PriorityDecayHalfLife") or 0,
                reset=option("PriorityUsageResetPeriod"), limits=c.enforce.limits, start_time=c.start_time,
            )  # fmt: skip
            self._thresholds = any("EnforceUsageThreshold" in qos.flags for qos in tree.qos.values())
            shares = ShareTree(tree)
            self.shares = FairTree(shares) if "NO_FAIR_TREE" not in flags else Classic(
                shares, damping=option("FairShareDampeningFactor"), depth_oblivious="DEPTH_OBLIVIOUS" in flags
            )  # fmt: skip
            plugin.use(self.book, self.shares)
            if c.enforce.limits and plugin.w_age and not plugin.accrue_always:
                plugin.limited_accrual = True
                self.accrual = Accrual(self._accrues, self._room_to_accrue)
        self.columns = QueueColumns(plugin, c.queue, len(tree.branches) if tree is not None else 0)

    def _accrues(self, job: Job) -> None:
        """A job in the queue has begun to accrue age."""
        assert self.columns is not None
        self.columns.edited(job)

    def _room_to_accrue(self) -> None:
        self.c.main.dirty = True  # the next full pass, which slurmctld makes in any case, is not to be left out

    # -- when -------------------------------------------------------------------------------------------------------

    def catch_up(self, now: int) -> None:
        """Make the runs that were due before `now` and that nobody was woken for."""
        assert self.period_s is not None
        while self.next_at < now:
            if self.book is not None and not self.book.busy:
                self.next_at += (now - 1 - self.next_at) // self.period_s * self.period_s  # idle: one run is enough
            self.c.now = self.next_at
            self.run(self.next_at, again=self.next_at + self.period_s >= now)

    def run_if_due(self, now: int) -> None:
        """Make the run of this instant."""
        if now >= self.next_at:
            self.run(now)

    def wake_at(self) -> int | None:
        """When the controller must be woken for a run, None when it makes no difference before the next fact."""
        c = self.c
        # with nothing running and nothing new to look at, another order of the queue starts nothing either
        moves = c.queue.jobs and (c.running or c.suspension.jobs or c.main.dirty)
        if self.wanted or (self.period_s and (moves or (self.on_shares and c.jobs))):
            return max(self.next_at, c.now + 1)
        return None

    # -- one run ----------------------------------------------------------------------------------------------------

    def run(self, now: int, *, again: bool = True) -> None:
        """Usage, then fair shares and priorities; those not if `again` is false, when another run follows at once."""
        assert self.period_s is not None
        before = self.next_at - self.period_s
        self.next_at += self.period_s
        if self.book is not None and self.shares is not None:
            self.shares.settle(self.book.used)
            self.book.period(now)
        for listener in self.on_period:
            listener(before, now)
        if again:
            if self.accrual is not None:
                self.accrual.look(now)
            self._reprioritise(now)
            for notice in self.on_shares:
                notice()

    def _reprioritise(self, now: int) -> None:
        c, plugin = self.c, self.plugin
        assert isinstance(plugin, Multifactor) and self.columns is not None
        factors = None
        if self.book is not None and self.shares is not None and (plugin.w_fairshare or self._thresholds):
            self.shares.update(self.book.used, self.columns.branches())
            factors = self.shares.factors
        if plugin.running_too:
            for _, _, job in c.running:
                value = plugin.of_running(job, now)
                job.priority = max(value, job.priority) if plugin.increase_only else value
        c.tried.news.clear()
        if not c.queue.jobs:
            return
        changed = self.columns.changes(now, factors)
        if changed:
            c.queue.reprioritise(changed)
            c.generation += 1
            c.edits += 1
            c.main.dirty = True
            c.host.changed = True

    def check(self) -> None:
        """Recount; raises InvariantError on any difference."""
        if self.book is not None:
            self.book.check({entry[1] for entry in (*self.c.running, *self.c.suspension.jobs)})
        if self.accrual is not None and not self.accrual.recount(iter(self.c.jobs.values())):
            raise InvariantError("jobs that accrue age differ from a recount")
        if self.columns is not None and not self.columns.agrees():
            raise InvariantError("the columns of the queue differ from its records")
