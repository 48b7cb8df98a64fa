"""What a change does to waits: overall and by class of jobs, with a band from replicates."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.metrics.paired import confidence, interval

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
NO_NAME = "(none)"
SAME_S = 60.0  # a start that moves by less than this neither gains nor loses


@dataclass(frozen=True, slots=True)
class Effect:
    """Mean wait of some jobs in both replays, seconds, and how it differs.

    Each pair of replays gives a mean before, one after and their difference, over the jobs that started in both. The
    first pair has no jitter; each replicate has its own, the same in both replays. `baseline_s` and `changed_s` are
    the means of those over the pairs. `low`, `high`: the interval of the mean difference (`metrics.paired`), in
    which the estimate always is; None without replicates. `level` is what it may be called: 0.95, less with fewer than
    five replicates. `jobs`, `gain`, `lose`: how many jobs
    started in both of the unjittered pair, and which shares of them start more than 60 s earlier, later.
    """

    name: str
    jobs: int
    baseline_s: float
    changed_s: float
    low: float | None
    high: float | None
    level: float | None
    gain: float
    lose: float

    @property
    def difference_s(self) -> float:
        """Changed less baseline; negative: shorter waits."""
        return self.changed_s - self.baseline_s

    @property
    def clear(self) -> bool:
        """True if the band lies on one side of zero, and on that of the difference."""
        if self.low is None or self.high is None:
            return False
        return (self.low > 0 and self.difference_s > 0) or (self.high < 0 and self.difference_s < 0)


def effect(
    name: str, baseline: Floats, changed: Floats, pairs: Sequence[tuple[Floats, Floats]], rows: npt.NDArray[np.bool_]
) -> Effect | None:
    """Return the effect on the jobs of `rows` that start in both replays; None when there are none.

    `pairs`: (baseline, changed) waits of each replicate, NaN where a job did not start, rows as in `baseline`.
    """
    both = rows & ~np.isnan(baseline) & ~np.isnan(changed)
    if not both.any():
        return None
    a, b = baseline[both], changed[both]
    shift = b - a
    means = [(float(a.mean()), float(b.mean()))]
    for x, y in pairs:
        kept = rows & ~np.isnan(x) & ~np.isnan(y)
        if kept.any():
            means.append((float(x[kept].mean()), float(y[kept].mean())))
    before, after = (float(np.mean(column)) for column in zip(*means, strict=True))
    shifts = np.array([y - x for x, y in means])
    low, high = interval(shifts) if len(shifts) > 1 else (None, None)
    return Effect(
        name, int(both.sum()), before, after, low, high, confidence(len(shifts)) if len(shifts) > 1 else None,
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
    """Return an effect for each class, most jobs first (`most` None: all, in the order of `names`)."""
    started = codes[~np.isnan(baseline) & ~np.isnan(changed)]
    jobs = np.bincount(started[started >= 0], minlength=len(names)).tolist()
    order = list(range(len(names)))
    if most is not None:  # chosen before they are worked out: a site has thousands of users
        order = sorted(order, key=lambda i: (-jobs[i], names[i] or NO_NAME))[:most]
    found = (effect(names[i] or NO_NAME, baseline, changed, pairs, codes == i) for i in order)
    return [e for e in found if e is not None]
