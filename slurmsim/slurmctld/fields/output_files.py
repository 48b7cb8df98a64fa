"""File names of a job's output and input: defaults and the patterns of job-lifecycle (slurm %-signs)."""

from __future__ import annotations

import os
from dataclasses import replace

from slurmsim.path_patterns import filled
from slurmsim.slurmctld.base.live_job import LiveJob, Row

NO_TASK = 4_294_967_294


def values_of(live: LiveJob, host: str | None = None) -> dict[str, str]:
    """Return what the patterns of a batch job stand for; `host` is this machine unless it is said."""
    array = live.array.id if live.array is not None else live.id
    task = live.task if live.task is not None else NO_TASK
    return {
        "A": str(array), "a": str(task), "j": str(live.id), "J": str(live.id), "u": live.person.name,
        "x": str(live.asked.get("name") or ""), "n": "0", "t": "0", "s": "batch",
        "N": host or os.uname().nodename.partition(".")[0],
    }  # fmt: skip


def file_name(live: LiveJob, which: str, host: str | None = None) -> str | None:
    """Return the path of a batch job's ``std_out``, ``std_err`` or ``std_in``; None for jobs without a script."""
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
    return os.path.join(str(live.asked.get("work_dir") or "/"), filled(str(text), values_of(live, host)))


def shown_file(row: Row, which: str) -> str | None:
    """Return a file of the job; of an array's own record with the number that stands for no task."""
    name = file_name(row.job, which)
    if not row.tasks or name is None:
        return name
    unset = replace(row.job, task=None)
    return file_name(unset, which)
