"""Writing SWF: which parts of a workload its 18 columns hold, and the file itself."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slurmsim.errors import WorkloadError
from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, TextColumn, Workload, constant
from slurmsim_workloads.files import replacing
from slurmsim_workloads.swf.header import named_numbers

IntColumn = npt.NDArray[np.int64]

_HELD_INTS = frozenset(
    {"job_id", "submit", "run_time", "time_limit", "tasks", "mem_per_cpu", "cancel_at", "exit_code", "think_after",
     "depends_on", "log_start", "log_end"}
)  # fmt: skip
_HELD_TEXTS = frozenset({"name", "user", "account", "partition", "outcome", "log_state"})
_KIB = 1024
# What a header line of the log itself would contradict: written anew.
_OWN_FIELDS = ("Version", "UnixStartTime", "MaxJobs", "MaxRecords", "MaxNodes", "MaxProcs")


def reduce_to_swf(workload: Workload) -> tuple[Workload, list[str]]:
    """Return the part of `workload` an SWF file holds, and what is left out, as ``"gres (12 jobs)"``.

    Tasks times CPUs a task become processors; a request given in nodes alone becomes one processor a node. Exit codes
    are kept as zero or not zero, end states as completed, failed or cancelled. A cancel time is held for a job that
    never ran, as its wait.
    """
    ints, texts, lost = dict(workload.ints), dict(workload.texts), []
    n = len(workload)

    def lose(what: str, mask: npt.NDArray[np.bool_]) -> None:
        if count := int(np.count_nonzero(mask)):
            lost.append(f"{what} ({count} {'job' if count == 1 else 'jobs'})")

    ints["tasks"] = _processors(workload)
    for name, (_, default) in INT_COLUMNS.items():
        if name not in _HELD_INTS:
            lose(name, ints[name] != default)
            ints[name] = constant(n, default)
    for name in TEXT_COLUMNS:
        if name not in _HELD_TEXTS:
            lose(name, _filled(texts[name]))
            texts[name] = TextColumn.constant(n)

    pending = (ints["run_time"] < 0) & (ints["cancel_at"] > ints["submit"])
    early = (ints["cancel_at"] >= 0) & ~pending
    lose("cancel_at", early)
    ints["cancel_at"] = np.where(early, -1, ints["cancel_at"])
    lose("time_limit UNLIMITED", ints["time_limit"] == -2)
    ints["time_limit"] = np.where(ints["time_limit"] == -2, -1, ints["time_limit"])
    lose("mem_per_cpu 0", ints["mem_per_cpu"] == 0)
    ints["mem_per_cpu"] = np.where(ints["mem_per_cpu"] == 0, -1, ints["mem_per_cpu"])
    lose("exit_code above 1", ints["exit_code"] > 1)

    status = _status(Workload(ints, texts))
    lose("outcome", _filled(texts["outcome"]) & ~_is(texts["outcome"], {"COMPLETED", "FAILED", "CANCELLED"}))
    lose("log_state", _filled(texts["log_state"]) & ~_is(texts["log_state"], {"COMPLETED", "FAILED", "CANCELLED"}))
    ints["exit_code"] = (status == 0).astype(np.int64)
    outcome = np.select([status == 0, (status == 5) & ~pending], [1, 2], 0).astype(np.int32)
    texts["outcome"] = TextColumn(outcome, ["", "FAILED", "CANCELLED"])
    state = np.select([status == 0, status == 5, status == 1], [1, 2, 3], 0).astype(np.int32)
    texts["log_state"] = TextColumn(state, ["", "FAILED", "CANCELLED", "COMPLETED"])
    started = ints["log_start"] >= ints["submit"]
    ints["log_start"] = np.where(started & ~pending, ints["log_start"], -1)
    lose("log_start", (workload.ints["log_start"] >= 0) & (ints["log_start"] < 0))
    ints["log_end"] = np.where(pending, ints["cancel_at"], _recorded_end(ints))
    lose("log_end", (workload.ints["log_end"] >= 0) & (workload.ints["log_end"] != ints["log_end"]))
    ints["think_after"] = np.where(ints["depends_on"] > 0, np.maximum(ints["think_after"], 0), -1)
    return Workload(ints, texts, workload.header, workload.quality), lost


def write_swf(workload: Workload, path: Path) -> None:
    """Write `workload` to `path`.

    Raises
    ------
    WorkloadError
        Something of it does not fit into SWF.
    OutputError
        The file cannot be written.
    """
    reduced, lost = reduce_to_swf(workload)
    if lost:
        raise WorkloadError(
            f"SWF cannot hold {', '.join(lost)}", file=str(path), expected="parquet, or --lossy to leave it out"
        )
    known = {name: number for number, name in named_numbers(workload.header, "partition").items()}
    partitions, partition_names = _numbers(reduced.texts["partition"], "partition", known)
    text = "".join(f"; {line}\n" for line in _header_lines(workload, partition_names)).encode()
    body = _body(reduced, partitions)
    with replacing(path) as temporary:
        if path.suffix == ".gz":
            # no name and no time inside: same input, same bytes
            with open(temporary, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                packed.write(text + body)
        else:
            temporary.write_bytes(text + body)


def _recorded_end(ints: dict[str, IntColumn]) -> IntColumn:
    """End of the run as SWF tells it: start plus run time, or the recorded end of a job that was cut to its limit."""
    start, run, end = ints["log_start"], np.maximum(ints["run_time"], 0), ints["log_end"]
    cut = (run == ints["time_limit"]) & (end > start + run)
    return np.where(start >= 0, np.where(cut, end, start + run), -1)


def _processors(workload: Workload) -> IntColumn:
    tasks, nodes, each = (workload.ints[c] for c in ("tasks", "nodes", "cpus_per_task"))
    per_node = np.maximum(workload.ints["tasks_per_node"], 1)
    return np.where(tasks > 0, tasks, np.maximum(nodes, 1) * per_node) * np.maximum(each, 1)


def _filled(column: TextColumn) -> npt.NDArray[np.bool_]:
    return np.array([bool(v) for v in column.values], np.bool_)[column.codes]


def _is(column: TextColumn, values: set[str] | frozenset[str]) -> npt.NDArray[np.bool_]:
    return np.array([v in values for v in column.values], np.bool_)[column.codes]


def _status(workload: Workload) -> IntColumn:
    """SWF column 11: 1 completed, 0 failed, 5 cancelled, -1 unknown (a workload without a recorded end)."""
    ints, outcome, state = workload.ints, workload.texts["outcome"], workload.texts["log_state"]
    cancelled = (ints["cancel_at"] >= 0) | _is(outcome, {"CANCELLED"})
    bad = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY"})
    failed = (ints["exit_code"] > 0) | (ints["exit_signal"] > 0) | _is(outcome, bad)
    completed = _is(state, {"COMPLETED"}) | _is(outcome, {"COMPLETED"})
    return np.select([cancelled, failed, completed], [5, 0, 1], -1).astype(np.int64)


def _numbers(column: TextColumn, prefix: str, known: dict[str, int] | None = None) -> tuple[IntColumn, dict[int, str]]:
    """Texts as SWF numbers: ``user12`` is 12 when all are like that, else 1, 2, … in the order of the table."""
    used = np.unique(column.codes)
    texts = [column.values[c] for c in used if column.values[c]]
    pattern = re.compile(re.escape(prefix) + r"(0|[1-9]\d{0,15})")
    matches = [pattern.fullmatch(t) for t in texts]
    numbers = {t: int(m[1]) for t, m in zip(texts, matches, strict=True) if m}
    if known:
        numbers |= {t: known[t] for t in texts if t in known}
    if len(numbers) < len(texts) or len(set(numbers.values())) < len(texts):
        numbers = {t: i for i, t in enumerate(texts, 1)}
    table = np.array([numbers.get(v, -1) for v in column.values], np.int64)
    return table[column.codes], {number: text for text, number in numbers.items()}


def _header_lines(workload: Workload, partitions: dict[int, str]) -> list[str]:
    header = workload.header
    own: dict[str, int | str] = {
        "Version": "2.2",
        "UnixStartTime": header.epoch,
        "MaxJobs": len(workload),
        "MaxRecords": len(workload),
    }
    if header.max_nodes:
        own["MaxNodes"] = header.max_nodes
    if header.max_procs:
        own["MaxProcs"] = header.max_procs
    lines = [f"{key}: {value}" for key, value in own.items()]
    for key, value in header.fields.items():
        if key not in _OWN_FIELDS and not (key == "Partition" and partitions):
            lines += [f"{key}: {part}" for part in value.split("\n")]
    return lines + [f"Partition: {number} {name}" for number, name in sorted(partitions.items())]


def _body(workload: Workload, partitions: IntColumn) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    ints = workload.ints
    unknown = pa.scalar("-1")
    pending = ints["cancel_at"] >= 0
    # a job cut to its limit is written as recorded; reading cuts it again
    run = np.where(ints["log_start"] >= 0, ints["log_end"] - ints["log_start"], ints["run_time"])
    wait = np.where(ints["log_start"] >= 0, ints["log_start"] - ints["submit"], -1)
    wait = np.where(pending, ints["cancel_at"] - ints["submit"], wait)
    memory = np.where(ints["mem_per_cpu"] > 0, ints["mem_per_cpu"] * _KIB, -1)
    columns: list[IntColumn | None] = [
        ints["job_id"], ints["submit"], wait, run, ints["tasks"], None, None, ints["tasks"],
        np.where(ints["time_limit"] > 0, ints["time_limit"], -1), memory, _status(workload),
        _numbers(workload.texts["user"], "user")[0], _numbers(workload.texts["account"], "group")[0],
        _numbers(workload.texts["name"], "app")[0], None, partitions, ints["depends_on"], ints["think_after"],
    ]  # fmt: skip
    texts = [unknown if c is None else pa.array(c).cast(pa.string()) for c in columns]
    lines = pc.binary_join_element_wise(*texts, " ").to_pylist()
    return ("\n".join(lines) + "\n").encode() if lines else b""
