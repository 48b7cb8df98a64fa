"""Tasks of the sandbox, and how each is graded: files of `tasks`, one a world.

A task begins on a copy of its world. It is solved by commands, by an answer, or by both:

- *operate*: commands bring the cluster to a state; checks are commands, and their output is compared;
- *diagnose*: an answer is compared, and checks say that nothing was changed;
- *tune*: the copy and one that was left alone live on until all jobs have started; waits are compared.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from slurmsim.assistant.sandbox import Copy, World
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError

KINDS = ("operate", "diagnose", "tune")
FOLDER = Path(__file__).with_name("tasks")
MOST_ANSWER = 200
MOST_ROWS = 10_000
_LOOK_S = 3600  # step of the clock while waits are compared
_LONGEST_S = 14 * 86_400


@dataclass(frozen=True, slots=True)
class Check:
    """A command, by root, and what it must print: a regular expression for all of its lines together."""

    command: str
    prints: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `text` is what is asked; all else is the grader's."""

    name: str
    kind: str
    text: str
    world: str
    user: str = "root"  # who carries out the commands
    setup: tuple[str, ...] = ()
    later_s: int = 0  # checks come after so many seconds
    checks: tuple[Check, ...] = ()
    answer: str = ""  # a regular expression, for an answer in lower case
    jobs: str = ""  # a regular expression; waits of jobs with such names count
    at_most: float = 0.0  # their mean wait, over that of the copy that was left alone
    others_at_most: float = 0.0  # the same of all other jobs; 0 for anything


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether a task is solved, and what is missing."""

    solved: bool
    missing: tuple[str, ...]


@cache
def tasks() -> Mapping[str, Task]:
    """Return all tasks by name, in the order of the files."""
    return {task.name: task for file in sorted(FOLDER.glob("*.toml")) for task in _read(file)}


def _read(file: Path) -> Iterator[Task]:
    with file.open("rb") as opened:
        found = tomllib.load(opened)
    for name, one in found["task"].items():
        checks = tuple(Check(command, prints) for command, prints in one.pop("checks", ()))
        yield Task(name, world=file.stem, setup=tuple(one.pop("setup", ())), checks=checks, **one)


def make_world(task: Task) -> World:
    """Return the world of a task, with the task's own set-up done."""
    with (FOLDER / f"{task.world}.toml").open("rb") as opened:
        found = tomllib.load(opened)["world"]
    return World(found["conf"], found["users"], (*found["setup"], *task.setup))


class Attempt:
    """One try at a task: a copy of its world, and an answer."""

    def __init__(self, task: Task, world: World) -> None:
        self.task, self._world = task, world
        self.copy = world.copy()
        self._answer = ""

    def command(self, line: str) -> tuple[int, list[str]]:
        """Run a command as the task's user; its exit code and lines. Raises ConfigError."""
        return self.copy.command(line, self.task.user)

    def answer(self, text: str) -> None:
        """Give the answer; the last one counts. Raises ConfigError."""
        if len(text) > MOST_ANSWER:
            raise ConfigError(f"{len(text)} characters", field="answer", expected=f"up to {MOST_ANSWER}")
        self._answer = text

    def grade(self) -> Grade:
        """Return the grade. Time passes in the copy, so nothing can be mended afterwards."""
        task, missing = self.task, []
        if task.answer and not re.fullmatch(task.answer, " ".join(self._answer.lower().split())):
            missing.append("the answer is another" if self._answer else "there is no answer")
        self.copy.wait(task.later_s)
        for check in task.checks:
            _, lines = self.copy.command(check.command)
            if not re.fullmatch(check.prints, "\n".join(line.rstrip() for line in lines), re.DOTALL):
                missing.append(f"{check.command} prints {' '.join(lines)[:120]!r}")
        if task.jobs:
            missing += self._waits()
        return Grade(not missing, tuple(missing))

    def _waits(self) -> Iterator[str]:
        alone = self._world.copy()
        begin = alone.now
        alone.wait(self.copy.now - begin)
        mine, left = _rows(self.copy), _rows(alone)
        waited = {job: one for job, one in left.items() if one.start is None or one.start > begin}
        lost = sorted(job for job in waited if job not in mine or mine[job].start is None)
        if lost:
            yield f"job {lost[0]} never starts"
            return
        for which, most in ((True, self.task.at_most), (False, self.task.others_at_most)):
            among = [job for job, one in waited.items() if bool(re.fullmatch(self.task.jobs, one.name)) is which]
            if most and among:
                ours, theirs = (fmean(rows[job].wait_s(until) for job in among)
                                for rows, until in ((mine, self.copy.now), (left, alone.now)))  # fmt: skip
                if ours > most * theirs:
                    who = "these jobs" if which else "other jobs"
                    yield f"{who} wait {ours / 60:.0f} min in the mean; left alone, {theirs / 60:.0f} min"


@dataclass(frozen=True, slots=True)
class _Row:
    """What sacct tells of a job: seconds since the epoch, None for a start that never came."""

    name: str
    submit: int
    start: int | None

    def wait_s(self, until: int) -> int:
        return (until if self.start is None else self.start) - self.submit


def _rows(copy: Copy) -> dict[str, _Row]:
    """Return all jobs by their ids as sacct prints them, after living on until none waits that can start."""
    until = copy.now + _LONGEST_S
    while copy.now < until and copy.command("squeue -h -t PENDING -o %i")[1]:
        copy.wait(_LOOK_S)
    _, lines = copy.command("sacct -a -X -n -P -S 2026-01-01 -o JobID,JobName,Submit,Start", most=MOST_ROWS)
    found = {}
    for line in lines:
        job, name, submit, start = line.split("|")
        found[job] = _Row(name, _seconds(submit) or 0, _seconds(start))
    return found


def _seconds(text: str) -> int | None:
    """Return a time that sacct prints; None for ``Unknown`` or ``None``."""
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


class Sandbox:
    """All tasks; a world is made when its task is first begun, and kept for the next try. A context manager."""

    def __init__(self) -> None:
        self.tasks = tasks()
        self._worlds: dict[str, World] = {}

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        for world in self._worlds.values():
            world.__exit__()
        self._worlds.clear()

    def begin(self, name: str) -> Attempt:
        """Begin a task, or begin it again. Raises ConfigError for one that is not there."""
        task = self.tasks.get(name)
        if task is None:
            raise ConfigError(f"{name[:60]!r}", field="task", expected="a name that tasks lists")
        if name not in self._worlds:
            self._worlds[name] = make_world(task)
        return Attempt(task, self._worlds[name])


def listed() -> list[dict[str, Any]]:
    """Return all tasks as they are told: name, kind, user and text."""
    return [{"task": one.name, "kind": one.kind, "user": one.user, "text": one.text} for one in tasks().values()]
