"""Job priority: priority/basic and priority/multifactor with all its factors.

Mirrors src/plugins/priority (22.05). What fair share rests on is in `accounting`: `fairshare` and `usage_decay`; when
priorities are recalculated, in `recalculation`. Equations: docs/rules/fair-share.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slurmsim.core.accounting.fairshare import Classic, FairTree
from slurmsim.core.records.job import ONE_YEAR_S, Job

if TYPE_CHECKING:
    from slurmsim.core.accounting.usage_decay import UsageBook
    from slurmsim.core.records.billing import Billing
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.cluster import ClusterSpec

FIRST_BASIC_PRIORITY: Final = 4_294_901_759  # 0xFFFEFFFF, what the first job of a priority/basic cluster gets
MAX_PRIORITY: Final = 2**32 - 1
UNLIMITED_MIN: Final = 2**32 - 1  # a time limit of UNLIMITED as slurmctld keeps it


class Basic:
    """priority/basic: each job gets one less than the lowest handed out so far, minus nice."""

    period_s: int | None = None

    def __init__(self) -> None:
        self._next = FIRST_BASIC_PRIORITY
        self._array: tuple[int | None, int] = (None, 0)  # array and instant of the last submission

    def submit(self, job: Job, now: int) -> tuple[int, ...]:
        if job.sub.priority is not None:
            value = job.sub.priority
        else:
            if job.sub.array_task_id is None or self._array != (job.array_key, now):
                self._next -= 1  # the tasks of an array are one submission
            self._array = (job.sub.array_job_id, now)
            value = self._next + 1 - job.sub.nice
        value = max(1, min(value, MAX_PRIORITY))
        return (value,) * len(job.partitions)

    def recalculate(self, job: Job, now: int) -> tuple[int, ...]:
        return (job.priority,) * len(job.partitions)


class Multifactor:
    """priority/multifactor: floor of the weighted factors minus nice, at least 1.

    Age and fair share count only where slurmdbd is configured, as in Slurm: without it PriorityWeightAge and
    PriorityWeightFairshare are ignored and priorities are never recalculated (in 22.05). With it they are, every
    PriorityCalcPeriod. Fair share needs associations besides; a job without one has factor 0.

    Parameters
    ----------
    always
        Priorities are recalculated without slurmdbd as well (24.11).
    """

    def __init__(
        self, cluster: ClusterSpec, partitions: list[Partition], total_cpus: int, billing: Billing, always: bool = False
    ) -> None:
        option = cluster.option
        flags = {f.upper() for f in option("PriorityFlags")}
        with_dbd = option("AccountingStorageType") == "accounting_storage/slurmdbd"
        self.w_age = option("PriorityWeightAge") if with_dbd else 0
        self.w_fairshare = option("PriorityWeightFairshare") if with_dbd else 0
        self.w_assoc = option("PriorityWeightAssoc")
        self.w_size = option("PriorityWeightJobSize")
        self.w_partition = option("PriorityWeightPartition")
        self.w_qos = option("PriorityWeightQOS")
        self.max_age = option("PriorityMaxAge") or 1
        self.period_s: int | None = option("PriorityCalcPeriod") if with_dbd or always else None
        self.favor_small = bool(option("PriorityFavorSmall"))
        self.relative_to_time = "SMALL_RELATIVE_TO_TIME" in flags
        self.accrue_always = "ACCRUE_ALWAYS" in flags
        self.limited_accrual = False
        self.increase_only = "INCR_ONLY" in flags
        self.running_too = "CALCULATE_RUNNING" in flags
        self.n_nodes, self.n_cpus = len(cluster.nodes), total_cpus
        raw = {kind: bool(flags & {f"NO_NORMAL_{kind}", "NO_NORMAL_ALL"}) for kind in ("PART", "QOS", "ASSOC", "TRES")}
        self._raw_part = raw["PART"]
        self.part_factor: list[float] = []
        self._raw_qos, self._raw_assoc, self._raw_tres = raw["QOS"], raw["ASSOC"], raw["TRES"]
        self._billing = billing
        weights = option("PriorityWeightTRES") or ()
        self.w_tres: tuple[tuple[str, float], ...] = tuple((name, weight) for name, weight in weights if weight)
        # nothing weighs anything: all jobs without nice or a priority of their own have the least
        self._alike = not any((self.w_age, self.w_fairshare, self.w_assoc, self.w_size, self.w_partition, self.w_qos))
        self._alike = self._alike and not self.w_tres
        self._capacity: list[dict[str, int]] = []
        self._qos_factor: Mapping[str, float] = {}
        self._assoc_factor: list[float] = []
        self.shares: FairTree | Classic | None = None
        self._book: UsageBook | None = None
        self.weigh_partitions(partitions)

    def weigh_partitions(self, partitions: list[Partition]) -> None:
        """Work out what follows from the partitions: their factors, the highest of which is 1, and their TRES."""
        highest = max((p.spec.priority_job_factor for p in partitions), default=1) or 1
        self.part_factor = [p.spec.priority_job_factor / (1 if self._raw_part else highest) for p in partitions]
        self._capacity = [self._billing.capacity(p) for p in partitions] if self.w_tres else []

    def use(self, book: UsageBook, shares: FairTree | Classic) -> None:
        """There are associations: their priorities and those of QOS count, and their fair share."""
        tree = book.tree
        highest = 1 if self._raw_qos else max((q.priority for q in tree.qos.values()), default=0) or 1
        self._qos_factor = {name: qos.priority / highest for name, qos in tree.qos.items()}
        own = [next((b.spec.priority for b in branch.path if b.spec.priority is not None), 0)
               for branch in tree.branches]  # fmt: skip
        highest = 1 if self._raw_assoc else max(own, default=0) or 1
        self._assoc_factor = [priority / highest for priority in own]
        self._book, self.shares = book, shares

    # -- factors ----------------------------------------------------------------------------------------------------

    def size_factor(self, job: Job, tried: int | None = None) -> float:
        """(nodes/N + cpus/C)/2, or Slurm's other two definitions (PriorityFavorSmall, SMALL_RELATIVE_TO_TIME).

        `tried` are the CPUs a test has found, if not those of today.
        """
        found = job.tried_cpus if tried is None else tried
        n = job.nodes_asked  # also of one that runs
        c = job.n_cpus if job.alloc is not None else found or job.n_cpus
        if self.relative_to_time:
            minutes = max(job.time_limit_s // 60, 1) if job.time_limit_s < ONE_YEAR_S else UNLIMITED_MIN
            value = max(n * self.n_cpus / self.n_nodes, c) / minutes / self.n_cpus
            if self.favor_small:
                value = 1.0 - value
        elif self.favor_small:
            value = ((self.n_nodes - n) / self.n_nodes + (self.n_cpus - c) / self.n_cpus) / 2
        else:
            value = (n / self.n_nodes + c / self.n_cpus) / 2
        return min(max(value, 0.0), 1.0)

    def age_factor(self, job: Job, now: int) -> float:
        """Time since the job began to accrue age over PriorityMaxAge, at most 1."""
        since = self.accrued_since(job)
        return min(1.0, max(0, now - since) / self.max_age) if since is not None else 0.0

    def accrued_since(self, job: Job) -> int | None:
        """Return when `job` began to accrue age; None before."""
        if self.accrue_always:
            return job.submit_time
        if self.limited_accrual or job.accrue_time is not None:
            return job.accrue_time
        return job.eligible_time

    def assoc_factor(self, job: Job) -> float:
        """Priority of the job's association (or of the next account above that has one) over the highest of all."""
        return self._assoc_factor[job.branch.row] if job.branch is not None and self._assoc_factor else 0.0

    def fairshare_factor(self, job: Job) -> float:
        """Fair share of the job's association; 0 without one."""
        if job.branch is None or self.shares is None or self._book is None:
            return 0.0
        return self.shares.factor(job.branch.row, self._book.used)

    def tres_sum(self, job: Job, at: int) -> float:
        """Σ weight × (TRES of the job over those of its partition number `at`); allocated TRES once it runs."""
        billing, partition = self._billing, job.partitions[at]
        counts = billing.allocated(job.alloc) if job.alloc is not None else billing.requested(job, job.requests[at])
        if any(name == "billing" for name, _ in self.w_tres):
            counts["billing"] = int(billing.bill(counts, partition.spec.tres_billing_weights))
        capacity = self._capacity[partition.index]
        total = 0.0
        for name, weight in self.w_tres:
            value = counts.get(name, 0)
            if self._raw_tres:
                total += value * weight
            elif value and capacity.get(name):
                total += value / capacity[name] * weight
        return total

    def tres_terms(self, job: Job, at: int) -> dict[str, float]:
        """Return the terms of `tres_sum` by name, those that are 0 left out."""
        found = {}
        every = self.w_tres
        for one in every:
            self.w_tres = (one,)
            value = self.tres_sum(job, at)
            if value:
                found[one[0]] = value
        self.w_tres = every
        return found

    def weighted(
        self, job: Job, at: int = 0, tried: int | None = None
    ) -> tuple[float, float, float, float, float, float]:
        """Return the weighted factors that do not change while the job waits.

        They are association, size, partition, QOS, TRES, and nice less the site factor.

        `at` is the place of the partition among the job's; `tried` as in `size_factor`.
        """
        return (
            self.w_assoc * self.assoc_factor(job) if self.w_assoc else 0.0,
            self.w_size * self.size_factor(job, tried) if self.w_size else 0.0,
            self.w_partition * self.part_factor[job.partitions[at].index],
            self.w_qos * self._qos_factor.get(job.qos, 0.0) if self.w_qos else 0.0,
            self.tres_sum(job, at) if self.w_tres else 0.0,
            float(job.sub.nice - job.sub.site_factor),
        )

    # -- priorities -------------------------------------------------------------------------------------------------

    def submit(self, job: Job, now: int) -> tuple[int, ...]:
        return self.recalculate(job, now)

    def recalculate(self, job: Job, now: int) -> tuple[int, ...]:
        if job.sub.priority is not None:
            return (job.sub.priority,) * len(job.partitions)
        if self._alike and job.sub.nice == job.sub.site_factor:
            return (1,) * len(job.partitions)
        age = self.w_age * self.age_factor(job, now) if self.w_age else 0.0
        fairshare = self.w_fairshare * self.fairshare_factor(job) if self.w_fairshare else 0.0
        if len(job.partitions) == 1:
            assoc, size, part, qos, tres, nice = self.weighted(job)
            return (as_priority(age + assoc + fairshare + size + part + qos + tres - nice),)
        values = []
        for at in range(len(job.partitions)):
            assoc, size, part, qos, tres, nice = self.weighted(job, at)
            values.append(as_priority(part + (age + assoc + fairshare + size + qos + tres - nice)))
        return tuple(values)

    def of_running(self, job: Job, now: int) -> int:
        """Priority of a running job in its partition (PriorityFlags=CALCULATE_RUNNING)."""
        return self.recalculate(job, now)[job.partitions.index(job.partition)]


def as_priority(value: float) -> int:
    """Return a sum of factors as the priority it makes: whole, at least 1, at most 2^32 - 1."""
    return max(1, min(int(value), MAX_PRIORITY))


def make_priority(
    cluster: ClusterSpec, partitions: list[Partition], total_cpus: int, billing: Billing, always: bool = False
) -> Basic | Multifactor:
    """Return the plugin PriorityType names."""
    if cluster.option("PriorityType") == "priority/multifactor":
        return Multifactor(cluster, partitions, total_cpus, billing, always)
    return Basic()
