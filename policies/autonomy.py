"""EASY with an autonomy loop: limits of jobs follow their checkpoints, so that little unsaved work meets a limit.

Jobs write a checkpoint after every interval of work. What a job computes between its last checkpoint and its limit is
lost if the limit ends it: the *tail*. So when the last checkpoint that its limit leaves room for is written, one of two
things is done. `early` cancels the job there, and its nodes are free at once. `extend` moves its limit to the end of
the next checkpoint; a limit is extended once. `hybrid` extends where no job waits, and cancels early elsewhere.

A loop cannot know that a job would have ended in its tail by itself: `early` cancels that one, too. Jobs without a
checkpoint before their limit are not cancelled. The schedule is that of `slurmsim_policies.easy` otherwise.

Options: ``mode``; ``interval``, ``write`` and ``restart`` in seconds, by default those of the cluster
(``checkpoint_interval``, … among SchedulerParameters, or ``--checkpoint``). Without an interval it is EASY. A job that
was requeued is taken to have read a checkpoint first.
Source: Jakobsche, Simsek, Brandt, Gentile and Ciorba 2025, "An Autonomy Loop for Dynamic HPC Job Time Limit
Adjustment", arXiv 2505.05927. There a daemon beside Slurm reads what applications report; here the interval is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.policy import Cancel, Decisions, JobView, PolicyOption, PoolsView, SetLimit, WakeAt
from slurmsim_policies.choices import one_of, whole
from slurmsim_policies.easy import Easy

EARLY, EXTEND, HYBRID = "early", "extend", "hybrid"


class Autonomy(Easy):
    """EASY, and a loop over the running jobs."""

    name = "autonomy"
    summary = "EASY with limits that follow checkpoints: jobs end behind one, or get time for one more"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        **Easy.OPTIONS,
        "mode": PolicyOption(
            one_of(EARLY, EXTEND, HYBRID), HYBRID, "cancel early, extend limits, or extend if no job waits (hybrid)"
        ),
        "interval": PolicyOption(whole(0), 0, "seconds of work between checkpoints; 0: as the cluster says"),
        "write": PolicyOption(whole(0), 0, "seconds a checkpoint takes, with interval"),
        "restart": PolicyOption(whole(0), 0, "seconds it takes to go on from one, with interval"),
    }
    STATE = ("extended",)

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self.extended: list[int] = []  # jobs with limits that were extended, while they run
        self._every = self._restart_s = 0
        self._take(*(int(self.options[name]) for name in ("interval", "write", "restart")))

    def _take(self, interval_s: int, write_s: int, restart_s: int) -> None:
        self._every, self._restart_s = (interval_s + write_s if interval_s else 0), restart_s

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        """Take over how the jobs of the cluster write checkpoints, unless the options say it."""
        if not self.options["interval"]:
            names = ("checkpoint_interval", "checkpoint_write", "checkpoint_restart")
            self._take(*(int(scheduler_parameters.get(name) or 0) for name in names))

    def schedule(self, view: PoolsView, now: int) -> Decisions:
        """Make the pass of EASY, then look after the running jobs; nodes that a cancel frees cause another pass."""
        yield from super().schedule(view, now)
        if self._every:
            yield from self._look_after(view, now)

    def _look_after(self, view: PoolsView, now: int) -> Decisions:
        """Cancel or extend the jobs that have written the last checkpoint before their limit; wake up for the next."""
        running = view.running
        if self.extended:
            ids = {job.id for job in running}
            self.extended = [job_id for job_id in self.extended if job_id in ids]
        soonest: int | None = None
        for job in running:
            last = self._last_checkpoint(job)
            if last is None or job.id in self.extended:
                continue
            if last > now:
                soonest = last if soonest is None or last < soonest else soonest
            elif last == now:
                yield from self._decide(view, job, last)
        if soonest is not None:
            yield WakeAt(soonest)

    def _last_checkpoint(self, job: JobView) -> int | None:
        """Return when the last checkpoint before the limit of running `job` is written; None if none is."""
        assert job.start_time is not None and job.end_limit is not None
        first = job.start_time + (self._restart_s if job.restarts else 0)
        count = (job.end_limit - first) // self._every
        last = first + count * self._every
        return last if count > 0 and last < job.end_limit else None

    def _decide(self, view: PoolsView, job: JobView, last: int) -> Decisions:
        mode = self.options["mode"]
        if mode == EXTEND or (mode == HYBRID and not view.n_queued):
            assert job.start_time is not None
            self.extended.append(job.id)
            yield SetLimit(job, last + self._every - job.start_time)
        else:
            yield Cancel(job)
