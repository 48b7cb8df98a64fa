"""Means over replicates and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# 97.5 % points of Student's t for 1, 2, 3 … degrees of freedom; beyond the last the normal one is near enough.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % confidence interval (Student's t); `half` is None of a single value."""

    mean: float
    half: float | None
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """The mean of independent `values`, at least one. Of differences of pairs it is the paired interval."""
        n = len(values)
        if n == 1:
            return cls(values[0], None, 1)
        t = _T[n - 2] if n - 2 < len(_T) else 1.96
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
