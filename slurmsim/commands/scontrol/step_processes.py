"""Processes of steps on this machine, found as their environment names them."""

from __future__ import annotations

import os

from slurmsim.fast_imports import NamedTuple
from slurmsim.numerals import is_number
from slurmsim.protocol import FOLDER_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEY = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID")
_MOST = 1 << 20  # bytes of an environment that are read


class Process(NamedTuple):
    """One process of a step; those a task has made have neither place nor number."""

    pid: int
    job_id: int
    step: str
    node: str
    local: str
    everywhere: str


def step_processes(folder: str, proc: str = "/proc") -> list[Process]:
    """Return the processes of tasks that jobs of the cluster in `folder` run and the caller may look into, by id."""
    here = os.path.realpath(folder)
    tasks = {pid: environ for pid, environ in _environments(proc) if _of(environ, here)}
    found = []
    for pid, environ in sorted(tasks.items()):
        made = _key(tasks.get(_parent(proc, pid), {})) == _key(environ)
        local, everywhere = ("-", "-") if made else (environ["SLURM_LOCALID"], environ["SLURM_PROCID"])
        found.append(Process(pid, int(environ["SLURM_JOB_ID"]), environ["SLURM_STEP_ID"],
                             environ.get("SLURMD_NODENAME", ""), local, everywhere))  # fmt: skip
    return found


def _key(environ: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(environ.get(name) for name in _KEY)


def _of(environ: Mapping[str, str], folder: str) -> bool:
    """Return True for a task of a numbered step of the cluster in `folder`."""
    named = all(is_number(environ.get(name, "")) for name in (*_KEY, "SLURM_LOCALID"))
    return named and os.path.realpath(environ.get(FOLDER_VARIABLE) or folder) == folder  # else that of its user


def _environments(proc: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield id and environment of every process that may be looked into."""
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return
    for name in names:
        try:
            with open(f"{proc}/{name}/environ", "rb") as file:
                text = os.fsdecode(file.read(_MOST))
        except OSError:
            continue
        yield int(name), dict(part.split("=", 1) for part in text.split("\0") if "=" in part)


def _parent(proc: str, pid: int) -> int:
    """Return the id of a process's parent; 0 if the process is gone."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            return int(file.read(_MOST).rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
