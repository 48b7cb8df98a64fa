"""sacctmgr modify job: change comments, codes and TRES of jobs in the database (job_functions.c, 26.05)."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.requests import COMMIT, cluster_name, reply
from slurmsim.commands.sacctmgr.settings import tres_counts
from slurmsim.commands.sacctmgr.where_and_set import is_ready, read
from slurmsim.commands.sacctmgr.words import Session, Word, names_in
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.values import leading_number
from slurmsim.numerals import is_number
from slurmsim.sluid import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXTS = (
    ("Comment:7 DerivedExitString:12 DerivedES:9", "derived_es"), ("Extra:5", "extra"),
    ("AdminComment:12", "admin_comment"), ("SystemComment:13", "system_comment"),
)  # fmt: skip
_TIMES = ("start", "end")  # which alone are no condition
_NAMES = (("Accounts:1 Accts:1", "accounts"), ("WCkeys:1", "wckeys"))


def modify_job(session: Session, words: list[str]) -> None:
    """``modify job JOBID set ...``."""
    cond: dict[str, Any] = {}
    new: dict[str, Any] = {}

    def where(word: Word) -> int:
        _where(session, cond, word)
        return any(key not in _TIMES for key in cond)

    def set_(word: Word) -> int:
        _set(session, new, word)
        return bool(new)

    if is_ready(session, *read(session, words, where, set_)):
        _modify(session, cond, new)


def _modify(session: Session, cond: dict[str, Any], new: dict[str, Any]) -> None:
    answer = reply(session, "job_changes_check", {"cond": cond, "new": new})
    session.io.out(" Modified jobs...\n")
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")
        return
    date = Dates(session.io.environ, session.now)
    session.io.out("".join(f"  {job['job_id']} submitted at {date(job['submit'])}\n" for job in answer["jobs"]))
    if not session.ask(COMMIT):
        session.io.out(" Changes Discarded\n")
        return
    answer = reply(session, "change_jobs", {"cond": cond, "new": new})
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")


def _where(session: Session, cond: dict[str, Any], word: Word) -> None:
    """Take a condition."""
    for names, key in _NAMES:
        if word.equals and matches(word.name, names):
            cond.setdefault(key, []).extend(names_in(word.value, fold=key == "accounts"))
            return
    if word.equals and matches(word.name, "Cluster:1"):
        cluster_name(session, names_in(word.value))
    elif not word.equals or matches(word.name, "JobID:1"):
        _jobs(session, cond, word.value)
    elif matches(word.name, "EndTime:1") or matches(word.name, "StartTime:1"):
        try:
            cond["end" if word.name[:1] in "eE" else "start"] = parse_date(word.value, session.now)
        except BadDate:
            session.wrong(f"sacctmgr: error: Invalid time specification: {word.value}")
    elif matches(word.name, "Users:1"):
        _users(session, cond, names_in(word.value, fold=False))
    else:
        session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify value")


def _jobs(session: Session, cond: dict[str, Any], text: str) -> None:
    found: list[list[int | None]] = []
    for name in names_in(text, fold=False):
        base, _, task = name.partition(".")[0].partition("_")
        known = number_of(name.partition(".")[0])
        if known is not None:
            found.append([known, None])
        elif is_number(base) and (not task or is_number(task)):
            found.append([int(base), int(task) if task else None])
        else:
            session.wrong(f"Invalid job id(s) {text} specified")
            return
    cond.setdefault("jobs", []).extend(found)


def _users(session: Session, cond: dict[str, Any], names: list[str]) -> None:
    for name in names:
        uid = name if is_number(name) else session.io.client.call("users", names=[name])["uids"][0]
        if uid is None:
            session.wrong(f"sacctmgr: error: Invalid user id: {name}")
            return
        cond.setdefault("uids", []).append(int(uid))


def _set(session: Session, new: dict[str, Any], word: Word) -> None:
    """Take a new value."""
    if not word.equals:
        session.wrong(f" Bad format on {word.text}: End your option with an '=' sign")
        return
    for names, key in _TEXTS:
        if matches(word.name, names):
            new[key] = word.value.strip("\"'")
            return
    if matches(word.name, "DerivedExitCode:12 DerivedEC:9"):
        number, rest = leading_number(word.value)
        if rest:
            session.note(f"sacctmgr: error: Invalid value for DerivedExitCode ({word.value})")
        else:
            new["derived_ec"] = number
    elif matches(word.name, "TRES:1"):
        counts = tres_counts(session, word)
        if counts is not None:
            new["tres"] = {**new.get("tres", {}), **counts}
    elif matches(word.name, "NewWCKey:1"):
        new["wckey"] = word.value.strip("\"'").lower()
    else:
        session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
