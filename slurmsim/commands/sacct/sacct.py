"""sacct: what became of jobs.

Mirrors sacct 22.05 (later rows from 24.11 and 26.05). The command line is read in `options`, what can be shown is
in `fields`; here rows are made complete and printed.
"""

from __future__ import annotations

from slurmsim import sluid
from slurmsim.commands.sacct import completions
from slurmsim.commands.sacct import fields as sacct_fields
from slurmsim.commands.sacct.options import read
from slurmsim.commands.sacct.words import OPTIONS
from slurmsim.commands.text import short_helps
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.dashed_table import Head, heading, line
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.release import of_openapi, release_of
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.sacct.words import Asked


_AT_A_TIME = 500  # rows the daemon looks at for one answer
_RULE = "-" * 80
_TIMES = (
    "\nvalid start/end time formats are...\n  HH:MM[:SS], MMDD[YY], MM/DD[/YY], MM.DD[.YY], YYYY-MM-DD[THH:MM[:SS]]\n"
)


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sacct call in the world `io`; the exit code."""
    try:
        asked = read(argv, io, release_of(io))
        if asked.help:
            return _help(asked, io)
        if asked.log:
            return completions.show(asked, io)
        if asked.dump:
            return _dump(asked, argv, io)
        return _print(asked, io)
    except Unreachable as error:
        io.error(database_away("sacct", error, "error: Problem talking to the database: {}"))
        return 1


def _dump(asked: Asked, argv: list[str], io: Io) -> int:
    """--json, --yaml: as the release has them."""
    from slurmsim.commands.json import openapi_sacct  # long, and rarely wanted
    from slurmsim.commands.json import sacct as data_parser

    as_openapi = of_openapi("sacct", asked.release, io)
    jobs = load(asked, io)
    if as_openapi:
        return openapi_sacct.dump_jobs(jobs, asked, io)
    return data_parser.dump_jobs(jobs, asked, argv, io)


def _help(asked: Asked, io: Io) -> int:
    if asked.help == "fields":
        _in_columns([f.name for f in sacct_fields.fields_of(asked.release)], 4, 19, io)
    elif asked.help == "states":
        from slurmsim.commands.text.job_state_text import BASES

        _in_columns(list(BASES), 4, 19, io)
    elif asked.help == "usage":
        io.out("Usage: sacct [options]\n\tUse --help for help\n")
    else:
        listed = [option for option, first in OPTIONS if first <= asked.release]
        io.out(short_helps.text("sacct", listed, _TIMES))
    return 0


def _in_columns(names: list[str], count: int, width: int, io: Io) -> None:
    lines = [" ".join(f"{name:<{width}}" for name in names[at : at + count]) for at in range(0, len(names), count)]
    io.out("\n".join(lines) + "\n")


def load(asked: Asked, io: Io) -> list[dict[str, Any]]:
    """Return the jobs, complete and in sacct's order. Raises Stop, Unreachable."""
    jobs: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:  # in parts, so that other clients do not wait long
        try:
            answer = io.client.call("accounting_jobs", **asked.cond, after=after, most=_AT_A_TIME)
        except Refusal as error:  # numbered by slurmdbd, else of the storage as a whole
            io.error(f"sacct: error: {error.text}" if error.number else error.text)
            raise Stop(error.number or 1) from None
        columns = answer["columns"]
        for row in zip(*columns.values(), strict=True):
            job = dict(zip(columns, row, strict=True))
            job["cluster"] = answer["cluster"]
            _complete(job, asked, int(answer["now"]))
            jobs.append(job)
        after = answer.get("further")
    jobs.sort(key=_order)
    return jobs


def _order(job: dict[str, Any]) -> tuple[int, int, int, int]:
    task = job["array_task_id"]
    return job["submit"], job["array_job_id"], 0xFFFFFFFE if task is None else task, job["job_id"]


def _complete(job: dict[str, Any], asked: Asked, now: int) -> None:
    """Elapsed times and what else slurmdbd works out when it is asked."""
    job["stored_comment"] = job.get("derived_es")  # the job's own only with AccountingStoreFlags=job_comment
    job["sluid"], job["original_sluid"] = map(sluid.text, (job["db_index"], job["original_index"]))
    job["now"] = now
    window = asked.cond["start"], min(asked.cond["end"], now)
    ran = bool(job["start"])
    if asked.truncate:
        _truncate(job, *window)
    job["elapsed"] = _elapsed(job, now)
    if not ran and job["end"] and not asked.truncate:
        job["start"] = None  # it never had one
    steps = []
    for step in job.get("steps") or ():
        step["job"], step["suspended"] = job, job["suspended"] if step["state"] == "SUSPENDED" else 0
        if step["start"] > asked.cond["end"] or (step["end"] and step["end"] < asked.cond["start"]):
            continue
        if asked.truncate:
            _truncate(step, *window)
        step["elapsed"] = _elapsed(step, now)
        if not step["end"]:
            step["end"] = job["end"]
        steps.append(step)
    job["steps"] = steps
    _choose_steps(job, asked)


def _truncate(record: dict[str, Any], start: int, end: int) -> None:
    """-T: times outside the window are moved to its ends."""
    if record["start"] and record["start"] < start:
        record["start"] = start
    if not record["end"] or record["end"] > end:
        record["end"] = end
    if not record["start"]:
        record["start"] = record["end"]


def _elapsed(record: dict[str, Any], now: int) -> int:
    if not record["start"]:
        return 0
    return max(0, int(record["end"] or now) - int(record["start"]) - int(record["suspended"]))


def _choose_steps(job: dict[str, Any], asked: Asked) -> None:
    """Which of its lines are shown: the job and all steps, unless only steps of it were named, and no steps at all."""
    wanted: set[int] = set()
    job["show_full"] = True
    for number, task, step in () if asked.no_steps else asked.steps:
        named = number in (job["job_id"], job["array_job_id"], job["db_index"])
        if not named or task not in (None, job["array_task_id"]):
            continue
        if step is None:
            job["show_full"] = True
            return  # what was named before it stays
        wanted.add(step)
        job["show_full"] = False
    if wanted:
        job["steps"] = [step for step in job["steps"] if step["step_id"] in wanted]


def _print(asked: Asked, io: Io) -> int:
    show = sacct_fields.Show(
        asked.now, asked.release, Dates(io.environ, asked.now, unset="Unknown"), asked.convert, asked.unit, asked.expand
    )
    heads = [Head(field.name, width, field.kind) for field, width in asked.columns]
    lines: list[str] = []
    head = heading(heads, asked.style) if heads or not asked.style.header else "\n\n"
    if asked.script or asked.env:
        head = ""
    try:
        jobs = load(asked, io)
    except Stop:
        io.out(head)  # it was connected
        raise
    io.out(head)
    for job in jobs:
        if asked.script or asked.env:
            lines.append(_stored(job, asked))
            continue
        if job["show_full"]:
            for one in _tasks(job) if asked.array and job["array_task_str"] else [job]:
                cells = [field.job(show, one) if field.job else None for field, _ in asked.columns]
                lines.append(line(heads, cells, asked.style))
        if not asked.no_steps:
            for step in job["steps"]:
                cells = [field.step(show, step) if field.step else None for field, _ in asked.columns]
                lines.append(line(heads, cells, asked.style))
    if show.dates.problem:
        io.error(f"sacct: error: {show.dates.problem}")
    io.out("".join(lines))
    return 0


def _tasks(job: dict[str, Any]) -> list[dict[str, Any]]:
    """--array: a row a task."""
    from slurmsim.commands.text.array_text import tasks_of

    return [{**job, "array_task_str": None, "array_task_id": task} for task in tasks_of(job["array_task_str"])]


def _stored(job: dict[str, Any], asked: Asked) -> str:
    """-B, --env-vars: the script or environment where slurm.conf asks to store it, which is not modelled: none is."""
    name = sacct_fields.job_id_text(job)
    what = f"Batch Script for {name}" if asked.script else f"Environment used for {name} (must be batch to display)"
    if not since(asked.release, "script_without_heading"):
        return f"{what}\n{_RULE}\nNONE\n\n"
    return (f"{what}\n{_RULE}\n" if asked.style.header else "") + "NONE\n"
