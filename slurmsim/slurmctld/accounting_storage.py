"""Accounting without a database: a row of every run of every job, also of those slurmctld has forgotten.

Rows live in memory and are rebuilt with everything else when the journal is carried out again. What a query selects
mirrors as_mysql_jobacct_process.c (22.05).
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from slurmsim import releases
from slurmsim.commands import sluid
from slurmsim.hostlist import expand
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.accounting_records import JobRecord, record_of, step_row
from slurmsim.slurmctld.job_fields import Row
from slurmsim.slurmctld.step import NAMES, Step
from slurmsim.slurmctld.submit_request import MOST_NAMES
from slurmsim.states import RESIZING, JobState

if TYPE_CHECKING:
    from slurmsim.core.job import Job
    from slurmsim.slurmctld.engine import Engine
    from slurmsim.slurmctld.live_job import LiveJob
    from slurmsim.slurmctld.people import Person

CHANGES: frozenset[str] = frozenset()
DISABLED = "Slurm accounting storage is disabled"
_CLOCKED = {"22.05": False, "24.11": True}
_INDEX_PERIOD_S = 5  # slurmctld asks for the database's ids of new jobs that often
_SENT = tuple(f.name for f in fields(JobRecord) if f.name not in ("asked", "steps", "first_cpus", "first_mem"))
_FROM_REQUEST = ("work_dir", "submit_line", "container", "wckey", "std_in", "std_out", "std_err", "licenses", "extra",
                 "script", "shared")  # fmt: skip


@dataclass(slots=True)
class First:
    """What was noted of a run when slurmdbd first heard of it."""

    db_index: int
    priority: int
    restarts: int
    original: int = 0  # the index of the job's first run, where this is not that


class Storage:
    """All rows of one cluster.

    Attributes
    ----------
    kept
        Rows of runs that are over and whose jobs may be gone, in order of their ends.
    enabled
        Whether sacct is answered; not where the configuration itself says that nothing is stored.
    completed
        Told of every run that is over.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.enabled = True
        self.kept: list[JobRecord] = []
        self.completed: Callable[[JobRecord], None] | None = None
        self._first: dict[int, First] = {}
        self._next_index = 1
        self._cluster = zlib.crc32(engine.cluster.name.encode()) % 4094 + 2  # real ones draw lots
        self._last_ms = 0

    # -- what happens to jobs -----------------------------------------------------------------------------------------

    def entered(self, live: LiveJob) -> None:
        """A job was submitted; all tasks of an array share one row until they are split off."""
        core = live.core
        if core.id not in self._first:  # else it was launched at once
            self._first[core.id] = First(self._index_of(live), core.priority, core.restarts)

    def _index_of(self, live: LiveJob) -> int:
        if live.array is not None and live.own_id is None:
            for other in live.array.left().values():
                known = self._first.get(other._core.id) if other._core is not None else None
                if known is not None:
                    return known.db_index
        return self._new_index()

    def _new_index(self) -> int:
        """The database counts; since 24.11 slurmctld makes the ids itself, of its clock."""
        if releases.row(_CLOCKED, self.engine.release):
            self._last_ms = max(self._last_ms + 1, self.engine.now * 1000)
            return sluid.made(self._cluster, self._last_ms)
        index, self._next_index = self._next_index, self._next_index + 1
        return index

    def launched(self, live: LiveJob) -> None:
        """A job starts. Its row is written a second time before its index is known, if it is a young one."""
        core = live.core
        first = self._first.get(core.id)
        if first is None or (live.array is not None and live.own_id != live.array.id):
            self._first[core.id] = First(self._new_index(), core.priority, core.restarts)
        if (core.start_time or 0) - core.submit_time < _INDEX_PERIOD_S:
            self._next_index += 1

    def requeued(self, run: Job) -> None:
        """A run ended in a requeue (or a size in another): it keeps a row of its own."""
        live = self.engine.jobs.get(run.id)
        if live is None:
            return
        self.kept.append(record_of(self.engine, Row(live), run))
        if self.completed is not None:
            self.completed(self.kept[-1])
        before = self.first(live)
        original = before.original or before.db_index
        self._first[run.id] = First(self._new_index(), live.core.priority, live.core.restarts, original)

    def ended(self, live: LiveJob) -> None:
        """A job is over."""
        if self.completed is not None:
            self.completed(record_of(self.engine, Row(live)))

    def dropped(self, live: LiveJob) -> None:
        """A task left its array's row without one of its own."""
        self._first.pop(live.core.id, None)

    def forgotten(self, live: LiveJob) -> None:
        """slurmctld forgets a job that is over."""
        self.kept.append(record_of(self.engine, Row(live, live.record_of)))
        self._first.pop(live.core.id, None)
        self.engine.controller.eligibility.left.pop(live.core.id, None)

    # -- what rows are made of ----------------------------------------------------------------------------------------

    def first(self, live: LiveJob) -> First:
        """What was noted of a job at first."""
        core = live.core
        return self._first.get(core.id) or First(0, core.priority, core.restarts)

    def assoc_id(self, core: Job) -> int:
        """The number of a job's association; 0 without one."""
        return 0 if core.branch is None else self.engine.database.id_of(core.branch.spec)

    # -- asking -------------------------------------------------------------------------------------------------------

    def records(self) -> list[JobRecord]:
        """All rows there are, kept ones first."""
        rows = self.engine.rows()
        live = [record_of(self.engine, Row(row.job, row.tasks or row.job.record_of)) for row in rows]
        return self.kept + live

    def query(self, cond: Mapping[str, Any], person: Person) -> list[JobRecord]:
        """The rows a condition selects (`slurmdb_job_cond_t`), by job id and the newest first, without duplicates."""
        if not self.enabled:
            raise Refusal(DISABLED)
        tests = _tests(cond, self.engine.now)
        own_only = "jobs" in _words(self.engine.cluster.options.get("PrivateData")) or bool(cond.get("script"))
        if own_only and not self.engine.database.is_admin(person):
            tests.append(lambda r: r.uid == person.uid)
        found = [record for record in self.records() if all(test(record) for test in tests)]
        found.sort(key=lambda r: (r.job_id, -r.submit))
        rows: list[JobRecord] = []
        last = None
        for record in found:
            if record.job_id == last and not cond.get("duplicates") and record.state != RESIZING:
                continue
            last = record.job_id
            rows.append(record)
        return rows


def _words(value: Any) -> set[str]:
    if not value:
        return set()
    return {word.strip().lower() for word in (value.split(",") if isinstance(value, str) else value)}


Test = Callable[[JobRecord], bool]


def _tests(cond: Mapping[str, Any], now: int) -> list[Test]:
    """What a row must meet. Texts compare without regard to case, as the database's do."""
    tests: list[Test] = []
    for key, attribute in (("accounts", "account"), ("names", "name"), ("partitions", "partition"), ("qos", "qos")):
        if cond.get(key):
            tests.append(_one_of(attribute, cond[key]))
    if cond.get("wckeys"):
        wanted = {str(key).lower() for key in cond["wckeys"]}
        tests.append(lambda r: str(r.asked.get("wckey") or "").lower() in wanted)
    for key, attribute in (("uids", "uid"), ("gids", "gid"), ("associations", "assoc_id")):
        if cond.get(key) is not None:
            tests.append(_number_of(attribute, cond[key]))
    if cond.get("reasons"):
        tests.append(_one_of("reason", cond["reasons"]))
    if cond.get("constraints"):
        parts = [str(part).lower() for part in cond["constraints"]]
        tests.append(lambda r: all(p in (r.constraints or "").lower() if p else not r.constraints for p in parts))
    if cond.get("flags"):
        flags = set(cond["flags"])
        tests.append(lambda r: bool(flags & set(r.flags)))
    if cond.get("jobs"):
        chosen = [tuple(one) for one in cond["jobs"]]
        tests.append(lambda r: any(_chosen(r, one) for one in chosen))
    if cond.get("nodes"):
        try:
            wanted_nodes = set(expand(cond["nodes"], MOST_NAMES))
        except ValueError:
            raise Refusal("Invalid argument", errno.EINVAL) from None
        tests.append(lambda r: bool(r.start) and not wanted_nodes.isdisjoint(expand(r.nodes)))
    tests += _ranges(cond)
    tests += _window(cond)
    return tests


def _one_of(attribute: str, wanted: Iterable[Any]) -> Test:
    words = {str(word).lower() for word in wanted}
    return lambda r: str(getattr(r, attribute)).lower() in words


def _number_of(attribute: str, wanted: Iterable[Any]) -> Test:
    numbers = {int(number) for number in wanted}
    return lambda r: getattr(r, attribute) in numbers


def _chosen(record: JobRecord, one: tuple[Any, ...]) -> bool:
    job, task = int(one[0]), one[1]
    if task is not None:
        return record.array_job_id == job and record.array_task_id == int(task)
    return job in (record.job_id, record.array_job_id)


def _ranges(cond: Mapping[str, Any]) -> list[Test]:
    tests: list[Test] = []
    values: dict[str, Callable[[JobRecord], int | None]] = {
        "cpus": lambda r: r.tres_alloc.get("cpu", 0),
        "n_nodes": lambda r: r.alloc_nodes,
        "time_limit": lambda r: r.time_limit,
    }
    for key, value in values.items():
        if cond.get(key):
            tests.append(_in_range(value, *cond[key]))
    return tests


def _in_range(value: Callable[[JobRecord], int | None], low: int, high: int | None) -> Test:
    def test(record: JobRecord) -> bool:
        found = value(record)
        if found is None:
            return False
        return low <= found <= high if high else found == low

    return test


def _window(cond: Mapping[str, Any]) -> list[Test]:
    """States at some time of the window, or who was eligible in it."""
    start, end = int(cond.get("start") or 0), int(cond.get("end") or 0)
    states = cond.get("states")
    if states:
        return [lambda r: any(_was(r, state, start, end) for state in states)]
    if cond.get("jobs"):
        return [lambda r: r.submit < end and (r.end >= start or not r.end)]
    return [lambda r: bool(r.eligible) and (r.eligible or 0) < end and (r.end >= start or not r.end)]


def _was(record: JobRecord, state: str, start: int, end: int) -> bool:
    if state == JobState.PENDING:
        if not record.eligible or record.eligible >= end:
            return False
        if record.start:
            return start < record.start
        return start < record.end if record.end else record.state == JobState.PENDING
    if state == JobState.RUNNING:
        over = start < record.end if record.end else record.state == JobState.RUNNING
        return bool(record.start) and over and end > record.start
    if state == JobState.SUSPENDED:
        return record.state == JobState.SUSPENDED or record.suspended > 0
    return record.state == state and bool(record.end) and start <= record.end <= end


def _name(engine: Engine, uid: int | None) -> str | None:
    return None if uid is None else engine.people.by_uid(uid).name


def _by_number(steps: Iterable[Step]) -> list[Step]:
    """As the database has them: interactive, batch, extern, then by number."""
    return sorted(steps, key=lambda step: step.number - (1 << 32) if step.number in NAMES else step.number)


def calls(engine: Engine) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """The requests about accounting rows."""

    def rows(arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        found = engine.storage.query(arguments, person)
        columns: dict[str, list[Any]] = {name: [getattr(r, name) for r in found] for name in _SENT}
        for name in _FROM_REQUEST:
            columns[name] = [r.asked.get(name) for r in found]
        columns["qos_id"] = [engine.database.qos_id(r.qos) for r in found]
        columns["qos_req"] = [r.asked.get("qos") for r in found]
        columns["killed_by_name"] = [_name(engine, r.killed_by) for r in found]
        columns["batch"] = [bool(r.asked.get("script")) for r in found]
        if not arguments.get("script"):
            del columns["script"]
        if not arguments.get("no_steps"):
            columns["steps"] = [[step_row(engine, r, step) for step in _by_number(r.steps)] for r in found]
        return {"now": engine.now, "n": len(found), "columns": columns, "cluster": engine.cluster.name}

    def enabled(arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        return {"enabled": engine.storage.enabled, "cluster": engine.cluster.name}

    return {"accounting_jobs": rows, "accounting_enabled": enabled}
