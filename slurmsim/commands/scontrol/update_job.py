"""``scontrol update job``: the keywords, how their values are read, and what is sent.

Mirrors scontrol_update_job (22.05 to 26.05). Each keyword is a row: name, how much of it must be there, releases, the
reader of its value and the field of the request; the first row that matches counts.
"""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.job_values import NO_SIGN, ROWS, Abort, Request
from slurmsim.commands.scontrol.jobs import INVALID_JOB, ask, job_ids
from slurmsim.commands.scontrol.keywords import tag_matches
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.values import INFINITE, leading_number, minutes_of
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Words = Sequence[str]

# -- the request -----------------------------------------------------------------------------------------------------


def update_job(session: Session, words: Words) -> None:
    """Read the words and send the update, once for each job they name."""
    request = Request(session)
    try:
        at = 0
        while at < len(words):
            at += _word(request, words, at)
        _send(request)
    except Abort:
        pass


def _word(request: Request, words: Words, at: int) -> int:
    """Read the word there; how many words it took."""
    word = words[at]
    tag, equals, value = word.partition("=")
    sign = ""
    taken = 1
    if equals:
        if tag[-1:] in ("+", "-") and tag:
            tag, sign = tag[:-1], tag[-1]
    elif tag_matches(word, "Nice", 2):
        request.job["nice"] = 100
        request.changes += 1
        return 1
    elif tag_matches(word, "ResetAccrueTime", 3):
        request.job["reset_accrue_time"] = True
        request.changes += 1
        return 1
    elif at + 1 < len(words):
        value, taken = words[at + 1], 2
    else:
        raise request.abort(f"Invalid input: {word}", "Request aborted")
    _keyword(request, tag, value, sign, words[at + taken - 1])
    return taken


def _keyword(request: Request, tag: str, value: str, sign: str, word: str) -> None:
    if tag_matches(tag, "JobId", 3):
        request.ids = value
    elif tag_matches(tag, "AdminComment", 6):
        sign = _admin_comment(request, value, sign)
    elif tag_matches(tag, "TimeLimit", 5):
        request.job["time_limit"] = _time_limit(request, value, sign)
        request.changes += 1
        sign = ""
    elif tag_matches(tag, "UserID", 3):
        request.user = request.session.uid_of(value)
        if request.user is None:
            raise request.abort(f"Invalid UserID: {value}", "Request aborted")
    else:
        _row(request, tag, value, word)
    if sign:
        raise request.error(NO_SIGN.format(tag))


def _row(request: Request, tag: str, value: str, word: str) -> None:
    for name, least, first, reader, field in ROWS:
        if first > request.session.release or not tag_matches(tag, name, least):
            continue
        found = reader(request, value, name)
        if field == "cpus":
            least_cpus, most = found
            request.job["min_cpus"] = least_cpus
            if most:
                request.job["max_cpus"] = most
        elif not field:
            request.job |= found
        elif field == "tres_per_node" and request.job.get(field):
            request.job[field] += f",{found}"
        elif found is None:
            return  # no date: nothing changes
        else:
            request.job[field] = found
        request.changes += 1
        return
    raise request.abort(f"Update of this parameter is not supported: {word}", "Request aborted")


def _admin_comment(request: Request, value: str, sign: str) -> str:
    if sign and since(request.session.release, "admin_comment_as_a_whole"):
        raise request.error("Invalid syntax, AdminComment can not be added/subtracted from.")
    if sign == "-":
        raise request.error("Invalid syntax, AdminComment can not be subtracted from.")
    request.job["admin_comment"] = f"+={value}" if sign else value
    request.changes += 1
    return ""


def _time_limit(request: Request, value: str, sign: str) -> int:
    """Minutes; ``+`` and ``-`` are relative to what the job has."""
    if value[:1] in ("+", "-") and value:
        if sign:
            raise request.error("Invalid syntax, variations of +=- are not accepted.")
        sign, value = value[0], value[1:]
    minutes = minutes_of(value)
    if minutes is None:
        raise request.error("Invalid TimeLimit value")
    if not sign:
        return minutes % (1 << 32)
    if request.ids is None:
        raise request.error("JobId must precede TimeLimit increment or decrement")
    now = _present_limit(request, request.ids)
    if now == INFINITE and since(request.session.release, "unlimited_stays"):
        raise request.error("Cannot increment/decrement TimeLimit when set to UNLIMITED.")
    if sign == "+":
        return now + minutes
    if minutes > now:
        raise request.error(f"TimeLimit decrement larger than current time limit ({minutes} > {now})")
    return now - minutes


def _rows_of(request: Request, text: str) -> tuple[list[dict[str, Any]], int | None]:
    job, rest = leading_number(text)
    task = None
    if rest.startswith("_"):
        task, rest = leading_number(rest[1:])
    if rest:
        raise request.error(f"Invalid job ID {text}")
    fields = ["job_id", "array_job_id", "array_task_id", "array_task_str", "time_limit"]
    try:
        rows = request.session.load("jobs", fields, job_id=str(job), show_all=True)
    except FAILED_CALLS as error:
        raise request.error(f"Could not load state information for job {text}: {text_of(error)}") from None
    return rows, task


def _present_limit(request: Request, text: str) -> int:
    from slurmsim.commands.text.array_text import tasks_of

    rows, task = _rows_of(request, text)
    if len(rows) > 1 and task is None:
        raise request.error("TimeLimit increment/decrement not supported for job arrays")
    if len(rows) == 1 and since(request.session.release, "one_record_is_the_one"):
        return INFINITE if rows[0]["time_limit"] is None else int(rows[0]["time_limit"])
    named = leading_number(text)[0]
    for row in rows:
        if row["array_job_id"] and row["array_job_id"] != named:
            continue  # a task by its own id: scontrol does not find it, and says nothing
        tasks = tasks_of(row["array_task_str"]) if row["array_task_str"] else [row["array_task_id"]]
        if task is None or task in tasks:
            return INFINITE if row["time_limit"] is None else int(row["time_limit"])
    request.session.code = 1
    raise Abort


def _send(request: Request) -> None:
    session = request.session
    if not request.changes:
        raise request.abort("No changes specified")
    if request.ids is None and request.job.get("name"):
        request.ids = _ids_by_name(request, request.job["name"])
    if request.ids is None:
        raise request.error("No job ID specified")
    if request.resizes:
        rows, task = _rows_of(request, request.ids)
        if len(rows) > 1 and task is None:
            raise request.error("Job resizing not supported for job arrays")
    ids = job_ids(request.ids, session.error)
    if ids is None:
        session.warn(f"{INVALID_JOB} for job {request.ids}")
        return
    for job_id in ids:
        failed = ask(session, "update_job", job_id, job=request.job, acting_uid=session.acting_uid)
        if failed:
            session.code = 1
        elif request.resizes:
            from slurmsim.commands.scontrol.resize import write_scripts

            write_scripts(session, job_id)


def _ids_by_name(request: Request, name: str) -> str | None:
    session = request.session
    fields = ["job_id", "name", "user_id", "array_job_id", "array_task_id"]
    try:
        rows = session.load("jobs", fields, show_all=session.all)
    except FAILED_CALLS as error:
        raise request.error(f"Could not load state information: {text_of(error)}") from None
    if not rows:
        raise request.error(f"JobName {name} not found")
    found = [
        f"{row['array_job_id']}_{row['array_task_id']}" if row["array_task_id"] is not None else str(row["job_id"])
        for row in rows
        if row["name"] == name and request.user in (None, row["user_id"])
    ]
    if not found:
        who = "" if request.user is None else f"user ID {request.user} and "
        raise request.error(f"No jobs with {who}name '{name}'")
    return ",".join(found)


# -- steps -----------------------------------------------------------------------------------------------------------


def _moved_limit(session: Session, step: str, minutes: int) -> int | None:
    """Return the limit of a step that is raised or lowered by so many minutes; None, and a word, where that fails."""
    job, _, number = step.partition(".")
    named = {"step_id": int(number)} if is_number(number) else {}
    found: list[dict[str, Any]] = []
    try:
        found = session.load("steps", ["time_limit"], job_id=job, **named)
    except FAILED_CALLS as error:
        session.refuse(f"Could not load state information for StepId={step}: {text_of(error)}")
    if not found:
        session.code = 1
        return None
    limit = found[0]["time_limit"]
    present = INFINITE if limit is None else int(limit)
    if present + minutes < 0:
        session.refuse(f"TimeLimit decrement larger than current time limit ({-minutes} > {present})")
        return None
    return (present + minutes) & INFINITE  # as 32 bits have it


def update_step(session: Session, words: Words) -> str:
    """``update stepid=JOB.STEP timelimit=T``: the error, "" for none."""
    step, limit, sign = "", None, ""
    for word in words:
        tag, equals, value = word.partition("=")
        if not equals:
            session.fail(f"Invalid input: {word}")
            session.io.error("Request aborted")
            return "No error"
        if tag_matches(tag, "StepId", 4):
            step = value
        elif tag_matches(tag, "TimeLimit", 2):
            limit, sign = minutes_of(value.lstrip("+-")), value[:1]
            if limit is None:
                session.refuse("Invalid TimeLimit value")
                return ""
        else:
            session.fail(f"Update of this parameter is not supported: {word}")
            session.io.error("Request aborted")
            return ""
    if limit is None:
        session.fail("No changes specified")
        return ""
    job, _, number = step.partition(".")
    if sign in ("+", "-"):
        limit = _moved_limit(session, step, limit if sign == "+" else -limit)
        if limit is None:
            return ""
    return session.request("update_step", job_id=job, step_id=number or None, time_limit=limit)
