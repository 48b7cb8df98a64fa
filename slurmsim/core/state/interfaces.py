"""What parts may ask of a job's way through the controller: small interfaces, so that no part holds the controller.

`controller.waiting` is the one way into the queue and out of it, `controller.life_cycle` the one to start and end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import Cancel
from slurmsim.core.records.observer import Observer
from slurmsim.states import REQUEUED, Reason


class Standing(NamedTuple):
    """What a job in the queue has by its last priority: one a partition, and the CPUs found that count in it."""

    priorities: tuple[int, ...]
    counted: int


class QueueWay:
    """Into the queue and out of it."""

    def enqueue(self, job: Job, standing: Standing | None = None) -> None:
        """`job` is independent and not held: it may start from now on, with the `standing` it had or a new one."""
        raise NotImplementedError

    def withdraw(self, job: Job) -> None:
        """Take `job` out of the queue unstarted."""
        raise NotImplementedError

    def step_out(self, job: Job) -> None:
        """Take `job` out of the queue for a while; it keeps its place if a discipline gives places."""
        raise NotImplementedError

    def set_aside(self, job: Job) -> Standing:
        """`job` leaves the queue, to be put back once something else has changed."""
        raise NotImplementedError

    def consider(self, job: Job) -> None:
        """Put the pending `job` into the queue, if nothing keeps it out."""
        raise NotImplementedError

    def put_off(self, job: Job) -> None:
        """Take note that `job` was held: it waits for nothing but its release. What was met before stays so."""
        raise NotImplementedError

    def edited(self) -> None:
        """Test everything again: after an edit, jobs may start where they could not, or not where they could."""
        raise NotImplementedError


class RunWay:
    """Starts, ends and what lies between."""

    def start(self, record: Record, alloc: Allocation, scheduler: str, limit: int | None = None) -> None:
        """Give `record`'s job its allocation and launch it; with `limit` that becomes its time limit, seconds."""
        raise NotImplementedError

    def ready(self, job: Job) -> None:
        """Start the processes of `job`, as its nodes have booted; its limit counts from now."""
        raise NotImplementedError

    def finish(self, job: Job, state: str, reason: str) -> None:
        """Bring `job` to a final state now."""
        raise NotImplementedError

    def time_out(self, jobs: Sequence[Job]) -> None:
        """One time-limit scan found running `jobs` over a limit: each ends as TIMEOUT."""
        raise NotImplementedError

    def may_requeue(self, job: Job) -> bool:
        """Return True if `job` goes back into the queue when it loses its nodes."""
        raise NotImplementedError

    def requeue(self, job: Job, state: str = REQUEUED, reason: str = Reason.NONE) -> None:
        """Put a running job back: PENDING, eligible later, Restarts + 1."""
        raise NotImplementedError

    def keep(self, job: Job, nodes: Bitmap) -> None:
        """Let the running `job` go on on `nodes` alone."""
        raise NotImplementedError

    def on_cancel(self, fact: Cancel) -> None:
        """Apply ``scancel`` to a job, whatever its state."""
        raise NotImplementedError

    def move_end(self, job: Job, end: int) -> None:
        """Set the end by limit of `job`, running or suspended, to `end`."""
        raise NotImplementedError


class WattsWay(Observer):
    """What jobs draw, where that is known (`core.occupancy.watts`)."""

    limited: bool = False  # whether there is a budget: then counting nodes does not tell who may start

    def allows(self, job: Job, alloc: Allocation) -> bool:
        """Return True if the budget lets `job` start on that."""
        raise NotImplementedError

    def start_mw(self, job: Job, nodes: int) -> int:
        """Return what a start of `job` on so many idle nodes takes of the budget."""
        raise NotImplementedError

    def limit_of_start(self, job: Job, nodes: int, limit_s: int) -> int:
        """Return what a limit of `limit_s` seconds becomes when `job` starts on so many nodes."""
        raise NotImplementedError

    def outlook(self, releases: Iterable[tuple[int, int, Job]]) -> CapacityProfile:
        """Return what the budget leaves from now on, when running jobs end as `releases` say."""
        raise NotImplementedError

    def limit_set(self, job: Job) -> None:
        """Take note that an update has set the time limit of `job`, running or suspended."""
        raise NotImplementedError

    def pause(self, job: Job) -> None:
        """Take note that `job` is suspended: it draws nothing, and nothing of it is done."""
        raise NotImplementedError

    def go_on(self, job: Job) -> None:
        """Suspended `job` runs again."""
        raise NotImplementedError
