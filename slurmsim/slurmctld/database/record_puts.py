"""What slurmrestd writes: one account, association, user, QOS or WCKey at a time, made where it is not there yet.

Unlike sacctmgr it makes accounts and users that have no association, and changes what is there by the same request.
Each function works on a `Change`, like what sacctmgr asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.association_database import AccountFacts, UserFacts
from slurmsim.slurmctld.database.association_changes import HERE, Change

if TYPE_CHECKING:
    from slurmsim.slurmctld.database.association_changes import Action

Arguments = Mapping[str, Any]


def actions(change: Change) -> dict[str, Action]:
    """By the names in requests."""
    done: tuple[Callable[[Change, Arguments], list[str]], ...] = (
        put_account, put_association, put_user, put_qos, put_wckey, delete_user, delete_account, default_if_there,
        delete_wckey,
    )  # fmt: skip
    return {do.__name__: partial(do, change) for do in done}


def put_account(change: Change, arguments: Arguments) -> list[str]:
    """Put an account: what is said of it, and its coordinators where it is new."""
    name = change.object_of(arguments)
    known = change.accounts.get(name)
    if known is None:
        facts = AccountFacts(str(arguments["description"]), str(arguments["organization"]))
        facts.coordinators = list(arguments.get("coordinators") or ())
        change.accounts[name] = facts
        change.notes.append(("Add Accounts", name, f"description='{facts.description}', "
                             f"organization='{facts.organization}'"))  # fmt: skip
    else:
        known.description, known.organization = str(arguments["description"]), str(arguments["organization"])
    return [name]


def put_association(change: Change, arguments: Arguments) -> list[str]:
    """Put an association of a user, or of an account that is there; nothing in an account without one."""
    account, user = str(arguments["account"]), str(arguments.get("user") or "")
    key = (account, user, str(arguments.get("partition") or ""))
    change.need_coordinator([account])
    if (account, "", "") not in change.draft.associations:
        return []
    settings = list(arguments.get("settings") or ())
    if key in change.draft.associations:
        settings = [one for one in settings if one[0] != "Comment"]  # which only a new one gets
    else:
        change.draft.add(key, HERE)
        change.notes.append(("Add Associations", "", f"acct='{account}', user='{user}'"))
    change.set_association(change.draft.associations[key], settings)
    if user:
        change.choose_default(user, account, asked=bool(arguments.get("is_default")))
    return [account]


def put_user(change: Change, arguments: Arguments) -> list[str]:
    """Put a user: the level, and the defaults."""
    name = change.object_of(arguments)
    facts = change.users.setdefault(name, UserFacts())
    if arguments.get("admin_level"):
        facts.admin_level = str(arguments["admin_level"])
    if arguments.get("default_wckey"):
        facts.default_wckey = str(arguments["default_wckey"])
    if arguments.get("default_account"):
        default_if_there(change, {"object": name, "account": arguments["default_account"]})
    return [name]


def put_qos(change: Change, arguments: Arguments) -> list[str]:
    """Put a QOS."""
    name = change.object_of(arguments)
    if name not in change.draft.qos:
        item = change.draft.add_qos(name, HERE)
        item.aside["description"] = str(arguments.get("description") or "")
        change.notes.append(("Add QOS", name, f"description='{item.aside['description']}'"))
    change.say_of_qos([name], arguments)
    return [name]


def put_wckey(change: Change, arguments: Arguments) -> list[str]:
    """Put a WCKey of a user."""
    change.need_operator()
    change.wckeys.setdefault((str(arguments["object"]), str(arguments.get("user") or "")), 0)
    return [str(arguments["object"])]


def delete_user(change: Change, arguments: Arguments) -> list[str]:
    """Delete a user without associations."""
    name = change.object_of(arguments)
    if change.users.pop(name, None) is None:
        return []
    change.draft.defaults.pop(name, None)
    for facts in change.accounts.values():
        facts.coordinators = [one for one in facts.coordinators if one != name]
    change.wckeys = {key: number for key, number in change.wckeys.items() if key[1] != name}
    change.notes.append(("Remove Users", f"name='{name}'", ""))
    return [name]


def delete_account(change: Change, arguments: Arguments) -> list[str]:
    """Delete an account without associations."""
    name = change.object_of(arguments)
    if change.accounts.pop(name, None) is None:
        return []
    change.notes.append(("Remove Accounts", f"name='{name}'", ""))
    return [name]


def delete_wckey(change: Change, arguments: Arguments) -> list[str]:
    """Delete the WCKeys of a name, of one user or of all."""
    change.need_operator()
    user = arguments.get("user")
    gone = [key for key in change.wckeys if key[0] == arguments["object"] and user in (None, key[1])]
    for key in gone:
        del change.wckeys[key]
    return [f"C = {change.db.cluster:<10} W = {name:<20} U = {user:<9}" for name, user in gone]


def default_if_there(change: Change, arguments: Arguments) -> list[str]:
    """Set a user's default account, if the user has an association with it."""
    change.need_operator()
    name, account = str(arguments["object"]), str(arguments["account"])
    if not any(key[0] == account and key[1] == name for key in change.draft.associations):
        return []
    change.draft.set_default(name, account, HERE)
    return [name]
