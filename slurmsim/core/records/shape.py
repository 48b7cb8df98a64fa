"""The shape of a job that runs: its nodes and its cap, what it draws, and how much of it is done.

What is done is counted in seconds on its most nodes at full power. It is no time but a quantity, so it may be broken;
it is never rounded between two changes. Instants are whole seconds, rounded up once, where an end is asked for.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slurmsim.energy.profile import Profile

NOTHING_S: Final = 1e-6  # what floats may be off after many changes: an end so little after a second is at that one


class Shape:
    """One run of one job.

    Attributes
    ----------
    profile
        Its application; None where it says nothing, and then its cap slows nothing.
    nodes, cap_mw
        What it has.
    slowdown
        Seconds a second of its work takes there.
    own_mw, charged_mw
        What its nodes may draw; what the budget is charged: more while data move, nothing while it is suspended.
    own_drawn_mw, drawn_mw
        The same, of what they draw by the model.
    done_s, since
        Its work up to that instant.
    lost_s
        Seconds from `since` in which it stands still, since data move or nodes boot.
    moving_until
        Until when the larger watts count.
    phase_since
        When it came to draw what it draws.
    limit_s
        Its time limit as work; None where changes do not move it.
    resized_at
        When its nodes last changed.
    paused, by_budget, lowered
        It is suspended; for want of watts; its cap was taken down for want of watts.
    """

    __slots__ = (
        "by_budget", "cap_mw", "charged_mw", "done_s", "drawn_mw", "limit_s", "lost_s", "lowered", "moving_until",
        "nodes", "own_drawn_mw", "own_mw", "paused", "phase_since", "profile", "resized_at", "since", "slowdown",
    )  # fmt: skip

    def __init__(self, profile: Profile | None, nodes: int, cap_mw: int, base_mw: int, now: int) -> None:
        self.profile = profile
        self.done_s = self.lost_s = 0.0
        self.since = self.phase_since = self.moving_until = now
        self.limit_s: float | None = None
        self.resized_at: int | None = None
        self.paused = self.by_budget = self.lowered = False
        self.take(nodes, cap_mw, base_mw)
        self.charged_mw, self.drawn_mw = self.own_mw, self.own_drawn_mw

    def take(self, nodes: int, cap_mw: int, base_mw: int) -> None:
        """Set nodes and caps from `since` on."""
        profile = self.profile
        self.nodes, self.cap_mw = nodes, cap_mw
        self.slowdown: float = 1.0 if profile is None else profile.slowdown(nodes, cap_mw)
        self.own_mw = nodes * (cap_mw + base_mw)
        self.own_drawn_mw = self.own_mw if profile is None else nodes * (profile.drawn_mw(cap_mw) + base_mw)

    def advance(self, now: int) -> None:
        """Advance the work done to `now`."""
        passed = now - self.since
        self.since = now
        if self.paused or not passed:
            return
        self.done_s += max(0.0, passed - self.lost_s) / self.slowdown
        self.lost_s = max(0.0, self.lost_s - passed)

    def done_by(self, now: int) -> float:
        """Return its work up to `now`."""
        if self.paused:
            return self.done_s
        return self.done_s + max(0.0, now - self.since - self.lost_s) / self.slowdown

    def lost_at(self, now: int) -> float:
        """Seconds from `now` on in which it stands still."""
        return self.lost_s if self.paused else max(0.0, self.lost_s - (now - self.since))

    def end_of(self, work_s: float) -> int:
        """Return when it has done so much, if nothing changes: the first whole second."""
        left = self.lost_s + (work_s - self.done_s) * self.slowdown
        return self.since + max(0, ceil(left - NOTHING_S))

    def point(self, now: int) -> int:
        """Return the first second from `now` on when its size may change: its next scheduling point, else `now`."""
        every = 0.0 if self.profile is None else self.profile.points_s
        if not every:
            return now
        passed, beyond = divmod(self.done_by(now) + NOTHING_S, every)
        if beyond * self.slowdown < 1:  # it has come to one in this second
            return now
        return max(self.end_of((passed + 1) * every), now + 1)
