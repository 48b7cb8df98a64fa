"""sacctmgr modify: show the records it would change, ask, and then tell the database.

Mirrors account_functions.c, user_functions.c and qos_functions.c of sacctmgr (22.05).
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.modify_job import modify_job
from slurmsim.commands.sacctmgr.requests import (
    ASSOC,
    COMMIT,
    USER,
    account_condition,
    cluster_name,
    dispatch,
    level_of,
    lines_of,
    qos_condition,
    refuse,
    reply,
    take_fact,
    tell_refusal,
    user_condition,
)
from slurmsim.commands.sacctmgr.resources import modify_resource
from slurmsim.commands.sacctmgr.settings import ASSOCIATION, QOS, Settings
from slurmsim.commands.sacctmgr.where_and_set import is_ready, read
from slurmsim.commands.sacctmgr.words import Session, Word, folded, names_in
from slurmsim.protocol import NO_DEFAULT_QOS
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_MODIFY = ('No valid entity in modify command\nInput line must include "Account", "Cluster", "Federation", "Job", '
           '"QOS", "Resource" or "User"')  # fmt: skip


_MAY_NOT = (
    "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_assocs: Request didn't affect anything or your user "
    "doesn't have privilege to perform this action"
)


def modify(session: Session, words: list[str]) -> None:
    """``modify ENTITY where … set …``."""
    dispatch(session, words, _MODIFY, (
        ("Accounts:1 Acct:4", _modify_account), ("Clusters:5", _modify_cluster), ("Federation:1", refuse),
        ("Job:1", modify_job), ("QOSs:1", _modify_qos), ("Resource:1", modify_resource), ("Users:1", _modify_user),
    ))  # fmt: skip


_NO_DEFAULT = (
    " These associations don't have access to their default qos.\n"
    " Please give them access before they the default can be set to this.\n"
)


def _modified(session: Session, title: str, arguments: Mapping[str, Any]) -> bool:
    """Tell what would be modified; whether there is anything to commit."""
    first = since(session.release, "modified_told_first") and arguments["action"] != "modify_qos"
    if first:
        session.io.out(f" {title}...\n")
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        tell_refusal(session, answer)
        if "one at a time" in answer:
            session.note(" If you are changing a users name you can only specify 1 user at a time.")
        return False
    if not answer["objects"]:
        _nothing_modified(session, arguments)
        if answer.get("error") == "nothing_left" and not since(session.release, "nothing_modified_is_an_error"):
            session.note(_MAY_NOT)
        return False
    if answer.get("error") == "no_association":
        session.code = 1
        session.io.out(" Can't modify because these users aren't associated with new default account "
                       f"'{answer['account']}'...\n  U = {answer['user']} C = {cluster_name(session, [])}\n"
                       )  # fmt: skip
        return False
    if answer.get("error") == "default_qos":
        told = _NO_DEFAULT + lines_of(list(answer["objects"]))
        if since(session.release, "default_qos_is_an_error"):
            session.note(f"sacctmgr: error: \n{told}")
            session.wrong(f" Error with request: {NO_DEFAULT_QOS}")
        else:
            session.note(told.rstrip("\n"))
        return False
    session.io.out(("" if first else f" {title}...\n") + lines_of(list(answer["objects"])))
    return True


def _nothing_modified(session: Session, arguments: Mapping[str, Any]) -> None:
    session.code = 1
    if since(session.release, "indented_nothing_modified"):
        session.io.out("  Nothing modified\n")
    elif since(session.release, "nothing_modified_is_an_error") and arguments["action"] != "modify_qos":
        session.note("sacctmgr: error: Request didn't affect anything")
        session.wrong(" Error with request: Data has not changed since time specified")
    else:
        session.io.out(" Nothing modified\n")


def _commit_all(session: Session, requests: list[Mapping[str, Any]]) -> None:
    if not requests:
        return
    if not session.ask(COMMIT):
        session.io.out(" Changes Discarded\n")
        return
    for arguments in requests:
        answer = reply(session, "account_change", arguments)
        if isinstance(answer, str):
            session.wrong(f" Error with request: {answer}")


def _setting(session: Session, settings: Settings, word: Word) -> int:
    """Take a word that is a setting; return its kind, 0 for any other word, and say so."""
    if settings.take(session, word):
        return ASSOC
    session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
    return 0


def _modify_account(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    facts: dict[str, str] = {}
    settings = Settings(ASSOCIATION)

    def set_(word: Word) -> int:
        if not word.equals or matches(word.name, "Accounts:1 Names:1 Acct:4"):
            session.wrong(" Can't modify the name of an account")
        elif matches(word.name, "Clusters:1"):
            session.wrong(" Can't modify the cluster of an account")
        elif take_fact(word, facts):
            return USER
        else:
            return _setting(session, settings, word)
        return 0

    conditions, changed = read(session, words, lambda word: account_condition(session, cond, word), set_)
    if not is_ready(session, conditions, changed):
        return
    requests: list[Mapping[str, Any]] = []
    if changed & USER:
        arguments: dict[str, Any] = {"action": "modify_accounts", "cond": cond, **facts}
        if _modified(session, "Modified accounts", arguments):
            requests.append(arguments)
    if changed & ASSOC:
        parent = next((value for name, _, value in settings.found if name == "Parent"), None)
        looked_up = parent is not None and not since(session.release, "new_parents_are_not_looked_up")
        if looked_up and parent not in {r["account"] for r in session.list("account")}:
            session.wrong(f" Parent Account {parent} doesn't exist.")
        else:
            arguments = {"action": "modify_associations", "kind": "account", "cond": cond, "settings": settings.found}
            if _modified(session, "Modified account associations", arguments):
                requests.append(arguments)
    _commit_all(session, requests)


def _modify_user(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    facts: dict[str, str] = {}
    settings = Settings(ASSOCIATION)

    def set_(word: Word) -> int:
        if not word.equals:
            session.wrong(f" Bad format on {word.text}: End your option with an '=' sign")
        elif matches(word.name, "AdminLevel:2"):
            facts["admin_level"] = level_of(word.value)
            return USER
        elif matches(word.name, "DefaultAccount:8"):
            facts["default_account"] = folded(word)
            return USER
        elif matches(word.name, "NewName:1"):
            facts["new_name"] = folded(word)
            return USER
        else:
            return _setting(session, settings, word)
        return 0

    conditions, changed = read(session, words, lambda word: user_condition(session, cond, word), set_)
    if not is_ready(session, conditions, changed):
        return
    requests: list[Mapping[str, Any]] = []
    if changed & USER and conditions == ASSOC:
        session.wrong(" There was a problem with your 'where' options.")
    elif changed & USER:
        arguments: dict[str, Any] = {"action": "modify_users", "cond": cond, **facts}
        if _modified(session, "Modified users", arguments):
            requests.append(arguments)
    if changed & ASSOC and conditions == USER and not cond.get("users"):
        session.wrong(" There was a problem with your 'where' options.")
    elif changed & ASSOC:
        arguments = {"action": "modify_associations", "kind": "user", "cond": cond, "settings": settings.found}
        if _modified(session, "Modified user associations", arguments):
            requests.append(arguments)
    _commit_all(session, requests)


def _modify_cluster(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    settings = Settings(ASSOCIATION)

    def where(word: Word) -> int:
        if not word.equals or matches(word.name, "Names:1 Clusters:3"):
            cond.setdefault("clusters", []).extend(names_in(word.value))
            return USER
        session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify value")
        return 0

    conditions, changed = read(session, words, where, lambda word: _setting(session, settings, word))
    if not is_ready(session, conditions, changed):
        return
    if lines := settings.lines():
        session.io.out(" Setting\n  Default Limits:\n" + "".join(f"{line}\n" for line in lines))
    arguments = {"action": "modify_associations", "kind": "cluster", "cond": cond, "settings": settings.found}
    if _modified(session, "Modified cluster defaults for associations", arguments):
        _commit_all(session, [arguments])


def _modify_qos(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    facts: dict[str, str] = {}
    settings = Settings(QOS)

    def set_(word: Word) -> int:
        if not word.equals or matches(word.name, "Names:1"):
            session.wrong(" Can't modify the name of a qos" if word.equals else
                          f" Bad format on {word.text}: End your option with an '=' sign")  # fmt: skip
            return 0
        if matches(word.name, "Description:1"):
            facts["description"] = folded(word)
            return USER
        if settings.take(session, word):
            return ASSOC if settings.found else 0  # one that cannot be read is passed over
        session.code = 1
        session.io.out(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition\n")
        return 0

    conditions, changed = read(session, words, lambda word: qos_condition(session, cond, word), set_)
    if not is_ready(session, conditions, changed):
        return
    arguments = {"action": "modify_qos", "cond": cond, "settings": settings.found, **facts}
    if _modified(session, "Modified qos", arguments):
        _commit_all(session, [arguments])
