"""The folder of one cluster: it has one owner, and one daemon at a time.

A process that uses a folder takes its lock first (flock on the file `LOCK`) and keeps it until the end. `slurmsim up`
takes it, makes the folder ready and hands it on to the daemon it starts; a cluster within a Python process takes it
itself. The kernel gives the lock back however its holder ends. No other process has the descriptor: it closes when a
program is started, and in children that only fork. The file stays: if it were removed, two processes could hold locks
on two files.

What is in the folder is obeyed (scripts run, files are written), so no other user may have put it there. Folder and
contents must belong to the user who starts the daemon, other users may not write to them, and none may be a link.
"""

from __future__ import annotations

import errno
import fcntl
import fnmatch
import os
import pwd
import socket
import stat
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from slurmsim.errors import ConfigError, OutputError
from slurmsim.protocol import SOCKET

LOCK = "lock"
OURS = (
    LOCK, SOCKET, "journal*", "snapshot*", "*.db*", "*.sqlite*", "conf.running", "slurm.conf", "gres.conf",
    "topology.conf", "topology.yaml", "resources.yaml", "streams.toml", "power-budget.csv", "carbon.csv",
    "accounting*", "calls*", "log", "bin", "jobs", "spool", "var", "programs", "fake_gpus.conf", "slurmdbd.conf",
    "dynamic-nodes.conf*",
)  # fmt: skip
"""Names slurmsim gives to what it keeps there; whatever else lies there is none of its business."""
PATIENCE_S = 1.0  # how long one waits for the lock: a daemon that was killed needs a moment to be gone
_POLL_S = 0.01
_held: weakref.WeakSet[StateFolder] = weakref.WeakSet()


class StateFolder:
    """A folder locked by this process; made by `take` or `adopt`."""

    def __init__(self, path: Path, folder: int, lock: int) -> None:
        # path: where it is
        self.path, self._folder, self.lock = path, folder, lock
        self._bound: tuple[int, int] | None = None
        # for_life: whether nothing but the end of the process gives it back
        self._is_open, self.for_life = True, False
        _held.add(self)

    @classmethod
    def take(cls, path: Path) -> StateFolder:
        """Make the folder at `path` if it is not there, and take it.

        Raises
        ------
        ConfigError
            A cluster runs there, or the folder is not to be trusted.
        OutputError
            It cannot be made or used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            folder = _open_folder(path)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
        return cls._locked(path, folder, None)

    @classmethod
    def adopt(cls, path: Path, lock: int) -> StateFolder:
        """Take the folder over from the process that started this one; `lock` is the descriptor it handed on."""
        os.set_inheritable(lock, False)
        try:
            return cls._locked(path, _open_folder(path), lock)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None

    @classmethod
    def _locked(cls, path: Path, folder: int, lock: int | None) -> StateFolder:
        try:
            _check(os.fstat(folder), path, 0o022)  # before anything is made in it
            if lock is None:
                lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
            found = cls(path, folder, lock)
        except OSError as error:
            os.close(folder)
            raise OutputError(f"{path / LOCK}: {error.strerror}") from None
        except ConfigError:
            os.close(folder)
            raise
        try:
            found._lock()
            _check_within(folder, path, OURS, 0o022)
            os.pwrite(lock, f"{os.getpid():<20}\n".encode(), 0)
        except BaseException:
            found.close()
            raise
        return found

    def _lock(self) -> None:
        last = time.monotonic() + PATIENCE_S
        while True:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > last:
                    raise _taken(self.path, _pid(self.lock)) from None
            except OSError as error:
                raise OutputError(f"{self.path / LOCK}: cannot be locked: {error.strerror}") from None
            time.sleep(_POLL_S)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Return a descriptor of a file in the folder, which must be no link. Raises OSError."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self._folder)

    def listen(self) -> socket.socket:
        """Return a listening socket for the owner alone, in place of what an earlier daemon has left behind."""
        with suppress(FileNotFoundError):
            os.unlink(SOCKET, dir_fd=self._folder)
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        os.fchmod(found.fileno(), 0o600)  # bind makes the file with this mode: at no moment can another user connect
        found.bind(f"/proc/self/fd/{self._folder}/{SOCKET}")  # a path of any length, and of this folder
        made = os.stat(SOCKET, dir_fd=self._folder, follow_symlinks=False)
        self._bound = made.st_dev, made.st_ino
        found.listen(4096)
        found.setblocking(False)
        return found

    def hang_up(self) -> None:
        """Remove the socket, if it is still ours."""
        if self._is_open and self._bound is not None:
            with suppress(OSError):
                there = os.stat(SOCKET, dir_fd=self._folder, follow_symlinks=False)
                if (there.st_dev, there.st_ino) == self._bound:
                    os.unlink(SOCKET, dir_fd=self._folder)
            self._bound = None

    def close(self) -> None:
        """Give the folder back; a process that was handed the lock's descriptor keeps it."""
        if self._is_open:
            self._is_open = False
            os.close(self.lock)
            os.close(self._folder)

    def __del__(self) -> None:
        if not self.for_life:
            self.close()


def holder(path: Path) -> int | None:
    """Return the process that has the folder at `path`: None if no process has it, 0 for one that gives no number."""
    try:
        lock = os.open(path / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(lock)
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(lock)


def _after_fork() -> None:
    """Close the parent's folders in a child that goes on without starting a program."""
    for one in list(_held):
        one.close()


os.register_at_fork(after_in_child=_after_fork)


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _pid(lock: int) -> int:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else 0


def _taken(path: Path, pid: int) -> ConfigError:
    who = f" (process {pid})" if pid else ""
    return ConfigError(f"a cluster is running there{who}", file=str(path), expected="slurmsim down first")


# -- owner and modes ------------------------------------------------------------------------------------------------


def _check(found: os.stat_result, path: Path, forbidden: int) -> None:
    """Refuse what belongs to another, or what others may write to: the bits `forbidden`. Raises ConfigError."""
    me = os.geteuid()
    if found.st_uid != me:
        raise ConfigError(f"it belongs to {_name(found.st_uid)}, not to {_name(me)}", file=str(path),
                          expected="a folder of one's own")  # fmt: skip
    if stat.S_ISLNK(found.st_mode):
        raise ConfigError("it is a link", file=str(path), expected="a file or a folder")
    if found.st_mode & forbidden and not stat.S_ISSOCK(found.st_mode):  # a socket is made anew
        raise ConfigError(f"others may write to it (mode {found.st_mode & 0o7777:04o})", file=str(path),
                          expected="chmod go-w")  # fmt: skip


def _check_within(folder: int, path: Path, names: tuple[str, ...], forbidden: int) -> None:
    """Check what is in a folder and below in the same way; users that the folder keeps out cannot write there."""
    mode = os.fstat(folder).st_mode
    for who in (0o010, 0o001):
        if not mode & who:
            forbidden &= ~(who << 1)
    with os.scandir(folder) as entries:
        for entry in entries:
            if not any(fnmatch.fnmatchcase(entry.name, name) for name in names):
                continue
            try:
                _check(entry.stat(follow_symlinks=False), path / entry.name, forbidden)
                if entry.is_dir(follow_symlinks=False):
                    inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                                    dir_fd=folder)  # fmt: skip
                    try:
                        _check_within(inner, path / entry.name, ("*",), forbidden)
                    finally:
                        os.close(inner)
            except OSError as error:
                if error.errno != errno.ENOENT:  # a supervisor removed it
                    raise OutputError(f"{path / entry.name}: {error.strerror}") from None


def check_included(path: Path, names: Iterable[str]) -> None:
    """Check files that the configuration in the folder `path` includes, and the folders above them.

    `names` are relative to `path`; others are of somewhere else and not looked at. Raises ConfigError.
    """
    for name in names:
        parts = Path(name).parts
        if Path(name).is_absolute() or ".." in parts:
            continue
        at, forbidden = path, 0o022
        for part in parts:
            mode = at.stat().st_mode
            for who in (0o010, 0o001):
                if not mode & who:
                    forbidden &= ~(who << 1)
            at = at / part
            _check(at.lstat(), at, forbidden)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
