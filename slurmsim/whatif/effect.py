"""What a change does to waits: overall and by class of jobs, with a band from replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
BAND = (5.0, 95.0)  # percentiles over replicates
SAME_S = 60.0  # a start that moves by less than this neither gains nor loses


@dataclass(frozen=True, slots=True)
class Effect:
    """Mean wait of some jobs in both replays, seconds, and how it differs.

    `low`, `high`: the 5th and 95th percentile of the difference over the replicates, each with its own jitter, the
    same in both replays; None without replicates. `gain`, `lose`: shares of the jobs that start more than 60 s
    earlier, later, in the unjittered pair.
    """

    name: str
    jobs: int
    baseline_s: float
    changed_s: float
    low: float | None
    high: float | None
    gain: float
    lose: float

    @property
    def difference_s(self) -> float:
        """Changed less baseline; negative: shorter waits."""
        return self.changed_s - self.baseline_s

    @property
    def clear(self) -> bool:
        """Whether the band lies on one side of zero, and on that of the difference."""
        if self.low is None or self.high is None:
            return False
        return (self.low > 0 and self.difference_s > 0) or (self.high < 0 and self.difference_s < 0)


def effect(
    name: str, baseline: Floats, changed: Floats, pairs: Sequence[tuple[Floats, Floats]], rows: npt.NDArray[np.bool_]
) -> Effect | None:
    """The effect on the jobs of `rows` that start in both replays; None when there are none.

    `pairs`: (baseline, changed) waits of each replicate, NaN where a job did not start, rows as in `baseline`.
    """
    both = rows & ~np.isnan(baseline) & ~np.isnan(changed)
    if not both.any():
        return None
    a, b = baseline[both], changed[both]
    shift = b - a
    differences = []
    for x, y in pairs:
        kept = rows & ~np.isnan(x) & ~np.isnan(y)
        if kept.any():
            differences.append(float((y[kept] - x[kept]).mean()))
    band = np.percentile(differences, BAND).tolist() if differences else (None, None)
    return Effect(
        name, int(both.sum()), float(a.mean()), float(b.mean()), band[0], band[1],
        float((shift < -SAME_S).mean()), float((shift > SAME_S).mean()),
    )  # fmt: skip


def by_class(
    codes: Codes,
    names: Sequence[str],
    baseline: Floats,
    changed: Floats,
    pairs: Sequence[tuple[Floats, Floats]],
    most: int | None = 12,
) -> list[Effect]:
    """An effect for each class, most jobs first (`most` None: all, in the order of `names`)."""
    found = [effect(name or "(none)", baseline, changed, pairs, codes == i) for i, name in enumerate(names)]
    kept = [e for e in found if e is not None]
    return kept if most is None else sorted(kept, key=lambda e: (-e.jobs, e.name))[:most]
