"""sacctmgr add: what would come in is shown, asked about, and then told to the database.

Mirrors account_functions.c, user_functions.c and qos_functions.c of sacctmgr (22.05); from 24.11 slurmdbd words the
replies.
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.coordinators import add_coordinator
from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.requests import (
    NOT_ALLOWED,
    cluster_name,
    commit,
    dispatch,
    level_of,
    lines_of,
    plain,
    refuse,
    reply,
    take_fact,
)
from slurmsim.commands.sacctmgr.resources import add_cluster, add_resource
from slurmsim.commands.sacctmgr.settings import ASSOCIATION, QOS, Settings
from slurmsim.commands.sacctmgr.words import NO_PRIVILEGE, Session, association_condition, folded, names_in, word_of
from slurmsim.protocol import NO_DEFAULT_QOS
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slurmsim.commands.sacctmgr.words import Word

_WHO_MAY_ADD = "Only admins/operators/coordinators can add accounts"
_RAISES = "Only admins/operators can add an admin/operator"
_ADD = ('No valid entity in add command\nInput line must include "Account", "Cluster", "Coordinator", "Federation", '
        '"QOS", "Resource", or "User"')  # fmt: skip


def add(session: Session, words: list[str]) -> None:
    """``add ENTITY …``."""
    dispatch(session, words, _ADD, (
        ("Account:1 Acct:4", _add_account), ("Cluster:2", add_cluster), ("Coordinator:2", add_coordinator),
        ("Federation:1", refuse), ("QOS:1", _add_qos), ("Resource:1", add_resource), ("User:1", _add_user),
    ))  # fmt: skip


def _add_account(session: Session, words: list[str]) -> None:
    settings, facts = Settings(ASSOCIATION), dict[str, str]()
    names, clusters = _account_words(session, words, settings, facts)
    if session.code:
        return
    if not names:
        session.wrong(" Need name of account to add.")
        return
    parent = next((value for field, _, value in settings.found if field == "Parent"), "root")
    settings.found = [s for s in settings.found if s[0] != "Parent"]
    cluster = cluster_name(session, clusters)
    if cluster is None:
        return
    fresh = _fresh_accounts(session, names, cluster, parent)
    if not fresh:
        return
    arguments = {"action": "add_account", "names": fresh, "parent": parent, "settings": settings.found, **facts}
    checked_first = since(session.release, "account_checked_first")
    if not checked_first:
        _show_new_account(session, fresh, cluster, parent, facts, settings)
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        denied = _who_may_add(session) if answer == NOT_ALLOWED else answer
        session.wrong(f" error: {denied}" if checked_first else f" Problem adding accounts: {answer}")
        return
    if checked_first:
        _show_new_account(session, fresh, cluster, parent, facts, settings)
    commit(session, arguments)


def _account_words(
    session: Session, words: list[str], settings: Settings, facts: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Return the accounts and clusters that are named; put the rest into `settings` and `facts`."""
    names: list[str] = []
    clusters: list[str] = []
    for word in plain(words):
        if not word.equals or matches(word.name, "Accounts:1 Names:1 Acct:4"):
            names += names_in(word.value)
        elif matches(word.name, "Clusters:1"):
            clusters += names_in(word.value)
        elif not take_fact(word, facts) and not settings.take(session, word):
            session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
    return names, clusters


def _fresh_accounts(session: Session, names: list[str], cluster: str, parent: str) -> list[str]:
    """Return the accounts that can be added under `parent`; if there are none, say why."""
    known = {r["account"] for r in session.list("account")}
    fresh = [name for name in dict.fromkeys(names) if name and name not in known]
    if "" in names:
        session.wrong(" No blank names are allowed when adding.")
    if not fresh:
        old = "\n ".join(f"Already existing account {name} on cluster {cluster}" for name in names)
        told = since(session.release, "existing_accounts_named")
        session.io.out(f" {old}\n" if told else " Nothing new added.\n")
        session.code = 1
    elif parent not in known:
        for _ in fresh:
            session.wrong(f" Parent account '{parent}' doesn't exist on cluster {cluster}\n"
                          "        Contact your admin to add this account.")  # fmt: skip
        session.wrong(" No associations created.")
        return []
    return fresh


def _show_new_account(
    session: Session, names: list[str], cluster: str, parent: str, facts: Mapping[str, str], settings: Settings
) -> None:
    out = session.io.out
    out(f" Adding Account(s)\n{lines_of(names)}")
    out(" Settings\n")
    out(f"  Description     = {facts.get('description', 'Account Name')}\n")
    out(f"  Organization    = {facts.get('organization', 'Parent/Account Name')}\n")
    if since(session.release, "cluster_before_account"):
        out(" Associations =\n" + "".join(f"  C = {cluster:<10.10} A = {name:<20.20}\n" for name in names))
    else:
        out(" Associations\n" + "".join(f"  A = {name:<10.10} C = {cluster:<10.10}\n" for name in names))
    if settings.found or parent != "root":
        if parent != "root" or not since(session.release, "cluster_before_account"):
            settings.shown["Parent"] = parent
        out(" Settings\n" + "".join(f"{line}\n" for line in settings.lines()))


class _UserWords:
    """What ``sacctmgr add user`` is told."""

    def __init__(self, session: Session, words: list[str]) -> None:
        self.settings = Settings(ASSOCIATION)
        self.names: list[str] = []
        self.cond: dict[str, Any] = {}
        self.level = self.default = self.default_wckey = ""
        self.wckeys: list[str] = []
        self.limit_set = False
        for word in map(word_of, words):
            self._take(session, word)

    def _take(self, session: Session, word: Word) -> None:
        if not word.equals or matches(word.name, "Names:1 Users:1"):
            self.names += names_in(word.value)
        elif matches(word.name, "AdminLevel:2"):
            self.level = level_of(word.value)
        elif matches(word.name, "DefaultAccount:8"):
            if not _may_choose_default(session):
                return
            if self.default:
                session.wrong(f" Already listed DefaultAccount {self.default}")
                return
            self.default = folded(word)
            self.cond.setdefault("accounts", []).append(self.default)
        elif matches(word.name, "DefaultWCKey:8 WCKeys:1"):
            keys = names_in(word.value)
            if matches(word.name, "DefaultWCKey:8"):
                self.default_wckey = (keys or [""])[0]
                keys = keys[:1]
            self.wckeys += [key for key in keys if key and key not in self.wckeys]
        elif self.settings.take(session, word) or association_condition(session, self.cond, word):
            self.limit_set = True
        else:
            session.wrong(f" Unknown option: {word.text}")


def _may_choose_default(session: Session) -> bool:
    """Return False, and say so, for a user without rights: 22.05 does not send a default account of such a user.

    It looks for the level in the database, so a user who is not there may go on.
    """
    if since(session.release, "default_account_of_coordinators"):
        return True
    asker = session.io.client.call("hello")
    if asker["operator"] or all(one["user"] != asker["user"] for one in session.list("user")):
        return True
    session.wrong(f" Your user/uid ({asker['user']}/{asker['uid']}) is not AdminLevel >= Operator, "
                  "you cannot set DefaultAccount.")  # fmt: skip
    return False


def _add_user(session: Session, words: list[str]) -> None:
    told = _UserWords(session, words)
    if session.code:
        return
    if not told.names:
        session.wrong(" Need name of user to add.")
        return
    cluster = cluster_name(session, told.cond.get("clusters") or [])
    if cluster is None:
        return
    accounts = list(dict.fromkeys(told.cond.get("accounts") or []))
    if not accounts and not told.wckeys:
        session.wrong(" Need name of account or wckey to add." if since(session.release, "account_or_wckey")
                      else " Need name of account to add user to.")  # fmt: skip
        return
    arguments = {
        "action": "add_user", "names": [name for name in dict.fromkeys(told.names) if name], "accounts": accounts,
        "partitions": told.cond.get("partitions"), "default_account": told.default, "admin_level": told.level,
        "settings": told.settings.found,
    }  # fmt: skip
    if told.wckeys:
        arguments |= {"wckeys": told.wckeys, "default_wckey": told.default_wckey}
    new = _new_associations(session, arguments, cluster)
    if new is None:
        return
    users, associations = new
    wckeys = _new_wckeys(session, arguments)
    if not associations and not wckeys:
        _tell_nothing_new(session, users)
        return
    answer = reply(session, "account_check", arguments)
    if not (isinstance(answer, str) and since(session.release, "new_users_checked_first")):
        _show_new_user(session, users, associations, told)
        _show_wckeys(session, wckeys, cluster)
    if isinstance(answer, str):
        session.wrong(_problem(session, answer, raises=told.level not in ("", "None")))
        return
    commit(session, arguments)


def _tell_nothing_new(session: Session, users: list[str]) -> None:
    """Say that no association is new."""
    if since(session.release, "add_accounts_first"):
        if not session.code:  # no account was skipped, either
            session.io.out("Request didn't affect anything\n")
        session.io.out("Nothing added.\nMake sure the accounts requested here have been added to the system/cluster. "
                       "(sacctmgr add account...)\n")  # fmt: skip
        session.code = 1
    elif users:
        session.wrong(" No associations or wckeys created.")
    else:
        session.io.out(" Nothing new added.\n")
        session.code = session.code or 1


def _problem(session: Session, answer: str, *, raises: bool) -> str:
    """Return what is said when slurmdbd refuses new users with `answer`; `raises`: an admin level was asked for."""
    release = session.release
    if answer == NOT_ALLOWED and since(release, "who_may_add_told"):
        answer += f" ({_RAISES if raises and _coordinates(session) else _who_may_add(session)})"
    if answer == NO_DEFAULT_QOS and since(release, "default_qos_named_twice"):
        answer += f" ({answer})"
    if since(release, "user_associations_refused"):
        return f" error: Problem adding user associations: {answer}"
    return f" Problem adding users: {answer}"


def _who_may_add(session: Session) -> str:
    """Return what slurmdbd says to one who may not add: a coordinator may, but not there."""
    return f"{NO_PRIVILEGE}\n" if _coordinates(session) else _WHO_MAY_ADD


def _coordinates(session: Session) -> bool:
    """Return True if the caller coordinates an account."""
    name = session.io.client.call("hello")["user"]
    return any(record["user"] == name and record["coordinates"] for record in session.list("user"))


def _new_associations(
    session: Session, arguments: Mapping[str, Any], cluster: str
) -> tuple[list[str], list[tuple[str, str, str]]] | None:
    """Return names of new users and (user, account, partition) of their associations; None if the caller says no."""
    known_users = {r["user"] for r in session.list("user")}
    known_accounts = {r["account"] for r in session.list("account")}
    known = {(r["user"], r["account"], r["partition"] or "") for r in session.list("association")}
    users: list[str] = []
    found: list[tuple[str, str, str]] = []
    default = arguments["default_account"]
    for at, name in enumerate(arguments["names"]):
        if name not in known_users:
            if at == 0 and default and default not in known_accounts:
                _no_account(session, default, cluster)
                continue
            if session.io.client.call("users", names=[name])["uids"][0] is None and not session.ask(
                f"There is no uid for user '{name}'\nAre you sure you want to continue?"
            ):
                session.code = 1
                return None
            users.append(name)
        for account in arguments["accounts"]:
            if account not in known_accounts:
                # an unknown account is told with the first user only (acct_first)
                if at == 0:
                    _no_account(session, account, cluster)
                continue
            found += [
                (name, account, partition)
                for partition in arguments["partitions"] or [""]
                if (name, account, partition) not in known
            ]
    return users, found


def _no_account(session: Session, account: str, cluster: str) -> None:
    if since(session.release, "unknown_accounts_skipped"):
        session.io.out(f"No account {account} on cluster {cluster}, skipping.\n")
        session.code = 1
    else:
        session.wrong(f" This account '{account}' doesn't exist.\n        Contact your admin to add this account.")


def _new_wckeys(session: Session, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return WCKeys and users that are not known together."""
    asked = [(key, name) for key in arguments.get("wckeys") or () for name in arguments["names"]]
    known = {(r["wckey"], r["user"]) for r in session.list("wckey")} if asked else set()
    return [pair for pair in asked if pair not in known]


def _show_wckeys(session: Session, wckeys: list[tuple[str, str]], cluster: str) -> None:
    if wckeys:
        session.io.out(" Wckey(s)\n")
    for key, user in wckeys:
        session.io.out(f"  C = {cluster:<10.10} W = {key:<10.10} U = {user:<9.9}\n")


def _show_new_user(
    session: Session, users: list[str], associations: list[tuple[str, str, str]], told: _UserWords
) -> None:
    out, default, level = session.io.out, told.default, told.level
    cluster = session.list("cluster")[0]["cluster"]
    if users:
        out(f" Adding User(s)\n{lines_of(users)}")
        if since(session.release, "settings_of_new_users"):
            out(" Settings\n")
        elif default or level:
            out(" Settings =\n")
        if default:
            out(f"  Default Account = {default}\n")
        if told.default_wckey:
            out(f"  Default WCKey   = {told.default_wckey}\n")
        if level and level != "None":
            out(f"  Admin Level     = {level}\n")
    out(" Associations =\n" if associations else "")
    for user, account, partition in associations:
        tail = f" P = {partition:<10.10}" if partition else ""
        if since(session.release, "cluster_before_account"):
            out(f"  C = {cluster:<10.10} A = {account:<20.20} U = {user:<9.9}{tail}\n")
        else:
            out(f"  U = {user:<9.9} A = {account:<10.10} C = {cluster:<10.10}{tail}\n")
    lines = told.settings.lines()
    if told.limit_set and (lines or not since(session.release, "no_empty_settings")):
        out(" Non Default Settings\n" + "".join(f"{line}\n" for line in lines))


def _add_qos(session: Session, words: list[str]) -> None:
    io, settings = session.io, Settings(QOS)
    names: list[str] = []
    description = ""
    for word in plain(words):
        if not word.equals or matches(word.name, "Names:1"):
            names += names_in(word.value)
        elif matches(word.name, "Description:1"):
            description = folded(word)
        elif not settings.take(session, word):
            session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
    if session.code:
        return
    if not names:
        session.wrong(" Need name of qos to add.")
        return
    known = {r["name"] for r in session.list("qos")}
    fresh = [name for name in dict.fromkeys(names) if name and name not in known]
    if not fresh:
        io.out(" Nothing new added.\n")
        session.code = 1
        return
    io.out(f" Adding QOS(s)\n{lines_of(fresh)} Settings\n  Description    = {description or fresh[-1]}\n")
    io.out("".join(f"{line}\n" for line in settings.lines()))
    arguments = {"action": "add_qos", "names": fresh, "description": description, "settings": settings.found}
    answer = reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding QOS: {answer}")
        return
    commit(session, arguments)
