"""What the database has, for sacctmgr show: associations, users, accounts, QOS, events, transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.draft import ROOT, ROOT_USER
from slurmsim.hostlist import compress
from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.association_database import Database
from slurmsim.slurmctld.base.private_data import ACCESS_DENIED, hides, looks_after, refuse, visible_associations
from slurmsim.slurmctld.database import association_records as records

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
NO_DATABASE = "You are not running a supported accounting_storage plugin"


def listed(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> Answer:
    """Return records of one kind."""
    db = cluster.database
    if not db.exists:
        raise Refusal(NO_DATABASE)
    records_of = _LISTS[arguments["kind"]]
    return {"now": cluster.now, "cluster": db.cluster, "records": records_of(cluster, arguments, person)}


def _associations(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    db = cluster.database
    spans = records.spans(db)
    own = bool(arguments.get("own"))
    found = [records.association(db, key, spans[key], own=own) for key in records.in_order(db)]
    if hides(cluster, "users", person, stored=True):
        keys = visible_associations(cluster, person)
        found = [one for one in found if (one["account"], one["user"] or "", one["partition"] or "") in keys]
    for name in () if hides(cluster, "users", person, stored=True) else db.other_clusters:
        found += [_untouched_root(name), _untouched_root(name, "root")]
    found.sort(key=lambda record: str(record["cluster"]))
    return found


def _accounts(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """Return all accounts, or those that the user coordinates. Raises Refusal for users who coordinate none."""
    db = cluster.database
    names = sorted(db.accounts)
    if hides(cluster, "accounts", person, stored=True):
        names = [name for name in names if looks_after(cluster, person, name)]
        if not names:
            raise Refusal(DENIED, ACCESS_DENIED)
    return [records.account(db, name) for name in names]


def _clusters(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """Return this cluster, and then the others that share resources with it, of which nothing is known."""
    db, options = cluster.database, cluster.spec.options
    root = records.association(db, ROOT, records.spans(db)[ROOT])
    others = (
        {"cluster": name, "host": "", "port": 0, "association": _untouched_root(name), "nodes": "", "tres": {},
         "created": created, "away": True}
        for name, created in sorted(db.other_clusters.items())
    )  # fmt: skip
    return [
        {
            "cluster": db.cluster, "host": cluster.host,
            "port": int(str(options.get("SlurmctldPort") or 6817).partition("-")[0]), "association": root,
            "nodes": compress(_names(cluster)),
            "tres": cluster_tres(cluster), "created": db.created, "away": False,
        },
        *others,
    ]  # fmt: skip


def _names(cluster: LiveCluster) -> list[str]:
    """Return the names of the nodes that are there."""
    table = cluster.controller.state.table
    return [name for i, name in enumerate(table.names) if not table.gone >> i & 1]


def _untouched_root(cluster: str, user: str = "") -> Answer:
    """Return the association that root, or user root, has in a cluster of which nothing else is known."""
    fresh = Database(cluster, None, exists=True, owner=0, created=0)
    key = ROOT_USER if user else ROOT
    return records.association(fresh, key, records.spans(fresh)[key])


def cluster_tres(cluster: LiveCluster) -> dict[str, int]:
    state = cluster.controller.state
    there = [i for i in range(state.table.n) if not state.table.gone >> i & 1]
    cpus, mem = int(state.table.cpus[there].sum()), int(state.table.mem[there].sum())
    weighted = [p for p in state.partitions if p.spec.tres_billing_weights]
    billing = sum(state.billing.of_node(i, weighted)["billing"] for i in there) if weighted else cpus
    return {"cpu": cpus, "mem": mem, "node": len(there), "billing": billing}


def counted_gres(cluster: LiveCluster) -> list[str]:
    """Return the GRES that are TRES, in the order of their numbers; with GPUs since 24.11 what is used of them."""
    found = [name for name in cluster.controller.state.billing.names if "/" in name]
    if "gres/gpu" in found and since(cluster.release, "use_of_gpus_counted"):
        found += [name for name in ("gres/gpumem", "gres/gpuutil") if name not in found]
    return found


def all_tres(cluster: LiveCluster) -> list[tuple[str, str, str]]:
    """Return type, name, and both as one word of every TRES, in the order of their numbers."""
    plain = [(kind, "") for kind in ("cpu", "mem", "energy", "node", "billing")]
    names = [*plain, ("fs", "disk"), ("vmem", ""), ("pages", "")]
    counted = [str(name).lower() for name in cluster.spec.option("AccountingStorageTRES")]
    for word in (*counted_gres(cluster), *(name for name in counted if name.startswith("license/"))):
        kind, _, name = word.partition("/")
        names.append((kind, name))
    return [(kind, name, f"{kind}/{name}" if name else kind) for kind, name in names]


def whole_tres(cluster: LiveCluster) -> dict[str, int]:
    """Return how many of every TRES the cluster has; 0 of what nothing is known of."""
    state = cluster.controller.state
    table, known = state.table, cluster_tres(cluster)
    for kind, (name, gtype) in enumerate(table.gres_kinds):
        state.billing.add_gres(known, name, gtype, int(table.gres[kind].sum()))
    known |= {f"license/{name.lower()}": count for name, count in state.license_totals.items()}
    return {word: known.get(word, 0) for _, _, word in all_tres(cluster)}


def _tres(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    # the first eight are those of every cluster; numbers of the others begin behind 1000
    return [{"type": kind, "name": name, "id": at if at <= 8 else 992 + at}
            for at, (kind, name, _) in enumerate(all_tres(cluster), 1)]  # fmt: skip


def _users(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    db = cluster.database
    found = [records.user(db, name) for name in sorted(db.users)]
    if hides(cluster, "users", person, stored=True):
        found = [record for record in found if record["user"] == person.name]
    return found


def _events(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """Return the cluster's own beginning, and when nodes were down or drained. Raises Refusal where they are hidden."""
    refuse(cluster, "events", person, stored=True)
    name, tres = cluster.database.cluster, cluster_tres(cluster)
    found: list[Answer] = [
        {"cluster": name, "node": None, "start": cluster.database.created, "end": 0, "state": None,
         "reason": "Cluster Registered TRES", "uid": None, "tres": tres, "nodes": ""}
    ]  # fmt: skip
    for row in sorted(cluster.storage.purges.outages(), key=lambda row: (row.node, row.start)):
        found.append(
            {"cluster": name, "node": row.node, "start": row.start, "end": row.end, "state": row.state,
             "reason": row.reason, "uid": row.uid, "user": cluster.people.by_uid(row.uid).name, "tres": tres,
             "nodes": ""}
        )  # fmt: skip
    return found


def _transactions(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    return [
        {"id": t.id, "time": t.time, "action": t.action, "actor": t.actor, "where": t.where, "info": t.info}
        for t in cluster.storage.purges.transactions()
    ]


def _reservations(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS, reserved_tres

    refuse(cluster, "reservations", person, stored=True)
    found = []
    for r in sorted(cluster.controller.state.reserved.all, key=lambda r: (r.start, r.name)):
        found.append({
            "cluster": cluster.database.cluster, "name": RESERVATION_FIELDS["name"](r, cluster),
            "start": RESERVATION_FIELDS["start_time"](r, cluster), "end": RESERVATION_FIELDS["end_time"](r, cluster),
            "id": int(getattr(r, "id", 0) or 0), "tres": reserved_tres(r, cluster),
        })  # fmt: skip
    return found


def _problems(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    if not cluster.database.is_operator(person):
        raise Refusal(DENIED)
    return _associations(cluster, arguments, person)


def _wckeys(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """Return the WCKeys by user and name. Raises Refusal for users who are no administrators."""
    db = cluster.database
    if not db.is_operator(person):
        raise Refusal(DENIED)
    return [
        {"wckey": name, "user": user, "cluster": db.cluster, "id": number}
        for (name, user), number in sorted(db.wckeys.items(), key=lambda item: (item[0][1], item[0][0]))
    ]


_LISTS: dict[str, Callable[[LiveCluster, Mapping[str, Any], Person], list[Answer]]] = {
    "association": _associations, "cluster": _clusters, "tres": _tres, "user": _users, "event": _events,
    "account": _accounts,
    "qos": lambda c, a, p: [
        records.qos(c.database, name) for name, _ in sorted(c.database.qos_ids.items(), key=lambda pair: pair[1])
    ],
    "transaction": _transactions, "reservation": _reservations,
    "problem": _problems, "wckey": _wckeys,
}  # fmt: skip
