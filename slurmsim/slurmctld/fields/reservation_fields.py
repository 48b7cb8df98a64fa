"""What the daemon tells of advance reservations: a table of the fields of reserve_info_t."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations.book import LOOK_S
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import task_ranges
from slurmsim.slurmctld.base.private_data import hides

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

ReservationGetter = Callable[[Reservation, "LiveCluster"], Any]


def _names(r: Reservation, cluster: LiveCluster) -> str | None:
    table = cluster.controller.state.table
    names = [table.names[i] for i in range(table.n) if r.nodes >> i & 1]
    return cluster.controller.state.cluster.compress(names) if names else None


_FLAG_ORDER = (
    "MAINT", "FLEX", "OVERLAP", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "SPEC_NODES",
    "ALL_NODES", "ANY_NODES", "STATIC", "PART_NODES", "FIRST_CORES", "TIME_FLOAT", "REPLACE", "REPLACE_DOWN",
    "PURGE_COMP", "NO_HOLD_JOBS_AFTER", "MAGNETIC", "USER_DELETE",
)  # fmt: skip


def _flag_text(r: Reservation, cluster: LiveCluster) -> str:
    words = []
    for flag in _FLAG_ORDER:
        if flag not in r.flags:
            continue
        if flag == "PURGE_COMP":
            seconds = r.purge_comp_s
            words.append(f"PURGE_COMP={seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}")
        else:
            words.append("NO_HOLD_JOBS_AFTER_END" if flag == "NO_HOLD_JOBS_AFTER" else flag)
    return ",".join(words)


def _cores(r: Reservation, cluster: LiveCluster) -> dict[int, int]:
    """Cores it has on each node."""
    specs = cluster.controller.state.table.specs
    if r.cores is not None:
        return {i: cpus // max(specs[i].threads_per_core, 1) for i, cpus in sorted(r.cores.items())}
    return {i: specs[i].sockets * specs[i].cores_per_socket for i in range(len(specs)) if r.nodes >> i & 1}


def is_visible(r: Reservation, cluster: LiveCluster, person: Person) -> bool:
    """Return True if `person` sees it: with PrivateData=reservations only who may use it, and operators."""
    if not hides(cluster, "reservations", person):
        return True
    return may_use(r, cluster, person)


def _licenses(r: Reservation, cluster: LiveCluster) -> str | None:
    between = ";" if since(cluster.release, "licenses_allocated") else ","
    return between.join(f"{name}:{count}" for name, count in r.licenses) or None


def may_use(r: Reservation, cluster: LiveCluster, person: Person) -> bool:
    """Return True if jobs of `person` in one of his accounts may go into `r`.

    Of a reservation that shuts accounts out none of his may be one of those, though his jobs in others may go into it
    (_validate_user_access).
    """
    tree, accounts = cluster.controller.state.tree, cluster.controller.accounting.accounts
    if tree is None or accounts is None or not accounts.enforce.associations:
        return bool(r.users) and r.admits(person.name, ())
    own = [branch for branch in tree.users() if branch.spec.user == person.name]
    admitted = [r.admits(person.name, [above.spec.account for above in branch.path]) for branch in own]
    return any(admitted) and (all(admitted) or not r.accounts or not r.accounts[0].startswith("-"))


def reserved_tres(r: Reservation, cluster: LiveCluster) -> dict[str, int]:
    """Return what it keeps, licenses only where AccountingStorageTRES lists them."""
    specs = cluster.controller.state.table.specs
    if r.cores is not None:
        cpus = sum(r.cores.values())
    else:
        cpus = sum(int(cluster.controller.state.table.cpus[i]) for i in range(len(specs)) if r.nodes >> i & 1)
    found = {"cpu": cpus} if cpus else {}
    return found | cluster.controller.state.billing.of_licenses(r.licenses)


def _core_lists(r: Reservation, cluster: LiveCluster) -> list[list[str]]:
    """Numbers of its cores; before 24.11 they are there after the next look at reservations alone."""
    kept = cluster.reservation_texts.get(r.name, {})
    since_look = (cluster.now - cluster.network.start_time) % LOOK_S
    unseen = kept.get("created", cluster.now - LOOK_S) >= cluster.now - since_look
    if r.cores is None or (unseen and not since(cluster.release, "reserved_cores_at_once")):
        return []
    names, numbers = cluster.controller.state.table.names, kept.get("cores", {})
    return [[names[i], task_ranges(numbers.get(str(i), range(count)))] for i, count in _cores(r, cluster).items()]


def _listed(names: tuple[str, ...]) -> str | None:
    return ",".join(names) or None


def _of_reservation(r: Reservation, cluster: LiveCluster, field: str) -> Any:
    return cluster.reservation_texts.get(r.name, {}).get(field) or None


RESERVATION_FIELDS: dict[str, ReservationGetter] = {
    "name": lambda r, c: r.name,
    "start_time": lambda r, c: r.start,
    "end_time": lambda r, c: r.end,
    "node_list": _names,
    "node_cnt": lambda r, c: r.nodes.bit_count(),
    "flags": lambda r, c: sorted(r.flags),
    "flag_text": _flag_text,
    "purge_comp": lambda r, c: r.purge_comp_s,
    "core_cnt": lambda r, c: sum(_cores(r, c).values()),
    "core_spec": _core_lists,
    "features": lambda r, c: r.spec.features or None,
    "partition": lambda r, c: r.partition.name if r.partition is not None else None,
    "tres_str": lambda r, c: ",".join(f"{name}={count}" for name, count in reserved_tres(r, c).items()) or None,
    "users": lambda r, c: None if _of_reservation(r, c, "groups") else _listed(r.users),
    "groups": lambda r, c: _of_reservation(r, c, "groups"),
    "accounts": lambda r, c: _listed(r.accounts),
    "allowed_parts": lambda r, c: _listed(r.allowed_partitions),
    "qos": lambda r, c: _listed(r.qos),
    "licenses": _licenses,
    "max_start_delay": lambda r, c: _of_reservation(r, c, "max_start_delay"),
    "comment": lambda r, c: _of_reservation(r, c, "comment"),
}
"""Field -> its value for an advance reservation."""
