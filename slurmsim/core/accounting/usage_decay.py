"""What each association and QOS has used: seconds of billing, wall time and TRES, decaying.

Mirrors _apply_decay, _apply_new_usage, _reset_usage and _next_reset of priority_multifactor.c (22.05). Slurm walks all
running jobs once a period; here every branch keeps the rate at which its running jobs use, so that a period is a few
array operations whatever the number of jobs. Only jobs that started or ended since the last period are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from slurmsim.core.records.associations import UsageRows
from slurmsim.errors import InvariantError
from slurmsim.kernel import load

if TYPE_CHECKING:
    from slurmsim.core.records.associations import AssociationTree
    from slurmsim.core.records.billing import Billing
    from slurmsim.core.records.job import Job

Rows = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]
# rows of the table of amounts
BILLED: Final = 0
WALL: Final = 1
FIRST_TRES: Final = 2
kernel = load("amounts")
RESET_PERIODS: Final = ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")


def decay_factor(half_life_s: int) -> float:
    """By how much usage is multiplied each second: 1 - 0.693 / half life; 1 without decay (half life 0)."""
    return 1.0 - 0.693 / half_life_s if half_life_s else 1.0


def next_reset(period: str, last: int) -> int | None:
    """Return the first midnight (UTC) after `last` at which `period` begins anew, None for NONE and NOW."""
    day = datetime.fromtimestamp(last, UTC).replace(hour=0, minute=0, second=0)
    if period == "DAILY":
        day += timedelta(days=1)
    elif period == "WEEKLY":  # weeks begin on Sunday
        day += timedelta(days=7 - (day.weekday() + 1) % 7)
    elif period in ("MONTHLY", "QUARTERLY", "YEARLY"):
        months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}[period]
        month = (day.month - 1) // months * months + months
        day = day.replace(year=day.year + month // 12, month=month % 12 + 1, day=1)
    else:
        return None
    return int(day.timestamp())


class _Run:
    """A running job as the book sees it: which branches it counts in, and how much a second."""

    __slots__ = ("rate", "rows", "since")

    def __init__(self, rows: Rows, rate: Amounts, since: int) -> None:
        self.rows, self.rate, self.since = rows, rate, since


class UsageBook(UsageRows):
    """Amounts used, by branch and QOS: ``amounts[k, row]`` in seconds.

    `k` is `BILLED`, `WALL` and from `FIRST_TRES` on one TRES each, in the order of `names`. Rows are the branches in
    order of creation, then the QOS. Ledgers of the tree read here.

    Parameters
    ----------
    half_life_s
        PriorityDecayHalfLife, 0 for none.
    reset
        PriorityUsageResetPeriod.
    limits
        Whether limits are enforced. Only then slurmctld counts TRES, and what a job used between the last period
        and its end; without them that is lost.
    start_time
        When slurmctld starts, which is when usage was last reset.

    Notes
    -----
    A job that starts counts from its start, one that ends until its end; in between a period of Δ s adds
    Δ·d^Δ × rate × UsageFactor of its QOS, as in Slurm (NoDecay QOS: Δ × rate). Sums are doubles, Slurm's long doubles.
    Suspended jobs count on, as in Slurm.
    """

    def __init__(
        self, tree: AssociationTree, billing: Billing, *, half_life_s: int, reset: str, limits: bool, start_time: int
    ) -> None:
        self.tree, self.billing, self.limits = tree, billing, limits
        self.factor = decay_factor(half_life_s)
        self.names = billing.names if limits else ()
        n = len(tree.branches) + len(tree.qos)
        self.amounts = np.zeros((FIRST_TRES + len(self.names), n))
        self._n_branches = len(tree.branches)
        self._rates: Amounts = np.zeros_like(self.amounts)
        self._running = np.zeros(n, np.int64)
        self._stays = np.zeros(n, bool)  # NoDecay QOS
        self._row_of_qos: dict[str, int] = {}
        for row, branch in enumerate(tree.branches):
            branch.ledger.attach(self, row)
        for row, (name, qos) in enumerate(tree.qos.items(), len(tree.branches)):
            self._row_of_qos[name] = row
            self._stays[row] = "nodecay" in {flag.lower() for flag in qos.flags}
            tree.qos_ledgers[name].attach(self, row)
        self._any_stays = bool(self._stays.any())
        self._paths: dict[tuple[int, str, str], Rows] = {}
        self._runs: dict[int, _Run] = {}
        self._young: dict[int, _Run] = {}  # of those, the ones that started since the last period
        self.last = start_time
        self._reset_now = reset == "NOW"
        self._reset = reset
        self._next_reset = next_reset(reset, start_time)

    @property
    def resets_at(self) -> int | None:
        """When usage is next set to zero (PriorityUsageResetPeriod); None for never."""
        return self._next_reset

    def decays(self, row: int) -> bool:
        """Return True if the amounts of `row` decay: there is a half life, and the row is of no QOS with NoDecay."""
        return self.factor < 1.0 and not self._stays[row]

    def take_over(self, before: UsageBook, jobs: Mapping[int, Job], moved: Sequence[tuple[int, int]]) -> None:
        """Go on from the book of another tree; `moved` has the rows of branches that stay, there and here."""
        for there, here in moved:
            self.amounts[:, here] = before.amounts[:, there]
        for name, there in before._row_of_qos.items():
            if name in self._row_of_qos:
                self.amounts[:, self._row_of_qos[name]] = before.amounts[:, there]
        self.last, self._reset_now, self._next_reset = before.last, before._reset_now, before._next_reset
        for job_id, run in before._runs.items():
            job = jobs[job_id]
            if job.branch is None:
                continue
            self.started(job, run.since)
            if job_id not in before._young:
                known = self._young.pop(job_id)
                kernel.begin(self._rates, self._running, known.rows, known.rate)

    # -- what the controller tells ----------------------------------------------------------------------------------

    def started(self, job: Job, now: int) -> None:
        """`job` uses its allocation from `now` on. A job that is resized ends and starts."""
        if job.branch is None or job.alloc is None:
            return
        bill, counts = self.billing.amounts(job)
        factor = job.qos_spec.usage_factor if job.qos_spec is not None and job.qos_spec.usage_factor >= 0 else 1.0
        rate = [bill * factor, factor, *[counts.get(name, 0) * factor for name in self.names]]
        self._runs[job.id] = self._young[job.id] = _Run(self._path(job), np.array(rate)[:, None], now)

    def released(self, job: Job, now: int) -> None:
        """Take note that `job` has given its allocation back."""
        run = self._runs.pop(job.id, None)
        if run is None:
            return
        if self._young.pop(job.id, None) is None:
            kernel.end(self._rates, self._running, run.rows, run.rate)
        if self.limits:
            self._add(run, now - max(run.since, self.last))

    def period(self, now: int) -> None:
        """One run of slurmctld's priority thread at `now`: resets, decay, and what was used since the last."""
        self._reset_if_due(now)
        seconds = now - self.last
        if seconds > 0:
            decay = max(self.factor**seconds, np.finfo(np.float64).tiny)
            added = self._rates * (seconds * decay)
            if self._any_stays:
                added[:, self._stays] = self._rates[:, self._stays] * seconds
                kept = self.amounts[:, self._stays]
                self.amounts *= decay
                self.amounts[:, self._stays] = kept
            else:
                self.amounts *= decay
            self.amounts += added
        for run in self._young.values():
            self._add(run, now - run.since)
            kernel.begin(self._rates, self._running, run.rows, run.rate)
        self._young.clear()
        self.last = now

    @property
    def used(self) -> Amounts:
        """Billing-seconds of the branches, shape (n_branches,)."""
        return self.amounts[BILLED, : self._n_branches]  # a view, and so never kept: a copied book has its own amounts

    def rate(self, amount: int, row: int) -> float:
        """Return how much of an amount the jobs that have an allocation use each second."""
        young = sum(float(run.rate[amount, 0]) for run in self._young.values() if row in run.rows)
        return float(self._rates[amount, row]) + young

    def settles_at(self, rate: float, period_s: int) -> float:
        """Return where an amount that decays comes to rest if `rate` of it is used a second for ever."""
        kept = self.factor**period_s
        return rate * period_s * kept / (1.0 - kept)

    @property
    def busy(self) -> bool:
        """True if anything uses anything."""
        return bool(self._runs)

    def check(self, running: set[int]) -> None:
        """Recount, with the ids of the jobs that run; raises InvariantError on any difference."""
        if not self._runs.keys() <= running:
            raise InvariantError("usage is counted for a job that does not run")
        rates = np.zeros_like(self._rates)
        for job_id, run in self._runs.items():
            if job_id not in self._young:
                rates[:, run.rows] += run.rate
        if not (np.abs(self._rates - rates) <= 1e-6 + 1e-9 * np.abs(rates)).all():
            raise InvariantError("rates of usage differ from a recount")

    # -- inside -----------------------------------------------------------------------------------------------------

    def _path(self, job: Job) -> Rows:
        """Rows `job` counts in: its branch up to the root, its QOS, and its partition's if that is another."""
        assert job.branch is not None
        qos = job.qos_spec.name if job.qos_spec is not None else ""
        part = job.part_qos.name if job.part_qos is not None and job.part_qos.name != qos else ""
        key = (job.branch.row, qos, part)
        rows = self._paths.get(key)
        if rows is None:
            found = [branch.row for branch in job.branch.path]
            found += [self._row_of_qos[name] for name in (qos, part) if name]
            rows = self._paths[key] = np.array(found, np.int64)
        return rows

    def _add(self, run: _Run, seconds: int) -> None:
        if seconds <= 0:
            return
        weight = seconds * self.factor**seconds
        if self._any_stays:
            times = np.where(self._stays[run.rows], float(seconds), weight)
            self.amounts[:, run.rows] += run.rate * times
        else:
            kernel.add(self.amounts, run.rows, run.rate, weight)

    def _reset_if_due(self, now: int) -> None:
        if self._reset_now:
            self._reset_now = False
            self.amounts[:] = 0.0
        while self._next_reset is not None and now >= self._next_reset:
            self.amounts[:] = 0.0
            self._next_reset = next_reset(self._reset, self._next_reset)
