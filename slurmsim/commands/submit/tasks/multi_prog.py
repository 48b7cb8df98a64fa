"""srun --multi-prog: a file that says which tasks run which program (multi_prog.c, 22.05)."""

import os
import shlex

from slurmsim.numerals import is_number

_MOST = 4095
_LARGEST = 60_000  # bytes srun sends


class BadFile(Exception):
    """The file cannot be used; the text is srun's complaint."""


def find_file(path: str) -> None:
    """Check the file as srun does before it asks for an allocation (_load_multi in launch_slurm.c). Raises BadFile."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
    except OSError:
        raise BadFile(f"Could not open multi_prog config file {path}") from None
    if size > _LARGEST:
        raise BadFile(f"Multi_prog config file {path} is too large")


def read_programs(path: str, tasks: int, arguments: list[str], fixed: bool) -> dict[int, list[str]]:
    """Task -> its command. Raises BadFile.

    Parameters
    ----------
    path
        The file: lines ``RANKS PROGRAM [ARGUMENT…]``; ``%t`` is the task, ``%o`` its place in the range.
    arguments
        Words after the file's name, added to every command.
    fixed
        Whether that many were asked for; else the file may name more.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_LARGEST + 1)
    except OSError:
        raise BadFile(f"Unable to open configuration file {path}") from None
    if len(text) > _LARGEST:  # what has no size, as a device
        raise BadFile(f"Multi_prog config file {path} is too large")
    found: dict[int, list[str]] = {}
    for number, line in enumerate(text.replace("\\\n", " ").split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) >= _MOST:
            raise BadFile(f"Line {number} of configuration file {path} too long")
        ranks, _, command = line.partition(" ") if "\t" not in line.split(" ")[0] else line.partition("\t")
        if not command.strip():
            raise BadFile(f"Line {number} of configuration file {path} is invalid")
        try:
            words = shlex.split(command)
        except ValueError:
            raise BadFile(f"Line {number} of configuration file {path} is invalid") from None
        for place, task in enumerate(_ranks(ranks, tasks, fixed, found)):
            found[task] = [w.replace("%t", str(task)).replace("%o", str(place)) for w in (*words, *arguments)]
    for task in range(max(tasks, max(found, default=-1) + 1)):
        if task not in found:
            raise BadFile(f"Configuration file {path} invalid, no record for task id {task}")
    return found


def _ranks(text: str, tasks: int, fixed: bool, taken: dict[int, list[str]]) -> list[int]:
    if text == "*":
        return [task for task in range(tasks) if task not in taken]
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not is_number(first) or (dash and not is_number(last)):
            raise BadFile(f"Invalid task range specification ({part})")
        low, high = int(first), int(last or first)
        if low > high:
            raise BadFile(f"Invalid task range, {low}-{high}")
        if high >= tasks and fixed:
            raise BadFile(f"Invalid task id, {high} >= ntasks")
        for task in range(low, high + 1):
            if task in taken or task in found:
                raise BadFile(f"Duplicate record for task {task}")
            found.append(task)
    return found
