"""The best plans of tiny instances, by trying all of them. Naive on purpose; shares nothing with what it judges.

All four criteria only grow when a job starts later, so some best plan is found by placing jobs one after the other, in
some order, each on some nodes at the earliest time those are free beside the jobs before it. That is what is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product

from slurmsim_policies.cp.criteria import value
from slurmsim_policies.cp.instance_data import Job, NodeGroup
from slurmsim_policies.cp.problem import Instance

Starts = dict[str, int]
Taken = list[tuple[int, int, dict[int, tuple[int, ...]]]]  # start, end, amounts by node


def all_starts(instance: Instance) -> list[Starts]:
    """Starts of all plans worth having; several may be equal."""
    sizes = [group.capacity for group in instance.groups for _ in range(group.count)]
    fixed: Taken = []
    starts: Starts = {}
    for job in instance.jobs:
        if job.start is not None:
            starts[job.id] = job.start
            end = max(instance.now + 1, job.start + job.duration)
            fixed.append((instance.now, end, _amounts(job, job.nodes)))
    places = {
        job.id: [_amounts(job, nodes) for nodes in combinations_with_replacement(range(len(sizes)), job.units)]
        for job in instance.jobs
    }
    found: set[tuple[tuple[str, int], ...]] = set()

    def place(left: tuple[Job, ...], taken: Taken, so_far: Starts) -> None:
        if not left:
            found.add(tuple(sorted(so_far.items())))
        for job in left:
            others = tuple(other for other in left if other is not job)
            for amounts in places[job.id]:
                if all(_fits(units, sizes[node]) for node, units in amounts.items()):
                    start = _earliest(instance.now, job.duration, amounts, taken, sizes)
                    place(others, [*taken, (start, start + job.duration, amounts)], {**so_far, job.id: start})

    place(tuple(job for job in instance.jobs if job.start is None), fixed, starts)
    return [dict(each) for each in found]


def best(instance: Instance, criterion: str, plans: list[Starts], bounds: dict[str, int] | None = None) -> int | None:
    """The least of `criterion` over `plans` that keep the bounds; None: none does."""
    kept = [
        starts for starts in plans
        if all(value(instance, name, starts) <= most for name, most in (bounds or {}).items())
    ]  # fmt: skip
    return min((value(instance, criterion, starts) for starts in kept), default=None)


def pooled(instance: Instance) -> Instance:
    """The instance with all nodes as one, jobs of one unit: what HCP'19 schedules."""
    sums = tuple(sum(group.count * group.capacity[r] for group in instance.groups)
                 for r in range(len(instance.resources)))  # fmt: skip
    jobs = tuple(replace(job, units=1, demand=job.total, nodes=job.nodes and (0,)) for job in instance.jobs)
    return replace(instance, groups=(NodeGroup(1, sums),), jobs=jobs)


def _amounts(job: Job, nodes: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    return {node: tuple(nodes.count(node) * amount for amount in job.demand) for node in set(nodes)}


def _fits(amounts: tuple[int, ...], size: tuple[int, ...]) -> bool:
    return all(amount <= most for amount, most in zip(amounts, size, strict=True))


def _earliest(
    now: int, duration: int, amounts: dict[int, tuple[int, ...]], taken: Taken, sizes: list[tuple[int, ...]]
) -> int:
    for start in sorted({now, *(end for _, end, _ in taken if end > now)}):
        moments = [start, *(begin for begin, _, _ in taken if start < begin < start + duration)]
        if all(
            _fits(tuple(map(sum, zip(mine, *(theirs[node] for begin, end, theirs in taken
                                             if node in theirs and begin <= at < end), strict=True))), sizes[node])
            for at in moments for node, mine in amounts.items()
        ):  # fmt: skip
            return start
    raise AssertionError("an empty machine holds it")


def all_box_starts(instance: Instance) -> list[Starts]:
    """The same for the box model: every unit in neighbouring positions of one node, in every resource.

    A placement is the set of positions it takes, as bits of one integer.
    """
    sizes = [group.capacity for group in instance.groups for _ in range(group.count)]
    offset, bit = {}, 0
    for node, size in enumerate(sizes):
        for r, amount in enumerate(size):
            offset[node, r] = bit
            bit += amount

    def unit_masks(job: Job, node: int) -> list[int]:
        ways = [
            [((1 << amount) - 1) << (offset[node, r] + low) for low in range(sizes[node][r] - amount + 1)]
            for r, amount in enumerate(job.demand) if amount
        ]  # fmt: skip
        return [sum(parts) for parts in product(*ways)]

    def masks(job: Job) -> list[int]:
        found = set()
        if job.nodes:
            ways: Iterator[tuple[int, ...]] = product(*(unit_masks(job, node) for node in job.nodes))
        else:
            everywhere = [mask for node in range(len(sizes)) for mask in unit_masks(job, node)]
            ways = combinations_with_replacement(everywhere, job.units)
        for parts in ways:
            mask = 0
            for part in parts:
                if mask & part:
                    break
                mask |= part
            else:
                found.add(mask)
        return sorted(found)

    choices = {job.id: masks(job) for job in instance.jobs}
    found: set[tuple[tuple[str, int], ...]] = set()
    seen: set[tuple[frozenset[tuple[int, int, int]], tuple[str, ...]]] = set()

    def place(left: tuple[Job, ...], taken: tuple[tuple[int, int, int], ...], so_far: Starts) -> None:
        if not left:
            found.add(tuple(sorted(so_far.items())))
            return
        state = (frozenset(taken), tuple(sorted(so_far)))
        if state in seen:
            return
        seen.add(state)
        for job in left:
            others = tuple(other for other in left if other is not job)
            for mask in choices[job.id]:
                ends = [end for _, end, theirs in taken if theirs & mask]
                for start in sorted({instance.now, *(end for end in ends if end > instance.now)}):
                    if all(
                        end <= start or begin >= start + job.duration for begin, end, theirs in taken if theirs & mask
                    ):
                        place(others, (*taken, (start, start + job.duration, mask)), {**so_far, job.id: start})
                        break

    running = [job for job in instance.jobs if job.start is not None]
    waiting = tuple(job for job in instance.jobs if job.start is None)
    for ways in product(*(choices[job.id] for job in running)):
        together = 0
        for mask in ways:
            if together & mask:
                break
            together |= mask
        else:
            taken = tuple((instance.now, instance.end(job), mask) for job, mask in zip(running, ways, strict=True))
            place(waiting, taken, {job.id: job.start for job in running if job.start is not None})
    return [dict(each) for each in found]
