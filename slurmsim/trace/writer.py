"""Stream a run into a trace folder: rows in, Parquet row groups out, in place only when complete."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from slurmsim.errors import InvariantError
from slurmsim.trace import columns, rows, schema
from slurmsim.trace.jsonfile import to_json
from slurmsim.trace.rows import Row, RowColumns
from slurmsim.trace.schema import OPTIONAL, TABLES
from slurmsim.trace.staging import INTERRUPTED, MANIFEST, StagedFolder, output_errors, read_manifest

ROW_GROUP = 65_536
# Rows become columns in batches: by the kernel in small ones, while they are still in the processor's cache; without it
# each batch costs as much as many rows.
BATCH, BATCH_KERNEL = 8_192, 512
VERSION_KEY = b"slurmsim.trace_schema"


def arrow_schema(table: str, power: bool = False) -> pa.Schema:
    """Arrow schema of one of `schema.TABLES`, with the schema version in its metadata; `power`: the run knows of it."""
    fields = [
        pa.field(name, columns.arrow_type(column.kind), nullable=column.kind == "int64?")
        for name, column in schema.fields(table, power).items()
    ]
    return pa.schema(fields, metadata={VERSION_KEY: str(schema.SCHEMA_VERSION).encode()})


class Sink:
    """One growing Parquet file."""

    __slots__ = (
        "_batches", "_columns", "_fields", "_full_at", "_pending", "_rows", "_schema", "_shown", "_writer", "append",
        "extend", "n_rows",
    )  # fmt: skip

    def __init__(self, path: Path, shown: Path, table: str, power: bool = False) -> None:
        import pyarrow.parquet as pq

        self._shown = shown
        self._fields = schema.fields(table, power)
        self._schema = arrow_schema(table, power)
        self._columns = RowColumns(self._fields, ROW_GROUP) if rows.COMPILED else None
        self._full_at = BATCH if self._columns is None else BATCH_KERNEL
        self._rows: list[Row] = []
        self._batches: list[pa.Table] = []
        self._pending = 0
        self.n_rows = 0  # rows written or waiting, brought up to date by a flush
        # takes one row: a tuple in schema order, None for null, ints and strs (members of a `StrEnum` are taken for
        # their value). It is the bound ``list.append`` and stays the same object for the life of the sink, so bind it
        # once.
        self.append: Callable[[Row], None] = self._rows.append
        self.extend: Callable[[list[Row]], None] = self._rows.extend  # the same for many rows
        ints = [name for name, column in self._fields.items() if column.kind != "text"]
        with output_errors(shown):
            self._writer: pq.ParquetWriter | None = pq.ParquetWriter(
                str(path),
                self._schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=[name for name in self._fields if name not in ints],
                write_statistics=ints,
                column_encoding=dict.fromkeys(ints, "DELTA_BINARY_PACKED"),
            )

    @property
    def full(self) -> bool:
        """True if a batch's worth of rows waits."""
        return len(self._rows) >= self._full_at

    def add_columns(self, arrays: Sequence[pa.Array]) -> None:
        """Take many rows as Arrow arrays in schema order."""
        self._take_rows()
        self._settle(written_next=False)
        self._batches.append(pa.Table.from_arrays(list(arrays), schema=self._schema))
        self._count(len(arrays[0]))
        self._write_groups()

    def flush(self) -> None:
        """Write whole row groups; what is left of the last one waits for more."""
        self._take_rows()
        self._write_groups()

    def close(self) -> None:
        """Write everything that waits and the footer. Raises OutputError."""
        if self._writer is None:
            if self._rows:
                raise InvariantError(f"{self._shown.name}: rows appended after the file was closed")
            return
        self._take_rows()
        self._write_groups(last=True)
        with output_errors(self._shown):
            self._writer.close()
        self._writer = self._columns = None  # their memory is the report's now

    def drop(self) -> None:
        """Close the file without caring for its content."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                writer.close()
            writer.is_open = False  # or it tries again, loudly, when it is collected

    def _take_rows(self) -> None:
        width = len(self._fields)
        while self._rows:
            # A batch ends with its row group, or the group's dictionaries would depend on when we were called.
            taken = self._rows[: self._room]
            if self._columns is not None and self._columns.take(taken):
                del self._rows[: len(taken)]
                self._count(len(taken))
                if self._room == ROW_GROUP:  # the row group is full
                    self._write_groups()
                continue
            try:
                cells = list(zip(*taken, strict=True))
            except ValueError:
                cells = []
            if len(cells) != width:
                raise InvariantError(f"{self._shown.name}: rows are not of {width} cells")
            del self._rows[: len(taken)]
            self._add(cells)

    @property
    def _room(self) -> int:
        """Rows the row group that is being filled can still take."""
        return ROW_GROUP - self._pending % ROW_GROUP

    def _add(self, cells: Sequence[Sequence[Any] | npt.NDArray[Any]]) -> None:
        arrays = []
        for (name, column), values in zip(self._fields.items(), cells, strict=True):
            try:
                if column.kind == "text":
                    arrays.append(columns.text_array(values))
                else:
                    arrays.append(columns.int_array(values, nullable=column.kind == "int64?"))
            except (TypeError, ValueError, OverflowError) as error:
                raise InvariantError(f"{self._shown.name}: column {name}: {error}") from error
        self._settle(written_next=False)
        self._batches.append(pa.Table.from_arrays(arrays, schema=self._schema))
        self._count(len(cells[0]))

    def _settle(self, *, written_next: bool) -> None:
        """Make a batch of what the kernel has put into columns, see `RowColumns.arrays`."""
        if self._columns is not None and self._columns.n:
            arrays = self._columns.arrays(written_next=written_next)
            self._batches.append(pa.Table.from_arrays(arrays, schema=self._schema))

    def _count(self, n: int) -> None:
        self._pending += n
        self.n_rows += n

    def _write_groups(self, last: bool = False) -> None:
        size = self._pending if last else self._pending - self._pending % ROW_GROUP
        if size == 0:
            return
        if self._writer is None:
            raise InvariantError(f"{self._shown.name}: rows appended after the file was closed")
        self._settle(written_next=size == self._pending)
        waiting = self._batches[0] if len(self._batches) == 1 else pa.concat_tables(self._batches)
        # One dictionary a row group, or Arrow writes the column's later chunks without any.
        group = waiting.slice(0, size).unify_dictionaries()
        with output_errors(self._shown):
            self._writer.write_table(group, row_group_size=ROW_GROUP)
        self._batches = [waiting.slice(size)] if size < self._pending else []
        self._pending -= size


class TraceWriter:
    """The trace of one run, on its way to `out_dir`.

    ``jobs``, ``events``, ``usage`` and ``requeued`` take rows (see `Sink`). Nothing in `out_dir` changes before
    `close`; what was there stays if the run fails.

    Parameters
    ----------
    out_dir
        Output folder: absent, empty, or holding an earlier slurmsim trace.
    optional
        Tables of `schema.OPTIONAL` to write. With phases the others have the columns of `schema.POWER`.

    Raises
    ------
    OutputError
        See `StagedFolder`; later, from any method, when a file cannot be written (full disk, lost permission).

    Notes
    -----
    Memory does not grow with the run: rows are tuples until 8,192 wait, Arrow arrays until 65,536 make one row group.
    An event row costs about 0.9 µs in all, a job row 2.5. Same rows, same bytes, whenever the flushes happen.
    """

    def __init__(self, out_dir: Path, *, optional: Sequence[str] = ()) -> None:
        self.out_dir = Path(out_dir)
        self._folder = StagedFolder(self.out_dir)
        self._manifest: dict[str, Any] = {}
        self._sealed = self._closed = self._partial = False
        self._destination = self.out_dir
        self._sinks: dict[str, Sink] = {}
        try:
            for name in [table for table in TABLES if table not in OPTIONAL or table in optional]:
                file = f"{name}.parquet"
                self._sinks[name] = Sink(self._folder.path / file, self.out_dir / file, name, "phases" in optional)
        except BaseException:
            self.abort()
            raise
        self.jobs, self.events, self.usage, self.requeued = list(self._sinks.values())[:4]
        self.shares = self._sinks.get("shares")
        self.phases = self._sinks.get("phases")
        self.inputs = self._sinks.get("inputs")
        self.checkpoints = self._sinks.get("checkpoints")

    def flush_if_full(self) -> None:
        """Convert what waits and write the row groups that are complete; cheap enough to call after every instant."""
        for sink in self._sinks.values():
            if sink.full:
                sink.flush()

    def write_json(self, name: str, obj: Mapping[str, Any]) -> None:
        """Write ``summary.json`` or ``run.json`` (the manifest, to which `seal` adds what the writer knows).

        Keys keep their order; NaN becomes null.
        """
        if name == MANIFEST:
            self._manifest = dict(obj)
            if not self._sealed:
                return
            obj = self._full_manifest
        with output_errors(self.out_dir / name):
            (self._folder.path / name).write_text(to_json(obj), encoding="utf-8")

    def seal(self, *, partial: bool = False) -> Path:
        """Finish the tables and the manifest; returns the staging folder, now a readable trace.

        For what is made from the finished trace and belongs to it: summary, report. Sealing twice does nothing.

        Parameters
        ----------
        partial
            The run was interrupted; the manifest says so.
        """
        if not self._sealed:
            for sink in self._sinks.values():
                sink.close()
            self._sealed = True
            self._partial = partial
            self.write_json(MANIFEST, self._manifest)
        return self._folder.path

    def close(self, *, partial: bool = False) -> Path:
        """Put the trace in place and return the folder it is in. Closing twice does nothing.

        That folder is `out_dir`, except that a partial trace does not replace a complete one: it goes to
        ``out_dir/interrupted``.
        """
        if self._closed:
            return self._destination
        try:
            self.seal(partial=partial)
            earlier = read_manifest(self.out_dir)
            aside = self._partial and earlier is not None and not earlier.get("partial")
            self._destination = self._folder.promote(self.out_dir / INTERRUPTED if aside else None)
        except BaseException:
            self.abort()
            raise
        self._closed = True
        return self._destination

    def abort(self) -> None:
        """Drop everything; `out_dir` is as it was before. Never raises, and does nothing after `close`."""
        if self._closed:
            return
        self._closed = True
        for sink in self._sinks.values():
            sink.drop()
        self._folder.discard()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after Ctrl-C close as partial; after any other exception abort."""
        if kind is None:
            self.close()
        elif issubclass(kind, KeyboardInterrupt):
            self.close(partial=True)
        else:
            self.abort()

    @property
    def _full_manifest(self) -> dict[str, Any]:
        return {
            **self._manifest,
            "trace_schema": schema.SCHEMA_VERSION,
            "partial": self._partial,
            "rows": {name: sink.n_rows for name, sink in self._sinks.items()},
        }
