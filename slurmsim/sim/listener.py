"""The listener of a simulation: a class to extend; its methods do nothing."""

from __future__ import annotations

from slurmsim.core.records.job import Job
from slurmsim.model.submission import Submission


class Listener:
    """Told what happens, in the order it happens; it changes nothing."""

    def finished(self, job: Job) -> None:
        """Take note that `job` reached its final state."""

    def requeued(self, run: Job) -> None:
        """Take note that `run` is the record of a run that ended in a requeue, or of a size that ended in a resize."""

    def refused(self, sub: Submission, text: str) -> None:
        """Hear that a submission was refused; `text` is Slurm's."""

    def arrived(self, job_id: int, at: int) -> None:
        """Hear that a stream came to the job of that id at `at`; it is submitted now."""

    def turn(self, now: int) -> None:
        """Hear that the controller has had its turn: the time to sample and to write."""
