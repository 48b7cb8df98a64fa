"""A site's own job log against a replay of it: what an operator can do without a recording."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.fidelity.grade import Fit, grade
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.report.shortfall import shortfall
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import read_trace


@dataclass(frozen=True, slots=True)
class LogAssessment:
    """One log graded (`Fit`). `records` are the jobs replayed."""

    log: str
    records: int
    fit: Fit
    summary: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """All fields, for programs."""
        return {"log": self.log, "records": self.records, "missing": self.missing, **asdict(self.fit)}

    @property
    def missing(self) -> str:
        """What must be said before any figure: what was refused, left out, or never started; empty when nothing was."""
        text = shortfall(self.summary)
        return f"{self.log}: {text}" if text else ""

    def as_row(self) -> dict[str, str]:
        """The line a person reads."""

        def shown(value: float | None, form: str, unit: str = "") -> str:
            return "–" if value is None else f"{value:{form}}{unit}"

        fit = self.fit
        return {
            "log": self.log, "jobs": str(self.records), "started in both": str(fit.jobs),
            "mean wait real": shown(fit.mean_logged_s, ",.0f", " s"),
            "replayed": shown(fit.mean_replayed_s, ",.0f", " s"), "error": shown(fit.error, ".1%"),
            "median real": shown(fit.median_logged_s, ",.0f", " s"),
            "replayed ": shown(fit.median_replayed_s, ",.0f", " s"),
            "95 % real": shown(fit.p95_logged_s, ",.0f", " s"),
            "replayed  ": shown(fit.p95_replayed_s, ",.0f", " s"),
            "rank correlation": shown(fit.rank_correlation, ".2f"), "close": shown(fit.close, ".1%"),
            "verdict": fit.verdict,
        }  # fmt: skip


def assess_log(options: RunOptions) -> LogAssessment:
    """Replay the log of `options` (its `out` is not used) and grade it against its own starts. Raises SlurmSimError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-") as folder:
        prepared = prepare(replace(options, out=str(Path(folder) / "run")))
        made, summary, interrupted = execute(prepared, report=False)
        if interrupted:
            raise KeyboardInterrupt
        ids, wait = read_trace(made).ints("jobs", "job_id", "wait_s")
    workload = prepared.workload
    start, submit = workload.ints["log_start"], workload.ints["submit"]
    logged = np.where(start == -1, np.nan, (start - submit).astype(np.float64))
    replayed = np.full(len(workload), np.nan)
    _, a, b = np.intersect1d(workload.ints["job_id"], ids, assume_unique=True, return_indices=True)
    replayed[a] = np.where(wait[b] == NULL, np.nan, wait[b].astype(np.float64))
    return LogAssessment(Path(options.workload).name, len(workload), grade(logged, replayed), summary)
