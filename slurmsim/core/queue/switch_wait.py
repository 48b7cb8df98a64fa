"""``--switches=n@t``: how long a job waits for nodes on few enough leaf switches.

The wait begins with the first look at the job and nothing happens when it is over: the next pass takes what there is
(select/cons_tres _eval_nodes_topo, 22.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.placement.cluster_state import compile_request
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState


class SwitchWait:
    def __init__(self, state: ControllerState, accounting: AccountingParts) -> None:
        self.state, self._accounting = state, accounting
        self._waiting: set[int] = set()

    def look(self, job: Job) -> None:
        """Take note that `job` is being considered; its wait begins now if it has not begun."""
        if job.id in self._waiting:
            return
        self._waiting.add(job.id)
        self.state.timers.set(self.state.now + self.state.cluster.switch_wait(job.sub.request), self._over, job)

    def begun(self, job: Job) -> bool:
        """Return True if the wait of `job` has begun and is not over."""
        return job.id in self._waiting

    def _over(self, job: Job) -> None:
        self._waiting.discard(job.id)
        if job.state != JobState.PENDING or self.state.jobs.get(job.id) is not job:
            return
        cluster, asked, limits = self.state.cluster, job.sub.request, self._accounting.limits
        lifted = job.request.lifted
        requests = [compile_request(cluster, asked, p, patient=False, lifted=lifted) for p in job.partitions]
        if limits is not None:
            requests = [limits.cap(job, p, request) for p, request in zip(job.partitions, requests, strict=True)]
        job.requests, job.request = tuple(requests), requests[0]
        for record in self.state.queue.jobs.get(job.id, ()):
            request = job.requests[job.partitions.index(record.partition)]
            record.request = (request.preferred or request) if record.preferred else request
        if self.state.event_driven:
            self.state.edits += 1
            self.state.generation += 1
            self.state.triggers.changed = True
        else:
            self.state.triggers.time_came()
