"""Means over replicates and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from slurmsim.data_classes import dataclass
from slurmsim.laws import student_quantile


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
