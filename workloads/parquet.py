"""Workloads in slurmsim's own Parquet schema: every column of the workload port, texts dictionary-coded.

The file's key-value metadata hold one JSON object under ``slurmsim.workload``: schema version, header, quality
report. A file made by other tools needs only ``job_id`` and ``submit`` of the right kind: missing columns take their
defaults, empty cells too; unknown columns are refused, since leaving one out would change the jobs in silence.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from slurmsim.errors import WorkloadError
from slurmsim.json_text import loads
from slurmsim.parquet_file import open_parquet
from slurmsim.workload import (
    ADDED,
    INT_COLUMNS,
    TEXT_COLUMNS,
    QualityReport,
    TextColumn,
    Workload,
    WorkloadHeader,
    compact,
)
from slurmsim_workloads.dependencies import first_in_a_loop, loop_error, waiting_for_itself
from slurmsim_workloads.files import reason_of, replacing
from slurmsim_workloads.options import Option, check_options
from slurmsim_workloads.quality import format_problem_row

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

IntColumn = npt.NDArray[np.int64]
Number = TypeVar("Number", np.int32, np.int64)

SCHEMA_VERSION = 2
METADATA_KEY = b"slurmsim.workload"
ROW_GROUP = 1 << 17
REQUIRED = ("job_id", "submit")
OPTIONS: tuple[Option, ...] = ()

# Smallest value a column may hold. Everything else in the column must be at least that.
_LOWEST: dict[str, int] = {
    "job_id": 1, "submit": 0, "run_time": -1, "time_limit": -2, "time_min": -1, "nodes": -1, "nodes_max": -1,
    "min_nodes": -1, "max_nodes": -1,
    "tasks": -1, "cpus_per_task": 1, "tasks_per_node": -1, "mem_per_node": -1, "mem_per_cpu": -1, "begin": -1,
    "nice": -2_147_483_645, "priority": -1, "deadline": -1, "cancel_at": -1, "exit_code": 0, "exit_signal": 0,
    "array_job_id": -1, "array_task_id": -1, "array_limit": -1, "think_after": -1, "depends_on": -1, "log_eligible": -1,
    "log_start": -1, "log_end": -1,
}  # fmt: skip
_POSITIVE_OR_MISSING = ("nodes", "nodes_max", "min_nodes", "max_nodes", "tasks", "tasks_per_node")
_FLAGS = ("malleable", "exclusive", "oversubscribe", "contiguous", "hold", "requeue")


class ParquetFormat:
    """Reader and writer of the workload schema as Parquet."""

    name = "parquet"
    suffixes: tuple[str, ...] = (".parquet",)

    def sniff(self, head: bytes) -> bool:
        """Return True if the file has Parquet's magic."""
        return head.startswith(b"PAR1")

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read and check a workload.

        Raises
        ------
        WorkloadError
            No Parquet file, a newer schema version, an unknown or missing column, a wrong type, or a value out of
            range; file, column and row are named (rows count from 0, as pandas shows them).
        """
        import pyarrow as pa

        check_options(self.name, OPTIONS, options)
        try:
            with open_parquet(path) as file:
                schema = file.schema_arrow
                header, quality = _metadata(schema.metadata or {}, path)
                check_names(schema.names, path)
                # one after the other: a year of a big machine is not there twice
                columns = ((name, _column(file, name, path)) for name in schema.names)
                return _workload(columns, path, header, quality)
        except OSError as error:
            raise WorkloadError(f"cannot be read: {reason_of(error)}", file=str(path)) from None
        except (pa.ArrowException, UnicodeDecodeError) as error:  # names that are no UTF-8 come as the latter
            raise WorkloadError(f"is no intact Parquet file: {_first_line(error)}", file=str(path)) from None

    def write(self, workload: Workload, path: Path) -> None:
        """Write all columns; same workload, same bytes.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        import pyarrow.parquet as pq

        table = to_table(workload)
        with replacing(path) as temporary:
            pq.write_table(table, temporary, compression="zstd", row_group_size=ROW_GROUP)


def _column(file: pq.ParquetFile, name: str, path: Path) -> pa.ChunkedArray:
    """One column. Raises WorkloadError where a damaged file has other rows of it than it says."""
    column = file.read([name], use_threads=False).column(0)
    rows = file.metadata.num_rows
    if len(column) != rows:
        raise WorkloadError(f"has {len(column)} rows", file=str(path), field=name, expected=f"the {rows} of the file")
    return column


def from_table(table: pa.Table, path: Path, header: WorkloadHeader) -> Workload:
    """Return the workload in a table of known columns; `path` names it in errors. Raises WorkloadError."""
    return _workload(zip(table.column_names, table.columns, strict=True), path, header)


def _workload(
    columns: Iterable[tuple[str, pa.ChunkedArray]], path: Path, header: WorkloadHeader,
    quality: QualityReport | None = None,
) -> Workload:  # fmt: skip
    """Return the workload of columns with known names, of which each is needed but once."""
    ints: dict[str, IntColumn] = {}
    texts: dict[str, TextColumn] = {}
    for name, column in columns:
        if name in INT_COLUMNS:
            ints[name] = compact(_int_column(column, name, path))
        else:
            text = _text_column(column, name, path)
            texts[name] = TextColumn(compact(text.codes), text.values)
    n = len(ints["job_id"])
    workload = Workload(ints, texts, header, quality or QualityReport(records=n, jobs=n))
    _check_values(workload, path)
    return workload.sorted()


def from_frame(frame: Any, name: str = "a DataFrame") -> Workload:
    """Return the workload in a pandas frame with the columns of the schema; its index does not count.

    Whole numbers may be floats with NaN for empty cells, as pandas makes them; times may be dates (UTC where they have
    no zone). Raises WorkloadError.
    """
    import pyarrow as pa

    path = Path(name)
    if not hasattr(frame, "columns"):
        raise WorkloadError(f"{type(frame).__name__} is no workload", expected="a path or a pandas DataFrame")
    check_names([str(column) for column in frame.columns], path)
    arrays = {str(column): _plain(frame[column], str(column), path) for column in frame.columns}
    return from_table(pa.table(arrays), path, WorkloadHeader(source=name, format="dataframe"))


def _plain(series: Any, name: str, path: Path) -> pa.Array:
    """Return a column as integers or texts: of dates their Unix seconds, of floats whole numbers."""
    import pyarrow as pa

    if name in INT_COLUMNS:
        if series.dtype.kind == "M":
            utc = (
                series
                if getattr(series.dtype, "tz", None) is None
                else series.dt.tz_convert("UTC").dt.tz_localize(None)
            )
            series = utc.astype("datetime64[s]").astype("int64").astype("Int64").mask(utc.isna())
        elif series.dtype.kind == "f":
            broken = series.notna() & (series % 1 != 0)
            if broken.any():
                row = int(np.argmax(broken.to_numpy(bool)))
                raise WorkloadError(f"row {row}: {series.iloc[row]}", file=str(path), field=name,
                                    expected="a whole number")  # fmt: skip
            series = series.astype("Int64")
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        raise WorkloadError(f"cannot be read: {_first_line(error)}", file=str(path), field=name) from None


def digest(workload: Workload) -> str:
    """SHA-256 of the workload as a file of this format would hold it."""
    import hashlib
    import io

    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(to_table(workload), out, compression="zstd", row_group_size=ROW_GROUP)
    return hashlib.sha256(out.getvalue()).hexdigest()


def to_table(workload: Workload) -> pa.Table:
    """Return the workload as an Arrow table with its metadata."""
    import pyarrow as pa

    from slurmsim.trace.columns import coded_array, int_array

    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []
    told = _told(workload)
    for name in INT_COLUMNS:
        if name not in told:
            continue
        fields.append(pa.field(name, pa.int64(), nullable=False))
        arrays.append(int_array(workload.ints[name], nullable=False))
    for name in TEXT_COLUMNS:
        if name not in told:
            continue
        column = canonical(workload.texts[name])
        fields.append(pa.field(name, pa.dictionary(pa.int32(), pa.string()), nullable=False))
        arrays.append(coded_array(column.codes, column.values))
    about = {
        "version": SCHEMA_VERSION,
        "header": asdict(workload.header),
        "quality": asdict(workload.quality),
    }
    metadata = {METADATA_KEY: json.dumps(about, sort_keys=True, ensure_ascii=False).encode()}
    return pa.table(arrays, schema=pa.schema(fields, metadata=metadata))


def _told(workload: Workload) -> set[str]:
    """Columns a file of the workload has: all, but those of `ADDED` that say nothing."""
    silent = {name for name in ADDED if name in INT_COLUMNS and (workload.ints[name] == INT_COLUMNS[name][1]).all()}
    silent |= {name for name in ADDED if name in TEXT_COLUMNS and workload.texts[name].is_silent()}
    return {*INT_COLUMNS, *TEXT_COLUMNS} - silent


def canonical(column: TextColumn) -> TextColumn:
    """Return the same texts with a table that holds each used text once, in order of first appearance, "" first."""
    used, first = np.unique(column.codes, return_index=True)
    index: dict[str, int] = {"": 0}
    remap = np.zeros(len(column.values), np.int32)
    for code in used[np.argsort(first)].tolist():
        remap[code] = index.setdefault(column.values[code], len(index))
    return TextColumn(remap[column.codes], list(index))


def _metadata(metadata: Mapping[bytes, bytes], path: Path) -> tuple[WorkloadHeader, QualityReport | None]:
    raw = metadata.get(METADATA_KEY)
    if raw is None:
        return WorkloadHeader(source=path.name, format=ParquetFormat.name), None
    try:
        about: dict[str, Any] = loads(raw)
        version = int(about["version"])
        if version > SCHEMA_VERSION:
            raise WorkloadError(
                f"workload schema version {version}",
                file=str(path),
                expected=f"at most {SCHEMA_VERSION}; newer slurmsim?",
            )
        return WorkloadHeader(**about["header"]), QualityReport(**about["quality"])
    except (ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"metadata are damaged: {error!r}", file=str(path), field="slurmsim.workload") from None


def check_names(names: list[str], path: Path) -> None:
    """Raise WorkloadError for a column that is unknown, that is there twice, or that is missing and needed."""
    known = {**INT_COLUMNS, **TEXT_COLUMNS}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"perhaps {near[0]!r}" if near else "a column of docs/workloads.md"
            raise WorkloadError("unknown column", file=str(path), field=name, expected=hint)
        if names.count(name) > 1:
            raise WorkloadError("the column is there twice", file=str(path), field=name)
    for name in REQUIRED:
        if name not in names:
            raise WorkloadError("the column is missing", file=str(path), field=name, expected=f"at least {REQUIRED}")


def _int_column(column: pa.ChunkedArray, name: str, path: Path) -> IntColumn:
    import pyarrow as pa

    if column.type == pa.int64() and not column.null_count:
        return _held(column.chunks, np.int64)
    if not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
        raise WorkloadError(f"type {column.type}", file=str(path), field=name, expected="int64")
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise WorkloadError(f"does not fit into int64: {_first_line(error)}", file=str(path), field=name) from None
    if whole.null_count:
        if name in REQUIRED:
            row = int(np.argmax(whole.is_null().to_numpy()))
            raise WorkloadError(f"row {row} is empty", file=str(path), field=name, expected="a whole number")
        whole = whole.fill_null(INT_COLUMNS[name][1])
    found: IntColumn = whole.to_numpy().copy()
    return found


def _text_column(column: pa.ChunkedArray, name: str, path: Path) -> TextColumn:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        if not (
            pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type)
        ):
            raise WorkloadError(f"type {column.type}", file=str(path), field=name, expected="text")
        column = column.cast(pa.string()).dictionary_encode()
    elif not (pa.types.is_string(column.type.value_type) or pa.types.is_large_string(column.type.value_type)):
        raise WorkloadError(f"type {column.type}", file=str(path), field=name, expected="text")
    try:
        column.validate(full=True)  # a damaged file may name texts its dictionary does not have
    except pa.ArrowInvalid as error:
        raise WorkloadError(f"is damaged: {_first_line(error)}", file=str(path), field=name) from None
    column = column.unify_dictionaries()
    values: list[str] = [v or "" for v in column.chunk(0).dictionary.to_pylist()] if column.num_chunks else []
    indices = [chunk.indices for chunk in column.chunks]
    if column.type.index_type == pa.int32() and not column.null_count:
        codes = _held(indices, np.int32)
    else:
        filled = [chunk.fill_null(-1).to_numpy().astype(np.int32) for chunk in indices]
        codes = np.concatenate(filled) if filled else np.empty(0, np.int32)
    return canonical(TextColumn(codes + np.int32(1), ["", *values]))


def _held(chunks: Sequence[pa.Array], dtype: type[Number]) -> npt.NDArray[Number]:
    """Return a copy of what arrays without nulls hold, by their buffers.

    `to_numpy`, `cast` and `fill_null` import pandas behind the scenes (0.2 s), which a simulation does without.
    """
    found = [np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype().itemsize)
             for chunk in chunks if len(chunk)]  # fmt: skip
    return np.concatenate(found) if found else np.empty(0, dtype)


def _check_values(workload: Workload, path: Path) -> None:
    ints = workload.ints
    for name, lowest in _LOWEST.items():
        _refuse(workload, ints[name] < lowest, name, path, f"at least {lowest}")
    for name in _POSITIVE_OR_MISSING:
        _refuse(workload, ints[name] == 0, name, path, "a number > 0, or -1 for not given")
    for name in _FLAGS:
        _refuse(workload, (ints[name] != 0) & (ints[name] != 1), name, path, "0 or 1")
    both = (ints["nodes_max"] >= 0) & (ints["nodes_max"] < ints["nodes"])
    _refuse(workload, both, "nodes_max", path, "not below nodes")
    order = np.argsort(ints["job_id"], kind="stable")
    same = ints["job_id"][order[1:]] == ints["job_id"][order[:-1]]
    repeated = np.zeros(len(workload), np.bool_)
    repeated[order[1:][same]] = True
    _refuse(workload, repeated, "job_id", path, "each job id once")
    loop = np.zeros(len(workload), np.bool_)
    if (row := first_in_a_loop(ints["job_id"], ints["depends_on"])) is not None:
        loop[row] = True
    _refuse(workload, loop, "depends_on", path, "no circular dependencies")
    if (stuck := waiting_for_itself(workload)) is not None:
        raise loop_error(stuck, path, "dependency")


def _refuse(workload: Workload, bad: npt.NDArray[np.bool_], name: str, path: Path, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        what = format_problem_row(row, int(workload.ints[name][row]), int(workload.ints["job_id"][row]))
        raise WorkloadError(what, file=str(path), field=name, expected=expected)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
