"""What the database has, for sacctmgr show: associations, users, accounts, QOS, events, transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.draft import ROOT
from slurmsim.hostlist import compress
from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.database import association_records as records

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.live_cluster import LiveCluster
    from slurmsim.slurmctld.server.people import Person

Answer = dict[str, Any]
NO_DATABASE = "You are not running a supported accounting_storage plugin"


def listed(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> Answer:
    """Records of one kind."""
    db = engine.database
    if not db.exists:
        raise Refusal(NO_DATABASE)
    records_of = _LISTS[arguments["kind"]]
    return {"now": engine.now, "cluster": db.cluster, "records": records_of(engine, arguments, person)}


def _private(engine: LiveCluster, word: str, person: Person) -> bool:
    value = engine.cluster.options.get("PrivateData") or ()
    words = {w.strip().lower() for w in (value.split(",") if isinstance(value, str) else value)}
    return word in words and not engine.database.is_admin(person)


def _associations(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    db = engine.database
    spans = records.spans(db)
    own = bool(arguments.get("own"))
    found = [records.association(db, key, spans[key], own=own) for key in records.in_order(db)]
    if _private(engine, "users", person):
        mine = [r for r in found if r["user"] == person.name]
        found = mine
    return found


def _cluster(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    db, options = engine.database, engine.cluster.options
    return [
        {
            "cluster": db.cluster, "host": engine.host,
            "port": int(str(options.get("SlurmctldPort") or 6817).partition("-")[0]),
            "association": records.association(db, ROOT, records.spans(db)[ROOT]),
            "nodes": compress(engine.controller.state.table.names),
            "tres": cluster_tres(engine), "created": db.created,
        }
    ]  # fmt: skip


def cluster_tres(engine: LiveCluster) -> dict[str, int]:
    table = engine.controller.state.table
    cpus, mem = int(table.cpus.sum()), int(table.mem.sum())
    return {"cpu": cpus, "mem": mem, "node": table.n, "billing": cpus}


def _tres(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    names: list[tuple[str, str, int]] = [
        ("cpu", "", 1), ("mem", "", 2), ("energy", "", 3), ("node", "", 4), ("billing", "", 5), ("fs", "disk", 6),
        ("vmem", "", 7), ("pages", "", 8),
    ]  # fmt: skip
    more = [name for name in engine.controller.state.billing.names if "/" in name]
    names += [(*name.split("/", 1), 1001 + at) for at, name in enumerate(more)]  # type: ignore[misc]
    return [{"type": kind, "name": name, "id": number} for kind, name, number in names]


def _users(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    db = engine.database
    found = [records.user(db, name) for name in sorted(db.users)]
    if _private(engine, "users", person):
        found = [record for record in found if record["user"] == person.name]
    return found


def _events(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """What is down or drained, and since when; before it the cluster's own beginning."""
    from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS

    tres = cluster_tres(engine)
    found: list[Answer] = [
        {"cluster": engine.database.cluster, "node": None, "start": engine.database.created, "end": 0, "state": None,
         "reason": "Cluster Registered TRES", "uid": None, "tres": tres, "nodes": ""}
    ]  # fmt: skip
    for i, name in enumerate(engine.controller.state.table.names):
        state, flags = NODE_FIELDS["state"](i, engine), NODE_FIELDS["state_flags"](i, engine)
        reason, since, uid = engine.node_reason(i)
        if state != "DOWN" and "DRAIN" not in flags:
            continue
        found.append(
            {"cluster": engine.database.cluster, "node": name, "start": since, "end": 0,
             "state": "DRAIN" if "DRAIN" in flags else state, "reason": reason, "uid": uid,
             "user": engine.people.by_uid(uid).name, "tres": tres, "nodes": ""}
        )  # fmt: skip
    return found


def _transactions(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    return [
        {"id": t.id, "time": t.time, "action": t.action, "actor": t.actor, "where": t.where, "info": t.info}
        for t in engine.database.transactions
    ]


def _reservations(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS, reserved_tres

    found = []
    for r in sorted(engine.controller.state.reserved.all, key=lambda r: (r.start, r.name)):
        found.append({
            "cluster": engine.database.cluster, "name": RESERVATION_FIELDS["name"](r, engine),
            "start": RESERVATION_FIELDS["start_time"](r, engine), "end": RESERVATION_FIELDS["end_time"](r, engine),
            "id": int(getattr(r, "id", 0) or 0), "tres": reserved_tres(r, engine),
        })  # fmt: skip
    return found


def _problems(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    if not engine.database.is_admin(person):
        raise Refusal(DENIED)
    return _associations(engine, arguments, person)


def _wckeys(engine: LiveCluster, arguments: Mapping[str, Any], person: Person) -> list[Answer]:
    """There are none, which not everybody may know."""
    if not engine.database.is_admin(person):
        raise Refusal(DENIED)
    return []


_LISTS: dict[str, Callable[[LiveCluster, Mapping[str, Any], Person], list[Answer]]] = {
    "association": _associations, "cluster": _cluster, "tres": _tres, "user": _users, "event": _events,
    "account": lambda e, a, p: [records.account(e.database, name) for name in sorted(e.database.accounts)],
    "qos": lambda e, a, p: [
        records.qos(e.database, name) for name, _ in sorted(e.database.qos_ids.items(), key=lambda pair: pair[1])
    ],
    "transaction": _transactions, "reservation": _reservations,
    "problem": _problems, "wckey": _wckeys,
}  # fmt: skip
