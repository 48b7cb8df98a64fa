"""The cluster's clock: real, scaled, frozen and stepped, or as fast as events allow; changed while running.

Cluster time is whole seconds since the Unix epoch, as Slurm's. The clock says what time it is; it never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, time

REAL, RUNNING, FROZEN, FAST = "real", "running", "frozen", "fast"


class Clock:
    """Maps the machine's clocks to cluster time, which never goes back.

    Parameters
    ----------
    start
        First instant, seconds since the epoch; None: the present.
    mode
        ``"real"`` (the machine's time of day), ``"running"`` (at `rate`), ``"frozen"`` or ``"fast"`` (stands still
        between events; the server jumps from event to event).
    rate
        Cluster seconds a real second.
    source, day
        The monotonic clock and the time of day, for tests.
    """

    def __init__(
        self, start: float | None = None, mode: str = REAL, rate: float = 1.0,
        source: Callable[[], float] = monotonic, day: Callable[[], float] = time,
    ) -> None:  # fmt: skip
        self._source, self._day = source, day
        self._base = day() if start is None else float(start)
        self._since = source()
        self.mode, self.rate = mode, rate

    def now(self) -> int:
        """Cluster time, whole seconds."""
        return int(self.exact())

    def exact(self) -> float:
        """Cluster time with its fraction."""
        if self.mode == REAL:
            self._base = max(self._base, self._day())
        elif self.mode == RUNNING:
            return self._base + (self._source() - self._since) * self.rate
        return self._base

    def set_mode(self, mode: str, rate: float | None = None) -> None:
        """Go on from the present instant in another way."""
        self._base, self._since = self.exact(), self._source()
        self.mode = mode
        if rate is not None:
            self.rate = rate

    def jump(self, to: float) -> None:
        """Set the present to `to`, never back. A real clock then runs beside the machine's."""
        if to > self.exact() and self.mode == REAL:
            self.set_mode(RUNNING, 1.0)
        self._base, self._since = max(to, self.exact()), self._source()

    def real_seconds_until(self, instant: float) -> float | None:
        """Real seconds until cluster time `instant`; None when it does not come by itself."""
        if self.mode in (FROZEN, FAST):
            return None
        rate = self.rate if self.mode == RUNNING else 1.0
        return max(0.0, (instant - self.exact()) / rate)
