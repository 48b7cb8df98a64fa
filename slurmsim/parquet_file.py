"""Untrusted Parquet files: regular files, with a bound on the unpacked size of their tables."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from slurmsim.input_file import MIB, VARIABLE, bound, open_input
from slurmsim.parquet_footer import DELTA_BYTE_ARRAY, MAGIC, TAIL, FooterError, chunks

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MOST_TABLE = 16 * 1024 * MIB  # bytes of a table, unpacked
MOST_FOOTER = 8 * MIB  # bytes of a footer, which takes some 120 for each column of each row group
_CELL = 8  # bytes of a number


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Yield the file, opened; texts come as dictionaries, as they are in the file.

    A million rows that all have one text of a megabyte would otherwise take a terabyte.
    Raises OSError, also where its table is larger than `MOST_TABLE`, and ArrowException.
    """
    import pyarrow.parquet as pq

    with open_input(path, most=MOST_TABLE) as file:
        known = _known(file)
        most = bound(MOST_TABLE)
        if known.unpacked > most:
            raise OSError(
                errno.EFBIG, f"unpacks to more than {most // MIB} MiB (set {VARIABLE} to allow more)", str(path)
            )
        file.seek(0)
        with pq.ParquetFile(file, metadata=known.about, read_dictionary=known.texts) as parquet:
            yield parquet


class _Known(NamedTuple):
    """What the footer of a file says."""

    about: pq.FileMetaData
    unpacked: int
    texts: list[str]


_last: dict[tuple[int, ...], _Known] = {}
_MOST_KNOWN = 8  # files; a trace has half of them


def _known(file: IO[bytes]) -> _Known:
    """Return what the footer says, remembered while the file stays the same.

    A report reads some columns at a time and opens the files of a trace 70 times, at 0.7 ms of CPU each; at 0.15 with
    this: a tenth of a run of one job.
    """
    import pyarrow.parquet as pq

    now = os.fstat(file.fileno())
    key = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    found = _last.get(key)
    if found is None:
        about = pq.read_metadata(file)
        found = _Known(about, unpacked_bytes(file, about), _texts(about.schema))
        if len(_last) >= _MOST_KNOWN:
            _last.clear()
        _last[key] = found
    return found


def _texts(schema: pq.ParquetSchema) -> list[str]:
    """Return the paths of the columns of texts."""
    columns = map(schema.column, range(len(schema.names)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def unpacked_bytes(file: IO[bytes], about: pq.FileMetaData) -> int:
    """Return a bound of the bytes of its table: what the file says, and a number a cell, as equal cells are hidden.

    Raises OSError if the footer is damaged or too long.
    """
    file.seek(-TAIL, os.SEEK_END)
    n, most = int.from_bytes(file.read(TAIL)[: -len(MAGIC)], "little"), bound(MOST_FOOTER)
    if n > most:
        raise OSError(errno.EFBIG, f"has a footer of more than {most // MIB} MiB (set {VARIABLE} to allow more)")
    file.seek(-TAIL - n, os.SEEK_END)
    try:
        told = _unpacked(file.read(n))
    except FooterError as error:
        raise OSError(errno.EINVAL, str(error)) from error
    return max(told, int(about.num_rows * about.num_columns * _CELL))


@lru_cache(maxsize=4)
def _unpacked(footer: bytes) -> int:
    """Return what a footer says that its columns unpack to.

    A text that is encoded as what differs from the text before may be as long as all of them.
    """
    told = 0
    for chunk in chunks(footer):
        told += chunk.uncompressed * (chunk.num_values if DELTA_BYTE_ARRAY in chunk.encodings else 1)
    return told
