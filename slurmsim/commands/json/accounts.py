"""``sacctmgr show … --json`` of Slurm 24.11 and 26.05: accounts, users, associations, QOS, TRES and clusters."""

from __future__ import annotations

from slurmsim.commands.json import frame as dump_frame
from slurmsim.commands.json import openapi_sacct
from slurmsim.commands.json.frame import number
from slurmsim.commands.json.versions import chosen
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.sacctmgr.words import Session


if TYPE_CHECKING:
    Record = dict[str, Any]
_LEVELS = {"None": "None", "Operator": "Operator", "Administrator": "Administrator"}
_RPC = {"24.11": 10752, "26.05": 11520}
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
    entries = {name: [make(record, session.release, version) for record in records]}
    command = ["sacctmgr", *words] if since(session.release, "meta_tells_whole_command") else []
    cluster = str(session.list("cluster")[0]["cluster"])
    dump_frame.write(session.io, session.dump, session.release, entries, command, cluster, version=version)


def _limit(value: float | None) -> Record:
    return number(value, infinite=value is None)


def _minutes(seconds: int | None) -> Record:
    return _limit(None if seconds is None else seconds // 60)


def _factor(value: float | None) -> Record:
    return {"set": value is not None, "infinite": value is None, "number": float(value or 0)}


def _tres(counts: dict[str, int]) -> list[Record]:
    return openapi_sacct.tres_list(dict(counts), "")


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
    new = since(release, "data_parser_v0_0_45")
    jobs = {
        "per": {
            "count": _limit(r["grp_jobs"]), "accruing": _limit(r["grp_jobs_accrue"]),
            "submitted": _limit(r["grp_submit_jobs"]), "wall_clock": _minutes(r["max_wall_s"]),
        },
        "active": _limit(r["max_jobs"]), "accruing": _limit(r["max_jobs_accrue"]),
        "total": _limit(r["max_submit_jobs"]),
    }  # fmt: skip
    tres = {
        "total": _tres(r["grp_tres"]),
        "group": {"minutes": _tres(r["grp_tres_mins"]), "active": _tres(r["grp_tres_run_mins"])},
        "minutes": {"total": _tres(r["max_tres_run_mins"]), "per": {"job": _tres(r["max_tres_mins"])}},
        "per": {"job": _tres(r["max_tres"]), "node": _tres(r["max_tres_per_node"])},
    }
    account = not r["user"] and r["parent"] is not None
    return {
        "accounting": [], "account": r["account"], "cluster": r["cluster"], "comment": r["comment"] or "",
        "default": {"qos": r["def_qos"] or ""}, "flags": [],
        "max": {"jobs": jobs, "tres": tres, "per": {"account": {"wall_clock": _minutes(r["grp_wall_s"])}}},
        "id": _own_name(r) if version <= 40 else r["id"] if version >= 43 else 0,
        "is_default": bool(r["is_default"]) or (account and not new),
        "lineage": r["lineage"], "min": {"priority_threshold": _limit(r["min_prio_thresh"])},
        "parent_account": r["parent"] or "", "partition": r["partition"] or "", "priority": _limit(r["priority"]),
        "qos": r["qos"], "shares_raw": r["shares"], "user": r["user"] or "",
    }  # fmt: skip


def _qos(r: Record, release: str, version: int) -> Record:
    jobs = {
        "count": _limit(r["grp_submit_jobs"]),
        "active_jobs": {"per": {"account": _limit(r["max_jobs_pa"]), "user": _limit(r["max_jobs_pu"])}},
        "per": {"account": _limit(r["max_submit_pa"]), "user": _limit(r["max_submit_pu"])},
    }
    minutes = {
        "total": _tres(r["grp_tres_run_mins"]),
        "per": {
            "qos": _tres(r["grp_tres_mins"]), "job": _tres(r["max_tres_mins"]),
            "account": _tres(r["max_tres_run_mins_pa"]), "user": _tres(r["max_tres_run_mins_pu"]),
        },
    }  # fmt: skip
    if version <= 41:
        del jobs["count"], minutes["total"]
    per = {
        "account": _tres(r["max_tres_pa"]), "job": _tres(r["max_tres"]), "node": _tres(r["max_tres_per_node"]),
        "user": _tres(r["max_tres_pu"]),
    }  # fmt: skip
    most = {
        "active_jobs": {"accruing": _limit(r["grp_jobs_accrue"]), "count": _limit(r["grp_jobs"])}, "jobs": jobs,
        "tres": {"total": _tres(r["grp_tres"]), "minutes": minutes, "per": per},
        "wall_clock": {"per": {"qos": _minutes(r["grp_wall_s"]), "job": _minutes(r["max_wall_s"])}},
        "accruing": {"per": {"account": _limit(r["max_jobs_accrue_pa"]), "user": _limit(r["max_jobs_accrue_pu"])}},
    }  # fmt: skip
    least = {
        "priority_threshold": _limit(r["min_prio_thresh"]), "tres": {"per": {"job": _tres(r["min_tres"])}},
    }  # fmt: skip
    return {
        "description": r["description"], "flags": [_FLAGS[f.lower()] for f in r["flags"] if f.lower() in _FLAGS],
        "id": r["id"],
        "limits": {"grace_time": r["grace_time_s"] or 0, "max": most, "factor": _factor(r["limit_factor"]),
        "min": least},
        "name": r["name"],
        "preempt": {
            "list": r["preempt"], "mode": [str(r["preempt_mode"] or "disabled").upper()],
            "exempt_time": _limit(r["preempt_exempt_time_s"]),
        },
        "priority": number(r["priority"] or 0), "usage_factor": _factor(r["usage_factor"]),
        "usage_threshold": _factor(r["usage_threshold"]),
    }  # fmt: skip


def _one_tres(r: Record, release: str, version: int) -> Record:
    return {"type": r["type"], "name": r["name"], "id": r["id"], "count": 0}


def _cluster(r: Record, release: str, version: int) -> Record:
    counts = [*r["tres"].items(), *((name, 0) for name in ("energy", "fs/disk", "vmem", "pages"))]
    numbers = {name: at + 1 for at, name in enumerate(openapi_sacct.TRES)}
    tres = [
        {"type": name.partition("/")[0], "name": name.partition("/")[2], "id": numbers.get(name, 1001), "count": count}
        for name, count in sorted(counts, key=lambda one: numbers.get(one[0], 1001))
    ]
    select = {} if version >= 45 else {"select_plugin": ""}
    root = {"account": "root", "cluster": r["cluster"], "partition": "", "user": "", "id": r["association"]["id"]}
    return {
        "controller": {"host": r["host"], "port": r["port"]}, "flags": ["MULTIPLE_SLURMD"], "name": r["cluster"],
        "nodes": r["nodes"], **select, "associations": {"root": root}, "rpc_version": row(_RPC, release), "tres": tres,
    }  # fmt: skip


_MAKERS: dict[str, Callable[[Record, str, int], Record]] = {
    "accounts": _account, "users": _user, "associations": _association, "qos": _qos, "tres": _one_tres,
    "clusters": _cluster,
}  # fmt: skip
