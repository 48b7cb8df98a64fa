"""Requests that only look: jobs, nodes, partitions, reservations, users, the configuration.

A client names the fields it wants; the answer has a column for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.numerals import is_number
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.slurmctld.fields.job_fields import FIELDS as JOB_FIELDS
from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS, PARTITION_FIELDS
from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS
from slurmsim.slurmctld.server.people import Person

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.live_cluster import LiveCluster

CHANGES: frozenset[str] = frozenset()


def calls(engine: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """The requests by name."""
    q = _Queries(engine)
    return {
        "jobs": q.jobs, "nodes": q.nodes, "partitions": q.partitions, "users": q.users, "config": q.config,
        "groups": q.groups,
        "reservations": q.reservations, "ping": q.ping, "hello": q.ping,
    }  # fmt: skip


class _Queries:
    def __init__(self, engine: LiveCluster) -> None:
        self.e = engine

    def jobs(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Columns of the asked fields; with ``job_id`` one job (all rows of its array)."""
        rows = list(self.e.rows())
        if arguments.get("job_id") is not None:
            wanted = {id(live) for live in self.e.find(str(arguments["job_id"]))}
            rows = [row for row in rows if id(row.job) in wanted]
            if not rows:
                raise Refusal(INVALID_JOB)
            rows.sort(key=lambda row: (not row.tasks, -row.job.order))  # an array's own record, then the newest task
        elif not arguments.get("show_all", True) and not self.e.is_operator(person):
            seen = {p.index for p in self.e.controller.state.partitions if self.e.visible(p, person)}
            rows = [row for row in rows if any(p.index in seen for p in row.core.partitions)]
        if arguments.get("user_id") is not None:
            rows = [row for row in rows if row.job.person.uid == arguments["user_id"]]
        return {"now": self.e.now, "n": len(rows), "columns": self._columns(JOB_FIELDS, rows, arguments["fields"])}

    def nodes(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        rows = list(range(self.e.controller.state.table.n))
        return {"now": self.e.now, "n": len(rows), "columns": self._columns(NODE_FIELDS, rows, arguments["fields"])}

    def partitions(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        e, state = self.e, self.e.controller.state.cluster
        free = bool(arguments.get("show_all")) or e.is_operator(person)
        rows = [
            p for p in e.controller.state.partitions if p.index not in state.gone and (free or e.visible(p, person))
        ]
        return {"now": e.now, "n": len(rows), "columns": self._columns(PARTITION_FIELDS, rows, arguments["fields"])}

    def users(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """The ids of users by name; None for those nobody knows."""
        names = [str(name) for name in arguments["names"]]
        found = [self.e.people.by_uid(int(n)) if is_number(n) else self.e.people.known(n) for n in names]
        return {"uids": [None if one is None else one.uid for one in found]}

    def groups(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """The ids of groups by name or number; None for those nobody knows."""
        return {"gids": [self.e.people.group(str(name)) for name in arguments["names"]]}

    def config(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Options of slurm.conf as text."""
        values = {}
        for name in arguments["names"]:
            value = self.e.cluster.options.get(name)
            values[name] = ",".join(map(str, value)) if isinstance(value, tuple) else value
        return {"values": values}

    def reservations(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        rows = list(self.e.controller.state.reserved.all)
        columns = self._columns(RESERVATION_FIELDS, rows, arguments["fields"])
        return {"now": self.e.now, "n": len(rows), "columns": columns}

    def ping(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        return {
            "now": self.e.now, "cluster": self.e.cluster.name, "user": person.name, "uid": person.uid,
            "slurm_version": self.e.release, "version": self.e.version, "host": self.e.conf.host,
            "operator": self.e.is_operator(person), "accounting": self.e.database.exists,
        }  # fmt: skip

    def _columns(
        self, table: Mapping[str, Callable[[Any, LiveCluster], Any]], rows: Sequence[Any], fields: Iterable[str]
    ) -> dict[str, list[Any]]:
        """The asked fields of all rows."""
        columns = {}
        for name in fields:
            get = table.get(name)
            columns[name] = [None] * len(rows) if get is None else [get(row, self.e) for row in rows]
        return columns
