"""Processes as tests look for them: the daemons of one cluster, whoever started them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def daemons(folder: Path) -> list[int]:
    """The daemons there are of the cluster in `folder`; one that is dead and not reaped yet does not count."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"slurmsim.slurmctld" in words and str(folder).encode() in words:
            found.append(int(place.name))
    return found


def wait_until(true: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something to become true."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, "it did not happen"
        time.sleep(0.02)
