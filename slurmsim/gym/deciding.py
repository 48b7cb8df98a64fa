"""A simulation that stops where something is to be decided, for a caller that decides: an agent."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop
from typing import Any

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Refused
from slurmsim.policy import Decision, Policy, RecordView, SlurmView, Start
from slurmsim.sim.simulation import Simulation


class Agent(Policy):
    """Decides nothing by itself: the agent is outside."""

    name = "agent"
    summary = "an agent outside of the simulation decides"

    def schedule(self, view: SlurmView, now: int) -> Iterable[Decision]:
        """Start nothing."""
        return ()


class Deciding(Simulation):
    """The simulation; each turn of the controller that leaves jobs in the queue may be a question."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._asks = False
        super().__init__(*arguments, **options)
        self.view = self.controller.view
        # how many jobs were refused, or ended before they started; the jobs that were started, and not requeued since
        self.never_started = 0
        self.begun: set[int] = set()

    def _turned(self, now: int) -> None:
        super()._turned(now)
        self.controller.state.events.clear()
        self._asks = bool(self.controller.state.queue.jobs)

    def _finished(self, job: Job) -> None:
        super()._finished(job)
        self.never_started += job.start_time is None

    def _refused(self, action: Refused) -> None:
        super()._refused(action)
        self.never_started += 1

    def _requeued(self, run: Job) -> None:
        super()._requeued(run)
        self.begun.discard(run.id)

    @property
    def all_decided(self) -> bool:
        """True if no job is left to start, as long as none is requeued."""
        return len(self.begun) + self.never_started >= self.n_jobs

    def go_on(self) -> bool:
        """Let time pass until jobs wait in the queue after something has happened; False if the run is over."""
        self._arm(self.timers.now)
        env = self.env
        queue: list[Any] = env._queue
        while queue and not self._over.triggered:
            env._now, _, _, event = heappop(queue)
            calls, event.callbacks = event.callbacks, None
            for call in calls:
                call(event)
            if not event._ok and not hasattr(event, "_defused"):
                raise event._value
            if self._asks:
                self._asks = False
                return True
        return False

    @property
    def anything_to_come(self) -> bool:
        """True if time alone would bring something: the end of a running job, or a submission."""
        return bool(self.controller.state.running) or self.n_done + len(self.controller.state.jobs) < self.n_jobs

    def start(self, record: RecordView) -> bool:
        """Start the job of `record` now; False if it does not fit."""
        state = self.controller.state
        state.actions = []
        started = self.controller.host.decide(Start(record))
        self._carry_out(state.actions)
        if started:
            self.begun.add(record.job.id)
        return bool(started)
