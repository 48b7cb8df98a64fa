"""Untrusted Parquet files: regular files, with a bound on the unpacked size of their tables."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slurmsim.input_file import MIB, VARIABLE, bound, open_input

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MOST_TABLE = 16 * 1024 * MIB
"""Bytes of a table, unpacked."""
_CELL = 8  # bytes of a number


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Yield the file, opened; texts come as dictionaries, as they are in the file.

    A million rows that all have one text of a megabyte would otherwise take a terabyte.
    Raises OSError, also where its table is larger than `MOST_TABLE`, and ArrowException.
    """
    import pyarrow.parquet as pq

    with open_input(path, most=MOST_TABLE) as file:
        about = pq.read_metadata(file)
        most = bound(MOST_TABLE)
        if unpacked_bytes(about) > most:
            raise OSError(
                errno.EFBIG, f"unpacks to more than {most // MIB} MiB (set {VARIABLE} to allow more)", str(path)
            )
        file.seek(0)
        with pq.ParquetFile(file, metadata=about, read_dictionary=_texts(about.schema)) as parquet:
            yield parquet


def _texts(schema: pq.ParquetSchema) -> list[str]:
    """Return the paths of the columns of texts."""
    columns = map(schema.column, range(len(schema.names)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def unpacked_bytes(about: pq.FileMetaData) -> int:
    """Return a bound of the bytes of its table: what the file says, and a number a cell, as equal cells are hidden.

    A text that is encoded as what differs from the text before (DELTA_BYTE_ARRAY) may be as long as all of them.
    """
    told = 0
    for group in map(about.row_group, range(about.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            told += chunk.total_uncompressed_size * (chunk.num_values if "DELTA_BYTE_ARRAY" in chunk.encodings else 1)
    return max(told, int(about.num_rows * about.num_columns * _CELL))
