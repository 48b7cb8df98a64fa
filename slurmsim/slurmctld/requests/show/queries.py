"""Requests that only look: jobs, nodes, partitions, reservations, users, the configuration.

A client names the fields it wants; the answer has a column for each, or, asked by ``alike``, one value for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.partition import Partition
from slurmsim.lua import CLI_FILE, names_lua
from slurmsim.numerals import is_number
from slurmsim.protocol import INVALID_JOB, Refusal, alike
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.private_data import hides, job_filter, refuse
from slurmsim.slurmctld.fields.job_fields import FIELDS as JOB_FIELDS
from slurmsim.slurmctld.fields.last_sched_eval import last_walk
from slurmsim.slurmctld.fields.node_fields import (
    NODE_FIELDS,
    PARTITION_FIELDS,
    count_cpus,
    is_future,
    is_gone,
    is_hidden_cloud,
)
from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS, is_visible

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import Row

CHANGES: frozenset[str] = frozenset()
_ADDRESS = frozenset({"name", "node_addr", "port"})  # slurmctld tells everyone where nodes are (scontrol getaddrs)


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the requests by name."""
    q = _Queries(cluster)
    return {
        "jobs": q.jobs, "nodes": q.nodes, "partitions": q.partitions, "users": q.users, "config": q.config,
        "groups": q.groups,
        "reservations": q.reservations, "ping": q.ping, "hello": q.ping,
    }  # fmt: skip


class _Queries:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def jobs(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Columns of the asked fields; with ``job_id`` one job (all rows of its array)."""
        rows = list(self.cluster.job_table.rows())
        sees = job_filter(self.cluster, person)
        if sees is not None:
            rows = [row for row in rows if sees(row.job.person.uid, row.core.account)]
        if arguments.get("job_id") is not None:
            found = het_jobs.whole(self.cluster.job_table, self.cluster.job_table.find(str(arguments["job_id"])))
            wanted = {id(live) for live in found}
            rows = [row for row in rows if id(row.job) in wanted]
            if not rows:
                raise Refusal(INVALID_JOB)
            if rows[0].core.sub.het is None:
                rows.sort(key=lambda row: (not row.tasks, -row.job.order))  # an array's own record, the newest task …
        elif not arguments.get("show_all", True) and not self.cluster.database.is_operator(person):
            seen = {p.index for p in self.cluster.controller.state.partitions if _visible(self.cluster, p, person)}
            rows = [row for row in rows if any(p.index in seen for p in row.core.partitions)]
        if arguments.get("late"):
            rows = self._told(rows, arguments)
        if arguments.get("user_id") is not None:
            rows = [row for row in rows if row.job.person.uid == arguments["user_id"]]
        answer = self._table(JOB_FIELDS, rows, arguments) | {"last_backfill": last_walk(self.cluster.controller)}
        if hides(self.cluster, "partitions", person):
            answer["partitions_denied"] = True  # squeue asks for them as well
        return answer

    def _told(self, rows: list[Row], arguments: dict[str, Any]) -> list[Row]:
        """Those submitted a while ago: who is behind knows no others. Raises Refusal where one was named."""
        seen = self.cluster.now - arguments["late"]
        rows = [row for row in rows if row.core.first_submit <= seen]
        if arguments.get("job_id") is not None and not rows:
            raise Refusal(INVALID_JOB)
        return rows

    def nodes(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """All nodes but those that are put away or hidden; without ``show_all`` none of hidden partitions either.

        With `future` those that are put away, too.

        A client that asks for a ``single`` one is told of the CPUs that were counted last: slurmctld counts them
        where all nodes are asked for (select_g_select_nodeinfo_set_all).
        """
        cluster, state = self.cluster, self.cluster.controller.state
        if set(arguments["fields"]) != _ADDRESS:
            refuse(cluster, "nodes", person)
        away = is_gone if arguments.get("future") else is_future
        rows = [i for i in range(state.table.n) if not away(cluster, i) and not is_hidden_cloud(cluster, i)]
        if not arguments.get("show_all", True) and not cluster.database.is_operator(person):
            there = [p for p in state.partitions if p.index not in state.cluster.gone]
            hidden = [p.mask for p in there if not _visible(cluster, p, person)]
            seen = [p.mask for p in there if _visible(cluster, p, person)]
            # a node of no partition is hidden by none
            rows = [i for i in rows if any(mask >> i & 1 for mask in seen) or not any(m >> i & 1 for m in hidden)]
        answer = self._table(NODE_FIELDS, rows, arguments)
        if arguments.get("single"):
            self._as_told(answer["columns"], rows)
        else:
            count_cpus(cluster)
        return answer

    def _as_told(self, columns: dict[str, list[Any]], rows: Sequence[int]) -> None:
        """Show the CPUs that were counted last, and leave it to the client to see which nodes are mixed."""
        told = self.cluster.told_cpus
        if "alloc_cpus" in columns:
            columns["alloc_cpus"] = [told[i] if i < len(told) else 0 for i in rows]
            columns["state"] = ["ALLOCATED" if state == "MIXED" else state for state in columns["state"]]

    def partitions(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        cluster, state = self.cluster, self.cluster.controller.state
        refuse(cluster, "partitions", person)
        free = bool(arguments.get("show_all")) or cluster.database.is_operator(person)
        there = [p for p in state.partitions if p.index not in state.cluster.gone]
        return self._table(PARTITION_FIELDS, [p for p in there if free or _visible(cluster, p, person)], arguments)

    def users(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Return the ids of users by name, and their homes; None for unknown users."""
        names = [str(name) for name in arguments["names"]]
        found = [self.cluster.people.by_uid(int(n)) if is_number(n) else self.cluster.people.known(n) for n in names]
        return {
            "uids": [None if one is None else one.uid for one in found],
            "homes": [None if one is None else one.home for one in found],
            "names": [None if one is None else one.name for one in found],
        }

    def groups(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Return the ids of groups by name or number; None for unknown groups."""
        return {"gids": [self.cluster.people.group(str(name)) for name in arguments["names"]]}

    def config(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Options of slurm.conf as text; ``slurmdbd.conf`` stands for that file's, typed."""
        values: dict[str, Any] = {}
        for name in arguments["names"]:
            if name == "slurmdbd.conf":
                values[name] = dict(self.cluster.spec.database or {})
                continue
            value = self.cluster.spec.options.get(name)
            values[name] = ",".join(map(str, value)) if isinstance(value, tuple) else value
        return {"values": values}

    def reservations(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        rows = [r for r in self.cluster.controller.state.reserved.all if is_visible(r, self.cluster, person)]
        return self._table(RESERVATION_FIELDS, rows, arguments)

    def ping(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        return {
            "now": self.cluster.now, "cluster": self.cluster.spec.name, "user": person.name, "uid": person.uid,
            "slurm_version": self.cluster.release, "version": self.cluster.version, "host": self.cluster.conf.host,
            "operator": self.cluster.database.is_operator(person),
            "administrator": self.cluster.database.is_administrator(person), "accounting": self.cluster.database.exists,
            "flavour": self.cluster.flavour, **self._cli_filter(),
        }  # fmt: skip

    def _cli_filter(self) -> dict[str, str]:
        """Return where the script of CliFilterPlugins is: beside slurm.conf."""
        if not names_lua(self.cluster.spec.options.get("CliFilterPlugins"), "cli_filter"):
            return {}
        return {"cli_filter": str(Path(self.cluster.conf_path).resolve().with_name(CLI_FILE))}

    def _table(
        self, table: Mapping[str, Callable[[Any, LiveCluster], Any]], rows: Sequence[Any], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the answer: the asked fields of all rows."""
        columns = {}
        for name in arguments["fields"]:
            get = table.get(name)
            columns[name] = [None] * len(rows) if get is None else [get(row, self.cluster) for row in rows]
        answer = {"now": self.cluster.now, "n": len(rows), "columns": columns}
        if arguments.get("alike") and rows:
            answer["alike"] = _taken_out(columns)
        return answer


def _taken_out(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Take the columns out that say the same of all rows: most of what there is to say of a long queue."""
    found = {name: values[0] for name, values in columns.items() if alike(values)}
    for name in found:
        del columns[name]
    return found


def _visible(cluster: LiveCluster, partition: Partition, person: Person) -> bool:
    """Return True if `person` sees the partition without asking for all."""
    allowed = partition.spec.allow_groups
    hidden = cluster.partition_texts.get(partition.name, {}).get("hidden")
    if hidden is None:
        hidden = cluster.conf.partition(partition.name, "hidden").upper() == "YES"
    return not hidden and (not allowed or person.group in allowed)
