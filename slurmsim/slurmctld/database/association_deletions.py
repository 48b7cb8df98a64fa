"""What sacctmgr deletes, and all that it can change (see `association_changes`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.draft import ROOT, ROOT_USER, Item, Key
from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.account_tree import coordinates
from slurmsim.slurmctld.database import record_puts
from slurmsim.slurmctld.database.association_changes import DEFAULT_ACCOUNT, HERE, JOBS_ACTIVE, Action, Answer, Change

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job


class AnyChange(Change):
    """One request of any kind."""

    def actions(self) -> Mapping[str, Action]:
        """By the names in requests."""
        return {
            "add_account": self.add_account,
            "add_user": self.add_user,
            "add_qos": self.add_qos,
            "modify_associations": self.modify_associations,
            "modify_users": self.modify_users,
            "modify_accounts": self.modify_accounts,
            "modify_qos": self.modify_qos,
            "delete": self.delete,
            "delete_qos": self.delete_qos,
            "add_coordinator": self.add_coordinator,
            "delete_coordinator": self.delete_coordinator,
            "many": self.many,
            "flush": self.flush,
            **record_puts.actions(self),
        }

    def many(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        """Several changes, of which all are made or none."""
        found: list[str] = []
        for one in arguments["changes"]:
            objects = self.actions()[one["action"]](one)
            if isinstance(objects, dict) and objects.get("error"):
                return objects
            found += objects["objects"] if isinstance(objects, dict) else objects
        return found

    def flush(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        """Delete every association but the root's and its user's, and the root's limits; accounts and users stay.

        Not while jobs are there.
        """
        self.need_operator()
        running = self.active(lambda core: True)
        if running:
            return {"objects": running, "error": JOBS_ACTIVE}
        for key in [key for key in self.draft.associations if key not in (ROOT, ROOT_USER)]:
            del self.draft.associations[key]
        self.draft.associations[ROOT] = Item(HERE)
        self.draft.defaults = {user: found for user, found in self.draft.defaults.items() if user == "root"}
        return [self.db.cluster]

    def delete(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        """Associations of accounts or users; ``whole``: the accounts or users themselves; ``keep``: never those."""
        kind, cond = str(arguments["kind"]), arguments["cond"]
        whole = bool(arguments.get("whole"))
        chosen = self.chosen(cond, kind)
        keys = self._deletable(chosen, kind)
        gone = set(keys)
        if kind == "account":
            for key in keys:
                gone |= self.below(key[0])
        if not keys:
            return {"objects": [], "error": "not yours" if chosen and not self.db.is_operator(self.person) else ""}
        # a whole user may go, default account included (_check_is_def_acct_before_remove)
        in_default = self.defaults_in(gone) if kind == "account" or not whole else []
        if in_default:
            return {"objects": in_default, "error": DEFAULT_ACCOUNT}
        running = self.active(lambda core: _key(core) in gone)
        if running:
            return {"objects": running, "error": JOBS_ACTIVE}
        found = sorted({key[0] if kind == "account" else key[1] for key in keys}) if whole else [
            self._deleted_text(key) for key in keys
        ]  # fmt: skip
        orphans = self._take_out(gone, keep=bool(arguments.get("keep")))
        for name in found if whole else ():
            what = "acct" if kind == "account" else "user"
            self.notes.append(("Remove Account Coords", f"({what}='{name}')", ""))
            self.notes.append(("Remove Accounts" if kind == "account" else "Remove Users", f"name='{name}'", ""))
        return {"objects": found, "orphans": orphans if not whole and kind == "user" else []}

    def _deletable(self, keys: list[Key], kind: str) -> list[Key]:
        """Return those the user may delete: all, or as a coordinator those in accounts of his own. Raises Refusal."""
        if self.db.is_operator(self.person):
            return keys
        if kind == "account" or not self._coordinates():
            raise Refusal(DENIED, 2002)
        return [key for key in keys if coordinates(self.db, self.person.name, key[0])]

    def _deleted_text(self, key: Key) -> str:
        account, user, partition = key
        if not user:
            return self.text(key)
        return f"C = {self.db.cluster:<10} A = {account:<10} U = {user:<9}" + (f" P = {partition}" if partition else "")

    def _take_out(self, gone: set[Key], *, keep: bool) -> list[str]:
        """Delete associations and, unless `keep`, what has none left; return the users among that."""
        for key in gone:
            self.draft.associations.pop(key, None)
        left = {(key[1], key[0]) for key in self.draft.associations if key[1]}
        for user, (account, _) in list(self.draft.defaults.items()):
            if (user, account) not in left:
                del self.draft.defaults[user]
        if keep:
            return []
        orphans = sorted(user for user in {key[1] for key in gone} - {u for u, _ in left} if user in self.users)
        for user in orphans:
            del self.users[user]
            for facts in self.accounts.values():
                facts.coordinators = [name for name in facts.coordinators if name != user]
        for name in {key[0] for key in gone if not key[1]}:
            self.accounts.pop(name, None)
        return orphans

    def defaults_in(self, gone: set[Key]) -> list[str]:
        """Users who would lose an association of their default account, and keep others."""
        kept = {(key[1], key[0]) for key in self.draft.associations if key[1] and key not in gone}
        users = {user for user, _ in kept}
        elsewhere = since(self.cluster.release, "default_account_of_another_partition")
        return [
            f"C = {self.db.cluster:<10} A = {account:<10} U = {user:<9}"
            for user, (account, _) in sorted(self.draft.defaults.items())
            if user in users and any(key[1] == user and key[0] == account for key in gone)
            and not (elsewhere and (user, account) in kept)
        ]  # fmt: skip

    def below(self, account: str) -> set[Key]:
        found: set[Key] = set()
        for key in self.draft.associations:
            if key[1] and key[0] == account:
                found.add(key)
            elif not key[1] and key != ROOT and self.parent(key) == account:
                found |= {key} | self.below(key[0])
        return found

    def active(self, wanted: Callable[[Job], bool]) -> list[str]:
        """Return the wanted ones of the jobs that are not over, as the database tells of them, oldest records first.

        A requeued job has a new record. Newer releases tell of one job, and of its QOS.
        """
        found = []
        for row in self.cluster.job_table.rows():
            core = row.job.core
            if core.end_time is None and core.branch is not None and wanted(core):
                found.append((core.submit_time, row.job.id, *_key(core), core.qos))
        one = since(self.cluster.release, "one_active_job_told")
        return [
            f"JobID = {number:<10} C = {self.db.cluster:<10} A = {account:<10} U = {user:<9}"
            + (f" P = {partition}" if partition else "")
            + (f" Q = {qos:<9}" if one and qos else "")
            for _, number, account, user, partition, qos in sorted(found)[: 1 if one else None]
        ]

    def delete_qos(self, arguments: Mapping[str, Any]) -> Answer | list[str]:
        """QOS, unless jobs have them (26.05) or associations by default; ``force``: these have none afterwards."""
        self.need_administrator()
        found = self.chosen_qos(arguments["cond"])
        if arguments.get("force"):
            for item in self.draft.associations.values():
                if item.values.get("default_qos") in found:
                    del item.values["default_qos"]
        if since(self.cluster.release, "qos_of_jobs_stays"):
            jobs = self.active(lambda core: core.qos in found)
            if jobs:
                return {"objects": jobs, "error": JOBS_ACTIVE}
        bad = [
            f"DefQOS = {item.values['default_qos']:<10} {self.text(key)}"
            for key, item in self.draft.associations.items()
            if item.values.get("default_qos") in found
        ]
        if bad:
            return {"objects": bad, "error": "default_qos"}
        for name in found:
            del self.draft.qos[name]
            self.notes.append(("Remove QOS", f"(name='{name}')", ""))
            for item in self.draft.associations.values():
                tokens = item.values.get("qos")
                if tokens:
                    if not since(self.cluster.release, "qos_lists_stay"):
                        lose_neighbours(item, tokens, name)
                    item.values["qos"] = tuple(token for token in tokens if token.lstrip("+-") != name)
            for other in self.draft.qos.values():
                if other.values.get("preempt"):
                    other.values["preempt"] = tuple(n for n in other.values["preempt"] if n != name)
        return found

    # -- coordinators -------------------------------------------------------------------------------------------------


def _key(core: Job) -> Key:
    """Return the association of a job that has one."""
    assert core.branch is not None
    spec = core.branch.spec
    return spec.account, spec.user, spec.partition


def lose_neighbours(item: Item, tokens: Sequence[str], name: str) -> None:
    """Note what the database shows no more of a list out of which the QOS `name` was cut.

    slurmdbd cuts ``,3,`` out of ``,2,3,4``, with both commas (as_mysql_remove_qos, 22.05): of a list of additions the
    next one is lost, of a list of its own also the one before. The last of a list is not found, and slurmctld still
    has them all.
    """
    names = [token.lstrip("+-") for token in tokens]
    if name not in names[:-1]:
        return
    at = names.index(name)
    lost = {names[at + 1]}
    if tokens[at][0] not in "+-" and at:
        lost.add(names[at - 1])
    item.aside["lost_qos"] = ",".join(sorted(lost | set(filter(None, (item.aside.get("lost_qos") or "").split(",")))))
