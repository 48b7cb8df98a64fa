"""When slurmctld forgets jobs: at the full minutes after MinJobAge (purge_old_job, 22.05).

Each task of an array goes for itself, but for the one with the array's own id, which is the last.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmsim.slurmctld.base.live_job import LiveJob

PURGE_S = 60
NEVER = float("inf")


class Forgetting:
    """Who is forgotten when. It holds nothing that does not follow from the jobs there are (`begin_anew`).

    Parameters
    ----------
    jobs
        All that are not forgotten, by the core's id.
    start_time
        When slurmctld started; it forgets whole minutes after that.
    min_job_age
        MinJobAge; 0: nothing is ever forgotten.
    forget
        Called with the jobs that are due.
    """

    def __init__(
        self, jobs: Mapping[int, LiveJob], start_time: int, min_job_age: int, forget: Callable[[list[LiveJob]], None]
    ) -> None:
        self._jobs, self._start, self._age, self._forget = jobs, start_time, min_job_age, forget
        self._due: list[tuple[int, int]] = []

    @property
    def next(self) -> float:
        """The next time at which a job may have to be forgotten; infinity for never."""
        return self._due[0][0] if self._due else NEVER

    def over(self, core_id: int, end: int) -> None:
        """Note that a job ended."""
        if self._age:
            heappush(self._due, (self._minute(end + self._age), core_id))

    def begin_anew(self) -> None:
        """As after all that happened to the jobs there are."""
        self._due.clear()
        for core_id, live in self._jobs.items():
            if live.over:
                self.over(core_id, int(live.core.end_time or 0))
        heapify(self._due)

    def at(self, now: int) -> None:
        """Forget the jobs that are due at `now`."""
        going: dict[int, LiveJob] = {}
        last: list[LiveJob] = []
        while self._due and self._due[0][0] <= now:
            due, core_id = heappop(self._due)
            live = self._jobs.get(core_id)
            if live is None or not live.over or int(live.core.end_time or 0) + self._age > due:
                continue  # it runs again
            if live.array is None or live.own_id not in (None, live.array.id):
                going[core_id] = live
            else:
                last.append(live)
        leaving = going.keys() | {live.core.id for live in last}
        stays: dict[int, bool] = {}  # by array: whether another task of it does
        for live in last:
            array = live.array
            assert array is not None
            if array.id not in stays:
                stays[array.id] = any(task.core.id not in leaving for task in array.tasks.values())
            if stays[array.id]:
                heappush(self._due, (self._minute(now + 1), live.core.id))
            else:
                going[live.core.id] = live
        if going:
            self._forget(list(going.values()))

    def _minute(self, after: int) -> int:
        return after + (self._start - after) % PURGE_S
