"""One dispatching problem at one instant: which nodes there are, what runs, what waits.

A job is `units` equal units; a unit runs on one node, several may share one. Amounts are integers in whatever unit the
caller chose per resource (cores, GPUs, KB), times are integers of seconds. An `Instance` is checked when it is made, so
every one can be solved: each job fits the empty machine, and the running jobs fit now.
Source: "Proactive Workload Dispatching on the EURORA Supercomputer" (2014), section 3 (docs/systems/eurora.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass
from slurmsim_policies.cp.instance_data import Amounts, InstanceData, Job
from slurmsim_policies.cp.validation import check_instance


@dataclass(frozen=True, slots=True)
class Load:
    """What is taken from `node` during [now, end), or [start, end) of a reservation, whatever is decided.

    `job` is its index in `Instance.jobs`, -1 for resources that a reservation keeps from all jobs.
    """

    node: int
    start: int
    end: int
    amounts: Amounts
    job: int = -1


@dataclass(frozen=True)
class Instance(InstanceData):
    """A dispatching problem. Immutable; raises InstanceError when made from what cannot be right."""

    def __post_init__(self) -> None:
        check_instance(self)

    def end(self, job: Job) -> int:
        """When a running job is expected to end: one that should have ended already does so in the next second."""
        assert job.start is not None
        return max(self.now + 1, job.start + job.duration)

    @cached_property
    def horizon(self) -> int:
        """The end of the horizon, eoh = t + sum of lengths: nothing need end later (PCP'20 section 3; EURORA 3)."""
        left = sum(self.jobs[i].duration for i in self.waiting)
        left += sum(self.end(self.jobs[i]) - self.now for i in self.running)
        left += sum(max(0, kept.start + kept.duration - self.now) for kept in self.reservations)
        return self.now + left

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """Running units and reservations, as what is taken from single nodes.

        Under a reservation nothing new may run beside what runs there already: the running units count until it ends,
        and all the rest of the node is taken.
        """
        return tuple(self._loads())

    @cached_property
    def left_free(self) -> tuple[list[int], NDArray[np.int64]]:
        """What the loads leave free, as a step function: where its steps begin (s), (n_steps, n_nodes, n_resources).

        Built once and in whole arrays, since every list schedule begins with it. What draws power ends where a step
        begins, under a reservation too.
        """
        ends = {self.end(self.jobs[i]) for i in self.running if self.jobs[i].power_w}
        times = sorted({self.now}.union(ends, *((load.start, load.end) for load in self.loads)))
        taken = np.zeros((len(times), *self.capacity.shape), np.int64)
        if self.loads:
            at = {time: step for step, time in enumerate(times)}
            nodes = [load.node for load in self.loads]
            amounts = np.array([load.amounts for load in self.loads], np.int64)
            np.add.at(taken, ([at[load.start] for load in self.loads], nodes), amounts)
            np.subtract.at(taken, ([at[load.end] for load in self.loads], nodes), amounts)
        return times, self.capacity - taken.cumsum(axis=0)

    def _loads(self) -> Iterator[Load]:
        kept: dict[int, list[tuple[int, int]]] = {}
        for each in self.reservations:
            begin, end = max(each.start, self.now), each.start + each.duration
            if begin < end:
                for node in each.nodes:
                    kept.setdefault(node, []).append((begin, end))
        merged = {node: _merge(spans) for node, spans in kept.items()}
        held: dict[int, list[Load]] = {node: [] for node in merged}
        for i in self.running:
            job = self.jobs[i]
            for node in job.nodes:
                end = self.end(job)
                # in order of time: a job kept until one reservation ends may then last into the next one
                for begin, until in merged.get(node, ()):
                    end = max(end, until) if end > begin else end
                load = Load(node, self.now, end, job.demand, i)
                held.get(node, []).append(load)
                yield load
        for node, spans in merged.items():
            for begin, until in spans:
                taken = [load.amounts for load in held[node] if load.end > begin]
                rest = tuple(
                    int(self.capacity[node, r]) - sum(amounts[r] for amounts in taken)
                    for r in range(len(self.resources))
                )
                yield Load(node, begin, until, rest)


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of time as disjoint ones, in order; those that touch become one."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
