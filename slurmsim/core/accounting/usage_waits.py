"""Which pending jobs wait for used minutes to decay, or to be reset.

GrpTRESMins, GrpWall and UsageThreshold are the only limits that time alone lifts. A job waits for that if one of them
holds it, if it could start with nothing used, and if what is used does go down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slurmsim.core.accounting.limit_rules import Demand, Rule
from slurmsim.core.records.job import Job
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.accounting.limits import Limits
    from slurmsim.core.accounting.usage_decay import UsageBook


def any_waits(jobs: Iterable[Job], limits: Limits | None, book: UsageBook) -> bool:
    """Return True if any of `jobs`, none of which runs, waits for usage to go down.

    Notes
    -----
    O(jobs × limits of a job). It assumes that no job runs: minutes that running jobs may still use count as used.
    """
    resets = book.resets_at is not None
    for job in jobs:
        if job.reason == Reason.QOS_USAGE_THRESHOLD:
            if resets and bool(book.used.any()):  # decay leaves the shares of all as they are
                return True
        elif limits is not None and (job.queued or job.id in limits.waiting) and _waits(job, limits, resets=resets):
            return True
    return False


def _waits(job: Job, limits: Limits, *, resets: bool) -> bool:
    """Return True if used minutes hold `job` in one of its partitions, and will not hold it for ever."""
    for partition, request in zip(job.partitions, job.requests, strict=True):
        claim = limits.counters.claim(job, partition)
        if claim is None:
            continue
        rules = [*claim.before, *claim.after]
        used = [rule for rule in rules if _is_used(rule)]
        if not (resets or any(rule.gauge is not None and rule.gauge.decays() for rule in used)):
            continue
        demand = limits.demand(job, partition, request)
        holds = any(rule.broken(demand) or rule.reason == job.reason for rule in used)
        if holds and not any(_always_breaks(rule, demand) for rule in rules):
            return True
    return False


def _is_used(rule: Rule) -> bool:
    """Return True if a used amount counts for `rule`, and there is one."""
    return rule.gauge is not None and rule.gauge.ledger is not None and rule.gauge.read() > 0


def _always_breaks(rule: Rule, demand: Demand) -> bool:
    """Return True if `demand` breaks `rule` on any nodes, also with nothing used."""
    amount = rule.amount(demand)
    counted = 0 if rule.gauge is None or _is_used(rule) else rule.gauge.read()
    return rule.sure and amount > 0 and amount + counted > rule.most
