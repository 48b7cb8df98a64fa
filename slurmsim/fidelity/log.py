"""A site's own job log against a replay of it: what an operator can do without a recording."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import asdict, dataclass, field, replace
from slurmsim.fidelity.grade import Fit, Floats, grade
from slurmsim.fidelity.waits import logged_waits, on, waits_of
from slurmsim.metrics.classes import CLASSES, class_codes
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared, prepare
from slurmsim.replaying.replay import execute
from slurmsim.report.shortfall import shortfall
from slurmsim.trace.reader import Trace, read_trace

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LogReplay:
    """One replay beside its log, a row a job of the log."""

    prepared: Prepared
    # logged, replayed: waits in seconds, NaN for jobs without a start
    logged: Floats
    replayed: Floats
    # partition, kind: codes of each job's partition (into `partitions`) and of its class of length and size (into
    # `slurmsim.metrics.classes.CLASSES`), by what it asked for; -1 for jobs the replay did not have
    partition: Codes
    partitions: list[str]
    kind: Codes
    summary: dict[str, Any]

    @property
    def by(self) -> dict[str, list[tuple[str, Fit]]]:
        """The grade of each partition, most jobs first, and of each class of length and size."""
        counts = np.bincount(self.partition[self.partition >= 0], minlength=len(self.partitions)).tolist()
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], self.partitions[i]))
        return {
            "partition": [(self.partitions[i], self._graded(self.partition == i)) for i in order if counts[i]],
            "class": [(name, self._graded(self.kind == i)) for i, name in enumerate(CLASSES)],
        }

    def _graded(self, rows: npt.NDArray[np.bool_]) -> Fit:
        return grade(self.logged[rows], self.replayed[rows])


@dataclass(frozen=True, slots=True)
class LogAssessment:
    """One log graded (`Fit`), and by partition and class of jobs. `records` are the jobs replayed."""

    log: str
    records: int
    fit: Fit
    summary: dict[str, Any]
    by: dict[str, list[tuple[str, Fit]]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All fields, for programs."""
        by = {what: {name: asdict(fit) for name, fit in fits} for what, fits in self.by.items()}
        return {"log": self.log, "records": self.records, "missing": self.missing, **asdict(self.fit), "by": by}

    @property
    def missing(self) -> str:
        """What must be said before any figure: what was refused, left out, or never started; empty when nothing was."""
        text = shortfall(self.summary)
        return f"{self.log}: {text}" if text else ""

    def as_row(self) -> dict[str, str]:
        """Return the line a person reads."""
        return {"log": self.log, "jobs": str(self.records), **fit_row(self.fit)}


def fit_row(fit: Fit) -> dict[str, str]:
    """Return a grade as columns of a table."""

    def shown(value: float | None, form: str, unit: str = "") -> str:
        return "–" if value is None else f"{value:{form}}{unit}"

    return {
        "started in both": str(fit.jobs),
        "mean wait real": shown(fit.mean_logged_s, ",.0f", " s"),
        "replayed": shown(fit.mean_replayed_s, ",.0f", " s"), "error": shown(fit.error, ".1%"),
        "median real": shown(fit.median_logged_s, ",.0f", " s"),
        "replayed ": shown(fit.median_replayed_s, ",.0f", " s"),
        "95 % real": shown(fit.p95_logged_s, ",.0f", " s"),
        "replayed  ": shown(fit.p95_replayed_s, ",.0f", " s"),
        "rank correlation": shown(fit.rank_correlation, ".2f"), "close": shown(fit.close, ".1%"),
        "verdict": fit.verdict,
    }  # fmt: skip


def replay_log(options: RunOptions) -> LogReplay:
    """Replay the log of `options` (its `out` is not used). Raises SlurmSimError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-") as folder:
        prepared = prepare(replace(options, out=str(Path(folder) / "run")))
        made, summary, interrupted = execute(prepared, report=False)
        if interrupted:
            raise KeyboardInterrupt
        return _beside(prepared, read_trace(made), summary)


def _beside(prepared: Prepared, trace: Trace, summary: dict[str, Any]) -> LogReplay:
    order = prepared.workload.ints["job_id"]
    ids, waits = waits_of(trace)
    asked, limit = trace.ints("jobs", "req_cpus", "time_limit_s")
    codes, names = trace.text("jobs", "partition")
    kinds = class_codes(asked, limit, sum(node.cpus for node in prepared.cluster.nodes))
    partition, kind = np.full(len(order), -1, np.int64), np.full(len(order), -1, np.int64)
    _, a, b = np.intersect1d(order, ids, assume_unique=True, return_indices=True)
    partition[a], kind[a] = codes[b], kinds[b]
    return LogReplay(
        prepared, logged_waits(prepared.workload), on(order, ids, waits), partition, list(names), kind, summary
    )


def assess_log(options: RunOptions) -> LogAssessment:
    """Replay the log of `options` (its `out` is not used) and grade it against its own starts. Raises SlurmSimError."""
    found = replay_log(options)
    fit = grade(found.logged, found.replayed)
    return LogAssessment(Path(options.workload).name, len(found.logged), fit, found.summary, found.by)
