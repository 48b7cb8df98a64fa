"""swait: wait until a job's steps are over (26.05). It asks the daemon again and again instead of being told."""

from __future__ import annotations

import time

from slurmsim import sluid
from slurmsim.commands.io import text_of
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, OptionError, Parser, options
from slurmsim.commands.text.release import version_of
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.io import Io

_OPTIONS = options(
    ("autocomplete", REQUIRED, "autocomplete"), ("help", NO, "h"), ("quiet", NO, "Q"),
    ("timeout", REQUIRED, "timeout"), ("usage", NO, "usage"), ("verbose", NO, "v"), ("version", NO, "V"),
)  # fmt: skip
_USAGE = "Usage: swait [-hQvV] [--timeout=SECS] [--usage] [<jobid>[_<task>] | s<sluid>]\n"
_HELP = """\
Usage: swait [OPTIONS] [<jobid>[_<task>] | s<sluid>]

Wait for the steps of a job that run; by default the job in SLURM_JOB_SLUID or SLURM_JOB_ID.

Options:
  -Q, --quiet             say less
      --timeout=SECS      wait no longer than this
  -v, --verbose           say more
  -V, --version           the release

Help options:
  -h, --help              this text
      --usage             one line of it

Exit status:
  0  no step runs any more, 1  the time is over, 2  something is wrong
"""
_FIELDS = ("job_id", "array_job_id", "array_task_id", "job_state", "batch_host", "bitflags")
_POLL_S = 0.2
_OVER, _WRONG = 1, 2


@stoppable
def run(argv: list[str], io: Io, sleep: Callable[[float], None] = time.sleep) -> int:
    """One swait call in the world `io`; the exit code."""
    parser = Parser(_OPTIONS, permute=True)
    timeout: int | None = None
    try:
        for key, value in parser.parse(argv):
            if key in ("h", "usage", "V"):
                io.out({"h": _HELP, "usage": _USAGE, "V": version_of(io)}[key])
                return 0
            if key == "autocomplete":
                io.out(_completions(value or ""))
                return 0
            if key == "timeout":
                timeout = _seconds(io, value or "")
    except OptionError as error:
        io.error(f'swait: {error}\nswait: Try "swait --help" for more information')
        return _WRONG
    if len(parser.rest) > 1:
        raise _stop(io, "too many positional arguments (expected at most one job id)")
    word = next(iter(parser.rest), "") or io.environ.get("SLURM_JOB_SLUID") or io.environ.get("SLURM_JOB_ID") or ""
    if not word:
        raise _stop(io, "no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set")
    manager = io.environ.get("SLURM_STEPMGR")
    if manager and word == (io.environ.get("SLURM_JOB_SLUID") or io.environ.get("SLURM_JOB_ID")):
        _reach(io, manager)
    return _wait(io, _job(io, word), timeout, sleep)


def _reach(io: Io, manager: str) -> None:
    """Refuse a step manager on a node that there is not. Raises Stop."""
    try:
        names = io.client.call("nodes", fields=["name"])["columns"]["name"]
    except (Refusal, Unreachable):
        return
    if manager not in names:
        _stop(io, "swait: subscribe RPC failed: Unspecified error")
        raise _stop(io, f"subscribe to stepmgr {manager} failed: Unspecified error")


def _stop(io: Io, text: str) -> Stop:
    io.error(f"swait: error: {text}")
    return Stop(_WRONG)


def _seconds(io: Io, text: str) -> int:
    if not is_number(text):
        raise _stop(io, f"--timeout: invalid value '{text}' (must be a non-negative integer)")
    return int(text)


def _completions(begin: str) -> str:
    words = [f"--{option.name}{'=' if option.argument == REQUIRED else ''}" for option in _OPTIONS]
    return "".join(f"{word}\n" for word in words if word.startswith(begin)) + "\n"


def _job(io: Io, word: str) -> int:
    """Return the id of the job that is named. Raises Stop."""
    number, under, task = word.partition("_")
    named = sluid.number_of(word) is not None
    for mark, wrong in ((".", "swait operates on a job, not a step"), ("+", "het-job offsets are not supported"),
                        ("[", "array-task ranges are not supported, pass one task offset")):  # fmt: skip
        if mark in word:
            raise _stop(io, f"{word}: {wrong}")
    if not named and not (is_number(number) and int(number) and (is_number(task) if under else True)):
        raise _stop(io, f"{word}: cannot parse job id")
    label = f"SLUID={word}" if named else f"JobId={number}"
    try:
        found = io.client.call("jobs", job_id=word if named else number, fields=list(_FIELDS))
    except (Refusal, Unreachable) as error:
        raise _stop(io, f"cannot load {label}: {text_of(error)}") from None
    rows = [dict(zip(_FIELDS, row, strict=True)) for row in zip(*(found["columns"][f] for f in _FIELDS), strict=True)]
    return _chosen(io, rows, label, word, task if under else None)


def _chosen(io: Io, rows: list[dict[str, Any]], label: str, word: str, task: str | None) -> int:
    arrays = any(row["array_job_id"] for row in rows)
    if task is not None:
        if not arrays:
            raise _stop(io, f"{label}: not an array job")
        rows = [row for row in rows if row["array_task_id"] == int(task)]
        if not rows:
            raise _stop(io, f"array task {word}: not found")
    elif arrays and sluid.number_of(word) is None:
        raise _stop(io, f"{label} is an array job; pass a specific task offset (jobid_task)")
    row = rows[0]
    if "PENDING" in str(row["job_state"]):
        raise _stop(io, f"{label} is still pending; swait does not wait for jobs to start")
    if "STEPMGR_ENABLED" not in row["bitflags"]:
        raise _stop(io, f"{label} does not have stepmgr enabled")
    if not any(word in str(row["job_state"]) for word in ("RUNNING", "SUSPENDED", "COMPLETING")):
        io.error("swait: error: swait: subscribe RPC failed: Invalid job id specified")
        raise _stop(io, f"subscribe to stepmgr {row['batch_host']} failed: Invalid job id specified")
    return int(row["job_id"])


def _wait(io: Io, job: int, timeout: int | None, sleep: Callable[[float], None]) -> int:
    begin = time.monotonic()
    after: dict[str, int] = {}
    while True:
        try:
            answer = io.client.call("steps_drained", job_id=job, **after)
        except (Refusal, Unreachable) as error:
            raise _stop(io, f"swait: subscribe RPC failed: {text_of(error)}") from None
        if answer["drained"]:
            return 0
        after = {"after": answer["after"]}
        left = None if timeout is None else begin + timeout - time.monotonic()
        if left is not None and left <= 0:
            io.error(f"swait: error: timed out after {timeout} seconds")
            return _OVER
        sleep(_POLL_S if left is None else min(_POLL_S, left))
