"""Under event-driven policies: jobs inside their reservations start in order of priority, apart from the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.reservations.jobs import ReservationJobs
from slurmsim.core.scheduling.may_start import LICENSES, LIMITS, MAY, RESERVED
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.scheduling.may_start import StartTest
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay


class ReservedJobs:
    """Starts them."""

    def __init__(self, state: ControllerState, jobs: ReservationJobs, test: StartTest, runs: RunWay) -> None:
        self.state, self._jobs, self._test, self._runs = state, jobs, test, runs

    def serve(self) -> None:
        """Start what fits into its reservation, in order of priority; a job that does not fit blocks no other job."""
        jobs = self._jobs
        if not (jobs.serve_due or self.state.triggers.changed) or not jobs.inside:
            return
        jobs.serve_due = False
        for job in sorted(jobs.inside.values(), key=lambda job: (-job.priority, job.submit_time, job.id)):
            self._serve_one(job)

    def _serve_one(self, job: Job) -> None:
        test, state = self._test, self.state
        reason: str = Reason.RESOURCES
        for r in job.reservations:
            for partition, request in zip(job.partitions, job.requests, strict=True):
                record = Record(job, partition, request, job.priority, False, r)
                rule, text = test.refusal(record, RESERVED)
                if rule != MAY:
                    reason = text if rule in (LICENSES, LIMITS) else reason
                    continue
                reach = r.nodes & partition.mask if r.nodes else partition.mask
                if request.switches:
                    test.switch_wait.look(job)
                alloc, held = test.find(record, reach, job.time_limit_s, RESERVED)
                reason = held or reason
                if alloc is not None:
                    self._runs.start(record, alloc, "Reservation")
                    state.look_again()
                    return
        state.set_reason(job, reason)
