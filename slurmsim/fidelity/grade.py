"""How well a replay fits the log it replays: what an answer may be worth."""

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass

Floats = npt.NDArray[np.float64]

GOOD_ERROR, FAIR_ERROR = 0.10, 0.30
GOOD_RANK, FAIR_RANK = 0.8, 0.5
SHORT_S = 60.0  # waits below this differ by scheduling latency only; errors are measured against at least this
CLOSE_S, CLOSE_SHARE = 300.0, 0.25
ENOUGH_JOBS = 30


@dataclass(frozen=True, slots=True)
class Fit:
    """A baseline replay beside the log's own starts. Waits in seconds."""

    jobs: int  # jobs that started in both
    mean_logged_s: float | None
    mean_replayed_s: float | None
    median_logged_s: float | None
    median_replayed_s: float | None
    p95_logged_s: float | None
    p95_replayed_s: float | None
    error: float | None  # |mean wait replayed - mean wait logged| / max(mean wait logged, 60 s)
    # Spearman's rho between logged and replayed waits; None when all waits of one side are equal
    rank_correlation: float | None
    close: float | None  # share of jobs with a replayed wait within max(300 s, 25 %) of the logged one
    verdict: str  # ``good``, ``fair``, ``poor``, or ``none`` when the log has too few starts to say

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.verdict == "none":
            few = f"only {self.jobs} starts" if self.jobs else "no starts"
            return f"The log has {few} to compare with: the baseline is not graded."
        assert self.error is not None
        rho = "" if self.rank_correlation is None else f", rank correlation of waits {self.rank_correlation:.2f}"
        base = f"mean wait off by {self.error:.0%}{rho}"
        if self.verdict == "good":
            return f"The baseline fits the log well ({base})."
        if self.verdict == "fair":
            return f"The baseline fits the log roughly ({base}): trust directions and large effects only."
        return f"The baseline does not fit the log ({base}): nothing can be concluded about this site from this replay."


def grade(logged: Floats, replayed: Floats) -> Fit:
    """Grade waits of the same jobs, in the same order; jobs with a NaN on either side are left out.

    ``good``: error at most 10 % and rank correlation at least 0.8; ``fair``: at most 30 % and at least 0.5. Where all
    waits of one side are equal only the error counts.
    """
    both = ~(np.isnan(logged) | np.isnan(replayed))
    a, b = logged[both], replayed[both]
    n = len(a)
    if n < ENOUGH_JOBS:
        return Fit(n, None, None, None, None, None, None, None, None, None, "none")
    error = abs(float(b.mean() - a.mean())) / max(float(a.mean()), SHORT_S)
    rho = spearman(a, b)
    close = float((np.abs(a - b) <= np.maximum(CLOSE_S, CLOSE_SHARE * a)).mean())
    rank = 1.0 if rho is None else rho
    if error <= GOOD_ERROR and rank >= GOOD_RANK:
        verdict = "good"
    elif error <= FAIR_ERROR and rank >= FAIR_RANK:
        verdict = "fair"
    else:
        verdict = "poor"
    p = [float(np.percentile(x, q)) for q in (50, 95) for x in (a, b)]
    return Fit(n, float(a.mean()), float(b.mean()), p[0], p[1], p[2], p[3], error, rho, close, verdict)


def spearman(a: Floats, b: Floats) -> float | None:
    """Rank correlation with ties at their mean rank; None when one side is constant."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1]) if np.ptp(a) and np.ptp(b) else None


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value, from 1; scipy.stats, which has this, takes 0.4 s to load."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[which]
    return ranks
