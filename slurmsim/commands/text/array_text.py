"""The task list of a pending array: its text taken apart, put together, shortened (``xlate_array_task_str``, 22.05)."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


DEFAULT_LENGTH = 64  # characters of a list unless SLURM_BITSTR_LEN says otherwise; 0 is no bound
_LONGEST = 4096


def length_from(environ: Mapping[str, str]) -> int:
    """Return the bound SLURM_BITSTR_LEN gives."""
    text = environ.get("SLURM_BITSTR_LEN")
    if text is None:
        return DEFAULT_LENGTH
    try:
        length = int(text)
    except ValueError:
        return 0
    return DEFAULT_LENGTH if length < 0 else min(length, _LONGEST)


def tasks_of(text: str) -> list[int]:
    """Return the task numbers a list stands for, in order; a ``%limit`` is ignored.

    >>> tasks_of("1,3-5,10-20:5%2")
    [1, 3, 4, 5, 10, 15, 20]
    """
    tasks: list[int] = []
    for part in text.partition("%")[0].split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        first, last = first.rstrip("."), last.rstrip(".")  # a shortened list ends in dots
        if first:
            tasks.extend(range(int(first), int(last or first) + 1, int(step or 1)))
    return tasks


def tasks_printed(text: str) -> list[int]:
    """Return the tasks squeue --array makes of a printed list: where it has a step, the last one is lost, as in Slurm.

    >>> tasks_printed("1-9:2"), tasks_printed("1-3,7")
    ([1, 3, 5, 7], [1, 2, 3, 7])
    """
    tasks = tasks_of(text)
    return tasks[:-1] if ":" in text and tasks else tasks


def ranges(tasks: Iterable[int], length: int = 0) -> str:
    """``1,3-5`` for sorted task numbers, cut to fit a buffer of `length`.

    >>> ranges([1, 3, 4, 5, 9]), ranges(range(0, 100, 2), 10)
    ('1,3-5,9', '0,2,4,6,8')
    """
    parts: list[str] = []
    first = last = -2
    for task in tasks:
        if task != last + 1:
            if first >= 0:
                parts.append(str(first) if first == last else f"{first}-{last}")
            first = task
        last = task
    if first >= 0:
        parts.append(str(first) if first == last else f"{first}-{last}")
    text = ",".join(parts)
    return text[: length - 1] if length else text


def shown(text: str, length: int) -> str:
    """Return a task list as squeue prints it: regular steps as such, else ranges, shortened with dots.

    >>> shown("1-199:3", 64), shown("1-9:3%2", 64), shown("1-1000%5", 64)
    ('1-199:3', '1,4,7%2', '1-1000%5')
    """
    if not length or len(text) <= length - 3:
        if ":" not in text:
            return text
    elif "..." in text:
        return text
    tasks = tasks_of(text)
    limit = text.partition("%")[1:]
    step = _step(tasks)
    if step:
        body = f"{tasks[0]}-{tasks[-1]}:{step}"
    else:
        body = ranges(tasks, length)
        if length and len(body) > length - 3:
            body = body[: length - 4] + "..."
    return body + "".join(limit)


def _step(tasks: list[int]) -> int:
    """Return the regular step between more than five tasks spanning more than ten numbers, or 0."""
    if len(tasks) <= 5 or tasks[-1] - tasks[0] <= 10:
        return 0
    step = tasks[1] - tasks[0]
    if step == 1 or any(after - before != step for before, after in pairwise(tasks)):
        return 0
    return step
