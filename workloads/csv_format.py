"""Workloads as CSV: the columns of the workload schema by their names in the first line, in any order.

``job_id`` and ``submit`` have to be there; other columns may be missing or have empty cells, which take the defaults;
unknown columns are refused. `slurmsim_workloads.parquet` checks these files, too. A header of the workload and its
quality report have no place in a CSV file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.workload import INT_COLUMNS, Workload, WorkloadHeader
from slurmsim_workloads.files import read_blocks, replacing
from slurmsim_workloads.options import Option, check_options
from slurmsim_workloads.parquet import REQUIRED, check_names, from_table, to_table

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONS: tuple[Option, ...] = ()


class CsvFormat:
    """Reader and writer of the workload schema as CSV, comma-separated UTF-8."""

    name = "csv"
    suffixes: tuple[str, ...] = (".csv", ".csv.gz")

    def sniff(self, head: bytes) -> bool:
        """Return True if the first line names the columns that have to be there."""
        first = head.partition(b"\n")[0].decode("utf-8-sig", "replace").strip()
        return set(REQUIRED) <= {name.strip().strip('"') for name in first.split(",")}

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read and check a workload.

        Raises
        ------
        WorkloadError
            No UTF-8 text, an unknown or missing column, a row of another length, or a value that cannot be: file, and
            line or row (from 0), and column are named.
        """
        import pyarrow as pa

        check_options(self.name, OPTIONS, options)
        try:
            text = b"".join(read_blocks(path)).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WorkloadError(f"is no UTF-8 text: {error.reason}", file=str(path)) from None
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            names = [name.strip() for name in next(rows, [])]
            check_names(names, path)
            cells, lines = list[list[str]](), list[int]()
            for row in rows:
                if row and len(row) != len(names):
                    raise WorkloadError(f"{len(row)} cells", file=str(path), line=rows.line_num,
                                        expected=f"{len(names)}, as in the first line")  # fmt: skip
                if row:
                    cells.append(row)
                    lines.append(rows.line_num)
        except csv.Error as error:
            raise WorkloadError(str(error), file=str(path), line=rows.line_num, expected="CSV") from None
        columns = dict(zip(names, zip(*cells, strict=True), strict=True)) if cells else dict.fromkeys(names, ())
        arrays = {
            name: _whole(column, lines, name, path) if name in INT_COLUMNS else pa.array(list(column), pa.string())
            for name, column in columns.items()
        }
        return from_table(pa.table(arrays), path, WorkloadHeader(source=path.name, format=self.name))

    def write(self, workload: Workload, path: Path) -> None:
        """Write the columns that say anything. Raises OutputError when the file cannot be written."""
        table = to_table(workload)
        told = [name for name in table.column_names if name in REQUIRED or _says_anything(workload, name)]
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(told)
            writer.writerows(zip(*(table[name].to_pylist() for name in told), strict=True))


def _says_anything(workload: Workload, name: str) -> bool:
    if name in INT_COLUMNS:
        return bool((workload.ints[name] != INT_COLUMNS[name][1]).any())
    return not workload.texts[name].is_silent()


def _whole(column: tuple[str, ...], lines: list[int], name: str, path: Path) -> pa.Array:
    """Cells as whole numbers, empty ones null."""
    import pyarrow as pa

    values = []
    for cell, line in zip(column, lines, strict=True):
        word = cell.strip()
        try:
            value = int(word) if word else None
            if value is not None and not -(1 << 63) <= value < 1 << 63:
                raise ValueError
        except ValueError:
            raise WorkloadError(f"{word[:40]!r}", file=str(path), line=line, field=name,
                                expected="a whole number") from None  # fmt: skip
        values.append(value)
    empty = np.fromiter((value is None for value in values), np.bool_, len(values))
    return pa.array(np.fromiter((value or 0 for value in values), np.int64, len(values)), mask=empty)
