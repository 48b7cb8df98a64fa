"""Files that users and strangers hand in: regular files of bounded size, opened once.

A configuration may name a pipe without a writer, or a device that never ends. So a file is opened without waiting. Its
kind is asked of the descriptor, since a path may be exchanged between two looks. At most `most` bytes are read.

Each error is an OSError with a text in ``strerror``, so every reader shows it as any other OSError.
"""

from __future__ import annotations

import errno
import io
import os
import stat

from slurmsim.numerals import is_number

MIB = 1 << 20
MOST_TEXT = 64 * MIB  # bytes of a file that is held as a whole: configurations, accounting data, TOML, JSON
MOST_LOG = 4096 * MIB  # bytes of a job log, unpacked
VARIABLE = "SLURMSIM_INPUT_MIB"
"""Environment variable that raises these limits: each file may have at least this many MiB."""
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


def bound(most: int) -> int:
    """Return `most` bytes, or as many as `VARIABLE` says if that is more."""
    text = os.environ.get(VARIABLE, "")
    return max(most, int(text) * MIB) if is_number(text) else most


def open_input(path: str | os.PathLike[str], *, links: bool = True, most: int | None = None) -> io.BufferedReader:
    """Open a regular file for reading bytes.

    Parameters
    ----------
    links
        Whether it may be a symbolic link.
    most
        Bytes it may have by now; None: as many as it likes, since it is read in blocks.

    Raises
    ------
    OSError
        As `open`; and where it is a folder, a pipe, a device or a socket, or too large.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise _not_regular("a socket", path) from None
        raise
    about = os.fstat(descriptor)
    mode = about.st_mode
    large = most is not None and about.st_size > bound(most)
    if stat.S_ISREG(mode) and not large:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if most is not None and large:
        raise too_large(bound(most), path)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise _not_regular(next((name for test, name in _KINDS if test(mode)), "something else"), path)


def read_bytes(path: str | os.PathLike[str], most: int = MOST_TEXT) -> bytes:
    """Return all bytes of a regular file. Raises OSError, also where it has more than `most`."""
    with open_input(path, most=most) as file:
        content = file.read(bound(most) + 1)  # it may grow while it is read
    if len(content) > bound(most):
        raise too_large(bound(most), path)
    return content


def read_text(
    path: str | os.PathLike[str], encoding: str = "utf-8", errors: str = "strict", *, most: int = MOST_TEXT,
    newline: str | None = None,
) -> str:  # fmt: skip
    """Return the text of a regular file, with line ends as of `open`. Raises OSError and UnicodeDecodeError."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most)), encoding, errors, newline).read()


def too_large(most: int, path: str | os.PathLike[str]) -> OSError:
    """Return the error for a file of more than `most` bytes."""
    return OSError(errno.EFBIG, f"more than {most // MIB} MiB (set {VARIABLE} to allow more)", os.fspath(path))


def _not_regular(kind: str, path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, f"not a regular file but {kind}", os.fspath(path))
