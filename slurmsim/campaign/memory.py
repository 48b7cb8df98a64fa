"""How much memory there is, and how much a process had at most; Linux tells, elsewhere it is not known."""

import os
from pathlib import Path

from slurmsim.trace.staging import most_resident

_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Memory that new processes may take, of the machine and of the control group around us; None if unknown."""
    found = [number for number in (_field("/proc/meminfo", "MemAvailable:"), _group_bytes()) if number is not None]
    return min(found, default=None)


def peak_bytes(pid: int | str = "self") -> int:
    """Return the most resident memory of a process since `forget_peak` in it; 0 if there is no such process.

    Where that is not known, it counts since the process began.
    """
    found = _field(f"/proc/{pid}/status", "VmHWM:")
    if found is None and pid == "self":
        return most_resident()
    return found or 0


def forget_peak() -> None:
    """Begin anew with the peak of this process; nothing where that cannot be done."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return


def _field(file: str, name: str) -> int | None:
    """Return the kB number of a line of /proc, in bytes."""
    try:
        with open(file) as lines:
            for line in lines:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _group_bytes() -> int | None:
    try:
        most = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        return None if most == "max" else max(0, int(most) - used)
    except (OSError, ValueError):
        return None


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
