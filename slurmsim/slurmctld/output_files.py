"""File names of a job's output and input: defaults and the patterns of job-lifecycle (slurm %-signs)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from slurmsim.slurmctld.live_job import LiveJob

NO_TASK = 4_294_967_294
_PATTERN = re.compile(r"%(\d*)([%AabjJNnstux])", re.ASCII)
_NUMERIC = frozenset("AabjJnt")


def expand(text: str, values: Mapping[str, str]) -> str:
    r"""`text` with its patterns filled in; a backslash anywhere turns them off.

    >>> expand("out-%5j.%x", {"j": "33", "x": "name"}), expand(r"a\%j", {"j": "1"})
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
        return value.zfill(min(int(width), 10)) if width and letter in _NUMERIC else value

    return _PATTERN.sub(fill, text)


def values_of(live: LiveJob, host: str | None = None) -> dict[str, str]:
    """What the patterns of a batch job stand for; `host` is this machine unless it is said."""
    array = live.array.id if live.array is not None else live.id
    task = live.task if live.task is not None else NO_TASK
    return {
        "A": str(array), "a": str(task), "j": str(live.id), "J": str(live.id), "u": live.person.name,
        "x": str(live.asked.get("name") or ""), "n": "0", "t": "0", "s": "batch",
        "N": host or os.uname().nodename.partition(".")[0],
    }  # fmt: skip


def file_name(live: LiveJob, which: str, host: str | None = None) -> str | None:
    """The path of a batch job's ``std_out``, ``std_err`` or ``std_in``; None for jobs without a script."""
    if not live.asked.get("script"):
        return None
    text = live.asked.get(which)
    if text is None and which == "std_err":
        text = live.asked.get("std_out")
    if text is None:
        if which == "std_in":
            return "/dev/null"
        text = "slurm-%A_%a.out" if live.array is not None else "slurm-%j.out"
    if text == "none":
        return "/dev/null"
    return os.path.join(str(live.asked.get("work_dir") or "/"), expand(str(text), values_of(live, host)))
