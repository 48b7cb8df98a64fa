"""Who listens to a simulation: a class to extend, whose methods do nothing."""

from __future__ import annotations

from slurmsim.core.records.job import Job
from slurmsim.model.submission import Submission


class Listener:
    """Told what happens, in the order it happens; it changes nothing."""

    def finished(self, job: Job) -> None:
        """`job` reached its final state."""

    def requeued(self, run: Job) -> None:
        """`run` is the record of a run that ended in a requeue, or of a size that ended in a resize."""

    def refused(self, sub: Submission, text: str) -> None:
        """A submission was refused; `text` is Slurm's."""

    def arrived(self, job_id: int, at: int) -> None:
        """A stream came to the job of that id at `at`; it is submitted now."""

    def turn(self, now: int) -> None:
        """The controller has had its turn: the time to sample and to write."""
