"""Gradient-boosted quantiles of the run time, learned from jobs that have ended (scikit-learn, the extra ``learn``).

What is known of a job when it comes into the queue: its limit and amounts, the hour and the weekday. And of the jobs of
its user that had ended by then: how many they were, the last two run times and the mean of all. Then the run time of
the last job of the same name, and the part of its limit that the last job used.

The model predicts which part of its limit a job runs, and a job weighs as much as its limit: so the loss is that of
seconds. The median is for plans, the first and the last tenth are for `estimate`. The model learns from what was known
when each job came: nothing of the job's own end, and nothing of later jobs.

The model is made anew when a tenth more jobs have ended than at the last time, from `LEAST` to `MOST_NEW` of them, out
of the last `WINDOW`. Before, and for users and names without history, trees go by limits and amounts. Until `LEAST`
jobs have ended the limit counts. Nothing is drawn: the same jobs give the same model.

Source: the features are those of Gaussier et al. 2015 (SC15), simplified; the model is histogram gradient boosting with
the pinball loss, as scikit-learn has it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from math import expm1, log1p
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.extras import how_to_install
from slurmsim.policy import Estimate, JobView, Predictor

LEAST, MOST_NEW, WINDOW = 200, 4000, 8000
MOST_USERS, MOST_NAMES, MOST_WAITING = 20_000, 50, 200_000
TREES, DEPTH = 60, 5
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
DAY_S, WEEK_S = 86_400, 604_800

History = list[Any]  # ended, last run time, the one before, sum of logarithms, last used part, {name: run time}


class Learned(Predictor):
    """Quantiles by gradient boosting."""

    name = "learned"
    summary = "quantiles of run times by gradient boosting, learned from jobs that ended (extra learn)"
    needs = ("user",)
    STATE = ("users", "waiting", "rows", "parts", "weights", "n_ended", "n_fitted")

    def __init__(self) -> None:
        self.users: dict[str, History] = {}
        self.waiting: dict[int, list[float]] = {}  # by job id: what was known when it came
        self.rows: list[list[float]] = []  # of the jobs that ended last, and the parts of their limits that they ran
        self.parts: list[float] = []
        self.weights: list[int] = []
        self.n_ended = self.n_fitted = 0  # jobs that have ended, now and when the model was made
        self._models: dict[float, Any] = {}
        self._made = -1

    def predict(self, job: JobView, now: int) -> int | None:
        known = self._known(job, now)
        self.waiting[job.id] = known
        if len(self.waiting) > MOST_WAITING:  # jobs that never ran stay here
            del self.waiting[next(iter(self.waiting))]
        return self._quantile(MIDDLE, known)

    def estimate(self, job: JobView, now: int) -> Estimate | None:
        """Return the first tenth, the median and the last tenth, by what was known when the job came."""
        known = self.waiting.get(job.id)
        if known is None:
            return None
        found = [self._quantile(q, known) for q in (LOW, MIDDLE, HIGH)]
        ends = sorted(end for end in found if end is not None)
        return Estimate(*ends) if len(ends) == 3 else None

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        known = self.waiting.pop(job.id, None)
        if known is not None:
            self.rows.append(known)
            limit = max(job.time_limit_s, 1)
            self.parts.append(run_time_s / limit)
            self.weights.append(limit)
            self.n_ended += 1
            self._make_anew()
        if job.user and (job.user in self.users or len(self.users) < MOST_USERS):
            self._remember(job, run_time_s)

    def _remember(self, job: JobView, run_time_s: int) -> None:
        past = self.users.setdefault(job.user, [0, 0, 0, 0.0, 1.0, {}])
        past[0] += 1
        past[2], past[1] = past[1], run_time_s
        past[3] += log1p(run_time_s)
        past[4] = run_time_s / max(job.time_limit_s, 1)
        names = past[5]
        names.pop(job.name, None)
        names[job.name] = run_time_s
        while len(names) > MOST_NAMES:
            del names[next(iter(names))]

    def _known(self, job: JobView, now: int) -> list[float]:
        past = self.users.get(job.user)
        amounts = dict(job.asked)
        limit = log1p(job.time_limit_s)
        own = [-1.0] * 6
        if past is not None:
            same = past[5].get(job.name)
            own = [log1p(past[0]), log1p(past[1]), log1p(past[2]) if past[0] > 1 else -1.0, past[3] / past[0], past[4],
                   -1.0 if same is None else log1p(same)]  # fmt: skip
        return [limit, log1p(amounts.get("node", 0)), log1p(amounts.get("cpu", 0)), float(now % DAY_S // 3600),
                float(now % WEEK_S // DAY_S), *own]  # fmt: skip

    def _make_anew(self) -> None:
        """Note that a new model is due; it is fitted when it is first asked."""
        if self.n_ended - self.n_fitted >= min(max(LEAST, self.n_fitted // 10), MOST_NEW):
            del self.rows[:-WINDOW], self.parts[:-WINDOW], self.weights[:-WINDOW]
            self.n_fitted = self.n_ended

    def _quantile(self, q: float, known: list[float]) -> int | None:
        if not self.n_fitted:
            return None
        if self._made != self.n_fitted:
            self._models, self._made = {}, self.n_fitted
        model = self._models.get(q)
        if model is None:
            later = self.n_ended - self.n_fitted  # jobs that have ended since do not count yet
            upto = len(self.rows) - later
            model = self._models[q] = _fitted(q, self.rows[:upto], self.parts[:upto], self.weights[:upto])
        with _one_thread():
            part = float(model.predict([known])[0])
        return max(round(part * expm1(known[0])), 1)


@cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController  # scikit-learn brings it

    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[Any]:
    """Keep OpenMP to one thread: for so little work the others only wait, four fifths of all CPU on two cores."""
    limit: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="openmp")
    return limit


def _fitted(q: float, rows: list[list[float]], parts: list[float], weights: list[int]) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError as error:
        raise ConfigError("predictor learned: scikit-learn is not installed", field="predictor",
                          expected=how_to_install("learn")) from error  # fmt: skip
    model = HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=TREES, max_depth=DEPTH,
                                          early_stopping=False, random_state=0)  # fmt: skip
    with _one_thread():
        return model.fit(rows, parts, sample_weight=weights)
