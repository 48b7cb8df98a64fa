"""Concrete nodes for the starts of a model that knows pools only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slurmsim_policies.cp.allocators import Allocator, fewest_free_cores, fill, least_total_free
from slurmsim_policies.cp.boards import CapacityBoard, Slot
from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.listing import plan_of
from slurmsim_policies.cp.plan import Layout, Plan
from slurmsim_policies.cp.problem import Instance

Split = Mapping[int, Mapping[int, int]]


def node_classes(instance: Instance) -> NDArray[np.int64]:
    """Return the class of each node, (n_nodes,) from 0."""
    marks = [instance.capacity]
    seen: dict[tuple[int, ...], None] = {}
    for i in instance.waiting:
        within = instance.jobs[i].within
        if within is not None and within not in seen:
            seen[within] = None
            column = np.zeros((instance.n_nodes, 1), np.int64)
            column[list(within)] = 1
            marks.append(column)
    _, of = np.unique(np.hstack(marks), axis=0, return_inverse=True)
    return np.asarray(of, np.int64).reshape(-1)


def place(instance: Instance, starts: Mapping[int, int], split: Split, of: NDArray[np.int64]) -> tuple[Plan, list[int]]:
    """Return a plan with nodes, made in order of start: each job at its start if it fits, in the classes of `split`.

    Parameters
    ----------
    starts, split
        Start (s) and units in each class, by index of the waiting job.
    of
        Class of each node, (n_nodes,).

    Returns
    -------
    tuple
        The plan, and the jobs that start later than they should, in the order of their starts.
    """
    board = CapacityBoard(instance)
    slots: dict[int, Slot] = {}
    late: list[int] = []
    jobs = instance.jobs
    for i in sorted(starts, key=lambda i: (starts[i], -max(jobs[i].demand), -jobs[i].units, i)):
        slot = _slot(instance, board, jobs[i], starts[i], split[i], of)
        if slot.start > starts[i]:
            late.append(i)
        board.take(jobs[i], slot)
        slots[i] = slot
    return plan_of(instance, slots), late


def _slot(
    instance: Instance, board: CapacityBoard, job: Job, start: int, units: Mapping[int, int], of: NDArray[np.int64]
) -> Slot:
    for at, fit, free in board.timeline.windows(job, start):
        ranked = fewest_free_cores(instance, job, free)
        layout = _by_class(fit, ranked, units, of) if at == start else None
        layout = layout or fill(job, fit, ranked)
        assert layout is not None
        return Slot(at, layout)
    raise AssertionError(f"job {job.id} fits an empty machine, or the instance had been refused")


def _by_class(
    fit: NDArray[np.int64], ranked: NDArray[np.intp], units: Mapping[int, int], of: NDArray[np.int64]
) -> Layout | None:
    left = dict(units)
    layout: Layout = {}
    for node in ranked.tolist():
        here = min(int(fit[node]), left.get(int(of[node]), 0))
        if here:
            layout[node] = here
            left[int(of[node])] -= here
    return None if any(left.values()) else layout


def place_now(instance: Instance, starts: Mapping[int, int], allocator: Allocator = least_total_free) -> Plan:
    """HCP'19's second part: nodes for the jobs that start now, one after the other as their queue stands.

    Starts of the others are plans of a pool and have no layout; one that should start now and does not fit is left
    without a start and stays queued.
    """
    board = CapacityBoard(instance)
    slots: dict[int, Slot] = {}
    for i, start in starts.items():
        if start > instance.now:
            slots[i] = Slot(start, None)
            continue
        job = instance.jobs[i]
        at, fit, free = next(iter(board.timeline.windows(job, start)))
        if at == start:
            slots[i] = Slot(start, fill(job, fit, allocator(instance, job, free)))
            board.take(job, slots[i])
    return plan_of(instance, slots)
