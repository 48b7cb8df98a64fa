"""A file of sacctmgr commands, one a line or within a site's set-up script: add, modify and delete.

As sacctmgr does it, verbs, kinds and keys may be shortened, what exists is not added again, and what only shows
something changes nothing.

add account sci Fairshare=60 GrpTRES=cpu=24
add user alice,bob Account=sci
modify user where name=alice set qos+=high DefaultQOS=high
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmsim.config.accounting.draft import ROOT, Draft, Item, Key, fail
from slurmsim.config.accounting.fields import parse_names
from slurmsim.config.accounting.script_lines import VERBS, commands_in
from slurmsim.config.findings import Place

_SHOWING = ("list", "show", "dump", "help", "version", "ping", "problems", "clear", "archive", "reconfigure",
            "shutdown", "exit", "quit")  # fmt: skip
_OBJECTS = {"accounts": "account", "acct": "account", "users": "user", "qos": "qos", "clusters": "cluster"}
_COORDINATORS = "coordinators"
_ASIDE = ("wckeys", "tres", "resources")  # without effect on a schedule
_KEYS = ("accounts", "clusters", "defaultaccount", "description", "fairshare", "names", "organization", "parent",
         "partitions", "users")  # fmt: skip
_LEAST = 3  # letters of a word that is shortened
Setting = tuple[str, str, str]  # key, operator, value
_SELECTORS = ("name", "names", "account", "accounts", "acct", "user", "users", "cluster", "clusters", "partition",
              "partitions")  # fmt: skip


def read_commands(text: str, file: str, draft: Draft) -> None:
    """Do what the commands say on `draft`. Raises ConfigError with file, line and field."""
    draft.root(Place(file, None))
    for words, place in commands_in(text, file):
        if words:
            _command(words, place, draft)


def do_command(line: str, place: Place, draft: Draft) -> bool:
    """Do on `draft` what one command, found at `place`, says; False when there is none. Raises ConfigError.

    A command that only shows something is an error here: it would change nothing.
    """
    found = [words for words, _ in commands_in(line, place.file) if words]
    for words in found:
        if _whole(words[0], (*VERBS, *_SHOWING)) in _SHOWING:
            fail(place, words[0], "no command slurmsim knows", "add, modify or delete")
        _command(words, place, draft)
    return bool(found)


def _command(words: list[str], place: Place, draft: Draft) -> None:
    verb = _whole(words[0], (*VERBS, *_SHOWING))
    if verb in _SHOWING:
        return
    if verb not in VERBS:
        fail(place, words[0], "no command slurmsim knows", "add, modify or delete")
    entity = _whole(words[1], (*_OBJECTS, _COORDINATORS, *_ASIDE)) if len(words) > 1 else ""
    if entity in _ASIDE:
        return
    if entity == _COORDINATORS and verb not in ("modify", "update"):
        _coordinators(_split(words[2:], place, changes=False)[0], place, draft, stay=verb in ("add", "create"))
        return
    if entity not in _OBJECTS:
        fail(place, words[0], f"{entity or 'nothing'!r} cannot be changed here", "account, user, qos or cluster")
    kind = _OBJECTS[entity]
    where, settings = _split(words[2:], place, changes=verb in ("modify", "update"))
    if verb in ("add", "create"):
        _ADD[kind](where + settings, place, draft)
        return
    chosen = _Selection(kind, where, place)
    if verb in ("delete", "remove"):
        chosen.delete(draft)
        return
    if not settings:
        fail(place, "set", "nothing is set", "set KEY=VALUE …")
    _modify(chosen, settings, place, draft)


def _whole(word: str, known: Iterable[str]) -> str:
    """Return the known word that `word` begins, or all of it; `word` in small letters for none."""
    lower = word.lower()
    found = [name for name in known if name == lower or (name.startswith(lower) and len(lower) >= _LEAST)]
    return lower if lower in found or not found else found[0]


def _split(words: list[str], place: Place, *, changes: bool) -> tuple[list[Setting], list[Setting]]:
    """Conditions and settings of a command; a word without ``=`` is a name."""
    parts: list[list[Setting]] = [[], []]
    into = 0
    for word in words:
        lower = word.lower()
        if lower in ("set", "where"):
            into = 1 if lower == "set" else 0
            continue
        setting = _setting(word)
        if setting is not None:
            name, operator, value = setting
            whole = name if name.lower() in _SELECTORS else _whole(name, _KEYS)
            parts[into].append((name if whole == name.lower() else whole, operator, value))
        elif into == 0:
            parts[0].append(("name", "", word))
        else:
            fail(place, word, "a setting without a value", "KEY=VALUE")
    return parts[0], parts[1]


def _setting(word: str) -> Setting | None:
    """Return the parts of ``KEY=VALUE``, ``KEY+=VALUE`` or ``KEY-=VALUE``; None for another word."""
    key, equals, value = word.partition("=")
    operator = key[-1] if key[1:].endswith(("+", "-")) else ""
    key = key.removesuffix(operator)
    return (key.rstrip(), operator, value) if equals and key and "+" not in key else None


def _names_of(settings: list[Setting], keys: tuple[str, ...], *, lower: bool = True) -> list[str]:
    """Return the values of the settings with one of `keys`, as separate names."""
    found = [value for key, _, value in settings if key.lower() in keys]
    names = [name.strip() for value in found for name in value.split(",") if name.strip()]
    return [name.lower() for name in names] if lower else names


def _rest(settings: list[Setting], keys: tuple[str, ...]) -> list[Setting]:
    return [setting for setting in settings if setting[0].lower() not in keys]


# -- add ----------------------------------------------------------------------------------------------------------


def _add_cluster(settings: list[Setting], place: Place, draft: Draft) -> None:
    names = _names_of(settings, ("name", "names", "cluster", "clusters"))
    if len(names) != 1:
        fail(place, "cluster", f"{len(names)} clusters", "one cluster")
    if draft.cluster and draft.cluster != names[0]:
        fail(place, "cluster", f"a second cluster {names[0]}", f"data of {draft.cluster} only")
    draft.cluster = names[0]
    _fields(draft, draft.root(place), _rest(settings, ("name", "names", "cluster", "clusters")), place)


def _add_qos(settings: list[Setting], place: Place, draft: Draft) -> None:
    for name in _needed(_names_of(settings, ("name", "names")), "qos", place):
        if name in draft.qos:
            continue
        item = draft.add_qos(name, place)
        for key, operator, value in _rest(settings, ("name", "names", "description", "descriptions")):
            draft.set_qos(item, key, value, place, operator)


def _add_account(settings: list[Setting], place: Place, draft: Draft) -> None:
    own = ("name", "names", "account", "accounts", "acct", "parent", "cluster", "clusters")
    parents = _names_of(settings, ("parent",)) or ["root"]
    for name in _needed(_names_of(settings, ("name", "names", "account", "accounts", "acct")), "account", place):
        _known(parents[0], "parent", place, draft)
        if (name, "", "") in draft.associations:
            continue
        item = draft.add((name, "", ""), place, parents[0])
        _fields(draft, item, _rest(settings, own), place)


def _add_user(settings: list[Setting], place: Place, draft: Draft) -> None:
    own = ("name", "names", "user", "users", "account", "accounts", "acct", "partition", "partitions", "cluster",
           "clusters", "defaultaccount", "defaultwckey", "wckey", "wckeys")  # fmt: skip
    default = _names_of(settings, ("defaultaccount",))
    accounts = _names_of(settings, ("account", "accounts", "acct")) or default
    partitions = _names_of(settings, ("partition", "partitions"), lower=False) or [""]
    for user in _needed(_names_of(settings, ("name", "names", "user", "users"), lower=False), "user", place):
        for account in _needed(accounts, "account", place):
            _known(account, "account", place, draft)
            for partition in partitions:
                if (account, user, partition) in draft.associations:
                    continue
                item = draft.add((account, user, partition), place)
                _fields(draft, item, _rest(settings, own), place)
        if default or user not in draft.defaults:
            draft.set_default(user, (default or accounts)[0], place)


def _coordinators(settings: list[Setting], place: Place, draft: Draft, *, stay: bool) -> None:
    """Let users look after accounts from now on, or no more."""
    users = _names_of(settings, ("name", "names", "user", "users"), lower=False)
    accounts = _names_of(settings, ("account", "accounts", "acct"))
    for account in _needed(accounts, "account", place):
        _known(account, "account", place, draft)
        aside = draft.associations[account, "", ""].aside
        others = [name for name in aside.get("coordinator", "").split(",") if name and name not in users]
        aside["coordinator"] = ",".join([*others, *(users if stay else ())])


_ADD: dict[str, Callable[[list[Setting], Place, Draft], None]] = {
    "cluster": _add_cluster,
    "qos": _add_qos,
    "account": _add_account,
    "user": _add_user,
}


def _fields(draft: Draft, item: Item, settings: list[Setting], place: Place) -> None:
    for key, operator, value in settings:
        draft.set_association(item, key, value, place, operator)


def _needed(names: list[str], field: str, place: Place) -> list[str]:
    if not names:
        fail(place, field, "no name is given", f"the {field} it is about")
    return names


def _known(account: str, field: str, place: Place, draft: Draft) -> None:
    if account != "root" and (account, "", "") not in draft.associations:
        fail(place, field, f"no account {account!r}", "an account that was added before")


# -- modify and delete --------------------------------------------------------------------------------------------


class _Selection:
    """What a command's conditions choose."""

    def __init__(self, kind: str, where: list[Setting], place: Place) -> None:
        self.kind, self.place = kind, place
        for key, _, _ in where:
            if key.lower() not in _SELECTORS:
                fail(
                    place, key, "slurmsim chooses by name, account and partition only", "name=, account= or partition="
                )
        own = ("name", "names") + (("user", "users") if kind == "user" else ())
        accounts = ("account", "accounts", "acct")
        self.names = _names_of(where, own + (accounts if kind == "account" else ()), lower=kind != "user")
        self.accounts = _names_of(where, accounts) if kind == "user" else []
        self.partitions = _names_of(where, ("partition", "partitions"), lower=False)

    def associations(self, draft: Draft) -> list[Key]:
        """Return the associations chosen. Raises ConfigError when there are none."""
        if self.kind == "cluster":
            return [ROOT]
        found = [key for key in draft.associations if self._matches(key)]
        known = {key[1] if self.kind == "user" else key[0] for key in found}
        for name in self.names:
            if name not in known:
                fail(self.place, "where", f"no {self.kind} {name!r} to change", f"a {self.kind} that was added before")
        if not found:
            fail(self.place, "where", f"no {self.kind} is chosen", "name=NAME")
        return found

    def qos(self, draft: Draft) -> list[str]:
        """Return the QOS chosen; ``normal`` exists from the beginning."""
        for name in _needed(self.names, "name", self.place):
            if name == "normal" and draft.implicit_qos and name not in draft.qos:
                draft.qos = {"normal": Item(self.place), **draft.qos}
            if name not in draft.qos:
                fail(self.place, "where", f"no QOS {name!r} to change", "a QOS that was added before")
        return self.names

    def delete(self, draft: Draft) -> None:
        """Take away what is chosen; of an account also what is below it."""
        if self.kind == "qos":
            for name in self.qos(draft):
                del draft.qos[name]
            return
        gone = self.associations(draft)
        for key in gone:
            if key == ROOT:
                fail(self.place, self.kind, "the root account cannot be deleted", "another account")
            draft.associations.pop(key, None)
            if self.kind == "account":
                _delete_below(key[0], draft)
        left = {(user, account) for account, user, _ in draft.associations}
        for user, (account, _) in list(draft.defaults.items()):
            if (user, account) not in left:
                del draft.defaults[user]

    def _matches(self, key: Key) -> bool:
        account, user, partition = key
        if self.kind == "account":
            return not user and account in self.names
        return (
            bool(user)
            and (not self.names or user in self.names)
            and (not self.accounts or account in self.accounts)
            and (not self.partitions or partition in self.partitions)
        )


def _delete_below(account: str, draft: Draft) -> None:
    for key, item in list(draft.associations.items()):
        if key[1]:
            if key[0] == account:
                del draft.associations[key]
        elif item.values.get("parent") == account:
            del draft.associations[key]
            _delete_below(key[0], draft)


def _modify(chosen: _Selection, settings: list[Setting], place: Place, draft: Draft) -> None:
    if chosen.kind == "qos":
        for name in chosen.qos(draft):
            for key, operator, value in settings:
                draft.set_qos(draft.qos[name], key, value, place, operator)
        return
    for where in chosen.associations(draft):
        for name, operator, value in settings:
            if name.lower() == "defaultaccount":
                account = parse_names(value)[0] if parse_names(value) else ""
                if not any(k[0] == account and k[1] == where[1] for k in draft.associations):
                    fail(place, name, f"user {where[1]} is not in account {account!r}", "an account of the user")
                draft.set_default(where[1], account, place)
            elif name.lower() == "newname":
                fail(place, name, "renaming is not read", "the new name from the beginning")
            else:
                draft.set_association(draft.associations[where], name, value, place, operator)
