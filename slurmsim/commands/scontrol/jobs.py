"""scontrol's requests about jobs: hold, release, requeue, suspend, resume, top, notify, wait_job.

All take job ids as `job_ids` reads them; every id is a request of its own, and what the daemon answers for the tasks of
an array is printed as Slurm does.
"""

from __future__ import annotations

import time

from slurmsim import sluid
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.commands.text.typed_hosts import typed_hosts
from slurmsim.commands.text.values import leading_number
from slurmsim.hostlist import HostlistError
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Words = Sequence[str]
INVALID_JOB = "Invalid job id specified"
_NO_MESSAGE = "Unexpected message received"  # what is left of an answer that does not come (22.05)
POLL_S = 3  # between two looks of wait_job
_RELEASE, _HOLD, _USER_HOLD = "release", "hold", "uhold"


def job_ids(text: str, complain: Callable[[str], None] = print) -> list[str] | None:
    """Ids of a comma list as they are sent: ``5_[1-3],7`` are ``5_1-3`` and ``7``; None when it is no such list.

    A range of ids that cannot be, or is too long, makes `complain` say so, and leaves none.

    >>> job_ids("5_[1-3,8],7"), job_ids("[3-4]"), job_ids("abc"), job_ids("5_3")
    (['5_1-3,8', '7'], ['3', '4'], None, ['5_3'])
    """
    if sluids := [word for word in text.split(",") if sluid.number_of(word) is not None]:
        others = ",".join(word for word in text.split(",") if word not in sluids)
        numbers = job_ids(others, complain) if others else []
        return None if numbers is None else [*numbers, *sluids]
    parts, begin = [], 0
    plus = under = False
    depth = 0
    for at, sign in enumerate(text):
        if sign == "+":
            if plus:
                return None
            plus = True
        elif sign == "_":
            if under:
                return None
            under = True
        elif sign in "[]":
            depth += 1 if sign == "[" else -1
        elif sign == "-":
            if not depth and not under:
                return None
        elif sign in ", ":
            if not depth:
                parts.append(text[begin:at])
                begin, plus, under = at + 1, False, False
        elif not "0" <= sign <= "9":
            return None
    if depth:
        return None
    found: list[str] = []
    for part in filter(None, [*parts, text[begin:]]):
        try:
            found += _expanded(part, complain)
        except HostlistError:
            complain(f"Invalid job id: {part}")
            return []
    return found


def _expanded(part: str, complain: Callable[[str], None]) -> Iterator[str]:
    base, underscore, tasks = part.partition("_")
    if tasks.startswith("["):
        tasks = tasks[1:].partition("]")[0]
    for name in typed_hosts(base, complain) if "[" in base else [base]:
        yield f"{name}_{tasks}" if underscore else name


def ask(session: Session, call: str, job_id: str, **arguments: Any) -> str:
    """One request for one id; what Slurm's error was, "" for none. Complaints about it have been printed."""
    try:
        answer = session.io.client.call(call, job_id=job_id, **arguments)
    except FAILED_CALLS as error:
        *notes, text = (_NO_MESSAGE if isinstance(error, Unreachable) else text_of(error)).split("\n")
        for note in notes:
            session.error(note)
        session.warn(f"{text} for job {job_id}")
        return text
    for note in (answer.get("job_submit_user_msg") or "").split("\n"):
        if note:
            session.error(note)
    responses = answer.get("responses") or []
    alone = len(responses) == 1 or (call == "update_job" and since(session.release, "updated_tasks_unnamed"))
    for ids, text in responses:
        if text != NO_ERROR or not alone:
            *notes, text = text.split("\n")
            session.warn(f"{ids}: {text}" + "".join(f" ({note})" for note in notes))
    return ""


def _too_few(session: Session, words: Words) -> bool:
    if len(words) >= 2:
        return False
    session.warn(f"too few arguments for keyword:{words[0]}")
    return True


def _stripped(text: str, *prefixes: str) -> str:
    for prefix in prefixes:
        if text.lower().startswith(prefix):
            text = text[len(prefix) :]
    return text


def _for_each(session: Session, word: str, call: str, prefixes: tuple[str, ...], **arguments: Any) -> None:
    text = _stripped(word, *prefixes)
    ids = job_ids(text, session.error)
    if ids is None:
        session.warn(f"{INVALID_JOB} for job {text}")
        return
    for job_id in ids:
        ask(session, call, job_id, **arguments)


# -- hold and release ------------------------------------------------------------------------------------------------


def hold(session: Session, words: Words) -> None:
    """``hold``, ``uhold`` (or ``holdu``) and ``release`` of jobs by id or name."""
    if _too_few(session, words):
        return
    op = words[0].lower()
    kind = _USER_HOLD if op[:5] in ("holdu", "uhold") else _HOLD if op[:4] == "hold" else _RELEASE
    for word in words[1:]:
        failed = _hold_one(session, kind, _stripped(word, "jobid=", "job="))
        if failed:
            session.complain("slurm_suspend error", failed)


def _hold_one(session: Session, kind: str, text: str) -> str:
    """Hold the jobs of one word; return slurm_suspend's error: that of the last id, also after an earlier one."""
    ids = job_ids(text, session.error)
    failed = False
    if ids is None:
        name = _stripped(text, "name=", "jobname=")
        if name == text:
            session.warn(f"{INVALID_JOB} for job {text}")
            return INVALID_JOB
        try:
            ids, failed = _by_name(session, name)
        except FAILED_CALLS as error:
            return text_of(error)
    last = ""
    for job_id in ids:
        last = ask(session, "hold_job", job_id, kind=kind)
        failed = failed or bool(last)
    return (last or NO_ERROR) if failed else ""


def _by_name(session: Session, name: str) -> tuple[list[str], bool]:
    """Jobs of that name, and whether one of them is past its waiting, which counts as an error."""
    fields = ["job_id", "name", "job_state", "array_job_id", "array_task_id", "array_task_str"]
    ids, failed = [], False
    for row in session.load("jobs", fields, show_all=session.all):
        if row["name"] != name:
            continue
        if row["job_state"] != "PENDING":
            if row["array_task_id"] is not None:
                continue
            failed = True
        ids.append(_own_id(row))
    return ids, failed


def _own_id(row: dict[str, Any]) -> str:
    tasks = row["array_task_str"] or row["array_task_id"]
    return f"{row['array_job_id']}_{tasks}" if tasks is not None else str(row["job_id"])


# -- the rest --------------------------------------------------------------------------------------------------------


def suspend(session: Session, words: Words) -> None:
    if _too_few(session, words):
        return
    size = max(len(words[0]), 2)
    op = "suspend" if words[0].lower()[:size] == "suspend"[:size] else "resume"
    for word in words[1:]:
        _for_each(session, word, "suspend_job", ("jobid=", "job="), op=op)


def requeue(session: Session, words: Words) -> None:
    """``requeue [incomplete] JOBS``."""
    _requeue(session, words, ("jobid=", "job="), hold=False)


def requeue_hold(session: Session, words: Words) -> None:
    """``requeuehold [state=SpecialExit] JOBS``."""
    _requeue(session, words, (), hold=True)


def _requeue(session: Session, words: Words, prefixes: tuple[str, ...], *, hold: bool) -> None:
    if _too_few(session, words):
        return
    flags = {"incomplete": False, "special": False}
    at = 1
    while at < len(words) and (flag := _requeue_flag(words[at])):
        flags[flag] = True
        at += 1
    for word in words[at:]:
        if not word:
            session.code = 1
            continue
        _for_each(session, word, "requeue_job", prefixes, hold=hold, **flags)


def _requeue_flag(word: str) -> str:
    lower = word.lower()
    if word and "incomplete".startswith(lower):
        return "incomplete"
    if lower.startswith("state=") and (lower[6:17] == "specialexit" or lower[6:8] == "se"):
        return "special"
    return ""


def top(session: Session, words: Words) -> None:
    """``top JOB``."""
    if _too_few(session, words):
        return
    if len(words) > 2:
        session.warn(f"too many arguments for keyword:{words[0]}")
        return
    ask(session, "top_job", _stripped(words[1], "jobid=", "job="))


def notify(session: Session, words: Words) -> None:
    """``notify JOB MESSAGE``."""
    if len(words) < 3:
        session.fail(f"too few arguments for keyword:{words[0]}")
        return
    job_id = leading_number(words[1])[0]
    if job_id <= 0:
        session.code = 1
        session.io.stderr.write(f"Invalid job_id {words[1]}")
        session.io.error("job notify failure: Success")
        return
    if error := session.request("notify_job", job_id=str(job_id), message=" ".join(words[2:])):
        session.complain("job notify failure", error, loud=True)


def wait_job(session: Session, words: Words, sleep: Callable[[float], None] = time.sleep) -> None:
    """``wait_job JOB``: until its nodes are up, or it cannot run any more."""
    if len(words) > 2:
        session.warn(f"too many arguments for keyword:{words[0]}")
        return
    if _too_few(session, words):
        return
    job_id = leading_number(words[1])[0]
    if job_id <= 0:
        session.code = 1
        session.io.stderr.write(f"Invalid job_id {words[1]}")
        return
    first = True
    while True:
        try:
            state = session.io.client.call("job_ready", job_id=str(job_id))["state"]
        except Refusal:
            state = "fatal"
        except FAILED_CALLS:
            state = "waiting"
        if state == "ready":
            session.io.error(f"scontrol: Nodes are ready for job {job_id}")
            return
        if state in ("gone", "fatal"):
            session.code = 1
            session.io.error(f"scontrol: {_LOST[state].format(job_id)}")
            return
        if first:
            session.io.error("scontrol: Waiting for nodes to boot")
            first = False
        sleep(POLL_S / 10)


_LOST = {"gone": "Job {} no longer running", "fatal": "Problem running job {}"}
