"""Rows that the database has purged: by age, as slurmdbd.conf says, or by ``sacctmgr archive dump``.

What is purged is told by spans of time: a row is gone if its end lies in a span of its kind. The rows themselves stay
in the file of ended jobs, as a daemon that starts again makes them anew; so ``archive load`` brings a span back, and
an archive holds the span and a count of its rows. Each hour, day or month slurmdbd purges what is older than its age
in that unit; nothing is purged between, so the span that goes by itself is a function of the clock.

Mirrors archive_setup_end_time and as_mysql_archive.c (22.05 to 26.05).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import DENIED, Refusal
from slurmsim.purge_age import ARCHIVE, DAYS, HOURS, KINDS, MONTHS, UNITS
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.job_record import JobRecord

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.association_database import Transaction
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.past_rows import Outage, PastReservation
    from slurmsim.slurmctld.base.people import Person

ERROR = "Unspecified error"
DISABLED = "This operation is disabled"
_ORDER = ("Event", "Suspend", "Step", "Job", "Resv", "TXN", "Usage")
_TABLES = {"Event": "event_table", "Suspend": "suspend_table", "Step": "step_table", "Job": "job_table",
           "Resv": "resv_table", "TXN": "txn_table", "Usage": "usage_hour_table"}  # fmt: skip
_HOUR = 3600
_MOST = 0x7FFF  # units of an age; what is more is none
Span = list[int]  # after, and up to and with


class Purges:
    """Which rows of one cluster are gone."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        # spans by kind of rows that were archived, none of which overlap
        self.spans: dict[str, list[Span]] = {}

    def gone(self, kind: str) -> list[Span]:
        """Return the spans of a kind in which rows are gone."""
        age = (self._cluster.spec.database or {}).get(f"Purge{kind}After")
        cut = _end(self._cluster.now, age) if age else -1
        return [*self.spans.get(kind, ()), *([[-1, cut]] if cut >= 0 else [])]

    def of_jobs(self) -> Callable[[JobRecord], JobRecord | None]:
        """Return what gives what is left of a job's row at this instant; None if nothing is."""
        jobs, steps = self.gone("Job"), self.gone("Step")

        def left(record: JobRecord) -> JobRecord | None:
            if _inside(record.end, jobs):
                return None
            if not steps or not record.steps:
                return record
            return replace(record, steps=[step for step in record.steps if not _inside(step.end or 0, steps)])

        return left

    def outages(self) -> Iterator[Outage]:
        """Yield the rows of nodes out of service that are left."""
        spans = self.gone("Event")
        return (row for row in self._cluster.storage.history.past_outages() if not _inside(row.end, spans))

    def reservations(self) -> Iterator[PastReservation]:
        """Yield the rows of reservations that are left."""
        spans = self.gone("Resv")
        return (row for row in self._cluster.storage.history.past_reservations() if not _inside(row.end, spans))

    def usage_since(self) -> int:
        """Return the first second of which usage is left; an hour's row is as old as the end of the hour."""
        return max((upto + 1 - _HOUR for _, upto in self.gone("Usage")), default=0)

    def transactions(self) -> Iterator[Transaction]:
        """Yield the transactions that are left; those that belong to no cluster always are (26.05)."""
        spans = self.gone("TXN")
        rows = self._cluster.database.transactions
        return (row for row in rows if not (_of_cluster(row) and _inside(row.time, spans)))

    # -- requests -----------------------------------------------------------------------------------------------------

    def dump(self, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
        """Let rows go that are old enough; return what is to be written into files. Raises Refusal."""
        cluster, conf = self._cluster, self._cluster.spec.database or {}
        self._check(person)
        ages = {kind: self._age(arguments["ages"].get(kind), kind) for kind in _ORDER}
        if arguments.get("clusters") and cluster.spec.name.lower() not in arguments["clusters"]:
            raise Refusal(ERROR)
        files: list[dict[str, Any]] = []
        for kind, age in ages.items():
            if age is None:
                continue
            if not age & (HOURS | DAYS | MONTHS) or age & UNITS > _MOST:
                raise Refusal(ERROR)
            files += self._dump(kind, age)
        return {"directory": conf.get("ArchiveDir") or "/tmp", "files": files}

    def load(self, arguments: Mapping[str, Any], person: Person) -> dict[str, Any]:
        """Bring back the rows of an archive. Raises Refusal for rows of other clusters."""
        self._check(person)
        if arguments["cluster"] != self._cluster.spec.name or arguments["kind"] not in KINDS:
            raise Refusal(ERROR)
        there = self.spans.get(arguments["kind"], [])
        if not all(any(after <= a and b <= upto for after, upto in there) for a, b in arguments["spans"]):
            raise Refusal(ERROR)  # the rows are there
        if arguments.get("check"):
            return {}
        for after, upto in arguments["spans"]:
            self.spans[arguments["kind"]] = list(_without(self.spans.get(arguments["kind"], ()), [after, upto]))
        return {}

    def _check(self, person: Person) -> None:
        db, conf = self._cluster.database, self._cluster.spec.database or {}
        if db.admin_level(person) != "Administrator":
            raise Refusal(DENIED)
        if conf.get("DisableArchiveCommands"):
            raise Refusal(DISABLED)

    def _age(self, asked: int | None, kind: str) -> int | None:
        """Return the age for a kind: what is asked for, or that of slurmdbd.conf."""
        conf = (self._cluster.spec.database or {}).get(f"Purge{kind}After")
        if asked is None:
            return conf
        if not asked & UNITS and since(self._cluster.release, "archive_by_configured_age"):
            return asked | (UNITS if conf is None else conf)
        return asked

    def _dump(self, kind: str, age: int) -> Iterator[dict[str, Any]]:
        """Let the rows of one kind go; yield the file of them, if any went and they are to be archived."""
        upto = _end(self._cluster.now, age)
        new = [[-1, upto]]
        for old in self.gone(kind):
            new = list(_without(new, old))
        begins = [begin for begin, end in self._rows(kind) if _inside(end, new)]
        if not begins:
            return
        self.spans.setdefault(kind, []).extend(new)
        if age & ARCHIVE:
            yield {
                "cluster": self._cluster.spec.name, "kind": kind, "table": _TABLES[kind], "spans": new,
                "rows": len(begins), "begin": _begin(min(begins), age), "end": upto,
            }  # fmt: skip

    def _rows(self, kind: str) -> Iterator[tuple[int, int]]:
        """Yield begin and end of all rows of a kind that were over, also of those that are gone."""
        cluster, history = self._cluster, self._cluster.storage.history
        if kind in ("Job", "Step"):
            for record in cluster.storage.every():
                yield from (
                    ((record.submit, record.end),) if kind == "Job"
                    else ((step.start, step.end or record.end) for step in record.steps)
                )  # fmt: skip
        elif kind == "TXN":
            yield from ((row.time, row.time) for row in cluster.database.transactions if _of_cluster(row))
        elif kind == "Usage":
            first = cluster.network.start_time // _HOUR * _HOUR
            yield from ((at, at + _HOUR) for at in range(first, cluster.now // _HOUR * _HOUR, _HOUR))
        elif kind in ("Event", "Resv"):
            rows = history.past_outages() if kind == "Event" else history.past_reservations()
            yield from ((row.start, row.end if row.end <= cluster.now else 0) for row in rows)


def _of_cluster(row: Transaction) -> bool:
    """Return True for a change of what belongs to one cluster, and is purged with it."""
    return row.action.endswith(("Associations", "WCKey"))


def _inside(end: int, spans: Iterable[Span]) -> bool:
    return end > 0 and any(after < end <= upto for after, upto in spans)


def _without(spans: Iterable[Span], cut: Span) -> Iterator[Span]:
    """Yield what is left of spans outside `cut`."""
    for after, upto in spans:
        if cut[0] >= upto or cut[1] <= after:
            yield [after, upto]
            continue
        if after < cut[0]:
            yield [after, cut[0]]
        if cut[1] < upto:
            yield [cut[1], upto]


def _end(now: int, age: int) -> int:
    """Return the last second of what is older than `age` at the instant `now` (archive_setup_end_time)."""
    t, units = time.localtime(now), age & UNITS
    year, month, day, hour = t.tm_year, t.tm_mon, t.tm_mday, t.tm_hour
    if age & HOURS:
        hour -= units
    elif age & DAYS:
        hour, day = 0, day - units
    else:
        hour, day, month = 0, 1, month - units
    return max(-1, int(time.mktime((year, month, day, hour, 0, 0, 0, 0, -1))) - 1)


def _begin(first: int, age: int) -> int:
    """Return the begin of the hour, day or month of `first`, for the name of an archive (_make_archive_name)."""
    t = time.localtime(first)
    day, hour = (t.tm_mday, t.tm_hour) if age & HOURS else (t.tm_mday, 0) if age & DAYS else (1, 0)
    return int(time.mktime((t.tm_year, t.tm_mon, day, hour, 0, 0, 0, 0, -1)))
