"""Jobs as users see them: what was asked for, the id that is shown, and the core's job behind it.

The core holds one job a task of an array from the start; slurmctld holds one record for all tasks nothing has happened
to yet, under the array's id. A task gets an id of its own when it is split off (it starts, or is edited alone); the
last one left takes the array's (job_array_split, 22.05).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from slurmsim.core.records.job import Job
from slurmsim.data_classes import dataclass, field
from slurmsim.numerals import ranges
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.step import Step

TASK_BITS = 32  # the core's ids of array tasks lie above any id that is shown


@dataclass(slots=True, eq=False)
class Array:
    """A job array: its id, its tasks by index, the text of what was asked for, and its place in the job table.

    `gone` is the number of tasks that were forgotten: these are not among `tasks` any more.
    """

    id: int
    asked: str
    tasks: dict[int, LiveJob] = field(default_factory=dict)
    order: int = 0
    gone: int = 0
    _left: dict[int, LiveJob] | None = None

    def unsplit(self) -> list[LiveJob]:
        """Tasks without an id of their own, by index."""
        return list(self.left().values())

    def left(self) -> Mapping[int, LiveJob]:
        """Those tasks under their index, in its order; kept, for they are asked for whenever one of them starts."""
        if self._left is None:
            self._left = {index: task for index, task in sorted(self.tasks.items()) if task.own_id is None}
        return self._left

    def forget(self, live: LiveJob) -> bool:
        """Tasks that `live` is, or stands for, are forgotten; whether they were the last."""
        index = live.task
        if index is not None and not live.record_of and self.tasks.get(index) is live:
            indices = [index]  # nearly all
        else:
            indices = [index for index, task in self.tasks.items() if task is live]
        for index in indices:
            del self.tasks[index]
        self.gone += len(indices)
        self._left = None
        return not self.tasks

    def gave_id(self, task: LiveJob) -> None:
        """Note that a task has an id of its own now."""
        if self._left is not None and task.task is not None:
            self._left.pop(task.task, None)


CONTROLLER_PROLOG, CONTROLLER_EPILOG = "cprolog", "cepilog"
"""Kinds of programs that slurmctld itself runs: PrologSlurmctld and EpilogSlurmctld."""


@dataclass(slots=True, eq=False)
class LiveJob:
    """One job or array task."""

    asked: Mapping[str, Any]  # the submit request (fields of job_desc_msg_t)
    own_id: int | None  # the id it is shown with; None for a task that has not been split off
    person: Person  # who submitted it
    order: int  # place in slurmctld's job table
    array: Array | None = None
    task: int | None = None
    cancelled_by: int | None = None
    steps: list[Step] = field(default_factory=list)  # its steps of all runs, in order of creation, running or over
    next_step: int = 0
    mail: list[dict[str, Any]] = field(default_factory=list)  # messages to the sruns that look after its tasks
    # edited_at, resized_at: when an update last cleared its reason, which no scheduler may have looked at since; when
    # it was resized
    edited_at: int = -1
    # passes of the main scheduler before it was submitted or released, and when backfill had come last
    entered_after: tuple[int, int] = (-1, -1)
    resized_at: int = 0
    # requeued_at, ran_with_priority: when it was requeued while it ran; its processes are told to go, and for a moment
    # it is COMPLETING. What it had then: only when it is put back does it get another priority.
    requeued_at: int = -1
    ran_with_priority: int = 0
    planned_before_hold: tuple[int, int] | None = None  # when it was expected to start, and when it was held
    # suspended_or_resumed, ran_before_suspension: of the present run: when that happened last (0: never), and for how
    # long it ran until it was suspended last
    suspended_or_resumed: int = 0
    ran_before_suspension: int = 0
    # record_of, emptied: the tasks of an array's own record that was cancelled, for which this one stands; whether it
    # has lost them
    record_of: tuple[LiveJob, ...] = ()
    emptied: bool = False
    client_gone: bool = False  # whether srun or salloc went while the job waited, without a word
    held_with: str = ""  # the reason it was last held with, which slurmdbd goes on to tell; empty: it never was
    stopped: bool = False  # whether its processes were sent STOP, and no CONT since
    # prologs and epilogs that run for it, and where prologs are done: kind, run and node (`processes.node_programs`)
    programs: tuple[tuple[str, int, int], ...] = ()
    expedited: str = ""  # how far its expedited requeue is (`processes.expedited`); empty for none
    _core: Job | None = None

    @property
    def core(self) -> Job:
        """The controller's record."""
        assert self._core is not None
        return self._core

    @core.setter
    def core(self, job: Job) -> None:
        self._core = job

    @property
    def is_known(self) -> bool:
        """True if the controller has its record: not while tasks before it start within the array's submission."""
        return self._core is not None

    def take_id(self, number: int) -> None:
        """Be shown with this id from now on."""
        self.own_id = number
        if self.array is not None:
            self.array.gave_id(self)

    @property
    def id(self) -> int:
        """The id it is shown with."""
        if self.own_id is not None:
            return self.own_id
        assert self.array is not None
        return self.array.id

    @property
    def running_steps(self) -> list[Step]:
        """Its steps that are not over."""
        return [step for step in self.steps if step.end is None]

    @property
    def configures(self) -> bool:
        """True while its PrologSlurmctld runs: it has its nodes, and nothing of it has begun."""
        return any(one[:2] == (CONTROLLER_PROLOG, self.core.restarts) for one in self.programs)

    @property
    def cleans_up(self) -> bool:
        """True while its EpilogSlurmctld runs: it is over, or waits again, and its nodes are free."""
        return any(kind == CONTROLLER_EPILOG for kind, _, _ in self.programs)

    @property
    def placed_steps(self) -> list[Step]:
        """Its steps that are not over and have their place."""
        return [step for step in self.steps if step.end is None and not step.waits]

    @property
    def expedited_flag(self) -> str:
        """The state that is shown in place of PENDING, of a job with an expedited requeue; "" for none."""
        if self.expedited != "held":
            return "EXPEDITING" if self.expedited else ""
        return "" if self.core.priority else "REQUEUE_HOLD"  # one that was released is like any other

    @property
    def over(self) -> bool:
        """True if it reached a final state."""
        return self.core.end_time is not None


class Row:
    """A job, or the tasks of an array that are still one record; `job` is the first of them, `core` the core's job.

    It lives for one request. `reason` is what it waits for, and `start` when it starts; both are None until they are
    first computed.
    """

    __slots__ = ("core", "job", "reason", "start", "tasks")

    def __init__(self, job: LiveJob, tasks: tuple[LiveJob, ...] = ()) -> None:
        self.job: LiveJob = job
        self.tasks: tuple[LiveJob, ...] = tasks
        self.core: Job = job.core
        self.reason: str | None = None
        self.start: int | None = None


def task_list(tasks: Iterable[int], limit: int | None = None, width: int = 64) -> str:
    """Task indices as slurmctld prints them: ranges, or ``first-last:step``; cut at `width` characters, 0 for never.

    >>> task_list([1, 3, 4, 5, 20]), task_list(range(0, 30, 5), 2), task_list([3])
    ('1,3-5,20', '0-25:5%2', '3')
    """
    found = sorted(tasks)
    text = _stepped(found) or ranges(found)
    if limit:
        text += f"%{limit}"
    if width and len(text) > width:
        text = text[: width - 4] + "..."
    return text


def task_ranges(tasks: Iterable[int]) -> str:
    """Task indices as ranges alone.

    >>> task_ranges({4, 1, 2})
    '1-2,4'
    """
    return ranges(sorted(tasks))


def _stepped(found: list[int]) -> str:
    """``first-last:step`` for more than five tasks a regular step above 1 apart, over more than ten; else empty."""
    if len(found) <= 5 or found[-1] - found[0] <= 10:
        return ""
    step = found[1] - found[0]
    if step < 2 or any(b - a != step for a, b in pairwise(found)):
        return ""
    return f"{found[0]}-{found[-1]}:{step}"
