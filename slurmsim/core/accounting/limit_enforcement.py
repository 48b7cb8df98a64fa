"""Ending running jobs when their association or QOS has used up its minutes or its wall time.

Without AccountingStorageEnforce=safe a job is started while anything is left of GrpTRESMins and GrpWall. The scan for
overdue jobs, every 30 s, ends what runs (TIMEOUT) once they are used up, and a job that has itself used up its
MaxTRESMins. What is used grows when the priority thread runs and when jobs end, so the scan is asked for after those;
MaxTRESMins is a matter of time known at the start. Mirrors acct_policy_job_time_out and job_time_limit (22.05).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slurmsim.core.accounting.limit_counters import Held, LimitCounters
from slurmsim.core.accounting.limit_rules import Demand
from slurmsim.core.records.job import Job

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay


class LimitEnforcement:
    """The scan.

    Parameters
    ----------
    waiting
        Jobs held by limits outside the queue.
    """

    def __init__(
        self, state: ControllerState, runs: RunWay, counters: LimitCounters, waiting: Mapping[int, Job]
    ) -> None:
        self.state, self.runs = state, runs
        self.counters, self._waiting = counters, waiting
        self._kills = state.time_limits.enforced and not state.enforce.safe
        self._watched = 0  # running jobs that may be ended
        self.next_scan: int | None = None  # when they are to be looked at, None for never
        half_life, reset = state.spec.option("PriorityDecayHalfLife"), state.spec.option("PriorityUsageResetPeriod")
        self._recovers = bool(half_life) or reset not in ("NONE", "NOW")

    def began(self, job: Job, held: Held) -> None:
        """Take note that `job` has its allocation."""
        if self._kills and held.claim.over:
            self._watched += 1
            self._wake_for(job, held)

    def released(self, held: Held) -> None:
        """Take note that a job has given its allocation back."""
        if self._kills and held.claim.over:
            self._watched -= 1
        self.usage_changed()  # what it used may have been the last straw

    def usage_changed(self) -> None:
        """Test the running jobs at the next scan after now, as usage has grown or decayed."""
        if self._watched:
            self._look_from(self.state.now + 1)

    @property
    def wants_periods(self) -> bool:
        """True if runs of the priority thread can end a job, or let one start as what is used decays."""
        if self._watched or not (self._recovers and (self.state.queue.jobs or self._waiting)):
            return self._watched > 0
        ledgers = self.counters.spendable
        return any(
            ledger.used_wall_s >= 60 or any(used >= 60 for used in ledger.used_tres_s.values()) for ledger in ledgers
        )

    def _look_from(self, time: int) -> None:
        """Look at the first scan from `time` on."""
        due = self.state.time_limits.scan_after(max(time, self.state.now))
        self.next_scan = due if self.next_scan is None else min(self.next_scan, due)

    def _wake_for(self, job: Job, held: Held) -> None:
        """Note when MaxTRESMins will be over, which depends on nothing but time."""
        assert job.start_time is not None
        times = [-(-most // held.tres[i]) for i, most in held.claim.outruns if held.tres[i]]
        if times:
            self._look_from(job.start_time + 60 * min(times))

    def scan(self, now: int) -> None:
        """End the jobs that are to be ended, if it is time to look."""
        if self.next_scan is None or now < self.next_scan:
            return
        self.next_scan = None
        over: list[Job] = []
        for _, _, job in self.state.running:
            held = self.counters.held.get(job.id)
            if held is None or not held.claim.over:
                continue
            assert job.start_time is not None
            demand = Demand((now - job.start_time) // 60, True, held.tres, held.mask)
            if any(rule.broken(demand) for rule in held.claim.over):
                over.append(job)
            else:
                self._wake_for(job, held)
        self.runs.time_out(over)
