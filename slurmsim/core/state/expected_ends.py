"""When running jobs are expected to end, where a predictor says so."""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.core.records.job import Job

Entry = tuple[int, int, Job]


class ExpectedEnds:
    """The running jobs by expected end. They are sorted again when they have changed and are read."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []  # (expected end, id, job), ascending
        # when the first prediction will have proved too short; None for never: a limit is not corrected
        self.first_correction: int | None = None
        self._change = -1

    def after(self, change: int, running: Sequence[Entry]) -> ExpectedEnds:
        """Itself, up to date: `running` as they are since the change of that number. O(n log n) for each change."""
        if self._change == change:
            return self
        self._change = change
        self.entries = found = []
        first: int | None = None
        for end, job_id, job in running:
            expected_s = job.expected_s
            if job.predicted_s is not None:  # as `Job.expected_end`, which would work out the seconds once more
                assert job.start_time is not None
                end = min(end, job.start_time + job.suspended_s + expected_s)
            found.append((end, job_id, job))
            if expected_s < job.time_limit_s and (first is None or end < first):
                first = end
        found.sort()
        self.first_correction = first
        return self

    def overdue(self, now: int) -> list[Job]:
        """Return jobs that run on at `now` though they were expected to have ended, within their limits."""
        if self.first_correction is None or self.first_correction > now:
            return []
        return [job for end, _, job in self.entries if end <= now and job.expected_s < job.time_limit_s]
