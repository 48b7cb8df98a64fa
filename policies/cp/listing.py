"""List scheduling: an order and a board make a complete plan, without a solver.

Orders say who is first, a board says when a job fits and where. Plans made here are the solver's hints, what is fallen
back on, and the baseline everything is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heapreplace

from slurmsim_policies.cp.boards import Board, CapacityBoard, Slot
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

Order = Callable[[Instance], list[int]]  # indices of the waiting jobs, the first to be placed first


def by_wait(instance: Instance) -> list[int]:
    """EURORA: who has waited longest of the wait its queue should have, then the shorter one."""
    jobs, now = instance.jobs, instance.now
    return sorted(instance.waiting, key=lambda i: (Fraction(jobs[i].q - now - 1, jobs[i].ewt), jobs[i].duration, i))


def by_slowdown(instance: Instance) -> list[int]:
    """PCP'20: the largest slowdown if started now, then the shorter one, then the one with less work."""
    jobs, now = instance.jobs, instance.now
    return sorted(instance.waiting, key=lambda i: (
        Fraction(jobs[i].q - now, jobs[i].duration), jobs[i].duration, jobs[i].duration * sum(jobs[i].total), i,
    ))  # fmt: skip


def by_arrival(instance: Instance) -> list[int]:
    """First come, first served."""
    return sorted(instance.waiting, key=lambda i: (instance.jobs[i].q, i))


def by_duration(instance: Instance) -> list[int]:
    """Return the jobs, the shortest first."""
    return sorted(instance.waiting, key=lambda i: (instance.jobs[i].duration, instance.jobs[i].q, i))


def by_length(instance: Instance) -> list[int]:
    """Return the jobs, the longest first, which makes for short makespans."""
    return sorted(instance.waiting, key=lambda i: (-instance.jobs[i].duration, instance.jobs[i].q, i))


ORDERS: dict[str, Order] = {
    "wait": by_wait, "slowdown": by_slowdown, "arrival": by_arrival, "duration": by_duration, "length": by_length,
}  # fmt: skip


def serial(instance: Instance, board: Board, order: Sequence[int], earliest: Sequence[int] | None = None) -> Plan:
    """One job after the other in `order`, each at its earliest start beside those before it (they may be overtaken).

    Parameters
    ----------
    earliest
        Of each job in `Instance.jobs`, when it may start (s); now unless given.
    """
    slots: dict[int, Slot] = {}
    for i in order:
        job = instance.jobs[i]
        slot = slots[i] = board.slot(job, instance.now if earliest is None else earliest[i])
        board.take(job, slot)
    return plan_of(instance, slots)


def earliest_first(instance: Instance, board: Board, order: Sequence[int]) -> Plan:
    """PCP'20's search without backtracking: of the jobs that can start earliest the first in `order`, again and again.

    A start only moves back as others are placed, so one that is still the earliest when it is looked at again is it.
    """
    slots: dict[int, Slot] = {}
    ranks = [(instance.now, rank, i) for rank, i in enumerate(order)]
    heapify(ranks)
    while ranks:
        start, rank, i = ranks[0]
        slot = board.slot(instance.jobs[i], start)
        if slot.start == start:
            board.take(instance.jobs[i], slot)
            slots[i] = slot
            heappop(ranks)
        else:
            heapreplace(ranks, (slot.start, rank, i))
    return plan_of(instance, slots)


def fitting(instance: Instance, board: CapacityBoard, order: Sequence[int]) -> Plan:
    """Return what `earliest_first` starts now, without the rest of its plan."""
    slots: dict[int, Slot] = {}
    for i in order:
        job = instance.jobs[i]
        if board.room(job) >= job.units and (slot := board.slot(job, instance.now)).start == instance.now:
            board.take(job, slot)
            slots[i] = slot
    return plan_of(instance, slots)


def plan_of(instance: Instance, slots: dict[int, Slot]) -> Plan:
    """Return the plan of these slots and of the running jobs."""
    plan = Plan({}, {})
    for i, job in enumerate(instance.jobs):
        if job.start is not None:
            plan.starts[job.id] = job.start
            plan.layout[job.id] = {node: job.nodes.count(node) for node in sorted(set(job.nodes))}
        elif i in slots:
            plan.starts[job.id] = slots[i].start
            if slots[i].layout is not None:
                plan.layout[job.id] = dict(sorted((slots[i].layout or {}).items()))
            if slots[i].boxes:
                plan.boxes[job.id] = list(slots[i].boxes)
    return plan


def earliest_starts(instance: Instance) -> dict[int, int]:
    """Return when each waiting job could start if no other waited, by index: no plan starts it earlier."""
    board = CapacityBoard(instance)
    return {i: board.slot(instance.jobs[i], instance.now).start for i in instance.waiting}
