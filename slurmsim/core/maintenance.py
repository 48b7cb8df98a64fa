"""Maintenance windows: nodes that take no job whose limit reaches into the window, and none at all during it.

What an advance reservation with the MAINT flag means for jobs that do not name it (scheduling.md, section 10): a
long job waits, a short one still runs before the window. Jobs that run into it because they were there first go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from slurmsim.bitmap import Bitmap


@dataclass(frozen=True, slots=True)
class Window:
    """`nodes` are closed over [start, end), seconds."""

    start: int
    end: int
    nodes: Bitmap


class Maintenance:
    """All windows that are not over, by start."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def add(self, window: Window) -> None:
        """A new window."""
        self.windows.append(window)
        self.windows.sort(key=lambda w: (w.start, w.end, w.nodes))

    def closed(self, begin: int, end: int) -> Bitmap:
        """Nodes a job running over [begin, end) may not use."""
        mask = 0
        for window in self.windows:
            if window.start < end and window.end > begin:
                mask |= window.nodes
        return mask

    def active(self, now: int) -> Bitmap:
        """Nodes in maintenance at `now`."""
        return self.closed(now, now + 1)

    def forget(self, now: int) -> None:
        """Drop the windows that are over."""
        self.windows = [w for w in self.windows if w.end > now]

    def next_change(self, now: int) -> int | None:
        """The next begin or end after `now`, None when there is none."""
        return min((t for w in self.windows for t in (w.start, w.end) if t > now), default=None)
