"""Whether the processes of one live cluster have anything to do, or all wait: when its clock may go on.

A process works if one of its threads may run, or waits for the disk: the daemon has a thread see its journal to the
disk, and scripts start behind that, while its first thread waits. How long anything takes tells nothing, as other
programs may keep the machine busy; so the patience with processes that never rest is processor time of their own.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK_S = 0.012
_WORKING = (b"R", b"D")
_CALM = 3  # looks in a row without work
_TICKS_S = os.sysconf("SC_CLK_TCK")
_HUNG = 30  # so many times its patience is waited in real time, for processes that wait for a disk and get no answer


class Quiet:
    """The processes that belong to one cluster: its daemon, and processes with its folder in their environment.

    Parameters
    ----------
    proc
        Where the system shows its processes.
    """

    def __init__(self, folder: Path, proc: str = "/proc") -> None:
        self._marker, self._proc = os.fsencode(str(folder)), proc
        self._mine: dict[int, tuple[int, bool]] = {}  # pid -> (when it started, whether it is of the cluster)
        self._since = _boot_ticks()

    def _pids(self, again: bool) -> list[int]:
        """Return the cluster's processes; `again` within one wait, in which no number is given to another process.

        A process of others may become one of the cluster, as a shell does that is replaced by a command. One that is
        older than this object is taken to stay what it is; one of more than a second is not asked `again`.
        """
        found, known = [], {}
        settled = _boot_ticks() - _TICKS_S
        for name in os.listdir(self._proc):
            if not name.isdigit():
                continue
            pid = int(name)
            entry = self._mine.get(pid)
            try:
                if entry is None or not again or not (entry[1] or entry[0] < settled):
                    start = int(_stat(f"{self._proc}/{name}")[19])
                    if entry is None or entry[0] != start or not (entry[1] or start < self._since):
                        entry = (start, self._belongs(name))
            except OSError:
                continue
            known[pid] = entry
            if entry[1]:
                found.append(pid)
        self._mine = known
        return found

    def _belongs(self, name: str) -> bool:
        if int(name) == os.getpid():
            return False
        try:
            with open(f"{self._proc}/{name}/cmdline", "rb") as file:
                if self._marker in file.read():
                    return True
            with open(f"{self._proc}/{name}/environ", "rb") as file:
                return self._marker in file.read()
        except OSError:  # a thread of the kernel has no environment, nor has a process that has ended
            return False

    def _work(self, again: bool) -> tuple[bool, tuple[tuple[int, int], ...]]:
        """Return if one of them works, and the processor time of each so far, in ticks."""
        busy, used = False, []
        for pid in self._pids(again):
            try:
                words = _stat(f"{self._proc}/{pid}")
                busy = busy or self._works(pid, words)
            except OSError:
                continue
            used.append((pid, int(words[11]) + int(words[12])))
        return busy, tuple(used)

    def _works(self, pid: int, words: list[bytes]) -> bool:
        """Return True if a thread of that process may run, or waits for the disk."""
        if words[0] in _WORKING or int(words[17]) == 1:
            return words[0] in _WORKING
        place = f"{self._proc}/{pid}/task"
        return any(_stat(f"{place}/{thread}")[0] in _WORKING for thread in os.listdir(place))

    def wait(self, most_s: float = 20.0) -> None:
        """Until none has worked for a while; at most until they have had so much processor time."""
        last, calm, before = time.monotonic() + _HUNG * most_s, 0, None
        spent = -1
        while calm < _CALM and time.monotonic() < last:
            busy, used = self._work(again=spent >= 0)
            calm = 0 if busy or used != before else calm + 1
            before = used
            ticks = sum(one for _, one in used)
            spent = ticks if spent < 0 else spent
            if ticks - spent > most_s * _TICKS_S:
                return
            time.sleep(_LOOK_S)


def _boot_ticks() -> int:
    """Return the machine's time since it came up, in the unit of a process's start."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_S)


def _stat(place: str) -> list[bytes]:
    """Return the words of a process or thread behind its name: its state is the first. Raises OSError."""
    with open(f"{place}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
