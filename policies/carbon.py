"""EASY that lets jobs wait for cleaner power.

When a job comes the policy looks at the forecast of carbon intensity, and for the start within the next `wait` seconds
at which the mean intensity over the job's expected run time is lowest. Until then the job is held; then it stands in
the queue of `slurmsim_policies.easy`. Starts at which a forecast changes are tried, and the present one, which is
taken if no other is better by `gain`. What a full machine adds to the wait is not foreseen. Jobs without a limit count
with one year: for them nearly every start is alike, so they hardly wait.

The forecast is that of ``--carbon FILE``. Without one it is EASY; so it is in a live cluster, which has none.
Options: those of EASY, ``wait`` and ``gain``.
Source: Wiesner, Behnke, Scheinert, Gontarska and Thamsen 2021, "Let's Wait Awhile: How Temporal Workload Shifting Can
Reduce Carbon Emissions in the Cloud", arXiv 2110.13234: jobs with a deadline that are not interrupted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import ClassVar

from slurmsim.duration import format_duration
from slurmsim.policy import Decisions, Hold, JobView, Policy, PolicyOption, PowerView, Release, WakeAt
from slurmsim_policies.choices import whole
from slurmsim_policies.easy import Easy

Series = Sequence[tuple[int, int]]  # from which second on, milligrams a kWh


class Carbon(Policy):
    """EASY, before which jobs wait for low intensity."""

    name = "carbon"
    summary = "EASY before which jobs wait for hours of low carbon intensity, as far as they may"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        **Easy.OPTIONS,
        "wait": PolicyOption(whole(0, 30 * 86_400), 8 * 3600, "seconds a job may be held for it at most"),
        "gain": PolicyOption(whole(0, 100), 5, "percent of its emissions that holding has to save"),
    }
    STATE = ("until",)

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._easy = Easy({name: text for name, text in (options or {}).items() if name in Easy.OPTIONS})
        self.pass_each = self._easy.pass_each
        self.until: dict[int, int] = {}  # by id of a job that has been looked at: when it may start
        self._intensity = Intensity(())

    def schedule(self, view: PowerView, now: int) -> Decisions:
        """Hold jobs that came, release those that may start, then make the pass of EASY."""
        series = view.power.carbon if view.power is not None else ()
        if series:
            if self._intensity.series is not series:
                self._intensity = Intensity(series)
            yield from self._hold(view, now)
        yield from self._easy.schedule(view, now)

    def _hold(self, view: PowerView, now: int) -> Decisions:
        waiting = {job.id: job for job in (*view.pending, *view.waiting)}
        self.until = {job_id: at for job_id, at in self.until.items() if job_id in waiting}
        for job in view.pending:
            if job.id not in self.until:
                start = self._start(job, now)
                self.until[job.id] = start
                if start > now and not (yield Hold(job)):
                    self.until[job.id] = now
        for job_id, start in self.until.items():
            job = waiting[job_id]
            if start <= now and not job.queued and job.reason == "JobHeldAdmin":
                yield Release(job)
        later = [at for at in self.until.values() if at > now]
        if later:
            yield WakeAt(min(later))

    def explain(self, view: PowerView, job: JobView, now: int) -> str:
        """Say until when `job` waits for cleaner power; else what EASY says."""
        until = self.until.get(job.id, now)
        if until > now:
            return f"It waits for cleaner power, for {format_duration(until - now)} more."
        return self._easy.explain(view, job, now)

    def _start(self, job: JobView, now: int) -> int:
        """Return the best start of `job` from now on."""
        takes, of = max(job.expected_s, 1), self._intensity
        wait = self.options["wait"]
        first, last = bisect_right(of.times, now), bisect_right(of.times, now + wait)
        best, least = now, of.sum(now, now + takes) * (1 - self.options["gain"] / 100)
        for start in of.times[first:last]:
            if (sum_ := of.sum(start, start + takes)) < least:
                best, least = start, sum_
        return best


class Intensity:
    """A forecast, summed up."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self.times = [at for at, _ in series]
        self.values = [value for _, value in series]
        steps = [(b - a) * value for a, b, value in zip(self.times, self.times[1:], self.values, strict=False)]
        self._until = [0, *accumulate(steps)]

    def sum(self, first: int, last: int) -> int:
        """Return the integral from `first` to `last`; the first and the last value count on."""
        return self._to(last) - self._to(first)

    def _to(self, time: int) -> int:
        at = max(bisect_right(self.times, time) - 1, 0)
        return self._until[at] + (time - self.times[at]) * self.values[at]
