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
from slurmsim.input_file import MOST_LOG, bound, open_input, too_large

GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 22
_HEAD = 1 << 16
LONGEST_LINE = 1 << 24  # bytes of a line of a log
LEAST_PACKED, MOST_RATIO = 1 << 26, 200
"""A compressed file may have so many bytes, or be so many times its size on the disk: a log is 5 to 30 times."""
_ERRNO = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)


def reason_of(error: OSError) -> str:
    """Return the system's words or ours for an I/O error, without number or path, also when Arrow has wrapped it."""
    said = error.strerror or str(error)
    match = _ERRNO.search(said)
    return os.strerror(int(match[1])) if match else said.splitlines()[0]


def read_blocks(path: Path, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield the file's bytes in blocks, decompressed when they are gzip (told by content, not by name).

    Raises
    ------
    WorkloadError
        The file cannot be read, is no regular file or too large; its gzip data are truncated or damaged.
    """
    most, total = bound(MOST_LOG), 0
    try:
        with _open(path) as (file, packed):
            while block := file.read(size):
                total += len(block)
                if total > most:
                    raise too_large(most, path)
                if packed is not None and total > max(LEAST_PACKED, MOST_RATIO * packed.tell()):
                    raise WorkloadError(f"unpacks to more than {MOST_RATIO} times its size", file=str(path),
                                        expected="a compressed job log")  # fmt: skip
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
    """Return the first bytes, decompressed, for sniffing the format. The reader finds damage further on."""
    with suppress(EOFError, gzip.BadGzipFile, zlib.error, OSError), _open(path) as (file, _):
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
        if len(rest) > LONGEST_LINE:
            raise WorkloadError(f"a line of more than {LONGEST_LINE >> 20} MiB", file=str(path), expected="a job log")
    if rest:
        yield rest


@contextmanager
def _open(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO | None]]:
    """Yield the file's content to be read; beside it what lies below where that is gzip. Raises OSError."""
    with open_input(path, most=MOST_LOG) as file:
        if file.peek(2)[:2] != GZIP_MAGIC:
            yield file, None
            return
        with gzip.GzipFile(fileobj=file) as content:
            yield cast(BinaryIO, content), file


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
