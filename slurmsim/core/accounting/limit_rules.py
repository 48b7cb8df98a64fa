"""One limit at a time: what a job puts against it, and whether that breaks it.

The comparisons are those of src/slurmctld/acct_policy.c (22.05), in whole minutes and whole TRES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.limit_reasons import tres_reason
from slurmsim.core.accounting.limit_usage import (
    Gauge,
    JobsRunning,
    JobsSubmitted,
    MinutesOwed,
    MinutesSpent,
    TresInUse,
    WallUsed,
)
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters
from slurmsim.core.records.associations import Ledger
from slurmsim.data_classes import dataclass, replace

UNLIMITED_MIN: Final = 2**32  # minutes of a job without any limit


@dataclass(slots=True, init=False)
class Demand:
    """What a job, or its allocation, puts against its limits."""

    # minutes, given: time limit in minutes, as UsageFactorSafe counts it; whether it has one at all
    minutes: int
    given: bool
    # tres: amounts in the order of the tracked TRES
    tres: list[int]
    # nodes: the nodes it would get (before nodes are chosen: those it requires)
    nodes: Bitmap = 0
    # n_nodes: how many
    n_nodes: int = 1
    n_jobs: int = 1  # array tasks submitted together

    def __init__(
        self, minutes: int, given: bool, tres: list[int], nodes: Bitmap = 0, n_nodes: int = 1, n_jobs: int = 1,
    ) -> None:  # fmt: skip
        self.minutes, self.given, self.tres, self.nodes, self.n_nodes = minutes, given, tres, nodes, n_nodes
        self.n_jobs = n_jobs


Amount = Callable[[Demand], int]


@dataclass(slots=True)
class Rule:
    """One limit: a demand breaks it that puts something against it, and more than what counts already leaves.

    Every comparison of acct_policy.c is brought to that one form, so that the kernel can make it as well
    (`limit_columns`).
    """

    amount: Amount  # what a demand puts against it; 0 where it is none of its business
    most: int  # more than that must not come together
    reason: str  # what squeue shows of who breaks it
    gauge: Gauge | None = None  # what counts already; None for nothing
    sure: bool = True  # a job that breaks it with what it asks for breaks it on whatever nodes it gets
    qos: str = ""  # the QOS that sets the limit, if it is a QOS
    # the TRES, or ``time``, if an operator may lift the limit (ADMIN_SET_LIMIT); "" if it cannot be lifted
    tres: str = ""
    least: int | None = None  # the limit's number where it is one that is not to be missed

    def broken(self, demand: Demand) -> bool:
        amount = self.amount(demand)
        return amount > 0 and amount + (0 if self.gauge is None else self.gauge.read()) > self.most

    def broken_alone(self, demand: Demand) -> bool:
        """Return True if `demand` breaks it also with no job running."""
        amount = self.amount(demand)
        return amount > 0 and amount + (0 if self.gauge is None else self.gauge.spent()) > self.most


@dataclass(slots=True)
class Used:
    """Who counts for a limit: the counters now, and the ledger of what has been used."""

    in_use: UsageCounters
    ledger: Ledger


class Rules:
    """Makes rules.

    Parameters
    ----------
    tracked
        TRES with a limit somewhere; the first one in its order that is broken names the reason.
    safe
        AccountingStorageEnforce=safe: a job must be able to run to its limit inside GrpTRESMins and GrpWall.
    """

    def __init__(self, tracked: TrackedTres, *, safe: bool) -> None:
        self.tracked, self.safe = tracked, safe

    def _each(
        self, limits: Mapping[str, int], kind: str, rule: Callable[[int, str], tuple[Amount, Gauge | None]]
    ) -> list[Rule]:
        """One rule per TRES, in Slurm's order; `rule` says of a TRES and its position what counts and how much."""
        found = []
        for i, tres, most in self.ordered(limits):
            amount, gauge = rule(i, tres)
            found.append(Rule(amount, most, tres_reason(kind, tres), gauge, tres=tres))
        return found

    def ordered(self, limits: Mapping[str, int]) -> Iterator[tuple[int, str, int]]:
        """(position, TRES, limit) in Slurm's order."""
        index = self.tracked.index
        return iter(sorted((index[tres], tres, value) for tres, value in limits.items()))

    # -- counts of jobs, and wall time ----------------------------------------------------------------------------

    @staticmethod
    def submits(in_use: UsageCounters, most: int, reason: str) -> Rule:
        """MaxSubmitJobs, GrpSubmitJobs."""
        return Rule(lambda demand: demand.n_jobs, most, reason, JobsSubmitted(in_use))

    @staticmethod
    def running(in_use: UsageCounters, most: int, reason: str) -> Rule:
        """MaxJobs, GrpJobs."""
        return Rule(lambda demand: 1, most, reason, JobsRunning(in_use))

    @staticmethod
    def longer(most: int, reason: str) -> Rule:
        """MaxWall; a job without a limit gets that one."""
        return Rule(lambda demand: demand.minutes if demand.given else 0, most, reason, tres="time")

    def wall(self, ledger: Ledger, most: int, reason: str) -> Rule:
        """GrpWall: used up; with ``safe`` also by what the job's limit would add."""
        safe = self.safe

        def amount(demand: Demand) -> int:
            return max(demand.minutes, 1) if safe and demand.given else 1

        return Rule(amount, most, reason, WallUsed(ledger=ledger), tres="time")

    @staticmethod
    def walled(ledger: Ledger, most: int, reason: str) -> Rule:
        """GrpWall of a running job."""
        return Rule(lambda demand: 1, most, reason, WallUsed(ledger=ledger))

    # -- one job --------------------------------------------------------------------------------------------------

    def most(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRES; at submission also GrpTRES and MaxTRES per user and account."""
        return self._each(limits, kind, lambda i, _: (lambda demand: demand.tres[i], None))

    def least(self, limits: Mapping[str, int]) -> list[Rule]:
        """MinTRES: what is missing is too much."""
        found = [
            Rule(self._missing(i, least), 0, tres_reason("QOSMin", tres), tres=tres, least=least)
            for i, tres, least in self.ordered(limits)
        ]
        return _unsure(found)

    @staticmethod
    def _missing(i: int, least: int) -> Amount:
        return lambda demand: least - demand.tres[i]

    def per_node(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESPerNode: the average, rounded down."""
        return _unsure(
            self._each(limits, kind, lambda i, _: (lambda demand: demand.tres[i] // max(demand.n_nodes, 1), None))
        )

    def minutes(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESMins: the time limit times the TRES."""
        return self._each(limits, kind, lambda i, _: (_minutes_of(i), None))

    def outrun(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESMins of a running job, by the minutes it has run."""
        return self._each(
            limits, kind,
            lambda i, _: (lambda demand: demand.minutes * demand.tres[i] + 1 if demand.tres[i] > 0 else 0, None),
        )  # fmt: skip

    # -- all together ---------------------------------------------------------------------------------------------

    def together(self, kind: str, limits: Mapping[str, int], in_use: UsageCounters) -> list[Rule]:
        """GrpTRES, MaxTRESPerUser, MaxTRESPerAccount."""
        found = self._each(limits, kind, lambda i, _: (self._more(in_use, i), TresInUse(in_use, at=i)))
        node = tres_reason(kind, "node")
        return [rule if rule.reason != node else _unsure([rule])[0] for rule in found]

    def _more(self, in_use: UsageCounters, i: int) -> Amount:
        if i != self.tracked.node:
            return lambda demand: demand.tres[i]
        return lambda demand: demand.tres[i] - (demand.nodes & in_use.nodes).bit_count()  # those in use count once

    def owed(self, kind: str, limits: Mapping[str, int], in_use: UsageCounters, *, free: bool) -> list[Rule]:
        """Return the rules of GrpTRESRunMins or MaxTRESRunMins, which cannot be lifted; `free`: UsageFactor is 0."""
        found = self._each(limits, kind, lambda i, _: (_minutes_of(i), None if free else MinutesOwed(in_use, at=i)))
        return [replace(one, tres="") for one in found]

    def spent(self, kind: str, limits: Mapping[str, int], used: Used, *, free: bool) -> list[Rule]:
        """GrpTRESMins: used up, or with ``safe`` not enough left for what runs and for this job."""
        safe = self.safe

        def rule(i: int, tres: str) -> tuple[Amount, Gauge | None]:
            gauge = None if free else MinutesSpent(used.ledger, tres, used.in_use if safe else None, i)
            if safe:
                return _minutes_of(i), gauge
            return (lambda demand: 1 if demand.minutes * demand.tres[i] > 0 else 0), gauge

        return self._each(limits, kind, rule)

    def used_up(self, kind: str, limits: Mapping[str, int], ledger: Ledger) -> list[Rule]:
        """GrpTRESMins of a running job."""
        return self._each(
            limits, kind,
            lambda i, tres: (lambda demand: 1 if demand.tres[i] > 0 else 0, MinutesSpent(ledger, tres, None, i)),
        )  # fmt: skip


def _minutes_of(i: int) -> Amount:
    return lambda demand: demand.minutes * demand.tres[i]


def _unsure(rules: list[Rule]) -> list[Rule]:
    """Rules the nodes chosen may still satisfy."""
    for rule in rules:
        rule.sure = False
    return rules
