"""sacctmgr add and delete coordinator: who may look after an account and those below it (22.05)."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.requests import commit, lines_of, plain, reply, tell_refusal, user_condition
from slurmsim.commands.sacctmgr.words import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _coordinators(session: Session, words: list[str], *, both: bool) -> dict[str, Any] | None:
    cond: dict[str, Any] = {}
    found = 0
    for word in plain(words):
        found |= user_condition(session, cond, word)
    if session.code:
        return None
    if not found:
        session.wrong(" You need to specify conditions to to add the coordinator." if both else
                      " You need to specify a user list or account list here.")  # fmt: skip
        return None
    if both and not cond.get("users"):
        session.wrong(" You need to specify a user list here.")
        return None
    if both and not cond.get("accounts"):
        session.wrong(" You need to specify an account list here.")
        return None
    for key, kind, name in (("accounts", "account", "account"), ("users", "user", "user")):
        known = {r[name] for r in session.list(kind)}
        for one in cond.get(key) or ():
            if one not in known:
                session.wrong(f" You specified a non-existent {name} '{one}'.")
    return None if session.code else cond


def add_coordinator(session: Session, words: list[str]) -> None:
    """``add coordinator ACCOUNTS… users=…``."""
    cond = _coordinators(session, words, both=True)
    if cond is None:
        return
    session.io.out(f" Adding Coordinator User(s)\n{lines_of(cond['users'])}")
    session.io.out(f" To Account(s) and all sub-accounts\n{lines_of(cond['accounts'])}")
    arguments = {"action": "add_coordinator", "users": cond["users"], "accounts": cond["accounts"]}
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding coordinator: {answer}")
        return
    commit(session, arguments)


def delete_coordinator(session: Session, words: list[str]) -> None:
    cond = _coordinators(session, words, both=False)
    if cond is None:
        return
    users, accounts = cond.get("users") or [], cond.get("accounts") or []
    out = session.io.out
    if users:
        out(f" Removing Coordinators with user name\n{lines_of(users)}")
        out(f" From Account(s)\n{lines_of(accounts)}" if accounts else " From all accounts\n")
    else:
        out(f" Removing all users from Accounts\n{lines_of(accounts)}")
    arguments = {"action": "delete_coordinator", "users": users, "accounts": accounts}
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        tell_refusal(session, answer)
        return
    if not answer["objects"]:
        out(" Nothing removed\n")
        session.code = 1
        return
    out(f" Removed Coordinators (sub accounts not listed)...\n{lines_of(list(answer['objects']))}")
    commit(session, arguments)
