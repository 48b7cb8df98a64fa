"""What is done to a job that has to make way, and to which jobs it is done (PreemptMode, 22.05)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Kill
from slurmsim.core.records.partition import Partition
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

OFF, CANCEL, REQUEUE, SUSPEND = "OFF", "CANCEL", "REQUEUE", "SUSPEND"
_MODES: Final = (CANCEL, REQUEUE, SUSPEND)


def mode_of(words: frozenset[str]) -> str:
    """Return what words of a PreemptMode do to a victim; GANG, WITHIN and PRIORITY alone do nothing."""
    return next((word for word in _MODES if word in words), OFF)


class PreemptModes:
    """Modes of the cluster, its partitions and QOS."""

    def __init__(self, state: ControllerState, runs: RunWay) -> None:
        self.state, self._runs = state, runs
        option = state.spec.option
        self.by_qos = option("PreemptType") == "preempt/qos"
        self._exempt_s: int | None = option("PreemptExemptTime")
        self._cluster_mode = mode_of(frozenset(option("PreemptMode")))
        self._part_modes: list[str | None] = [None] * len(state.partitions)
        for p in state.partitions:
            self.learn(p)

    def learn(self, p: Partition) -> None:
        """Take over the PreemptMode that partition `p` has now."""
        own = frozenset(word.strip() for word in p.spec.preempt_mode.split(",")) - {""}
        if not self.by_qos:
            self._part_modes[p.index] = None if not own else "GANG" if own == {"GANG"} else mode_of(own)

    def partition_added(self, partition: Partition) -> None:
        """Take in a partition that was made while the cluster runs."""
        self._part_modes.append(None)
        self.learn(partition)

    def mode(self, job: Job) -> str:
        """Return what is done to `job` when it has to go."""
        if self.by_qos:
            own = frozenset(job.qos_spec.preempt_mode.upper().split(",")) if job.qos_spec is not None else frozenset()
            own -= {"", "OFF", "CLUSTER", "GANG"}  # OFF is what sacctmgr calls the cluster's mode, too
            return mode_of(own) if own else self._cluster_mode
        mode = self._part_modes[job.partition.index]
        return self._cluster_mode if mode is None else OFF if mode == "GANG" else mode

    def exempt_until(self, job: Job) -> int:
        """When running `job` may be preempted: PreemptExemptTime of the QOS that comes first, else the cluster's."""
        assert job.start_time is not None
        first, second = job.part_qos, job.qos_spec
        if second is not None and "OverPartQOS" in second.flags:
            first, second = second, first
        for qos in (first, second):
            if qos is not None and qos.preempt_exempt_time_s is not None:
                return job.start_time + qos.preempt_exempt_time_s
        return job.start_time + (self._exempt_s or 0)

    def shares_later(self, job: Job) -> bool:
        """Return True if `job` has its CPUs to itself for its exempt time, which it would have to share by turns."""
        if not self._exempt_s or not self.state.rules.exempt_from_turns or job.state != JobState.RUNNING:
            return False
        return self.mode(job) == "SUSPEND" and self.exempt_until(job) > self.state.now

    def protected(self, index: int) -> bool:
        """Return True if partition `index` has PreemptMode=OFF: its jobs are never preempted."""
        return self._part_modes[index] == OFF

    def end(self, job: Job) -> None:
        """End the preempted `job` now: requeue it if its mode says so and it may be requeued."""
        if self.mode(job) == REQUEUE and self._runs.may_requeue(job):
            self._runs.requeue(job, JobState.PREEMPTED)
            return
        job.exit_code = "0:15"
        self.state.actions.append(Kill(job))
        self._runs.finish(job, JobState.PREEMPTED, Reason.NONE)
