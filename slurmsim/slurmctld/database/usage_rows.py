"""Runs of jobs as slurmdbd sums them up: who had what from when to when, and how long it was waited for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmsim.hostlist import expand
from slurmsim.json_text import loads
from slurmsim.slurmctld.database.record_query import conditions, nodes_of, on_nodes, sql

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

_COLUMNS = (
    "account, user, qos, json_extract(rest, '$.asked.wckey'), tres_alloc, cpus_req, json_extract(rest, '$.resv_name'), "
    "time_eligible, time_start, time_end, time_suspended, nodelist"
)


class Run(NamedTuple):
    """One run of a job; times are 0 where there is none."""

    account: str
    user: str
    qos: str
    wckey: str
    tres: dict[str, int]
    req_cpus: int
    reservation: str
    eligible: int
    start: int
    end: int
    suspended: int

    def within(self, start: int, end: int, now: int) -> int:
        """Return the seconds between `start` and `end` for which it held its TRES."""
        if not self.start:
            return 0
        return max(0, min(self.end or now, end) - max(self.start, start))

    def used(self, name: str, seconds: int) -> int:
        """Return how much of a TRES it used in so many seconds; CPUs of a suspended job are idle."""
        if name == "cpu":
            seconds = max(0, seconds - self.suspended)
        return self.tres[name] * seconds


def runs(cluster: LiveCluster, cond: Mapping[str, Any]) -> Iterator[Run]:
    """Yield the runs that were eligible between ``start`` and ``end`` of `cond` and meet the rest of it."""
    store, tres = cluster.storage.store, _Tres()
    narrowed, nodes = sql(cond), nodes_of(cond)
    wckeys = {str(key).lower() for key in cond.get("wckeys") or ()}
    statement = f"SELECT {_COLUMNS} FROM job WHERE {narrowed.text} ORDER BY row"
    for account, user, qos, wckey, held, cpus, resv, *times, on in store.execute(statement, narrowed.values):
        if not times[0] or (wckeys and str(wckey or "").lower() not in wckeys):
            continue
        if nodes and nodes.isdisjoint(expand(on) if on and times[1] else ()):
            continue
        yield Run(account, user, qos, wckey or "", tres[held], cpus, resv or "", *(time or 0 for time in times))
    there = on_nodes(cond)
    wanted = conditions(cond) + ([] if there is None else [there])
    living = (record for row in cluster.job_table.rows() for record in cluster.storage.runs(row))
    for record in chain(store.waiting(), living):
        if all(test(record) for test in wanted):
            yield Run(
                record.account, record.user, record.qos, str(record.asked.get("wckey") or ""), _held(record.tres_alloc),
                record.req_cpus, record.resv_name or "", record.eligible or 0, record.start, record.end,
                record.suspended,
            )  # fmt: skip


class _Tres(dict[str, dict[str, int]]):
    """Texts of TRES that were read; energy is no amount that is held."""

    def __missing__(self, text: str) -> dict[str, int]:
        found = self[text] = _held(loads(text))
        return found


def _held(tres: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in tres.items() if name != "energy"}
