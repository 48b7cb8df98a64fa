"""sacctmgr's resources and the clusters that share them: what is changed of them, and the licenses the cluster has.

Mirrors as_mysql_resource.c and license_add_remote (26.05; 22.05 knows no flags and not what is consumed).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.base.resource import ABSOLUTE, SHARED, Resource
from slurmsim.slurmctld.database.association_lists import NO_DATABASE

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
OVER = "You can not allocate more than 100% of a resource"
NOT_SHARED = (
    "Invalid value for Allowed field when SharedPool enabled, must be 0 or 100% (without Absolute) or Count (with "
    "Absolute)."
)
NO_CHANGE = "Data has not changed since time specified"
_NEVER_ALLOWED = 0xFFFFFFFE  # of a cluster that comes in without a part: it is too much
_CONDITIONS = {
    "names": "name", "servers": "server", "ids": "id", "descriptions": "description", "server_types": "server_type",
}  # fmt: skip
_SETTABLE = ("count", "description", "last_consumed", "server_type")


def listed(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> Answer:
    """Return the resources that a condition selects."""
    db = cluster.database
    if not db.exists:
        raise Refusal(NO_DATABASE)
    found = [r for r in db.resources if _matches(r, arguments.get("cond") or {})]
    return {"resources": [_told(resource) for resource in found]}


def _told(resource: Resource) -> Answer:
    return {
        "id": resource.id, "name": resource.name, "server": resource.server, "type": "License",
        "count": resource.count, "last_consumed": resource.last_consumed, "server_type": resource.server_type,
        "description": resource.description, "flags": list(resource.flags),
        "clusters": list(resource.allowed.items()), "allocated": sum(resource.allowed.values()),
    }  # fmt: skip


def _matches(resource: Resource, cond: Mapping[str, Any]) -> bool:
    return all(
        not cond.get(key) or _folded(getattr(resource, name)) in map(_folded, cond[key])
        for key, name in _CONDITIONS.items()
    )


def _folded(value: Any) -> str:
    return str(value).lower()


class ResourceChange:
    """One change of resources, worked out on a copy that takes the place of all when `commit` is true."""

    def __init__(self, cluster: LiveCluster, person: Person, *, commit: bool) -> None:
        self.cluster, self.person, self.commit, self.db = cluster, person, commit, cluster.database
        if not self.db.exists:
            raise Refusal(NO_DATABASE)
        self.all: list[Resource] = deepcopy(self.db.resources)
        self._clusters_then = dict(self.db.other_clusters)
        self._notes: list[tuple[str, str, str]] = []
        self._touched: set[str] = set()

    def run(self, arguments: Mapping[str, Any]) -> Answer:
        """Carry it out; return the names of what changes. Raises Refusal."""
        actions: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
            "add": self._add, "modify": self._modify, "delete": self._delete, "add_clusters": self._add_clusters,
            "delete_clusters": self._delete_clusters,
        }  # fmt: skip
        objects = actions[arguments["action"]](arguments)
        if self.commit and objects:
            self.db.resources, self.db.other_clusters = self.all, self._clusters_then
            for note in self._notes:
                self.db.note(self.cluster.now, note[0], self.person, note[1], note[2])
            settle(self.cluster, self._touched)
            self.cluster.network.tell(self.cluster.now, [])
        return {"objects": objects}

    def _need(self, *levels: str) -> None:
        if self.db.admin_level(self.person) not in levels:
            raise Refusal(DENIED, 2002)

    def _touch(self, resource: Resource) -> None:
        resource.updated = self.cluster.now
        self._touched.add(resource.label)

    # -- adding -------------------------------------------------------------------------------------------------------

    def _add(self, arguments: Mapping[str, Any]) -> list[str]:
        self._need("Administrator")
        found = []
        for name in arguments["names"]:
            resource = self._known(name, arguments["server"])
            if resource is None:
                resource = self._new(name, arguments)
            self._allow(resource, arguments.get("clusters") or (), arguments.get("allowed"))
            self._touch(resource)
            found.append(resource.label)
        return found

    def _known(self, name: str, server: str) -> Resource | None:
        return next((r for r in self.all if r.name.lower() == name.lower() and r.server == server), None)

    def _new(self, name: str, arguments: Mapping[str, Any]) -> Resource:
        self.db.next_resource += self.commit
        flags = list(arguments.get("flags") or ())
        if (self.cluster.spec.database or {}).get("AllResourcesAbsolute") and ABSOLUTE not in flags:
            flags.append(ABSOLUTE)
        resource = Resource(
            self.db.next_resource, name, arguments["server"], arguments["count"],
            arguments.get("description") or name, arguments.get("server_type") or "",
            flags, arguments.get("last_consumed") or 0,
        )  # fmt: skip
        self.all.append(resource)
        self._notes.append(("Add Resources", str(resource.id), f"count={resource.count}, type=1"))
        return resource

    def _allow(self, resource: Resource, clusters: tuple[str, ...] | list[str], part: int | None) -> None:
        """Give `part` of it to more clusters. Raises Refusal."""
        allowed = _NEVER_ALLOWED if part is None else part
        for cluster in clusters:
            if cluster in resource.allowed:
                continue
            shared = SHARED in resource.flags
            if shared and allowed not in (0, resource.most()):
                raise Refusal(NOT_SHARED)
            if allowed + (0 if shared else sum(resource.allowed.values())) > resource.most():
                raise Refusal(OVER)
            resource.allowed[cluster] = allowed
            self._notes.append(("Add Resources", f"{resource.id}@{cluster}", f"allowed={allowed}"))

    # -- changing and deleting ----------------------------------------------------------------------------------------

    def _chosen(self, cond: Mapping[str, Any]) -> Iterator[tuple[Resource, list[str]]]:
        """Yield the resources that are meant, and which clusters of each.

        If one of them belongs to a cluster, those of none are left out: the database asks for both at once.
        """
        found = [(r, self._clusters(r, cond)) for r in self.all if _matches(r, cond)]
        of_clusters = [(r, clusters) for r, clusters in found if clusters]
        yield from of_clusters or ((r, []) for r, _ in found)

    def _clusters(self, resource: Resource, cond: Mapping[str, Any]) -> list[str]:
        parts = [str(part) for part in cond.get("allowed") or ()]
        return [
            name for name, part in resource.allowed.items()
            if (not cond.get("clusters") or name in cond["clusters"]) and (not parts or str(part) in parts)
        ]  # fmt: skip

    def _modify(self, arguments: Mapping[str, Any]) -> list[str]:
        self._need("Operator", "Administrator")
        cond, new = arguments["cond"], arguments["new"]
        chosen = list(self._chosen(cond))
        there = any(clusters for _, clusters in chosen)
        by_cluster = there and (new.get("allowed") is not None or _names_clusters(cond))
        if not by_cluster and not any(name in new for name in (*_SETTABLE, "flags")):
            raise Refusal(NO_CHANGE)
        told = there and (by_cluster or any(name in new for name in ("count", "flags", "last_consumed")))
        found = []
        for resource, clusters in chosen:
            flags = _flags(resource, new)
            self._check_parts(resource, flags, clusters, new.get("allowed"))
            if not by_cluster:
                found.append(resource.label)
                for name in _SETTABLE:
                    if name in new:
                        setattr(resource, name, new[name])
                resource.flags = flags
                info = ", ".join(f"{name}={new[name]}" for name in _SETTABLE if name in new)
                self._notes.append(("Modify Resources", f"id='{resource.id}'", info))
            elif new.get("allowed") is not None:
                resource.allowed |= dict.fromkeys(clusters, new["allowed"])
            self._touch(resource)
            found += [_of_cluster(resource, name) for name in clusters if told]
        return found

    def _check_parts(self, resource: Resource, flags: list[str], clusters: list[str], part: int | None) -> None:
        """Refuse parts that are more than there is, or that a shared pool does not know."""
        most = resource.most(flags)
        after = resource.allowed | (dict.fromkeys(clusters, part) if part is not None else {})
        if SHARED in flags:
            if any(one not in (0, most) for one in (after[name] for name in clusters)):
                raise Refusal(NOT_SHARED)
        elif (part is not None or SHARED in resource.flags) and sum(after.values()) > most:
            raise Refusal(OVER)

    def _delete(self, arguments: Mapping[str, Any]) -> list[str]:
        self._need("Administrator")
        cond = arguments["cond"]
        chosen = list(self._chosen(cond))
        by_cluster = _names_clusters(cond) and any(clusters for _, clusters in chosen)
        found = []
        for resource, clusters in chosen:
            if by_cluster:
                resource.allowed = {name: part for name, part in resource.allowed.items() if name not in clusters}
            else:
                found.append(resource.label)
                self.all.remove(resource)
                self._notes.append(("Remove Resources", f"id='{resource.id}'", ""))
            found += [_of_cluster(resource, name) for name in clusters]
        return found

    # -- other clusters -----------------------------------------------------------------------------------------------

    def _add_clusters(self, arguments: Mapping[str, Any]) -> list[str]:
        self._need("Administrator")
        names = [name for name in arguments["names"] if name not in self._clusters_then]
        self._clusters_then |= dict.fromkeys(names, self.cluster.now)
        self._notes += [("Add Clusters", name, "") for name in names]
        return names

    def _delete_clusters(self, arguments: Mapping[str, Any]) -> list[str]:
        """Forget clusters; the parts of resources that they were allowed stay."""
        self._need("Administrator")
        names = sorted(name for name in arguments["names"] if name in self._clusters_then)
        for name in names:
            del self._clusters_then[name]
            self._notes.append(("Remove Clusters", name, ""))
        return names


def _names_clusters(cond: Mapping[str, Any]) -> bool:
    return bool(cond.get("clusters") or cond.get("allowed"))


def _of_cluster(resource: Resource, cluster: str) -> str:
    return f"Cluster - {cluster}\t- {resource.label}"


def _flags(resource: Resource, new: Mapping[str, Any]) -> list[str]:
    """Return its flags after a change: added, taken away or in place of the old ones."""
    if "flags" not in new:
        return resource.flags
    operator, flags = new.get("operator") or "", list(new["flags"])
    if operator == "+":
        return [*resource.flags, *(flag for flag in flags if flag not in resource.flags)]
    if operator == "-":
        return [flag for flag in resource.flags if flag not in flags]
    return flags


def settle(cluster: LiveCluster, touched: Container[str] | None = None) -> None:
    """Let the cluster have the licenses that the database allows it: of resources that were `touched`, or of all."""
    db, licenses = cluster.database, cluster.controller.licenses
    mine = {r.label: r for r in db.resources if db.cluster in r.allowed}
    for name in [name for name in licenses.remote if name not in mine]:
        licenses.drop_remote(name)
    for name, resource in mine.items():
        if touched is None or name in touched:
            total = resource.total(db.cluster)
            licenses.set_remote(name, total, resource.last_consumed, max(0, resource.count - total), resource.updated)
