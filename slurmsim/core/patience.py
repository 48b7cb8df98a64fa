"""``--switches=n@t``: how long a job waits for nodes on few enough leaf switches.

The wait begins with the first look at the job and nothing happens when it is over: the next pass takes what there is
(select/cons_tres _eval_nodes_topo, 22.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.cluster_state import compile_shape
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job


class Patience:
    """Ends the waits."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        self._waiting: set[int] = set()

    def look(self, job: Job) -> None:
        """`job` is being considered; its wait begins now if it has not begun."""
        if job.id in self._waiting:
            return
        self._waiting.add(job.id)
        self.c.alarms.set(self.c.now + self.c.state.switch_wait(job.sub.request), self._over, job)

    def _over(self, job: Job) -> None:
        self._waiting.discard(job.id)
        if job.state != JobState.PENDING or self.c.jobs.get(job.id) is not job:
            return
        state, request, limits = self.c.state, job.sub.request, self.c.limits
        lifted = job.shape.lifted
        shapes = [compile_shape(state, request, p, patient=False, lifted=lifted) for p in job.partitions]
        if limits is not None:
            shapes = [limits.cap(job, p, shape) for p, shape in zip(job.partitions, shapes, strict=True)]
        job.shapes, job.shape = tuple(shapes), shapes[0]
        for record in self.c.queue.jobs.get(job.id, ()):
            record.shape = job.shapes[job.partitions.index(record.partition)]
        if self.c.event_driven:
            self.c.edits += 1
            self.c.generation += 1
            self.c.host.changed = True
        else:
            self.c.main.time_came()
