"""What data_parser documents hold, asked of the daemon: for ``--json`` of the commands and for slurmrestd alike.

Each function returns the entries of one document, in order, without what surrounds them (`frame`).
"""

from __future__ import annotations

from slurmsim.commands.json import versions
from slurmsim.commands.json.versions import number
from slurmsim.commands.text import array_text
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.json.versions import Field, Record
    from slurmsim.protocol import Client


def _listed(client: Client, call: str, table: Sequence[Field], version: int, **asked: Any) -> tuple[Record, list[Any]]:
    fields = versions.needed(table)
    answer = client.call(call, fields=fields, **asked)
    return answer, [versions.record(table, row, version) for row in versions.rows(answer, fields)]


def job_fields() -> list[str]:
    """Return the daemon's fields that jobs are made of."""
    from slurmsim.commands.json.job import JOB

    return versions.needed(JOB)


def job_entries(table: Sequence[Record], now: int, last_backfill: int, version: int) -> Record:
    """Jobs that were loaded already."""
    from slurmsim.commands.json.job import JOB

    found = []
    for row in table:
        told = row["array_task_str"]
        row["array_task_str"] = told and array_text.shown(told, array_text.DEFAULT_LENGTH)
        found.append(versions.record(JOB, row, version))
    return {"jobs": found, "last_backfill": number(last_backfill), "last_update": number(now)}


def jobs(client: Client, version: int, **asked: Any) -> Record:
    """All jobs, or with ``job_id`` one, its array's tasks among it. Raises Refusal and Unreachable."""
    fields = job_fields()
    answer = client.call("jobs", fields=fields, **asked)
    return job_entries(versions.rows(answer, fields), answer["now"], answer["last_backfill"], version)


def nodes(client: Client, version: int, names: Sequence[str] | None = None, **asked: Any) -> Record:
    """All nodes, or those named."""
    from slurmsim.commands.json.node import NODE

    answer, found = _listed(client, "nodes", NODE, version, **asked)
    chosen = found if names is None else [one for one in found if one["name"] in names]
    return {"nodes": chosen, "last_update": number(answer["now"])}


def partitions(client: Client, version: int, name: str | None = None, **asked: Any) -> Record:
    """All partitions, or the one named."""
    from slurmsim.commands.json.partition import PARTITION

    answer, flat = _listed(client, "partitions", PARTITION, version, **asked)
    found = [versions.nested(one) for one in flat]
    chosen = found if name is None else [one for one in found if one["name"] == name]
    return {"partitions": chosen, "last_update": number(answer["now"])}


def reservations(client: Client, version: int, name: str | None = None) -> Record:
    """All reservations, or the one named."""
    from slurmsim.commands.json.small_records import RESERVATION

    answer, found = _listed(client, "reservations", RESERVATION, version)
    chosen = found if name is None else [one for one in found if one["name"] == name]
    return {"reservations": chosen, "last_update": number(answer["now"])}


def licenses(client: Client, version: int) -> Record:
    from slurmsim.commands.json.small_records import LICENSE

    now = client.call("ping")["now"]
    told = client.call("licenses")["licenses"]
    if version < versions.BY_PLACE:
        told = sorted(told, key=lambda row: str(row["name"]))
    return {"licenses": [versions.record(LICENSE, row, version) for row in told], "last_update": number(now)}


def step_warnings(found: Record, release: str) -> list[Record]:
    """Return the warnings about the steps `found`: newer releases write a number where one is of no array."""
    if not since(release, "infinity_as_number"):
        return []
    text = "Dumping (0xfffffffe) as place holder for null"
    whole = [one for one in found["steps"] if one["array"]["task_id"] == 0xFFFFFFFE]
    return [{"description": text, "source": ""} for _ in whole]


def steps(client: Client, version: int, **asked: Any) -> Record:
    """Return the steps of all jobs, or those `asked` for."""
    from slurmsim.commands.json.small_records import STEP

    answer, found = _listed(client, "steps", STEP, version, **asked)
    return {"steps": found, "last_update": number(answer["now"])}


def ping(hello: Record | None, version: int, latency_us: int, host: str = "localhost", problem: str = "") -> Record:
    """Whether the controller answers; `hello` is what it said."""
    host = (hello or {}).get("host") or host
    up = hello is not None
    if version >= 45:
        status = "No error" if up else problem or "Unable to contact slurm controller (connect failure)"
        one: Record = {"hostname": host, "responding": up, "latency": latency_us, "primary": True, "status": status}
    else:
        one = {"hostname": host, "pinged": "UP" if up else "DOWN", "responding": up, "latency": latency_us,
               "mode": "primary", "primary": True}  # fmt: skip
        for key in ("responding", "primary") if version < 42 else ():
            del one[key]
    return {"pings": [one]}
