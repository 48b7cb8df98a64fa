"""Reading plain or gzipped files and replacing files safely; every failure is one line for the user."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from slurmsim.errors import OutputError, WorkloadError

GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 22
_HEAD = 1 << 16
_ERRNO = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)


def reason_of(error: OSError) -> str:
    """The system's own words for an I/O error, without number or path, also when Arrow has wrapped it."""
    number = error.errno
    if number is None and (match := _ERRNO.search(str(error))):
        number = int(match[1])
    return os.strerror(number) if number else str(error).splitlines()[0]


def read_blocks(path: Path, size: int = _BLOCK) -> Iterator[bytes]:
    """The file's bytes in blocks, decompressed when they are gzip (told by content, not by name).

    Raises
    ------
    WorkloadError
        The file cannot be read, or its gzip data are truncated or damaged.
    """
    try:
        with _open(path) as file:
            while block := file.read(size):
                yield block
    except EOFError:
        raise WorkloadError(
            "the gzip data end too early, the file is truncated", file=str(path), expected="a complete .gz file"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise WorkloadError(f"the gzip data are damaged: {error}", file=str(path)) from None
    except OSError as error:
        raise WorkloadError(f"cannot be read: {reason_of(error)}", file=str(path)) from None


def read_head(path: Path) -> bytes:
    """The first bytes, decompressed, for sniffing the format. Damage further on is left for the reader to find."""
    with suppress(EOFError, gzip.BadGzipFile, zlib.error, OSError), _open(path) as file:
        return file.read(_HEAD)
    return b""


def read_line_blocks(path: Path, size: int = _BLOCK) -> Iterator[bytes]:
    """Like `read_blocks`, but each block ends with a whole line."""
    rest = b""
    for block in read_blocks(path, size):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
    if rest:
        yield rest


def _open(path: Path) -> BinaryIO:
    file = open(path, "rb")  # noqa: SIM115 (the caller closes what is returned)
    try:
        magic = file.read(2)
        file.seek(0)
    except OSError:
        file.close()
        raise
    if magic != GZIP_MAGIC:
        return file
    file.close()
    return cast(BinaryIO, gzip.open(path, "rb"))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` when the block succeeds, delete it when it fails.

    A file that was there before stays as it is until the new one is complete on disk.

    Raises
    ------
    OutputError
        The folder is missing or not writable, the disk is full, or `path` is something other than a regular file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputError(f"{path}: cannot be written: not a regular file")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
