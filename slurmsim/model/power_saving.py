"""How slurm.conf says if nodes are powered down when idle, and which are left alone.

SuspendExcNodes may have counts; SuspendExcStates has words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from slurmsim.model.partition import PartitionSpec

EXCLUDED_STATES = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "CLOUD", "MAINT", "RESERVED")
"""The words of SuspendExcStates that are modelled."""


def excluded_nodes(text: str) -> list[tuple[str, int | None]]:
    """Return the hostlists of a SuspendExcNodes, each with its count, None for all. Raises ValueError.

    >>> excluded_nodes("n[1-9]:2,m[1-3]:1"), excluded_nodes("n1,n[3-4]"), excluded_nodes("(null)")
    ([('n[1-9]', 2), ('m[1-3]', 1)], [('n1,n[3-4]', None)], [])
    """
    if text in ("", "(null)"):
        return []
    if ":" not in text:
        return [(text, None)]
    found: list[tuple[str, int | None]] = []
    rest = text
    while rest:
        nodes, colon, behind = rest.partition(":")
        number, _, rest = behind.partition(",")
        if not colon or not nodes or not number.isdecimal() or int(number) < 1:
            raise ValueError(text)
        found.append((nodes, int(number)))
    return found


def has_programs(option: Callable[[str], Any]) -> bool:
    """Return True if there is what powers nodes down and up: `option` gives the value of a key of slurm.conf."""
    return all(option(key) not in ("", "(null)") for key in ("SuspendProgram", "ResumeProgram"))


def saves_power(option: Callable[[str], Any], partitions: Iterable[PartitionSpec]) -> bool:
    """Return True if any node is ever powered down for being idle."""
    times = [option("SuspendTime"), *(one.suspend_time_s for one in partitions)]
    return has_programs(option) and any(time is not None and time >= 0 for time in times)


class PowerAction(NamedTuple):
    """A line PowerAction of slurm.conf (26.05): a program with its first arguments, and where it runs."""

    name: str
    words: tuple[str, ...]
    on_nodes: bool = False  # on each node, as slurmd does; else once, as slurmctld does
