"""Tables behind the report: measures by class of jobs, and the jobs that waited longest."""

from typing import NamedTuple

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import IntArray
from slurmsim.metrics.percentiles import percentiles
from slurmsim.report.rundata import Labels, RunData


class ClassRow(NamedTuple):
    """Measures of the jobs of one class; waits in seconds, None when none started."""

    name: str
    jobs: int
    started: int
    cpu_hours: float
    gpu_hours: float
    mean_wait_s: float | None
    median_wait_s: float | None
    p95_wait_s: float | None


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job of a list; times in trace seconds."""

    job_id: int
    shown_id: str  # as commands show it: ``2218_25`` for a task of an array
    user: str
    partition: str
    nodes: int
    cpus: int
    submit: int
    wait_s: int
    run_time_s: int | None
    state: str


def by_class(data: RunData, labels: Labels, most: int = 12) -> list[ClassRow]:
    """Return a row for each class of `labels`, most CPU time first, at most `most` of them."""
    jobs, n = data.jobs, len(labels.names)
    ran = np.where(jobs.started, data.ends - jobs.start, 0)
    hours, gpu_hours = (np.bincount(labels.codes, size * ran, n) / 3600 for size in (jobs.cpus, data.gpus))
    count = np.bincount(labels.codes[jobs.accepted], minlength=n)
    begun, waits = labels.codes[jobs.started], data.waits[jobs.started]
    started = np.bincount(begun, minlength=n)
    means = np.bincount(begun, waits, n) / np.maximum(started, 1)
    waits = waits[np.lexsort((waits, begun))]
    middle, high = (percentiles(waits, started, share) for share in (0.5, 0.95))
    rows = []
    for i in [i for i in np.lexsort((np.arange(n), -count, -hours)).tolist() if count[i]][:most]:
        of_waits = (float(means[i]), float(middle[i]), float(high[i])) if started[i] else (None, None, None)
        size = int(count[i]), int(started[i]), float(hours[i]), float(gpu_hours[i])
        rows.append(ClassRow(labels.names[i], *size, *of_waits))
    return rows


def longest_waits(data: RunData, most: int = 10) -> list[JobLine]:
    """Return the jobs that waited longest before they started, longest first, ties by job id."""
    started = np.flatnonzero(data.jobs.started)
    order = np.lexsort((data.job_id[started], -data.waits[started]))
    return job_lines(data, started[order[:most]])


def longest_wait_by_width(data: RunData) -> list[tuple[str, int, int]]:
    """Widths in nodes, by powers of two, narrowest first: (from-to, jobs that started, longest wait of one in seconds).

    Where wide jobs starve it shows here, and in no mean.
    """
    started = data.jobs.started
    width = np.maximum(data.jobs.nodes[started], 1)
    waits = data.waits[started]
    found = []
    for power in sorted(set((np.frexp(width)[1] - 1).tolist())):
        first, last = 1 << power, (2 << power) - 1
        inside = (width >= first) & (width <= last)
        name = str(first) if first == last else f"{first}-{last}"
        found.append((name, int(inside.sum()), int(waits[inside].max())))
    return found


def job_lines(data: RunData, rows: IntArray) -> list[JobLine]:
    """Return the jobs in `rows` of the jobs table."""
    jobs = data.jobs
    users, partitions = data.labels("user"), data.labels("partition")
    return [
        JobLine(
            job_id=int(data.job_id[i]),
            shown_id=data.shown_id(i),
            user=users.names[users.codes[i]],
            partition=partitions.names[partitions.codes[i]],
            nodes=int(jobs.nodes[i]),
            cpus=int(jobs.cpus[i]),
            submit=int(jobs.submit[i]),
            wait_s=int(data.waits[i]),
            run_time_s=int(jobs.end[i] - jobs.start[i]) if jobs.ended[i] else None,
            state=jobs.states[jobs.state_codes[i]],
        )
        for i in rows.tolist()
    ]
