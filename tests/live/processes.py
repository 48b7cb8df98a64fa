"""Processes as tests look for them: the daemons of one cluster, whoever started them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path


def daemons(folder: Path) -> list[int]:
    """The daemons there are of the cluster in `folder`.

    One that is dead and not reaped yet does not count, nor a child that a daemon has forked and that has not become a
    supervisor yet: until then it looks like the daemon.
    """
    found: dict[int, int] = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            parent = int((place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"slurmsim.slurmctld" in words and str(folder).encode() in words:
            found[int(place.name)] = parent
    return [pid for pid, parent in found.items() if parent not in found]


def wait_until(true: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something to become true."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, "it did not happen"
        time.sleep(0.02)


def until(look: Callable[[], str], wanted: str, seconds: float = 20.0) -> str:
    """Return what is seen once it matches the pattern `wanted`."""
    last = time.monotonic() + seconds
    while not re.search(wanted, seen := look()) and time.monotonic() < last:
        time.sleep(0.05)
    assert re.search(wanted, seen), seen
    return seen
