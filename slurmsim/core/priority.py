"""Job priority: priority/basic and priority/multifactor (age, job size, partition, QOS, nice).

Mirrors src/plugins/priority (22.05). Factors this milestone does not model (fair share, association, TRES, site)
are refused by the configuration, not here.
"""

from __future__ import annotations

from typing import Any, Protocol

from slurmsim.core.job import Job
from slurmsim.core.partitions import Partition
from slurmsim.model.cluster import ClusterSpec

FIRST_BASIC_PRIORITY = 4_294_901_759  # 0xFFFEFFFF, what the first job of a priority/basic cluster gets
MAX_PRIORITY = 2**32 - 1


class PriorityPlugin(Protocol):
    """What the controller asks. `period_s` None means priorities never change by themselves."""

    period_s: int | None

    def submit(self, job: Job, now: int) -> tuple[int, ...]:
        """Priorities of a job that just arrived (or was released), one per partition."""

    def recalculate(self, job: Job, now: int) -> tuple[int, ...]:
        """Priorities now of a job that has been there."""


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

    Age counts only where slurmdbd is configured, as in Slurm: without it PriorityWeightAge is ignored and
    priorities are never recalculated. With it they are, every PriorityCalcPeriod.
    """

    def __init__(self, cluster: ClusterSpec, partitions: list[Partition], total_cpus: int) -> None:
        option = cluster.option
        flags = {f.upper() for f in option("PriorityFlags")}
        with_dbd = option("AccountingStorageType") == "accounting_storage/slurmdbd"
        self.w_age = option("PriorityWeightAge") if with_dbd else 0
        self.w_size = option("PriorityWeightJobSize")
        self.w_partition = option("PriorityWeightPartition")
        self.max_age = option("PriorityMaxAge") or 1
        self.period_s: int | None = option("PriorityCalcPeriod") if with_dbd else None
        self.favor_small = bool(option("PriorityFavorSmall"))
        self.relative_to_time = "SMALL_RELATIVE_TO_TIME" in flags
        self.accrue_always = "ACCRUE_ALWAYS" in flags
        self.increase_only = "INCR_ONLY" in flags
        self.n_nodes, self.n_cpus = len(cluster.nodes), total_cpus
        highest = max((p.spec.priority_job_factor for p in partitions), default=1) or 1
        raw = bool(flags & {"NO_NORMAL_PART", "NO_NORMAL_ALL"})
        # nothing weighs anything: all jobs without nice or a priority of their own have the least
        self._alike = not (self.w_age or self.w_size or self.w_partition)
        self.part_factor = [p.spec.priority_job_factor / (1 if raw else highest) for p in partitions]

    def size_factor(self, job: Job) -> float:
        """(nodes/N + cpus/C)/2, or Slurm's other two definitions (PriorityFavorSmall, SMALL_RELATIVE_TO_TIME)."""
        n, c = job.n_nodes, job.n_cpus
        if self.relative_to_time:
            minutes = max(job.time_limit_s // 60, 1)
            value = max(n * self.n_cpus / self.n_nodes, c) / minutes / self.n_cpus
            return 1.0 - value if self.favor_small else value
        if self.favor_small:
            return ((self.n_nodes - n) / self.n_nodes + (self.n_cpus - c) / self.n_cpus) / 2
        return (n / self.n_nodes + c / self.n_cpus) / 2

    def submit(self, job: Job, now: int) -> tuple[int, ...]:
        return self.recalculate(job, now)

    def recalculate(self, job: Job, now: int) -> tuple[int, ...]:
        sub = job.sub
        if sub.priority is not None:
            return (sub.priority,) * len(job.partitions)
        if self._alike and not sub.nice:
            return (1,) * len(job.partitions)
        common: float = -sub.nice
        if self.w_age:
            since = job.submit_time if self.accrue_always else job.eligible_time
            if since is not None:
                common += self.w_age * min(1.0, max(0, now - since) / self.max_age)
        if self.w_size:
            common += self.w_size * self.size_factor(job)
        values = []
        for partition in job.partitions:
            value = int(common + self.w_partition * self.part_factor[partition.index])
            values.append(max(1, min(value, MAX_PRIORITY)))
        return tuple(values)


def make_priority(cluster: ClusterSpec, partitions: list[Partition], total_cpus: int) -> Any:
    """The plugin PriorityType names."""
    if cluster.option("PriorityType") == "priority/multifactor":
        return Multifactor(cluster, partitions, total_cpus)
    return Basic()
