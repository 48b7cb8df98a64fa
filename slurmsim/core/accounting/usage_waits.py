"""When the usage that holds pending jobs has decayed, or is reset.

GrpTRESMins, GrpWall and UsageThreshold are the only limits that time alone lifts. A job waits for that if one of them
holds it, if it could start with nothing used, and if what is used does go down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, log
from typing import TYPE_CHECKING

from slurmsim.core.accounting.limit_rules import Demand, Rule
from slurmsim.core.records.job import Job
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.accounting.limits import Limits
    from slurmsim.core.accounting.usage_decay import UsageBook


def relief_at(jobs: Iterable[Job], limits: Limits | None, book: UsageBook, period_s: int) -> int | None:
    """Return before when usage lets none of `jobs` start, seconds; None if it never lets any of them start.

    `period_s` is PriorityCalcPeriod, seconds.

    Notes
    -----
    O(jobs × limits of a job). It assumes that no job runs: minutes that running jobs may still use count as used. What
    has an allocation is suspended, and uses it on and on. It is exact for what a job asks for. A job that a limit
    forbids an allocation may have to wait for longer.
    """
    soonest = min(_reliefs(jobs, limits, book, period_s), default=inf)
    return None if soonest == inf else int(soonest)


def _reliefs(jobs: Iterable[Job], limits: Limits | None, book: UsageBook, period_s: int) -> Iterator[float]:
    for job in jobs:
        if job.reason == Reason.QOS_USAGE_THRESHOLD:
            if book.resets_at is not None and bool(book.used.any()):  # decay leaves the shares of all as they are
                yield book.resets_at
        elif limits is not None and (job.queued or job.id in limits.waiting):
            yield from _of_partitions(job, limits, book, period_s)


def _of_partitions(job: Job, limits: Limits, book: UsageBook, period_s: int) -> Iterator[float]:
    """Yield when usage lets `job` start in each of its partitions where it holds the job, and not for ever."""
    for partition, request in zip(job.partitions, job.requests, strict=True):
        claim = limits.counters.claim(job, partition)
        if claim is None:
            continue
        rules = [*claim.before, *claim.after]
        demand = limits.demand(job, partition, request)
        used = [rule for rule in rules if _is_used(rule)]
        rooms = [(rule, rule.most - rule.amount(demand)) for rule in used if rule.broken(demand)]
        broken = [_lifted(rule, room, book, period_s) for rule, room in rooms]
        # an allocation may break what the request does not: nothing changes before the limit counts a minute less
        shown = [_lifted(rule, _read(rule) - 1, book, period_s) for rule in used if rule.reason == job.reason]
        if (broken or shown) and not any(_always_breaks(rule, demand) for rule in rules):
            yield max(broken) if broken else min(shown)


def _lifted(rule: Rule, room: int, book: UsageBook, period_s: int) -> float:
    """Return when no more than `room` minutes count for `rule`, by decay or by the reset."""
    assert rule.gauge is not None
    reset = inf if book.resets_at is None else book.resets_at
    if room < 0 or not rule.gauge.decays():
        return reset
    rest = book.settles_at(rule.gauge.rate(), period_s)
    most, used = 60 * (room + 1), rule.gauge.used_s()
    if most <= rest:
        return reset
    left = min((most - rest) / (used - rest), 1.0) if used > most else 1.0
    return min(book.last + log(left) / log(book.factor), reset)


def _read(rule: Rule) -> int:
    return 0 if rule.gauge is None else rule.gauge.read()


def _is_used(rule: Rule) -> bool:
    """Return True if a used amount counts for `rule`, and there is one."""
    return rule.gauge is not None and rule.gauge.ledger is not None and rule.gauge.read() > 0


def _always_breaks(rule: Rule, demand: Demand) -> bool:
    """Return True if `demand` breaks `rule` on any nodes, also with nothing used."""
    amount = rule.amount(demand)
    counted = 0 if rule.gauge is None or _is_used(rule) else rule.gauge.read()
    return rule.sure and amount > 0 and amount + counted > rule.most
