"""``sacctmgr show … --json`` of Slurm 24.11 and 26.05: accounts, users, associations, QOS, TRES and clusters."""

from __future__ import annotations

from slurmsim.commands.json import frame as dump_frame
from slurmsim.commands.json import openapi_sacct, versions
from slurmsim.commands.json.versions import always, at_least_zero, chosen, count, limit, nested, placed, text
from slurmsim.records import accounting as records
from slurmsim.release_changes import since
from slurmsim.releases import PROTOCOLS, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.sacctmgr.words import Session

    Record = dict[str, Any]
_LEVELS = {"None": "None", "Operator": "Operator", "Administrator": "Administrator"}
_FLAGS = {"denyonlimit": "DENY_LIMIT", "enforceusagethreshold": "ENFORCE_USAGE_THRESHOLD", "nodecay": "NO_DECAY",
          "noreserve": "NO_RESERVE", "overpartqos": "OVERRIDE_PARTITION_QOS",
          "partitionmaxnodes": "PARTITION_MAXIMUM_NODE",
          "partitionminnodes": "PARTITION_MINIMUM_NODE", "partitiontimelimit": "PARTITION_TIME_LIMIT",
          "requiresreservation": "REQUIRED_RESERVATION", "usagefactorsafe": "USAGE_FACTOR_SAFE"}  # fmt: skip


def dump(session: Session, key: str, records: list[Record], words: list[str]) -> None:
    """Print the records under `key`."""
    name = "TRES" if key == "tres" else key
    make = _MAKERS[key]
    if key == "associations":
        ids = {one["name"]: one["id"] for one in session.list("qos")}
        records = [{**one, "qos": sorted(one["qos"], key=lambda name: ids.get(name, 0))} for one in records]
    version = chosen("sacctmgr", session.parser, session.release, session.io)
    made = [make(record, session.release, version) for record in records]
    entries: Record = {name: made[0] if key == "slurmdbd_conf" else made}
    command = ["sacctmgr", *words] if since(session.release, "meta_tells_whole_command") else []
    cluster = str(session.list("cluster")[0]["cluster"])
    dump_frame.write(session.io, session.dump, session.release, entries, command, cluster, version=version)


def _coordinators(direct: list[str], inherited: list[str]) -> list[Record]:
    return [{"name": name, "direct": name in direct} for name in sorted({*direct, *inherited})]


def _account(r: Record, release: str, version: int) -> Record:
    return {
        "associations": [], "coordinators": _coordinators(r["coordinators"], r["coordinators_above"]),
        "description": r["description"], "name": r["account"], "organization": r["organization"], "flags": [],
    }  # fmt: skip


def _user(r: Record, release: str, version: int) -> Record:
    default = {"qos": 0} if version >= 44 else {}
    return {
        "administrator_level": [_LEVELS.get(r["admin_level"], "None")], "associations": [],
        "coordinators": _coordinators(r["coordinates"], r["coordinates_below"]),
        "default": {**default, "account": r["default_account"] or "", "wckey": r["default_wckey"] or ""},
        "flags": ["NONE"], "name": r["user"], "old_name": "", "wckeys": [],
    }  # fmt: skip


def _own_name(r: Record) -> Record:
    """Return an association as accounts name it."""
    return {"account": r["account"], "cluster": r["cluster"], "partition": r["partition"] or "",
            "user": r["user"] or "", "id": r["id"]}  # fmt: skip


def _association(r: Record, release: str, version: int) -> Record:
    account = not r["user"] and r["parent"] is not None
    default = bool(r["is_default"]) or (account and not since(release, "data_parser_v0_0_45"))
    return nested(versions.record(_ASSOCIATION, {**r, "is_default": default}, version))


def _short(account: str, cluster: str, partition: str | None, user: str | None, number: int) -> Record:
    return _own_name({"account": account, "cluster": cluster, "partition": partition, "user": user, "id": number})


def _same(value: Any) -> Any:
    return value


_KINDS: dict[str, Callable[..., Any]] = {
    "text": text, "name": text, **dict.fromkeys(("told", "names", "shares", "flag"), _same), "seconds": count,
    **dict.fromkeys(("limit", "exempt"), limit), "priority": at_least_zero,
    "minutes": lambda seconds: limit(None if seconds is None else seconds // 60),
    "tres": lambda counts: openapi_sacct.tres_list(dict(counts), ""),
    "factor": lambda told: {"set": told is not None, "infinite": told is None, "number": float(told or 0)},
    "flags": lambda flags: [_FLAGS[flag.lower()] for flag in flags if flag.lower() in _FLAGS],
    "modes": lambda mode: [str(mode or "disabled").upper()],
}  # fmt: skip
_F = versions.field
_QOS = placed(records.QOS, _KINDS, {})
_ASSOCIATION = placed(records.ASSOCIATION, _KINDS, {
    "account": (_F("accounting", always([])),),
    "max.jobs.per.count": (_F("flags", always([])),),
    "is_default": (
        _F("id", _short, "account", "cluster", "partition", "user", "id", last=40),
        _F("id", always(0), first=41, last=42), _F("id", _same, first=43),
    ),
})  # fmt: skip


def _cluster(r: Record, release: str, version: int) -> Record:
    away = r["away"]  # nothing is known of it
    known = () if away else ("energy", "fs/disk", "vmem", "pages")
    counts = [*r["tres"].items(), *((name, 0) for name in known)]
    numbers = {name: at + 1 for at, name in enumerate(openapi_sacct.TRES)}
    tres = [
        {"type": name.partition("/")[0], "name": name.partition("/")[2], "id": numbers.get(name, 1001), "count": count}
        for name, count in sorted(counts, key=lambda one: numbers.get(one[0], 1001))
    ]
    select = {} if version >= 45 else {"select_plugin": ""}
    root = {"account": "root", "cluster": r["cluster"], "partition": "", "user": "", "id": r["association"]["id"]}
    return {
        "controller": {"host": r["host"], "port": r["port"]}, "flags": [] if away else ["MULTIPLE_SLURMD"],
        "name": r["cluster"], "nodes": r["nodes"], **select, "associations": {"root": root},
        "rpc_version": 0 if away else row(PROTOCOLS, release),
        "tres": tres,
    }  # fmt: skip


def wckey(r: Record, release: str = "", version: int = 0) -> Record:
    """Return a WCKey of a user."""
    return {"accounting": [], "cluster": r["cluster"], "id": r["id"], "name": r["wckey"], "user": r["user"],
            "flags": []}  # fmt: skip


def _database_conf(r: Record, release: str, version: int) -> Record:
    from slurmsim.commands.json import configuration  # rarely wanted

    return configuration.database_conf(r)


_MAKERS: dict[str, Callable[[Record, str, int], Record]] = {
    "accounts": _account, "users": _user, "associations": _association, "clusters": _cluster,
    "qos": lambda r, _, version: nested(versions.record(_QOS, r, version)),
    "slurmdbd_conf": _database_conf,
    "wckeys": wckey,
    "tres": lambda r, *_: {"type": r["type"], "name": r["name"], "id": r["id"], "count": 0},
}  # fmt: skip
