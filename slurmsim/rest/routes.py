"""The paths of slurmrestd: method, path, since which data_parser version, and what answers; OpenAPI has them from here.

What Slurm has and is not modelled has a row as well, and is refused by its name.
"""

import re
from collections.abc import Callable, Sequence

from slurmsim.commands.json import versions as data_parser
from slurmsim.data_classes import dataclass
from slurmsim.releases import has
from slurmsim.rest import controller_writing as controller
from slurmsim.rest import database, reading, submitting, writing
from slurmsim.rest import database_writing as write
from slurmsim.rest.calls import Call
from slurmsim.rest.messages import NOT_MODELLED, Found, Rejected

PLUGINS = frozenset({"slurmctld", "slurmdbd", "util"})
_NEVER = 99


Handler = Callable[[Call], Found]


@dataclass(frozen=True)
class Route:
    """A row: its path has ``{NAME}`` where something is named; `source` is the function Slurm says errors come from.

    `since` is the first release that has it, where the version alone does not say so.
    """

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
    since: str = ""
    body: str = ""


def refused(method: str, plugin: str, path: str, first: int = 0, last: int = _NEVER) -> Route:
    """Return what Slurm has and is not modelled."""

    def answer(call: Call) -> Found:
        what = f"{method} /{plugin}/{path}"
        raise Rejected(f"{what} is not modelled by slurmsim", *NOT_MODELLED, "slurmsim", 501)

    return Route(method, plugin, path, answer, "Not modelled: refused.", first=first, last=last, source="slurmsim")


R = Route
_LOOK = ("update_time", "flags")
_DB_JOBS = ("account", "cluster", "end_time", "groups", "job_name", "node", "partition", "qos", "skip_steps",
            "start_time", "state", "step", "users", "wckey")  # fmt: skip
_WITH, _CHOOSE = ("with_assocs", "with_coords", "with_deleted"), ("account", "cluster", "partition", "user")
ROUTES: tuple[Route, ...] = (
    R("GET", "slurm", "ping", reading.ping, "Whether the controller answers.", "pings", reports_down=True),
    R("GET", "slurm", "diag", reading.diag, "What the schedulers and the controller have done.", "statistics"),
    R("GET", "slurm", "licenses", reading.licenses, "Licenses and how many are used.", "licenses"),
    R("GET", "slurm", "shares", reading.shares, "Fair shares of associations.", "shares", ("accounts", "users")),
    R("GET", "slurm", "reconfigure", writing.reconfigure, "Read the configuration again."),
    R("GET", "slurm", "jobs", reading.jobs, "All jobs.", "jobs", _LOOK),
    R("DELETE", "slurm", "jobs", writing.kill_jobs, "Signal or cancel jobs.", "status", body="kill_jobs"),
    R("GET", "slurm", "jobs/state", reading.job_states, "States of jobs.", "states", ("job_id",)),
    R("POST", "slurm", "job/submit", submitting.submit, "Submit a job.", "submitted", body="submit",
      source="slurm_submit_batch_job()"),
    R("POST", "slurm", "job/allocate", submitting.allocate, "Allocate nodes without a script, once they are free.",
      "allocated", body="allocate", first=41, source="slurm_allocate_resources_blocking()"),
    R("GET", "slurm", "job/{job_id}", reading.job, "A job.", "jobs", ("flags",), source="op_handler_job"),
    R("POST", "slurm", "job/{job_id}", writing.update_job, "Change a job.", "results", body="job",
      source="slurm_update_job2()"),
    R("DELETE", "slurm", "job/{job_id}", writing.kill_job, "Signal or cancel a job.", "status", ("signal", "flags")),
    R("POST", "slurm", "jobs/requeue", controller.requeue_jobs, "Requeue jobs.", "status", body="requeue", first=45,
      source="op_handler_jobs_requeue"),
    R("GET", "slurm", "job/{job_id}/requeue", writing.requeue, "Requeue a job.", first=45, source="slurm_requeue()"),
    R("GET", "slurm", "nodes", reading.nodes, "All nodes.", "nodes", _LOOK),
    R("POST", "slurm", "nodes", controller.update_nodes, "Change nodes.", body="nodes", source="_update_nodes"),
    R("GET", "slurm", "node/{node_name}", reading.node, "A node.", "nodes", ("flags",)),
    R("POST", "slurm", "node/{node_name}", writing.update_node, "Change a node.", body="node",
      source="slurm_update_node()"),
    R("DELETE", "slurm", "node/{node_name}", writing.delete_node, "Delete a node.", source="slurm_delete_node()"),
    R("GET", "slurm", "partitions", reading.partitions, "All partitions.", "partitions", _LOOK),
    R("POST", "slurm", "partitions", controller.post_partitions, "Make or change partitions.", body="partitions",
      first=45),
    R("GET", "slurm", "partition/{partition_name}", reading.partition, "A partition.", "partitions", _LOOK,
      source="op_handler_partition"),
    R("DELETE", "slurm", "partition/{partition_name}", writing.delete_partition, "Delete a partition.", first=45,
      source="slurm_delete_partition()"),
    R("GET", "slurm", "reservations", reading.reservations, "All reservations.", "reservations", ("update_time",)),
    R("GET", "slurm", "reservation/{reservation_name}", reading.reservation, "A reservation.", "reservations",
      ("update_time",)),
    R("POST", "slurm", "reservation", controller.post_reservation, "Make or change a reservation.", "made_reservations",
      body="reservation", first=43),
    R("POST", "slurm", "reservations", controller.post_reservations, "Make or change reservations.",
      "made_reservations", body="reservations", first=43),
    R("DELETE", "slurm", "reservation/{reservation_name}", writing.delete_reservation, "Delete a reservation.",
      first=42, since="25.05", source="slurm_delete_reservation()"),
    R("GET", "slurm", "resources/{job_id}", reading.resources, "What a job has on its nodes.", "resources", first=44),
    R("GET", "slurmdb", "jobs", database.jobs, "Jobs of the database.", "db_jobs", _DB_JOBS),
    R("GET", "slurmdb", "job/{job_id}", database.job, "A job of the database.", "db_jobs"),
    R("GET", "slurmdb", "qos", database.qos, "All QOS.", "qos"),
    R("GET", "slurmdb", "qos/{name}", database.qos, "A QOS.", "qos"),
    R("POST", "slurmdb", "qos", write.post_qos, "Make or change QOS.", body="db_qos"),
    R("DELETE", "slurmdb", "qos/{name}", write.delete_qos, "Delete a QOS.", "removed_qos"),
    R("GET", "slurmdb", "accounts", database.accounts, "All accounts.", "accounts", ("WithAssociations",
      "WithCoordinators", "DELETED", "NoUsersAreCoords", "UsersAreCoords", "description"), first=41),
    R("GET", "slurmdb", "accounts", database.accounts, "All accounts.", "accounts", _WITH, last=40),
    R("GET", "slurmdb", "account/{name}", database.accounts, "An account.", "accounts", _WITH),
    R("POST", "slurmdb", "accounts", write.post_accounts, "Make accounts, or change what is said of them.",
      body="db_accounts"),
    R("POST", "slurmdb", "accounts_association", write.post_accounts_association,
      "Make accounts with their associations.", "added_accounts", body="db_accounts_association"),
    R("DELETE", "slurmdb", "account/{name}", write.delete_account, "Delete an account and what is in it.",
      "removed_accounts"),
    R("GET", "slurmdb", "users", database.users, "All users.", "users", (*_WITH, "with_wckeys", "without_defaults")),
    R("GET", "slurmdb", "user/{name}", database.users, "A user.", "users", (*_WITH, "with_wckeys", "without_defaults")),
    R("POST", "slurmdb", "users", write.post_users, "Make users, or change what is said of them.", body="db_users"),
    R("POST", "slurmdb", "users_association", write.post_users_association, "Make users with associations.",
      "added_users", body="db_users_association"),
    R("DELETE", "slurmdb", "user/{name}", write.delete_user, "Delete a user.", "removed_users"),
    R("GET", "slurmdb", "associations", database.associations, "All associations.", "associations", _CHOOSE),
    R("GET", "slurmdb", "association", database.association, "The association that the query chooses.",
      "associations", _CHOOSE),
    R("POST", "slurmdb", "associations", write.post_associations, "Make or change associations.",
      body="db_associations"),
    R("DELETE", "slurmdb", "associations", write.delete_associations, "Delete the associations the query chooses.",
      "removed_associations", _CHOOSE),
    R("DELETE", "slurmdb", "association", write.delete_association, "Delete the association the query chooses.",
      "removed_associations", _CHOOSE),
    R("GET", "slurmdb", "clusters", database.clusters, "The cluster.", "clusters"),
    R("GET", "slurmdb", "cluster/{name}", database.clusters, "A cluster.", "clusters"),
    R("POST", "slurmdb", "clusters", write.post_clusters, "Name clusters that share resources.",
      body="db_clusters"),
    R("DELETE", "slurmdb", "cluster/{name}", write.delete_cluster, "The cluster itself is not deleted: refused.",
      "deleted_clusters"),
    R("GET", "slurmdb", "tres", database.tres, "All TRES.", "tres"),
    R("POST", "slurmdb", "tres", write.post_tres, "Refused, as by Slurm.", body="db_tres"),
    R("GET", "slurmdb", "wckeys", database.wckeys, "WCKeys.", "wckeys", ("cluster", "id", "name", "user")),
    R("GET", "slurmdb", "wckey/{id}", database.wckeys, "WCKeys of a name.", "wckeys"),
    R("POST", "slurmdb", "wckeys", write.post_wckeys, "Make WCKeys.", body="db_wckeys"),
    R("DELETE", "slurmdb", "wckey/{id}", write.delete_wckey, "Delete the WCKeys of a name.", "deleted_wckeys"),
    R("GET", "slurmdb", "instances", database.instances, "Instances of a cloud, of which there are none."),
    R("GET", "slurmdb", "instance", database.instances, "An instance of a cloud, of which there are none."),
    R("GET", "slurmdb", "ping", database.ping, "Whether the database answers.", "db_pings", first=42),
    R("GET", "slurmdb", "diag", database.diag, "Statistics of the database, for administrators.", "db_statistics"),
    R("GET", "slurmdb", "config", database.config, "Everything in the database, for administrators."),
    R("POST", "slurmdb", "config", write.post_config, "Name the cluster; the rest is read, and left, as by Slurm.",
      body="db_config"),
    R("POST", "util", "hostlist", controller.hostlist, "The short form of some names.", "hostlist", first=44,
      body="hostnames"),
    R("POST", "util", "hostnames", controller.hostnames, "All names of a short form.", "hostnames", first=44,
      body="hostlist"),
    R("GET", "slurm", "conf", reading.conf, "The configuration.", "slurm_conf", ("update_time",), first=45),
    R("POST", "slurm", "new/node", controller.create_node, "Make a node.", body="new_node", first=44,
      source="_create_node"),
    R("GET", "slurmdb", "conf", database.conf, "The configuration of the database.", "slurmdbd_conf", first=45),
    refused("POST", "slurmdb", "jobs", 44),
    refused("POST", "slurmdb", "job/{job_id}", 44),
)  # fmt: skip
_OWNER = {"slurm": "slurmctld", "slurmdb": "slurmdbd", "util": "util"}
Table = dict[str, list[tuple[re.Pattern[str], Route]]]


def served(release: str, versions: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the data_parser versions a release is asked in."""
    return tuple(sorted(v for v in data_parser.served(release) if versions is None or v in versions))


def of_version(version: int, plugins: frozenset[str], release: str) -> list[Route]:
    """Return the rows a version has; jobs of the database are refused in older ones."""
    rows = [
        r for r in ROUTES
        if r.first <= version <= r.last and _OWNER[r.plugin] in plugins and has(release, r.since, "")
    ]  # fmt: skip
    if version >= data_parser.OF_JOBS:
        return rows
    return [refused(r.method, r.plugin, r.path, r.first, r.last) if r.key == "db_jobs" else r for r in rows]


def table(release: str, plugins: frozenset[str], versions: Sequence[int] | None) -> dict[int, Table]:
    """Version -> method -> patterns, in the order in which they are tried."""
    found: dict[int, Table] = {}
    for version in served(release, versions):
        found[version] = {}
        for route in of_version(version, plugins, release):
            text = "".join(
                f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part)
                for part in re.split(r"(\{\w+\})", f"{route.plugin}|{route.path}")
            )
            found[version].setdefault(route.method, []).append((re.compile(text), route))
    return found


_PATH = re.compile(r"/(slurm|slurmdb|util)/v0\.0\.([0-9]{2})/(.*?)/?")


def find(tables: dict[int, Table], method: str, path: str) -> tuple[Route, int, dict[str, str]] | None:
    """Return the row of a path, its version and what is named in it."""
    match = _PATH.fullmatch(path)
    rows = tables.get(int(match[2]), {}).get(method, ()) if match else ()
    for pattern, route in rows:
        parts = pattern.fullmatch(f"{match[1]}|{match[3]}") if match else None
        if parts is not None:
            return route, int(match[2]) if match else 0, parts.groupdict()
    return None
