"""sched/builtin: slurmctld's main scheduler alone, no backfill.

Strict priority order in each partition; the plugin itself starts nothing. Every bf_interval it works out when the first
bf_max_job_test jobs could start, each in its first partition. (As in Slurm, the first parameter that ends in "interval"
counts.) The estimates are not made here, but they tell slurmctld how many CPUs a job would get (`Tested`).
Source: Slurm src/plugins/sched/builtin, 22.05.
"""

from collections.abc import Mapping

from slurmsim.policy import Decisions, Policy, SlurmView, Tested

_INTERVAL_S, _TESTS = 30, 50


class Builtin(Policy):
    """Slurm's plain first-in-first-out plugin."""

    name = "builtin"
    summary = "Slurm's main scheduler alone: strict priority order in each partition"
    event_driven = False
    in_order = True

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        named = [value for name, value in scheduler_parameters.items() if name.endswith("interval")]
        self._interval = max(int(named[0]), 0) if named else 0
        self._interval = self._interval or _INTERVAL_S
        self._tests = int(scheduler_parameters.get("bf_max_job_test") or _TESTS)
        self._start_time = self._estimated = start_time

    def next_time(self, view: SlurmView, now: int, changed: bool) -> int | None:
        """Return the time of the next estimates, if a job has none yet and something changed since the last ones."""
        if not (changed and view.untried):
            return None
        at = max(now, self._estimated + 1)
        return at + (self._start_time - at) % self._interval

    def schedule(self, view: SlurmView, now: int) -> Decisions:
        self._estimated = now
        for record in view.records()[: self._tests + 1]:
            if record.partition is record.job.partitions[0]:
                yield Tested(record)
