"""Whether the processes of one live cluster have anything to do, or all wait: when its clock may go on."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK_S = 0.012
_CALM = 3  # looks in a row without work


class Quiet:
    """The processes that belong to one cluster: its daemon, and whoever has its folder in the environment.

    Parameters
    ----------
    folder
        The cluster's.
    """

    def __init__(self, folder: Path) -> None:
        self._marker = os.fsencode(str(folder))
        self._mine: dict[int, tuple[bytes, bool]] = {}  # pid -> (when it started, whether it is of the cluster)

    def _pids(self) -> list[int]:
        found, known = [], {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            pid = int(name)
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    start = file.read().rpartition(b")")[2].split()[19]
                entry = self._mine.get(pid)
                if entry is None or entry[0] != start or not entry[1]:
                    entry = (start, self._belongs(name))
                known[pid] = entry
                if entry[1]:
                    found.append(pid)
            except OSError:
                continue
        self._mine = known
        return found

    def _belongs(self, name: str) -> bool:
        if int(name) == os.getpid():
            return False
        with open(f"/proc/{name}/cmdline", "rb") as file:
            if self._marker in file.read():
                return True
        with open(f"/proc/{name}/environ", "rb") as file:
            return self._marker in file.read()

    def _work(self) -> tuple[bool, tuple[tuple[int, int], ...]]:
        """Whether one of them runs, and the processor time of each so far."""
        busy, used = False, []
        for pid in self._pids():
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    rest = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            busy = busy or rest[0] in (b"R", b"D")
            used.append((pid, int(rest[11]) + int(rest[12])))
        return busy, tuple(used)

    def wait(self, most_s: float = 20.0) -> None:
        """Until nobody has worked for a while."""
        last, calm, before = time.monotonic() + most_s, 0, None
        while calm < _CALM and time.monotonic() < last:
            busy, used = self._work()
            calm = 0 if busy or used != before else calm + 1
            before = used
            time.sleep(_LOOK_S)
