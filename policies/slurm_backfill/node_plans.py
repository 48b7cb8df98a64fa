"""The plans of a cycle as sets of nodes: any request, with reservations, licenses, shares of nodes and preemption."""

from __future__ import annotations

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import NodeSpace
from slurmsim.policy import SlurmJob, SlurmRecord, SlurmView
from slurmsim_policies.slurm_backfill.search import Found, Search


class NodePlans:
    """A node space, and the search for where a record goes beside what it holds.

    Parameters
    ----------
    begin, end
        What the node space covers, seconds.
    space_size
        bf_node_space_size.
    """

    def __init__(self, view: SlurmView, search: Search, begin: int, end: int, space_size: int) -> None:
        self.view, self.search, self.now = view, search, search.now
        self.space = NodeSpace(begin, end, view.available(), space_size)  # what is planned
        self.windows: dict[int, Bitmap] = {}  # time limit -> nodes no plan needs before now + limit

    @property
    def full(self) -> bool:
        """True if the node space has as many segments as it may."""
        return self.space.full

    @property
    def put_behind(self) -> bool:
        """True if a plan had to begin later than the future test says, because of another plan."""
        return self.search.put_behind

    def find(
        self, record: SlurmRecord, limit: int, *, begin: int = 0, now_only: bool = False, put_off: int | None = None
    ) -> Found | None:
        """Return where the record's job goes (`Search.find`)."""
        return self.search.find(record, limit, self.space, begin=begin, now_only=now_only, put_off=put_off)

    def take(self, begin: int, end: int, nodes: Bitmap) -> None:
        """`nodes` are planned for, or held, over ``[begin, end)``."""
        self.space.take(begin, end, nodes)
        now, windows = self.now, self.windows
        if begin < self.space.end and end > now:
            for limit, free in windows.items():
                if begin <= now + limit:
                    windows[limit] = free ^ (free & nodes)

    def started(self, job: SlurmJob) -> None:
        """Do nothing: who runs is asked anew at each search."""

    def free_for(self, nodes: Bitmap, most: int) -> int | None:
        """After how many seconds, fewer than `most`, the first plan is for one of `nodes`; None for none."""
        space, now = self.space, self.now
        taken = (at - now for at, free in zip(space.times, space.nodes, strict=True)
                 if now < at < now + most and nodes & ~free)  # fmt: skip
        return min(taken, default=None)

    def could_start(self, record: SlurmRecord, limit: int) -> bool:
        """Return True if the record's job would fit now, beside what is planned, for `limit` seconds."""
        free = self.windows.get(limit)
        if free is None:
            free = self.view.available() & self.space.free_over(self.now, self.now + limit)
            self.windows[limit] = free
        return self.view.could_start(record, free)
