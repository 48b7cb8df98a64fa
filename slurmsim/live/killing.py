"""End a daemon that does not answer: the process that holds its folder, and no other."""

import os
import signal
from pathlib import Path

from slurmsim.errors import OutputError
from slurmsim.slurmctld.history.state_folder import LOCK

_MODULE = b"slurmsim.slurmctld"


def kill_daemon(folder: Path, pid: int) -> None:
    """Kill the daemon of `folder`, which says that it is the process `pid`.

    The file of the lock may be damaged, and a cluster may live within a Python process that does other things as well.
    So the process must have the lock open, and be a daemon.

    Raises
    ------
    OutputError
        It is not; nothing is killed.
    """
    if not _holds(pid, folder / LOCK):
        others = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        found = [other for other in others if _holds(other, folder / LOCK)]
        if len(found) != 1:
            raise OutputError(f"{folder / LOCK}: names process {pid}, which does not hold it; end the daemon by hand")
        (pid,) = found
    words = _words(pid)
    if _MODULE not in words and b"--foreground" not in words:
        raise OutputError(
            f"process {pid} holds {folder} and is no daemon: a cluster within a Python process ends with it"
        )
    try:
        os.kill(pid, signal.SIGKILL)  # a stopped process takes no other signal
    except OSError as error:
        raise OutputError(f"process {pid}: {error.strerror}") from None


def _holds(pid: int, lock: Path) -> bool:
    """Return True if a process has that file open."""
    try:
        wanted = lock.stat()
        opened = [one.stat() for one in Path("/proc", str(pid), "fd").iterdir() if one.exists()]
    except OSError:
        return False
    return any((one.st_dev, one.st_ino) == (wanted.st_dev, wanted.st_ino) for one in opened)


def _words(pid: int) -> list[bytes]:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
