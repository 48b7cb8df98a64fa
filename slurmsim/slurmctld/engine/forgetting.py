"""When slurmctld forgets jobs: at the full minutes after MinJobAge, arrays as a whole (purge_old_job, 22.05)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmsim.slurmctld.engine.live_job import LiveJob

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
        Told of jobs whose time has come.
    """

    def __init__(
        self, jobs: Mapping[int, LiveJob], start_time: int, min_job_age: int, forget: Callable[[list[LiveJob]], None]
    ) -> None:
        self._jobs, self._start, self._age, self._forget = jobs, start_time, min_job_age, forget
        self._due: list[tuple[int, int]] = []
        self._lasting: dict[int, LiveJob] = {}  # of an array whose tasks are looked at: one that is not over

    @property
    def next(self) -> float:
        """When somebody may have to be forgotten next; infinity for never."""
        return self._due[0][0] if self._due else NEVER

    def over(self, core_id: int, end: int) -> None:
        """That job ended."""
        if self._age:
            due = end + self._age
            heappush(self._due, (due + (self._start - due) % PURGE_S, core_id))

    def begin_anew(self) -> None:
        """As after all that happened to the jobs there are."""
        self._due.clear()
        self._lasting.clear()
        for core_id, live in self._jobs.items():
            if live.over:
                self.over(core_id, int(live.core.end_time or 0))
        heapify(self._due)

    def at(self, now: int) -> None:
        """Forget those whose time has come."""
        going: dict[int, LiveJob] = {}
        while self._due and self._due[0][0] <= now:
            due, core_id = heappop(self._due)
            live = self._jobs.get(core_id)
            if live is None or core_id in going or not self._old(live, due):
                continue  # it runs again, or another task of its array will be the last
            if live.array is None:
                going[core_id] = live
            elif self._all_old(live, due):
                self._lasting.pop(live.array.id, None)
                # one may stand for several tasks
                going.update((one.core.id, one) for one in live.array.tasks.values() if one.core.id in self._jobs)
        if going:
            self._forget(list(going.values()))

    def _old(self, live: LiveJob, now: int) -> bool:
        return live.over and int(live.core.end_time or 0) + self._age <= now

    def _all_old(self, live: LiveJob, now: int) -> bool:
        """Whether that holds for all tasks of its array: looked for where they end last, and once for each found."""
        assert live.array is not None
        lasting = self._lasting.get(live.array.id)
        if lasting is not None and self._jobs.get(lasting.core.id) is lasting and not lasting.over:
            return False
        for one in reversed(live.array.tasks.values()):
            if not self._old(one, now):
                self._lasting[live.array.id] = one
                return False
        return True
