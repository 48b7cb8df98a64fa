"""How far real Slurm is from itself: several recordings of one workload under one slurm.conf.

Two runs of slurmctld on the same workload differ, since what they do hangs on moments inside a second. No replay can
be expected to be closer to a recording than another recording of the same thing. So each recording is compared with
each other one, and the free replay of each with each *other* recording: same measures, same number of pairs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.data_classes import asdict, dataclass
from slurmsim.errors import WorkloadError
from slurmsim.fidelity.free import replay_freely
from slurmsim.fidelity.measures import IntArray, share_in_order, share_of_nodes, starts
from slurmsim.fidelity.recording import Recording


@dataclass(frozen=True, slots=True)
class Distance:
    """How far schedules are from each other, over all pairs. Shares in [0, 1], times in seconds.

    `order` and `nodes` are the mean shares of jobs in the same order and on the same nodes, `nodes_least` and
    `nodes_most` the range over pairs, `start_diff_s` the mean over pairs of the median difference in start times.
    """

    order: float
    nodes: float
    nodes_least: float
    nodes_most: float
    start_diff_s: float


@dataclass(frozen=True, slots=True)
class Repeats:
    """Recordings of one workload under one configuration: `real` against each other, `replay` against the others."""

    workload: str
    scheduler: str
    slurm: str
    recordings: tuple[str, ...]
    real: Distance
    replay: Distance

    def as_dict(self) -> dict[str, Any]:
        """All fields, for programs."""
        return asdict(self)

    def as_row(self) -> dict[str, str]:
        """Return the line a person reads."""
        row = {"workload": self.workload, "scheduler": self.scheduler, "Slurm": self.slurm,
               "runs": str(len(self.recordings))}  # fmt: skip
        for name, far in (("real, real", self.real), ("replay, real", self.replay)):
            row |= {
                f"{name}: order": f"{far.order:.0%}",
                f"{name}: nodes": f"{far.nodes:.0%} ({far.nodes_least:.0%} to {far.nodes_most:.0%})",
                f"{name}: start difference": f"{far.start_diff_s:.1f} s",
            }
        return row


@dataclass(frozen=True, slots=True)
class _Schedule:
    start: IntArray  # (n_jobs,) seconds since the recording began
    nodes: list[str]


def compare_repeats(recordings: Iterable[Recording]) -> list[Repeats]:
    """Compare recordings of the same thing, group by group, in the order of their first recordings.

    Raises
    ------
    WorkloadError
        No two of `recordings` have workload, configuration and version of Slurm in common, or runs of one workload
        started different jobs.
    """
    groups: dict[tuple[object, ...], list[Recording]] = defaultdict(list)
    for recording in recordings:
        groups[_thing(recording)].append(recording)
    found = [_compare(group) for group in groups.values() if len(group) > 1]
    if not found:
        raise WorkloadError("no two recordings of one workload under one slurm.conf",
                            expected="recordings of the same thing")  # fmt: skip
    return found


def _thing(recording: Recording) -> tuple[object, ...]:
    options = tuple(sorted((key, str(value)) for key, value in recording.cluster.options.items()))
    return recording.workload.header.source, recording.slurm, options


def _compare(group: Sequence[Recording]) -> Repeats:
    first = group[0]
    ids = sorted(job.label for job in first.jobs)
    for other in group[1:]:
        if sorted(job.label for job in other.jobs) != ids:
            raise WorkloadError("started other jobs than the others of its workload", file=other.name)
    real = [_recorded(recording, ids) for recording in group]
    replay = [_replayed(recording, ids) for recording in group]
    return Repeats(
        Path(first.workload.header.source).name.removesuffix(".workload.json"), _label(first), first.slurm,
        tuple(recording.name for recording in group), _distance(_pairs(real, real)), _distance(_pairs(replay, real)),
    )  # fmt: skip


def _label(recording: Recording) -> str:
    priority = str(recording.cluster.option("PriorityType")).removeprefix("priority/")
    return recording.scheduler if priority == "basic" else f"{recording.scheduler}, {priority}"


def _recorded(recording: Recording, ids: Sequence[str]) -> _Schedule:
    jobs = {job.label: job for job in recording.jobs}
    return _Schedule(np.array([jobs[i].start for i in ids], np.int64), [jobs[i].nodes for i in ids])


def _replayed(recording: Recording, ids: Sequence[str]) -> _Schedule:
    free = replay_freely(recording)
    number = {job.label: job.id for job in recording.jobs}
    begun = {k: job.start_time for k, job in free.jobs.items()}
    return _Schedule(
        starts([number[i] for i in ids], begun, recording.epoch), [free.nodes.get(number[i], "") for i in ids]
    )


def _pairs(some: Sequence[_Schedule], others: Sequence[_Schedule]) -> Iterator[tuple[_Schedule, _Schedule]]:
    """Each of `some` with each of `others` but its own."""
    return ((some[i], others[j]) for i, j in permutations(range(len(some)), 2))


def _distance(pairs: Iterable[tuple[_Schedule, _Schedule]]) -> Distance:
    order, nodes, late = [], [], []
    for a, b in pairs:
        order.append(share_in_order(b.start, a.start))
        nodes.append(share_of_nodes(b.nodes, a.nodes))
        late.append(float(np.median(np.abs(a.start - b.start))))
    return Distance(float(np.mean(order)), float(np.mean(nodes)), min(nodes), max(nodes), float(np.mean(late)))
