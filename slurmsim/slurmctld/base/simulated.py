"""Which jobs are simulated, how long they run and how they end: by the script, an environment variable, or the default.

``#SLURMSIM runtime=90 exit=3`` in the script (anywhere in it), ``SLURMSIM_RUNTIME=90`` and ``SLURMSIM_EXIT=3`` in its
environment; ``term=20`` says how long it takes to die once it is told to; ``app=LeanMD:parallelism=24:sigma=0.2`` and
``malleable=yes`` say what its application is. Without a run time a script of nothing but ``sleep`` commands and an
``exit`` lasts as long as they say, and any other `DEFAULT_S` seconds.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.duration import parse_time_limit
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal
from slurmsim.sim.network import Behaviour
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

DEFAULT_S = 60
NEVER_S = 1 << 30  # longer than any KillWait
_DIRECTIVE = re.compile(r"^[^\S\n]*#SLURMSIM\s", re.MULTILINE)
_LINE = re.compile(r"^[^\S\n]*#SLURMSIM\s+(.*)$", re.MULTILINE)
_SLEEP = re.compile(r"(?:srun\s+(?:-\S+\s+)*)?sleep\s+([\d.]+|inf(?:inity)?)([smhd]?)\s*", re.ASCII)
_EXIT = re.compile(r"exit\s+(\d{1,18})\s*", re.ASCII)
_EXIT_OF_TASK = re.compile(
    r"exit\s+\$\(\(\s*\$?\{?SLURM_ARRAY_TASK_ID\}?\s*(?:(==|!=|<|>|\+|-|%)\s*(\d+)\s*)?\)\)\s*", re.ASCII
)
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "+": operator.add, "-": operator.sub,
    "%": operator.mod,
}  # fmt: skip
_VARIABLES = {name: f"SLURMSIM_{name.upper()}" for name in ("runtime", "exit", "term", "app", "malleable")}
EXPECTED = "runtime=TIME exit=STATUS term=TIME app=APPLICATION malleable=yes|no"
_YES_NO = {"yes": True, "no": False}
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_QUIET = ("true", ":", "echo ", "printf ", "hostname", "date", "pwd", "set ", "export ", "cd ", "env", "module ")


def is_real(asked: Mapping[str, Any]) -> bool:
    """Return True if a batch job of a cluster that runs jobs is to run, and not to be simulated.

    The script of a heterogeneous job is its first component's.
    """
    if asked.get("het_offset"):
        return False
    script = asked.get("script")
    environment = asked.get("environment") or {}
    return bool(script) and not _DIRECTIVE.search(str(script)) and "SLURMSIM_RUNTIME" not in environment


def behaviour_of(cluster: LiveCluster, asked: Mapping[str, Any], task: int | None = None) -> Behaviour:
    """Return what a job of this request does once it runs in `cluster`, which may run it really."""
    if asked.get("allocate") or asked.get("het_offset") or (cluster.runs_jobs and is_real(asked)):
        return Behaviour(-1, JobState.COMPLETED, "0:0", -1)
    return cluster.run_time(asked if task is None else {**asked, "array_task_id": task})


def behaviour(asked: Mapping[str, Any], otherwise: int = DEFAULT_S) -> Behaviour:
    """Return what the job of this request does once it runs; of one that does not tell how long, `otherwise` seconds.

    Raises Refusal for a line or variable that cannot be read.
    """
    seconds, status = _of_script(_with_task(str(asked.get("script") or ""), asked.get("array_task_id")))
    for where, name, value in _said(asked):
        try:
            if name == "runtime":
                seconds = _seconds(value)
            elif name == "exit":
                status = int(value) & 0xFF
            elif name == "term":
                _seconds(value)
            elif name not in _VARIABLES:
                raise ValueError(name)
        except ValueError:
            raise Refusal(f"Invalid {where} ({EXPECTED})") from None
    state = JobState.COMPLETED if status == 0 else JobState.FAILED
    return Behaviour(otherwise if seconds is None else seconds, state, f"{status}:0", -1)


def term_s(asked: Mapping[str, Any]) -> int:
    """Seconds the job takes to die once it is told to, as far as KillWait lets it; it may be more than that."""
    found = 0
    for _, name, value in _said(asked):
        if name == "term":
            found = _seconds(value)
    return found if found >= 0 else NEVER_S


def application(asked: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Return the job's application, and True if it is malleable; None where the job has none. Raises Refusal."""
    app, malleable, said = "", False, ""
    for where, name, value in _said(asked):
        if name == "app":
            app = value
        elif name == "malleable":
            said = where
            if value not in _YES_NO:
                raise Refusal(f"Invalid {where} (malleable=yes or no)")
            malleable = _YES_NO[value]
    if said and not app:
        raise Refusal(f"Invalid {said} (app=APPLICATION beside it)")
    return (app, malleable) if app else None


def _said(asked: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what script and environment say: where, the name and the value; the script goes before the environment."""
    script, environment = str(asked.get("script") or ""), asked.get("environment") or {}
    said = [(f"#SLURMSIM {word}", *word.partition("=")[::2])
            for match in _LINE.finditer(script) for word in match[1].replace(",", " ").split()]  # fmt: skip
    named = {name for _, name, _ in said}
    said += [(f"{variable}={environment[variable]}", name, str(environment[variable]))
             for name, variable in _VARIABLES.items() if variable in environment and name not in named]  # fmt: skip
    return said


def _with_task(script: str, task: int | None) -> str:
    """``exit $((SLURM_ARRAY_TASK_ID - 1))`` as the task with that index would see it."""
    if task is None:
        return script

    def status(match: re.Match[str]) -> str:
        value = _OPERATORS[match[1]](task, int(match[2])) if match[1] else task
        return f"exit {int(value) & 0xFF}"

    return _EXIT_OF_TASK.sub(status, script)


def _seconds(text: str) -> int:
    """``90``, ``1:30`` (minutes and seconds) or ``1:00:00``; -1 for ever."""
    if is_number(text):
        return int(text)
    if ":" in text:
        parts = [int(part) for part in text.split(":")]
        return sum(part * 60**k for k, part in enumerate(reversed(parts)))
    limit = parse_time_limit(text)
    return -1 if limit is None else limit


def _of_script(script: str) -> tuple[int | None, int]:
    """Seconds and exit status of a script of sleeps; None where it does anything that may take time."""
    total, status = 0.0, 0
    for line in script.splitlines():
        for command in filter(None, (part.strip() for part in re.split(r";|&&", line.partition(" #")[0]))):
            if command.startswith("#") or command.startswith(_QUIET):
                continue
            if match := _SLEEP.fullmatch(command):
                if match[1].startswith("inf"):
                    return -1, 0
                total += float(match[1]) * _UNITS[match[2]]
            elif match := _EXIT.fullmatch(command):
                return int(total), int(match[1]) & 0xFF
            elif command not in ("true", ":"):
                return None, 0
    return int(total), status
