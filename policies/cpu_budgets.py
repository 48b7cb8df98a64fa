"""How many CPU-hours a user may hold, and who of a queue stays within that.

A user *holds* CPUs x the rest of the time limit of each running job. Everything here is in CPU-seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from slurmsim.data_classes import dataclass
from slurmsim.policy import JobView, PoolsView, RecordView


@dataclass(frozen=True, slots=True)
class Limit:
    """What a user may hold."""

    amount: float  # CPU-hours, or if `shared` a multiple of an even share; infinity: no limit
    # the even share is what the whole cluster gives in some hours, over the number of users in the queue
    shared: bool = False

    @classmethod
    def parse(cls, text: str) -> Limit:
        """``500``, ``0.5x`` or ``inf``. Raises ValueError."""
        number = text.removesuffix("x")
        amount = float(number)
        if math.isnan(amount) or amount < 0:
            raise ValueError(text)
        return cls(amount, number != text and math.isfinite(amount))

    def __str__(self) -> str:
        return f"{self.amount:g}{'x' if self.shared else ''}"

    @property
    def infinite(self) -> bool:
        """True if it limits no user."""
        return math.isinf(self.amount)

    def cpu_seconds(self, even_share: float) -> float:
        """Return the limit in CPU-seconds, given the even share; CPU-hours come to the nearest second."""
        if self.shared or self.infinite:
            return self.amount * even_share
        return round(self.amount * 3600)


class NamedLimits(dict[str, Limit]):
    """Limits of users, or of accounts."""

    @classmethod
    def parse(cls, text: str) -> NamedLimits:
        """``ann=500+bob=inf``. Raises ValueError."""
        found = cls()
        for item in text.split("+"):
            name, equals, limit = item.partition("=")
            if not name or not equals or name in found:
                raise ValueError(item)
            found[name] = Limit.parse(limit)
        return found

    def __str__(self) -> str:
        return "+".join(f"{name}={limit}" for name, limit in self.items()) or "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limit of each user: the user's own if there is one, else the account's, else the general one."""

    general: Limit
    users: NamedLimits
    accounts: NamedLimits
    hours: float  # an even share is CPUs of the cluster x `hours` / users in the queue

    @property
    def none(self) -> bool:
        """True if no user or account is limited."""
        return all(limit.infinite for limit in (self.general, *self.users.values(), *self.accounts.values()))

    def of(self, job: JobView) -> Limit:
        """Return the limit `job` counts against."""
        own = self.users.get(job.user)
        return own if own is not None else self.accounts.get(job.account, self.general)


class Budgets:
    """What users hold at one instant, and what a pass adds to it.

    Parameters
    ----------
    records
        The queue: each user in it gets an even share.
    now
        Seconds.
    """

    def __init__(self, limits: Limits, view: PoolsView, records: Iterable[RecordView], now: int) -> None:
        self._limits = limits
        self._special = bool(limits.users or limits.accounts)
        self.now = now
        self.holds: dict[str, int] = {}
        self._running = view.running
        for job in self._running:
            if job.end_limit is not None and job.end_limit > now:
                self.holds[job.user] = self.holds.get(job.user, 0) + job.n_cpus * (job.end_limit - now)
        users = len({record.job.user for record in records})
        self._share = view.n_cpus * limits.hours * 3600 / max(users, 1)
        self._general = limits.general.cpu_seconds(self._share)
        self._charged: set[int] = set()

    def room(self, record: RecordView) -> float:
        """Return what would be left of the user's limit beside the record's job; negative if it is over the limit.

        Infinite for a user who holds nothing: one job, however large, is never too much.
        """
        job = record.job
        holds = self.holds.get(job.user, 0)
        if not holds or job.id in self._charged:
            return math.inf
        limit = self._limits.of(job).cpu_seconds(self._share) if self._special else self._general
        return limit - holds - record.n_cpus * job.time_limit_s

    def admits(self, record: RecordView) -> bool:
        """Return True if the record's job is within its user's limit."""
        return self.room(record) >= 0

    def charge(self, record: RecordView) -> None:
        """Charge the user for the record's job, which starts or keeps a planned start. Counts a job once."""
        job = record.job
        if job.id not in self._charged:
            self._charged.add(job.id)
            self.holds[job.user] = self.holds.get(job.user, 0) + record.n_cpus * job.time_limit_s

    def over(self, records: Sequence[RecordView], *, first_only: bool = False) -> list[tuple[RecordView, float]]:
        """Of `records`, walked in order, those not within the limit, with their (negative) room.

        Charges the others, who all get a planned start; with `first_only` the first of them alone does.
        """
        found, charged = [], False
        for record in records:
            room = self.room(record)
            if room < 0:
                found.append((record, room))
            elif not (first_only and charged):
                self.charge(record)
                charged = True
        return found

    def release(self, over: Iterable[tuple[RecordView, float]]) -> int | None:
        """Return the first second at which time alone lets one of `over` in: running jobs use their limits up.

        None where none of them gets in before all its user's jobs have reached their limits.
        """
        closest: dict[str, float] = {}
        for record, room in over:
            user = record.job.user
            closest[user] = max(room, closest.get(user, -math.inf))
        if not closest:
            return None
        jobs: dict[str, list[tuple[int, int]]] = {user: [] for user in closest}
        for job in self._running:
            if job.user in jobs and job.end_limit is not None and job.end_limit > self.now:
                jobs[job.user].append((job.end_limit, job.n_cpus))
        return min((t for user, room in closest.items() if (t := self._run_off(jobs[user], -room))), default=None)

    def _run_off(self, jobs: list[tuple[int, int]], amount: float) -> int | None:
        """Return when `jobs`, (end by limit, CPUs) by end, have used up so many CPU-seconds of what they hold now."""
        at, rate = self.now, sum(cpus for _, cpus in jobs)
        for end, cpus in jobs:
            if rate * (end - at) >= amount:
                return at + math.ceil(amount / rate)
            amount -= rate * (end - at)
            at, rate = end, rate - cpus
        return None
