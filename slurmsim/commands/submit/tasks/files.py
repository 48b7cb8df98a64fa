"""Where a task's input and output go: srun's ``-o``, ``-e``, ``-i`` and their patterns (fname.c, 22.05)."""

from slurmsim.fast_imports import NamedTuple
from slurmsim.numerals import is_number
from slurmsim.path_patterns import PATTERN

ALL, EACH, ONE = "all", "each", "one"
_OF_TASKS = frozenset("nNtu")


class Target(NamedTuple):
    """Where one stream goes: srun's own (`name` None), one file for all, a file for each task, or only task `task`."""

    kind: str
    name: str | None = None
    task: int = -1


def target(text: str | None, tasks: int) -> Target:
    """Return what an option's text means, patterns not yet filled in."""
    if text is None or text[:3].lower() == "all" or text.startswith("-"):
        return Target(ALL)
    if text.lower() == "none" or text == "/dev/null":
        return Target(EACH, "/dev/null")
    if is_number(text) and int(text) < tasks:
        return Target(ONE, None, int(text))
    if "\\" in text:
        return Target(ALL, text)
    letters = {letter for _, letter in PATTERN.findall(text)}
    return Target(EACH if letters & _OF_TASKS else ALL, text)
