"""The paths of slurmrestd: method, path, since which data_parser version, and what answers; OpenAPI has them from here.

What Slurm has and is not modelled has a row as well, and is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slurmsim.commands.json.versions import OF_DATABASE, SERVED
from slurmsim.rest import database, reading, writing
from slurmsim.rest.calls import Call
from slurmsim.rest.messages import Found, Rejected

PLUGINS = frozenset({"slurmctld", "slurmdbd"})
_NEVER = 99


Handler = Callable[[Call], Found]


@dataclass(frozen=True)
class Route:
    """A row: its path has ``{NAME}`` where something is named; `source` is the function Slurm says errors come from."""

    method: str
    plugin: str
    path: str
    handler: Handler
    summary: str
    key: str = ""
    query: tuple[str, ...] = ()
    first: int = 0
    last: int = _NEVER
    source: str = ""
    reports_down: bool = False
    body: str = ""


def refused(method: str, plugin: str, path: str, first: int = 0, last: int = _NEVER) -> Route:
    """What Slurm has and is not modelled."""

    def answer(call: Call) -> Found:
        what = f"{method} /{plugin}/{path}"
        raise Rejected(f"{what} is not modelled by slurmsim", 2036, "Requested operation not supported on this system",
                       "slurmsim", 501)  # fmt: skip

    return Route(method, plugin, path, answer, "Not modelled: refused.", first=first, last=last, source="slurmsim")


R = Route
_LOOK = ("update_time", "flags")
_DB_JOBS = ("account", "cluster", "end_time", "groups", "job_name", "node", "partition", "qos", "skip_steps",
            "start_time", "state", "step", "users", "wckey")  # fmt: skip
ROUTES: tuple[Route, ...] = (
    R("GET", "slurm", "ping", reading.ping, "Whether the controller answers.", "pings", reports_down=True),
    R("GET", "slurm", "diag", reading.diag, "What the schedulers and the controller have done.", "statistics"),
    R("GET", "slurm", "licenses", reading.licenses, "Licenses and how many are used.", "licenses"),
    R("GET", "slurm", "shares", reading.shares, "Fair shares of associations.", "shares", ("accounts", "users")),
    R("GET", "slurm", "reconfigure", writing.reconfigure, "Read the configuration again."),
    R("GET", "slurm", "jobs", reading.jobs, "All jobs.", "jobs", _LOOK),
    R("DELETE", "slurm", "jobs", writing.kill_jobs, "Signal or cancel jobs.", "status", body="kill_jobs"),
    R("GET", "slurm", "jobs/state", reading.job_states, "States of jobs.", "states", ("job_id",)),
    R("POST", "slurm", "job/submit", writing.submit, "Submit a job.", "submitted", body="submit",
      source="slurm_submit_batch_job()"),
    R("GET", "slurm", "job/{job_id}", reading.job, "A job.", "jobs", ("flags",), source="op_handler_job"),
    R("POST", "slurm", "job/{job_id}", writing.update_job, "Change a job.", "results", body="job",
      source="slurm_update_job2()"),
    R("DELETE", "slurm", "job/{job_id}", writing.kill_job, "Signal or cancel a job.", "status", ("signal", "flags")),
    R("GET", "slurm", "job/{job_id}/requeue", writing.requeue, "Requeue a job.", first=45, source="slurm_requeue()"),
    R("GET", "slurm", "nodes", reading.nodes, "All nodes.", "nodes", _LOOK),
    R("GET", "slurm", "node/{node_name}", reading.node, "A node.", "nodes", ("flags",)),
    R("POST", "slurm", "node/{node_name}", writing.update_node, "Change a node.", body="node",
      source="slurm_update_node()"),
    R("DELETE", "slurm", "node/{node_name}", writing.delete_node, "Delete a node.", source="slurm_delete_node()"),
    R("GET", "slurm", "partitions", reading.partitions, "All partitions.", "partitions", _LOOK),
    R("GET", "slurm", "partition/{partition_name}", reading.partition, "A partition.", "partitions", _LOOK,
      source="op_handler_partition"),
    R("DELETE", "slurm", "partition/{partition_name}", writing.delete_partition, "Delete a partition.", first=45,
      source="slurm_delete_partition()"),
    R("GET", "slurm", "reservations", reading.reservations, "All reservations.", "reservations", ("update_time",)),
    R("GET", "slurm", "reservation/{reservation_name}", reading.reservation, "A reservation.", "reservations",
      ("update_time",)),
    R("DELETE", "slurm", "reservation/{reservation_name}", writing.delete_reservation, "Delete a reservation.",
      first=43, source="slurm_delete_reservation()"),
    R("GET", "slurm", "resources/{job_id}", reading.resources, "What a job has on its nodes.", "resources", first=44),
    R("GET", "slurmdb", "jobs", database.jobs, "Jobs of the database.", "db_jobs", _DB_JOBS),
    R("GET", "slurmdb", "job/{job_id}", database.job, "A job of the database.", "db_jobs"),
    R("GET", "slurmdb", "qos", database.listed("qos"), "All QOS.", "qos"),
    R("GET", "slurmdb", "qos/{name}", database.named("qos", "qos", "name"), "A QOS.", "qos"),
    R("GET", "slurmdb", "accounts", database.listed("account"), "All accounts.", "accounts"),
    R("GET", "slurmdb", "account/{name}", database.named("account", "accounts", "name"), "An account.", "accounts"),
    R("GET", "slurmdb", "users", database.listed("user"), "All users.", "users"),
    R("GET", "slurmdb", "user/{name}", database.named("user", "users", "name"), "A user.", "users"),
    R("GET", "slurmdb", "associations", database.associations, "All associations.", "associations",
      ("account", "partition", "user")),
    R("GET", "slurmdb", "association", database.associations, "Associations of one account, partition or user.",
      "associations", ("account", "partition", "user")),
    R("GET", "slurmdb", "clusters", database.listed("cluster"), "The cluster.", "clusters"),
    R("GET", "slurmdb", "cluster/{name}", database.named("cluster", "clusters", "name"), "A cluster.", "clusters"),
    R("GET", "slurmdb", "tres", database.listed("tres"), "All TRES.", "tres"),
    R("GET", "slurmdb", "ping", database.ping, "Whether the database answers.", "db_pings"),
    R("GET", "slurmdb", "diag", database.diag, "Statistics of the database, for administrators."),
    R("GET", "slurmdb", "config", database.config, "Everything in the database, for administrators."),
    refused("POST", "slurm", "job/allocate"), refused("POST", "slurm", "nodes"),
    refused("POST", "slurm", "jobs/requeue", 45), refused("GET", "slurm", "conf", 45),
    refused("POST", "slurm", "new/node", 44), refused("POST", "slurm", "partitions", 45),
    refused("POST", "slurm", "reservation", 43), refused("POST", "slurm", "reservations", 43),
    refused("DELETE", "slurm", "reservation/{reservation_name}", 42, 42),
    *(refused("POST", "slurmdb", path) for path in ("accounts", "accounts_association", "associations", "clusters",
      "config", "qos", "tres", "users", "users_association", "wckeys")),
    *(refused("DELETE", "slurmdb", path) for path in ("account/{name}", "association", "associations",
      "cluster/{name}", "qos/{name}", "user/{name}", "wckey/{id}")),
    *(refused("GET", "slurmdb", path) for path in ("instance", "instances", "wckey/{id}", "wckeys")),
    refused("GET", "slurmdb", "conf", 45), refused("POST", "slurmdb", "jobs", 44),
    refused("POST", "slurmdb", "job/{job_id}", 44),
)  # fmt: skip
_OWNER = {"slurm": "slurmctld", "slurmdb": "slurmdbd"}
Table = dict[str, list[tuple[re.Pattern[str], Route]]]


def served(release: str, versions: Sequence[int] | None = None) -> tuple[int, ...]:
    """The data_parser versions a release is asked in."""
    return tuple(sorted(v for v in SERVED[release] if versions is None or v in versions))


def of_version(version: int, plugins: frozenset[str]) -> list[Route]:
    """The rows a version has; of the database older ones are refused."""
    rows = [r for r in ROUTES if r.first <= version <= r.last and _OWNER[r.plugin] in plugins]
    if version >= OF_DATABASE:
        return rows
    return [refused(r.method, r.plugin, r.path, r.first, r.last) if r.plugin == "slurmdb" else r for r in rows]


def table(release: str, plugins: frozenset[str], versions: Sequence[int] | None) -> dict[int, Table]:
    """Version -> method -> patterns, in the order in which they are tried."""
    found: dict[int, Table] = {}
    for version in served(release, versions):
        found[version] = {}
        for route in of_version(version, plugins):
            text = "".join(
                f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part)
                for part in re.split(r"(\{\w+\})", f"{route.plugin}|{route.path}")
            )
            found[version].setdefault(route.method, []).append((re.compile(text), route))
    return found


_PATH = re.compile(r"/(slurm|slurmdb)/v0\.0\.([0-9]{2})/(.*?)/?")


def find(tables: dict[int, Table], method: str, path: str) -> tuple[Route, int, dict[str, str]] | None:
    """The row of a path, its version and what is named in it."""
    match = _PATH.fullmatch(path)
    rows = tables.get(int(match[2]), {}).get(method, ()) if match else ()
    for pattern, route in rows:
        parts = pattern.fullmatch(f"{match[1]}|{match[3]}") if match else None
        if parts is not None:
            return route, int(match[2]) if match else 0, parts.groupdict()
    return None
