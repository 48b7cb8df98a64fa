"""What squeue and sinfo print around their table: the time, the cluster's name, and with ``-i`` all of it again."""

from __future__ import annotations

import time

from slurmsim.commands.text.clock_text import date_line
from slurmsim.commands.text.cluster_facts import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from slurmsim.commands.io import Io

    class Repeated(Protocol):
        """The options that say so; `iterate` in seconds, 0 for once."""

        no_header: bool
        iterate: int
        verbose: int
        long: bool
        clusters: str | None


def print_repeatedly(asked: Repeated, io: Io, once: Callable[[], int]) -> int:
    """Print what `once` prints as often as is asked for; the exit code."""
    code = 0
    while True:
        if not asked.no_header and (asked.iterate or asked.verbose or asked.long):
            io.out(date_line(Cluster(io).now) + "\n")
        if asked.clusters is not None and not asked.no_header:
            io.out(f"CLUSTER: {asked.clusters}\n")
        code |= once()
        if not asked.iterate:
            return code
        io.out("\n")
        io.stdout.flush()
        time.sleep(asked.iterate)
