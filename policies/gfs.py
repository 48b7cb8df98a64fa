"""Spot jobs on a GPU cluster after GFS: a quota from predicted demand, and evictions that lose little work.

Jobs of the QOS or the partition that option `spot` names are *spot* jobs, all others have high priority.

1. *Demand.* Once an hour the GPUs that running and waiting high-priority jobs ask for are noted, by account, for 14
   days. The forecast for an hour to come is the demand of now plus what the account's daily cycle adds by then. It is
   normally distributed as it has missed so far; accounts are independent. `growth` is the quantile `confidence` of the
   sum less the demand of now, the largest over the hours of `guarantee`.
2. *Quota.* Spot jobs may hold eta (capacity - demand - growth) GPUs. Each hour eta falls by a tenth if more than
   `target` of the spot jobs that began in the last day were evicted, else it rises by a twentieth. It begins at 1 and
   is at most 4.
3. *Starts.* High-priority jobs start in queue order. For the first one that does not fit spot jobs are requeued: those
   that have had `guarantee` seconds before the others, and the least work lost first. No job is evicted without need.
   If that does not help, later high-priority jobs start only if they end before it could. Then spot jobs start
   in queue order as far as the quota goes. They delay no other job, because they can be evicted.

Where no node has GPUs CPUs are counted. Without forecast are ``quota=all``, with which spot jobs may have whatever is
free, and ``quota=0.2``, a fifth of all GPUs. Jobs without a limit count with one year. Jobs that no layout can describe
evict none (`JobUnits.refusal`).

Source: Duan et al., "GFS: A Preemption-aware Scheduling Framework for GPU Clusters with Predictive Spot Instance
Management", ASPLOS 2026, arXiv 2509.11134; its abstract, its introduction and a public review were at hand. From there:
forecasts by tenant with trend and cycle, their quantile, a quota that follows it and a guaranteed duration, evictions
that cost little. Ours: the numbers above, and the forecast itself; the paper's is a trained linear model (OrgLinear).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist, fmean
from typing import ClassVar

from slurmsim.bitmap import to_indices
from slurmsim.policy import (
    Decisions,
    JobUnits,
    JobView,
    LayoutsView,
    Policy,
    PolicyOption,
    Requeue,
    Start,
    Unit,
    WakeAt,
)
from slurmsim_policies.choices import whole

HOUR_S, DAY_H, DAYS = 3600, 24, 14
FORECAST, ALL = "forecast", "all"
FALL, RISE, LEAST_ETA, MOST_ETA = 0.9, 1.05, 0.1, 4.0
FOREVER = 1 << 62


def share(text: str) -> float:
    """Read a number between 0 and 1, neither of them. Raises ValueError."""
    number = float(text)
    if not 0 < number < 1:
        raise ValueError(text)
    return number


def quota(text: str) -> str:
    """Read a quota: ``forecast``, ``all`` or a share. Raises ValueError."""
    return text if text in (FORECAST, ALL) else str(share(text))


class Gfs(Policy):
    """High-priority jobs by queue order, spot jobs below a quota."""

    name = "gfs"
    summary = "spot jobs below a quota from predicted demand, evicted where that loses the least work (GPU clusters)"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "spot": PolicyOption(str, "spot", "the QOS or partition of spot jobs"),
        "guarantee": PolicyOption(whole(1, 7 * 86_400), HOUR_S, "seconds a spot job is meant to have, once it began"),
        "confidence": PolicyOption(share, 0.9, "quantile of the predicted demand that is kept free of spot jobs"),
        "target": PolicyOption(share, 0.1, "share of spot jobs that may be evicted before the quota shrinks"),
        "quota": PolicyOption(quota, FORECAST, "what spot jobs may have: forecast, all, or a share of all GPUs"),
    }
    STATE = ("history", "hour", "eta", "began", "evicted")

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self.history: dict[str, list[int]] = {}  # by account: demand of each of the last hours, all equally long
        self.hour = -1  # the last one noted
        self.eta = 1.0
        self.began: list[int] = []  # when spot jobs of the last day began, and were evicted
        self.evicted: list[int] = []
        self._known = (-1, 0.0)  # the hour of a forecast, and the forecast

    def schedule(self, view: LayoutsView, now: int) -> Decisions:
        """Note demand, start high-priority jobs, then spot jobs."""
        amounts = Amounts(view)
        waiting = list(view.pending)
        high = [job for job in waiting if not self._is_spot(job)]
        spot = [job for job in waiting if self._is_spot(job)]
        demand = self._demand([*high, *(job for job in view.running if not self._is_spot(job))], amounts)
        self._note(demand, now)
        yield from self._start_high(view, amounts, high, now)
        if spot:
            yield from self._start_spot(view, amounts, spot, sum(demand.values()), now)

    def _is_spot(self, job: JobView) -> bool:
        name: str = self.options["spot"]
        return job.qos == name or job.partition.name == name

    def _demand(self, jobs: Sequence[JobView], amounts: Amounts) -> dict[str, int]:
        """Return what high-priority jobs ask for, by account."""
        found: dict[str, int] = {}
        for job in jobs:
            found[job.account] = found.get(job.account, 0) + amounts.of(job)
        return found

    def _note(self, demand: Mapping[str, int], now: int) -> None:
        """Write down the demand of each hour up to this one, and adapt the quota to what was evicted."""
        hour = now // HOUR_S
        passed = min(hour - self.hour, DAYS * DAY_H) if self.hour >= 0 else 1
        if passed <= 0:
            return
        self.hour = hour
        length = len(next(iter(self.history.values()), ()))
        for account in {*self.history, *demand}:
            past = self.history.setdefault(account, [0] * length)
            past += [demand.get(account, 0)] * passed
            del past[: -DAYS * DAY_H]
        since = now - DAY_H * HOUR_S
        self.began, self.evicted = ([at for at in times if at > since] for times in (self.began, self.evicted))
        if len(self.evicted) > self.options["target"] * max(len(self.began), 1):
            self.eta = max(self.eta * FALL, LEAST_ETA)
        else:
            self.eta = min(self.eta * RISE, MOST_ETA)

    def _start_high(self, view: LayoutsView, amounts: Amounts, high: Sequence[JobView], now: int) -> Decisions:
        head = None
        shadow = FOREVER
        for job in high:
            if head is not None and now + job.expected_s > shadow:
                continue
            if (yield Start(job)) is not False or head is not None:  # it started, or a limit forbids it
                continue
            for victim in self._victims(view, amounts, job, now):
                if (yield Requeue(victim)):
                    self.evicted.append(now)
            if not (yield Start(job)):
                head = job
                earliest = view.earliest_start(job)
                shadow = FOREVER if earliest is None else earliest

    def _start_spot(
        self, view: LayoutsView, amounts: Amounts, spot: Sequence[JobView], demand: int, now: int
    ) -> Decisions:
        kind, most = self.options["quota"], amounts.capacity
        if kind == FORECAST:
            most = int(self.eta * max(amounts.capacity - demand - self.growth(), 0))
        elif kind != ALL:
            most = int(float(kind) * amounts.capacity)
        held = sum(amounts.of(job) for job in view.running if self._is_spot(job))
        for job in spot:
            need = amounts.of(job)
            if held + need <= most and (yield Start(job)):
                held += need
                self.began.append(now)
        yield WakeAt((now // HOUR_S + 1) * HOUR_S)

    def growth(self) -> float:
        """Return how much more than now high-priority jobs may ask for in the hours of the guarantee, as predicted."""
        if self._known[0] != self.hour:
            z = NormalDist().inv_cdf(self.options["confidence"])
            hours = -(-self.options["guarantee"] // HOUR_S)
            ahead = [self._ahead(k, z) for k in range(1, hours + 1)]
            self._known = self.hour, max(0.0, *ahead)
        return self._known[1]

    def _ahead(self, k: int, z: float) -> float:
        """Return the predicted growth in `k` hours: of the mean by the daily cycle, and `z` deviations."""
        mean = variance = 0.0
        for past in self.history.values():
            first = self.hour - len(past) + 1
            cycle = [fmean(same) if (same := past[(hour - first) % DAY_H :: DAY_H]) else 0.0 for hour in range(DAY_H)]
            if len(past) <= DAY_H:
                cycle = [0.0] * DAY_H  # no cycle can be told of one day
            grown = [cycle[(at + k) % DAY_H] - cycle[at % DAY_H] for at in range(first, self.hour + 1)]
            mean += grown[-1]
            missed = [(past[at + k] - past[at] - grown[at]) ** 2 for at in range(len(past) - k)]
            variance += fmean(missed) if missed else 0.0
        return mean + z * sqrt(variance)

    def _victims(self, view: LayoutsView, amounts: Amounts, job: JobView, now: int) -> list[JobView]:
        """Return the spot jobs to requeue so that `job` fits; none if that would not help."""
        units = view.units(job)
        spot = [other for other in view.running if self._is_spot(other)]
        if units.refusal or not spot:
            return []

        def loss(other: JobView) -> tuple[bool, int, int]:
            had = now - (other.start_time or now)
            return had < self.options["guarantee"], had * amounts.of(other), other.id

        return cheapest(Room(view, units), sorted(spot, key=loss))


def cheapest(room: Room, victims: Sequence[JobView]) -> list[JobView]:
    """Return the first of `victims` that make room for all units, without those that turn out not to be needed."""
    chosen: list[JobView] = []
    for victim in victims:
        if room.enough:
            break
        if room.give_back(victim, 1):
            chosen.append(victim)
    if not room.enough:
        return []
    for victim in reversed(chosen[:-1]):
        room.give_back(victim, -1)
        if room.enough:
            chosen.remove(victim)
        else:
            room.give_back(victim, 1)
    return chosen


class Room:
    """The nodes that may hold units of a job, and what of each is free."""

    def __init__(self, view: LayoutsView, units: JobUnits) -> None:
        self.view, self.units = view, units
        up = 0
        for pool in view.pools:
            up |= pool.available()
        self.full = {node: _vector(view.capacities()[node]) for node in to_indices(units.nodes & up)}
        self.free = {node: dict(full) for node, full in self.full.items()}
        for job in (*view.running, *view.suspended):
            self._move(job, -1)
        self.hosted = {node: self._fits(node) for node in self.free}

    @property
    def enough(self) -> bool:
        """True if all units have room."""
        return sum(self.hosted.values()) >= self.units.count

    def give_back(self, job: JobView, sign: int) -> bool:
        """Take `job` off its nodes (1), or put it back (-1); return whether it is on any of them."""
        touched = self._move(job, sign)
        for node in touched:
            self.hosted[node] = self._fits(node)
        return bool(touched)

    def _move(self, job: JobView, sign: int) -> list[int]:
        touched = []
        for holding in self.view.holdings(job):
            if (free := self.free.get(holding.node)) is not None:
                touched.append(holding.node)
                for name, amount in _vector(holding.total).items():
                    free[name] = free.get(name, 0) + sign * amount
        return touched

    def _fits(self, node: int) -> int:
        free, units = self.free[node], self.units
        if units.whole:
            return int(free == self.full[node])
        counts = [free.get(name, 0) // amount for name, amount in _vector(units.unit).items() if amount]
        most = min([*counts, units.count])
        return max(min(most, units.per_node) if units.per_node else most, 0)


class Amounts:
    """GPUs of jobs and of the cluster; CPUs where it has no GPUs."""

    def __init__(self, view: LayoutsView) -> None:
        self._view = view
        capacities = view.capacities()
        self._gpus = any(_gpus(unit) for unit in capacities)
        self.capacity = sum(self._one(unit) for unit in capacities)
        self._known: dict[int, int] = {}

    def of(self, job: JobView) -> int:
        """Return what `job` holds or asks for."""
        found = self._known.get(job.id)
        if found is None:
            found = self._known[job.id] = self._of(job)
        return found

    def _of(self, job: JobView) -> int:
        if job.start_time is not None:
            return sum(self._one(holding.total) for holding in self._view.holdings(job))
        units = self._view.units(job)
        return units.count * self._one(units.unit) if not units.refusal else 0 if self._gpus else job.n_cpus

    def _one(self, unit: Unit) -> int:
        return _gpus(unit) if self._gpus else unit.cpus


def _gpus(unit: Unit) -> int:
    return sum(count for name, count in unit.gres if name == "gpu" or name.startswith("gpu:"))


def _vector(unit: Unit) -> dict[str, int]:
    return {"cpu": unit.cpus, "mem": unit.mem_mib, **dict(unit.gres)}
