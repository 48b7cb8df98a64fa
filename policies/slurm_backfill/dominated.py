"""What cannot be served decides for everything that wants more: most records of a cycle need no look of their own.

Where counting nodes decides, a record fails because too few nodes are free for long enough. Nodes do not come free
within a cycle: what is started or planned for one record is missing for those behind it. So a later record that can
use the same nodes, needs at least as many of them and would run at least as long fails as well, be it to start now or
to begin by some instant.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from slurmsim.policy import SlurmRecord, SlurmView


def kind_of(view: SlurmView, record: SlurmRecord) -> int:
    """The same for records that can use the same nodes and to which only their number matters; -1: like no other."""
    return record.partition.index if record.request.units == "node" and not view.owned else -1


class Hopeless:
    """Requests that cannot be served; whatever wants at least as many of the same nodes for at least as long cannot."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[int], list[int]]] = {}  # kind -> limits, ascending, and needs, descending

    def covers(self, kind: int, limit: int, need: int) -> bool:
        """Whether a request for `need` nodes for `limit` seconds is known to be one."""
        known = self._known.get(kind)
        if known is None:
            return False
        limits, needs = known
        at = bisect_right(limits, limit) - 1
        return at >= 0 and needs[at] <= need

    def add(self, kind: int, limit: int, need: int) -> None:
        """Note a request that is not covered; kind -1 is like no other."""
        if kind < 0:
            return
        limits, needs = self._known.setdefault(kind, ([], []))
        at = end = bisect_left(limits, limit)
        while end < len(limits) and needs[end] >= need:
            end += 1
        limits[at:end], needs[at:end] = [limit], [need]
