"""``sacct -c``: the log of ended jobs (JobCompType=jobcomp/filetxt), a row a line in the order of the file.

Mirrors sacct and jobcomp_filetxt.c (22.05): ids and partitions choose rows, other conditions do not.
"""

from __future__ import annotations

import os

from slurmsim.commands.text.dashed_table import Head, heading, line
from slurmsim.commands.text.messages import Stop
from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmsim.commands.io import Io
    from slurmsim.commands.sacct.words import Asked

DEFAULT = "jobid,uid,jobname,partition,nnodes,nodelist,state,end"
_key = pattern(r"(?:^| )(\w+)=")
_UNKNOWN = ("ArrayJobId", "ArrayTaskId")  # what sacct reads in a line, and tells that it does not know it
_KEYS = {
    "jobid": "JobId", "jobidraw": "JobId", "jobname": "Name", "partition": "Partition", "nodelist": "NodeList",
    "state": "JobState", "start": "StartTime", "end": "EndTime", "account": "Account", "qos": "QOS",
    "submit": "SubmitTime", "eligible": "EligibleTime", "workdir": "WorkDir", "cluster": "Cluster",
}  # fmt: skip


def path_of(io: Io, location: str) -> str:
    """Where the cluster keeps the log that JobCompLoc names."""
    return os.path.join(io.client.folder, "var", "log", os.path.basename(location) or "slurm_jobcomp.log")


def show(asked: Asked, io: Io) -> int:
    """Print the log; the exit code. Raises Stop for a column it has not."""
    for field, _ in asked.columns:
        if field.name.lower() not in {*_KEYS, "uid", "gid", "user", "group", "nnodes"}:
            io.error(f"sacct: error: slurmsim: the log of ended jobs has no {field.name}")
            raise Stop(1)
    heads = [Head(field.name, width, field.kind) for field, width in asked.columns]
    jobs = [job for job in _jobs(asked, io) if _wanted(job, asked)]
    io.out(heading(heads, asked.style))
    for job in jobs:
        cells = [_cell(job, field.name.lower()) for field, _ in asked.columns]
        io.out(line(heads, cells, asked.style))
    return 0


def _jobs(asked: Asked, io: Io) -> Iterator[dict[str, str]]:
    """Yield the jobs that were named, or all; what is not known of them is told."""
    ids = {str(number) for number, *_ in asked.steps}
    try:
        with open(asked.log, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:  # nothing has ended yet
        return
    for text in lines:
        job = _fields(text)
        if ids and job["JobId"] not in ids:
            continue
        for key in _UNKNOWN:
            if key in job:
                io.error(f"sacct: error: Unknown type {key}: {job[key]}")
        yield job


def _fields(text: str) -> dict[str, str]:
    """Return the ``Key=value`` pairs of a line; a value may hold blanks."""
    keys = list(_key.finditer(text))
    ends = [following.start() for following in keys[1:]] + [len(text.rstrip())]
    return {key[1]: text[key.end() : end] for key, end in zip(keys, ends, strict=False)}


def _wanted(job: dict[str, str], asked: Asked) -> bool:
    partitions = asked.cond.get("partitions")
    return not partitions or job["Partition"] in partitions


def _cell(job: dict[str, str], name: str) -> str:
    if name in ("uid", "user"):
        user, _, number = job["UserId"].rstrip(")").rpartition("(")
        return number if name == "uid" else user
    if name in ("gid", "group"):
        group, _, number = job["GroupId"].rstrip(")").rpartition("(")
        return number if name == "gid" else group
    if name == "nnodes":  # of a run that is over
        return "0" if job["NodeList"] == "(null)" or job["JobState"] == "PENDING" else job["NodeCnt"]
    return job[_KEYS[name]]
