"""Predicted run times: asked for when a job comes into the queue, corrected while it runs, learned from when it ends.

The limit of a job stays what it asked for. A prediction is what plans are made with (`Job.expected_s`), never more than
the limit. It is made once. If a job runs longer than predicted, an increment is added to the prediction: first 1
minute, then 5, 15 and 30 minutes, then 1, 2, 5, 10, 20, 50 and 100 hours. After that the limit counts. The increment is
a function of how long the job has run.

Source: Tsafrir, Etsion and Feitelson, "Backfilling Using System-Generated Predictions Rather than User Runtime
Estimates", IEEE TPDS 18(6), 2007; the list of increments as Gaussier et al. (SC 2015) published it in their simulator,
each counted from the first prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.observer import Observer
from slurmsim.errors import PolicyError, SlurmSimError
from slurmsim.policy import Estimate, Predictor
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState

UNKNOWN_S: Final = 1 << 40  # of a job nothing is known of: as long as its limit
_TELLS_NOTHING: Final = frozenset({JobState.NODE_FAIL, JobState.PREEMPTED})


class Predictions(Observer):
    """Asks the policy's predictor, and tells it of ends."""

    def __init__(self, state: ControllerState, predictor: Predictor, shown: Callable[[Job], Any] | None = None) -> None:
        self.state, self.predictor = state, predictor
        self._shown: Callable[[Job], Any] = shown or (lambda job: job)  # a job as the predictor may see it
        # seconds the job of an id will run, -1 where that is open: what a simulation knows and hands to an oracle
        self.run_time_of: Callable[[int], int] | None = None

    def consider(self, job: Job) -> None:
        """Take note that `job` comes into the queue, perhaps not for the first time."""
        if job.predicted_s is None:
            found = self._oracle(job) if self.predictor.oracle else self._asked(job)
            job.predicted_s = UNKNOWN_S if found is None else found

    def _oracle(self, job: Job) -> int | None:
        if self.run_time_of is None:
            raise self._wrong("knows real run times, which only a simulation can tell it")
        run_time = self.run_time_of(job.id)
        return None if run_time < 0 else run_time

    def _asked(self, job: Job) -> int | None:
        try:
            ask: Any = self.predictor  # a stranger's may answer anything
            found = ask.predict(self._shown(job), self.state.now)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        if found is None:
            return None
        if type(found) is not int or found < 0:
            raise self._wrong(f"predicts {found!r} for job {job.id} (expected whole seconds, or None)")
        return min(found, UNKNOWN_S)

    def estimate(self, job: Job) -> Estimate | None:
        """Return what the predictor says of the run time of `job` as an interval; None if it says nothing."""
        if self.predictor.oracle:
            told = self._oracle(job)
            return None if told is None else Estimate(told, told, told)
        try:
            ask: Any = self.predictor
            found = ask.estimate(self._shown(job), self.state.now)
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        if found is None:
            return None
        if not isinstance(found, Estimate) or not _ascends(found):
            expected = "expected an Estimate of whole seconds, ascending"
            raise self._wrong(f"estimates {found!r} for job {job.id} ({expected})")
        return found

    def gone(self, job: Job) -> None:
        """Let the predictor learn from a job that has run, whether it ended by itself or was ended."""
        if job.alloc is None or job.start_time is None or job.state in _TELLS_NOTHING or self.predictor.oracle:
            return
        now = self.state.now
        try:
            self.predictor.ended(self._shown(job), now, max(0, now - job.start_time - job.suspended_s))
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error

    def correct(self, now: int) -> None:
        """Predictions that have proved too short by `now` become longer; plans are made anew then."""
        overdue = self.state.holders.expectations().overdue(now)
        for job in overdue:
            while (job.expected_end or now) <= now and job.expected_s < job.time_limit_s:
                job.corrections += 1
        if overdue:
            self.state.changed()

    def next_time(self) -> int | None:
        """Return the time at which the next prediction proves too short; None while no job waits."""
        return self.state.holders.expectations().first_correction if self.state.queue.jobs else None

    def _broken(self, error: BaseException) -> SlurmSimError:
        if isinstance(error, SlurmSimError):
            return error
        return self._wrong(f"{type(error).__name__}: {' '.join(str(error).split())}")

    def _wrong(self, text: str) -> PolicyError:
        return PolicyError(self.state.policy.name, f"predictor {self.predictor.name}: {text}")


def _ascends(found: Estimate) -> bool:
    """Return True if an estimate has whole seconds from 0 on that ascend."""
    ends: tuple[Any, ...] = (found.low_s, found.median_s, found.high_s)
    return all(type(end) is int for end in ends) and 0 <= ends[0] <= ends[1] <= ends[2]
