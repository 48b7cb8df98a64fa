"""What happens to a job's processes at an instant known beforehand: warnings, limits of steps, the last signal.

Each is a method here and plain data, never a closure, so that what waits can be written down and taken up again.
``--signal`` mirrors job_time_limit (job_mgr.c, 22.05). At each scan for time limits a job that would be within its
warning time before the next scan but one gets its signal, once a run. With ``B:`` its script alone gets it, else the
tasks of its steps.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.messages import JobEnded
from slurmsim.core.state.time_limits import SCAN_S
from slurmsim.releases import row
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmctld.processes import expedited, job_termination, steps
from slurmsim.slurmctld.processes.signals import signal_jobs
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


UNTOLD_S = {"22.05": 11, "24.11": 11, "26.05": 10}
"""How long slurmctld tries to tell a client that its job has started (10 tries, a second apart, of agent.c)."""


class Timer(Protocol):
    """What the network calls with."""

    @property
    def value(self) -> Any:
        """What was given to it."""


class JobTimers:
    """All such instants of one cluster; they lie in its network."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster

    def _at(self, instant: int, call: Callable[[Timer], None], *value: Any) -> None:
        self._cluster.network.at(instant, call, *value)

    def _kill_wait(self) -> int:
        return self._cluster.now + int(self._cluster.spec.option("KillWait"))

    # -- warnings before the time limit -----------------------------------------------------------------------------

    def warn_before_limit(self, live: LiveJob) -> None:
        """See to the warning of a job that was just launched, if it asked for one."""
        if int(live.asked.get("warn_signal") or 0):
            self._plan_warning(live, live.core.restarts)

    def _plan_warning(self, live: LiveJob, run: int) -> None:
        assert live.core.end_limit is not None
        earliest = max(live.core.end_limit - _ahead(live), self._cluster.now + 1)
        self._at(self._cluster.controller.state.time_limits.scan_after(earliest), self._warn, live, run)

    def _warn(self, timer: Timer) -> None:
        live, run = timer.value
        core, cluster = live.core, self._cluster
        if core.restarts != run or core.end_limit is None or core.state not in steps.ALIVE:
            return
        if core.state == JobState.SUSPENDED or cluster.now + _ahead(live) < core.end_limit:
            self._plan_warning(live, run)
        else:
            batch_only = "B" in str(live.asked.get("warn_flags") or "")
            signal_jobs(cluster, [live], int(live.asked["warn_signal"]), batch_only, full=False)

    # -- clients that are gone ----------------------------------------------------------------------------------------

    def miss_client(self, live: LiveJob) -> None:
        """Fail the job after a while: no client takes the message that it has started, and slurmctld goes on trying."""
        after = row(UNTOLD_S, self._cluster.release)
        self._at(self._cluster.now + after, self._client_missed, live, live.core.restarts)

    def _client_missed(self, timer: Timer) -> None:
        live, run = timer.value
        if live.client_gone and live.core.restarts == run and live.core.state in steps.ALIVE:
            self._cluster.network.tell(self._cluster.now, [JobEnded(live.core.id, JobState.FAILED, "1:0", run)])

    def expedite_later(self, live: LiveJob) -> None:
        """Let a requeued job go first, behind all else of this instant."""
        self._at(self._cluster.now, self._expedite, live)

    def _expedite(self, timer: Timer) -> None:
        expedited.expedite(self._cluster, *timer.value)

    # -- steps ------------------------------------------------------------------------------------------------------

    def limit_step(self, live: LiveJob, step: Step) -> None:
        """Stop the step at the first scan after it has run for as long as it may."""
        end = max(step.start + int(step.asked["time_limit"]) * 60, self._cluster.now)
        self._at(self._cluster.controller.state.time_limits.scan_after(end), self._step_is_over_limit, live, step)

    def _step_is_over_limit(self, timer: Timer) -> None:
        live, step = timer.value
        limit = int(step.asked["time_limit"])
        # after an update another timer is set, or none
        raised = limit >= steps.UNLIMITED or self._cluster.now < step.start + limit * 60
        if step.end is None and step.state == JobState.RUNNING and not raised:
            step.state = JobState.TIMEOUT
            steps.post(self._cluster, live, {"kind": "end", "step": step.number, "why": "TIMEOUT"})
            self.kill_tasks_later(live, step.number)

    def kill_tasks_later(self, live: LiveJob, step: int | None) -> None:
        """KILL to the tasks when KillWait is over, and no more waiting for news of them; None: of all steps."""
        self._at(self._kill_wait(), self._kill_tasks, live, step)

    def _kill_tasks(self, timer: Timer) -> None:
        live, step = timer.value
        steps.post(self._cluster, live, {"kind": "signal", "step": step, "signal": int(signal.SIGKILL)})
        if step is None:
            for run in steps.killed(self._cluster, live):
                self._at(self._cluster.now + job_termination.DEATH_S, self._kill_script, live.core.id, run)

    def clean_at(self, instant: int, live: LiveJob, run: int, nodes: Bitmap) -> None:
        """From that instant on these nodes of a run that was ended are clean."""
        if instant <= self._cluster.now:
            job_termination.gone(self._cluster, live, run, nodes)
        else:
            self._at(instant, self._clean, live, run, nodes)

    def _clean(self, timer: Timer) -> None:
        job_termination.gone(self._cluster, *timer.value)

    # -- scripts ----------------------------------------------------------------------------------------------------

    def kill_script_later(self, run: Job) -> None:
        """KILL to what is left of a run's script when KillWait is over."""
        self._at(self._kill_wait(), self._kill_script, run.id, run.restarts)

    def _kill_script(self, timer: Timer) -> None:
        job_termination.kill(self._cluster, *timer.value)


def _ahead(live: LiveJob) -> int:
    """Seconds before the limit at which a scan sends the warning."""
    return int(live.asked.get("warn_time") or 60) + SCAN_S
