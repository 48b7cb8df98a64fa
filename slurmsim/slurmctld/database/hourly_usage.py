"""The cluster's own usage, hour by hour: allocated, down, planned down, idle, planned and over-committed.

Mirrors the sums of as_mysql_hourly_rollup (22.05): whatever does not fit into an hour is cut there, so the hours are
worked out one by one. Nodes are not counted, as jobs share them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from slurmsim.hostlist import expand
from slurmsim.slurmctld.base.past_rows import Outage, PastReservation
from slurmsim.slurmctld.database.usage_rows import Run

HOUR = 3600
ALLOCATED, DOWN, PLANNED_DOWN, IDLE, OVER, PLANNED = range(6)
Hours = dict[str, dict[int, list[int]]]


class HourlyUsage:
    """Usage between two instants.

    Parameters
    ----------
    counts
        How many of each TRES the cluster has.
    start, end
        The first second, and the end of the last whole hour.
    """

    def __init__(self, counts: Mapping[str, int], start: int, end: int) -> None:
        self._counts = {name: count for name, count in counts.items() if name != "node"}
        self._start, self._end = start, end
        self._hours: Hours = {name: defaultdict(lambda: [0] * 6) for name in self._counts}

    def add_reservations(self, rows: Iterable[PastReservation]) -> None:
        """Count reservations as allocated, maintenance as planned down; not those that let other jobs run on."""
        for row in rows:
            if "IGNORE_JOBS" not in row.flags.split(","):
                kind = PLANNED_DOWN if "MAINT" in row.flags.split(",") else ALLOCATED
                for name, count in row.tres.items():
                    self._add(name, kind, count, row.start, row.end)

    def add_outages(
        self, rows: Iterable[Outage], tres: Mapping[str, Mapping[str, int]], reserved: Iterable[PastReservation]
    ) -> None:
        """Count nodes that were out of service, as planned down where they were in maintenance."""
        covers = [(row, set(expand(row.nodes) if row.nodes else ())) for row in reserved]
        for row in rows:
            end = row.end or self._end
            spans = [(max(row.start, r.start), min(end, r.end), r) for r, nodes in covers if row.node in nodes]
            for first, last, r in spans:
                kind = PLANNED_DOWN if "MAINT" in r.flags.split(",") else DOWN
                for name, count in tres[row.node].items():
                    self._add(name, kind, count, first, last)
            for first, last in _outside(row.start, end, [(a, b) for a, b, _ in spans]):
                for name, count in tres[row.node].items():
                    self._add(name, DOWN, count, first, last)

    def add_runs(self, runs: Iterable[Run], reservations: Iterable[PastReservation], now: int) -> None:
        """Count what jobs held, and the CPUs that were waited for; jobs in reservations are counted with these."""
        known: dict[str, list[PastReservation]] = defaultdict(list)
        for row in reservations:
            known[row.name].append(row)
        for run in runs:
            end = run.end or now
            if run.reservation:
                for row in known[run.reservation]:
                    if run.start and "IGNORE_JOBS" in row.flags.split(","):
                        self._hold(run, max(run.start, row.start), min(end, row.end))
                continue
            if run.start:
                self._hold(run, run.start, end)
            if run.eligible:
                self._add("cpu", PLANNED, run.req_cpus, run.eligible, run.start or end)

    def _hold(self, run: Run, start: int, end: int) -> None:
        for name, count in run.tres.items():
            self._add(name, ALLOCATED, count, start, end - (run.suspended if name == "cpu" else 0))

    def _add(self, name: str, kind: int, count: int, start: int, end: int) -> None:
        hours = self._hours.get(name)
        start, end = max(start, self._start), min(end, self._end)
        if hours is None or not count:
            return
        while start < end:
            hour = start // HOUR
            until = min(end, (hour + 1) * HOUR)
            hours[hour][kind] += count * (until - start)
            start = until

    def sums(self) -> dict[str, list[int]]:
        """Return for each TRES its count, and the seconds of each kind in the order of the constants above."""
        return {name: [count, *self._sum(name, count)] for name, count in self._counts.items()}

    def _sum(self, name: str, count: int) -> list[int]:
        found = [0] * 6
        seen = 0
        for hour, spent in self._hours[name].items():
            total = count * (min(self._end, (hour + 1) * HOUR) - max(self._start, hour * HOUR))
            seen += total
            for kind, seconds in enumerate(_fitted(spent, total)):
                found[kind] += seconds
        found[IDLE] += count * (self._end - self._start) - seen
        return found


def _outside(start: int, end: int, spans: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Yield what `spans` leave of the time between `start` and `end`."""
    for first, last in sorted(spans):
        if first > start:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


def _fitted(spent: list[int], total: int) -> list[int]:
    """Cut what does not fit into an hour of `total` TRES seconds (_setup_cluster_tres_usage)."""
    allocated, down, planned_down, _, _, planned = spent
    if total:
        allocated = min(allocated, total)
        down = min(down, total - allocated)
        planned_down = min(planned_down, total - allocated - down)
    idle = total - allocated - down - planned_down - planned
    over = max(0, -idle)
    return [allocated, down, planned_down, max(0, idle), over, max(0, planned - over)]
