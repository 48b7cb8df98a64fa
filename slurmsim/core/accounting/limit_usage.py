"""What counts already towards a limit, each as one number that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmsim.core.accounting.usage_counters import UsageCounters
    from slurmsim.core.records.associations import Ledger


class Gauge:
    """One such number."""

    __slots__ = ("at", "in_use", "ledger")

    def __init__(self, in_use: UsageCounters | None = None, ledger: Ledger | None = None, at: int = -1) -> None:
        # in_use, ledger: what it is read from: counters of jobs, or the ledger of what has been used
        # at: which TRES of the counters, where it is of one
        self.in_use, self.ledger, self.at = in_use, ledger, at

    def read(self) -> int:
        """Return what it is now."""
        raise NotImplementedError

    def spent(self) -> int:
        """Return what of it is there with no job running."""
        return 0

    def used_s(self) -> float:
        """Return the seconds of it that have been used."""
        return 0.0

    def rate(self) -> float:
        """Return how many seconds of it are used each second."""
        return 0.0

    def decays(self) -> bool:
        """Return True if time alone makes it less."""
        return self.ledger is not None and self.ledger.decays


class JobsSubmitted(Gauge):
    """Pending and running jobs."""

    __slots__ = ()

    def read(self) -> int:
        assert self.in_use is not None
        return self.in_use.submitted


class JobsRunning(Gauge):
    __slots__ = ()

    def read(self) -> int:
        assert self.in_use is not None
        return self.in_use.jobs


class TresInUse(Gauge):
    """Of a TRES what running jobs have."""

    __slots__ = ()

    def read(self) -> int:
        assert self.in_use is not None
        return self.in_use.tres[self.at]


class MinutesOwed(Gauge):
    """TRES-minutes running jobs may still use."""

    __slots__ = ()

    def read(self) -> int:
        assert self.in_use is not None
        return _owed(self.in_use, self.at)


class WallUsed(Gauge):
    """Minutes jobs have run."""

    __slots__ = ()

    def read(self) -> int:
        return self.spent()

    def spent(self) -> int:
        return int(self.used_s()) // 60

    def used_s(self) -> float:
        assert self.ledger is not None
        return self.ledger.used_wall_s

    def rate(self) -> float:
        assert self.ledger is not None
        return self.ledger.wall_rate()


class MinutesSpent(Gauge):
    """TRES-minutes that have been used, and where `in_use` is given those running jobs may still use."""

    __slots__ = ("tres",)

    def __init__(self, ledger: Ledger, tres: str, in_use: UsageCounters | None, at: int) -> None:
        super().__init__(in_use, ledger, at)
        self.tres = tres

    def read(self) -> int:
        return self.spent() + (0 if self.in_use is None else _owed(self.in_use, self.at))

    def spent(self) -> int:
        return int(self.used_s() / 60)

    def used_s(self) -> float:
        assert self.ledger is not None
        return self.ledger.used_tres_s.get(self.tres, 0.0)

    def rate(self) -> float:
        assert self.ledger is not None
        return self.ledger.tres_rate(self.tres)


def _owed(in_use: UsageCounters, at: int) -> int:
    return max(int(in_use.owed_s[at]), 0) // 60
