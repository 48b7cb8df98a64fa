"""Below ``/slurmdb``: what the database has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slurmsim.commands.json.accounts import wckey
from slurmsim.commands.text.values import NO_VALUE
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.rest.body import Body
from slurmsim.rest.body import flag as read_flag
from slurmsim.rest.commands import found_by
from slurmsim.rest.database_writing import UNNAMED, failed, named, nothing
from slurmsim.rest.messages import NOT_MODELLED, Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

Record = dict[str, Any]
_DENIED = (2002, "Access/permission denied")
_SACCT = {"account": "-A", "cluster": "-M", "end_time": "-E", "groups": "-g", "job_name": "--name", "node": "-N",
          "partition": "-r", "qos": "-q", "start_time": "-S", "state": "-s", "step": "-j", "users": "-u",
          "wckey": "-W"}  # fmt: skip
_YES = ("true", "1", "yes")
_PLAIN = re.compile(r"[^\x00-\x1f]{0,4096}")


def _value(call: Call, name: str) -> str | None:
    text = call.query.get(name)
    if text is not None and (not _PLAIN.fullmatch(text) or text.startswith("-")):
        raise call.rejected_parameters("op_handler")
    return text


def jobs(call: Call) -> Found:
    """Jobs as ``sacct -a`` finds them."""
    words = ["sacct", "-a"]
    for name, option in _SACCT.items():
        text = _value(call, name)
        if text:
            words += [option, _date(text) if name.endswith("_time") else text]
    found = found_by(call, words, "op_handler_jobs")
    if (call.query.get("skip_steps") or "").lower() in _YES:
        for job in found.entries["jobs"]:
            job["steps"] = []
    if not call.query.get("end_time"):
        _cut(found.entries["jobs"], int(call.client.call("hello")["now"]))
    return found


def _cut(jobs: list[dict[str, Any]], now: int) -> None:
    """Without a time asked for the period ends now, and with it what has not ended (as with ``sacct -T``)."""
    for job in jobs:
        times = job["time"]
        times["end"] = times["end"] or now
        if times["start"] in (0, NO_VALUE):  # it never started
            times["start"] = times["end"]
        for step in job["steps"]:
            end = step["time"]["end"]
            end["number"] = end["number"] or now


def _date(text: str) -> str:
    """Seconds since the epoch, as sacct takes dates; other forms stay."""
    if not text.isdecimal():
        return text
    from datetime import UTC, datetime

    return datetime.fromtimestamp(min(int(text), 1 << 33), UTC).astimezone().strftime("%Y-%m-%dT%H:%M:%S")


def job(call: Call) -> Found:
    """Return one job, of any user."""
    text = call.parts["job_id"]
    if not re.fullmatch(r"[0-9]{1,10}(?:[_+][0-9]{1,10})?", text):
        raise call.rejected_parameters("op_handler_job")
    return found_by(call, ["sacct", "-a", "-j", text], "op_handler_job")


def _asked(call: Call, flags: tuple[str, ...], others: tuple[str, ...] = (), name: str = "") -> tuple[set[str], Body]:
    """Which of the query's `flags` are set, and warnings: a text is no flag to a parser of data."""
    body = Body(call.release, call.version, tuple)
    found = set()
    for key, value in call.query.items():
        if key in flags:
            if key[0].isupper():  # a flag by being named
                found |= {key} if value.lower() in _YES else set()
            elif read_flag(body, value, f"/{key}/"):
                found.add(key)
        elif key not in others and name:
            body.warn(f'Ignoring unknown field "{key}" of type string in DATA_PARSER_{name}', f"#/{key}/")
    return found, body


def _shorts(call: Call) -> list[Record]:
    """Every association as accounts and users name it."""
    return [
        {"account": one["account"], "cluster": one["cluster"], "partition": one["partition"] or "",
         "user": one["user"] or "", "id": one["id"]}
        for one in call.client.call("account_list", kind="association")["records"]
    ]  # fmt: skip


def _records(call: Call, kind: str, key: str) -> list[Record]:
    found: list[Record] = found_by(call, ["sacctmgr", "show", kind]).entries[key]
    return found


_OLD_ACCOUNTS = ("with_assocs", "with_coords", "with_deleted")
_ACCOUNT_FLAGS = ("WithAssociations", "WithCoordinators", "DELETED", "NoUsersAreCoords", "UsersAreCoords")
_USER_FLAGS = ("with_assocs", "with_coords", "with_deleted", "with_wckeys", "without_defaults")
_OF_USERS = ("admin_level", "default_account", "default_wckey")


def _only(call: Call, records: list[Record], part: str = "name") -> list[Record]:
    """Return the record that the path names; all records where it names none."""
    wanted = call.parts.get(part)
    return records if wanted is None else [one for one in records if str(one["name"]).lower() == wanted.lower()]


def _or_nothing(
    call: Call, key: str, records: list[Record], warnings: list[dict[str, str]], source: str, kind: str = ""
) -> Found:
    if not records:
        warnings = [*warnings, nothing(call, f"slurmdb_{kind or key}_get", source)]
    return Found({key: records}, warnings=warnings)


def accounts(call: Call) -> Found:
    named = "name" in call.parts or call.version <= 40
    flags, body = _asked(call, _OLD_ACCOUNTS if named else _ACCOUNT_FLAGS, ("description",), "ACCOUNT_CONDITION")
    found = _only(call, _records(call, "account", "accounts"))
    return _or_nothing(call, "accounts", _full_accounts(call, found, flags), body.warnings, "_dump_accounts")


def _full_accounts(call: Call, records: list[Record], flags: set[str], without: str = "") -> list[Record]:
    """With associations, but of the account `without`, and coordinators, where they are asked for."""
    shorts = _shorts(call) if flags & {"with_assocs", "WithAssociations"} else []
    for one in records:
        one["associations"] = [short for short in shorts if short["account"] == one["name"] != without]
        if not flags & {"with_coords", "WithCoordinators"}:
            one["coordinators"] = []
    return records


def users(call: Call) -> Found:
    named = "name" in call.parts
    flags, body = _asked(call, _USER_FLAGS, () if named else _OF_USERS, "USER_CONDITION")
    found = _only(call, _records(call, "user", "users"))
    return _or_nothing(call, "users", _full_users(call, found, flags), body.warnings, "_dump_users")


def _full_users(call: Call, records: list[Record], flags: set[str]) -> list[Record]:
    """Without associations, which are not loaded then, slurmrestd tells no default account."""
    shorts: list[Record] = []
    defaults: dict[str, int] = {}
    if "with_assocs" in flags:
        shorts = _shorts(call)
        ids = dict(call.client.call("qos_ids")["ids"])
        for one in call.client.call("account_list", kind="association")["records"]:
            if one["is_default"] and one["def_qos"]:
                defaults.setdefault(one["user"], ids.get(one["def_qos"], 0))
    for one in records:
        one["associations"] = [short for short in shorts if short["user"] == one["name"]]
        if "with_assocs" not in flags:
            one["default"]["account"] = ""
        elif "qos" in one["default"]:
            one["default"]["qos"] = defaults.get(one["name"], 0)
        if "with_coords" not in flags:
            one["coordinators"] = []
        if "with_wckeys" not in flags:
            one["default"]["wckey"] = ""
        else:
            one["wckeys"] = [key for key in _wckeys(call) if key["user"] == one["name"]]
    return records


def qos(call: Call) -> Found:
    """All QOS, or one; Slurm passes over what else is asked for."""
    found = _only(call, _records(call, "qos", "qos"))
    return _or_nothing(call, "qos", found, [], "_op_handler_qos")


def clusters(call: Call) -> Found:
    found = _only(call, _records(call, "cluster", "clusters"))
    return _or_nothing(call, "clusters", found, [], "_dump_clusters")


def tres(call: Call) -> Found:
    """All TRES."""
    return Found({"TRES": _tres(call)})


def _tres(call: Call) -> list[Record]:
    return [*_records(call, "tres", "TRES"), {"type": "dynamic_offset", "name": "", "id": 1000, "count": 0}]


def _wckeys(call: Call) -> list[Record]:
    return [wckey(one) for one in call.client.call("account_list", kind="wckey")["records"]]


def wckeys(call: Call) -> Found:
    """All WCKeys, those the query chooses, or those of a name."""
    source = "_dump_wckeys"
    try:
        found = _wckeys(call)
    except Refusal as refusal:
        raise failed(call, "slurmdb_wckeys_get", (call.number_of(refusal), refusal.text), source) from None
    name = call.parts.get("id")
    for key in ("cluster", "id", "name", "user"):
        wanted = _value(call, key) if name is None else name if key == "name" else None
        if wanted:
            found = [one for one in found if str(one[key]) in wanted.split(",")]
    return _or_nothing(call, "wckeys", found, [], source)


def instances(call: Call) -> Found:
    """There are none: nodes are no cloud's."""
    return Found({}, warnings=[nothing(call, "slurmdb_instances_get", "_dump_instance_cond")])


def associations(call: Call) -> Found:
    """All associations, or those of accounts, partitions or users."""
    return _or_nothing(call, "associations", _associations(call), [], "_dump_assoc_cond")


def association(call: Call) -> Found:
    """Return the one association that the query chooses."""
    found = _associations(call)
    if len(found) > 1:
        raise Rejected("Ambiguous request: More than 1 association would have been dumped.", *UNNAMED,
                       "_dump_assoc_cond", 500, {"associations": []})  # fmt: skip
    return _or_nothing(call, "associations", found, [], "_dump_assoc_cond")


def _associations(call: Call) -> list[Record]:
    found = _records(call, "assoc", "associations")
    for name in ("account", "cluster", "partition", "user"):
        wanted = _value(call, name)
        if wanted:
            words = set(wanted.lower().split(","))
            found = [one for one in found if str(one[name]).lower() in words]
    return sorted(found, key=lambda one: str(one["lineage"]))


def _without_deltas(call: Call, records: list[Record]) -> list[Record]:
    """With the QOS of the account where an association only adds to them or takes some away."""
    raw = {(one["account"], one["user"] or "", one["partition"] or ""): one["qos_raw"]
           for one in call.client.call("account_list", kind="association")["records"]}  # fmt: skip
    accounts = {one["account"]: one["qos"] for one in records if not one["user"]}
    for one in records:
        if any(name[0] in "+-" for name in raw[one["account"], one["user"], one["partition"]]):
            one["qos"] = accounts.get(one["account"], one["qos"])
    return records


def ping(call: Call) -> Found:
    """Return how long the database takes to answer; it is the daemon's own."""
    import time

    begin = time.monotonic()
    there = bool(call.client.call("accounting_enabled").get("enabled", True))
    latency = int((time.monotonic() - begin) * 1e6)
    one: dict[str, Any] = {"hostname": "localhost", "responding": there, "latency": latency, "primary": True}
    if call.version >= 45:
        one["status"] = "No error" if there else "Unable to contact slurm controller (connect failure)"
    return Found({"pings": [one]})


def diag(call: Call) -> Found:
    """Return the statistics of the database, to administrators; all its counters are 0, as no slurmdbd runs."""
    if not call.client.call("hello")["operator"]:
        raise Rejected("stats query failed", *_DENIED, "slurmdb_get_stats", entries={"statistics": {}})
    began = int(call.client.call("account_list", kind="cluster")["records"][0]["created"])
    never = {"count": 0, "last_run": 0, "duration": {"last": 0, "max": 0, "time": 0}}
    rollups = dict.fromkeys(("hourly", "daily", "monthly"), never)
    return Found({"statistics": {"time_start": began, "rollups": rollups, "RPCs": [], "users": []}})


def config(call: Call) -> Found:
    """Everything in the database, for administrators."""
    if not call.client.call("hello")["operator"]:
        name = named(call, "slurmdb_wckeys_get")
        raise Rejected(f"{name} failed", *_DENIED, "_dump")
    everything = {"with_assocs", "with_coords"}
    inherited = _without_deltas(call, _associations(call))
    instances: dict[str, Any] = {} if since(call.release, "refusals_are_unprocessable") else {"instances": []}
    return Found({
        "clusters": _records(call, "cluster", "clusters"), "tres": _tres(call),
        "accounts": _full_accounts(call, _records(call, "account", "accounts"), everything, "root"),
        "users": _full_users(call, _records(call, "user", "users"), everything),
        "qos": _records(call, "qos", "qos"), "wckeys": _wckeys(call), "associations": inherited, **instances,
    })  # fmt: skip


def _denied(call: Call) -> tuple[int, str]:
    if call.client.call("hello")["operator"]:
        return NOT_MODELLED
    return _DENIED


def conf(call: Call) -> Found:
    """Return slurmdbd.conf."""
    return found_by(call, ["sacctmgr", "show", "config"], "_op_handler_conf")
