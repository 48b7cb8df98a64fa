"""A snapshot as a file: lines of JSON, each with a checksum that takes in the line before.

The first line says who wrote it, in which format, and after which entry of which journal; the last how many tables
came between. The file is made beside its name and renamed when all of it is on the disk.
"""

from __future__ import annotations

import gc
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from slurmsim.errors import OutputError, WorkloadError
from slurmsim.input_file import MOST_LOG, open_input
from slurmsim.json_text import loads

FORMAT = 1
PART = ".part"


def write(path: Path, header: dict[str, Any], tables: Iterable[dict[str, Any]]) -> int:
    """Write a snapshot and see it to the disk; the checksum of its last line.

    Raises
    ------
    OutputError
        The disk is full, or worse; nothing is left of it then.
    """
    part = path.with_name(path.name + PART)
    try:
        with no_collection(), open(part, "wb", opener=_private) as file:
            crc = _lines(file, header, tables)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)
        sync_folder(path.parent)
    except OSError as error:
        raise OutputError(f"{path}: cannot write the snapshot: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # gone already when all went well
    return crc


def _lines(file: IO[bytes], header: dict[str, Any], tables: Iterable[dict[str, Any]]) -> int:
    crc, n = 0, 0

    def put(entry: dict[str, Any]) -> None:
        nonlocal crc
        text = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        crc = zlib.crc32(text, crc)
        file.write(b"%08x %s\n" % (crc, text))

    put({"snapshot": FORMAT, **header})
    for table in tables:
        put(table)
        n += 1
    put({"tables": n})
    return crc


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Return the header, the tables and the last checksum of the snapshot at `path`.

    Raises
    ------
    OutputError
        It cannot be read.
    WorkloadError
        It is damaged, or of a format this version does not know.
    """
    crc = 0
    rows: list[dict[str, Any]] = []
    try:
        with no_collection(), open_input(path, links=False, most=MOST_LOG) as file:
            for number, line in enumerate(file, 1):
                crc = zlib.crc32(line[9:-1], crc)
                try:
                    good = line.endswith(b"\n") and line[:9] == b"%08x " % crc
                    rows.append(loads(line[9:]) if good else {})
                except ValueError:
                    good = False
                if not good:
                    raise WorkloadError(
                        "the snapshot is damaged", file=str(path), line=number, expected="a line with its checksum"
                    )
                if number == 1 and rows[0].get("snapshot") != FORMAT:
                    raise WorkloadError(
                        f"a snapshot of format {rows[0].get('snapshot')}, written by {rows[0].get('writer')}",
                        file=str(path), line=1, expected=f"format {FORMAT}",
                    )  # fmt: skip
    except OSError as error:
        raise OutputError(f"{path}: cannot read the snapshot: {error.strerror}") from None
    if len(rows) < 3 or rows[-1] != {"tables": len(rows) - 2}:
        raise WorkloadError("the snapshot is cut short", file=str(path), line=len(rows), expected="its last line")
    return rows[0], rows[1:-1], crc


def last_crc(path: Path) -> int:
    """Return the checksum of the last line of a snapshot that was just written."""
    with open_input(path, links=False) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 200))
        return int(file.read().splitlines()[-1][:8], 16)


@contextmanager
def no_collection() -> Iterator[None]:
    """Millions of lists are made here and none is garbage: looking for it would take most of the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def sync_folder(folder: Path) -> None:
    """See what was renamed in `folder` to the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
