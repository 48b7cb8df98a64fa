"""What sacctmgr adds and modifies: worked out on a copy, which takes the database's place when all went well.

Mirrors as_mysql_assoc.c, as_mysql_user.c, as_mysql_acct.c, as_mysql_qos.c (22.05) as far as clients see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.build import preemption_loop
from slurmsim.config.accounting.draft import ROOT, Draft, Item, Key
from slurmsim.config.findings import Place
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.protocol import DENIED, NO_DEFAULT_QOS, SUPER_USER, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.account_tree import above, coordinates
from slurmsim.slurmctld.base.association_database import AccountFacts, Database, UserFacts
from slurmsim.slurmctld.database import association_records as records
from slurmsim.slurmctld.database.inheritors import inheritors

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
Setting = tuple[str, str, str]  # field, operator, value
Action = Callable[[Mapping[str, Any]], "Answer | list[str]"]
NO_DATABASE = "You are not running a supported accounting_storage plugin"
JOBS_ACTIVE = "Job(s) active, cancel job(s) before remove"
PREEMPTION_LOOP = "QOS Preemption loop detected"
DEFAULT_ACCOUNT = "You can not remove the default account of a user"
HERE = Place()


class Change(ABC):
    """One request, carried out on a copy that takes the database's place when all went well."""

    def __init__(self, cluster: LiveCluster, person: Person, *, commit: bool) -> None:
        self.cluster, self.person, self.commit = cluster, person, commit
        self.db: Database = cluster.database
        if not self.db.exists:
            raise Refusal(NO_DATABASE)
        self.draft: Draft = deepcopy(self.db.draft)
        self.accounts, self.users = deepcopy(self.db.accounts), deepcopy(self.db.users)
        self.wckeys = dict(self.db.wckeys)
        self.notes: list[tuple[str, str, str]] = []

    def run(self, arguments: Mapping[str, Any]) -> Answer:
        """Carry it out. Raises Refusal."""
        handler = self.actions()[arguments["action"]]
        try:
            objects = handler(arguments)
            answer: Answer = objects if isinstance(objects, dict) else {"objects": objects}
            if self.commit and not answer.get("error") and answer["objects"]:
                self.finish()
        except ConfigError as error:
            raise Refusal(str(error).replace("\n", " ")) from None
        except SlurmSimError as error:
            raise Refusal(str(error)) from None
        return answer

    @abstractmethod
    def actions(self) -> Mapping[str, Action]:
        """Return what can be asked for."""

    def finish(self) -> None:
        """Make it so, also for the scheduler."""
        db = self.db
        old = db.draft, db.accounts, db.users, db.wckeys
        db.draft, db.accounts, db.users, db.wckeys = self.draft, self.accounts, self.users, self.wckeys
        try:
            accounting = db.accounting()
            self.cluster.controller.replace_accounting(accounting)
        except SlurmSimError:
            db.draft, db.accounts, db.users, db.wckeys = old
            raise
        db.refresh()
        for action, where, info in self.notes:
            db.note(self.cluster.now, action, self.person, where, info)
        self.cluster.network.tell(self.cluster.now, [])

    # -- who may ------------------------------------------------------------------------------------------------------

    def need_operator(self) -> None:
        """Raise Refusal unless the user is an administrator."""
        if not self.db.is_operator(self.person):
            raise Refusal(DENIED, 2002)

    def need_administrator(self) -> None:
        """Refuse operators, too: QOS and the levels of administrators are not theirs."""
        if self.db.admin_level(self.person) != "Administrator":
            raise Refusal(DENIED, 2002)

    def object_of(self, arguments: Mapping[str, Any]) -> str:
        """Return the name of the object an administrator puts or deletes. Raises Refusal for anyone else."""
        self.need_operator()
        return str(arguments["object"])

    def need_coordinator(self, accounts: Iterable[str]) -> None:
        """Refuse a user who is no operator and does not coordinate all these accounts, or accounts above them."""
        if self.db.is_operator(self.person):
            return
        if self._are_idle():
            raise Refusal(DENIED, 2002)
        for account in accounts:
            at: Key | None = (account, "", "")
            while at is not None and at in self.draft.associations:
                facts = self.accounts.get(at[0])
                if facts is not None and self.person.name in facts.coordinators:
                    break
                at = above(self.db, at) if at in self.db.draft.associations else None
            else:
                at = None
            if at is None:
                raise Refusal(DENIED, 2002)

    # -- adding -------------------------------------------------------------------------------------------------------

    def add_account(self, arguments: Mapping[str, Any]) -> list[str]:
        parent = str(arguments.get("parent") or "root")
        self.need_coordinator([parent])
        found = []
        for name in arguments["names"]:
            if (name, "", "") in self.draft.associations:
                continue
            item = self.draft.add((name, "", ""), HERE, parent)
            self.set_association(item, arguments.get("settings") or ())
            organization = arguments.get("organization") or (parent if parent != "root" else name)
            facts = self.accounts.setdefault(name, AccountFacts(arguments.get("description") or name, organization))
            self.notes.append(("Add Accounts", name, f"description='{facts.description}', "
                               f"organization='{facts.organization}'"))  # fmt: skip
            self.notes.append(("Add Associations", "", f"acct='{name}', parent_acct='{parent}', user=''"))
            found.append(name)
        return found

    def add_user(self, arguments: Mapping[str, Any]) -> list[str]:
        accounts = [str(name) for name in arguments["accounts"]]
        self.need_coordinator(accounts)
        wckeys, level = arguments.get("wckeys") or [], arguments.get("admin_level")
        if wckeys or level or not accounts:
            self.need_operator()
        if level == "Administrator":  # an operator gives no higher level than his own
            self.need_administrator()
        found = []
        pairs = [(name, account) for name in arguments["names"] for account in accounts]
        if since(self.cluster.release, "associations_by_account"):
            pairs.sort(key=lambda pair: accounts.index(pair[1]))
        for name, account in pairs:
            for partition in arguments.get("partitions") or [""]:
                key = (account, name, partition)
                if key in self.draft.associations or (account, "", "") not in self.draft.associations:
                    continue
                self.set_association(self.draft.add(key, HERE), arguments.get("settings") or ())
                if since(self.cluster.release, "default_qos_is_an_error"):
                    self._need_default_qos(key)
                self.notes.append(("Add Associations", "", f"acct='{account}', user='{name}'"))
                found.append(name)
        for name in arguments["names"]:
            self._say_of_user(name, arguments, accounts)
        return found + self._add_wckeys([(str(key), str(name)) for key in wckeys for name in arguments["names"]])

    def _say_of_user(self, name: str, arguments: Mapping[str, Any], accounts: Sequence[str]) -> None:
        """Make a user that is new, with a level; give default account and default WCKey.

        A user that is there keeps the level (sacctmgr_add_user): only modify changes it.
        """
        if name not in self.users:
            self.users[name] = UserFacts(str(arguments.get("admin_level") or "None"))
            self.notes.append(("Add Users", name, "admin_level=1"))
        default = arguments.get("default_account") or next(iter(accounts), "")
        if default:
            self.choose_default(name, str(default), asked=bool(arguments.get("default_account")))
        if arguments.get("default_wckey"):
            self.users[name].default_wckey = str(arguments["default_wckey"])

    def _add_wckeys(self, keys: list[tuple[str, str]]) -> list[str]:
        """Add WCKeys of users; return the users of those that are new."""
        new = [key for key in keys if key not in self.wckeys]
        for key in new:
            self.wckeys[key] = 0
            self.notes.append(("Add WCKey", key[1], f"name='{key[0]}'"))
        return [user for _, user in new]

    def choose_default(self, user: str, account: str, *, asked: bool) -> None:
        """Make `account` the default one of `user`, if that is `asked` for or there is none.

        A coordinator may ask for it for new users only; else it is left out without a word (as_mysql_add_assocs).
        """
        if (asked and self.db.is_operator(self.person)) or user not in self.draft.defaults:
            self.draft.set_default(user, account, HERE)

    def _need_default_qos(self, key: Key) -> None:
        """Its default QOS, be it inherited, must be one it may use. Raises Refusal."""
        default = self._default_qos(key)
        if default and default not in records.qos_of(self.db, key, self.draft)[0]:
            raise Refusal(NO_DEFAULT_QOS)

    def _default_qos(self, key: Key) -> str:
        """Return the default QOS of an association, its own or the inherited one; "" for none."""
        defaults = (item.values.get("default_qos") for item in records.path(self.db, key, self.draft))
        return next((str(default) for default in defaults if default), "")

    def add_qos(self, arguments: Mapping[str, Any]) -> list[str]:
        self.need_administrator()
        found = []
        for name in arguments["names"]:
            if name in self.draft.qos:
                continue
            item = self.draft.add_qos(name, HERE)
            item.aside["description"] = arguments.get("description") or name
            self.set_qos(item, arguments.get("settings") or ())
            self.notes.append(("Add QOS", name, f"description='{item.aside['description']}'"))
            found.append(name)
        return found

    def set_association(self, item: Item, settings: Sequence[Setting]) -> None:
        for name, operator, value in settings:
            self.draft.set_association(item, name, value, HERE, operator)
            lost = item.aside.get("lost_qos")
            if lost and name.upper() == "QOS":
                edits = operator or value[:1] in ("+", "-")
                again = {one.lstrip("+-") for one in value.split(",")} if edits else set(lost.split(","))
                item.aside["lost_qos"] = ",".join(one for one in lost.split(",") if one not in again)

    def set_qos(self, item: Item, settings: Sequence[Setting]) -> None:
        for name, operator, value in settings:
            self.draft.set_qos(item, name, value, HERE, operator)

    # -- choosing -----------------------------------------------------------------------------------------------------

    def chosen(self, cond: Mapping[str, Any], kind: str) -> list[Key]:
        """Return the associations a condition selects; of users, or of accounts."""
        found = []
        for key in sorted(self.draft.associations, key=lambda k: self.db.ids.get(k, 1 << 30)):
            account, user, partition = key
            has = {
                "clusters": self.db.cluster, "accounts": account, "users": user, "partitions": partition,
                "ids": self.db.ids.get(key), "default_accounts": self.draft.defaults.get(user, ("",))[0],
            } | ({} if user else {"parents": self.parent(key)})  # fmt: skip
            if bool(user) == (kind == "user") and all(
                not cond.get(name) or value in (map(int, cond[name]) if name == "ids" else cond[name])
                for name, value in has.items()
            ):
                found.append(key)
        return found

    def parent(self, key: Key) -> str:
        return str(self.draft.associations[key].values.get("parent") or "root")

    # -- modifying ----------------------------------------------------------------------------------------------------

    def modify_associations(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        kind, settings = str(arguments["kind"]), arguments["settings"]
        keys = [ROOT] if kind == "cluster" else self.chosen(arguments["cond"], kind)
        if kind == "cluster" and arguments["cond"].get("clusters"):
            keys = keys if self.db.cluster in arguments["cond"]["clusters"] else []
        own = self._for_himself(arguments["cond"])
        if own:
            # slurmdbd drops the other settings without a word, and refuses only where nothing is left
            settings = [setting for setting in settings if setting[0] == "DefaultQOS"]
            if not settings:
                return {"objects": [], "error": "nothing_left"}
        parent = next((value for name, _, value in settings if name.lower().startswith("par")), None)
        if not (own or self.db.is_operator(self.person)):
            self._need_coordinator_of(keys, kind, settings, parent)
        if parent is not None:
            wrong = self._wrong_parent(keys, str(parent))
            if wrong and since(self.cluster.release, "child_as_parent_is_told"):
                return [wrong]
            if not self._is_account(str(parent)):
                settings = [one for one in settings if not one[0].lower().startswith("par")]  # told, and not done
        found = [text for key in self.told_of(keys) for text in self._modify(key, kind, settings, parent)]
        barred = self._without_default(keys, kind, settings)
        if barred:
            return {"objects": barred, "error": "default_qos"}
        if found:
            ids = " || ".join(f"id_assoc={self.db.ids.get(key, 0)}" for key in sorted(
                keys, key=lambda k: -self.db.ids.get(k, 0)))  # fmt: skip
            self.notes.append(("Modify Associations", f"({ids})", _settings_text(settings)))
        return found

    def _is_account(self, name: str) -> bool:
        return (name, "", "") in self.draft.associations

    def _wrong_parent(self, keys: Sequence[Key], parent: str) -> str:
        """Return why the accounts `keys` cannot be below `parent`; "" if they can."""
        cluster = self.db.cluster
        if not self._is_account(parent):
            return f"Parent account {parent} doesn't exist on cluster {cluster}"
        below = self._below(keys, parent)
        if below is None:
            return ""
        return (
            f"Requested parent account {parent} is a child of {below} on cluster {cluster}. "
            f"Please re-parent {parent} before using it as a parent."
        )

    def _need_coordinator_of(
        self, keys: Sequence[Key], kind: str, settings: Sequence[Setting], parent: str | None
    ) -> None:
        """Refuse a user who does not look after the users' accounts, or after those above the accounts of `keys`.

        QOS lists are given by operators alone; since 26.05 an account's new parent must be looked after, too. A
        coordinator of any account who names no association that is there changes nothing, and is not refused.
        """
        if (
            kind == "cluster"
            or not self._coordinates()
            or (keys and any(name.upper() == "QOS" for name, _, _ in settings))
        ):
            raise Refusal(DENIED, 2002)
        named = [key[0] if kind == "user" else self.parent(key) for key in keys]
        if parent is not None and since(self.cluster.release, "coordinator_of_new_parent"):
            named.append(parent)
        self.need_coordinator(named)

    def _modify(self, key: Key, kind: str, settings: list[Any], parent: str | None) -> list[str]:
        """Change one association; return the lines about it and about those that inherit from it."""
        if parent is not None and key[0] in ("root", parent):  # an account is no parent of itself
            return []
        moves = parent is not None and parent != self.parent(key)
        if parent is not None and not moves and len(settings) == 1:
            return []
        found = [self.text(key)]  # the text names its old parent
        tells = since(self.cluster.release, "moved_accounts_tell_users")
        if moves and parent is not None and self._below([key], parent) is not None:
            # the new parent takes the account's place first (_move_parent, as_mysql_assoc.c)
            above: Key = (parent, "", "")
            found += [self.text(above, told=True)] if tells else []
            self.set_association(self.draft.associations[above], [("Parent", "", self.parent(key))])
        if moves and tells:
            users = sorted(one for one in self.draft.associations if one[0] == key[0] and one[1])
            under = [self.text(one, told=True) for one in self._accounts_under(key)]
            twice = not since(self.cluster.release, "child_as_parent_is_told")
            found += [*(under if twice else ()), *(self.text(one) for one in users), *under]
        self.set_association(self.draft.associations[key], settings)
        if kind != "user":
            heirs = inheritors(self.draft, key, settings, self.cluster.release, self.told_of)
            found += [self.text(one, told=True) for one in heirs]
        return found

    def _accounts_under(self, key: Key) -> list[Key]:
        """Return the accounts below an account, those that are nearer first."""
        found, at = [], [key[0]]
        while at:
            at = sorted(one[0] for one in self.draft.associations if not one[1] and self.parent(one) in at)
            found += [(name, "", "") for name in at]
        return found

    def _for_himself(self, cond: Mapping[str, Any]) -> bool:
        """Return True if a user without rights names only himself: he may set his default QOS (as_mysql_assoc.c)."""
        if self.db.is_operator(self.person) or cond.get("users") != [self.person.name]:
            return False
        return not self._coordinates()

    def _coordinates(self) -> bool:
        """Return True if the user looks after any account, and slurmdbd.conf lets coordinators change what is there."""
        return not self._are_idle() and any(self.person.name in facts.coordinators for facts in self.accounts.values())

    def _are_idle(self) -> bool:
        """Return True if slurmdbd.conf gives coordinators no rights."""
        return bool((self.cluster.spec.database or {}).get("DisableCoordDBD"))

    def _below(self, keys: Sequence[Key], parent: str) -> str | None:
        """Return the first of the accounts `keys` if `parent` is this account or below it; others are not tested."""
        first = next((key[0] for key in self.told_of(keys) if key[0] != "root"), None)
        at = parent
        while at != first:
            if not self._is_account(at) or at == "root":
                return None
            at = self.parent((at, "", ""))
        return first

    def told_of(self, keys: Sequence[Key]) -> list[Key]:
        """`keys` in the order in which the database names them: that of their tree."""
        if since(self.cluster.release, "lineage_of_associations"):
            return sorted(keys, key=lambda key: records.lineage(self.db, key))
        left = records.spans(self.db)
        return sorted(keys, key=left.__getitem__)

    def _without_default(self, keys: Sequence[Key], kind: str, settings: Sequence[Setting]) -> list[str]:
        """Those that may not use their default QOS after a change, with its name; users of a changed account, too.

        22.05 asks none of a whole cluster, and measures all users of an account by its new default QOS.
        """
        named = {name.upper() for name, _, _ in settings}
        own = since(self.cluster.release, "default_qos_is_an_error")
        if named.isdisjoint(("QOS", "DEFAULTQOS")) or (kind == "cluster" and not own):
            return []
        accounts = {key[0] for key in keys if not key[1]}
        users = [key for key in self.draft.associations if key[1] and key[0] in accounts]
        found = []
        for key in self.told_of([*keys, *users]):
            default = self._default_qos(key)
            measure = default if own or not key[1] or "DEFAULTQOS" not in named else self._default_qos((key[0], "", ""))
            measure = default if key in keys else measure
            if measure and measure not in records.qos_of(self.db, key, self.draft)[0]:
                account = f"C = {self.db.cluster:<10} A = {key[0]:<20}{'' if own else ' '}"
                found.append(f"DefQOS = {default:<10} {self.text(key) if key[1] else account}")
        return found

    def text(self, key: Key, *, told: bool = False) -> str:
        """Return an association as the database tells of it; `told`: because of one above it."""
        account, user, partition = key
        cluster = self.db.cluster
        if user:
            tail = f" P = {partition}" if partition else ""
            return f"C = {cluster:<10} A = {account:<20} U = {user:<9}{tail}"
        if key == ROOT:
            return f"C = {cluster:<10} A = {account}"
        if told:
            return f"C = {cluster:<10} A = {account:<20}"
        return f"C = {cluster:<10} A = {account} of {self.parent(key)}"

    def modify_users(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        cond = arguments["cond"]
        names = sorted({key[1] for key in self.chosen(cond, "user")})
        level, account = arguments.get("admin_level"), arguments.get("default_account")
        new_name = arguments.get("new_name")
        # users choose their own default account themselves (slurmdbd's _modify_users)
        own = names == [self.person.name] and account and not level and not new_name
        if not own:
            self.need_operator()
        elif self._coordinates():
            self.need_coordinator([str(account)])
        if level and self.db.admin_level(self.person) != "Administrator":
            raise Refusal(SUPER_USER, 2002)
        if new_name and len(names) > 1:
            raise Refusal("Can only change one at a time")
        for name in names:
            if level:
                self.users[name].admin_level = str(level)
            if account:
                if not any(key[0] == account and key[1] == name for key in self.draft.associations):
                    return {"objects": names, "error": "no_association", "account": account, "user": name}
                self.draft.set_default(name, str(account), HERE)
            if new_name:
                self.rename(name, str(new_name))
        return names

    def rename(self, name: str, new: str) -> None:
        draft = self.draft
        draft.associations = {
            ((a, new, p) if u == name else (a, u, p)): item for (a, u, p), item in draft.associations.items()
        }
        for key in list(self.db.ids):
            if key[1] == name and self.commit:
                self.db.ids[key[0], new, key[2]] = self.db.ids.pop(key)
        self.users[new] = self.users.pop(name)
        draft.defaults[new] = draft.defaults.pop(name)

    def modify_accounts(self, arguments: Mapping[str, Any]) -> list[str]:
        self.need_operator()
        keys = self.chosen(arguments["cond"], "account")
        found = sorted({key[0] for key in keys})
        for name in found:
            facts = self.accounts[name]
            facts.description = arguments.get("description") or facts.description
            facts.organization = arguments.get("organization") or facts.organization
        return found

    def modify_qos(self, arguments: Mapping[str, Any]) -> list[str]:
        self.need_administrator()
        found = self.chosen_qos(arguments["cond"])
        self.say_of_qos(found, arguments)
        if found:
            where = " || ".join(f"name='{name}'" for name in found)
            self.notes.append(("Modify QOS", f"({where})", _settings_text(arguments.get("settings") or ())))
        return found

    def say_of_qos(self, names: Iterable[str], arguments: Mapping[str, Any]) -> None:
        """Give QOS the description and the settings asked for. Raises Refusal."""
        for name in names:
            item = self.draft.qos[name]
            if arguments.get("description"):
                item.aside["description"] = str(arguments["description"])
            self.set_qos(item, arguments.get("settings") or ())
        if preemption_loop(self.draft):
            raise Refusal(PREEMPTION_LOOP)

    def chosen_qos(self, cond: Mapping[str, Any]) -> list[str]:
        ids = [int(i) for i in cond.get("ids") or ()]
        names = cond.get("names")
        return [
            name
            for name, number in sorted(self.db.qos_ids.items(), key=lambda pair: pair[1])
            if (not names or name in names) and (not ids or number in ids)
        ]

    # -- deleting -----------------------------------------------------------------------------------------------------

    def add_coordinator(self, arguments: Mapping[str, Any]) -> list[str]:
        self.need_coordinator(arguments["accounts"])
        for name in arguments["accounts"]:
            if name not in self.accounts:
                raise Refusal("Invalid account or account/partition combination specified", 2045)
            facts = self.accounts[name]
            facts.coordinators += [user for user in arguments["users"] if user not in facts.coordinators]
        return list(arguments["users"])

    def delete_coordinator(self, arguments: Mapping[str, Any]) -> list[str]:
        users, accounts = arguments.get("users") or [], arguments.get("accounts") or []
        mine = [name for name in self.accounts if coordinates(self.db, self.person.name, name)]
        if not mine or self._are_idle():
            self.need_operator()
        found = []
        for name, facts in sorted(self.accounts.items()):
            if (accounts and name not in accounts) or not (name in mine or self.db.is_operator(self.person)):
                continue
            for user in sorted(facts.coordinators):
                if not users or user in users:
                    found.append(f"U = {user:<9} A = {name:<10}")
            facts.coordinators = [u for u in facts.coordinators if users and u not in users]
        return found


def _settings_text(settings: Iterable[Setting]) -> str:
    return ", ".join(f"{name.lower()}{operator}={value}" for name, operator, value in settings)
