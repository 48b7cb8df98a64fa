"""The Standard Workload Format: what its 18 columns mean for a Slurm job, and what is repaired on the way.

Size: a job of p processors becomes p tasks of one CPU; the simulated cluster decides how many nodes that takes.
Missing values are -1 in SWF. With the default options the jobs are those of the normal form in which simulators are
compared. Job numbers and times stay the log's own, and:

- processors = requested (else allocated);
- requested time = column 9 (else the run time);
- run time = min(run time, requested time);
- jobs with a run time <= 0, without processors, or larger than the machine are dropped.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, section 2;
oddities of real logs: Feitelson, Tsafrir, Krakov, "Experience with using the Parallel Workloads Archive", JPDC 74(10),
2014, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.dependencies import first_in_a_loop
from slurmsim_workloads.options import Option, check_options, number_map, whole_number
from slurmsim_workloads.quality import Ledger
from slurmsim_workloads.swf import table as swf
from slurmsim_workloads.swf.header import named_numbers, parse_header
from slurmsim_workloads.swf.write import reduce_to_swf, write_swf

IntColumn = npt.NDArray[np.int64]

OPTIONS = (
    Option("procs", "requested", "which processor count is the job's size", ("requested", "allocated")),
    Option("overrun", "cap", "run time above the requested time: cut it, raise the request, or leave both",
           ("cap", "extend", "keep")),
    Option("cancelled", "drop", "jobs cancelled while pending", ("drop", "keep")),
    Option("memory", "no", "take the memory request from column 10, or from column 7", ("no", "yes", "used")),
    Option("memory_unit", "kb", "unit of the memory columns, per processor", ("kb", "bytes")),
    Option("partitions", "none", "column that names the Slurm partition", ("none", "queue", "partition")),
    Option("map", "", "names of the queue or partition numbers: 1:debug,2:batch"),
    Option("dependencies", "yes", "use preceding job and think time", ("yes", "no")),
    Option("max_procs", "", "processors of the machine instead of the header's; 0: unknown, drop nothing"),
    Option("duplicates", "error", "job numbers given twice", ("error", "first", "last")),
    Option("ids", "keep", "job numbers: the log's, or 1, 2, … by submit time", ("keep", "renumber")),
    Option("extra", "error", "columns beyond the 18th", ("error", "ignore")),
)  # fmt: skip

_MIB_PER = {"kb": 1024, "bytes": 1024 * 1024}


class SwfFormat:
    """Reader and writer of SWF, plain or gzip."""

    name = "swf"
    suffixes: tuple[str, ...] = (".swf", ".swf.gz")

    def sniff(self, head: bytes) -> bool:
        """Return True if the first line that is neither empty nor a comment has at least 18 numbers."""
        for line in head.splitlines():
            if line.strip() and not line.lstrip().startswith(b";"):
                fields = line.split()
                return len(fields) >= 18 and all(_is_number(f) for f in fields[:18])
        return b"; UnixStartTime" in head or b"; MaxProcs" in head

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read a log; see the module's head for the rules and `OPTIONS` for what can be changed.

        Raises
        ------
        WorkloadError
            A line is not SWF, a size is negative, a job number is used twice, or no job is left.
        ConfigError
            An option is unknown or has a wrong value.
        """
        chosen = check_options(self.name, OPTIONS, options)
        table = swf.read_table(path, ignore_extra=chosen["extra"] == "ignore")
        return _Reading(path, table, chosen).workload()

    def reduce(self, workload: Workload) -> tuple[Workload, list[str]]:
        """Return the part of `workload` that SWF can hold, and what it cannot, as ``"gres (12 jobs)"``."""
        return reduce_to_swf(workload)

    def write(self, workload: Workload, path: Path) -> None:
        """Write a log with header; a name that ends in ``.gz`` is compressed.

        Raises
        ------
        WorkloadError
            The workload has something SWF cannot hold (see `reduce`).
        OutputError
            The file cannot be written.
        """
        write_swf(workload, path)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Reading:
    """One pass over a table; each step looks at the records the steps before it kept."""

    def __init__(self, path: Path, table: swf.SwfTable, options: Mapping[str, str]) -> None:
        self.path, self.table, self.options = path, table, options
        self.header: WorkloadHeader = parse_header(table.comments)
        self.header.source, self.header.format = path.name, SwfFormat.name
        given = whole_number(options, "max_procs")
        if given is not None:
            self.header.max_procs = given
        self._all: npt.NDArray[np.intp] | None = None  # the rows of a log of which all records count, in order
        self.report = QualityReport(records=len(table.lines))
        self.ledger = Ledger(self.report, len(table.lines), self._place)

    def workload(self) -> Workload:
        if not len(self.table.lines):
            raise WorkloadError("holds no job", file=str(self.path), expected="lines of 18 columns")
        self._note_fractions()
        self._partial_records()
        self._job_numbers()
        procs = self._sizes()
        self._times()
        pending = self._never_ran()
        self._too_large(procs)
        rows = np.flatnonzero(self.ledger.keep)
        if not len(rows):
            why = "; ".join(f"{reason}: {count}" for reason, count in self.report.dropped.items())
            raise WorkloadError(f"no job is left of {self.report.records} records ({why})", file=str(self.path))
        submit = self._column(swf.SUBMIT, rows)
        self._note_order(rows, submit)
        rows = _in_order(rows, submit, self._column(swf.JOB, rows))
        if len(rows) == len(self.table.lines) and (rows[1:] > rows[:-1]).all():
            self._all = rows
        result = self._columns(rows, procs[rows], pending[rows])
        if self.options["ids"] == "renumber":
            self._renumber(result)
        self.report.jobs = len(result)
        return result

    def _column(self, index: int, rows: npt.NDArray[np.intp] | None = None) -> IntColumn:
        column = self.table.values[:, index]
        if rows is None:
            return column
        return column.copy() if rows is self._all else column[rows]

    def _place(self, i: int) -> str:
        return f"line {self.table.lines[i]}: job {self.table.values[i, swf.JOB]}"

    def _fail(self, i: int, column: int, message: str, expected: str | None = None) -> WorkloadError:
        return WorkloadError(
            message,
            file=str(self.path),
            line=int(self.table.lines[i]),
            field=f"column {column + 1} ({swf.COLUMNS[column]})",
            expected=expected,
        )

    def _note_fractions(self) -> None:
        for column, lines in sorted(self.table.rounded.items()):
            if column != swf.CPU:  # the format allows fractions there, and nothing uses the column
                reason = f"{swf.COLUMNS[column]} rounded to a whole number"
                self.report.repair(reason, len(lines), f"line {lines[0]}")

    def _partial_records(self) -> None:
        """Drop the records of statuses 2 to 4 of a checkpointed job that has a summary record of status 0 or 1."""
        status, job = self._column(swf.STATUS), self._column(swf.JOB)
        partial = (status >= 2) & (status <= 4)
        if partial.any():
            whole = np.unique(job[~partial])
            self.ledger.drop(partial & np.isin(job, whole), "partial execution (status 2-4) of another record")

    def _job_numbers(self) -> None:
        job, keep = self._column(swf.JOB), self.ledger.keep
        if self.options["ids"] == "renumber":
            return
        bad = np.flatnonzero(keep & (job <= 0))
        if len(bad):
            i = int(bad[0])
            raise self._fail(
                i, swf.JOB, f"{job[i]} is not a job number", "a number > 0; option ids=renumber gives new ones"
            )
        rows = np.flatnonzero(keep)
        numbers = job if len(rows) == len(job) else job[rows]
        if (numbers[1:] > numbers[:-1]).all():  # as in most logs
            return
        order = rows[np.argsort(numbers, kind="stable")]
        same = job[order[1:]] == job[order[:-1]]
        if not same.any():
            return
        rule = self.options["duplicates"]
        if rule == "error":
            i = int(order[1:][same].min())
            first = int(rows[np.argmax(job[rows] == job[i])])
            raise self._fail(
                i,
                swf.JOB,
                f"job {job[i]} is already on line {self.table.lines[first]}",
                "each job once; option duplicates=first or duplicates=last picks one",
            )
        losers = np.zeros(len(job), np.bool_)
        losers[order[1:][same] if rule == "first" else order[:-1][same]] = True
        self.ledger.drop(losers, f"job number given twice, the {rule} record counts")

    def _sizes(self) -> IntColumn:
        allocated, requested = self._column(swf.PROCS), self._column(swf.REQ_PROCS)
        for column, values in ((swf.PROCS, allocated), (swf.REQ_PROCS, requested)):
            bad = np.flatnonzero(self.ledger.keep & (values < -1))
            if len(bad):
                raise self._fail(
                    int(bad[0]), column, f"negative size {values[bad[0]]}", "a number > 0, or -1 for unknown"
                )
        if self.options["procs"] == "allocated":
            requested, allocated = allocated, requested
        procs = np.where(requested > 0, requested, allocated)
        self.ledger.drop(procs <= 0, "no processors")
        return procs

    def _times(self) -> None:
        submit = self._column(swf.SUBMIT)
        bad = np.flatnonzero(self.ledger.keep & (submit < -1))
        if len(bad):
            raise self._fail(int(bad[0]), swf.SUBMIT, f"negative time {submit[bad[0]]}", "seconds >= 0")
        self.ledger.drop(submit == -1, "no submit time")

    def _never_ran(self) -> npt.NDArray[np.bool_]:
        """Drop records without a run time; mark those kept as cancelled while pending."""
        run, wait, status = (self._column(c) for c in (swf.RUN, swf.WAIT, swf.STATUS))
        cancelled = self.ledger.keep & (status == 5) & (run <= 0)
        pending = np.zeros(len(run), np.bool_)
        if self.options["cancelled"] == "keep":
            pending = cancelled & (wait > 0)
        self.ledger.drop(cancelled & ~pending, "cancelled without having run")
        self.ledger.drop((run == 0) & ~pending, "run time zero")
        self.ledger.drop((run < 0) & ~pending, "no run time")
        return pending

    def _too_large(self, procs: IntColumn) -> None:
        if self.header.max_procs > 0:
            self.ledger.drop(
                procs > self.header.max_procs, f"larger than the machine ({self.header.max_procs} processors)"
            )

    def _columns(self, rows: npt.NDArray[np.intp], procs: IntColumn, pending: npt.NDArray[np.bool_]) -> Workload:
        job, submit, wait, status = (self._column(c, rows) for c in (swf.JOB, swf.SUBMIT, swf.WAIT, swf.STATUS))
        run, limit = self._run_and_limit(rows, pending)
        recorded = self._column(swf.RUN, rows)
        start = np.where((wait >= 0) & ~pending, submit + wait, -1)
        ints: dict[str, IntColumn] = {
            "job_id": job,
            "submit": submit,
            "run_time": np.where(pending, -1, run),
            "time_limit": limit,
            "tasks": procs,
            "cancel_at": np.where(pending, submit + wait, -1),
            "exit_code": (status == 0).astype(np.int64),
            "log_start": start,
            "log_end": np.where(pending, submit + wait, np.where(start >= 0, start + recorded, -1)),
        }
        if self.options["memory"] != "no":
            ints["mem_per_cpu"] = self._memory(rows)
        self._dependencies(rows, ints)
        outcome = np.select([status == 0, (status == 5) & ~pending], [1, 2], 0).astype(np.int32)
        log_state = np.select([status == 0, status == 5, status == 1], [1, 2, 3], 0).astype(np.int32)
        states = ["", "FAILED", "CANCELLED", "COMPLETED"]
        texts = {
            "user": _coded(self._column(swf.USER, rows), "user"),
            "account": _coded(self._column(swf.GROUP, rows), "group"),
            "name": _coded(self._column(swf.EXECUTABLE, rows), "app"),
            "partition": self._partitions(rows),
            "outcome": TextColumn(outcome, states[:3]),
            "log_state": TextColumn(log_state, states),
        }
        return Workload(ints, texts, self.header, self.report)

    def _run_and_limit(self, rows: npt.NDArray[np.intp], pending: npt.NDArray[np.bool_]) -> tuple[IntColumn, IntColumn]:
        run, requested = self._column(swf.RUN, rows).copy(), self._column(swf.REQ_TIME, rows)
        limit = np.where(requested > 0, requested, np.where(pending, -1, run))
        self._repair(rows, (requested <= 0) & ~pending, "no requested time, the run time taken instead")
        over = (run > limit) & ~pending
        if self.options["overrun"] == "cap":
            self._repair(rows, over, "run time longer than requested, cut to the requested time")
            run = np.where(over, limit, run)
        elif self.options["overrun"] == "extend":
            self._repair(rows, over, "run time longer than requested, requested time raised to it")
            limit = np.where(over, run, limit)
        return run, limit

    def _repair(self, rows: npt.NDArray[np.intp], mask: npt.NDArray[np.bool_], reason: str) -> None:
        full = np.zeros(len(self.ledger.keep), np.bool_)
        full[rows] = mask
        self.ledger.repair(full, reason)

    def _note_order(self, rows: npt.NDArray[np.intp], submit: IntColumn) -> None:
        late = np.zeros(len(rows), np.bool_)
        late[1:] = submit[1:] < np.maximum.accumulate(submit)[:-1]
        self._repair(rows, late, "submitted before the job on an earlier line, sorted")

    def _memory(self, rows: npt.NDArray[np.intp]) -> IntColumn:
        column = self._column(swf.REQ_MEM if self.options["memory"] == "yes" else swf.MEM, rows)
        unit = _MIB_PER[self.options["memory_unit"]]
        return np.where(column > 0, -(-column // unit), -1)

    def _partitions(self, rows: npt.NDArray[np.intp]) -> TextColumn:
        choice, names = self.options["partitions"], number_map(self.options, "map")
        if choice == "none":
            if names:
                raise ConfigError(
                    "needs to know which column to map", field="map", expected="option partitions=queue too"
                )
            return TextColumn.constant(len(rows))
        index = swf.QUEUE if choice == "queue" else swf.PARTITION
        column = self._column(index, rows)
        if names:
            unknown = np.flatnonzero((column >= 0) & ~np.isin(column, list(names)))
            if len(unknown):
                i = int(unknown[0])
                raise self._fail(
                    int(rows[i]), index, f"{choice} {column[i]} is not in the option map={self.options['map']}"
                )
        return _coded(column, choice, names or named_numbers(self.header, choice))

    def _dependencies(self, rows: npt.NDArray[np.intp], ints: dict[str, IntColumn]) -> None:
        preceding = self._column(swf.PRECEDING, rows)
        if self.options["dependencies"] == "no" or not (preceding > 0).any():
            return
        job = ints["job_id"]
        if len(np.unique(job)) != len(job):
            raise WorkloadError(
                "preceding jobs cannot be told apart: job numbers repeat", file=str(self.path),
                expected="option dependencies=no with ids=renumber",
            )  # fmt: skip
        known = np.isin(preceding, job)
        self._repair(rows, (preceding > 0) & ~known, "preceding job is not among the jobs, dependency left out")
        depends = np.where((preceding > 0) & known, preceding, -1)
        loop = first_in_a_loop(job, depends)
        if loop is not None:
            raise self._fail(
                int(rows[loop]), swf.PRECEDING, f"job {job[loop]} waits for itself through job {depends[loop]}",
                "no circular dependencies; option dependencies=no ignores them",
            )  # fmt: skip
        ints["depends_on"] = depends
        ints["think_after"] = np.where(depends > 0, np.maximum(self._column(swf.THINK, rows), 0), -1)

    def _renumber(self, workload: Workload) -> None:
        old = workload.ints["job_id"]
        new = np.arange(1, len(old) + 1, dtype=np.int64)
        depends = workload.ints["depends_on"]
        if (depends > 0).any():
            order = np.argsort(old)
            found = order[np.minimum(np.searchsorted(old[order], depends), len(old) - 1)]
            workload.ints["depends_on"] = np.where(depends > 0, new[found], -1)
        workload.ints["job_id"] = new
        self.report.repair("job number renewed", len(new))


def _coded(column: IntColumn, prefix: str, names: Mapping[int, str] | None = None) -> TextColumn:
    """Numbers as names: `names[n]`, else prefix and number; negative numbers are the empty text."""
    numbers, codes = _distinct(column)
    used = [int(n) for n in numbers]
    texts = ["" if n < 0 else (names or {}).get(n, f"{prefix}{n}") for n in used]
    index: dict[str, int] = {"": 0}
    table = np.array([index.setdefault(text, len(index)) for text in texts], np.int32)
    return TextColumn(table[codes], list(index))


def _distinct(column: IntColumn) -> tuple[IntColumn, npt.NDArray[np.intp]]:
    """Return the numbers in `column`, sorted, and the place of each of its values among them.

    A table of all numbers between the least and the greatest takes a tenth of the time of sorting them.
    """
    low = int(column.min())
    span = int(column.max()) - low + 1
    if span > 4 * len(column):
        return np.unique(column, return_inverse=True)
    at = column - low
    there = np.zeros(span, np.bool_)
    there[at] = True
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[at]


def _in_order(rows: npt.NDArray[np.intp], submit: IntColumn, job: IntColumn) -> npt.NDArray[np.intp]:
    """Return `rows` by submit time, then by job number."""
    later = submit[1:] > submit[:-1]
    if (later | ((submit[1:] == submit[:-1]) & (job[1:] >= job[:-1]))).all():
        return rows
    return rows[np.lexsort((job, submit))]
