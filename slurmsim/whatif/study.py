"""The runs behind an answer: baseline, change, and both again with jittered submit times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.campaign.tasks import Task
from slurmsim.campaign.workers import run_tasks
from slurmsim.config.findings import warnings_among
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.errors import ConfigError
from slurmsim.fidelity.grade import Fit, grade
from slurmsim.fidelity.waits import logged_waits, on, replay_waits, waits_of
from slurmsim.metrics.paired import LEVEL, fewest
from slurmsim.metrics.wait import mean, percentile
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.report.series import size_classes
from slurmsim.report.shortfall import shortfalls
from slurmsim.report.text import duration, signed
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.whatif.asked import Asked, asked
from slurmsim.whatif.effect import Effect, Floats, by_class, effect
from slurmsim.workload import Workload

ENOUGH = fewest(1) - 1
"""From so many replicates on the band may be called a 95 % interval; the log itself is a sixth pair."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes
    ----------
    baseline, changed
        The two runs; their workload is the same, their `out` folders differ.
    replicates
        Further pairs with jittered submit times.
    jitter_s
        Each submit time moves by a whole number of seconds drawn evenly from [-jitter_s, jitter_s].
    """

    baseline: RunOptions
    changed: RunOptions
    replicates: int = 5
    jitter_s: int = 60


@dataclass(frozen=True, slots=True)
class Study:
    """The answer.

    `asked` says what was changed, of what and on which log.
    `overall` is the effect on all jobs; `by` maps partition, account, user and nodes to effects by class. Waits in
    seconds. `summaries` are those of the two unjittered runs.
    """

    fit: Fit
    overall: Effect | None
    by: dict[str, list[Effect]]
    baseline: Trace
    changed: Trace
    summaries: tuple[dict[str, Any], dict[str, Any]]
    replicates: int
    jitter_s: int
    interrupted: bool = False
    findings: tuple[str, ...] = field(default=())
    shared: tuple[dict[str, Any], dict[str, Any]] = field(default=({}, {}))
    asked: Asked = field(default=Asked())

    @property
    def missing(self) -> list[str]:
        """What must be said before any mean: what was refused, never started or left out, in which replay."""
        lines = shortfalls(("before", "after"), self.summaries)
        n = self.shared[0].get("jobs")
        started = [s["jobs"] - s["never_started"] for s in self.summaries]
        if n is not None and any(count != n for count in started):
            lines.append(f"Waits are compared over the {n:,} jobs that started in both ({started[0]:,} before, "
                         f"{started[1]:,} after).")  # fmt: skip
        return lines

    @property
    def conclusion(self) -> str:
        """One sentence: what may be concluded, if anything."""
        if self.overall is None:
            return "No job started in both replays: nothing can be concluded."
        if self.fit.verdict == "poor":
            return "Nothing can be concluded: the baseline does not fit the log."
        e = self.overall
        size = duration(abs(e.difference_s))
        word = "shorter" if e.difference_s < 0 else "longer"
        if e.low is None or e.high is None:
            return f"Mean wait {size} {word}; only replicates show how much of that is chance."
        level = f"{100 * (e.level or 0):.3g} %"
        band = f"{signed(e.low)} to {signed(e.high)}, {level} of {self.replicates} replicates and the log"
        if (e.level or 0) < LEVEL:
            band += f", which is too few for 95 %: {ENOUGH} are enough"
        if not e.clear:
            return f"No clear effect on the mean wait ({signed(e.difference_s)}; {band})."
        off = self.fit.mean_replayed_s is not None and self.fit.mean_logged_s is not None
        misfit = abs(self.fit.mean_replayed_s - self.fit.mean_logged_s) if off else 0.0  # type: ignore[operator]
        if misfit > abs(e.difference_s):
            return (
                f"Mean wait {size} {word} ({band}), but the baseline itself misses the log by {duration(misfit)}: "
                "the direction is all that can be said."
            )
        return f"Mean wait {size} {word} ({band})."

    @property
    def title(self) -> str:
        """The change and its effect: ``bf_interval: 60 -> 600: mean wait +19 min (+14 min to +26 min)``."""
        e = self.overall
        if e is None or self.fit.verdict == "poor":
            return f"{self.asked.what}: no conclusion"
        band = "" if e.low is None or e.high is None else f" ({signed(e.low)} to {signed(e.high)})"
        clear = "" if e.clear or not band else ", no clear effect"
        return f"{self.asked.what}: mean wait {signed(e.difference_s)}{band}{clear}"


def study(question: Question, progress: Progress | None = None) -> Study:
    """Make all runs and compare them. Raises SlurmSimError; Ctrl-C ends it after the runs that are complete."""
    if question.replicates < 0:
        raise ConfigError(f"{question.replicates} replicates", field="--replicates", expected="0 or more")
    if question.jitter_s < 0:
        raise ConfigError(f"{question.jitter_s} seconds", field="--jitter", expected="0 or more")
    first = prepare(question.baseline)
    second = prepare(question.changed)
    findings = tuple(line for p in (first, second) for line in warnings_among(p.findings))
    logged = logged_waits(first.workload)
    order = first.workload.ints["job_id"]
    traces: list[Trace] = []
    summaries: list[dict[str, Any]] = []
    done, total = 0, 2 + 2 * question.replicates
    for prepared in (first, second):
        folder, summary, interrupted = execute(prepared)
        if interrupted:
            raise KeyboardInterrupt
        traces.append(read_trace(folder))
        summaries.append(summary)
        done += 1
        if progress is not None:
            progress(done, total)
    pairs: list[tuple[Floats, Floats]] = []
    interrupted = False
    try:
        for pair in _replicates(question):
            pairs.append((on(order, *pair[0]), on(order, *pair[1])))
            done += 2
            if progress is not None:
                progress(done, total)
    except KeyboardInterrupt:
        interrupted = True
    a, b = (on(order, *waits_of(trace)) for trace in traces)
    overall = effect("all", a, b, pairs, np.ones(len(order), np.bool_))
    classes = _classes(first.workload, traces[0], order, a, b, pairs)
    return Study(
        grade(logged, a), overall, classes, traces[0], traces[1], (summaries[0], summaries[1]), len(pairs),
        question.jitter_s, interrupted, tuple(dict.fromkeys(findings)), (_shared(a, a, b), _shared(b, a, b)),
        asked(first, second),
    )  # fmt: skip


def _replicates(question: Question) -> Iterator[tuple[Any, Any]]:
    """(job ids, waits) of baseline and change for each replicate, in order, made by as many processes as cores."""
    tasks = []
    for k in range(question.replicates):
        for side, options in enumerate((question.baseline, question.changed)):
            moved = replace(options, jitter=question.jitter_s, seed=question.baseline.seed + 1 + k)
            tasks.append(Task(f"{k} {side}", replay_waits, (moved,), str(side)))
    found: dict[str, Any] = {}
    k = 0
    with closing(run_tasks(tasks)) as running:
        for done in running:
            if done.error is not None:
                raise done.error
            found[done.task.name] = done.value
            while f"{k} 0" in found and f"{k} 1" in found:
                yield found.pop(f"{k} 0"), found.pop(f"{k} 1")
                k += 1


def _shared(waits: Floats, a: Floats, b: Floats) -> dict[str, Any]:
    """Wait figures of the jobs that started in both replays, under the names of the summary."""
    both = waits[~np.isnan(a) & ~np.isnan(b)]
    return {
        "jobs": len(both), "mean_wait_s": mean(both), "median_wait_s": percentile(both, 50),
        "p95_wait_s": percentile(both, 95), "max_wait_s": float(both.max()) if len(both) else None,
    }  # fmt: skip


def _classes(
    workload: Workload, trace: Trace, order: npt.NDArray[np.int64], a: Floats, b: Floats,
    pairs: list[tuple[Floats, Floats]],
) -> dict[str, list[Effect]]:  # fmt: skip
    ids, nodes = trace.ints("jobs", "job_id", "nodes")
    sizes = np.ones(len(order), np.int64)
    _, at, row = np.intersect1d(order, ids, assume_unique=True, return_indices=True)
    sizes[at] = nodes[row]
    found = {}
    codes, names = trace.text("jobs", "partition")
    partition = np.full(len(order), -1, np.int64)
    partition[at] = codes[row]
    found["partition"] = by_class(partition, names, a, b, pairs)
    for what in ("account", "user"):
        column = workload.texts[what]
        found[what] = by_class(column.codes.astype(np.int64), column.values, a, b, pairs)
    kinds, labels = size_classes(sizes)
    found["nodes"] = by_class(kinds, labels, a, b, pairs, most=None)
    return found
