"""Usage as slurmdbd sums it up hour by hour, for sreport: what each user and account had, and what stood idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from slurmsim.json_text import loads
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.database.accounting_storage import DISABLED
from slurmsim.slurmctld.database.association_lists import cluster_tres

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

CHANGES: frozenset[str] = frozenset()
_HOUR = 3600


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the request for it."""
    return {"usage": lambda arguments, person: usage(cluster, int(arguments["start"]), int(arguments["end"]), person)}


def usage(cluster: LiveCluster, start: int, end: int, person: Person) -> dict[str, Any]:
    """Return what is known of the whole hours between `start` and `end`.

    Returns
    -------
    dict
        ``cluster``: TRES seconds by name as ``[allocated, down, idle, planned, total]``; ``associations``:
        ``[account, user or None, TRES seconds]``; ``jobs``: ``[account, TRES, seconds]``, those alike in one.
    """
    if not cluster.database.exists or not cluster.storage.enabled:
        raise Refusal(DISABLED)
    begun = cluster.network.start_time // _HOUR * _HOUR
    start, end = max(start, begun), min(end, cluster.now // _HOUR * _HOUR)
    found: dict[str, Any] = {"name": cluster.spec.name, "cluster": {}, "associations": [], "jobs": []}
    if end <= start:
        return found
    shares: dict[tuple[str, str | None], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    above: dict[str, list[str]] = {}
    planned = 0
    for account, user, tres, seconds, waited in _sums(cluster, start, end):
        planned += waited
        if not seconds:
            continue
        found["jobs"].append([account, tres, seconds])
        if account not in above:
            above[account] = _above(cluster, account)
        for key in [(account, user), *((name, None) for name in above[account])]:
            for name, count in tres.items():
                shares[key][name] += count * seconds
    found["associations"] = [[account, user, dict(tres)] for (account, user), tres in shares.items()]
    found["cluster"] = _cluster(cluster, start, end, dict(shares.get(("root", None), {})), planned)
    return found


Sum = tuple[str, str, dict[str, int], int, int]


def _sums(cluster: LiveCluster, start: int, end: int) -> Iterator[Sum]:
    """Account, user, TRES, seconds for which these were held, and CPU seconds that were waited for: of runs alike."""
    store = cluster.storage.store
    until = "CASE WHEN time_end <> 0 THEN time_end ELSE :now END"
    began = f"CASE WHEN time_start <> 0 THEN time_start ELSE {until} END"
    ran = f"CASE WHEN time_start <> 0 THEN max(0, min({until}, :end) - max(time_start, :start)) ELSE 0 END"
    waited = (f"CASE WHEN time_eligible <> 0 THEN max(0, min({began}, :end) - max(time_eligible, :start)) * cpus_req "
              "ELSE 0 END")  # fmt: skip
    alike = store.execute(
        f"SELECT account, user, tres_alloc, sum({ran}), sum({waited}) FROM job "
        "WHERE time_end = 0 OR time_end > :start GROUP BY account, user, tres_alloc "
        "ORDER BY min(CASE WHEN time_start <> 0 AND time_start < :end THEN row END)",
        {"now": cluster.now, "start": start, "end": end},
    )
    for account, user, tres, seconds, waiting in alike:
        yield account, user, _held(loads(tres)), seconds, waiting
    living = (record for row in cluster.job_table.rows() for record in cluster.storage.runs(row))
    for row in chain(store.waiting(), living):
        seconds = _overlap(row.start, row.end or cluster.now, start, end) if row.start else 0
        waits = _overlap(row.eligible, row.start or row.end or cluster.now, start, end) if row.eligible else 0
        yield row.account, row.user, _held(row.tres_alloc), seconds, waits * row.req_cpus


def _held(tres: dict[str, int]) -> dict[str, int]:
    """Return what a run had for as long as it lasted: energy is used up."""
    return {name: count for name, count in tres.items() if name != "energy"}


def _overlap(first: int, last: int, start: int, end: int) -> int:
    return max(0, min(last, end) - max(first, start))


def _above(cluster: LiveCluster, account: str) -> list[str]:
    """Return the account and those it is in, up to root."""
    tree, found = cluster.controller.state.tree, [account]
    parents = {b.spec.account: b.spec.parent for b in tree.branches if not b.spec.user} if tree is not None else {}
    while (parent := parents.get(found[-1])) and parent not in found:
        found.append(parent)
    return found if found[-1] == "root" else [*found, "root"]


def _cluster(cluster: LiveCluster, start: int, end: int, used: dict[str, int], planned: int) -> dict[str, list[int]]:
    seconds = end - start
    counts = {name: count for name, count in cluster_tres(cluster).items() if name in ("cpu", "mem", "node", "billing")}
    out = {}
    for name, count in counts.items():
        total = count * seconds
        busy = min(used.get(name, 0), total)
        waiting = min(planned, total - busy) if name == "cpu" else 0
        out[name] = [busy, 0, total - busy - waiting, waiting, total]
    return out
