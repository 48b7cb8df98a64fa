"""What is free when: the boards on which list schedules are laid out, one job after the other.

A board starts with what runs and what is reserved. `slot` finds the earliest start of a job and where it would run;
`take` fills it. The box model has a board of its own (`box_board`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass
from slurmsim_policies.cp.allocators import Allocator, fewest_free_cores, fill
from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.plan import Box, Layout
from slurmsim_policies.cp.problem import Instance


@dataclass(frozen=True, slots=True)
class Slot:
    """When a job could start and where; `layout` is None on a board without nodes, `boxes` only on the box board."""

    start: int
    layout: Layout | None
    boxes: tuple[Box, ...] = ()


class Board(Protocol):
    """What list scheduling needs."""

    def slot(self, job: Job, earliest: int) -> Slot:
        """Return the earliest start of `job` from `earliest` on, and its place."""

    def take(self, job: Job, slot: Slot) -> None:
        """Fill it."""


class Timeline:
    """Free amounts of each node as a step function of time.

    Attributes
    ----------
    times
        Where the steps begin (s); the last one has no end.
    free
        (n_steps, n_nodes, n_resources) int64.
    watts
        (n_steps,) int64; as good as endless where the instance has no power budget, else less what runs draws.
    """

    def __init__(self, instance: Instance, times: Sequence[int], free: NDArray[np.int64]) -> None:
        self._instance = instance
        self.times = list(times)
        self._free = _with_room(free)
        self._watts = _with_room(_budget(instance, self.times))

    @property
    def free(self) -> NDArray[np.int64]:
        """What is free, step by step."""
        return self._free[: len(self.times)]

    @property
    def watts(self) -> NDArray[np.int64]:
        """What may be drawn, step by step."""
        return self._watts[: len(self.times)]

    def step_at(self, time: int) -> int:
        """Return the step that begins at `time`; make it if there is none."""
        at, n = bisect_left(self.times, time), len(self.times)
        if at == n or self.times[at] != time:
            if n == len(self._free):
                self._free, self._watts = _with_room(self._free), _with_room(self._watts)
            for steps in (self._free, self._watts):
                steps[at + 1 : n + 1] = steps[at:n]
                steps[at] = steps[at - 1]
            self.times.insert(at, time)
        return at

    def take(self, start: int, end: int, nodes: Sequence[int], amounts: NDArray[np.int64]) -> None:
        """Take `amounts` (n_nodes, n_resources), a row for each of these different `nodes`, during [start, end)."""
        first, last = self.step_at(start), self.step_at(end)
        self._free[first:last, nodes] -= amounts

    def draw(self, start: int, end: int, watts: int) -> None:
        """Take `watts` during [start, end)."""
        if watts:
            first, last = self.step_at(start), self.step_at(end)
            self._watts[first:last] -= watts

    def fits(self, job: Job) -> NDArray[np.int64]:
        """Units of `job` each node holds, step by step: (n_steps, n_nodes) int64."""
        fit = self._instance.units_that_fit(job, self.free)
        if job.power_w:
            fit[self.watts < job.power_w] = 0
        return fit

    def windows(self, job: Job, earliest: int) -> Windows:
        """Return the starts worth trying, in order."""
        return Windows(self, job, earliest)


class Windows:
    """Starts at which enough units of a job fit for all its duration: (start, units per node, free per node)."""

    def __init__(self, timeline: Timeline, job: Job, earliest: int) -> None:
        self._job, self._line = job, timeline
        self._first = timeline.step_at(max(earliest, timeline.times[0]))
        self._fits = timeline.fits(job)
        self._enough = self._fits.sum(axis=1) >= job.units

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        line, job = self._line, self._job
        at = self._first
        while at < len(line.times):
            until = bisect_left(line.times, line.times[at] + job.duration)
            short = np.flatnonzero(~self._enough[at:until])
            if len(short):
                at += int(short[-1]) + 1
                continue
            fit = self._fits[at:until].min(axis=0)
            if fit.sum() >= job.units:
                yield line.times[at], fit, line.free[at:until].min(axis=0)
            at += 1


class CapacityBoard:
    """Nodes with capacities; `allocator` says which of those that fit are filled."""

    def __init__(self, instance: Instance, allocator: Allocator = fewest_free_cores) -> None:
        self._instance, self._allocator = instance, allocator
        self.timeline = Timeline(instance, *instance.left_free)

    def slot(self, job: Job, earliest: int) -> Slot:
        """Return the earliest start, on the nodes the allocator ranks first."""
        for start, fit, free in self.timeline.windows(job, earliest):
            layout = fill(job, fit, self._allocator(self._instance, job, free))
            assert layout is not None
            return Slot(start, layout)
        raise AssertionError(f"job {job.id} fits an empty machine, or the instance had been refused")

    def room(self, job: Job) -> int:
        """Units of `job` that fit at this instant, whatever comes after it."""
        return int(self._instance.units_that_fit(job, self.timeline.free[0]).sum())

    def take(self, job: Job, slot: Slot) -> None:
        assert slot.layout is not None
        units = np.array(list(slot.layout.values()), np.int64)
        end = slot.start + job.duration
        self.timeline.take(slot.start, end, list(slot.layout), units[:, np.newaxis] * np.array(job.demand, np.int64))
        self.timeline.draw(slot.start, end, job.power_w)


class PooledBoard:
    """All nodes as one, as in the scheduling part of HCP'19: resources are added up over the nodes."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        times, free = instance.left_free
        self._line = Timeline(instance, times, free.sum(axis=1, keepdims=True))

    def slot(self, job: Job, earliest: int) -> Slot:
        """Return the earliest start at which the job's total demand is free."""
        line, total = self._line, np.array(job.total, np.int64)
        at = line.step_at(max(earliest, line.times[0]))
        bad = (line.free[:, 0] < total).any(axis=1) | (line.watts < job.power_w)
        while True:
            until = bisect_left(line.times, line.times[at] + job.duration)
            short = np.flatnonzero(bad[at:until])
            if not len(short):
                return Slot(line.times[at], None)
            at += int(short[-1]) + 1

    def take(self, job: Job, slot: Slot) -> None:
        end = slot.start + job.duration
        self._line.take(slot.start, end, [0], np.array([job.total], np.int64))
        self._line.draw(slot.start, end, job.power_w)


def _with_room(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a copy of `steps` with room for as many again."""
    grown = np.empty((2 * len(steps) + 8, *steps.shape[1:]), np.int64)
    grown[: len(steps)] = steps
    return grown


def _budget(instance: Instance, times: list[int]) -> NDArray[np.int64]:
    """Watts that what runs leaves, (n_steps,): its ends are among the times."""
    left = np.full(len(times), 1 << 62 if instance.power is None else instance.power, np.int64)
    for index in instance.running:
        job = instance.jobs[index]
        if job.power_w:
            left[: bisect_left(times, instance.end(job))] -= job.power_w
    return left
