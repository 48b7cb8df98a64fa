"""Which records an id of scontrol names, and how slurmctld answers for the tasks of an array.

The tasks of an array that have not been split off are one record (update_job_str, 22.05): what is asked of all of them
is done to that record, what is asked of some of them splits those off first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import SubmitError
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import LiveJob, task_ranges
from slurmsim.slurmctld.base.submit_request import array_tasks, job_number

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

SUCCESS = "No error"


@dataclass(slots=True)
class Record:
    """One record of slurmctld: a job, a task, or the unsplit tasks of an array."""

    jobs: list[LiveJob]

    @property
    def first(self) -> LiveJob:
        """The job, or the task with the lowest index."""
        return self.jobs[0]


@dataclass(slots=True)
class Named:
    """What an id names: records, the array they are of (None for a plain job), and tasks that do not exist."""

    records: list[Record]
    array: int | None = None
    missing: tuple[int, ...] = ()

    @property
    def part_of_het_job(self) -> bool:
        """True if it is a component of a heterogeneous job, and not its leader."""
        return self.array is None and not het_jobs.leads(self.records[0].first)


def records_of(cluster: LiveCluster, text: str, *, split: bool) -> Named:
    """Return the records of ``N``, ``N_T``, ``N_list`` or ``N_*``. Raises Refusal.

    With `split` tasks that are named apart from others leave the array's record; without, that record is meant.
    """
    text = cluster.job_table.plain(text)
    if "+" in text:
        live = het_jobs.component(cluster.job_table, text)
        if live is None:
            raise Refusal(INVALID_JOB, 2017)
        return Named([Record([live])])
    base, underscore, tasks = text.partition("_")
    number = job_number(base)
    array = cluster.job_table.arrays.get(number)
    if not underscore or tasks == "*":
        if array is None:
            found = cluster.job_table.find(base)
            if not found or underscore:
                raise Refusal(INVALID_JOB, 2017)
            return Named([Record([live]) for live in het_jobs.whole(cluster.job_table, found)])
        unsplit = array.unsplit()
        apart = sorted({t for t in array.tasks.values() if t.own_id is not None}, key=lambda t: t.order)
        return Named(([Record(unsplit)] if unsplit else []) + [Record([task]) for task in apart], number)
    try:
        wanted, _ = array_tasks(tasks, int(cluster.spec.option("MaxArraySize")))
    except SubmitError:
        wanted = []
    if not wanted:
        raise Refusal(INVALID_JOB, 2017)
    if array is None:
        return Named([], number, tuple(wanted))
    return _tasks(cluster, number, wanted, split)


def _tasks(cluster: LiveCluster, number: int, wanted: Sequence[int], split: bool) -> Named:
    array = cluster.job_table.arrays[number]
    unsplit = array.unsplit()
    asked = set(wanted)
    mine = [task for task in unsplit if task.task in asked]
    named = Named([], number, tuple(k for k in wanted if k not in array.tasks))
    if mine and (not split or len(mine) == len(unsplit)):
        named.records.append(Record(unsplit))
        wanted = sorted(asked - {task.task for task in unsplit})
    else:
        for task in mine:  # also where what is asked will be refused
            cluster.job_table.split(task)
            cluster.controller.eligibility.arrays.split(task.core)
        if mine:
            cluster.network.tell(cluster.now, [])  # a new record is news to backfill
    named.records += [Record([array.tasks[k]]) for k in wanted if k in array.tasks]
    return named


def for_each(cluster: LiveCluster, named: Named, act: Callable[[Record], None]) -> dict[str, Any]:
    """Do something to every record; a refusal of one leaves the others. Raises Refusal for a plain job.

    Of a heterogeneous job the first refusal is raised once all components have been asked. A record of an array that
    has lost all its tasks is asked as well, but what it answers has no task to be told by (_resp_array_xlate).
    """
    if named.array is None:
        refused: list[Refusal] = []
        for record in named.records:
            try:
                act(record)
            except Refusal as refusal:
                refused.append(refusal)
        if refused:
            raise refused[0]
        return {}
    outcomes: dict[str, set[int]] = {}
    if named.missing:
        outcomes[INVALID_JOB] = set(named.missing)
    for record in named.records:
        tasks = {job.task for job in record.jobs if job.task is not None and not job.emptied}
        try:
            act(record)
            text = SUCCESS
        except Refusal as refusal:
            text = refusal.text
        if tasks:
            outcomes.setdefault(text, set()).update(tasks)
    ordered = sorted(outcomes.items(), key=lambda item: min(item[1]))
    return {"responses": [[_ids(cluster, named.array, tasks), text] for text, tasks in ordered]}


def _ids(cluster: LiveCluster, array: int, tasks: set[int]) -> str:
    """``5_1,4``; 26.05 puts them into brackets."""
    text = task_ranges(tasks)
    return f"{array}_[{text}]" if since(cluster.release, "task_ids_in_brackets") else f"{array}_{text}"
