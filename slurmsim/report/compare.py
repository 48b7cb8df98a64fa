"""Two or more runs side by side: their summaries, and job by job how far its start moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.data_classes import asdict, dataclass
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.metrics.columns import BoolArray, IntArray
from slurmsim.report import page
from slurmsim.report.efficiency import Question, Series, measure
from slurmsim.report.rundata import RunData
from slurmsim.report.shortfall import shortfalls
from slurmsim.report.text import in_reading_order, summary_label, summary_value
from slurmsim.trace.reader import read_trace

SAME_LOG = 0.5  # runs are of one log if at least this share of the smaller one's jobs are the same jobs in both


@dataclass(frozen=True, slots=True)
class Mover:
    """A job that started at another time; seconds, `shift_s` negative when it started earlier than in the first run."""

    job_id: int
    shown_id: str  # as commands show it: ``2218_25`` for a task of an array
    user: str
    partition: str
    nodes: int
    wait_first_s: int
    wait_s: int
    shift_s: int


@dataclass(frozen=True, slots=True)
class JobDifferences:
    """What became of the first run's jobs in another run; shifts are of start times, of jobs started in both."""

    # common, only_first, only_other: jobs by job id: in both runs, in one only
    common: int
    only_first: int
    only_other: int
    # started_both, started_only_first, started_only_other: of the common jobs
    started_both: int
    started_only_first: int
    started_only_other: int
    # same, earlier, later: of those started in both
    same: int
    earlier: int
    later: int
    other_submit: int  # common jobs with another submit time, as after a change of the load
    # common jobs of another user, or that asked for other nodes or CPUs: these are other jobs of the same number
    other_job: int
    # other_nodes, other_state: common jobs that ran on other nodes, or ended in another state
    other_nodes: int
    other_state: int
    # refused_only_first, refused_only_other: of the common ones, submissions refused in one run and not in the other
    refused_only_first: int
    refused_only_other: int
    mean_shift_s: float | None
    median_abs_shift_s: float | None
    p95_abs_shift_s: float | None
    max_abs_shift_s: int | None
    # most_earlier, most_later: the biggest movers, biggest first, ties by job id
    most_earlier: list[Mover]
    most_later: list[Mover]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs and how each but the first differs from the first.

    `losses` are the packing losses of each run over the same slots; empty when they cannot be told of all runs.
    """

    names: list[str]
    runs: list[RunData]
    differences: list[JobDifferences]
    losses: list[Series]

    def _repr_html_(self) -> str:
        """For a notebook: summaries side by side, and how many starts moved."""
        rows = [
            [
                summary_label(key),
                *(
                    summary_value(key, one.get(key), run.epoch)
                    for one, run in zip(self.summaries, self.runs, strict=True)
                ),
            ]
            for key in in_reading_order(self.keys)
        ]
        moved = [
            f"{name}: of {diff.common:,} jobs in both runs {diff.same:,} start at the same time, {diff.earlier:,} "
            f"earlier, {diff.later:,} later."
            for name, diff in zip(self.names[1:], self.differences, strict=True)
        ]
        warned = map(page.banner, [*other_log(self), *shortfalls(self.names, self.summaries)])
        table = page.table(("measure", *self.names), rows)
        return page.snippet(" against ".join(self.names), [*warned, table, page.bullets(moved)])

    def summary(self, run: int) -> dict[str, Any]:
        """``summary.json`` of a run."""
        return self.runs[run].trace.summary

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """``summary.json`` of each run."""
        return [self.summary(i) for i in range(len(self.runs))]

    @property
    def common_waits(self) -> tuple[int, list[float | None]]:
        """How many jobs all runs started, and their mean wait in each, seconds."""
        ids = self.runs[0].job_id[self.runs[0].jobs.started]
        for run in self.runs[1:]:
            ids = np.intersect1d(ids, run.job_id[run.jobs.started], assume_unique=True)
        means: list[float | None] = []
        for run in self.runs:
            waits = run.waits[np.isin(run.job_id, ids, assume_unique=True) & run.jobs.started]
            means.append(float(waits.mean()) if len(waits) else None)
        return len(ids), means

    @property
    def keys(self) -> list[str]:
        """Summary keys of any run, in the order of first appearance."""
        return list(dict.fromkeys(key for i in range(len(self.runs)) for key in self.summary(i)))

    def delta(self, key: str, run: int) -> float | int | None:
        """Summary value of `run` minus the first run's, None where one has no number."""
        first, other = self.summary(0).get(key), self.summary(run).get(key)
        if key == "seed" or not isinstance(first, (int, float)) or not isinstance(other, (int, float)):
            return None
        return other - first

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, for JSON."""
        n, means = self.common_waits
        return {
            "headline": [*other_log(self), *shortfalls(self.names, self.summaries)],
            "common": {"jobs": n, "mean_wait_s": means},
            "runs": [
                {"name": name, "folder": run.trace.path, "partial": run.trace.partial, "summary": run.trace.summary}
                for name, run in zip(self.names, self.runs, strict=True)
            ],
            "differences": [
                {
                    "first": self.names[0],
                    "other": self.names[i],
                    "summary": {key: self.delta(key, i) for key in self.keys if self.delta(key, i) is not None},
                    "jobs": asdict(found),
                }
                for i, found in enumerate(self.differences, 1)
            ],
            "losses": [
                {"name": name, **series.as_dict()} for name, series in zip(self.names, self.losses, strict=False)
            ],
        }


def compare(folders: Sequence[Path], *, movers: int = 10) -> Comparison:
    """Compare the traces in `folders` with the first of them.

    Parameters
    ----------
    movers
        How many of the biggest movers to name, each way.

    Raises
    ------
    ConfigError
        Fewer than two folders, or one given twice; or runs of different logs, which have no jobs to compare.
    WorkloadError
        A folder holds no readable trace, or a trace holds a job id twice.
    """
    if len(folders) < 2:
        raise ConfigError("nothing to compare", expected="two or more trace folders")
    resolved = [folder.resolve() for folder in folders]
    if twice := [str(f) for f, n in Counter(resolved).items() if n > 1]:
        raise ConfigError(f"folder given twice: {twice[0]}")
    runs = [RunData(read_trace(folder)) for folder in folders]
    differences = [job_differences(runs[0], run, movers) for run in runs[1:]]
    for folder, run, diff in zip(folders[1:], runs[1:], differences, strict=True):
        smaller = min(len(runs[0].job_id), len(run.job_id))
        if smaller and diff.common - diff.other_job < SAME_LOG * smaller:
            raise ConfigError(
                f"runs of different logs: of {smaller:,} jobs {diff.common:,} have the number of one in {folders[0]}, "
                f"and {diff.common - diff.other_job:,} its user and size as well",
                file=str(folder), expected="runs of one log",
            )  # fmt: skip
    return Comparison(_names(folders), runs, differences, _losses(runs))


def other_log(found: Comparison) -> list[str]:
    """Return a warning for each run in which some job ids stand for other jobs than in the first."""
    return [
        f"{name}: {diff.other_job:,} of {diff.common:,} jobs have another user or size than in {found.names[0]}: "
        "the logs differ"
        for name, diff in zip(found.names[1:], found.differences, strict=True)
        if diff.other_job
    ]


def _losses(runs: Sequence[RunData]) -> list[Series]:
    """Packing losses over days from the first submit on, while all runs go on; one slot where that is less than a day.

    None where a trace does not say how large its cluster is, or the runs have no time in common.
    """
    spans = [run.interval for run in runs]
    begin, end = max(span.begin for span in spans), min(span.end for span in spans)
    if begin >= end or any(run.cluster is None or not len(run.jobs) for run in runs):
        return []
    return [measure(run, Question(begin=begin, end=end)) for run in runs]


def job_differences(first: RunData, other: RunData, movers: int = 10) -> JobDifferences:
    """Join two runs on the job id and measure how start times moved."""
    for run in (first, other):
        if len(np.unique(run.job_id)) != len(run.job_id):
            raise WorkloadError("a job id appears twice", file=str(run.trace.path / "jobs.parquet"), field="job_id")
    _, a, b = np.intersect1d(first.job_id, other.job_id, assume_unique=True, return_indices=True)
    ran_a, ran_b = first.jobs.started[a], other.jobs.started[b]
    refused_a, refused_b = ~first.jobs.accepted[a], ~other.jobs.accepted[b]
    both = ran_a & ran_b
    a_both, b_both = a[both], b[both]
    shift = other.jobs.start[b_both] - first.jobs.start[a_both]
    size = np.abs(shift)
    order = np.argsort(shift, kind="stable")  # intersect1d sorted by job id, so ties are in that order
    back = np.argsort(-shift, kind="stable")
    earlier, later = int((shift < 0).sum()), int((shift > 0).sum())
    return JobDifferences(
        common=len(a),
        only_first=len(first.job_id) - len(a),
        only_other=len(other.job_id) - len(b),
        started_both=int(both.sum()),
        started_only_first=int((ran_a & ~ran_b).sum()),
        started_only_other=int((ran_b & ~ran_a).sum()),
        same=len(shift) - earlier - later,
        earlier=earlier,
        later=later,
        other_submit=int((first.jobs.submit[a] != other.jobs.submit[b]).sum()),
        other_job=_other_jobs(first, other, a, b),
        other_nodes=_unlike(first.node_lists, other.node_lists, a_both, b_both),
        other_state=_unlike(
            (first.jobs.state_codes, first.jobs.states), (other.jobs.state_codes, other.jobs.states), a, b
        ),
        refused_only_first=int((refused_a & ~refused_b).sum()),
        refused_only_other=int((refused_b & ~refused_a).sum()),
        mean_shift_s=float(shift.mean()) if len(shift) else None,
        median_abs_shift_s=float(np.median(size)) if len(size) else None,
        p95_abs_shift_s=float(np.percentile(size, 95)) if len(size) else None,
        max_abs_shift_s=int(size.max()) if len(size) else None,
        most_earlier=_movers(first, other, a_both, b_both, order[: min(movers, earlier)]),
        most_later=_movers(first, other, a_both, b_both, back[: min(movers, later)]),
    )


def _other_jobs(first: RunData, other: RunData, a: IntArray, b: IntArray) -> int:
    """Count the rows of another user or of another size asked for."""
    users = [run.labels("user") for run in (first, other)]
    unlike = _differ((users[0].codes, users[0].names), (users[1].codes, users[1].names), a, b)
    for name in ("req_nodes", "req_cpus"):
        unlike |= first.trace.ints("jobs", name)[0][a] != other.trace.ints("jobs", name)[0][b]
    return int(unlike.sum())


def _movers(first: RunData, other: RunData, a: IntArray, b: IntArray, chosen: IntArray) -> list[Mover]:
    users, partitions = first.labels("user"), first.labels("partition")
    return [
        Mover(
            job_id=int(first.job_id[i]),
            shown_id=first.shown_id(i),
            user=users.names[users.codes[i]],
            partition=partitions.names[partitions.codes[i]],
            nodes=int(first.jobs.nodes[i]),
            wait_first_s=int(first.waits[i]),
            wait_s=int(other.waits[j]),
            shift_s=int(other.jobs.start[j] - first.jobs.start[i]),
        )
        for i, j in zip(a[chosen].tolist(), b[chosen].tolist(), strict=True)
    ]


def _unlike(first: Any, other: Any, a: IntArray, b: IntArray) -> int:
    """Count the rows with different texts."""
    return int(_differ(first, other, a, b).sum())


def _differ(first: Any, other: Any, a: IntArray, b: IntArray) -> BoolArray:
    """Return which rows have different texts, both columns given as codes and the texts they point into."""
    number: dict[str, int] = {}
    ids = [
        np.array([number.setdefault(t, len(number)) for t in texts] or [0], np.int64)[codes[rows]]
        for (codes, texts), rows in ((first, a), (other, b))
    ]
    return np.asarray(ids[0] != ids[1])


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the shortest tails of the paths that tell the folders apart."""
    parts = [folder.resolve().parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-length:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("the same folder twice")
