"""An output folder that is replaced as a whole or not at all.

Everything is written to ``DIR/.partial`` and moved into DIR by renames at the very end, so a run that fails, is killed
or meets a full disk leaves what was there before. A lock keeps two runs out of one folder; what a killed run left is
cleaned up, or put back, by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from slurmsim.errors import OutputError
from slurmsim.input_file import read_text
from slurmsim.json_text import loads

MANIFEST = "run.json"
STAGING = ".partial"
INTERRUPTED = "interrupted"
# Everything slurmsim itself puts into an output folder. MANIFEST is last: it is moved last, and marks the trace.
OWNED = (
    "jobs.parquet", "requeued.parquet", "events.parquet", "usage.parquet", "shares.parquet", "summary.json",
    "report.html", "plots", INTERRUPTED, MANIFEST,
)  # fmt: skip
_PREVIOUS = "previous"
_LOCK = "lock"


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into an `OutputError` naming `path` and the reason."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {reason(error)}") from error


@contextlib.contextmanager
def staged_file(target: Path, *, synced: bool = True) -> Iterator[Path]:
    """Yield where to write what becomes `target` at the end, as a whole or not at all; on the disk if `synced`.

    Raises OutputError.
    """
    staged = target.with_name(f".{target.name}{STAGING}")
    with output_errors(target):
        try:
            yield staged
            if synced:
                with open(staged, "rb+") as file:
                    os.fsync(file.fileno())
            os.replace(staged, target)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise


def reason(error: OSError) -> str:
    """One line saying what the system refused."""
    if error.errno is not None:
        return os.strerror(error.errno)
    # Arrow's own errors carry the number in their text only.
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO):
        if f"errno {number}]" in text:
            return os.strerror(number)
    return text


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of the trace in `folder`, or None when there is no readable slurmsim manifest."""
    try:
        found = loads(read_text(folder / MANIFEST))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "trace_schema" in found else None


class StagedFolder:
    """Write access to `target` by way of a staging folder.

    Parameters
    ----------
    target
        The output folder; made, with its parents, when it does not exist.

    Raises
    ------
    OutputError
        `target` is no folder, cannot be written, holds files but no slurmsim trace, or another run writes there.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target / STAGING
        self._lock: IO[bytes] | None = None
        self._made: list[Path] = []
        with output_errors(target):
            try:
                self._make_target()
                self._acquire()
            except NotADirectoryError:
                raise OutputError(f"{target}: cannot write: the output path is not a folder") from None
            except BaseException:
                self.discard()
                raise

    def _make_target(self) -> None:
        missing = [p for p in (self.target, *self.target.parents) if not p.exists()]
        for folder in reversed(missing):
            folder.mkdir()
            self._made.insert(0, folder)
        if not self.target.is_dir():
            raise NotADirectoryError
        self.path.mkdir(exist_ok=True)

    def _acquire(self) -> None:
        lock = open(self.path / _LOCK, "wb")  # noqa: SIM115 - held until the folder is released
        try:
            lock_file(lock)
        except BlockingIOError:
            lock.close()
            raise OutputError(f"{self.target}: another run is writing to this folder") from None
        self._lock = lock
        self._recover()
        others = sorted(p.name for p in self.target.iterdir() if p.name != STAGING)
        if others and read_manifest(self.target) is None:
            raise OutputError(f"{self.target}: the folder holds files that are no slurmsim trace (such as {others[0]})")
        for item in self.path.iterdir():
            if item.name != _LOCK:
                _remove(item)

    def _recover(self) -> None:
        """Undo what a run killed between its renames left: see the order in `promote`."""
        previous = self.path / _PREVIOUS
        if not previous.is_dir():
            return
        replaced = (self.target / MANIFEST).exists()
        if (previous / MANIFEST).exists() and replaced:
            return  # it was through; only the clean-up is missing
        if not replaced:
            for name in OWNED:
                _remove(self.target / name)
        for item in previous.iterdir():
            os.replace(item, self.target / item.name)

    def promote(self, destination: Path | None = None) -> Path:
        """Move everything staged into `destination` (the target unless said), replacing the trace that is there.

        Returns the destination. When a rename fails all earlier ones are undone and `OutputError` is raised.
        """
        dest = destination or self.target
        with output_errors(dest):
            dest.mkdir(exist_ok=True)
            previous = self.path / _PREVIOUS
            previous.mkdir()
            keep = (_PREVIOUS, _LOCK, MANIFEST)
            staged = [n for n in sorted(os.listdir(self.path)) if n not in keep]
            if (self.path / MANIFEST).exists():
                staged.append(MANIFEST)
            done: list[tuple[Path, Path]] = []
            try:
                for name in OWNED:
                    if (dest / name).exists():
                        _move(dest / name, previous / name, done)
                for name in staged:
                    _move(self.path / name, dest / name, done)
            except BaseException:
                for source, moved in reversed(done):
                    os.replace(moved, source)
                raise
        self._made.clear()
        self.discard()
        return dest

    def discard(self) -> None:
        """Drop what is staged and release the folder; nothing else in it has changed. Never raises."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self._lock.close()
            self._lock = None
        elif self._made:
            shutil.rmtree(self.path, ignore_errors=True)
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()


def _move(source: Path, to: Path, done: list[tuple[Path, Path]]) -> None:
    os.replace(source, to)
    done.append((source, to))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def lock_file(file: IO[bytes]) -> None:
    """Lock `file` or raise BlockingIOError; file systems and platforms without locks go without."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def most_resident() -> int:
    """Return the most memory this process had, in bytes; 0 on a platform that does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
