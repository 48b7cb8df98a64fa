"""What slurmdbd keeps of a cluster: accounts, users, associations and QOS with their ids, and every change made.

The values are those of `config.accounting.Draft`, which files are read into, so that a change of the running cluster
is checked and carried out by the same code. What the scheduler obeys is built from them (`accounting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.draft import ROOT, ROOT_USER, Draft, Item, Key
from slurmsim.config.findings import Place, Report
from slurmsim.config.option import split_words
from slurmsim.data_classes import dataclass, field
from slurmsim.model.accounting import Accounting, Association
from slurmsim.slurmctld.base.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.slurmctld.base.people import Person

ADMIN_LEVELS = ("Not Set", "None", "Operator", "Administrator")
ROOT_DESCRIPTION, ROOT_ORGANIZATION = "default root account", "root"


@dataclass(slots=True)
class AccountFacts:
    """What is said of an account beside its association."""

    description: str
    organization: str
    coordinators: list[str] = field(default_factory=list)


@dataclass(slots=True)
class UserFacts:
    """What is said of a user beside the associations."""

    admin_level: str = "None"
    default_wckey: str = ""


@dataclass(slots=True)
class Transaction:
    """One change: its time, its action, its user, and the record it changed."""

    id: int
    time: int
    action: str
    actor: str
    where: str
    info: str


class Database:
    """All of one cluster.

    Parameters
    ----------
    cluster
        ClusterName.
    draft
        What was read from files; None for a new database, which has the root account and the QOS ``normal``.
    exists
        Whether there is a slurmdbd at all; sacctmgr has nothing to talk to otherwise.
    owner
        The uid that may do everything.
    created
        When the cluster was.
    """

    def __init__(self, cluster: str, draft: Draft | None, *, exists: bool, owner: int, created: int) -> None:
        self.cluster, self.exists, self.owner, self.created = cluster, exists, owner, created
        # names of users who are operators whatever the database says of them
        self.operators: frozenset[str] = frozenset()
        self.draft = draft if draft is not None else Draft(Report())
        self.draft.root(Place())
        self.draft.associations.setdefault(ROOT_USER, Item(Place()))
        self.draft.defaults.setdefault("root", ("root", Place()))
        if self.draft.implicit_qos and "normal" not in self.draft.qos:
            self.draft.qos = {"normal": Item(Place()), **self.draft.qos}
        self.ids: dict[Key, int] = {}
        self.qos_ids: dict[str, int] = {}
        # accounts, users: what is said of each; some have no association
        self.accounts: dict[str, AccountFacts] = {}
        self.users: dict[str, UserFacts] = {}
        self.wckeys: dict[tuple[str, str], int] = {}  # name and user of each WCKey, with its number. Jobs may name any.
        self.resources: list[Resource] = []
        self.next_resource = 0  # the number of the last one that came in
        self.other_clusters: dict[str, int] = {}  # that share resources, with the time they came in
        self.transactions: list[Transaction] = []
        self._next_id = self._next_qos = self._next_wckey = 1
        self.refresh(all_users=True)

    def accounting(self) -> Accounting:
        """Return what the scheduler is to obey. Raises ConfigError for what contradicts itself."""
        return build(self.draft, "sacctmgr")

    def refresh(self, *, all_users: bool = False) -> None:
        """Give ids and facts to what is new, and forget the ids of what is gone.

        With `all_users` each name with an association is a user, as in data that were read.
        """
        for key in dict.fromkeys((ROOT, ROOT_USER, *self.draft.associations)):  # as they were created
            if key not in self.ids:
                self.ids[key], self._next_id = self._next_id, self._next_id + 1
            aside = self.draft.associations[key].aside
            if key[1] and (all_users or key[1] in self.users):
                user = self.users.setdefault(key[1], UserFacts("Administrator" if key[1] == "root" else "None"))
                level = aside.pop("adminlevel", aside.pop("admin", ""))
                if level:
                    user.admin_level = next((a for a in ADMIN_LEVELS if a.lower().startswith(level.lower())), "None")
            elif not key[1]:
                self._account(key[0], aside)
        for key in [key for key in self.ids if key not in self.draft.associations]:
            del self.ids[key]
        for name in self.draft.qos:
            if name not in self.qos_ids:
                self.qos_ids[name], self._next_qos = self._next_qos, self._next_qos + 1
        for name in [name for name in self.qos_ids if name not in self.draft.qos]:
            del self.qos_ids[name]
        for wckey, number in self.wckeys.items():
            if not number:
                self.wckeys[wckey], self._next_wckey = self._next_wckey, self._next_wckey + 1

    def _account(self, name: str, aside: dict[str, str]) -> None:
        known = self.accounts.get(name)
        if known is None:
            root = name == "root"
            known = AccountFacts(ROOT_DESCRIPTION if root else name, ROOT_ORGANIZATION if root else name)
            parent = self.draft.associations[name, "", ""].values.get("parent")
            if not root and parent and parent != "root":
                known.organization = str(parent)
            self.accounts[name] = known
        for key in ("description", "descr"):
            if key in aside:
                known.description = aside.pop(key).lower()
        for key in ("organization", "org"):
            if key in aside:
                known.organization = aside.pop(key).lower()
        for key in ("coordinator", "coordinators"):
            if key in aside:
                known.coordinators = [word for word in aside.pop(key).split(",") if word]

    def open_with(self, names: Sequence[str]) -> None:
        """Give a new database these QOS in place of ``normal``, and its root all of them (DefaultQOS)."""
        self.draft.qos = {name: Item(Place()) for name in names}
        self.draft.root(Place()).values["qos"] = tuple(names)
        self.qos_ids.clear()
        self._next_qos = 1
        self.refresh(all_users=True)

    # -- asking -------------------------------------------------------------------------------------------------------

    def id_of(self, spec: Association) -> int:
        return self.ids.get((spec.account, spec.user, spec.partition), 0)

    def qos_id(self, name: str) -> int:
        """Return the number of a QOS; 1, which is ``normal``, for one that is not known."""
        return self.qos_ids.get(name.lower(), 1 if name in ("", "normal") else 0)

    def admin_level(self, person: Person) -> str:
        """None, Operator or Administrator; the cluster's owner and root are administrators."""
        if person.uid in (0, self.owner):
            return "Administrator"
        known = self.users.get(person.name)
        level = known.admin_level if known is not None else "None"
        return "Operator" if person.name in self.operators and level != "Administrator" else level

    def is_administrator(self, person: Person) -> bool:
        """Return True if `person` may change nodes, partitions and the cluster itself (validate_super_user)."""
        return self.admin_level(person) == "Administrator"

    def is_operator(self, person: Person) -> bool:
        """Return True if `person` may do with others' jobs and reservations what owners may (validate_operator)."""
        return self.admin_level(person) in ("Operator", "Administrator")

    def note(self, now: int, action: str, person: Person, where: str, info: str = "") -> None:
        """Remember a change."""
        self.transactions.append(Transaction(len(self.transactions) + 1, now, action, person.name, where, info))


def engine_database(cluster: Any, draft: Draft | None, owner: int, start_time: int) -> Database:
    kind = str(cluster.option("AccountingStorageType") or "")
    found = Database(cluster.name, draft, exists=kind.endswith("slurmdbd"), owner=owner, created=start_time)
    names = split_words(str((cluster.database or {}).get("DefaultQOS") or "").lower())
    if draft is None and names:
        found.open_with(names)
    return found
