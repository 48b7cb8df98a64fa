"""Below ``/slurmdb``: what the database has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.release_changes import since
from slurmsim.rest.commands import found_by
from slurmsim.rest.messages import BAD_QUERY, Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

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
        times["start"] = times["start"] or times["end"]
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
    """One job, whoever's it is."""
    text = call.parts["job_id"]
    if not re.fullmatch(r"[0-9]{1,10}(?:[_+][0-9]{1,10})?", text):
        raise call.rejected_parameters("op_handler_job")
    return found_by(call, ["sacct", "-a", "-j", text], "op_handler_job")


def listed(kind: str) -> Callable[[Call], Found]:
    """All of what ``sacctmgr show KIND`` shows."""

    def answer(call: Call) -> Found:
        found = found_by(call, ["sacctmgr", "show", kind]).entries
        if kind == "user":
            _forget_defaults(found["users"])
        elif kind == "tres":
            found["TRES"].append({"type": "dynamic_offset", "name": "", "id": 1000, "count": 0})
        return Found(found)

    return answer


def _forget_defaults(users: list[dict[str, Any]]) -> None:
    """Without associations, which are not loaded here, slurmrestd tells no default account."""
    for user in users:
        user["default"]["account"] = ""


def named(kind: str, key: str, part: str) -> Callable[[Call], Found]:
    """One of them by its name."""

    def answer(call: Call) -> Found:
        name = call.parts[part]
        found = found_by(call, ["sacctmgr", "show", kind]).entries
        if kind == "user":
            _forget_defaults(found[key])
        chosen = [one for one in found[key] if str(one["name"]).lower() == name.lower()]
        if not chosen:
            raise Rejected(f"Unable to find {kind} {name}", *BAD_QUERY, f"op_handler_{kind}", 422)
        return Found({key: chosen})

    return answer


def associations(call: Call) -> Found:
    """All associations, or those of an account, a partition or a user."""
    found = found_by(call, ["sacctmgr", "show", "assoc"]).entries
    for name in ("account", "partition", "user"):
        wanted = _value(call, name)
        if wanted:
            words = set(wanted.lower().split(","))
            found["associations"] = [one for one in found["associations"] if str(one[name]).lower() in words]
    return Found(found)


def ping(call: Call) -> Found:
    """The database is the daemon's own."""
    import time

    begin = time.monotonic()
    there = bool(call.client.call("accounting_enabled").get("enabled", True))
    latency = int((time.monotonic() - begin) * 1e6)
    one: dict[str, Any] = {"hostname": "localhost", "responding": there, "latency": latency, "primary": True}
    if call.version >= 45:
        one["status"] = "No error" if there else "Unable to contact slurm controller (connect failure)"
    return Found({"pings": [one]})


def diag(call: Call) -> Found:
    """Only administrators may ask, and what they would see is not modelled."""
    raise Rejected("stats query failed", *_denied(call), "slurmdb_get_stats", entries={"statistics": {}})


def config(call: Call) -> Found:
    """Only administrators may ask, and what they would see is not modelled."""
    name = "slurmdb_wckeys_get" if since(call.release, "refusals_are_unprocessable") else "slurmdb_wckeys_get(0x0)"
    raise Rejected(f"{name} failed", *_denied(call), "_dump")


def _denied(call: Call) -> tuple[int, str]:
    if call.client.call("hello")["operator"]:
        return 2036, "Requested operation not supported on this system"
    return _DENIED
