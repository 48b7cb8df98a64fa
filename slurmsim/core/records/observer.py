"""What hears of jobs that come, start, give their nodes back, are requeued and end."""

from __future__ import annotations

from slurmsim.core.records.job import Job


class Observer:
    """Told by the life cycle, in the one order `controller.controller` lists; nothing is done by default."""

    def submitted(self, job: Job) -> None:
        """Take note that `job` is in the job table."""

    def started(self, job: Job, now: int) -> None:
        """Take note that `job` has its allocation."""

    def ready(self, job: Job) -> None:
        """Take note that the nodes of the started `job` have booted: it begins only now."""

    def released(self, job: Job, now: int) -> None:
        """Take note that `job` gave its allocation back."""

    def resized(self, job: Job, now: int) -> None:
        """Take note that the running `job` holds other nodes than before."""

    def requeued(self, job: Job) -> None:
        """`job`, which ran, waits again."""

    def gone(self, job: Job) -> None:
        """Take note that `job` has reached a final state."""
