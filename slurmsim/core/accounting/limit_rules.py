"""One limit at a time: what a job puts against it, and whether that breaks it.

The comparisons are those of src/slurmctld/acct_policy.c (22.05), in whole minutes and whole TRES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.associations import Ledger
from slurmsim.core.accounting.limit_reasons import tres_reason
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters

UNLIMITED_MIN = 2**32  # minutes of a job without any limit


@dataclass(slots=True)
class Demand:
    """What a job, or its allocation, puts against its limits.

    Attributes
    ----------
    minutes, given
        Time limit in minutes, as UsageFactorSafe counts it; whether it has one at all.
    tres
        Amounts in the order of the tracked TRES.
    nodes
        The nodes it would get (those it requires while nobody has chosen).
    n_nodes
        How many.
    n_jobs
        Array tasks submitted together.
    """

    minutes: int
    given: bool
    tres: list[int]
    nodes: Bitmap = 0
    n_nodes: int = 1
    n_jobs: int = 1


@dataclass(slots=True)
class Rule:
    """One limit: `broken` tells whether a demand breaks it, `reason` is what squeue then shows.

    `tres`: of which TRES, or ``time``, where an operator may lift it (ADMIN_SET_LIMIT); "" where nobody may.
    `sure`: a job that breaks it with what it asks for breaks it on whatever nodes it gets. `qos`: the QOS
    whose limit it is, if one's. `most`: the limit's number, where it has one, and `counted` what counts towards it of
    others; these two decide nothing, they are for whoever explains a wait.
    """

    broken: Callable[[Demand], bool]
    reason: str
    sure: bool = True
    qos: str = ""
    tres: str = ""
    most: int | None = None
    counted: UsageCounters | None = None


@dataclass(slots=True)
class Used:
    """Who counts for a limit: the counters now, and the ledger of what has been used."""

    in_use: UsageCounters
    ledger: Ledger


Broken = Callable[[Demand], bool]


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

    def _each(self, limits: Mapping[str, int], kind: str, rule: Callable[[int, str, int], Broken]) -> list[Rule]:
        """One rule per TRES, in Slurm's order; `rule` is given position, TRES and limit."""
        return [
            Rule(rule(i, tres, most), tres_reason(kind, tres), tres=tres, most=most)
            for i, tres, most in self.ordered(limits)
        ]

    def ordered(self, limits: Mapping[str, int]) -> Iterator[tuple[int, str, int]]:
        """(position, TRES, limit) in Slurm's order."""
        index = self.tracked.index
        return iter(sorted((index[tres], tres, value) for tres, value in limits.items()))

    # -- counts of jobs, and wall time ----------------------------------------------------------------------------

    @staticmethod
    def submits(in_use: UsageCounters, most: int, reason: str) -> Rule:
        """MaxSubmitJobs, GrpSubmitJobs."""
        return Rule(lambda demand: in_use.submitted + demand.n_jobs > most, reason, most=most, counted=in_use)

    @staticmethod
    def running(in_use: UsageCounters, most: int, reason: str) -> Rule:
        """MaxJobs, GrpJobs."""
        return Rule(lambda demand: in_use.jobs >= most, reason, most=most, counted=in_use)

    @staticmethod
    def longer(most: int, reason: str) -> Rule:
        """MaxWall; a job without a limit gets that one."""
        return Rule(lambda demand: demand.given and demand.minutes > most, reason, tres="time", most=most)

    def wall(self, ledger: Ledger, most: int, reason: str) -> Rule:
        """GrpWall: used up; with ``safe`` also by what the job's limit would add."""
        safe = self.safe

        def broken(demand: Demand) -> bool:
            used = int(ledger.used_wall_s) // 60
            return used >= most or (safe and demand.given and used + demand.minutes > most)

        return Rule(broken, reason, tres="time", most=most)

    @staticmethod
    def walled(ledger: Ledger, most: int, reason: str) -> Rule:
        """GrpWall of a running job."""
        return Rule(lambda demand: int(ledger.used_wall_s) // 60 >= most, reason)

    # -- one job --------------------------------------------------------------------------------------------------

    def most(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRES; at submission also GrpTRES and MaxTRES per user and account."""
        return self._each(limits, kind, lambda i, _, most: lambda demand: demand.tres[i] > most)

    def least(self, limits: Mapping[str, int]) -> list[Rule]:
        """MinTRES."""
        found = self._each(limits, "QOSMin", lambda i, _, least: lambda demand: demand.tres[i] < least)
        return _unsure(found)

    def per_node(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESPerNode: the average, rounded down."""
        return _unsure(
            self._each(limits, kind, lambda i, _, most: lambda demand: demand.tres[i] // max(demand.n_nodes, 1) > most)
        )

    def minutes(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESMins: the time limit times the TRES."""
        return self._each(limits, kind, lambda i, _, most: lambda demand: demand.minutes * demand.tres[i] > most)

    def outrun(self, kind: str, limits: Mapping[str, int]) -> list[Rule]:
        """MaxTRESMins of a running job, by the minutes it has run."""
        return self._each(
            limits, kind,
            lambda i, _, most: lambda demand: demand.tres[i] > 0 and demand.minutes * demand.tres[i] + 1 > most,
        )  # fmt: skip

    # -- all together ---------------------------------------------------------------------------------------------

    def together(self, kind: str, limits: Mapping[str, int], in_use: UsageCounters) -> list[Rule]:
        """GrpTRES, MaxTRESPerUser, MaxTRESPerAccount."""
        found = self._each(limits, kind, lambda i, _, most: self._sum(in_use, i, most))
        for rule in found:
            rule.counted = in_use
        node = tres_reason(kind, "node")
        return [rule if rule.reason != node else _unsure([rule])[0] for rule in found]

    def _sum(self, in_use: UsageCounters, i: int, most: int) -> Broken:
        if i == self.tracked.node:  # nodes in use already count once

            def broken(demand: Demand) -> bool:
                new = max(demand.tres[i] - (demand.nodes & in_use.nodes).bit_count(), 0)
                return new > most or (new > 0 and new + in_use.tres[i] > most)
        else:

            def broken(demand: Demand) -> bool:
                asked = demand.tres[i]
                return asked > most or (asked > 0 and asked + in_use.tres[i] > most)

        return broken

    def owed(self, kind: str, limits: Mapping[str, int], in_use: UsageCounters, *, free: bool) -> list[Rule]:
        """GrpTRESRunMins, MaxTRESRunMins per user and account; `free`: UsageFactor is 0. Nobody lifts these."""

        def rule(i: int, _: str, most: int) -> Broken:
            def broken(demand: Demand) -> bool:
                asked = demand.minutes * demand.tres[i]
                owed = 0 if free else int(in_use.owed_s[i]) // 60
                return asked > most or (asked > 0 and asked + owed > most)

            return broken

        return [replace(one, tres="") for one in self._each(limits, kind, rule)]

    def spent(self, kind: str, limits: Mapping[str, int], used: Used, *, free: bool) -> list[Rule]:
        """GrpTRESMins: used up, or with ``safe`` not enough left for what runs and for this job."""
        ledger, in_use, safe = used.ledger, used.in_use, self.safe

        def rule(i: int, tres: str, most: int) -> Broken:
            def broken(demand: Demand) -> bool:
                asked = demand.minutes * demand.tres[i]
                spent = 0 if free else int(ledger.used_tres_s.get(tres, 0.0) / 60)
                if asked > 0 and spent >= most:
                    return True
                if not safe:
                    return False
                owed = 0 if free else int(in_use.owed_s[i]) // 60
                return asked > most or (asked > 0 and asked + owed > most - spent)

            return broken

        return self._each(limits, kind, rule)

    def used_up(self, kind: str, limits: Mapping[str, int], ledger: Ledger) -> list[Rule]:
        """GrpTRESMins of a running job."""
        return self._each(
            limits, kind,
            lambda i, tres, most: lambda demand: (
                demand.tres[i] > 0 and int(ledger.used_tres_s.get(tres, 0.0) / 60) >= most
            ),
        )  # fmt: skip


def _unsure(rules: list[Rule]) -> list[Rule]:
    """Rules the nodes chosen may still satisfy."""
    for rule in rules:
        rule.sure = False
    return rules
