"""Dumps of ``sacct -P``: the records of Slurm's accounting, in any field order, as users really have them.

One row of a job (or array task) becomes one job; rows of steps are skipped. What the jobs asked for is read in
`request`; here it is told which of them are jobs, when they came, how long they ran and what ended them:

- cancelled while pending: the job is cancelled at that time (`cancel_at`);
- cancelled while running, preempted, failed, lost with a node: the job ends after the recorded run time, in that state
  where a replay can produce it;
- ended by its limit: how long it would have run is not known, so its run time is set `TIMEOUT_SLACK_S` beyond the
  limit, and the limit ends it again;
- still pending or running when the log was taken: it is assumed to use its whole time limit.

docs/sacct.md has the fields, what each is for, and what happens without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.dependencies import clean_dependency, loop_error, waiting_for_itself
from slurmsim_workloads.options import Option, check_options
from slurmsim_workloads.quality import Ledger
from slurmsim_workloads.sacct import fields
from slurmsim_workloads.sacct.columns import Columns, IntColumn, Mask, time_zone
from slurmsim_workloads.sacct.dump import read_dump
from slurmsim_workloads.sacct.ids import JobIds
from slurmsim_workloads.sacct.request import Request
from slurmsim_workloads.sacct.table import Dump

TIMEOUT_SLACK_S = 86_400
TIMEOUT_EARLY_S = 60
"""A TIMEOUT that comes earlier is not its limit's work: a reservation ended, or a group's minutes were used up."""

OPTIONS = (
    Option("timezone", "", "zone of ISO times, such as Europe/Paris; empty: taken as they are"),
    Option("delimiter", "", "text between fields, or tab, us, pipe, comma, semicolon; empty: told by the header"),
    Option("unfinished", "limit", "jobs without an end: run to their time limit, or are left out", ("limit", "drop")),
    Option("overrun", "cap", "run time above the limit: cut it, raise the limit, or leave both",
           ("cap", "extend", "keep")),
    Option("eligible", "begin", "jobs that became eligible later for no known reason begin then, or at once",
           ("begin", "ignore")),
    Option("submit_line", "yes", "refine requests by the options in SubmitLine", ("yes", "no")),
    Option("bad_lines", "error", "lines that no job can be made of", ("error", "drop")),
)  # fmt: skip

_SIZE_FIELDS = ("ReqTRES", "ReqCPUS", "AllocTRES", "NCPUS", "AllocCPUS")
_S = {name: i for i, name in enumerate(fields.STATES)}
_OUTCOME = {
    "FAILED": "FAILED", "NODE_FAIL": "NODE_FAIL", "BOOT_FAIL": "NODE_FAIL", "OUT_OF_MEMORY": "OUT_OF_MEMORY",
    "CANCELLED": "CANCELLED", "DEADLINE": "CANCELLED",
}  # fmt: skip


def read(path: Path, options: Mapping[str, str]) -> Workload:
    """Read a dump; raises as `SacctFormat.read` does."""
    chosen = check_options("sacct", OPTIONS, options)
    zone = time_zone(chosen["timezone"])
    drop_bad = chosen["bad_lines"] == "drop"
    dump = read_dump(path, chosen["delimiter"], drop_bad=drop_bad)
    _check_fields(dump, path)
    return _Reading(Columns(path, dump, zone, drop_bad=drop_bad), dump, chosen).workload()


def _check_fields(dump: Dump, path: Path) -> None:
    has = dump.columns.__contains__
    missing = []
    if not (has("JobID") or has("JobIDRaw")):
        missing.append("JobID or JobIDRaw")
    missing += [name for name in ("Submit", "State") if not has(name)]
    if not (has("ElapsedRaw") or has("Elapsed") or (has("Start") and has("End"))):
        missing.append("ElapsedRaw (or Start and End)")
    if not any(map(has, _SIZE_FIELDS)):
        missing.append("ReqTRES (or ReqCPUS or NCPUS)")
    if missing:
        raise WorkloadError(
            f"needed fields are missing: {', '.join(missing)}",
            file=str(path),
            expected="the fields of the sacct command in docs/sacct.md",
        )


class _Reading:
    """One pass over a dump; `ledger` says which rows are jobs."""

    def __init__(self, columns: Columns, dump: Dump, options: Mapping[str, str]) -> None:
        self.options = options
        self.path = columns.path
        self.report = QualityReport(records=len(columns) + len(dump.bad))
        for line, found in dump.bad:
            self.report.drop("line with a wrong number of fields", 1, f"line {line}: {found} fields")
        for reason, lines in dump.repaired.items():
            for line in lines:
                self.report.repair(reason, 1, f"line {line}")
        if dump.repeated_headers:
            self.report.repair("header line repeated inside the file, passed over", dump.repeated_headers)
        self.ids = JobIds(columns, self.report)
        self.columns = self.ids.columns
        self.ledger: Ledger = self.ids.ledger

    def workload(self) -> Workload:
        columns = self.columns
        state = columns.ints("State", lambda text: _S[fields.parse_state(text)], 0)
        submit, eligible, start, end = (columns.times(name) for name in ("Submit", "Eligible", "Start", "End"))
        self.ids.drop_bad()
        self.ledger.drop(submit < 0, "no submit time")
        self.ledger.drop(state == _S["REVOKED"], "revoked sibling of a federated job")
        self.ids.merge_repeated(submit, start, end)
        run = self._run_time(start, end)
        final = state < len(fields.FINISHED)
        nodes = self._had_nodes(state)
        ended = ~final & nodes & (start >= 0) & (end >= start) & (run >= 0)
        started = self._started(state, start, run, nodes) | ended
        finished = final | ended
        pending_end = self._cancelled_pending(state, finished & ~started, submit, start, end)
        request = Request(columns, started, self.options["submit_line"] == "yes")
        self.ledger.drop(request.cpus <= 0, "no CPU count")
        self.ledger.drop(finished & started & (run < 0), "ends before it starts, or no times")
        limit = self._limits()
        self.ids.drop_bad()
        self.ledger.repair(ended, "has an end, and a state that goes on: ends after its recorded run time")
        run = self._assume_unfinished(finished, started, limit, run)
        run, limit = self._limit_runs(state, finished & started, limit, run)
        run = np.where(pending_end >= 0, -1, run)
        exit_codes, exits = columns.parsed("ExitCode", fields.parse_exit, (0, 0))
        own_end = final & started & (state != _S["CANCELLED"]) & (state != _S["TIMEOUT"])
        array_limit = self.ids.array_limits(request.line("array_limit"))
        dependency = self._dependencies(request)
        late = self._late(submit, eligible, dependency, array_limit)
        self._name_what_is_lost(request)
        self.ids.drop_bad()
        ints: dict[str, IntColumn] = {
            "job_id": self.ids.job_id,
            "submit": submit,
            "run_time": run,
            "time_limit": limit,
            "begin": np.where(late, eligible, -1),
            "cancel_at": pending_end,
            "exit_code": np.where(own_end, np.array([e[0] for e in exits], np.int64)[exit_codes], 0),
            "exit_signal": np.where(own_end, np.array([e[1] for e in exits], np.int64)[exit_codes], 0),
            "array_job_id": self.ids.array_job_id,
            "array_task_id": self.ids.array_task_id,
            "array_limit": array_limit,
            "log_eligible": eligible,
            "log_start": np.where(started, start, -1),
            "log_end": np.where(finished, end, -1),
            **request.ints,
        }
        outcomes = TextColumn.from_list([_OUTCOME.get(name, "") for name in fields.STATES])
        ran = np.where(started & finished, state, _S["COMPLETED"])
        texts = {
            "name": columns.text("JobName"),
            "user": columns.text("User") if "User" in columns or "UID" not in columns else self._uids(),
            "account": columns.text("Account"),
            "partition": columns.text("Partition"),
            "qos": columns.text("QOS"),
            "constraint": columns.text("Constraints"),
            "dependency": dependency,
            "outcome": TextColumn(outcomes.codes[ran], outcomes.values),
            "log_state": TextColumn((state + 1).astype(np.int32), ["", *fields.STATES]),
            "log_nodes": columns.text("NodeList"),
            **request.texts,
        }
        header = WorkloadHeader(source=self.path.name, format="sacct")
        everything = Workload(ints, texts, header, self.report)
        rows = np.flatnonzero(self.ledger.keep)
        rows = rows[np.lexsort((self.ids.job_id[rows], submit[rows]))]
        if not len(rows):
            why = "; ".join(f"{reason}: {count}" for reason, count in self.report.dropped.items())
            raise WorkloadError(f"no job is left of {self.report.records} records ({why})", file=str(self.path))
        result = self.ids.expand(everything, rows)
        self.report.jobs = len(result)
        if (stuck := waiting_for_itself(result)) is not None:
            raise loop_error(stuck, self.path, "Dependency")
        return result

    def _run_time(self, start: IntColumn, end: IntColumn) -> IntColumn:
        """Elapsed is End - Start - Suspended, and survives the change of the clocks, so it comes first."""
        columns = self.columns
        if "ElapsedRaw" in columns:
            elapsed = columns.ints("ElapsedRaw", fields.parse_number)
        else:
            elapsed = columns.ints("Elapsed", fields.parse_elapsed)
        suspended = np.maximum(columns.ints("Suspended", fields.parse_elapsed, 0), 0)
        return np.where(elapsed >= 0, elapsed, np.where((start >= 0) & (end >= 0), end - start - suspended, -1))

    def _had_nodes(self, state: IntColumn) -> Mask:
        """Return which jobs ever had nodes, as far as the record tells."""
        for name in ("NodeList", "AllocTRES"):
            if name in self.columns:
                had: Mask = self.columns.text(name).codes > 0
                return had
        return ~np.isin(state, [_S["CANCELLED"], _S["DEADLINE"]])

    def _started(self, state: IntColumn, start: IntColumn, run: IntColumn, nodes: Mask) -> Mask:
        """Return the jobs that had nodes: one cancelled while pending has no start, or its cancel time as start."""
        has_start = start >= 0 if "Start" in self.columns else np.ones(len(start), np.bool_)
        waiting = (state >= _S[fields.WAITING[0]]) & (state < len(_S))
        return has_start & ((run > 0) | nodes) & ~waiting

    def _cancelled_pending(
        self, state: IntColumn, never: Mask, submit: IntColumn, start: IntColumn, end: IntColumn
    ) -> IntColumn:
        cancelled = never & np.isin(state, [_S["CANCELLED"], _S["DEADLINE"]])
        when = np.where(end >= 0, end, start)
        self.ledger.drop(cancelled & (when < 0), "cancelled while pending, no time given")
        self.ledger.drop(never & ~cancelled, "ended without having started")
        early = cancelled & (when >= 0) & (when < submit)
        self.ledger.repair(early, "cancelled before its submit time, cancelled at submit")
        return np.where(cancelled, np.maximum(when, submit), -1)

    def _limits(self) -> IntColumn:
        if "Timelimit" in self.columns:
            return self.columns.ints("Timelimit", fields.parse_limit)
        return self.columns.ints("TimelimitRaw", fields.parse_limit_raw)

    def _assume_unfinished(self, finished: Mask, started: Mask, limit: IntColumn, run: IntColumn) -> IntColumn:
        if self.options["unfinished"] == "drop":
            self.ledger.drop(~finished, "not finished when the log was taken")
            return run
        self.ledger.drop(~finished & (limit <= 0), "not finished when the log was taken, and no time limit to assume")
        self.ledger.repair(~finished & started, "still running when the log was taken, runs to its limit")
        self.ledger.repair(~finished & ~started, "still pending when the log was taken, runs to its limit")
        return np.where(finished, run, np.maximum(limit, np.where(started, run, 0)))

    def _limit_runs(self, state: IntColumn, ran: Mask, limit: IntColumn, run: IntColumn) -> tuple[IntColumn, IntColumn]:
        timeout = ran & (state == _S["TIMEOUT"])
        early = timeout & (limit > 0) & (run < limit - TIMEOUT_EARLY_S)
        bounded = timeout & (limit > 0) & ~early
        self.ledger.repair(bounded, "ended by its limit, run time set one day beyond it")
        self.ledger.repair(early, "TIMEOUT before its limit, ends after its recorded run time")
        self.ledger.repair(timeout & (limit <= 0), "TIMEOUT without a limit, ends after its recorded run time")
        self.ledger.repair(ran & (state == _S["PREEMPTED"]), "preempted, ends after its recorded run time")
        self.ledger.repair(ran & (state == _S["BOOT_FAIL"]), "BOOT_FAIL, replayed as NODE_FAIL")
        over = ran & ~timeout & (limit > 0) & (run > limit)
        if self.options["overrun"] == "cap":
            self.ledger.repair(over, "run time longer than the limit, cut to the limit")
            run = np.where(over, limit, run)
        elif self.options["overrun"] == "extend":
            self.ledger.repair(over, "run time longer than the limit, limit raised to whole minutes above it")
            limit = np.where(over, -(-run // 60) * 60, limit)
        return np.where(bounded, np.maximum(run, limit) + TIMEOUT_SLACK_S, run), limit

    def _late(self, submit: IntColumn, eligible: IntColumn, dependency: TextColumn, array_limit: IntColumn) -> Mask:
        """Return the jobs that get their eligible time as begin time: the log has no other reason why they waited."""
        if self.options["eligible"] == "ignore":
            return np.zeros(len(submit), np.bool_)
        unexplained = [not value for value in dependency.values]
        late = (eligible > submit) & np.array(unexplained, np.bool_)[dependency.codes] & (array_limit < 0)
        self.ledger.repair(late, "eligible later than submitted, begin time set to it")
        return late

    def _dependencies(self, request: Request) -> TextColumn:
        columns = self.columns
        column = columns.text("Dependency") if "Dependency" in columns else request.line_text("dependency")
        if len(column.values) == 1:
            return column
        known = self.ids.known_numbers()
        cleaned = [clean_dependency(text, known.__contains__) for text in column.values]
        lost = np.array([(one.gone, one.strange) for one in cleaned])[column.codes] > 0
        self.ledger.repair(lost[:, 0], "dependency on a job that is not in the log left out")
        self.ledger.repair(lost[:, 1], "dependency of a kind that is not modelled, or not understood, left out")
        index: dict[str, int] = {"": 0}
        remap = np.array([index.setdefault(one.text, len(index)) for one in cleaned], np.int32)
        return TextColumn(remap[column.codes], list(index))

    def _uids(self) -> TextColumn:
        plain = self.columns.text("UID")
        return TextColumn(plain.codes, [f"uid{value}" if value else "" for value in plain.values])

    def _name_what_is_lost(self, request: Request) -> None:
        restarts = self.columns.ints("Restarts", fields.parse_number)
        self.ledger.repair(restarts > 0, "restarted (Restarts > 0), only its last run is replayed")
        for name, mask in request.ignored().items():
            self.ledger.repair(mask, f"submitted with --{name}, which is not modelled: replayed without")
