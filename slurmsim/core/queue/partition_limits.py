"""What partitions limit jobs to: asked at submission, and by every pass."""

from __future__ import annotations

from typing import Any, Final

from slurmsim.core.accounting.accounts import refusal
from slurmsim.core.placement.compiled_request import SETTLED
from slurmsim.core.queue.qos_flags import QosFlags
from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.core.records.partition import Partition
from slurmsim.core.state.controller_state import ControllerState
from slurmsim.errors import SubmitError
from slurmsim.states import Reason

_ENFORCED: Final[dict[str, str]] = {
    Reason.PARTITION_TIME_LIMIT: "Requested time limit is invalid (missing or exceeds some limit)",
    Reason.PARTITION_NODE_LIMIT: "Node count specification invalid",
    Reason.PARTITION_CONFIG: "More processors requested than permitted",
}


def by_tier(job: Job) -> list[tuple[Partition, Any]]:
    """Return the partitions and requests of `job`, those of the highest tier first (priority_sort_part_tier)."""
    pairs = list(zip(job.partitions, job.requests, strict=True))
    return pairs if len(pairs) == 1 else sorted(pairs, key=lambda pair: -pair[0].tier)


class PartitionLimits:
    """What keeps a job out of a partition."""

    def __init__(self, state: ControllerState, qos_flags: QosFlags) -> None:
        self.state, self._qos_flags = state, qos_flags

    def check_partition_limits(self, job: Job) -> None:
        """EnforcePartLimits: refuse what the limits of all its partitions, or of any, keep out. Raises SubmitError.

        A partition that starts nothing now has no limits but that of time (_part_access_check, _valid_job_part).
        """
        enforce = self.state.spec.option("EnforcePartLimits")
        if enforce == "NO":
            return
        pairs = list(zip(job.partitions, job.requests, strict=True))
        down = Reason.PARTITION_TIME_LIMIT if all(over_max_time(job, r) for r in job.requests) else None
        reasons = [self.limit_reason(job, p, r) if p.state == "UP" else down for p, r in pairs]
        reasons = [r if r in _ENFORCED else None for r in reasons]
        texts = [_text(p, request, r) for (p, request), r in zip(pairs, reasons, strict=True)]
        found = [text for text in texts if text is not None]
        if found and (enforce == "ALL" or len(found) == len(texts)):
            raise SubmitError(refusal(job, reasons) or found[0])
        over = [r.memory.refusal for r in job.requests if r.memory.over]
        if over and (enforce == "ALL" or len(over) == len(job.requests)):
            raise SubmitError(over[0])

    def set_time_limit(self, job: Job) -> bool:
        """Set the time limit asked for, or the default one; return False if there is neither."""
        spec = job.partition.spec
        asked = job.sub.time_limit_s
        if asked is None:
            asked = spec.default_time_s
        if asked is None:
            job.limit_fixed = False
            job.time_limit_s = self.time_limit(job, job.partition)
            return False
        job.limit_fixed = True
        # Slurm keeps whole minutes, rounded up; the literature's policies keep the second
        job.time_limit_s = asked if self.state.event_driven else max(-(-asked // 60) * 60, 60)
        return True

    def time_limit(self, job: Job, partition: Partition) -> int:
        """Return what the job may take in `partition`, seconds: its own limit, else MaxTime there."""
        if job.limit_fixed:
            return job.time_limit_s
        most = partition.spec.max_time_s
        return ONE_YEAR_S if most is None else most

    def limit_reason(self, job: Job, partition: Partition, request: Any, *, shortened: bool = False) -> str | None:
        """Return the partition limit that keeps `job` from starting there (job_scheduler.c job_limits_check), or None.

        With `shortened` only its minimum time (--time-min), where it has one, counts against MaxTime, as in backfill.
        """
        if len(job.partitions) > 1 and self._too_small(job, request):
            return Reason.PARTITION_NODE_LIMIT
        met = job.time_limit_s in request.limits_met
        if partition.state == "UP" and met and job.bars is None and not job.threshold:
            return None
        bar = None if job.bars is None else job.bars.get(partition.index)
        if bar is not None and bar.reason:
            return bar.reason
        too_long = False
        if partition.state not in _CLOSED:  # sizes and times count where jobs may start
            wrong = _wrong_size(partition, request)
            if wrong is not None:
                return wrong
            too_long = _exceeds(job, request)
            if too_long and not (shortened and job.time_min_s and job.time_min_s <= request.part_max_time_s):
                return Reason.PARTITION_TIME_LIMIT
        # accounts and QOS come last in _part_access_check, and only where limits are enforced; else select_nodes asks
        if bar is not None and self.state.spec.option("EnforcePartLimits") != "NO":
            return Reason.PARTITION_CONFIG
        if partition.state in _CLOSED:
            return _CLOSED[partition.state]
        if job.threshold and self._qos_flags.too_low(job):
            return Reason.QOS_USAGE_THRESHOLD
        if request.memory.over:
            return Reason.MAX_MEM_PER_LIMIT
        if partition.state == "UP" and not too_long and not job.sub.exempt:
            request.limits_met.add(job.time_limit_s)
        return None

    def listed(self, job: Job, *, shortened: bool = False) -> str | None:
        """Return what `job`, of several partitions, says once a queue has been built; None: what it said before.

        Each partition is asked by its turn, and the last one has the last word: its limit, or nothing where only
        others keep the job out (build_job_queue, job_limits_check).
        """
        held = [self.limit_reason(job, p, r, shortened=shortened) for p, r in by_tier(job)]
        return None if not any(held) else held[-1] or Reason.NONE

    def _too_small(self, job: Job, request: Any) -> bool:
        """Return True if a job asks one of its several partitions for fewer nodes than it gives (_part_access_check).

        What it did not say is the least any of them gives.
        """
        least = min(p.spec.min_nodes for p in job.partitions)
        return int(max(request.asked.min_nodes, least, 1)) < int(request.part_min_nodes)

    def keeps_out(self, job: Job, partition: Partition, request: Any, *, shortened: bool = False) -> str | None:
        """Return the partition limit or the bar that keeps `job` from ever starting there as things are, or None."""
        reason = self.limit_reason(job, partition, request, shortened=shortened)
        if reason is None and job.bars is not None and partition.index in job.bars:
            return job.bars[partition.index].text
        return reason

    def may_start(self, job: Job) -> tuple[bool, ...]:
        """Per partition of `job`: whether limits, state and the cluster as configured let it start there at all."""
        pairs = zip(job.partitions, job.requests, strict=True)
        return tuple([self.keeps_out(job, p, r) is None and self.state.selector.possible(r) for p, r in pairs])


_CLOSED: Final = {"DOWN": Reason.PARTITION_DOWN, "INACTIVE": Reason.PARTITION_INACTIVE}


def _text(partition: Partition, request: Any, reason: str | None) -> str | None:
    """Return why a submission to `partition` is refused, where that is enforced; None if it is not."""
    # asked behind what the partition could never give, before its limits on nodes and time (_part_access_check)
    never = reason == Reason.PARTITION_CONFIG or (partition.state == "UP" and request.min_nodes > partition.total_nodes)
    if not never and request.required & ~partition.mask:
        return "Requested nodes not in this partition"
    return None if reason is None else _ENFORCED[reason]


def _exceeds(job: Job, request: Any) -> bool:
    """Return True if the limit of `job` is longer than MaxTime of the partition, and no operator set it."""
    most = request.part_max_time_s
    return bool(most is not None and job.limit_fixed and job.time_limit_s > most and not _by_operator(job))


def _by_operator(job: Job) -> bool:
    """Return True if an operator set the time limit of `job`: it may be longer than MaxTime (ADMIN_SET_LIMIT)."""
    return "time" in job.sub.exempt.split(",")


def _wrong_size(partition: Partition, request: Any) -> str | None:
    """Return the limit on CPUs or nodes that a request breaks in `partition`, or None."""
    if request.asked_cpus > partition.total_cpus:
        return Reason.PARTITION_CONFIG
    each = request.max_cpus_per_node
    if each is not None and request.asked_cpus > each * partition.total_nodes:
        return Reason.PARTITION_CONFIG
    asked = request.asked
    least = asked.min_nodes if SETTLED in request.lifted else asked.max_nodes
    too_few = least and least < request.part_min_nodes
    most = request.part_max_nodes
    too_many = most is not None and max(asked.min_nodes, asked.max_nodes) > most
    if request.min_nodes > partition.total_nodes or too_few or too_many:
        return Reason.PARTITION_NODE_LIMIT
    return None


def over_max_time(job: Job, request: Any) -> bool:
    most, least = request.part_max_time_s, job.time_min_s or job.time_limit_s
    return most is not None and job.limit_fixed and least > most and not _by_operator(job)
