"""slurmctld's job table: jobs in their order, by the ids users see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

from slurmsim import sluid
from slurmsim.errors import SubmitError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import Array, LiveJob, Row
from slurmsim.slurmctld.base.submit_request import array_tasks, job_number
from slurmsim.states import JobState


class JobTable:
    """Jobs until they are forgotten."""

    def __init__(self, spec: ClusterSpec, jobs: dict[int, LiveJob]) -> None:
        self.jobs = jobs  # by the core's id, in order of creation
        self.arrays: dict[int, Array] = {}  # by their own id
        self._shown: dict[int, LiveJob] = {}  # by the id that is shown
        options = spec.options
        self._first_id, self._max_id = int(options.get("FirstJobId") or 1), int(options.get("MaxJobId") or 0x03FF0000)
        self.last_id = self._first_id - 1  # the last id that was given
        self._order = 0
        self._spec = spec
        # the number by which SLUIDs know a job's run; set by the engine
        self.index_of: Callable[[LiveJob], int] = lambda live: 0

    @property
    def place(self) -> int:
        """The place of the next job in the job table."""
        return self._order

    def take_place(self) -> int:
        self._order += 1
        return self._order - 1

    def next_id(self) -> int:
        """Return the id the next job is shown with."""
        most = self._max_id
        following = self.last_id
        while True:
            following = following + 1 if following + 1 < most else self._first_id
            if following not in self._shown and following not in self.arrays:
                return following

    def split(self, live: LiveJob) -> None:
        """Split off a task that started, ended, or was edited: it gets an id of its own, the last one the array's."""
        if live.own_id is not None or live.array is None:
            return
        live.order = live.array.order
        if len(live.array.left()) == 1:
            live.take_id(live.array.id)
        else:
            self.last_id = self.next_id()
            live.take_id(self.last_id)
            live.array.order = self.take_place()  # what is left of the array goes to the end of the job table
            rest, core = next(iter(live.array.left().values())), live.core
            if rest.is_known:  # it is a copy of this task's record, with what a pass found for it
                rest.core.likely_nodes = core.n_nodes if core.state == JobState.RUNNING else core.likely_nodes
        self.keep(live)

    def keep(self, live: LiveJob) -> None:
        """Keep this job behind the id it is shown with from now on."""
        self._shown[live.id] = live

    def forget(self, number: int) -> None:
        """Show no job with this id any more."""
        self._shown.pop(number, None)

    def shown(self, number: int) -> LiveJob | None:
        """Return the job that is shown with this id of its own."""
        return self._shown.get(number)

    def plain(self, text: str) -> str:
        """Return an id with a job's number in place of its SLUID, 0 for one that no job has."""
        number = sluid.number_of(text)
        if number is None:
            return text
        found = next((live for live in self.jobs.values() if self.index_of(live) == number), None)
        return "0" if found is None else str(found.id)

    def find(self, text: str) -> list[LiveJob]:
        """Return the jobs an id names: ``N`` (a job, or all tasks of an array), ``N_T``, ``N_[list]``, ``N+K``."""
        text = self.plain(text)
        if "+" in text:
            live = het_jobs.component(self, text)
            return [live] if live is not None else []
        base, underscore, tasks = text.removesuffix("_*").partition("_")
        number = job_number(base)
        array = self.arrays.get(number)
        if not underscore:
            if array is not None:
                return list(dict.fromkeys(live for _, live in sorted(array.tasks.items())))
            live = self._shown.get(number)
            return [live] if live is not None else []
        if array is None:
            return []
        try:
            wanted, _ = array_tasks(tasks.strip("[]"), int(self._spec.option("MaxArraySize")))
        except SubmitError:
            return []
        return list(dict.fromkeys(array.tasks[task] for task in wanted if task in array.tasks))

    def core_ids(self, text: str) -> str:
        """Dependencies on tasks by an id of their own, as the core knows them: array and index."""

        def core(match: re.Match[str]) -> str:
            found = self._shown.get(int(match[0]))
            if found is None or found.array is None or match[0] == str(found.array.id):
                return match[0]
            return f"{found.array.id}_{found.task}"

        return re.sub(r"(?<=:)\d{1,18}(?![\d_])", core, text)

    def rows(self) -> Iterator[Row]:
        """Everything slurmctld still has, in the order of its job table; unsplit tasks of an array as one."""
        return self._as_rows(self.jobs.values())

    def rows_of(self, ids: Iterable[int]) -> Iterator[Row]:
        """Those of jobs with these ids, and of the tasks of arrays with them."""
        return self._as_rows(self.lives_of(ids))

    def lives_of(self, ids: Iterable[int]) -> list[LiveJob]:
        """Return the jobs with these ids, and the tasks of arrays with them."""
        found: dict[int, LiveJob] = {}
        for number in ids:
            array, shown = self.arrays.get(number), self._shown.get(number)
            named = [] if array is None else list(array.tasks.values())
            if shown is not None:
                named.append(shown)
            found.update((live.core.id, live) for live in named if self.jobs.get(live.core.id) is live)
        return list(found.values())

    def _as_rows(self, lives: Iterable[LiveJob]) -> Iterator[Row]:
        seen: set[int] = set()
        found: list[tuple[int, Row]] = []
        for live in lives:
            if live.array is None or live.own_id is not None:
                found.append((live.order, Row(live, () if live.emptied else live.record_of)))
            elif live.array.id not in seen:
                seen.add(live.array.id)
                tasks = live.array.unsplit()
                found.append((live.array.order, Row(tasks[0], tuple(tasks))))
        found.sort(key=itemgetter(0))
        return (row for _, row in found)
