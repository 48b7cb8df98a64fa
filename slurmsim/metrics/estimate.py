"""Means over replicates, shares of cases, and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from slurmsim.data_classes import dataclass
from slurmsim.laws import student_quantile

NORMAL_975 = 1.959964  # quantile of the normal law: 95 % lie within so many deviations of the mean


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % confidence interval (Student's t); `half` is None of a single value."""

    mean: float
    half: float | None
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Return the mean of independent `values`, at least one. Of differences of pairs it is the paired interval."""
        n = len(values)
        if n == 1:
            return cls(values[0], None, 1)
        t = student_quantile(n - 1, 0.975)
        return cls(statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(n), n)

    @property
    def sign(self) -> int:
        """1 or -1 where the interval is on one side of zero, else 0."""
        if self.half is None or abs(self.mean) <= self.half:
            return 0
        return 1 if self.mean > 0 else -1

    def text(self, digits: int = 1, *, signed: bool = False) -> str:
        """``-3.2 ± 0.4``."""
        mean = f"{self.mean:{'+' if signed else ''},.{digits}f}"
        return mean if self.half is None else f"{mean} ± {self.half:,.{digits}f}"


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `n` cases are so, in per cent, with Wilson's 95 % interval; of no case nothing is known."""

    cases: int
    n: int

    @classmethod
    def of(cls, cases: Iterable[bool]) -> Share:
        """Return the share of those that are true."""
        found = list(cases)
        return cls(sum(found), len(found))

    @property
    def mean(self) -> float:
        """Per cent of the cases; 0 if there is none."""
        return 100 * self.cases / self.n if self.n else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends of the interval, per cent (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927, p. 209)."""
        if not self.n:
            return 0.0, 100.0
        rate, more = self.cases / self.n, NORMAL_975**2 / self.n
        half = math.sqrt(rate * (1 - rate) * more + more**2 / 4)
        low, high = (rate + more / 2 - half) / (1 + more), (rate + more / 2 + half) / (1 + more)
        return 100 * low if self.cases else 0.0, 100 * high if self.cases < self.n else 100.0

    def text(self, digits: int = 0) -> str:
        """``75 % of 16 (51 to 90)``; ``none`` without a case."""
        low, high = self.ends
        return f"{self.mean:.{digits}f} % of {self.n} ({low:.{digits}f} to {high:.{digits}f})" if self.n else "none"
