"""Which running jobs are over their time limit, and when slurmctld looks (job_time_limit, job_mgr.c)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.model.cluster import ClusterSpec

SCAN_S: Final = 30  # slurmctld looks that often
Entry = tuple[int, int, Job]


class TimeLimits:
    """The scans for jobs over their limit."""

    def __init__(self, spec: ClusterSpec, start_time: int, *, enforced: bool, event_driven: bool) -> None:
        self.enforced = enforced  # False leaves ending jobs at their limit to the driver
        over = spec.option("OverTimeLimit")
        # over_limit_s, kill_wait_s: OverTimeLimit and KillWait of the cluster
        self.over_limit_s: int = ONE_YEAR_S if over is None else over
        self.kill_wait_s = int(spec.option("KillWait"))
        self._start, self._event_driven = start_time, event_driven
        self._one_for_all = event_driven or all(
            p.over_time_limit_s in (None, self.over_limit_s) for p in spec.partitions
        )

    def scan_after(self, due: int) -> int:
        """Return the first scan at or after `due`."""
        return due + (self._start - due) % SCAN_S

    def found_at(self, end: int, job: Job) -> int:
        """Return when `job`, with that end, is found over its limit."""
        if self._event_driven:
            return end
        own = None if self._one_for_all else job.partition.spec.over_time_limit_s
        return self.scan_after(end + (self.over_limit_s if own is None else own))

    def next_time(self, running: Sequence[Entry]) -> int:
        """Return when the next of `running` is found over its limit, if none ends before."""
        if self._one_for_all:
            return self.found_at(running[0][0], running[0][2])
        return min(self.found_at(end, job) for end, _, job in running)

    def overdue(self, running: Sequence[Entry], now: int) -> list[Job]:
        """Return those of `running` that are found over their limit by `now`."""
        if not running or running[0][0] > now or self.next_time(running) > now:
            return []
        reached = takewhile(lambda entry: entry[0] <= now, running)
        return [job for end, _, job in reached if self.found_at(end, job) <= now]
