"""sacctmgr add, modify and delete: what is asked for is shown, asked about, and then told to the database.

Mirrors account_functions.c, user_functions.c and qos_functions.c of sacctmgr (22.05).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.commands.io import FAILED_CALLS, UNREACHABLE
from slurmsim.commands.sacctmgr_fields import matches
from slurmsim.commands.sacctmgr_settings import ASSOCIATION, QOS_SETTINGS, Settings
from slurmsim.commands.sacctmgr_words import Session, Word, association_condition, names_in, word_of
from slurmsim.protocol import Refusal

_COMMIT = "Would you like to commit changes?"
_NO_CONDITIONS = "You didn't set any conditions with 'WHERE'.\nAre you sure you want to continue?"
_LEVELS = ("None", "Operator", "Administrator")
_ADD = ('No valid entity in add command\nInput line must include "Account", "Cluster", "Coordinator", "Federation", '
        '"QOS", "Resource", or "User"')  # fmt: skip
_MODIFY = ('No valid entity in modify command\nInput line must include "Account", "Cluster", "Federation", "Job", '
           '"QOS", "Resource" or "User"')  # fmt: skip
_DELETE = ('No valid entity in delete command\nInput line must include "Account", "Cluster", "Coordinator", '
           '"Federation", "QOS", "Resource", or "User"')  # fmt: skip
Answer = Mapping[str, Any]
USER, ASSOC = 1, 2


def _reply(session: Session, name: str, arguments: Mapping[str, Any]) -> Answer | str:
    """The database's answer, or Slurm's text for its refusal."""
    try:
        return session.io.client.call(name, **arguments)
    except FAILED_CALLS as error:
        return error.text if isinstance(error, Refusal) else UNREACHABLE


def _commit(session: Session, arguments: Mapping[str, Any]) -> None:
    """Ask, and make it so."""
    if not session.ask(_COMMIT):
        session.io.out(" Changes Discarded\n")
        return
    answer = _reply(session, "account_change", arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")


def _lines(names: list[str]) -> str:
    return "".join(f"  {name}\n" for name in names)


def level_of(text: str) -> str:
    """An AdminLevel as str_2_slurmdb_admin_level reads it."""
    lower = text.strip("\"'").lower()
    return next((level for level in _LEVELS if level.lower().startswith(lower[:2])), "None") if lower else "None"


# -- add ----------------------------------------------------------------------------------------------------------


def add(session: Session, words: list[str]) -> None:
    """``add ENTITY …``."""
    _dispatch(session, words, _ADD, (
        ("Account:1 Acct:4", _add_account), ("Cluster:2", _add_cluster), ("Coordinator:2", _add_coordinator),
        ("Federation:1", _refuse), ("QOS:1", _add_qos), ("Resource:1", _refuse), ("User:1", _add_user),
    ))  # fmt: skip


def _dispatch(
    session: Session, words: list[str], text: str,
    entities: tuple[tuple[str, Callable[[Session, list[str]], None]], ...],
) -> None:  # fmt: skip
    for names, do in entities if words else ():
        if matches(words[0], names):
            do(session, words[1:])
            return
    session.wrong(text)


def _refuse(session: Session, words: list[str]) -> None:
    session.wrong("sacctmgr: error: slurmsim has no federations, resources and jobs to change here")


def _plain(words: list[str]) -> list[Word]:
    """The words without ``where`` and ``set``."""
    return [word for word in map(word_of, words) if word.equals or not matches(word.text, "Where:5 Set:3")]


def _add_account(session: Session, words: list[str]) -> None:
    io, settings = session.io, Settings(ASSOCIATION)
    names: list[str] = []
    clusters: list[str] = []
    facts: dict[str, str] = {}
    for word in _plain(words):
        if not word.equals or matches(word.name, "Accounts:1 Names:1 Acct:4"):
            names += names_in(word.value)
        elif matches(word.name, "Clusters:1"):
            clusters += names_in(word.value)
        elif matches(word.name, "Description:1"):
            facts["description"] = word.value.strip("\"'").lower()
        elif matches(word.name, "Organization:1"):
            facts["organization"] = word.value.strip("\"'").lower()
        elif not settings.take(session, word):
            session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
    if session.code:
        return
    if not names:
        session.wrong(" Need name of account to add.")
        return
    parent = next((value for field, _, value in settings.found if field == "Parent"), "root")
    settings.found = [s for s in settings.found if s[0] != "Parent"]
    cluster = _cluster(session, clusters)
    if cluster is None:
        return
    known = {r["account"] for r in session.list("account")}
    fresh = [name for name in dict.fromkeys(names) if name and name not in known]
    if "" in names:
        session.wrong(" No blank names are allowed when adding.")
    if not fresh:
        io.out(" Nothing new added.\n")
        session.code = 1
        return
    if parent not in known:
        for _ in fresh:
            session.wrong(f" Parent account '{parent}' doesn't exist on cluster {cluster}\n"
                          "        Contact your admin to add this account.")  # fmt: skip
        session.wrong(" No associations created.")
        return
    arguments = {"action": "add_account", "names": fresh, "parent": parent, "settings": settings.found, **facts}
    _show_new_account(session, fresh, cluster, parent, facts, settings)
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding accounts: {answer}")
        return
    _commit(session, arguments)


def _show_new_account(
    session: Session, names: list[str], cluster: str, parent: str, facts: Mapping[str, str], settings: Settings
) -> None:
    out = session.io.out
    new = session.release >= "24.11"
    if new:
        out(f" Adding Account(s)\n{_lines(names)}")
        out(" Settings\n")
        out(f"  Description     = {facts.get('description', 'Account Name')}\n")
        out(f"  Organization    = {facts.get('organization', 'Parent/Account Name')}\n")
        out(" Associations\n" + "".join(f"  C = {cluster:<10.10} A = {name:<10.10}\n" for name in names))
        if settings.found:
            out(" Settings\n" + "".join(f"{line}\n" for line in settings.lines()))
        return
    out(f" Adding Account(s)\n{_lines(names)}")
    out(" Settings\n")
    out(f"  Description     = {facts.get('description', 'Account Name')}\n")
    out(f"  Organization    = {facts.get('organization', 'Parent/Account Name')}\n")
    out(" Associations\n" + "".join(f"  A = {name:<10.10} C = {cluster:<10.10}\n" for name in names))
    if settings.found or parent != "root":
        if parent != "root":
            settings.shown["Parent"] = parent
        out(" Settings\n" + "".join(f"{line}\n" for line in settings.lines()))


def _cluster(session: Session, asked: list[str]) -> str | None:
    """The cluster's name; complains about others."""
    name = str(session.list("cluster")[0]["cluster"])
    for other in asked:
        if other != name.lower():
            session.wrong(
                f" This cluster '{other}' doesn't exist.\n        Contact your admin to add it to accounting."
            )
    return None if asked and name.lower() not in asked else name


def _add_cluster(session: Session, words: list[str]) -> None:
    known = str(session.list("cluster")[0]["cluster"])
    names = [n for word in _plain(words) if not word.equals or matches(word.name, "Names:1 Clusters:3")
             for n in names_in(word.value)]  # fmt: skip
    if not names:
        session.wrong(" Need name of cluster to add.")
        return
    for name in names:
        if name == known.lower():
            session.io.out(f" This cluster {name} already exists.  Not adding.\n")
        else:
            session.wrong("sacctmgr: error: slurmsim has one cluster")
    session.code = 1


def _add_user(session: Session, words: list[str]) -> None:
    io, settings = session.io, Settings(ASSOCIATION)
    names: list[str] = []
    cond: dict[str, Any] = {}
    level = default = ""
    limit_set = False
    for word in map(word_of, words):
        if not word.equals or matches(word.name, "Names:1 Users:1"):
            names += names_in(word.value)
        elif matches(word.name, "AdminLevel:2"):
            level = level_of(word.value)
        elif matches(word.name, "DefaultAccount:8"):
            if default:
                session.wrong(f" Already listed DefaultAccount {default}")
                continue
            default = word.value.strip("\"'").lower()
            cond.setdefault("accounts", []).append(default)
        elif matches(word.name, "DefaultWCKey:8 WCKeys:1"):
            session.wrong("sacctmgr: error: slurmsim keeps no WCKeys")
        elif settings.take(session, word) or association_condition(session, cond, word):
            limit_set = True
        else:
            session.wrong(f" Unknown option: {word.text}")
    if session.code:
        return
    if not names:
        session.wrong(" Need name of user to add.")
        return
    cluster = _cluster(session, cond.get("clusters") or [])
    if cluster is None:
        return
    accounts = list(dict.fromkeys(cond.get("accounts") or []))
    if not accounts:
        session.wrong(" Need name of account to add user to." if session.release < "24.11"
                      else " Need name of account or wckey to add user to.")  # fmt: skip
        return
    arguments = {
        "action": "add_user", "names": [name for name in dict.fromkeys(names) if name], "accounts": accounts,
        "partitions": cond.get("partitions"), "default_account": default, "admin_level": level,
        "settings": settings.found,
    }  # fmt: skip
    new = _new_associations(session, arguments, cluster)
    if new is None:
        return
    users, associations = new
    if session.code and not associations and not users:
        io.out(" Nothing new added.\n")
        return
    if not associations:
        if users:
            session.wrong(" No associations or wckeys created.")
        else:
            io.out(" Nothing new added.\n")
            session.code = 1
        return
    _show_new_user(session, users, associations, default, level, settings, limit_set)
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding users: {answer}")
        return
    _commit(session, arguments)


def _new_associations(
    session: Session, arguments: Mapping[str, Any], cluster: str
) -> tuple[list[str], list[tuple[str, str, str]]] | None:
    """Names of new users, and (user, account, partition) of what they get; None when somebody changed their mind."""
    known_users = {r["user"] for r in session.list("user")}
    known_accounts = {r["account"] for r in session.list("account")}
    known = {(r["user"], r["account"], r["partition"] or "") for r in session.list("association")}
    users: list[str] = []
    found: list[tuple[str, str, str]] = []
    default = arguments["default_account"]
    for at, name in enumerate(arguments["names"]):
        if name not in known_users:
            if at == 0 and default and default not in known_accounts:
                session.wrong(
                    f" This account '{default}' doesn't exist.\n        Contact your admin to add this account."
                )
                continue
            if session.io.client.call("users", names=[name])["uids"][0] is None and not session.ask(
                f"There is no uid for user '{name}'\nAre you sure you want to continue?"
            ):
                session.io.out(" Nothing new added.\n" if False else "")
                session.code = 1
                return None
            users.append(name)
        for account in arguments["accounts"]:
            if account not in known_accounts:
                if at == 0:
                    session.wrong(
                        f" This account '{account}' doesn't exist.\n        Contact your admin to add this account."
                    )
                continue
            found += [
                (name, account, partition)
                for partition in arguments["partitions"] or [""]
                if (name, account, partition) not in known
            ]
    return ([name for name in users] if found or users else []), found


def _show_new_user(
    session: Session, users: list[str], associations: list[tuple[str, str, str]], default: str, level: str,
    settings: Settings, limit_set: bool,
) -> None:  # fmt: skip
    out = session.io.out
    cluster = session.list("cluster")[0]["cluster"]
    if users:
        out(f" Adding User(s)\n{_lines(users)}")
        if default or level:
            out(" Settings =\n")
        if default:
            out(f"  Default Account = {default}\n")
        if level:
            out(f"  Admin Level     = {level}\n")
    out(" Associations =\n")
    for user, account, partition in associations:
        tail = f" P = {partition:<10.10}" if partition else ""
        if session.release >= "24.11":
            out(f"  C = {cluster:<10.10} A = {account:<10.10} U = {user:<9.9}{tail}\n")
        else:
            out(f"  U = {user:<9.9} A = {account:<10.10} C = {cluster:<10.10}{tail}\n")
    if limit_set:
        out(" Non Default Settings\n" + "".join(f"{line}\n" for line in settings.lines()))


def _add_qos(session: Session, words: list[str]) -> None:
    io, settings = session.io, Settings(QOS_SETTINGS)
    names: list[str] = []
    description = ""
    for word in _plain(words):
        if not word.equals or matches(word.name, "Names:1"):
            names += names_in(word.value)
        elif matches(word.name, "Description:1"):
            description = word.value.strip("\"'").lower()
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
    io.out(f" Adding QOS(s)\n{_lines(fresh)} Settings\n  Description    = {description or fresh[-1]}\n")
    io.out("".join(f"{line}\n" for line in settings.lines()))
    arguments = {"action": "add_qos", "names": fresh, "description": description, "settings": settings.found}
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding QOS: {answer}")
        return
    _commit(session, arguments)


# -- conditions -----------------------------------------------------------------------------------------------------


def _account_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    if not word.equals and matches(word.text, "WithAssoc:5 WithCoordinators:5 WithDeleted:5 WOPLimits:4"):
        return 0
    if not word.equals or matches(word.name, "Names:1 Accounts:1 Acct:4"):
        cond.setdefault("accounts", []).extend(names_in(word.value))
        return USER
    if matches(word.name, "Descriptions:1"):
        cond.setdefault("descriptions", []).extend(names_in(word.value))
        return USER
    if matches(word.name, "Organizations:1"):
        cond.setdefault("organizations", []).extend(names_in(word.value))
        return USER
    return _other_condition(session, cond, word)


def _user_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    if not word.equals and matches(word.text, "WithAssoc:5 WithCoordinators:5 WithDeleted:5 WOPLimits:4"):
        return 0
    if not word.equals or matches(word.name, "Names:1 Users:1"):
        cond.setdefault("users", []).extend(names_in(word.value))
        return USER
    if matches(word.name, "AdminLevel:2"):
        cond["admin_level"] = level_of(word.value)
        return USER
    if matches(word.name, "Clusters:1"):
        cond.setdefault("clusters", []).extend(names_in(word.value))
        return USER
    if matches(word.name, "DefaultAccount:8"):
        cond.setdefault("default_accounts", []).extend(names_in(word.value))
        return USER
    return _other_condition(session, cond, word)


def _other_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    if association_condition(session, cond, word):
        return ASSOC
    session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify value")
    return 0


def _qos_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    if not word.equals and matches(word.text, "WithDeleted:5"):
        return 0
    if not word.equals or matches(word.name, "Names:1 QOSLevel:1"):
        cond.setdefault("names", []).extend(names_in(word.value))
        return USER
    if matches(word.name, "Ids:1"):
        cond.setdefault("ids", []).extend(int(text) for text in names_in(word.value) if text.isdigit())
        return USER
    session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify value")
    return 0


# -- modify ---------------------------------------------------------------------------------------------------------

Take = Callable[[Word], int]  # USER, ASSOC, or 0 for a word that means nothing


def modify(session: Session, words: list[str]) -> None:
    """``modify ENTITY where … set …``."""
    _dispatch(session, words, _MODIFY, (
        ("Accounts:1 Acct:4", _modify_account), ("Clusters:5", _modify_cluster), ("Federation:1", _refuse),
        ("Job:1", _refuse), ("QOSs:1", _modify_qos), ("Resource:1", _refuse), ("Users:1", _modify_user),
    ))  # fmt: skip


def _read(session: Session, words: list[str], where: Take, set_: Take) -> tuple[int, int]:
    """What was conditioned and what was set, each a sum of USER and ASSOC; complains about words nobody knows."""
    conditions = settings = 0
    setting = False
    for text in words:
        word = word_of(text)
        if not word.equals and matches(text, "Where:5"):
            setting = False
        elif not word.equals and matches(text, "Set:3"):
            setting = True
        elif setting:
            settings |= set_(word)
        else:
            conditions |= where(word)
    return conditions, settings


def _ready(session: Session, conditions: int, settings: int) -> bool:
    """Whether there is something to do; asks when there are no conditions."""
    if session.code:
        return False
    if not settings:
        session.wrong(" You didn't give me anything to set")
        return False
    if not conditions and not session.ask(_NO_CONDITIONS):
        session.io.out("Aborted\n")
        return False
    return True


def _modified(session: Session, title: str, arguments: Mapping[str, Any]) -> bool:
    """Tell what would be modified; whether there is anything to commit."""
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")
        if "one at a time" in answer:
            session.note(" If you are changing a users name you can only specify 1 user at a time.")
        return False
    if not answer["objects"]:
        session.io.out(" Nothing modified\n")
        session.code = 1
        return False
    if answer.get("error") == "no_association":
        session.wrong(" Can't modify because these users aren't associated with new default account "
                      f"'{answer['account']}'...\n  U = {answer['user']:<9} C = {_cluster(session, [])}")  # fmt: skip
        return False
    session.io.out(f" {title}...\n{_lines(list(answer['objects']))}")
    return True


def _commit_all(session: Session, requests: list[Mapping[str, Any]]) -> None:
    if not requests:
        return
    if not session.ask(_COMMIT):
        session.io.out(" Changes Discarded\n")
        return
    for arguments in requests:
        answer = _reply(session, "account_change", arguments)
        if isinstance(answer, str):
            session.wrong(f" Error with request: {answer}")


def _modify_account(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    facts: dict[str, str] = {}
    settings = Settings(ASSOCIATION)

    def set_(word: Word) -> int:
        if not word.equals or matches(word.name, "Accounts:1 Names:1 Acct:4"):
            session.wrong(" Can't modify the name of an account")
        elif matches(word.name, "Clusters:1"):
            session.wrong(" Can't modify the cluster of an account")
        elif matches(word.name, "Description:1"):
            facts["description"] = word.value.strip("\"'").lower()
            return USER
        elif matches(word.name, "Organization:1"):
            facts["organization"] = word.value.strip("\"'").lower()
            return USER
        elif settings.take(session, word):
            return ASSOC
        else:
            session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
        return 0

    conditions, changed = _read(session, words, lambda word: _account_condition(session, cond, word), set_)
    if not _ready(session, conditions, changed):
        return
    requests: list[Mapping[str, Any]] = []
    if changed & USER:
        arguments: dict[str, Any] = {"action": "modify_accounts", "cond": cond, **facts}
        if _modified(session, "Modified accounts", arguments):
            requests.append(arguments)
    if changed & ASSOC:
        parent = next((value for name, _, value in settings.found if name == "Parent"), None)
        if parent is not None and parent not in {r["account"] for r in session.list("account")}:
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
            facts["default_account"] = word.value.strip("\"'").lower()
            return USER
        elif matches(word.name, "NewName:1"):
            facts["new_name"] = word.value.strip("\"'").lower()
            return USER
        elif settings.take(session, word):
            return ASSOC
        else:
            session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
        return 0

    conditions, changed = _read(session, words, lambda word: _user_condition(session, cond, word), set_)
    if not _ready(session, conditions, changed):
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

    def set_(word: Word) -> int:
        if settings.take(session, word):
            return ASSOC
        session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
        return 0

    conditions, changed = _read(session, words, where, set_)
    if not _ready(session, conditions, changed):
        return
    arguments = {"action": "modify_associations", "kind": "cluster", "cond": cond, "settings": settings.found}
    if _modified(session, "Modified cluster defaults for associations", arguments):
        _commit_all(session, [arguments])


def _modify_qos(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    facts: dict[str, str] = {}
    settings = Settings(QOS_SETTINGS)

    def set_(word: Word) -> int:
        if not word.equals or matches(word.name, "Names:1"):
            session.wrong(" Can't modify the name of a qos" if word.equals else
                          f" Bad format on {word.text}: End your option with an '=' sign")  # fmt: skip
            return 0
        if matches(word.name, "Description:1"):
            facts["description"] = word.value.strip("\"'").lower()
            return USER
        if settings.take(session, word):
            return ASSOC
        session.wrong(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition")
        return 0

    conditions, changed = _read(session, words, lambda word: _qos_condition(session, cond, word), set_)
    if not _ready(session, conditions, changed):
        return
    arguments = {"action": "modify_qos", "cond": cond, "settings": settings.found, **facts}
    if _modified(session, "Modified qos", arguments):
        _commit_all(session, [arguments])


# -- delete -----------------------------------------------------------------------------------------------------------


def delete(session: Session, words: list[str]) -> None:
    """``delete ENTITY …``."""
    _dispatch(session, words, _DELETE, (
        ("Accounts:1 Acct:4", _delete_account), ("Clusters:2", _refuse), ("Coordinators:2", _delete_coordinator),
        ("Federations:1", _refuse), ("QOS:2", _delete_qos), ("Resource:1", _refuse), ("Users:1", _delete_user),
    ))  # fmt: skip


def _conditions(session: Session, words: list[str], take: Take) -> int:
    found = 0
    for word in _plain(words):
        found |= take(word)
    if not found and not session.code:
        session.wrong(" No conditions given to remove, not executing.")
    return found


def _delete_account(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    found = _conditions(session, words, lambda word: _account_condition(session, cond, word))
    if session.code:
        return
    if "root" in (cond.get("accounts") or ()):
        session.wrong(" You are not allowed to remove the root account.\n Use remove cluster instead.")
        return
    whole = found == USER
    _delete(session, "account", cond, whole, "Deleting accounts" if whole else "Deleting account associations")


def _delete_user(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    found = _conditions(session, words, lambda word: _user_condition(session, cond, word))
    if session.code:
        return
    whole = found == USER and not cond.get("clusters")
    _delete(session, "user", cond, whole, "Deleting users" if whole else "Deleting user associations")


_TAIL = {
    "account": " Please either remove the accounts listed above from list and resubmit,\n"
    " or change these users' default accounts to remove the account(s).\n Changes Discarded",
    "user": " You must change the default account of these users or remove the users completely "
    "from the affected clusters to allow these changes.\n Changes Discarded",
}


def _delete(session: Session, kind: str, cond: Mapping[str, Any], whole: bool, title: str) -> None:
    out = session.io.out
    arguments = {"action": "delete", "kind": kind, "cond": cond, "whole": whole}
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")
        return
    objects = list(answer["objects"])
    if not objects:
        out(" Nothing deleted\n")
        session.code = 1
        return
    if answer.get("error"):
        session.wrong(f" Error with request: {answer['error']}\n" + _lines(objects).rstrip("\n"))
        if "default account" in answer["error"]:
            session.note(_TAIL[kind])
        return
    out(f" {title}...\n{_lines(objects)}")
    if answer.get("orphans"):
        out(f" Deleting users (No Associations)...\n{_lines(list(answer['orphans']))}")
    _commit(session, arguments)


def _delete_qos(session: Session, words: list[str]) -> None:
    cond: dict[str, Any] = {}
    _conditions(session, words, lambda word: _qos_condition(session, cond, word))
    if session.code:
        return
    arguments = {"action": "delete_qos", "cond": cond}
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")
        return
    objects = list(answer["objects"])
    if not objects:
        session.io.out(" Nothing deleted\n")
        session.code = 1
        return
    if answer.get("error"):
        session.wrong(" Error with request: The associations below have these as their default qos.\n"
                      f"{_lines(objects)} Please either remove the qos' listed above from list and resubmit,\n"
                      " or change the default qos to remove the qos.\n Changes Discarded")  # fmt: skip
        return
    session.io.out(f" Deleting QOS(s)...\n{_lines(objects)}")
    _commit(session, arguments)


# -- coordinators -----------------------------------------------------------------------------------------------------


def _coordinators(session: Session, words: list[str], *, both: bool) -> dict[str, Any] | None:
    cond: dict[str, Any] = {}
    found = 0
    for word in _plain(words):
        found |= _user_condition(session, cond, word)
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


def _add_coordinator(session: Session, words: list[str]) -> None:
    cond = _coordinators(session, words, both=True)
    if cond is None:
        return
    session.io.out(f" Adding Coordinator User(s)\n{_lines(cond['users'])}")
    session.io.out(f" To Account(s) and all sub-accounts\n{_lines(cond['accounts'])}")
    arguments = {"action": "add_coordinator", "users": cond["users"], "accounts": cond["accounts"]}
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding coordinator: {answer}")
        return
    _commit(session, arguments)


def _delete_coordinator(session: Session, words: list[str]) -> None:
    cond = _coordinators(session, words, both=False)
    if cond is None:
        return
    users, accounts = cond.get("users") or [], cond.get("accounts") or []
    out = session.io.out
    if users:
        out(f" Removing Coordinators with user name\n{_lines(users)}")
        out(f" From Account(s)\n{_lines(accounts)}" if accounts else " From all accounts\n")
    else:
        out(f" Removing all users from Accounts\n{_lines(accounts)}")
    arguments = {"action": "delete_coordinator", "users": users, "accounts": accounts}
    answer = _reply(session, "account_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")
        return
    if not answer["objects"]:
        out(" Nothing removed\n")
        session.code = 1
        return
    out(f" Removed Coordinators (sub accounts not listed)...\n{_lines(list(answer['objects']))}")
    _commit(session, arguments)
