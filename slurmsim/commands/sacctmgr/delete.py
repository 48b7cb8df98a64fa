"""sacctmgr delete: what would go is shown, asked about, and then told to the database.

Mirrors account_functions.c, user_functions.c and qos_functions.c of sacctmgr (22.05).
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.coordinators import delete_coordinator
from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.requests import (
    USER,
    account_condition,
    commit,
    dispatch,
    lines_of,
    plain,
    qos_condition,
    refuse,
    reply,
    tell_refusal,
    user_condition,
)
from slurmsim.commands.sacctmgr.resources import delete_cluster, delete_resource
from slurmsim.commands.sacctmgr.words import Session, Word, names_in
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


_DELETE = ('No valid entity in delete command\nInput line must include "Account", "Cluster", "Coordinator", '
           '"Federation", "QOS", "Resource", or "User"')  # fmt: skip


def delete(session: Session, words: list[str]) -> None:
    """``delete ENTITY …``."""
    dispatch(session, words, _DELETE, (
        ("Accounts:1 Acct:4", _delete_account), ("Clusters:2", delete_cluster), ("Coordinators:2", delete_coordinator),
        ("Federations:1", refuse), ("QOS:2", _delete_qos), ("Resource:1", delete_resource), ("Users:1", _delete_user),
    ))  # fmt: skip


def _conditions(session: Session, words: list[str], take: Callable[[Word], int]) -> int:
    found = 0
    for word in plain(words):
        found |= take(word)
    if not found and not session.code:
        session.wrong(" No conditions given to remove, not executing.")
    return found


def _delete_account(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    found = _conditions(session, words, lambda word: account_condition(session, cond, word))
    if session.code:
        return
    if "root" in (cond.get("accounts") or ()):
        session.wrong(" You are not allowed to remove the root account.\n Use remove cluster instead.")
        return
    whole = found == USER
    _delete(session, "account", cond, whole, "Deleting accounts" if whole else "Deleting account associations")


def _delete_user(session: Session, words: list[str]) -> None:
    keys = [name for word in plain(words) if _names_wckeys(word) for name in names_in(word.value)]
    if keys:
        _delete_wckeys(session, words, keys)
        return
    cond: dict[str, Any] = {}
    found = _conditions(session, words, lambda word: user_condition(session, cond, word))
    if session.code:
        return
    whole = found == USER and not cond.get("clusters")
    _delete(session, "user", cond, whole, "Deleting users" if whole else "Deleting user associations")


def _names_wckeys(word: Word) -> bool:
    return bool(word.equals and matches(word.name, "WCKeys:1"))


def _delete_wckeys(session: Session, words: list[str], keys: list[str]) -> None:
    """``delete user … wckey=KEY``: of the users that are named, or of all; the users stay."""
    cond: dict[str, Any] = {}
    for word in plain(words):
        if not _names_wckeys(word):
            user_condition(session, cond, word)
    if session.code:
        return
    users = cond.get("users")
    rows = [r for r in session.list("wckey") if r["wckey"] in keys and (not users or r["user"] in users)]
    if not rows:
        session.io.out(" Nothing deleted\n")
        session.code = 1
        return
    session.io.out(" Deleting user WCKeys...\n")
    for r in rows:
        session.io.out(f"  C = {r['cluster']:<10} W = {r['wckey']:<20} U = {r['user']:<9}\n")
    changes = [{"action": "delete_wckey", "object": r["wckey"], "user": r["user"]} for r in rows]
    commit(session, {"action": "many", "changes": changes})


def _gone(session: Session, arguments: Mapping[str, Any], indent: str) -> Mapping[str, Any] | None:
    """Return what the database would delete; None, and said why, if it is refused or nothing."""
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        tell_refusal(session, answer)
        return None
    if not answer["objects"]:
        session.io.out(f"{indent}Nothing deleted\n")
        if answer.get("error") == "not yours":
            session.note("sacctmgr: accounting_storage/slurmdbd: acct_storage_p_remove_assocs: No error")
        session.code = 1
        return None
    return answer


_TAIL = {
    "account": " Please either remove the accounts listed above from list and resubmit,\n"
    " or change these users' default accounts to remove the account(s).\n Changes Discarded",
    "user": " You must change the default account of these users or remove the users completely "
    "from the affected clusters to allow these changes.\n Changes Discarded",
}


def _delete(session: Session, kind: str, cond: Mapping[str, Any], whole: bool, title: str) -> None:
    out = session.io.out
    arguments = {"action": "delete", "kind": kind, "cond": cond, "whole": whole}
    answer = _gone(session, arguments, " ")
    if answer is None:
        return
    objects = list(answer["objects"])
    if answer.get("error"):
        session.wrong(f" Error with request: {answer['error']}\n" + lines_of(objects).rstrip("\n"))
        if "default account" in answer["error"]:
            session.note(_TAIL[kind])
        return
    out(f" {title}...\n{lines_of(objects)}")
    if answer.get("orphans"):
        out(f" Deleting users (No Associations)...\n{lines_of(list(answer['orphans']))}")
    commit(session, arguments)


def _delete_qos(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    _conditions(session, words, lambda word: qos_condition(session, cond, word))
    if session.code:
        return
    arguments = {"action": "delete_qos", "cond": cond}
    answer = _gone(session, arguments, "  " if since(session.release, "nothing_deleted_deeper") else " ")
    if answer is None:
        return
    objects = list(answer["objects"])
    if answer.get("error") and answer["error"] != "default_qos":
        session.wrong(f" Error with request: {answer['error']}\n" + lines_of(objects).rstrip("\n"))
        return
    if answer.get("error"):
        session.wrong(" Associations listed below have these as their Default QOS.\n"
                      f"{lines_of(objects)} Please either remove the qos' listed above from list and resubmit,\n"
                      " or change the default qos to remove the qos.\n Changes Discarded")  # fmt: skip
        return
    session.io.out(f" Deleting QOS(s)...\n{lines_of(objects)}")
    commit(session, arguments)
