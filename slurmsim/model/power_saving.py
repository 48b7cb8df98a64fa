"""How slurm.conf says if nodes are powered down when idle, and which are left alone.

SuspendExcNodes may have counts; SuspendExcStates has words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmsim.model.cluster import ClusterSpec

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


def has_programs(cluster: ClusterSpec) -> bool:
    """Return True if there is what powers nodes down and up."""
    return all(cluster.option(key) not in ("", "(null)") for key in ("SuspendProgram", "ResumeProgram"))


def saves_power(cluster: ClusterSpec) -> bool:
    """Return True if any node is ever powered down for being idle."""
    times = [cluster.option("SuspendTime"), *(one.suspend_time_s for one in cluster.partitions)]
    times += [one.suspend_time_s for one in cluster.nodes]
    return has_programs(cluster) and any(time is not None and time >= 0 for time in times)
