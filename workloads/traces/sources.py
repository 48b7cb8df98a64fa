"""The records of public traces as they are in their files: rows of CSV or Parquet, or objects of JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from slurmsim.errors import WorkloadError
from slurmsim.parquet_file import open_parquet
from slurmsim_workloads.files import read_line_blocks, reason_of
from slurmsim_workloads.sacct.json_stream import JsonStream
from slurmsim_workloads.traces import cells
from slurmsim_workloads.traces.table import CSV, PARQUET, PHILLY, Trace

Records = Iterator[tuple[str, Mapping[str, Any]]]
MOST_COLUMNS, MOST_ATTEMPTS, MOST_SERVERS = 1000, 10_000, 10_000
_BATCH = 1 << 14


def rows(trace: Trace, path: Path) -> Records:
    """Yield each record of `path` with its place. Raises WorkloadError."""
    if trace.kind == CSV:
        return _csv(trace, path)
    if trace.kind == PARQUET:
        return _parquet(trace, path)
    return _philly(path) if trace.kind == PHILLY else _slurm(path)


def _csv(trace: Trace, path: Path) -> Records:
    names: list[str] | None = None
    read = csv.reader(_lines(path), strict=True)
    try:
        for record in read:
            if names is None:
                names = [name.strip() for name in record]
                if trace.heads and not set(trace.sniffed) <= set(names):
                    names = list(trace.heads)
                    yield f"line {read.line_num}", _named(names, record)
                else:
                    _check(trace, names, path)
            elif record:
                yield f"line {read.line_num}", _named(names, record)
    except csv.Error as error:
        raise WorkloadError(str(error), file=str(path), line=read.line_num, expected="CSV") from None


def _named(names: list[str], record: list[str]) -> Mapping[str, Any]:
    return dict(zip(names, record, strict=False))


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text; quoted cells may have several."""
    first = True
    for block in read_line_blocks(path):
        try:
            text = block.decode("utf-8-sig" if first else "utf-8")
        except UnicodeDecodeError as error:
            raise WorkloadError(f"is no UTF-8 text: {error.reason}", file=str(path)) from None
        first = False
        yield from io.StringIO(text, newline="")


def _check(trace: Trace, names: list[str], path: Path) -> None:
    """Raise WorkloadError if columns that every record needs are missing."""
    needed = [column for ours in ("submit", "start", "run", "end", "nodes") if (column := _theirs(trace, ours))]
    if len(names) > MOST_COLUMNS:
        raise WorkloadError(f"{len(names):,} columns", file=str(path), expected=f"at most {MOST_COLUMNS:,}")
    lacking = [name for name in needed if name not in names]
    if lacking:
        raise WorkloadError("has no such column", file=str(path), field=lacking[0], expected=trace.what)


def _theirs(trace: Trace, ours: str) -> str:
    found = trace.columns.get(ours)
    return "" if found is None else found[0]


def _parquet(trace: Trace, path: Path) -> Records:
    import pyarrow as pa

    try:
        with open_parquet(path) as file:
            there = set(file.schema_arrow.names)
            _check(trace, list(there), path)
            wanted = [theirs for theirs, _ in trace.columns.values() if theirs in there]
            at = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
                for row in batch.to_pylist():
                    yield f"row {at}", row
                    at += 1
    except OSError as error:
        raise WorkloadError(f"cannot be read: {reason_of(error)}", file=str(path), expected="Parquet") from None
    except (pa.ArrowException, ValueError, OverflowError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else "no Parquet"
        raise WorkloadError(said, file=str(path), expected="Parquet") from None


def _philly(path: Path) -> Records:
    """Yield jobs with the nodes and GPUs of their first attempt, and the run times of all attempts.

    Later attempts repeat a job that failed or was preempted; the last one is its run.
    """
    for line, job in JsonStream(path).items():
        place = f"line {line}"
        if not isinstance(job, dict) or not isinstance(job.get("attempts"), list):
            raise WorkloadError(
                "is no job with attempts", file=str(path), line=line, expected="cluster_job_log of Philly"
            )
        yield place, _attempts(job)


def _attempts(job: Mapping[str, Any]) -> Mapping[str, Any]:
    found = {name: job.get(name) for name in ("submitted_time", "user", "vc", "jobid", "status")}
    attempts = [one for one in job["attempts"][:MOST_ATTEMPTS] if isinstance(one, dict)]
    if not attempts:
        return found
    detail = attempts[0].get("detail")
    servers = [one for one in (detail if isinstance(detail, list) else [])[:MOST_SERVERS] if isinstance(one, dict)]
    gpus = [one.get("gpus") for one in servers]
    found["nodes"] = len(servers)
    found["gpus"] = sum(len(one) for one in gpus if isinstance(one, list))
    found["start"], found["end"] = attempts[0].get("start_time"), attempts[-1].get("end_time")
    try:
        spans = [(cells.date(one.get("start_time")), cells.date(one.get("end_time"))) for one in attempts]
    except (ValueError, TypeError):
        return found  # an attempt without a time: what lies between the first start and the last end counts
    *failed, last = [end - start for start, end in spans if end > start] or [0]
    return {**found, "run": last, "failed": failed}


def _slurm(path: Path) -> Records:
    for line, job in JsonStream(path).elements("jobs"):
        if not isinstance(job, dict):
            raise WorkloadError(
                "is no job", file=str(path), line=line, expected="squeue --json or scontrol show job --json"
            )
        yield f"line {line}", _plain(job)


def _plain(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job's values as numbers and texts, as releases from 21.08 to 26.05 print them."""
    found = {name: _value(value) for name, value in job.items()}
    if found.get("start_time") in (0, "0"):
        found["start_time"] = None
    asked = str(found.get("tres_req_str") or "")
    gpus = [item.rpartition("=")[2] for item in asked.split(",") if item.startswith("gres/gpu=")]
    return {**found, "gpus": gpus[0] if gpus else None}


def _value(value: Any) -> Any:
    if isinstance(value, dict) and "number" in value:
        if value.get("infinite"):
            return "UNLIMITED"
        return value["number"] if value.get("set", True) else None
    if isinstance(value, list):
        return value[0] if value and isinstance(value[0], str) else None
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
