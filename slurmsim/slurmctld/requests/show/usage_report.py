"""Usage as slurmdbd sums it up hour by hour, for sreport: who had what, what stood idle, what reservations held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.account_tree import above
from slurmsim.slurmctld.base.private_data import association_filter, hides, refuse, visible_associations
from slurmsim.slurmctld.database import association_records as records
from slurmsim.slurmctld.database.accounting_storage import DISABLED
from slurmsim.slurmctld.database.association_lists import all_tres, whole_tres
from slurmsim.slurmctld.database.hourly_usage import HOUR, HourlyUsage
from slurmsim.slurmctld.database.usage_rows import Run, runs

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.past_rows import PastReservation
    from slurmsim.slurmctld.base.people import Person

CHANGES: frozenset[str] = frozenset()
Sums = dict[str, int]
Pair = tuple[str, str]
Parts = dict[str, Callable[["LiveCluster", dict[str, Any], int, int], list[Any]]]


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    return {"usage": lambda arguments, person: usage(cluster, arguments, person)}


def usage(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """Return what is known of the whole hours between ``start`` and ``end``.

    Returns
    -------
    dict
        ``name`` of the cluster; ``tres``: all names in order; ``total``: seconds of each TRES in the hours there
        were, empty if there were none; and the rows of what was asked for (``kind``).
    """
    if not cluster.database.exists or not cluster.storage.enabled:
        raise Refusal(DISABLED)
    if str(arguments.get("kind")) == "reservations":
        refuse(cluster, "reservations", person, stored=True)
    start, end, kind = int(arguments["start"]), int(arguments["end"]), str(arguments.get("kind") or "associations")
    first = max(start, cluster.network.start_time, cluster.storage.purges.usage_since())
    conf = cluster.spec.database or {}
    last = 0 if conf.get("DisableRollups") else min(end, cluster.now // HOUR * HOUR)
    counts = whole_tres(cluster)
    found: dict[str, Any] = {"name": cluster.spec.name, "tres": [name for _, _, name in all_tres(cluster)]}
    found["total"] = {n: c * (last - first) for n, c in counts.items() if n != "node"} if last > first else {}
    if kind in ("jobs", "reservations") or last > first:
        of_period = (start, end) if kind in ("jobs", "reservations") else (first, last)
        if hides(cluster, "jobs", person, stored=True):
            arguments = {**arguments, "sees": association_filter(cluster, person)}
        found[kind] = _seen(cluster, arguments, kind, _PARTS[kind](cluster, arguments, *of_period), person)
    else:
        found[kind] = []
    if kind == "jobs":
        found["accounts"] = _accounts(cluster, person)
    return found


def _accounts(cluster: LiveCluster, person: Person) -> list[list[str | None]]:
    """Return the accounts that `person` sees, each with the one it is in if that is seen as well."""
    above, sees = _above(cluster), _filter(cluster, person)
    places = [(name, user) for name, user in _places(cluster) if sees is None or sees(name, user)]
    names = list(dict.fromkeys(name for name, user in places if sees is not None or not user))
    return [[name, parent if (parent := above.get(name)) in names else None] for name in names]


def _filter(cluster: LiveCluster, person: Person) -> Callable[[str, str | None], bool] | None:
    """Return what says of an account and a user if `person` sees what they used; None where all is seen."""
    hidden = hides(cluster, "users", person, stored=True) or hides(cluster, "usage", person, stored=True)
    if not hidden:
        return None
    pairs = {key[:2] for key in visible_associations(cluster, person)}
    return lambda account, user: (account, user or "") in pairs


def _seen(cluster: LiveCluster, arguments: dict[str, Any], kind: str, rows: list[Any], person: Person) -> list[Any]:
    """Return the rows of usage that `person` sees; those asked for `by_user` are then the person's own."""
    sees = _filter(cluster, person)
    if sees is None or kind not in ("associations", "qos", "wckeys"):
        return rows
    if kind == "qos":
        return [row for row in rows if sees(row[0], None)]
    own = kind == "wckeys" or bool(arguments.get("by_user"))
    return [row for row in rows if (row[1] == person.name if own else sees(row[0], row[1]))]


def _cluster(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows of a TRES each: its name, its count, and seconds by kind."""
    history = cluster.storage.history
    reserved = [row for row in history.past_reservations() if row.start < end and row.end >= start]
    found = HourlyUsage(whole_tres(cluster), start, end)
    found.add_reservations(reserved)
    found.add_outages(history.past_outages(), _by_node(cluster), reserved)
    found.add_runs(runs(cluster, {"start": start, "end": end}), reserved, cluster.now)
    return [[name, *sums] for name, sums in found.sums().items()]


def _by_node(cluster: LiveCluster) -> dict[str, dict[str, int]]:
    state = cluster.controller.state
    weighted = [p for p in state.partitions if p.spec.tres_billing_weights]
    return {name: state.billing.of_node(i, weighted) for i, name in enumerate(state.table.names)}


def _associations(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows ``[account, user, the account it is in, place, TRES seconds]`` of those that used anything, in the tree."""
    sums = _sums(cluster, start, end, lambda run: (run.account, run.user), lambda pair: pair)
    whole = _with_accounts(cluster, sums, users=True)
    places, above = _places(cluster), _above(cluster)
    return [
        [account, user or None, account if user else above.get(account), places[account, user], used]
        for account, user in places if (used := whole.get((account, user)))
    ]  # fmt: skip


def _by_qos(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows ``[account, QOS, the account it is in, number of the QOS, TRES seconds]``, accounts in the tree."""
    db = cluster.database

    def default(pair: Pair) -> Pair:
        return pair[0], str(records.association(db, (*pair, ""))["def_qos"] or "normal")

    whole = _with_accounts(
        cluster, _sums(cluster, start, end, lambda run: (run.account, run.qos), default), users=False
    )
    above, numbers = _above(cluster), db.qos_ids
    return [
        [account, qos, above.get(account), numbers.get(qos, 0), whole[account, qos]]
        for account, user in _places(cluster) if not user
        for qos in sorted({name for at, name in whole if at == account}, key=lambda name: numbers.get(name, 0))
    ]  # fmt: skip


def _sums(
    cluster: LiveCluster, start: int, end: int, key: Callable[[Run], Pair], share: Callable[[Pair], Pair]
) -> dict[Pair, Sums]:
    """Return what runs used by their `key`, and what they left of reservations by the `share` of associations."""
    sums: dict[Pair, Sums] = defaultdict(lambda: defaultdict(int))
    inside: dict[str, list[Run]] = defaultdict(list)
    for run in runs(cluster, {"start": start, "end": end}):
        _add(sums[key(run)], run, run.within(start, end, cluster.now))
        if run.reservation:
            inside[run.reservation].append(run)
    for row in cluster.storage.history.past_reservations():
        mine = [sums[share(pair)] for pair in entitled(cluster, row)]
        _share_out(row, inside[row.name], mine, (start, end), cluster.now)
    return {pair: used for pair, used in sums.items() if used}


def _with_accounts(cluster: LiveCluster, own: dict[Pair, Sums], *, users: bool) -> dict[Pair, Sums]:
    """Return the sums of `own` and those of every account above; keys have `users` or QOS beside the account."""
    above = _above(cluster)
    found: dict[Pair, Sums] = defaultdict(lambda: defaultdict(int))
    for (account, second), used in own.items():
        keys = [(account, second)]
        at: str | None = account if users and second else above.get(account)
        while at is not None:
            keys.append((at, "" if users else second))
            at = above.get(at)
        for key in keys:
            for name, count in used.items():
                found[key][name] += count
    return {key: dict(used) for key, used in found.items()}


def _above(cluster: LiveCluster) -> dict[str, str | None]:
    db = cluster.database
    parents = {key[0]: above(db, key) for key in db.draft.associations if not key[1]}
    return {account: parent and parent[0] for account, parent in parents.items()}


def _places(cluster: LiveCluster) -> dict[Pair, int]:
    """Return accounts and users down the tree, each with its place in the database."""
    db = cluster.database
    spans = records.spans(db)
    keys = [key for key in records.in_order(db) if not key[2]]
    by_name = since(cluster.release, "associations_by_name")
    return {(key[0], key[1]): at if by_name else spans[key][0] for at, key in enumerate(keys)}


def _add(sums: Sums, run: Run, seconds: int) -> None:
    for name in run.tres if seconds else ():
        sums[name] += run.used(name, seconds)


def _share_out(row: PastReservation, inside: list[Run], mine: list[Sums], period: tuple[int, int], now: int) -> None:
    """Add what jobs `inside` left of a reservation, hour by hour, to the sums of those it is for, in equal parts.

    A job that runs in it counts as if it had all of it (as_mysql_hourly_rollup).
    """
    first, end = max(period[0], row.start), min(period[1], row.end)
    while mine and first < end:
        last = min(end, (first // HOUR + 1) * HOUR)
        for name, count in row.tres.items():
            busy = sum(run.within(first, last, now) for run in inside if name in run.tres)
            idle = count * (last - first - busy)
            for sums in mine if idle > 0 else ():
                sums[name] += idle // len(mine)
        first = last


def entitled(cluster: LiveCluster, row: PastReservation) -> list[tuple[str, str]]:
    """Return the associations a reservation is for, the newest first."""
    db = cluster.database
    keys = [
        key for key in db.draft.associations
        if not key[2] and (key[1] in row.users if key[1] else key[0] in row.accounts)
        and (not (row.users and row.accounts) or bool(key[1]))
    ]  # fmt: skip
    return [(key[0], key[1]) for key in sorted(keys, key=lambda key: -db.ids.get(key, 0))]


def _wckeys(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows ``[WCKey, user, TRES seconds]``, by name."""
    sums: dict[tuple[str, str], Sums] = defaultdict(lambda: defaultdict(int))
    conf = cluster.spec.options if cluster.spec.database is None else cluster.spec.database
    if not conf.get("TrackWCKey"):
        return []
    for run in runs(cluster, {"start": start, "end": end}):
        seconds = run.within(start, end, cluster.now)
        if seconds:
            _add(sums[run.wckey.removeprefix("*"), run.user], run, seconds)
    return [[name, user, dict(used)] for (name, user), used in sorted(sums.items())]


def _jobs(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows ``[account, accounts above it, WCKey, TRES, runs, seconds]`` of jobs that were asked for, alike in one."""
    cond = {name: value for name, value in (arguments.get("cond") or {}).items() if value}
    above = _above(cluster)
    found: dict[tuple[Any, ...], list[Any]] = {}
    sees = arguments.get("sees")
    for run in runs(cluster, {**cond, "start": start, "end": end}):
        seconds = max(0, run.within(start, end, end) - run.suspended)
        if seconds and (sees is None or sees(run.account, run.user)):
            path = [run.account]
            while (at := above.get(path[-1])) is not None:
                path.append(at)
            key = (run.account, run.wckey, tuple(run.tres.items()))
            row = found.setdefault(key, [run.account, path, run.wckey, run.tres, 0, 0])
            row[4] += 1
            row[5] += seconds
    return list(found.values())


def _reservations(cluster: LiveCluster, arguments: dict[str, Any], start: int, end: int) -> list[Any]:
    """Rows of the reservations there were, with the TRES seconds of the jobs in them."""
    there = [r for r in cluster.storage.purges.reservations() if r.start < end and r.end >= start]
    used: dict[tuple[int, int], Sums] = defaultdict(lambda: defaultdict(int))
    if there:
        period = {"start": min(r.start for r in there), "end": max(r.end for r in there)}
        for run in runs(cluster, period):
            for r in there if run.reservation else ():
                if r.name == run.reservation:
                    _add(used[r.number, r.start], run, run.within(r.start, r.end, cluster.now))
    return [
        {"id": r.number, "name": r.name, "start": r.start, "end": r.end, "flags": r.flags, "nodes": r.nodes,
         "tres": r.tres, "used": dict(used[r.number, r.start]),
         "associations": [cluster.database.ids.get((*key, ""), 0) for key in entitled(cluster, r)]}
        for r in sorted(there, key=lambda r: (r.start, r.name))
    ]  # fmt: skip


_PARTS: Parts = {
    "cluster": _cluster, "associations": _associations, "qos": _by_qos, "wckeys": _wckeys, "jobs": _jobs,
    "reservations": _reservations,
}  # fmt: skip
