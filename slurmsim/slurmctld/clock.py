"""The cluster's clock: real, scaled, frozen and stepped, or as fast as events allow; changed while running.

Cluster time is whole seconds since the Unix epoch, as Slurm's. The clock says what time it is; it never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, time

FROZEN, RUNNING, FAST = "frozen", "running", "fast"


class Clock:
    """Maps the machine's monotonic clock to cluster time.

    Parameters
    ----------
    start
        First instant, seconds since the epoch; None: the present.
    mode
        ``"running"`` (at `rate`), ``"frozen"`` or ``"fast"`` (jumps to the next event as soon as nobody asks anything).
    rate
        Cluster seconds a real second.
    source
        The monotonic clock, for tests.
    """

    def __init__(
        self, start: int | None = None, mode: str = RUNNING, rate: float = 1.0, source: Callable[[], float] = monotonic
    ) -> None:
        self._source = source
        self._base = float(time() if start is None else start)
        self._since = source()
        self.mode, self.rate = mode, rate

    def now(self) -> int:
        """Cluster time, whole seconds."""
        return int(self.exact())

    def exact(self) -> float:
        """Cluster time with its fraction."""
        if self.mode != RUNNING:
            return self._base
        return self._base + (self._source() - self._since) * self.rate

    def set_mode(self, mode: str, rate: float | None = None) -> None:
        """Go on from the present instant in another way."""
        self._base, self._since = self.exact(), self._source()
        self.mode = mode
        if rate is not None:
            self.rate = rate

    def jump(self, to: float) -> None:
        """The present is `to` from now on; never back."""
        self._base, self._since = max(to, self.exact()), self._source()

    def real_seconds_until(self, instant: float) -> float | None:
        """Real seconds until cluster time `instant`; None when it does not come by itself."""
        if self.mode == FAST:
            return 0.0
        if self.mode == FROZEN:
            return None
        return max(0.0, (instant - self.exact()) / self.rate)
