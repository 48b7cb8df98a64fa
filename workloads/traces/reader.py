"""One reader of all public traces of `table`: rows of a file become jobs, or are dropped and counted.

A record is dropped if a cell of it cannot be read, if it never ran or was still running, or if it has no size. It is
repaired, and counted, where a requested time, a submission or a whole GPU is missing.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.model.measured import measured_text
from slurmsim.states import FINAL_STATES
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.options import Option, check_options
from slurmsim_workloads.traces import cells, sources
from slurmsim_workloads.traces.table import CSV, Trace

Row = dict[str, Any]
_TYPE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
OPTIONS = (
    Option("gpus", "yes", "whether jobs ask for their GPUs; typed: by type where one is named", ("yes", "typed", "no")),
    Option("memory", "no", "whether jobs ask for their memory", ("no", "yes")),
    Option("power", "series", "the watts of jobs: means of five minutes, one mean, or none", ("series", "mean", "no")),
    Option(
        "failures",
        "yes",
        "jobs fail as often as they did before their last run; no: one run of all their time",
        ("yes", "no"),
    ),
    Option("partitions", "no", "whether jobs ask for the partition they had", ("no", "yes")),
)
_INTS = ("submit", "run_time", "time_limit", "nodes", "tasks", "mem_per_node", "log_start", "log_end")
_TEXTS = ("user", "account", "partition", "qos", "name", "gpus", "outcome", "log_state", "watts", "failed_runs")
_STEP_S = 300  # of a series of watts


class TraceFormat:
    """Reader of one format of the table."""

    suffixes: tuple[str, ...] = ()

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.name = trace.name

    def sniff(self, head: bytes) -> bool:
        """Return True if the first line has the columns that no other format has."""
        if not self.trace.sniffed or self.trace.kind != CSV:
            return False
        first = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
        return set(self.trace.sniffed) <= {name.strip().strip('"') for name in first.split(",")}

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read `path`, with the quality report of what was dropped and repaired.

        Raises
        ------
        WorkloadError
            The file cannot be read, lacks columns, or has no job: file and line are named.
        """
        chosen = check_options(self.name, OPTIONS, options)
        jobs = _Jobs(self.trace, chosen)
        for place, row in sources.rows(self.trace, path):
            jobs.add(place, row)
        if not len(jobs):
            raise WorkloadError("has no job that ran", file=str(path), expected=self.trace.what)
        return jobs.workload(path)

    def write(self, workload: Workload, path: Path) -> None:
        """Raise WorkloadError: other people's formats are read only."""
        raise WorkloadError(f"the {self.name} format is read only", file=str(path), expected="--to parquet, csv or swf")


class _Jobs:
    """The jobs of a trace, column by column."""

    def __init__(self, trace: Trace, options: Mapping[str, str]) -> None:
        self.trace, self.options = trace, options
        self.ints: dict[str, array[int]] = {name: array("q") for name in _INTS}
        self.texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self.ids = array("q")
        self.quality = QualityReport()

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, place: str, cells_of: Mapping[str, Any]) -> None:
        """Take a record in, or drop it."""
        self.quality.records += 1
        row: Row = dict(self.trace.defaults)
        for ours, (theirs, read) in self.trace.columns.items():
            cell = cells_of.get(theirs)
            if cells.is_empty(cell):
                continue
            try:
                row[ours] = read(cell)
            except (ValueError, TypeError, OverflowError):
                self.quality.drop(f"{theirs} cannot be read", 1, f"{place}: {str(cell)[:40]!r}")
                return
        row |= row.pop("tres", {})
        if reason := self._settle(row, place):
            self.quality.drop(reason, 1, place)
            return
        self._keep(row)

    def _settle(self, row: Row, place: str) -> str:
        """Fill in what follows from other cells; return why the record is dropped, or nothing."""
        state = row.get("state", "")
        if state and state not in FINAL_STATES and not (self.trace.deleted and "start" in row and "end" in row):
            return f"still {state} when the log ends"
        if "run" not in row and "start" in row and "end" in row:
            row["run"] = row["end"] - row["start"]
        if "submit" not in row:
            if "start" not in row:
                return "no time of submission"
            row["submit"] = row["start"]
            self.quality.repair("no time of submission, the start taken instead", 1, place)
        if "run" not in row:
            return "never started" if "start" not in row else "no end"
        if row["run"] <= 0:
            return "run time zero"
        if row.get("start", row["submit"]) < row["submit"]:
            return "started before it was submitted"
        if not (row.get("nodes") or row.get("cpus") or row.get("gpus")):
            return "no size"
        self._repair(row, place)
        return ""

    def _repair(self, row: Row, place: str) -> None:
        limit = row.get("limit", -1)
        if self.options["failures"] == "no":
            row["run"] += sum(row.pop("failed", ()))
        if limit in (-1, 0):
            row["limit"] = max(row["run"], *row.get("failed", ()), 0)
            self.quality.repair("no requested time, the run time taken instead", 1, place)
        elif 0 < limit < row["run"]:
            row["run"] = limit
            self.quality.repair("run time longer than requested, cut to the requested time", 1, place)
        nodes = row["nodes"] = max(int(row.get("nodes", 1)), 1)
        gpus = row.get("gpus", 0)
        if gpus != ceil(gpus) or 0 < row.get("part", 1) < 1:
            row["gpus"] = ceil(gpus)
            self.quality.repair("parts of GPUs, whole ones taken", 1, place)
        for name in self.trace.each:
            row[name] = row.get(name, 0) * nodes

    def _keep(self, row: Row) -> None:
        nodes, options, ints = row["nodes"], self.options, self.ints
        start = row.get("start", -1)
        values = {
            "submit": row["submit"], "run_time": row["run"], "time_limit": row["limit"], "nodes": nodes,
            "tasks": max(int(row.get("cpus", 0)), nodes),
            "mem_per_node": -(-int(row["mem"]) // nodes) if options["memory"] == "yes" and row.get("mem") else -1,
            "log_start": start, "log_end": row.get("end", start + row["run"] if start >= 0 else -1),
        }  # fmt: skip
        for name, value in values.items():
            ints[name].append(value)
        self.ids.append(row.get("id", 0))
        state = row.get("state", "")
        told = {name: row.get(name, "") for name in ("user", "account", "qos", "name")}
        told["partition"] = row.get("partition", "") if options["partitions"] == "yes" else ""
        told["failed_runs"] = ",".join(map(str, row.get("failed", ())))
        told["watts"] = self._watts(row)
        told["gpus"] = "" if options["gpus"] == "no" else self._gpus(row)
        told["outcome"] = state if state in ("FAILED", "NODE_FAIL", "OUT_OF_MEMORY") else ""
        told["log_state"] = state if state in FINAL_STATES else ""
        for name, text in told.items():
            self.texts[name].append(text)

    def _watts(self, row: Row) -> str:
        """Return what the job drew; one mean is of all its samples."""
        samples = row.get("watts", ())
        if not samples or self.options["power"] == "no":
            return ""
        each = self.trace.sample_s
        return measured_text(samples, each, _STEP_S if self.options["power"] == "series" else each * len(samples))

    def _gpus(self, row: Row) -> str:
        """Return what --gpus would say: ``4``, or ``a100:4``; types to choose from have no word there."""
        count = int(row.get("gpus", 0))
        kind = str(row.get("gpu_type", "")).lower()
        named = self.options["gpus"] == "typed" and kind and _TYPE.fullmatch(kind)
        return "" if not count else f"{kind}:{count}" if named else str(count)

    def workload(self, path: Path) -> Workload:
        """Return all jobs, with their own numbers if those are numbers and differ, else 1, 2, … by submission."""
        ids = np.array(self.ids, np.int64)
        ints = {name: np.array(column, np.int64) for name, column in self.ints.items()}
        order = np.lexsort((ids, ints["submit"]))
        if not (ids > 0).all() or len(np.unique(ids)) < len(ids):
            if (ids > 0).all():
                self.quality.repair("numbers of jobs come twice, renumbered by submission", len(ids))
            ids[order] = np.arange(1, len(ids) + 1)
        self.quality.jobs = len(ids)
        header = WorkloadHeader(path.name, self.trace.name, fields={"Trace": self.trace.what})
        texts = {name: TextColumn.from_list(column) for name, column in self.texts.items()}
        return Workload({"job_id": ids, **ints}, texts, header, self.quality).take(order)
