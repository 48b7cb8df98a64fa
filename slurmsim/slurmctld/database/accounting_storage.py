"""Accounting: a row of every run of every job, also of those slurmctld has forgotten.

Rows of jobs that slurmctld still has are made when a client asks. Rows of their earlier runs are kept beside them, as
news of their steps may still come. When a job is forgotten all its rows go to the `RecordStore`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from heapq import merge
from typing import TYPE_CHECKING, Any

from slurmsim import releases, sluid
from slurmsim.hostlist import expand
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.job_record import First, JobRecord
from slurmsim.slurmctld.base.live_job import LiveJob, Row
from slurmsim.slurmctld.base.private_data import hides, own_or_coordinated
from slurmsim.slurmctld.base.step import NAMES, Step
from slurmsim.slurmctld.database import job_changes, young_rows
from slurmsim.slurmctld.database.accounting_records import derived_told, exit_code, failed_node, record_of, step_row
from slurmsim.slurmctld.database.behind import as_of
from slurmsim.slurmctld.database.cluster_history import ClusterHistory
from slurmsim.slurmctld.database.purges import Purges
from slurmsim.slurmctld.database.record_query import Sql, chosen_ids, conditions, has_sluids, nodes_of, on_nodes, sql
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.fields import sharing
from slurmsim.slurmctld.fields.every_job import shown_of
from slurmsim.states import REQUEUED, RESIZING

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

TOO_WIDE = "Too wide of a date range in query"
DISABLED = "Slurm accounting storage is disabled"
_CLOCKED = {"22.05": False, "24.11": True}
_LASTING = ("accounts", "names", "qos", "uids", "gids", "associations", "jobs")
"""Conditions that what is not known yet does not change."""
_NEVER = 1 << 40  # a second that no job has seen
FEW = 20_000  # rows that are rather sorted than found by walking over all
_INDEX_PERIOD_S = 5  # slurmctld asks for the database's ids of new jobs that often
_SENT = tuple(
    f.name for f in fields(JobRecord) if f.name not in ("asked", "steps", "first_cpus", "first_mem", "first_gres")
)
_FROM_REQUEST = ("work_dir", "submit_line", "container", "wckey", "std_in", "std_out", "std_err", "licenses", "extra",
                 "script")  # fmt: skip


class Storage:
    """All rows of one cluster."""

    CHANGES: frozenset[str] = frozenset({"change_jobs", "archive_dump", "archive_load"})

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.enabled = True  # whether sacct is answered; not where the configuration itself says that nothing is stored
        # rows of jobs that slurmctld has forgotten; in memory until the daemon puts a store on the disk in its place
        self.store = RecordStore()
        # reservations and nodes out of service, also those of the past
        self.history: ClusterHistory = ClusterHistory(cluster)
        self.purges: Purges = Purges(cluster)
        self.earlier: dict[int, list[JobRecord]] = {}  # rows of runs that are over of jobs it has, by the core's id
        self.changed: job_changes.Changes = {}  # what users changed in rows afterwards
        self.completed: Callable[[JobRecord], None] | None = None  # told of every run that is over
        self._first: dict[int, First] = {}
        self._metered: dict[int, int] = {}  # joules in rows of a job's earlier runs, by its core id
        self._next_index = 1
        self._cluster_id = zlib.crc32(cluster.spec.name.encode()) % 4094 + 2  # real ones draw lots
        self._last_ms = 0

    # -- what happens to jobs -----------------------------------------------------------------------------------------

    def entered(self, live: LiveJob) -> None:
        """Note that a job was submitted; all tasks of an array share one row until they are split off."""
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
        """Return a new id: the database counts; since 24.11 slurmctld makes ids of its clock."""
        if releases.row(_CLOCKED, self.cluster.release):
            self._last_ms = max(self._last_ms + 1, self.cluster.now * 1000)
            return sluid.made(self._cluster_id, self._last_ms)
        index, self._next_index = self._next_index, self._next_index + 1
        return index

    def launched(self, live: LiveJob) -> None:
        """Note that a job starts. The row of a young job is written a second time before its index is known."""
        core = live.core
        first = self._first.get(core.id)
        if first is None or (live.array is not None and live.own_id != live.array.id):
            self._first[core.id] = First(self._new_index(), core.priority, core.restarts)
        if (core.start_time or 0) - core.submit_time < _INDEX_PERIOD_S:
            self._next_index += 1

    def requeued(self, run: Job, ended: Job | None = None) -> None:
        """Keep a row for a run that ended in a requeue, or for a size that ended in another.

        `ended` is what it was before if it was over already: its exit code stays, and what is told of its end where
        the requeue changes nothing of that.
        """
        live = self.cluster.jobs.get(run.id)
        if live is None:
            return
        record = record_of(self.cluster, Row(live), run)
        if run.sub.cron:
            record.state = REQUEUED  # however it ended
        if ended is not None:
            record.exit_code = exit_code(ended, self.cluster.release)
        self.earlier.setdefault(run.id, []).append(record)
        if "energy" in record.tres_alloc:
            self._metered[run.id] = self._metered.get(run.id, 0) + record.tres_alloc["energy"]
        if self.completed is not None and (ended is None or ended.state != run.state):
            self.completed(record)
        before = self.first(live)
        original = (before.original or before.db_index) if record.state == RESIZING else 0
        self._first[run.id] = First(self._new_index(), live.core.priority, live.core.restarts, original)

    def ended(self, live: LiveJob) -> None:
        """Note that a job is over."""
        if self.completed is not None:
            self.completed(record_of(self.cluster, Row(live, live.record_of)))

    def dropped(self, live: LiveJob) -> None:
        """Note that a task left its array's row without one of its own."""
        self._first.pop(live.core.id, None)

    def forgotten(self, live: LiveJob) -> None:
        """Store the rows of a job that slurmctld forgets."""
        cluster, core_id = self.cluster, live.core.id
        for record in self.earlier.pop(core_id, ()):
            self.store.add(record)
        known = core_id in cluster.network.live  # else it was refused, and is none of those `every_job` tells of
        shown = shown_of(cluster, live) if known else None
        self.store.add(record_of(cluster, Row(live, live.record_of)), live.order if known else None, shown)
        self._first.pop(core_id, None)
        watts = cluster.controller.watts
        if watts is not None:
            watts.taken_joules(core_id)
            self._metered.pop(core_id, None)

    def joules(self, core_id: int) -> int | None:
        """Return what the job has used up since its last row, by the model; None where nothing is known of watts."""
        watts = self.cluster.controller.watts
        return None if watts is None else watts.joules(core_id) - self._metered.get(core_id, 0)

    # -- what rows are made of ----------------------------------------------------------------------------------------

    def first(self, live: LiveJob) -> First:
        """Return what was noted of a job at first."""
        core = live.core
        return self._first.get(core.id) or First(0, core.priority, core.restarts)

    def resized(self, core_id: int) -> int | None:
        """Return when a job got its present size; None for one that has had no other in its run."""
        runs = self.earlier.get(core_id)
        return runs[-1].end if runs and runs[-1].state == RESIZING else None

    def started_before(self, live: LiveJob) -> int | None:
        """Return when the last run of a requeued job began; None where it has no row."""
        runs = self.earlier.get(live.core.id)
        return runs[-1].start if runs else None

    # -- asking -------------------------------------------------------------------------------------------------------

    def page(
        self, cond: Mapping[str, Any], person: Person, after: int, most: int | None
    ) -> tuple[list[JobRecord], int | None]:
        """Those of jobs with ids above `after`, looking at some `most` rows; and behind which id to go on, None: done.

        All rows of one job are in one answer. Raises Refusal.
        """
        if not self.enabled:
            raise Refusal(DISABLED)
        self._check_range(cond, person)
        scripts = bool(cond.get("script")) and not self.cluster.database.is_operator(person)
        wanted, there = conditions(cond), on_nodes(cond)
        late = cond.get("late")
        # seen `late` a row has older values: only what never changes may narrow the search
        narrowed = sql(cond if not late else {name: cond[name] for name in _LASTING if name in cond})
        if scripts or hides(self.cluster, "jobs", person, stored=True):
            sees = own_or_coordinated(self.cluster, person)
            wanted.append(lambda r: sees(r.uid, r.account))
        rows: list[JobRecord] = []
        left_of = self.purges.of_jobs()
        last: int | None = None
        told: int | None = None
        for looked, record in enumerate(self._by_id(cond, narrowed, after)):
            if most is not None and looked >= max(most, 1) and record.job_id != last:
                return rows, last
            last = record.job_id
            if late:
                known = as_of(record, self.cluster.now - late)
                if known is None:
                    continue
                record = known
            left = left_of(record)
            if left is None:
                continue
            record = job_changes.applied(self.changed, left)
            if not all(test(record) for test in wanted):
                continue
            # of a job's runs the last alone is told, but each piece of a resized one (_cluster_get_jobs)
            if record.job_id == told and not cond.get("duplicates") and record.state != RESIZING:
                continue
            told = record.job_id
            if there is None or there(record):  # its last run elsewhere hides one that was there
                rows.append(record)
        return rows, None

    def _as_told(self, records: Iterator[JobRecord]) -> Iterator[JobRecord]:
        """Yield rows as slurmctld told of them by now, but for jobs that slurmdbd does not know at all."""
        if releases.row(_CLOCKED, self.cluster.release) or not self.cluster.spec.options.get("AccountingStorageHost"):
            yield from records
            return
        now, up = self.cluster.now, int(self.cluster.network.start_time)
        for record in records:
            first = not record.restarts and record.original_index == record.db_index
            split = record.array_task_id is not None and (record.start or record.end)  # a task got its own row then
            if first and young_rows.told_at(split or record.submit, up) > now:
                known = young_rows.untold(record)
                if known is not None:
                    yield known
            else:
                yield record

    def _check_range(self, cond: Mapping[str, Any], person: Person) -> None:
        """Raise Refusal for a user who names no jobs and asks for a longer time than MaxQueryTimeRange."""
        most = (self.cluster.spec.database or {}).get("MaxQueryTimeRange")
        if most is None or cond.get("jobs") or self.cluster.database.is_operator(person):
            return
        if (int(cond.get("end") or 0) or self.cluster.now) - int(cond.get("start") or 0) > most:
            raise Refusal(TOO_WIDE)

    def _by_id(self, cond: Mapping[str, Any], narrowed: Sql, after: int) -> Iterator[JobRecord]:
        """Candidates with ids above `after`, by id and the newest first; equal ones in the order they were made."""
        narrowed.add("id_job > ?", after)
        written = self.store.select(narrowed.text, narrowed.values, walk=self._walk(cond))
        waiting = sorted((r for r in self.store.waiting() if r.job_id > after), key=_newest_first)
        return merge(written, waiting, self._as_told(self._living(cond, after)), key=_newest_first)

    def every(self) -> Iterator[JobRecord]:
        """Yield all rows there are, also those that were purged."""
        return self._by_id({}, Sql(), 0)

    def _walk(self, cond: Mapping[str, Any]) -> bool:
        """Return True to walk over all rows by id; not if jobs are named, or few rows are as young as the window."""
        since = int(cond.get("start") or 0)
        if cond.get("jobs"):
            return False
        if not 0 < since < 1 << 63:
            return True
        young = "SELECT count(*) FROM (SELECT 1 FROM job WHERE time_end >= ? LIMIT ?)"
        (count,) = next(self.store.execute(young, (since, FEW + 1)))
        return bool(count > FEW)

    def _living(self, cond: Mapping[str, Any], after: int) -> Iterator[JobRecord]:
        """Rows of jobs slurmctld has, made one by one."""
        ids: set[int] | None = None
        if cond.get("jobs"):
            whole, tasks = chosen_ids(cond["jobs"])
            ids = whole | {array for array, _ in tasks}
        every = ids is None or 0 in ids or has_sluids(ids)
        rows = self.cluster.job_table.rows() if every else self.cluster.job_table.rows_of(ids or ())
        for row in sorted((row for row in rows if row.job.id > after), key=lambda row: row.job.id):
            yield from sorted(self.runs(row), key=_newest_first)

    def runs(self, row: Row) -> list[JobRecord]:
        """Return the rows of one job slurmctld has, in the order they were made."""
        earlier = [record for task in row.tasks or (row.job,) for record in self.earlier.get(task.core.id, ())]
        return [*earlier, record_of(self.cluster, Row(row.job, row.tasks or row.job.record_of))]

    # -- requests -----------------------------------------------------------------------------------------------------

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests about accounting rows."""
        return {
            "accounting_jobs": self._jobs, "accounting_enabled": self._enabled,
            "job_changes_check": self._check_changes, "change_jobs": self._change,
            "archive_dump": self.purges.dump, "archive_load": self.purges.load,
        }  # fmt: skip

    def _check_changes(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        return {"jobs": [job_changes.told(record) for record in self._to_change(arguments, person)]}

    def _change(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        found = self._to_change(arguments, person)
        job_changes.keep(self.changed, arguments["new"], found)
        return {"jobs": [job_changes.told(record) for record in found]}

    def _to_change(self, arguments: dict[str, Any], person: Person) -> list[JobRecord]:
        records, _ = self.page({"end": _NEVER, **arguments["cond"]}, person, 0, None)
        return job_changes.check(
            arguments["new"], records, person, is_operator=self.cluster.database.is_operator(person)
        )

    def _jobs(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        most = arguments.get("most")  # who does not name it takes everything at once
        after, cluster = int(arguments.get("after") or 0), self.cluster
        arguments = self._with_components(arguments)
        found, further = self.page(arguments, person, after, None if most is None else int(most))
        columns: dict[str, list[Any]] = {name: [getattr(r, name) for r in found] for name in _SENT}
        for name in _FROM_REQUEST:
            columns[name] = [r.asked.get(name) for r in found]
        columns["qos_id"] = [cluster.database.qos_id(r.qos) for r in found]
        specs = {p.name: p.spec for p in cluster.controller.state.partitions}
        for name, word in (("oversubscribe", sharing.oversubscribe), ("exclusive", sharing.exclusive)):
            columns[name] = [word(r.asked.get("shared"), specs.get(r.partition)) for r in found]
        columns |= job_changes.columns(self.changed, found)
        columns |= _of_lost_nodes(cluster, found)
        columns["qos_req"] = [r.asked.get("qos") for r in found]
        columns["killed_by_name"] = [_name(cluster, r.killed_by) for r in found]
        columns["batch"] = [bool(r.asked.get("script")) and not (r.het and r.het[1]) for r in found]
        if not arguments.get("script"):
            del columns["script"]
        if not arguments.get("no_steps"):
            steps = ([step_row(cluster, r, step) for step in _by_number(r.steps)] for r in found)
            nodes = nodes_of(arguments)
            columns["steps"] = [
                [step for step in rows if not nodes or not nodes.isdisjoint(expand(step["nodes"] or ""))]
                for rows in steps
            ]
        return {
            "now": cluster.now, "n": len(found), "columns": columns, "cluster": cluster.spec.name, "further": further,
        }  # fmt: skip

    def _with_components(self, cond: dict[str, Any]) -> dict[str, Any]:
        """Who names the leader of a heterogeneous job means all of it; ``whole_hetjob``: yes: any component, no: none.

        `components` are jobs, too, by leader and place.
        """
        kind = str(cond.get("whole_hetjob") or "")
        jobs: list[list[Any]] = []
        for number, task in cond.get("jobs") or ():
            jobs.append([number, task])
            het = self._het(int(number)) if task is None and kind != "no" else None
            if het is not None and (kind == "yes" or not het[1]):
                jobs += [[het[0] + k, None] for k in range(het[2]) if k != het[1]]
        for leader, offset in cond.get("components") or ():
            het = self._het(int(leader) + int(offset))
            if het is None or het[0] != int(leader):
                jobs.append([-1, None])  # no job has this number
            else:
                jobs += [[het[0] + k, None] for k in (range(het[2]) if kind == "yes" else (het[1],))]
        return {**cond, "jobs": jobs} if jobs else cond

    def _het(self, number: int) -> tuple[int, int, int] | None:
        """Leader, place and number of components of the heterogeneous job the job with that id is part of."""
        if not 0 <= number < 1 << 32:
            return None
        live = self.cluster.job_table.shown(number)
        if live is not None:
            return het_jobs.place(live.core)
        found = next(self.store.select("id_job = ?", [number], walk=False), None)
        found = found or next((record for record in self.store.waiting() if record.job_id == number), None)
        return None if found is None or found.het is None else found.het

    def _enabled(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        return {"enabled": self.enabled, "cluster": self.cluster.spec.name}


def _newest_first(record: JobRecord) -> tuple[int, int]:
    return record.job_id, -record.submit


def _name(cluster: LiveCluster, uid: int | None) -> str | None:
    return None if uid is None else cluster.people.by_uid(uid).name


def _by_number(steps: Iterable[Step]) -> list[Step]:
    """As the database has them: interactive, batch, extern, then by number."""
    return sorted(steps, key=lambda step: step.number - (1 << 32) if step.number in NAMES else step.number)


def _of_lost_nodes(cluster: LiveCluster, found: list[JobRecord]) -> dict[str, list[Any]]:
    """Return what a lost node changes of runs: its name, and their highest exit code."""
    return {
        "failed_node": [failed_node(cluster, r) for r in found],
        "derived_ec": [derived_told(cluster, r) for r in found],
    }
