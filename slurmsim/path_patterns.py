"""File name patterns of a job filled in: ``slurm-%A_%a.out`` (fname.c of slurmstepd and srun, 22.05)."""

from __future__ import annotations

from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping


PATTERN = pattern(r"(?a)%(\d*)([%AabjJNnrSstux])")
NUMBERS = frozenset("AabjJnrt")  # those that a width fills up with zeros


def filled(text: str, values: Mapping[str, str], numbers: frozenset[str] = NUMBERS) -> str:
    r"""Return `text` with its patterns filled in; a backslash anywhere turns them off.

    >>> filled("out-%5j.%x", {"j": "33", "x": "name"}), filled(r"a\%j", {"j": "1"})
    ('out-00033.name', 'a%j')
    """
    if "\\" in text:
        return text.replace("\\", "")

    def fill(match: re.Match[str]) -> str:
        width, letter = match[1], match[2]
        if letter == "%":
            return "%"
        value = values.get(letter)
        if value is None:
            return match[0]
        return value.zfill(min(int(width), 10)) if width and letter in numbers else value

    return PATTERN.sub(fill, text)


def expand_path(
    path: str, job: int, array: int | None, task: int | None, host: str | None, name: str, user: str, folder: str
) -> str:
    """Return `path` of a batch job as squeue shows it (--expand-patterns, 24.11 and later), absolute in `folder`."""
    return expand_step_path(path, job, array, task, "batch", host, name, user, folder)


def expand_step_path(
    path: str, job: int, array: int | None, task: int | None, step: str, host: str | None, name: str, user: str,
    folder: str,
) -> str:  # fmt: skip
    """Return `path` of the first task of a `step` (``0``, ``batch``) as squeue and scontrol show it.

    >>> expand_step_path("out-%J.%t", 7, None, None, "0", "n1", "one", "alice", "/home/alice")
    '/home/alice/out-7.0.0'
    """
    values = {
        "A": str(array or job), "a": str(4294967294 if task is None else task), "b": str((task or 0) % 10),
        "j": str(job), "n": "0", "t": "0", "J": f"{job}.{step}", "N": (host or "").partition(".")[0], "s": step,
        "u": user, "x": name,
    }  # fmt: skip
    text = filled(path, values, NUMBERS - {"J"})
    return text if text.startswith("/") else f"{folder}/{text}"
