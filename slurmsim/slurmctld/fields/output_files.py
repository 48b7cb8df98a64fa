"""File names of a job's output and input: defaults and the patterns of job-lifecycle (slurm %-signs)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from slurmsim import sluid
from slurmsim.path_patterns import filled
from slurmsim.release_changes import since
from slurmsim.releases import row as of_release
from slurmsim.slurmctld.base.live_job import LiveJob, Row
from slurmsim.slurmctld.fields.array_rows import is_list

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NO_TASK = 4_294_967_294
_SHOWN = {"22.05": frozenset("Aajux"), "24.11": frozenset("Aabjux"), "26.05": frozenset("AabjuxJNnrSst")}
"""By release: the patterns slurmctld fills in where it shows a file; 22.05 knows no widths and no ``%%``."""
_PLAIN = re.compile(r"%([A-Za-z])")


def values_of(live: LiveJob, host: str | None = None) -> dict[str, str]:
    """Return what the patterns of a batch job stand for; `host` is this machine unless it is said."""
    array = live.array.id if live.array is not None else live.id
    task = live.task if live.task is not None else NO_TASK
    return {
        "A": str(array), "a": str(task), "j": str(live.id), "J": str(live.id), "u": live.person.name,
        "x": str(live.asked.get("name") or ""), "n": "0", "t": "0", "s": "batch",
        "N": host or os.uname().nodename.partition(".")[0],
    }  # fmt: skip


def file_name(live: LiveJob, which: str, host: str | None, cluster: LiveCluster) -> str | None:
    """Return the path of a batch job's ``std_out``, ``std_err`` or ``std_in``; None for jobs without a script."""
    return _path(live, which, lambda text: filled(text, values_of(live, host) | _of_its_run(live, cluster)))


def _of_its_run(live: LiveJob, cluster: LiveCluster) -> dict[str, str]:
    """Return what ``%S`` and ``%r`` stand for, where they are patterns: the job's SLUID, and its restarts."""
    if not since(cluster.release, "sluids_and_restarts_in_file_names"):
        return {}
    return {"S": sluid.text(cluster.storage.first(live).db_index), "r": str(live.core.restarts)}


def _path(live: LiveJob, which: str, fill: Callable[[str], str]) -> str | None:
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
    return os.path.join(str(live.asked.get("work_dir") or "/"), fill(str(text)))


def shown_file(row: Row, which: str, cluster: LiveCluster) -> str | None:
    """Return a file of the job; of an array's own record with the number that stands for no task."""
    live = replace(row.job, task=None) if is_list(row, cluster) else row.job
    known, alloc = of_release(_SHOWN, cluster.release), row.core.alloc
    host = cluster.controller.state.table.names[int(alloc.indices()[0])] if alloc is not None else "(null)"
    values = values_of(live, host) | _of_its_run(live, cluster)
    values["b"] = str(int(values["a"]) % 10)
    values = {letter: value for letter, value in values.items() if letter in known}
    if "b" in known:
        return _path(live, which, lambda text: filled(text, values))
    return _path(live, which, lambda text: _PLAIN.sub(lambda found: values.get(found[1], found[0]), text))
