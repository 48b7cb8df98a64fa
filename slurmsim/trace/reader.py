"""Read a trace folder back: Arrow tables, NumPy columns, pandas frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slurmsim.errors import WorkloadError
from slurmsim.parquet_file import open_parquet
from slurmsim.trace import schema
from slurmsim.trace.columns import NULL, int_array, int_values, text_array, text_codes
from slurmsim.trace.jsonfile import read_json
from slurmsim.trace.schema import TABLES
from slurmsim.trace.staging import MANIFEST
from slurmsim.trace.writer import VERSION_KEY

UNIX = 631_152_000  # later than this (1990) a time can only be a Unix time; earlier, seconds since a log began

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.parquet as pq


def read_trace(folder: Path | str) -> Trace:
    """Open the trace in `folder`; its tables are read when first asked for.

    Columns that came after the trace was written have nulls, or empty texts.

    Raises
    ------
    WorkloadError
        `folder` is no slurmsim trace, or of a schema version that is not read. A damaged table is reported when it is
        read.
    """
    path = Path(folder)
    if not path.is_dir():
        raise WorkloadError("no such folder" if not path.exists() else "not a folder", file=str(folder))
    file = path / MANIFEST
    if not file.is_file():
        raise WorkloadError(
            f"not a slurmsim trace: {MANIFEST} is missing", file=str(folder), expected="what run --out made"
        )
    manifest = read_json(file)
    if "trace_schema" not in manifest:
        raise WorkloadError("not a slurmsim trace", file=str(file), field="trace_schema", expected="a number")
    if not schema.readable(version := manifest["trace_schema"]):
        expected = schema.versions()
        raise WorkloadError(f"schema version {version}", file=str(file), field="trace_schema", expected=expected)
    return Trace(path, manifest)


class Trace:
    """One run's output.

    Attributes
    ----------
    path
        The folder.
    manifest
        ``run.json`` (see ``docs/trace-schema.md``).
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self._tables: dict[str, pa.Table] = {}
        self._matching: dict[tuple[str, str, str], list[npt.NDArray[np.int32]]] = {}  # rows of each group
        self._summary: dict[str, Any] | None = None

    @property
    def partial(self) -> bool:
        """True if the run was interrupted before its end."""
        return bool(self.manifest.get("partial"))

    @property
    def summary(self) -> dict[str, Any]:
        """``summary.json``; empty when the run was interrupted before it was written."""
        if self._summary is None:
            file = self.path / "summary.json"
            self._summary = read_json(file) if file.exists() else {}
        return self._summary

    @property
    def jobs(self) -> pa.Table:
        """One row a job or array task, and one a refused submission (state REFUSED)."""
        return self._whole("jobs")

    @property
    def requeued(self) -> pa.Table:
        """One row a run that ended in a requeue, in the columns of `jobs`."""
        return self._whole("requeued")

    @property
    def events(self) -> pa.Table:
        """Every state change and decision, in time order."""
        return self._whole("events")

    @property
    def usage(self) -> pa.Table:
        """The step series of what was allocated, idle, down, running and pending."""
        return self._whole("usage")

    @property
    def shares(self) -> pa.Table:
        """Usage and fair share of the associations. Raises WorkloadError when the run was not asked for them."""
        return self._whole("shares")

    @property
    def phases(self) -> pa.Table:
        """Stretches of jobs with the same nodes and watts. Raises WorkloadError when the run knew of no power."""
        return self._whole("phases")

    @property
    def checkpoints(self) -> pa.Table:
        """What each run did and saved. Raises WorkloadError when jobs of the run made no checkpoints."""
        return self._whole("checkpoints")

    def read(self, table: str, names: Sequence[str]) -> pa.Table:
        """Return the columns `names` of a table (`schema.TABLES`); far cheaper than all of them on a long trace."""
        if table in self._tables:
            return self._tables[table].select(list(names))
        return self._load(table, list(names))

    def ints(self, table: str, *names: str, null: int = NULL) -> list[npt.NDArray[np.int64]]:
        """Integer columns as int64 arrays of shape (n_rows,); nulls as `null`."""
        found = self.read(table, names)
        return [int_values(found.column(name), null) for name in names]

    def groups(self, table: str, names: list[str]) -> Iterator[pa.Table]:
        """Yield the columns `names` one row group after another, for what need not be in memory at once."""
        with self._open(table) as parquet:
            for i in range(parquet.num_row_groups):
                yield _filled(parquet.read_row_group(i, columns=names, use_threads=False), table, names)

    def ints_where(
        self, table: str, names: Sequence[str], column: str, value: str, null: int = NULL
    ) -> list[npt.NDArray[np.int64]]:
        """Return integer columns of the rows that have `value` in the text column `column`.

        Read a row group at a time, so the rows that do not match never are in memory together. Which rows match is
        remembered: a report asks for one column of them after another.
        """
        parts: list[list[npt.NDArray[np.int64]]] = [[] for _ in names]
        matching = self._matching.get((table, column, value), [])
        known = bool(matching)
        for k, group in enumerate(self.groups(table, [*names] if known else [*names, column])):
            if not known:
                codes, values = text_codes(group.column(column))
                code = values.index(value) if value in values else -1
                matching.append(np.flatnonzero(codes == code).astype(np.int32))
            if len(matching[k]):
                for part, name in zip(parts, names, strict=True):
                    part.append(int_values(group.column(name), null)[matching[k]])
        self._matching[table, column, value] = matching
        found = []
        for part in parts:
            found.append(np.concatenate(part) if part else np.zeros(0, np.int64))
            part.clear()
        return found

    def texts_at(self, table: str, name: str, rows: npt.NDArray[np.int64]) -> list[str]:
        """Return the texts of a column in these rows; texts of other rows (long node lists, say) are not kept."""
        found = np.empty(len(rows), object)
        first = 0
        for group in self.groups(table, [name]):
            inside = np.flatnonzero((rows >= first) & (rows < first + group.num_rows))
            if len(inside):
                codes, values = text_codes(group.column(name))
                found[inside] = np.array(values, object)[codes[rows[inside] - first]]
            first += group.num_rows
        texts: list[str] = found.tolist()
        return texts

    def text(self, table: str, name: str) -> tuple[npt.NDArray[np.int32], list[str]]:
        """Return a text column as codes, shape (n_rows,), and the list they point into."""
        return text_codes(self.read(table, [name]).column(name))

    @property
    def epoch(self) -> int | None:
        """Unix time of the trace's second 0; None when its times are only seconds since a log began."""
        workload = self.manifest.get("workload")
        epoch = int((workload.get("epoch") if isinstance(workload, dict) else 0) or 0)
        submits = self.ints("jobs", "submit")[0]
        return epoch if len(submits) and epoch + int(submits.min()) >= UNIX else None

    def jobs_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``jobs`` as a pandas frame: nullable columns as Int64, texts as str.

        Columns of the unit "time" (`schema.Column`) are dates in UTC where `epoch` is known, missing ones NaT; else, or
        without `dates`, the seconds that the file has.
        """
        return self._frame("jobs", dates)

    def requeued_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``requeued`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("requeued", dates)

    def events_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``events`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("events", dates)

    def usage_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``usage`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("usage", dates)

    def shares_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``shares`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("shares", dates)

    def phases_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``phases`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("phases", dates)

    def checkpoints_frame(self, *, dates: bool = True) -> pd.DataFrame:
        """``checkpoints`` as a pandas frame; `dates` as for `jobs_frame`."""
        return self._frame("checkpoints", dates)

    def _frame(self, table: str, dates: bool) -> pd.DataFrame:
        whole = self._whole(table)
        return _frame(
            whole, schema.fields(table, whole.num_columns > len(TABLES[table])), self.epoch if dates else None
        )

    def _repr_html_(self) -> str:
        """For a notebook: what summed the run up."""
        from slurmsim.report import page
        from slurmsim.report.text import in_reading_order, summary_label, summary_value

        found = self.summary
        rows = [(summary_label(key), summary_value(key, found[key], self.epoch)) for key in in_reading_order(found)]
        return page.snippet(repr(self), [page.table(("measure", "value"), rows)])

    def __repr__(self) -> str:
        return f"Trace({str(self.path)!r}{', partial' if self.partial else ''})"

    def _whole(self, table: str) -> pa.Table:
        if table not in self._tables:
            self._tables[table] = self._load(table, None)
        return self._tables[table]

    def _load(self, table: str, names: list[str] | None) -> pa.Table:
        with self._open(table) as parquet:
            there = parquet.schema_arrow.names
            every = [name for name in schema.fields(table, True) if name in TABLES[table] or name in there]
            wanted = names if names is not None else every
            # One thread: no slower for a few columns, and it does not hold them twice.
            found = parquet.read(columns=wanted, use_threads=False)
            found.validate(full=True)  # a damaged file may name texts its dictionary does not have
            return _filled(found, table, wanted)

    @contextlib.contextmanager
    def _open(self, table: str) -> Iterator[pq.ParquetFile]:
        file = self.path / f"{table}.parquet"
        try:
            with open_parquet(file) as parquet:
                _check(parquet.schema_arrow, table, file)
                yield parquet
        except FileNotFoundError:
            raise WorkloadError("missing from the trace", file=str(file)) from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise WorkloadError(f"not a readable Parquet file: {_first_line(error)}", file=str(file)) from error


def _check(found: pa.Schema, table: str, file: Path) -> None:
    version = (found.metadata or {}).get(VERSION_KEY, b"none").decode()
    if not (version.isdecimal() and schema.readable(int(version))):
        raise WorkloadError(f"schema version {version}", file=str(file), expected=schema.versions())
    for name, column in TABLES[table].items():
        if name not in found.names and column.since <= int(version):
            raise WorkloadError("column is missing", file=str(file), field=name)


def _filled(found: pa.Table, table: str, names: Sequence[str]) -> pa.Table:
    """`found`, which lacks what came after its file, with all the columns `names`: null or the empty text."""
    if found.num_columns == len(names):
        return found
    n = found.num_rows
    nothing = {"text": text_array([""] * n), "int64?": int_array([None] * n, nullable=True)}
    there = set(found.column_names)
    columns = [found.column(name) if name in there else nothing[TABLES[table][name].kind] for name in names]
    return pa.Table.from_arrays(columns, names=list(names))


def _frame(table: pa.Table, fields: schema.Table, epoch: int | None) -> pd.DataFrame:
    """Return the table as a frame; instants as dates when the Unix time of second 0 is given."""
    import pandas as pd

    def series(name: str, column: schema.Column) -> Any:
        if column.kind == "text":
            codes, values = text_codes(table.column(name))
            return pd.Series(np.array(values, object)[codes], dtype="str")
        data = int_values(table.column(name))
        if epoch is not None and column.unit == "time":
            moments = np.where(data == NULL, 0, data + epoch).astype("datetime64[s]")
            moments[data == NULL] = np.datetime64("NaT")
            return pd.Series(moments).dt.tz_localize("UTC")
        if column.kind == "int64":
            return data
        return pd.arrays.IntegerArray(np.where(data == NULL, 0, data), data == NULL)

    return pd.DataFrame({name: series(name, column) for name, column in fields.items()})


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
