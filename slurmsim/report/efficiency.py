"""The five packing losses of a trace: over slots, as tables, pictures and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.metrics.packing import (
    ALL_JOBS,
    EQUAL_WEIGHTS,
    FOREVER,
    MEASURES,
    JobClass,
    Losses,
    Rectangles,
    check_weights,
    losses_of_slots,
)
from slurmsim.metrics.utilization import Interval
from slurmsim.report import style
from slurmsim.report.rundata import RunData, described_cluster
from slurmsim.report.text import duration, table
from slurmsim.states import REFUSED, RESIZING
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = ("cpus", "nodes")
DAY_S = 86_400
TITLES = {
    "utilization": "empty strip",
    "first_jobs": "first jobs' wait",
    "started_jobs": "jobs not started",
    "started_users": "users not started",
    "mean_wait": "mean wait",
    "efficiency": "efficiency",
}


def rectangles(trace: Trace, unit: str = "cpus") -> Rectangles:
    """Return the jobs of a trace as rectangles; `unit` is what the strip is measured in, ``cpus`` or ``nodes``.

    Refused submissions are left out. A run that ended in a requeue is a job of its own, queued when it was (last)
    submitted; the job is then queued again from its requeue on. Of a resized job the last size counts all the time.
    """
    if unit not in UNITS:
        raise ConfigError(f"unknown unit {unit!r}", field="unit", expected=" or ".join(UNITS))
    tables = [(name, rows) for name in ("jobs", "requeued") if len(rows := _rows(trace, name)) or name == "jobs"]
    names: dict[str, int] = {}
    parts = []
    for name, rows in tables:
        ints = trace.ints(name, "last_submit", "start", "end", "nodes")
        ints.append(ints[-1] if unit == "nodes" else trace.ints(name, unit)[0])
        codes, users = trace.text(name, "user")
        known = np.array([names.setdefault(user, len(names)) for user in users] or [0], np.int64)
        parts.append([column[rows] for column in (*ints, known[codes])])
    queued, start, end, nodes, size, user = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    started = start != NULL
    return Rectangles(
        queued, np.where(started, start, FOREVER), np.where(end == NULL, FOREVER, end), started, size, nodes, user
    )


def _rows(trace: Trace, name: str) -> Any:
    codes, states = trace.text(name, "state")
    out = [i for i, state in enumerate(states) if state in (REFUSED, RESIZING)]
    return np.flatnonzero(~np.isin(codes, out))


def height(trace: Trace, unit: str = "cpus") -> int:
    """Return the cluster's nodes or CPUs. Raises WorkloadError when the trace does not say."""
    section = trace.manifest.get("cluster")
    cluster = described_cluster(section.get("nodes")) if isinstance(section, dict) else None
    if cluster is None:
        raise WorkloadError("the trace does not say how large the cluster is", file=str(trace.path), field="cluster")
    return cluster.cpus if unit == "cpus" else cluster.nodes


@dataclass(frozen=True, slots=True)
class Question:
    """What to measure."""

    slot_s: int = DAY_S  # length of a slot, seconds
    # begin, end: first and last moment; None: the first submit and the last end
    begin: int | None = None
    end: int | None = None
    classes: tuple[JobClass, ...] = (ALL_JOBS,)  # of metric 5; the first counts in the efficiency
    weights: tuple[float, ...] = EQUAL_WEIGHTS  # of the five, in the order of `MEASURES`; they sum to one
    first: bool = False  # Metric 2 of the job that starts first instead of the least wait
    unit: str = "cpus"  # what the strip's height is counted in, ``cpus`` or ``nodes``


@dataclass(frozen=True, slots=True)
class Series:
    """The losses of consecutive slots of one trace."""

    question: Question
    slots: list[Losses]

    def column(self, name: str) -> np.ndarray:
        """One measure (or ``efficiency``) over the slots."""
        if name == "efficiency":
            return np.array([found.efficiency(self.question.weights) for found in self.slots])
        return np.array([getattr(found, name).value for found in self.slots])

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure over the slots, and of the efficiency."""
        return {name: float(self.column(name).mean()) for name in (*MEASURES, "efficiency")}

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        q = self.question
        return {
            "slot_s": q.slot_s, "weights": dict(zip(MEASURES, q.weights, strict=True)), "unit": q.unit,
            "first": q.first, "classes": [str(c) for c in q.classes], "means": self.means,
            "slots": [
                {"begin": found.slot.begin, "end": found.slot.end, "jobs": found.jobs, "queued": found.queued,
                 "started": found.started, "efficiency": found.efficiency(q.weights),
                 **{name: getattr(found, name)._asdict() for name in MEASURES},
                 "mean_wait_by_class": {name: loss._asdict() for name, loss in found.by_class.items()}}
                for found in self.slots
            ],
        }  # fmt: skip


def measure(run: RunData, question: Question) -> Series:
    """Return the losses of a trace over consecutive slots.

    A rest shorter than a slot is left out; a time shorter than a slot is one slot.

    Raises
    ------
    ConfigError
        A slot outside the trace, or of no length; weights that do not sum to one; an unknown unit.
    WorkloadError
        The trace does not say how large the cluster is, or holds no job.
    """
    check_weights(question.weights)
    jobs, high = rectangles(run.trace, question.unit), height(run.trace, question.unit)
    if not len(jobs):
        raise WorkloadError("no job to measure", file=str(run.trace.path))
    slots = slots_between(question, run.interval)
    return Series(question, losses_of_slots(jobs, slots, high, question.classes, first=question.first))


def slots_between(question: Question, whole: Interval) -> list[Interval]:
    """Return the slots `question` asks for in a trace that covers `whole`. Raises ConfigError."""
    length = question.slot_s
    begin = whole.begin if question.begin is None else question.begin
    end = whole.end if question.end is None else question.end
    inside = f"from {whole.begin} to {whole.end}, where the trace has jobs"
    if length <= 0:
        raise ConfigError(f"a slot of {length} s", field="slot", expected="a positive length")
    if begin < whole.begin or end > whole.end:
        raise ConfigError(f"slots from {begin} to {end} are outside the trace", field="slot", expected=inside)
    if end <= begin:
        raise ConfigError(f"slots from {begin} to {end}", field="slot", expected="an end after the begin")
    count = (end - begin) // length
    return [Interval(begin + i * length, begin + (i + 1) * length) for i in range(count)] or [Interval(begin, end)]


def as_text(found: Series, epoch: int | None) -> str:
    """Return a line a slot and their means, for a terminal."""
    classes = [str(c) for c in found.question.classes]
    header = ["slot", "jobs", "empty", "first jobs", "", "not started", "users", *(f"wait {c}" for c in classes)]
    rows = [[*header, "efficiency"]]
    for one in found.slots:
        rows.append([
            _moment(one.slot.begin, epoch), f"{one.jobs:,}", f"{one.utilization.value:.4f}",
            f"{one.first_jobs.value:.4f}", duration(one.first_jobs.raw), f"{one.started_jobs.value:.4f}",
            f"{one.started_users.value:.4f}", *(duration(loss.raw) for loss in one.by_class.values()),
            f"{one.efficiency(found.question.weights):.4f}",
        ])  # fmt: skip
    means = found.means
    blank = [""] * (len(classes) - 1)
    rows.append([
        "mean", "", *(f"{means[name]:.4f}" for name in MEASURES[:2]), "", f"{means['started_jobs']:.4f}",
        f"{means['started_users']:.4f}", f"{means['mean_wait']:.4f}", *blank, f"{means['efficiency']:.4f}",
    ])  # fmt: skip
    weights = ", ".join(f"{w:g}" for w in found.question.weights)
    return table(rows) + f"\n\nLosses: 0 is best, 1 worst. Weights {weights}. Last line: means of the losses."


def _moment(time: int, epoch: int | None) -> str:
    import datetime as dt

    return str(time) if epoch is None else f"{dt.datetime.fromtimestamp(epoch + time, dt.UTC):%Y-%m-%d %H:%M}"


@style.styled
def figure(found: Sequence[Series], names: Sequence[str], epoch: int | None) -> Figure:
    """Return the five losses and their weighted sum over the slots, a panel each, a line a run."""
    fig = style.figure(11, 6.4)
    panels = fig.subplots(3, 2, sharex=True).ravel()
    fig.subplots_adjust(left=0.06, right=0.985, top=0.94, bottom=0.1, hspace=0.36, wspace=0.12)
    over = Interval(min(s.slots[0].slot.begin for s in found), max(s.slots[-1].slot.end for s in found))
    for ax, name in zip(panels, (*MEASURES, "efficiency"), strict=True):
        for series, label, color in zip(found, names, style.colors(names), strict=True):
            edges = np.array([*(one.slot.begin for one in series.slots), series.slots[-1].slot.end])
            style.steps(ax, edges, series.column(name), color=color, linewidth=1.2, label=label)
        ax.set_title(TITLES[name])
        ax.set_ylim(bottom=0)
    if len(names) > 1:
        panels[-1].legend(loc="best", **style.CLEAR)
    for ax in panels[-2:]:
        style.time_axis(ax, over, epoch, over.begin, most=6)
    return fig
